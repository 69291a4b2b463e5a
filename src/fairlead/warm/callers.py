"""Who is at the other end of the socket, and whether we can stand in for a program that is started there."""

from __future__ import annotations

import os
import re
import socket
from functools import cache
from struct import Struct

from fairlead import relay
from fairlead._record import Record
from fairlead.installing.commands import program

_CREDENTIALS = Struct("3i")
_SPACES = ("ns/mnt", "ns/user", "ns/pid", "ns/net", "root")
_FENCES = re.compile(rb"\n((?:NoNewPrivs:|Seccomp|Cap|Uid:|Gid:|Groups:)[^\n]*)")
"""What a program cannot take off again, and all that it starts has too; of seccomp also how many filters there are."""
_UMASK = re.compile(rb"\nUmask:\s*([0-7]+)")


class Stranger(Exception):  # noqa: N818  # it is a fact about them
    """Another user's program."""


class Elsewhere(Exception):  # noqa: N818  # the same
    """A program behind a fence that we are not behind: what it starts must stay there."""


class OtherFairlead(Elsewhere):
    """A relay of another installation, which may be of another version: its own answers are others."""


class Caller(Record):
    pid: int
    umask: int
    """-1 where the machine does not say."""


def caller_of(connection: socket.socket) -> Caller:
    """Raises Stranger, Elsewhere, or OtherFairlead."""
    pid, uid = _credentials(connection)
    if uid != os.getuid():
        raise Stranger(f"process {pid} of user {uid}")
    if not _is_linux():
        return Caller(pid=pid, umask=-1)
    theirs, umask = _fence(pid)
    if theirs != _own_fence():
        raise Elsewhere(f"process {pid} is confined otherwise than this server")
    _refuse_another_fairlead(pid)
    return Caller(pid=pid, umask=umask)


@cache
def _is_linux() -> bool:
    return os.path.exists("/proc/self/status")


def _credentials(connection: socket.socket) -> tuple[int, int]:
    if hasattr(socket, "SO_PEERCRED"):
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid, uid, _gid = _CREDENTIALS.unpack(raw)
        return pid, uid
    raw = connection.getsockopt(0, 1, 76)  # SOL_LOCAL, LOCAL_PEERCRED: version and user
    return 0, int.from_bytes(raw[4:8], "little")


_OWN: list[tuple[object, ...]] = []


def _own_fence() -> tuple[object, ...]:
    if not _OWN:
        _OWN.append(_fence(os.getpid())[0])
    return _OWN[0]


def _fence(pid: int) -> tuple[tuple[object, ...], int]:
    """All that confines a process, and its umask. Raises Elsewhere where it is hidden from us, or has gone."""
    try:
        status = _status(pid)
        spaces = [_link(f"/proc/{pid}/{name}") for name in _SPACES]
    except OSError as error:
        raise Elsewhere(f"process {pid} cannot be looked at: {error.strerror}") from None
    umask = _UMASK.search(status)
    return (*spaces, *_FENCES.findall(status)), int(umask[1], 8) if umask else -1


def _refuse_another_fairlead(pid: int) -> None:
    """What a relay would become without us is what it asks us to stand in for."""
    try:
        words = [os.fsdecode(word) for word in _read(f"/proc/{pid}/cmdline").split(b"\0")]
    except OSError as error:
        raise Elsewhere(f"process {pid} cannot be looked at: {error.strerror}") from None
    before, command = relay.split(words)
    if before and _place(command) != _own_place():
        raise OtherFairlead(f"hooks of another Fairlead are left to it: {' '.join(command[:3])}")


def _place(command: list[str]) -> tuple[str, ...]:
    """An interpreter may be called `python` or `python3`; its folder and the file that it runs tell it from others."""
    return os.path.dirname(command[0]), *command[2:3]


@cache
def _own_place() -> tuple[str, ...]:
    return _place(program())


def _status(pid: int) -> bytes:
    return _read(f"/proc/{pid}/status")


def _read(path: str) -> bytes:
    """At one go: file objects and text would double what it costs."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 1 << 16)
    finally:
        os.close(descriptor)


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except FileNotFoundError:  # a kernel without this kind of space: the process itself is there, we have its status
        return ""
