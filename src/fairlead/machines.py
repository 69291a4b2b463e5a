"""Which machine this is, and which process: so that one that asks and one that answers know whether they see the
same files and the same processes."""

from __future__ import annotations

import os

_NAMESPACES = ("/proc/self/ns/mnt", "/proc/self/ns/pid")


def this_machine() -> str:
    """Equal for two processes only if they see the same files: a container on this machine differs after the dot.

    What stands before the dot stays through restarts.
    """
    import socket

    machine = _digest(socket.gethostname(), _read("/etc/machine-id"))
    return f"{machine}.{_digest(*map(_link, _NAMESPACES))}"


def _digest(*parts: str) -> str:
    import hashlib

    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(100).strip()
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def this_process() -> str:
    return process(os.getpid())


def process(pid: int) -> str:
    """Its number, and when it began: numbers are used again."""
    return f"{pid} {_beginning(pid)}".strip()


def name_of_process(pid: int) -> str:
    """Never another's, also after a restart of the machine; it stays when the process becomes another program. Empty
    where that cannot be said."""
    boot, beginning = _read("/proc/sys/kernel/random/boot_id"), _beginning(pid)
    return f"{boot} {pid} {beginning}" if boot and beginning not in ("", "ended") else ""


def is_over(process: str) -> bool:
    """Of a process of this machine; what cannot be told is not over."""
    number, _, beginning = process.partition(" ")
    if not number.isdecimal() or not 1 < int(number) < 1 << 31:
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:  # somebody else's
        pass
    now = _beginning(int(number))
    return bool(beginning and now) and (now != beginning)


def _beginning(pid: int) -> str:
    """In ticks since the start of the machine, and Z for one that has ended; empty where there is no /proc."""
    said = _read_all(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return "" if len(said) < 20 else "ended" if said[0] in ("Z", "X") else said[19]


def _read_all(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(4096)
    except OSError:
        return ""
