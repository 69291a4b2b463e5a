"""Everything that judges, loaded once on the first question."""

from __future__ import annotations

import re
from importlib import import_module

from fairlead.guard import powershell
from fairlead.guard.effects import OPAQUE
from fairlead.guard.packs import READERS
from fairlead.guard.packs.privileges import hidden_program
from fairlead.guard.packs.stores import handed_over
from fairlead.guard.packs.system import bare_escape, environment
from fairlead.guard.paths import join
from fairlead.guard.programs import (
    PROGRAMS,
    archives,
    builtins,
    elsewhere,
    files,
    finding,
    languages,
    meet,
    network,
    sessions,
    text,
    wrappers,
)
from fairlead.guard.shell.nodes import ANY, STAR, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fairlead.guard.effects import Effect, Stream
    from fairlead.guard.paths import Places
    from fairlead.guard.shell.run import Call

    Hit = tuple[str, str, str, str]
    Judge = Callable[[Effect, Places], Hit | None]

# Importing these fills the table of programs.
LOADED = (powershell, archives, builtins, elsewhere, files, finding, languages, network, sessions, text, wrappers)

JUDGES: dict[str, Judge] = {}

_MODULES = {
    "self": ("self",),
    "git": ("git", "git_forge"),
    "secrets": ("secrets", "stores"),
    "network": ("network", "access", "attacks"),
    "filesystem": ("filesystem", "disks", "encryption"),
    "databases": ("databases", "frameworks"),
    "containers": ("containers",),
    "cloud": ("cloud",),
    "publishing": ("publishing",),
    "system": ("system", "installs", "privileges", "processes", "services"),
}
# What these know is needed to read commands, whether or not they are on.
_ALWAYS = ("git", "secrets", "filesystem", "system")

_HELP = frozenset({"--help", "-help"})
# They start other programs or print their arguments; "--help" may not be theirs.
_TAKE_HELP = frozenset(
    "sudo doas env xargs sh bash zsh dash ksh eval exec command nohup timeout nice time echo printf ssh "
    "docker podman kubectl "
    "busybox find fd parallel watch su python python3 node perl ruby php npx bunx uvx awk sed tee make".split()
)


def load(packs: Iterable[str]) -> None:
    """Load the packs that are on; the others cost nothing."""
    wanted = [pack for pack in (*_ALWAYS, *packs) if pack not in _loaded]
    for pack in wanted:
        _loaded.add(pack)
        modules = [import_module(f"fairlead.guard.packs.{name}") for name in _MODULES[pack]]
        if hasattr(modules[0], "judge"):
            JUDGES[pack] = modules[0].judge
    if wanted:
        for readers in READERS.values():
            # The first of equal findings counts, so the order must not hang on the order of loading.
            readers.sort(key=lambda reader: reader.__module__)


_loaded: set[str] = set()


def met(call: Call) -> Stream:
    """Read one call: what its program does, and the acts that packs recognise in it."""
    name, args = call.name, call.args
    simple = call.program.isalnum()
    if not simple and _hides_its_name(call):
        _unknown(call)
    if call.env:
        environment(call)
    if not simple:
        _by_its_place(call)
    if args:
        handed_over(call)
        if args[-1] in _HELP and name not in _TAKE_HELP and _only_words(args[:-1]):
            return OPAQUE
    readers = READERS.get(name) or _versioned(call)
    for reader in readers:
        reader(call)
    if call.args and name not in PROGRAMS:
        sessions.option_programs(call)
        if not readers:
            bare_escape(call)
    return meet(call)


def _hides_its_name(call: Call) -> bool:
    return (
        call.name == UNKNOWN
        or (call.name.startswith(UNKNOWN) and "/" not in call.program)
        or ANY in call.program
        or STAR in call.program
    )


def _by_its_place(call: Call) -> None:
    if "/" in call.program:
        _written_before(call)
        hidden_program(call)
    elif "-" in call.name and powershell.is_cmdlet(call.name):
        powershell.run(call.shell, " ".join([call.program, *call.args]))


def _only_words(args: list[str]) -> bool:
    return all(_WORD.fullmatch(arg) for arg in args)


_WORD = re.compile(r"[a-z][\w:-]*")


def _versioned(call: Call) -> list[Callable[[Call], None]]:
    """Return the readers of ``npm`` for ``npm9``, which they then know by its usual name."""
    if call.name.startswith("mkfs."):
        return READERS["mkfs"]
    name = call.name.rstrip("0123456789.")
    if name in READERS:
        call.name = name
    return READERS.get(name, [])


def _written_before(call: Call) -> None:
    """A program that this same command downloaded or wrote."""
    known = call.shell.record.files.get(join(call.shell.cwd, call.program))
    if known is None:
        return
    if known.hosts:
        call.shell.effect("run", call.words, host=known.hosts[0], note="network")
    elif (known.text and not known.text.startswith("#!")) or (
        known.text and re.match(r"#!\S*(?:/env )?\S*sh\b", known.text)
    ):
        call.shell.child().run_text(known.text)


def _unknown(call: Call) -> None:
    call.shell.effect(
        "unknown", call.words, rule="guard.unknown-program",
        reason=f"`{call.words}` runs a program whose name cannot be read from the command",
        suggestion="write the name of the program out",
    )  # fmt: skip
