"""Interleaved measuring: in every round each contender takes its turn, so that noise hits all alike."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, NamedTuple

_IN_A_PIPE = 60_000
"""Bytes that it takes without anybody who reads."""


class Figure(NamedTuple):
    """Times of one contender in seconds."""

    name: str
    times: Sequence[float]

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def quartiles(self) -> tuple[float, float]:
        """Between them lies half of what was measured."""
        if len(self.times) < 2:
            return self.times[0], self.times[0]
        first, _, third = statistics.quantiles(self.times, n=4, method="inclusive")
        return first, third

    @property
    def best(self) -> float:
        """The fifth percentile: what it costs when nothing else happens on the machine."""
        return sorted(self.times)[len(self.times) // 20]


class Claim(NamedTuple):
    """A ratio that must hold."""

    text: str
    figure: Figure
    against: Figure
    limit: float | None
    """None where it is only watched."""

    @property
    def ratio(self) -> float:
        """Of the medians of the paired rounds: drift of the machine cancels out."""
        return statistics.median(
            ours / theirs for ours, theirs in zip(self.figure.times, self.against.times, strict=True)
        )

    @property
    def holds(self) -> bool:
        return self.limit is None or self.ratio <= self.limit

    @property
    def is_recorded(self) -> bool:
        """Whether a worse one means worse code: both sides were measured in the same rounds."""
        return len(set(self.against.times)) > 1


class Suite(NamedTuple):
    title: str
    unit: float
    unit_name: str
    figures: Sequence[Figure]
    claims: Sequence[Claim]
    notes: Sequence[str] = ()
    """What stands below its table: what was left out, and why."""
    plot: str = "bars"
    """`bars`, `lines` (each figure is named `LINE: NUMBER`) or nothing."""


def interleave(contenders: Mapping[str, Callable[[], float]], rounds: int, warm_up: int) -> dict[str, Figure]:
    """Each contender returns the seconds that one turn took."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + warm_up):
        for name, turn in contenders.items():
            seconds = turn()
            if number >= warm_up:
                times[name].append(seconds)
    return {name: Figure(name, taken) for name, taken in times.items()}


class Worker:
    """A contender in a process of its own: a line in, one turn, the seconds out."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def __call__(self) -> float:
        stdin, stdout = self._pipes()
        stdin.write("\n")
        stdin.flush()
        said = stdout.readline()
        assert said, f"{self._process.args!r} has ended"
        return float(said)

    def close(self) -> None:
        self._pipes()[0].close()
        self._process.wait(10)
        self._pipes()[1].close()

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout


def whole_process(
    argv: Sequence[str], env: Mapping[str, str], stdin: bytes = b"", server: int | None = None
) -> Callable[[], float]:
    """From its start to its end, with the event on its stdin, and nothing of ours in between.

    With the id of a `server` it is the processor time of both: a busy machine's clock says little of a millisecond.
    """
    words = [os.fspath(word) for word in argv]
    program = words[0] if "/" in words[0] else _found(words[0], env)
    nowhere = os.open(os.devnull, os.O_WRONLY)

    def turn() -> float:
        fd = _readable(stdin)
        actions = [(os.POSIX_SPAWN_DUP2, fd, 0), (os.POSIX_SPAWN_DUP2, nowhere, 1), (os.POSIX_SPAWN_DUP2, nowhere, 2)]
        before = processor_time(server) if server else 0.0
        started = time.perf_counter()
        _, _, used = os.wait4(os.posix_spawn(program, words, env, file_actions=actions), 0)
        seconds = time.perf_counter() - started
        os.close(fd)
        return used.ru_utime + used.ru_stime + processor_time(server) - before if server else seconds

    return turn


def processor_time(pid: int) -> float:
    """Seconds of all threads of a process, to the nanosecond."""
    return sum(_ran(f"/proc/{pid}/task/{thread}/schedstat") for thread in os.listdir(f"/proc/{pid}/task")) / 1e9


def _ran(path: str) -> int:
    try:
        with open(path) as file:
            return int(file.read().split()[0])
    except (FileNotFoundError, ProcessLookupError):  # a thread that has just ended
        return 0


def _found(name: str, env: Mapping[str, str]) -> str:
    import shutil

    found = shutil.which(name, path=env.get("PATH", os.defpath))
    assert found is not None, f"{name} is not installed"
    return found


def _readable(data: bytes) -> int:
    """A pipe, as agents use; a file for what has no room in it."""
    if len(data) > _IN_A_PIPE:
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            return os.dup(file.fileno())
    here, there = os.pipe()
    os.write(there, data)
    os.close(there)
    return here


def answers(argv: Sequence[str], env: Mapping[str, str], stdin: bytes, expected: bytes) -> None:
    """Look once that a contender does its job at all. Raises AssertionError."""
    done = subprocess.run(argv, input=stdin, env=env, capture_output=True, check=False)
    assert expected in done.stdout, (
        f"{' '.join(argv)} was to say {expected!r}, and said {done.stdout!r} {done.stderr!r}"
    )
