"""Limits of a hook's process, set before it begins: from outside, it could have forked by then."""

from __future__ import annotations

import os

from fairlead.confining.ways import system_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.confining import Limits

_OPTIONS = {"CORE": "core", "CPU": "cpu", "DATA": "data", "NPROC": "nproc", "FSIZE": "fsize", "NOFILE": "nofile"}
_LAUNCHER = """
import os, resource, sys
for word in sys.argv[1].split(","):
    name, soft, hard = word.split(":")
    kind, most = getattr(resource, "RLIMIT_" + name), resource.getrlimit(getattr(resource, "RLIMIT_" + name))[1]
    values = [int(soft), int(hard)] if most < 0 else [min(int(soft), most), min(int(hard), most)]
    resource.setrlimit(kind, values)
try:
    os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error:
    print(f"{sys.argv[2]}: {error.strerror}", file=sys.stderr)
    sys.exit(127)
"""


def words(limits: Limits, *, own_count: bool) -> list[str]:
    """What stands before the hook's own words. `own_count`: only processes of the hook are counted."""
    program = system_program("prlimit")
    chosen = [*wanted(limits, own_count=own_count)]
    if not program:
        return launcher(chosen)
    return [program, *(f"--{_OPTIONS[name]}={soft}:{hard}" for name, soft, hard in chosen), "--"]


def launcher(chosen: list[tuple[str, int, int]]) -> list[str]:
    """The same, slower, where the system has no such program."""
    import sys

    said = ",".join(f"{name}:{soft}:{hard}" for name, soft, hard in chosen)
    return [sys.executable, "-I", "-S", "-c", _LAUNCHER, said]


def wanted(limits: Limits, *, own_count: bool = False) -> Iterator[tuple[str, int, int]]:
    """Each with the limit that warns and the one that ends."""
    yield "CORE", 0, 0
    if limits.cpu is not None:
        yield "CPU", limits.cpu, limits.cpu + 1
    if limits.memory is not None:
        yield "DATA", limits.memory, limits.memory
    if limits.file_size is not None:
        yield "FSIZE", limits.file_size, limits.file_size
    if limits.open_files is not None:
        yield "NOFILE", limits.open_files, limits.open_files
    if limits.processes is not None:
        most = limits.processes + (1 if own_count else _running())
        yield "NPROC", most, most


def _running() -> int:
    """Processes and threads of this user: the kernel counts them all together, and has no other way to count."""
    user, count = os.getuid(), 0
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        try:
            if name.isdecimal() and os.stat(f"/proc/{name}").st_uid == user:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:  # it has ended
            continue
    return count
