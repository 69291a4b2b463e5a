"""Running a foreign program so that it reaches nothing but us, and leaves nothing behind."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")

PATIENCE = 100.0
"""Seconds after which a program counts as hanging."""

_NEW_NETWORK = 0x40000000
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1


def on_loopback_only(work: Callable[[], Result]) -> Result:
    """Do it in a thread whose sockets and children know no network but loopback, where we may do that."""
    done: list[Result] = []
    failed: list[BaseException] = []

    def alone() -> None:
        leave_network()
        try:
            done.append(work())
        except BaseException as error:  # noqa: BLE001  # raised again below
            failed.append(error)

    thread = threading.Thread(target=alone)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]


def leave_network() -> bool:
    """Put this thread into a network of its own; False where only root may."""
    if not hasattr(ctypes.CDLL(None), "unshare") or ctypes.CDLL(None, use_errno=True).unshare(_NEW_NETWORK) != 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = fcntl.ioctl(any_socket, _GET_FLAGS, struct.pack("16sH14x", b"lo", 0))
        flags = struct.unpack("16sH14x", asked)[1]
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14x", b"lo", flags | _UP))
    return True


@dataclass(frozen=True)
class Session:
    """How a program ended."""

    code: int | None
    """None: it had to be killed."""
    out: str
    err: str

    @property
    def ended(self) -> bool:
        return self.code is not None


def run(argv: Sequence[str], environ: Mapping[str, str], cwd: Path, patience: float = PATIENCE) -> Session:
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=dict(environ),
        start_new_session=True,
    )
    code: int | None = None
    try:
        out, err = process.communicate(timeout=patience)
        code = process.returncode
    except subprocess.TimeoutExpired:
        end_everything(process.pid, environ)
        out, err = process.communicate()
    finally:
        end_everything(process.pid, environ)
    return Session(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def end_everything(group: int, environ: Mapping[str, str]) -> None:
    """The program's group, and what has left it but still has the home that we made for this one run."""
    _kill(os.killpg, group)
    for process in _with_home(environ.get("HOME", "")):
        _kill(os.kill, process)


def _with_home(home: str) -> list[int]:
    mark = b"\0HOME=%s\0" % os.fsencode(home)
    numbers = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()] if home else []
    return [number for number in numbers if mark in b"\0%s\0" % _environ_of(number)]


def _environ_of(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/environ").read_bytes()
    except OSError:
        return b""


def _kill(how: Callable[[int, int], None], number: int) -> None:
    try:
        how(number, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
