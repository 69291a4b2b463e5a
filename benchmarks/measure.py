"""Interleaved measuring: in every round each contender takes its turn, so that noise hits all alike."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, NamedTuple


class Figure(NamedTuple):
    """Times of one contender in seconds."""

    name: str
    times: Sequence[float]

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def best(self) -> float:
        """The fifth percentile: what it costs when nothing else happens on the machine."""
        return sorted(self.times)[len(self.times) // 20]


class Claim(NamedTuple):
    """A ratio that must hold."""

    text: str
    figure: Figure
    against: Figure
    limit: float

    @property
    def ratio(self) -> float:
        """Of the medians of the paired rounds: drift of the machine cancels out."""
        return statistics.median(
            ours / theirs for ours, theirs in zip(self.figure.times, self.against.times, strict=True)
        )

    @property
    def holds(self) -> bool:
        return self.ratio <= self.limit


class Suite(NamedTuple):
    title: str
    unit: float
    unit_name: str
    figures: Sequence[Figure]
    claims: Sequence[Claim]


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
        return float(stdout.readline())

    def close(self) -> None:
        self._pipes()[0].close()
        self._process.wait(10)
        self._pipes()[1].close()

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout


def whole_process(argv: Sequence[str], env: Mapping[str, str], stdin: bytes = b"") -> Callable[[], float]:
    def turn() -> float:
        started = time.perf_counter()
        subprocess.run(argv, input=stdin, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return time.perf_counter() - started

    return turn
