"""What `test_sharing` looks at, each in a process of its own: one with several threads could not be copied."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from fairlead.errors import FairleadError
from fairlead.journal.sharing import shared


def squared(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


def everything_comes_back_in_order() -> None:
    for workers in (1, 2, 3):
        for count in (0, 1, 2, 50):
            found = [value for value, _ in shared(squared, range(count), workers)]
            assert found == [number**2 for number in range(count)], (workers, count)


def it_is_done_by_other_processes() -> None:
    processes = {process for _, process in shared(squared, range(20), 2)}
    assert processes
    assert os.getpid() not in processes


def only_so_much_is_given_out_as_somebody_takes() -> None:
    given: list[int] = []

    def items() -> Iterator[int]:
        for number in range(1000):
            given.append(number)
            yield number

    found = shared(squared, items(), 2)
    for _ in range(5):
        next(found)
    assert len(given) < 30, len(given)


def long_things_go_over_and_come_back() -> None:
    long = "x" * 3_000_000
    found = list(shared(lambda text: {"text": text, "half": "\ud800"}, [long] * 4, 2))
    assert found == [{"text": long, "half": "\ud800"}] * 4


def what_goes_wrong_in_one_is_said() -> None:
    assert _complaint(lambda number: 1 / number, [1, 0]) == "ZeroDivisionError: division by zero"


def one_that_is_killed_is_said_and_not_waited_for() -> None:
    def work(number: int) -> int:
        if number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    assert "has ended before it was done" in _complaint(work, range(10))


def nobody_is_left_behind() -> None:
    found = shared(squared, range(1000), 3)
    processes = {next(found)[1] for _ in range(10)}
    del found
    for process in processes:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            continue
        raise AssertionError(process)


def no_file_is_left_open() -> None:
    list(shared(squared, range(3), 2))
    before = len(os.listdir("/dev/fd"))
    for _ in range(5):
        list(shared(squared, range(3), 2))
    assert len(os.listdir("/dev/fd")) == before


def beside_other_threads_it_is_done_here() -> None:
    ready = threading.Event()
    other = threading.Thread(target=ready.wait)
    other.start()
    found = list(shared(squared, range(3), 2))
    ready.set()
    other.join()
    assert {process for _, process in found} == {os.getpid()}


def _complaint(work: Callable[[Any], Any], items: Any) -> str:
    try:
        list(shared(work, items, 2))
    except FairleadError as error:
        return str(error)
    return ""


CASES = {name: value for name, value in list(globals().items()) if callable(value) and value.__module__ == __name__}
for _helper in ("squared", "_complaint"):
    del CASES[_helper]

if __name__ == "__main__":
    CASES[sys.argv[1]]()
