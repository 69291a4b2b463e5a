"""Start a program in a directory and a session of its own, with three descriptors and no others.

`subprocess` rests on the same function in C. Used directly, a hook costs 80 µs less and the cold path 8 ms
of imports; should a later Python change its arguments, `subprocess` does it.
"""

from __future__ import annotations

import os
import sys

from fairlead import surroundings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CHDIR_FAILED = ("noexec", "noexec:chdir")
_REPORT_LIMIT = 50_000
_ENCODED_LIMIT = 1000
_MAY_VFORK = (True,) if sys.version_info < (3, 14) else ()
"""Later versions do not ask."""


def spawn(
    argv: Sequence[str],
    program: str,
    cwd: str,
    env: Mapping[str, str],
    stdio: Sequence[int],
    keep: Sequence[int] = (),
) -> int:
    """The process id. Raises OSError, with the file that is to blame, when it cannot be started. `keep` are further
    descriptors for it."""
    sys.audit("subprocess.Popen", program, argv, cwd, env)
    try:
        return _fork_exec(argv, program, cwd, env, stdio, keep)
    except (ImportError, TypeError):
        return _with_subprocess(argv, program, cwd, env, stdio, keep)


def _fork_exec(
    argv: Sequence[str],
    program: str,
    cwd: str,
    env: Mapping[str, str],
    stdio: Sequence[int],
    keep: Sequence[int],
) -> int:
    from _posixsubprocess import fork_exec

    candidates = [os.fsencode(path) for path in _candidates(program, env)]
    variables = _variables(env)
    stdin, stdout, stderr = stdio
    reading, writing = os.pipe()
    try:
        writing = _above_standard(writing)
        kept = tuple(sorted((writing, *keep)))
        try:
            pid: int = fork_exec(
                argv, candidates, True, kept, cwd, variables, stdin, -1, -1, stdout, -1, stderr,
                reading, writing, True, True, -1, None, None, None, surroundings.umask(), None, *_MAY_VFORK,  # type: ignore[arg-type]
            )  # fmt: skip
        finally:
            os.close(writing)
        report = _read_all(reading)
    finally:
        os.close(reading)
    if report:
        try:
            os.waitpid(pid, 0)
        except ChildProcessError:  # this process ignores SIGCHLD
            pass
        raise _error(report, program, cwd)
    return pid


def _candidates(program: str, env: Mapping[str, str]) -> list[str]:
    if os.path.dirname(program):
        return [program]
    return [os.path.join(folder, program) for folder in env.get("PATH", os.defpath).split(os.pathsep)]


_ENCODED: dict[str, tuple[str, bytes]] = {}
"""The last value of each variable, encoded: hooks differ in two or three of the fifty that they get."""


_UNKNOWN = object(), b""


def _variables(env: Mapping[str, str]) -> list[bytes]:
    found = []
    for name, value in env.items():
        known = _ENCODED.get(name, _UNKNOWN)
        found.append(known[1] if known[0] is value else _variable(name, value))
    return found


def _variable(name: str, value: str) -> bytes:
    if not isinstance(value, str):  # a dictionary from elsewhere may hold anything
        raise ValueError(f"the value of {name} is of type {type(value).__name__}, not text")  # noqa: TRY004
    if "=" in name:
        raise ValueError(f"{name!r} cannot be the name of an environment variable")
    encoded = os.fsencode(f"{name}={value}")
    if len(_ENCODED) < _ENCODED_LIMIT and len(encoded) < _ENCODED_LIMIT:
        _ENCODED[name] = value, encoded
    return encoded


def _above_standard(fd: int) -> int:
    """Where our own stdin, stdout or stderr is closed, a pipe can take its number."""
    low = []
    while fd < 3:
        low.append(fd)
        fd = os.dup(fd)
    for number in low:
        os.close(number)
    return fd


def _read_all(fd: int) -> bytes:
    """What went wrong on the way to exec; empty when it was reached."""
    report = b""
    while len(report) < _REPORT_LIMIT and (part := os.read(fd, _REPORT_LIMIT)):
        report += part
    return report


def _error(report: bytes, program: str, cwd: str) -> OSError:
    """From `OSError:HEX:WHERE`, written by the child."""
    _kind, number, where = (*report.decode("ascii", "replace").split(":", 2), "", "")[:3]
    code = int(number or "0", 16)
    return OSError(code, os.strerror(code), cwd if where in _CHDIR_FAILED else program)


def _with_subprocess(
    argv: Sequence[str],
    program: str,
    cwd: str,
    env: Mapping[str, str],
    stdio: Sequence[int],
    keep: Sequence[int] = (),
) -> int:
    import subprocess

    stdin, stdout, stderr = stdio
    process = subprocess.Popen(
        argv,
        executable=program,
        cwd=cwd,
        env=env,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
        pass_fds=keep,
        umask=surroundings.umask(),
    )
    process.returncode = 0  # collected by us
    return process.pid
