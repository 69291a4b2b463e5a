"""Auto-allow: commands of which every part provably only reads the project."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.packs.secret_files import is_secret
from fairlead.guard.paths import Places
from fairlead.guard.readonly_git import git_reads
from fairlead.guard.readonly_programs import READING, VERSIONS, forbidden_option, narrowed, shape_reads, started_by_find
from fairlead.guard.readonly_scripts import SCRIPTS
from fairlead.guard.shell.nodes import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call, Record

_VARIABLES = lazy(r"(?:LC_\w+|LANG|TZ|NO_COLOR|TERM|COLUMNS|CI|FORCE_COLOR|NODE_ENV)\Z")
_USED = lazy(r"\$\{?([A-Za-z_]\w*|[^\w\s'\"/])")
# Their values are no secret, and everybody prints them.
_SHOWABLE = frozenset(
    "HOME PWD OLDPWD PATH SHELL USER LOGNAME LANG TERM EDITOR VISUAL HOSTNAME TZ NODE_ENV VIRTUAL_ENV GOPATH GOROOT "
    "JAVA_HOME CONDA_DEFAULT_ENV PYTHONPATH NVM_DIR CI TMPDIR XDG_CONFIG_HOME XDG_DATA_HOME RAILS_ENV".split()
)
_QUOTING = lazy(r"\"(?:[^\"\\]|\\.)*\"|\\.|(\$'(?:[^'\\]|\\.)*'|'[^']*')", re.DOTALL)
_LOOSE = lazy(r"<<|(?:\A|\s)#")
_FOUND = lazy(r"[\w.][\w./-]*/")
# Arithmetic evaluates the text of its operands once more: 'a[$(…)]' runs what is inside the quotes.
_EVALUATES = lazy(r"\(\(|\$\[|\$\{[^}]*[\[!@]|\blet\s|\[\[.*\s-(?:eq|ne|l[te]|g[te]|v)\s", re.DOTALL)
_DISCARDED = frozenset({"/dev/null", "/dev/stderr", "/dev/stdout"})
_PRINTERS = frozenset({"echo", "printf"})
_NO_PATHS = frozenset({"echo", "printf", "tr"})


def read_only(record: Record, places: Places, command: str) -> bool:
    """Say whether everything that was met only reads, and only inside the project."""
    if record.broken or record.substitutions or not record.calls or _EVALUATES.search(command):
        return False
    names = _variables_used(command)
    return (
        names is not None
        and all(_quiet_effect(effect.kind, effect.rule, effect.path, places) for effect in record.effects)
        and all(_call(call, places, names) for call in record.calls)
        and all(name in _SHOWABLE or _assigned(record, name) for name in names if name.isidentifier())
        and _hands_on_little(record)
    )


def _variables_used(command: str) -> set[str] | None:
    """Return the variables that the command reads; None where quotes cannot be told from text."""
    if "$" not in command:
        return set()
    if _LOOSE.search(command):
        return None
    return set(_USED.findall(_QUOTING.sub(lambda quoted: "" if quoted[1] else quoted[0], command)))


def _hands_on_little(record: Record) -> bool:
    """What ``find`` hands to ``xargs`` must be narrowed by name."""
    calls = {call.name for call in record.calls}
    return "xargs" not in calls or all(narrowed(call.args) for call in record.calls if call.name == "find")


def _assigned(record: Record, name: str) -> bool:
    return any(name in call.shell.variables for call in record.calls)


def _quiet_effect(kind: str, rule: str, path: str, places: Places) -> bool:
    if rule:
        return False
    if kind == "write":
        return path in _DISCARDED
    return kind == "read" and (path in ("/dev/null", "/dev/stdin") or (_inside(path, places) and not is_secret(path)))


def _inside(path: str, places: Places) -> bool:
    """Say whether a path lies in the project; of what follows its first unknown name, nothing can lead out."""
    return path.startswith("/") and places.inside(places.resolve("/", path))


def _call(call: Call, places: Places, names: set[str]) -> bool:
    if call.name != call.program or call.privileged or call.shell.place:
        return False
    if any(not _VARIABLES.match(name) for name in call.env) or not _assignments_quiet(call):
        return False
    if any(UNKNOWN in arg and not _harmless_unknown(call, arg, names) for arg in call.args):
        return False
    if call.name in VERSIONS and call.args in VERSIONS[call.name]:
        return True
    return _reads(call, places)


def _harmless_unknown(call: Call, arg: str, names: set[str]) -> bool:
    """A printed variable, or a name that ``find`` and its like found below this directory."""
    return call.name in _PRINTERS or (not names and _FOUND.match(arg) is not None)


def _reads(call: Call, places: Places) -> bool:
    name, args = call.name, call.args
    if name == "git":
        return git_reads(args, lambda piece: _inside_from(call, piece, places))
    if name == "cd":
        return places.inside(places.resolve("/", call.shell.cwd))
    rest: list[str] | None = args
    if name in SCRIPTS:
        rest = SCRIPTS[name](args)
    elif name not in READING:
        rest = args if shape_reads(name, args) else None
    elif forbidden_option(name, args) or (name == "find" and not started_by_find(args)):
        return False
    return rest is not None and all(_operand(call, arg, places) for arg in rest)


def _assignments_quiet(call: Call) -> bool:
    """No variable of this command may change what later programs do."""
    return all(_VARIABLES.match(name) or name.islower() for name in call.shell.variables)


def _operand(call: Call, arg: str, places: Places) -> bool:
    """Whatever can be a path must lead into the project, also as the value of an option."""
    if call.name in _NO_PATHS:
        return True
    if not arg.startswith("-"):
        return _inside_from(call, arg, places)
    pieces = [arg.partition("=")[2]] if arg.startswith("--") else [arg[2:], arg.partition("=")[2]]
    return all(piece in ("", "/") or _inside_from(call, piece, places) for piece in pieces)


def _inside_from(call: Call, piece: str, places: Places) -> bool:
    if piece.startswith("~"):
        return False
    return piece == "/dev/null" or places.inside(places.resolve(call.shell.cwd, piece))
