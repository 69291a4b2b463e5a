"""System calls that Python has no function for. Each raises OSError, with what was refused."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_NO_NEW_PRIVS, _SECCOMP, _FILTER = 38, 22, 2
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITIES = (0x20080522).to_bytes(4, "little") + bytes(4)
_LOADED: list[Any] = []


def _libc() -> Any:
    if not _LOADED:
        import ctypes

        _LOADED.append(ctypes.CDLL(None, use_errno=True))
    return _LOADED[0]


def call(number: int, *arguments: Any) -> int:
    import ctypes

    known = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result: int = _libc().syscall(ctypes.c_long(number), *known)
    if result < 0:
        _fail(f"system call {number}")
    return result


def caller(number: int, *kinds: str) -> Callable[..., int]:
    """For a call that is made often: what its arguments are is said once (`c_long`, `c_char_p`, …)."""
    import ctypes

    types = [getattr(ctypes, kind) for kind in ("c_long", *kinds)]
    function = ctypes.CFUNCTYPE(ctypes.c_long, *types, use_errno=True)(("syscall", _libc()))

    def made(*arguments: Any) -> int:
        result: int = function(number, *arguments)
        if result < 0:
            _fail(f"system call {number}")
        return result

    return made


def _fail(what: str) -> None:
    import ctypes

    code = ctypes.get_errno()
    raise OSError(code, f"{what}: {os.strerror(code)}")


def _prctl(what: str, *arguments: Any) -> None:
    import ctypes

    known = [ctypes.c_ulong(value) if isinstance(value, int) else value for value in arguments]
    if _libc().prctl(*known, *[ctypes.c_ulong(0)] * (5 - len(known))) != 0:
        _fail(what)


def give_up_new_privileges() -> None:
    """For this thread and what it starts: setuid programs are programs like any other."""
    _prctl("no_new_privs", _NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """Root without them is an ordinary user whose files are root's."""
    call(_CAPSET[os.uname().machine], _CAPABILITIES, bytes(24))


def filter_calls(program: bytes) -> None:
    """Of this thread and what it starts."""
    import ctypes

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))

    wanted = Program(len(program) // 8, program)
    _prctl("seccomp", _SECCOMP, _FILTER, ctypes.byref(wanted))
