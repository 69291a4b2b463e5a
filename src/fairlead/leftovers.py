"""What a hook has left behind outside its process group.

Such processes are known by the mark in their environment, because they hold one of our pipes open for
writing, or because they were seen below the hook before. All this needs /proc; elsewhere the process
group is all that can be found.
"""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

_ROUNDS = 20
_DEAD = (b"Z", b"X")
_VARIABLE = b"FAIRLEAD_HOOK_RUN="
"""`process.MARK`, which imports us."""


def below(pid: int) -> dict[int, int]:
    """The descendants of a process, and when each of them was started."""
    children: dict[int, list[int]] = {}
    started = {}
    for other in _processes():
        _state, parent, moment = _stat(other)
        children.setdefault(parent, []).append(other)
        started[other] = moment
    found: dict[int, int] = {}
    todo = [pid]
    while todo:
        for child in children.pop(todo.pop(), ()):
            found[child] = started[child]
            todo.append(child)
    return found


def is_group_alive(group: int) -> bool:
    """Whether anybody in it runs; the dead stay in it for ever where process 1 does not collect them."""
    others = _processes()
    return not others or any(_group(pid) == group for pid in others)


def kill_all(since: int, mark: str, pipes: Collection[str], seen: Mapping[int, int]) -> None:
    """Everything that a hook has started, as far as it can be known. `since` is when the hook was, in ticks."""

    def is_ours(pid: int) -> bool:
        state, _parent, moment = _stat(pid)
        if state in _DEAD or moment < since:
            return False
        return seen.get(pid) == moment or mark.encode() in _marks(pid) or _writes_to(pid, pipes)

    _kill(is_ours)


def kill_marked(marks: Collection[bytes]) -> None:
    """Everything that carries one of them, whoever has started it."""

    def is_ours(pid: int) -> bool:
        return _stat(pid)[0] not in _DEAD and not _marks(pid).isdisjoint(marks)

    _kill(is_ours)


def ask_to_end(seen: Mapping[int, int]) -> None:
    """What was seen below a hook; process 1 of a namespace does not hear it."""
    for pid, moment in seen.items():
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            continue
        try:
            if _stat(pid)[2] == moment:
                signal.pidfd_send_signal(descriptor, signal.SIGTERM)
        except OSError:
            pass
        finally:
            os.close(descriptor)


def kill_writers(since: int, pipes: Collection[str]) -> None:
    """Only what keeps our pipes open."""
    if pipes:
        _kill(lambda pid: _stat(pid)[2] >= since and _writes_to(pid, pipes))


def _kill(is_ours: Callable[[int], bool]) -> None:
    killed: set[int] = set()
    for _ in range(_ROUNDS):  # what was forked while we looked is found in the next round
        found = [pid for pid in _processes() if pid not in killed and is_ours(pid) and _kill_one(pid, is_ours)]
        if not found:
            return
        killed.update(found)


def _kill_one(pid: int, is_ours: Callable[[int], bool]) -> bool:
    """Asks again while a pidfd holds on to the process: its number cannot become another's in between."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    except (AttributeError, OSError):
        return _kill_by_number(pid)
    try:
        if is_ours(pid):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            return True
    except OSError:
        pass
    finally:
        os.close(descriptor)
    return False


def _kill_by_number(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return False
    return True


def _processes() -> list[int]:
    own = os.getpid()
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != own]
    except OSError:
        return []


def _stat(pid: int) -> tuple[bytes, int, int]:
    """State, parent, and the moment of its start in ticks of the kernel."""
    # The name in brackets may hold spaces and brackets of its own.
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return (fields[0], int(fields[1]), int(fields[19])) if len(fields) > 19 else (b"X", 0, 0)


def _group(pid: int) -> int:
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[2]) if len(fields) > 2 and fields[0] not in _DEAD else 0


def _marks(pid: int) -> set[bytes]:
    """Those of the hooks that it runs in. In another variable such digits mean nothing."""
    variables = _read(pid, "environ").split(b"\0")
    return {mark for variable in variables if variable.startswith(_VARIABLE) for mark in variable.split(b"/")[1:]}


def _writes_to(pid: int, pipes: Collection[str]) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    return any(_is_open_for_writing(f"{folder}/{name}", pipes) for name in names)


def _is_open_for_writing(link: str, pipes: Collection[str]) -> bool:
    try:
        # A process that another thread of ours is just starting holds the reading ends for a moment.
        return os.readlink(link) in pipes and bool(os.lstat(link).st_mode & 0o200)
    except OSError:
        return False


def _read(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""
