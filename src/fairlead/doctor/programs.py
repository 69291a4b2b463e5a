"""Programs and scripts that are missing or cannot be started."""

from __future__ import annotations

import os
import re

from fairlead.doctor import commands, facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.dialects import Places
    from fairlead.doctor.commands import Started
    from fairlead.doctor.finding import Finding
    from fairlead.doctor.scene import Entry, Scene

_INTERPRETERS = ("sh", "bash", "dash", "zsh", "ksh", "python", "pypy", "node", "bun", "ruby", "perl", "php")
_WITH_VALUE = {"python": "WX", "pypy": "WX", "node": "r", "bash": "oO", "perl": "I", "ruby": "rI"}
"""Options of an interpreter that take the next word."""
_SAYS_WHAT = {"python": "cm", "pypy": "cm", "node": "ep", "bun": "ep", "perl": "eE", "ruby": "e", "php": "r"}
"""Options after which no file comes, but what is to be run; shells have -c."""


def check(scene: Scene) -> Iterator[Finding]:
    from fairlead.installing.entries import is_ours

    for entry in scene.entries:
        start = commands.started(entry, scene.places)
        if start is not None and not is_ours(entry.handler) and not commands.unset_variable(entry):
            yield from _wrong(entry, start, scene.places)


def _wrong(entry: Entry, start: Started, places: Places) -> Iterator[Finding]:
    if not start.found:
        yield entry.found("programs", "error", *_missing(entry, start), "command")
        return
    problem = cannot_start(start.found, start.path, in_shell=start.in_shell)
    if problem:
        message, fix = problem
        yield entry.found("programs", "error", f"{message}; {_then(entry, 126)}", fix, "command")
        return
    kind = interpreter(start.found)
    if kind:
        yield from _script(entry, start, kind, places)


def _missing(entry: Entry, start: Started) -> tuple[str, str]:
    if "/" not in start.program:
        what = f"there is no program {start.program!r} in the directories of PATH"
        return f"{what}; {_then(entry, 127)}", "install it, or write its absolute path"
    shown = os.path.normpath(os.path.join(start.folder, start.program))
    if os.path.isdir(shown):
        return f"{shown} is a directory; {_then(entry, 126)}", "name the program in it"
    return f"there is no file {shown}; {_then(entry, 127)}", "put it there, or correct the path"


def _then(entry: Entry, exit_code: int) -> str:
    """What becomes of the calls meanwhile."""
    if not facts.can_refuse(entry.agent, entry.event):
        return "the hook does nothing"
    handler = entry.handler
    closed = handler.get("onFailure") == "block" or handler.get("failClosed") is True or handler.get("strict") is True
    refuses = closed or exit_code == 2 or (facts.of(entry.agent).missing_refuses and _before_tool(entry))
    return f"every {entry.event} is refused" if refuses else f"every {entry.event} goes through unchecked"


def _before_tool(entry: Entry) -> bool:
    return facts.canonical(entry.agent, entry.event) == "PreToolUse"


# --- the file itself ---------------------------------------------------------------------------------


def cannot_start(path: str, search: str, *, in_shell: bool) -> tuple[str, str] | None:
    """Why the kernel would refuse to start this file, and what helps."""
    if not os.access(path, os.X_OK):
        return f"{path} is not executable", f"chmod +x {path}"
    if _is_on_noexec(path):
        return f"{path} is on a file system that is mounted noexec", "put it elsewhere, or name its interpreter first"
    first = first_line(path)
    if first.startswith(b"#!"):
        return _shebang(path, first, search)
    if not in_shell and not first.startswith((b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"MZ")):
        return f"{path} has no #! line, and without a shell nobody knows what to run it with", "add one, as #!/bin/sh"
    return None


def _is_on_noexec(path: str) -> bool:
    try:
        return bool(os.statvfs(path).f_flag & getattr(os, "ST_NOEXEC", 8))
    except OSError:
        return False


def first_line(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.readline(4096)
    except OSError:  # executable, and not readable: its kernel can
        return b"\x7fELF"


def _shebang(path: str, first: bytes, search: str) -> tuple[str, str] | None:
    words = first[2:].decode("utf-8", "replace").rstrip("\n").split(" ")
    words = [word for word in words if word.strip(" \t")]
    if first.endswith(b"\r\n"):
        name = words[-1].rstrip("\r") if words else ""
        what = f"{path} has Windows line ends: its interpreter would be {name + chr(92) + 'r'!s}"
        return what, f"sed -i 's/\\r$//' {path}"
    if not words or not words[0].startswith("/"):
        return f"the #! line of {path} names no absolute path", "write #!/usr/bin/env and the interpreter's name"
    if not os.path.exists(words[0]):
        return f"{path} wants {words[0]}, which is not there", "correct its first line, or install it"
    name = env_name(words)
    if name and not commands.find(name, "/", search):
        return f"{path} wants {name!r}, which is not in the directories of PATH", f"install {name}"
    return None


def env_name(words: list[str]) -> str:
    """The program that `#!/usr/bin/env NAME` asks for."""
    if os.path.basename(words[0]) != "env":
        return ""
    rest = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return rest[0] if rest else ""


# --- the script of an interpreter --------------------------------------------------------------------


def interpreter(path: str) -> str:
    name = os.path.basename(path)
    stem = re.sub(r"[\d.]+$", "", name.removesuffix(".exe"))
    return stem if stem in _INTERPRETERS else ""


def _script(entry: Entry, start: Started, kind: str, places: Places) -> Iterator[Finding]:
    option, word = script_word(start.rest, kind)
    if option == "-m" and kind in ("python", "pypy"):
        yield from _module(entry, start, word, places)
    elif not option and word:
        place = os.path.normpath(os.path.join(start.folder, word))
        if not os.path.exists(place):
            yield entry.found("programs", "error", *_no_script(entry, place, kind), "command")


def script_word(words: tuple[str, ...], kind: str) -> tuple[str, str]:
    """The option that says what to run, if there is one, and the file or module; `?` where that is not plain."""
    queue = iter(words)
    for word in queue:
        if not word.startswith("-"):
            return ("", word) if word else ("?", "")
        letter = word[-1]
        if word.startswith("--") or word == "-":
            if word in ("-", "--eval", "--print"):
                return "?", ""
        elif letter in _SAYS_WHAT.get(kind, "c"):
            return f"-{letter}", next(queue, "")
        elif letter in _WITH_VALUE.get(kind, ""):
            next(queue, "")
    return "?", ""


def _no_script(entry: Entry, place: str, kind: str) -> tuple[str, str]:
    fix = "put it there, or correct the path"
    if kind not in ("python", "pypy"):
        return f"there is no script {place}; {_then(entry, 127)}", fix
    if not facts.can_refuse(entry.agent, entry.event) or entry.agent in ("vibe", "cline"):
        return f"there is no script {place}; {_then(entry, 1)}", fix
    title = facts.title(entry.agent)
    why = f"Python then exits with 2, which {title} takes for a refusal: every {entry.event} is blocked"
    return f"there is no script {place}; {why}", fix


def _module(entry: Entry, start: Started, module: str, places: Places) -> Iterator[Finding]:
    top = module.partition(".")[0]
    if top and not any(_holds(folder, top) for folder in _import_path(start, places)):
        what = f"{start.program} seems to have no module {top!r}; Python then exits with 1: {_then(entry, 1)}"
        yield entry.found("programs", "warning", what, f"install it there: {start.found} -m pip install …", "command")


def _import_path(start: Started, places: Places) -> Iterator[str]:
    """Where that interpreter would look; it is not started for this."""
    import glob

    yield start.folder
    yield from filter(None, places.environ.get("PYTHONPATH", "").split(os.pathsep))
    for program in {start.found, os.path.realpath(start.found)}:
        prefix = os.path.dirname(os.path.dirname(program))
        for library in glob.glob(os.path.join(glob.escape(prefix), "lib*", "python3*")):
            yield from (library, os.path.join(library, "site-packages"), os.path.join(library, "dist-packages"))
    yield from glob.glob(os.path.join(glob.escape(places.home), ".local", "lib", "python3*", "site-packages"))
    if start.found.startswith("/usr/"):
        yield "/usr/lib/python3/dist-packages"


def _holds(folder: str, module: str) -> bool:
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    is_module = re.compile(rf"{re.escape(module)}(?:\.py|\..*\.so|\.so|\.zip)?\Z")
    # An editable installation is a .pth file that carries the project's name, or leads anywhere.
    return any(is_module.match(name) or (name.endswith(".pth") and "distutils" not in name) for name in names)
