"""A seccomp filter: the system calls that a hook in a sandbox does not get, as a program for the kernel.

All others work. A call for another architecture ends the process: its numbers mean something else.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LOAD, _JUMP_EQUAL, _JUMP_FROM, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_X32 = 0x40000000

_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_CALLS: dict[str, tuple[int, int]] = {
    "utime": (132, -1), "utimes": (235, -1), "futimesat": (261, -1), "utimensat": (280, 88),
    "socket": (41, 198), "ioctl": (16, 29), "prlimit64": (302, 261), "io_uring_setup": (425, 425),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "open_by_handle_at": (304, 265),
    "chmod": (90, -1), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, -1),
    "fchown": (93, 55), "lchown": (94, -1), "fchownat": (260, 54), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "fsetxattr": (190, 7), "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "setxattrat": (463, 463), "removexattrat": (466, 466), "file_setattr": (469, 469),
}  # fmt: skip
"""Numbers on x86-64 and on ARM; -1 where there is no such call."""

_NEVER = ("keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd", "open_by_handle_at")
_METADATA = tuple(_CALLS)[list(_CALLS).index("chmod") :]
"""Changes of files that Landlock knows nothing of."""
_TIMES = ("utime", "utimes", "futimesat")
_TERMINAL = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: typing into somebody's terminal."""
_FILE_FLAGS = (0x40086602, 0x401C5820)
"""FS_IOC_SETFLAGS and FS_IOC_FSSETXATTR: chattr."""
_INTERNET = (2, 10)
_NETLINK = 16
"""Which a resolver asks for the machine's addresses."""
_KINDS = (1, 2)
"""Streams and datagrams; nothing raw."""
_KIND_BITS = 0xF


def is_known(machine: str = "") -> bool:
    return (machine or os.uname().machine) in _MACHINES


def program(*, network: bool, metadata: bool, machine: str = "") -> bytes:
    """For the kernel. Without `metadata`, modes, owners and times of files cannot be changed."""
    architecture, column = _MACHINES[machine or os.uname().machine]
    lines = [*_head(architecture, column)]
    for name in (*_NEVER, *(() if metadata else (*_METADATA, *_TIMES))):
        lines += _call(name, column, [(_RETURN, 0, 0, _ERROR | _EPERM)])
    if not metadata:
        lines += _call("utimensat", column, [*_of_open_files(1)])
    lines += _call("io_uring_setup", column, [(_RETURN, 0, 0, _ERROR | _ENOSYS)])  # programs then do without
    lines += _call("socket", column, [*_socket(network)])
    lines += _call("ioctl", column, [*_refused_values(1, (*_TERMINAL, *(() if metadata else _FILE_FLAGS)))])
    if not metadata:  # without a PID namespace the limits of others are within reach
        lines += _call("prlimit64", column, [*_only_zero(0)])
    lines.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(_line(*line) for line in lines)


if TYPE_CHECKING:
    Line = tuple[int, int, int, int]


def _head(architecture: int, column: int) -> Iterator[Line]:
    yield _LOAD, 0, 0, _ARCHITECTURE
    yield _JUMP_EQUAL, 1, 0, architecture
    yield _RETURN, 0, 0, _KILL
    yield _LOAD, 0, 0, _NUMBER
    if column == 0:
        yield _JUMP_FROM, 0, 1, _X32
        yield _RETURN, 0, 0, _KILL


def _call(name: str, column: int, lines: list[Line]) -> list[Line]:
    """What happens to one call. Its lines always end it, so that the number stays loaded for the others."""
    number = _CALLS[name][column]
    if number < 0:
        return []
    return [(_JUMP_EQUAL, 0, len(lines), number), *lines]


def _argument(index: int) -> Line:
    return _LOAD, 0, 0, _ARGUMENTS + 8 * index  # the lower half, where it is little-endian


def _socket(network: bool) -> Iterator[Line]:
    """None at all without a network: those of the file system lead to services that are in no sandbox."""
    if network:
        refused, allowed = (_RETURN, 0, 0, _ERROR | _EPERM), (_RETURN, 0, 0, _ALLOW)
        yield _argument(0)
        yield _JUMP_EQUAL, 3, 0, _NETLINK
        yield _JUMP_EQUAL, 4, 0, _INTERNET[0]
        yield _JUMP_EQUAL, 3, 0, _INTERNET[1]
        yield refused
        yield _argument(2)
        yield _JUMP_EQUAL, 4, 5, 0  # NETLINK_ROUTE
        yield _argument(1)
        yield _AND, 0, 0, _KIND_BITS
        yield _JUMP_EQUAL, 1, 0, _KINDS[0]
        yield _JUMP_EQUAL, 0, 1, _KINDS[1]
        yield allowed
    yield _RETURN, 0, 0, _ERROR | _EPERM


def _refused_values(index: int, values: tuple[int, ...]) -> Iterator[Line]:
    yield _argument(index)
    for value in values:
        yield _JUMP_EQUAL, 0, 1, value
        yield _RETURN, 0, 0, _ERROR | _EPERM
    yield _RETURN, 0, 0, _ALLOW


def _only_zero(index: int) -> Iterator[Line]:
    yield _argument(index)
    yield _JUMP_EQUAL, 1, 0, 0
    yield _RETURN, 0, 0, _ERROR | _EPERM
    yield _RETURN, 0, 0, _ALLOW


def _of_open_files(index: int) -> Iterator[Line]:
    """Without a path it is about a file that is open already. Of that we say that it was done: `touch` has to work in
    a folder of the hook's own. With one it is refused, or a `touch` that could make no file would seem to have."""
    yield _argument(index)
    yield _JUMP_EQUAL, 0, 3, 0
    yield _LOAD, 0, 0, _ARGUMENTS + 8 * index + 4
    yield _JUMP_EQUAL, 0, 1, 0
    yield _RETURN, 0, 0, _ERROR
    yield _RETURN, 0, 0, _ERROR | _EPERM


def _line(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return code.to_bytes(2, "little") + bytes((if_true, if_false)) + value.to_bytes(4, "little")
