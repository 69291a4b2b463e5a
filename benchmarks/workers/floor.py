"""The floor: posix_spawn with three pipes and a pidfd, and nothing else. Arguments: how many, and how."""

from __future__ import annotations

import contextlib
import os
import select
import sys

from _turns import serve_blocking

PAYLOAD = (
    b'{"session_id":"s","cwd":"/","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}'
)


def start() -> tuple[int, int, int]:
    (in_read, in_write), (out_read, out_write), (err_read, err_write) = os.pipe(), os.pipe(), os.pipe()
    actions = [
        (os.POSIX_SPAWN_DUP2, in_read, 0),
        (os.POSIX_SPAWN_DUP2, out_write, 1),
        (os.POSIX_SPAWN_DUP2, err_write, 2),
    ]
    pid = os.posix_spawn("/bin/true", ["/bin/true"], os.environ, file_actions=actions, setsid=True)
    for fd in (in_read, out_write, err_write):
        os.close(fd)
    with contextlib.suppress(BrokenPipeError):  # it may have exited already
        os.write(in_write, PAYLOAD)
    os.close(in_write)
    return os.pidfd_open(pid), out_read, err_read


def finish(pidfd: int, out: int, err: int) -> None:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    poll.poll()
    os.waitid(os.P_PIDFD, pidfd, os.WEXITED)
    os.read(out, 65536)
    os.read(err, 65536)
    for fd in (pidfd, out, err):
        os.close(fd)


def together(count: int) -> None:
    for child in [start() for _ in range(count)]:
        finish(*child)


def in_a_row(count: int) -> None:
    for _ in range(count):
        finish(*start())


how = together if sys.argv[2] == "together" else in_a_row
serve_blocking(lambda: how(int(sys.argv[1])))
