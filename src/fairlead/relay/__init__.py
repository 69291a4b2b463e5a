"""The relay: what an agent starts instead of `fairlead hook`. It passes the event to the server and the reply back.

relay.c   the program, compiled while the package is built; about a millisecond
relay.py  the same in Python, where there is no compiler; `start.py` starts it
Both become `fairlead hook` itself where no server answers as it should.

`fairlead init` puts a copy into the user's state folder: it must be there, and refuse, when the package has gone.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROGRAM = "fairlead-relay"
STARTER, MODULE = "fairlead-relay.py", "fairlead_relay.py"
LONGEST_SOCKET = 107
"""Bytes of a path that the kernel takes for a socket."""
_HERE = os.path.dirname(os.path.abspath(__file__))
_PATIENCE = 10


def folder(environ: Mapping[str, str], home: str = "") -> str:
    """Where a user's copy is."""
    from fairlead.folders import state_folder

    return os.path.join(state_folder(environ, home), "bin")


def parts(kind: str) -> list[tuple[str, bytes, int]]:
    """Name, content and mode of each file of a relay: `compiled` or `python`."""
    if kind == "compiled":
        return [(PROGRAM, _content(PROGRAM), 0o700)]
    return [(MODULE, _content("relay.py"), 0o600), (STARTER, _content("start.py"), 0o600)]


def _content(name: str) -> bytes:
    with open(os.path.join(_HERE, name), "rb") as file:
        return file.read()


def words(kind: str, where: str, socket: str) -> list[str]:
    """What stands before the command that it may become."""
    if kind == "compiled":
        return [os.path.join(where, PROGRAM), socket]
    return [interpreter(), "-I", "-S", os.path.join(where, STARTER), socket]


def interpreter() -> str:
    """The one behind a virtual environment starts as well, and outlives it."""
    base: str = getattr(sys, "_base_executable", "")
    return base if base and os.access(base, os.X_OK) else sys.executable


def is_compiled(where: str) -> bool:
    """Whether the compiled relay is in this package, runs on this machine, and may run in that folder."""
    import subprocess

    program = os.path.join(_HERE, PROGRAM)
    if not os.path.isfile(program) or not may_run_in(where):
        return False
    try:
        done = subprocess.run([program, "--version"], capture_output=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.startswith(PROGRAM.encode())


def may_run_in(where: str) -> bool:
    """Some homes are mounted so that nothing in them can be started."""
    while not os.path.isdir(where):
        where = os.path.dirname(where)
    return not os.statvfs(where).f_flag & getattr(os, "ST_NOEXEC", 0)


def split(command: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words of a relay, up to its socket, and the command behind them; no words where there is no relay."""
    for place in (0, 3):
        if len(command) > place + 2 and os.path.basename(command[place]) in (PROGRAM, STARTER):
            return list(command[: place + 2]), list(command[place + 2 :])
    return [], list(command)
