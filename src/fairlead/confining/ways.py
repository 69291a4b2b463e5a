"""Which sandbox this machine can build: bubblewrap's where it works, Landlock's elsewhere, or none, and why."""

from __future__ import annotations

import os
import sys

from fairlead import wire
from fairlead.confining import bubblewrap, filtering, landlock
from fairlead.errors import InputError
from fairlead.folders import state_folder
from fairlead.hooks import HookFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

BUBBLEWRAP, LANDLOCK = "bubblewrap", "landlock"
WAYS = (BUBBLEWRAP, LANDLOCK)
_FOLDERS = ("/usr/bin", "/usr/local/bin", "/bin", "/run/current-system/sw/bin")
"""Where a program is looked for that others are to be locked into: never where a project could put one."""
_SWITCHES = (
    "/proc/sys/kernel/random/boot_id", "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "/proc/sys/user/max_user_namespaces",
)  # fmt: skip
"""What decides, beside the program itself, whether it works; with the boot."""
_PROBE_TIME = 20.0
_FOUND: dict[str, tuple[tuple[str, ...], str]] = {}


def system_program(name: str) -> str:
    places = (os.path.join(folder, name) for folder in _FOLDERS)
    return next((place for place in places if os.access(place, os.X_OK)), "")


def find(by: str, environ: Mapping[str, str], home: str) -> tuple[str, tuple[str, ...]]:
    """`landlock`, or the program bwrap with its options. Raises HookFailed, never chooses to do without."""
    found, options, why_not = look(by, environ, home)
    if not found:
        raise HookFailed(f"its sandbox cannot be built here, so it was not run: {why_not}; see `fairlead doctor`")
    return found, options


def look(by: str, environ: Mapping[str, str], home: str) -> tuple[str, tuple[str, ...], str]:
    """The same, or nothing and why."""
    if not sys.platform.startswith("linux"):
        return "", (), "that needs Linux"
    why_not = ""
    if by != LANDLOCK:
        program = system_program("bwrap")
        options, why_not = _works(program, environ, home) if program else ((), _INSTALL)
        if options:
            return program, options, ""
    if by != BUBBLEWRAP:
        missing = _no_landlock()
        if not missing:
            return LANDLOCK, (), ""
        why_not = "; ".join(filter(None, (why_not, missing)))
    return "", (), why_not


_INSTALL = "bubblewrap is not installed (the package is called bubblewrap)"


def _no_landlock() -> str:
    """Why it cannot be used; empty where it can."""
    if not filtering.is_known():
        return f"there is no filter of system calls for {os.uname().machine}"
    version = landlock.version()
    if version < landlock.NEEDED:
        return "this kernel's Landlock is too old" if version else "this kernel has no Landlock (Linux 6.2 has)"
    return ""


def _works(program: str, environ: Mapping[str, str], home: str) -> tuple[tuple[str, ...], str]:
    """The options with which it does, or none and its complaint. Tried once after each boot."""
    if program not in _FOUND:
        _FOUND[program] = _kept(program, os.path.join(state_folder(environ, home), "sandbox.json"))
    return _FOUND[program]


def _kept(program: str, file: str) -> tuple[tuple[str, ...], str]:
    key, kept = _key(program), _read(file)
    if kept.get("key") == key:
        return tuple(map(str, kept.get("options", ()))), str(kept.get("why_not", ""))
    options, why_not = _probe(program)
    _keep(file, {"key": key, "options": list(options), "why_not": why_not})
    return options, why_not


def _key(program: str) -> str:
    facts = [program, str(os.stat(program).st_mtime_ns), str(os.getuid()), *map(_line, _SWITCHES)]
    return " ".join((*facts, *bubblewrap.ALWAYS, *bubblewrap.OPTIONAL))


def _line(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return "-"


def _probe(program: str) -> tuple[tuple[str, ...], str]:
    why_not = ""
    for more in (bubblewrap.OPTIONAL, ()):
        options = (*bubblewrap.ALWAYS, *more)
        why_not = _complaint([program, *options, "--unshare-net", "--tmpfs", "/tmp", "--", "/bin/sh", "-c", ":"])  # noqa: S108
        if not why_not:
            return options, ""
    return (), f"bubblewrap does not work here ({why_not})"


def _complaint(words: list[str]) -> str:
    import subprocess

    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROBE_TIME, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = done.stderr.decode("utf-8", "replace").strip()[-200:]
    return said or f"exit {done.returncode}" if done.returncode else ""


def _read(file: str) -> dict[str, Any]:
    try:
        with open(file, "rb") as kept:
            return wire.decode_object(kept.read())
    except (OSError, InputError):
        return {}


def _keep(file: str, value: dict[str, Any]) -> None:
    """For the next process; one that cannot write there finds it out again."""
    import tempfile

    folder = os.path.dirname(file)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor, path = tempfile.mkstemp(dir=folder, prefix=".sandbox-")
        with os.fdopen(descriptor, "wb") as draft:
            draft.write(wire.encode(value))
        os.replace(path, file)
    except OSError:
        pass
