"""Share work among processes, and have what comes of it in order.

Each process is a copy of this one, made when the work begins. Only so much is given out that what nobody has asked for
yet stays small, however much there is to do.
"""

from __future__ import annotations

import marshal
import os
import select
import signal
import sys

from fairlead.errors import FairleadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, NoReturn

_AHEAD = 4
"""Pieces of work for each process that are given out before the first of them was asked for."""


def processors() -> int:
    """That we may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def shared(work: Callable[[Any], Any], items: Iterable[Any], workers: int) -> Iterator[Any]:
    """`work(item)` for each, in the order of the items. What goes over and comes back is made of plain values."""
    if workers < 2 or not _may_fork():
        yield from map(work, items)
        return
    crew: list[_Worker] = []
    try:
        for _ in range(workers):
            crew.append(_Worker(work, crew))
        yield from _in_order(crew, iter(items))
    finally:
        for worker in crew:
            worker.end()


def _may_fork() -> bool:
    """A copy of a process with several threads has their locks and not them."""
    threads = sys.modules.get("threading")
    return hasattr(os, "fork") and (threads is None or threads.active_count() == 1)


def _in_order(crew: list[_Worker], items: Iterator[Any]) -> Iterator[Any]:
    idle, done, given, shown = list(crew), {}, 0, 0
    busy: dict[int, tuple[_Worker, int]] = {}
    is_over = False
    while True:
        while idle and not is_over and given - shown < _AHEAD * len(crew):
            try:
                item = next(items)
            except StopIteration:
                is_over = True
                break
            worker = idle.pop()
            worker.give(item)
            busy[worker.answers] = (worker, given)
            given += 1
        if not busy and is_over:
            return
        for file in _readable(list(busy)):
            worker, number = busy.pop(file)
            done[number] = worker.take()
            idle.append(worker)
        while shown in done:
            yield done.pop(shown)
            shown += 1


def _readable(files: list[int]) -> list[int]:
    poll = select.poll()
    for file in files:
        poll.register(file, select.POLLIN | select.POLLHUP)
    return [file for file, _ in poll.poll()]


class _Worker:
    def __init__(self, work: Callable[[Any], Any], others: list[_Worker]) -> None:
        theirs, self._questions = os.pipe()
        self.answers, back = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._process = os.fork()
        if not self._process:
            for file in (self._questions, self.answers, *(file for one in others for file in one.files)):
                os.close(file)
            _serve(work, theirs, back)
        os.close(theirs)
        os.close(back)

    @property
    def files(self) -> tuple[int, int]:
        return self._questions, self.answers

    def give(self, item: Any) -> None:
        try:
            _send(self._questions, ("", item))
        except BrokenPipeError:  # it has ended; taking its answer says so
            pass

    def take(self) -> Any:
        answer = _receive(self.answers)
        if answer is None:
            raise FairleadError(
                "a process that shared the work has ended before it was done",
                hint="the machine may be short of memory; choose fewer events, for example with --since",
            )
        if answer[0]:
            raise FairleadError(answer[0])
        return answer[1]

    def end(self) -> None:
        os.close(self._questions)
        os.close(self.answers)
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)


def _serve(work: Callable[[Any], Any], questions: int, answers: int) -> NoReturn:
    """What interrupts the person's command is for the parent, which ends us."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        while (item := _receive(questions)) is not None:
            _send(answers, _answer(work, item[1]))
    finally:
        os._exit(0)


def _answer(work: Callable[[Any], Any], item: Any) -> tuple[str, Any]:
    try:
        return "", work(item)
    except Exception as error:  # noqa: BLE001  # whatever it is, it is said where somebody reads it
        return f"{type(error).__name__}: {error}", None


def _send(file: int, value: Any) -> None:
    raw = marshal.dumps(value)
    data = memoryview(len(raw).to_bytes(8, "big") + raw)
    while data:
        data = data[os.write(file, data) :]


def _receive(file: int) -> Any:
    """None at the end."""
    size = _read(file, 8)
    if len(size) < 8:
        return None
    raw = _read(file, int.from_bytes(size, "big"))
    return marshal.loads(raw) if len(raw) == int.from_bytes(size, "big") else None  # noqa: S302  # from our own copy


def _read(file: int, count: int) -> bytes:
    parts = []
    while count and (part := os.read(file, min(count, 1 << 20))):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
