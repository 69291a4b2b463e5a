"""What Prometheus is told: of this server, and of what the journal has taken up since it began.

The journal is read from where it ended last time, a bounded piece at each look, so a scrape costs what has happened
since the one before.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

from fairlead import wire
from fairlead.errors import InputError
from fairlead.journal.reading import Log
from fairlead.journal.writing import LINES
from fairlead.masking import Masker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Labels = tuple[tuple[str, str], ...]
    Samples = Iterable[tuple[str, Labels, float]]
    """The end of the name, labels, value."""

PLAIN = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
MOST_HOOKS = 200
MOST_EVENTS = 1000
OTHER = "other"
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Seconds."""
_PIECE = 1 << 20
_AT_ONCE = 16 * _PIECE
"""Bytes of the journal in one look; what is behind that waits for the next."""
_LONGEST = 200


class Tail:
    """Counts what comes into the journal, from now on."""

    def __init__(self, folder: str) -> None:
        self._log = Log(folder)
        self._segment, self._offset = self._log.end()
        self.events: Counter[tuple[str, str, str]] = Counter()
        """By agent, event and decision."""
        self.failures: Counter[tuple[str, str]] = Counter()
        """By hook, and whether it failed or was late."""
        self.durations: dict[str, Histogram] = {}

    def look(self) -> None:
        """In any thread, one at a time."""
        left = _AT_ONCE
        while left > 0:
            lines, size = self._next_piece()
            for line in lines:
                self._count(line)
            if not size and not self._turn_over():
                return
            left -= size

    def behind(self) -> int:
        """Bytes that nobody has counted yet."""
        later = [_size(self._log, number) for number in self._log.segments() if number > self._segment]
        return max(_size(self._log, self._segment) - self._offset, 0) + sum(later)

    def _next_piece(self) -> tuple[list[bytes], int]:
        """Whole lines, and how long they are together."""
        try:
            with open(self._log.path(self._segment, LINES), "rb") as file:
                file.seek(self._offset)
                raw = file.read(_PIECE)
        except FileNotFoundError:
            return [], 0
        size = raw.rfind(b"\n") + 1
        if not size and len(raw) == _PIECE:  # no line of ours is as long as this
            size = len(raw)
        self._offset += size
        return raw[:size].splitlines(), size

    def _turn_over(self) -> bool:
        """To the next segment, where there is one; to the first, where somebody has begun anew."""
        numbers = self._log.segments()
        later = [number for number in numbers if number > self._segment]
        if not later and (not numbers or self._segment in numbers):
            return False
        self._segment, self._offset = min(later or numbers), 0
        return True

    def _count(self, line: bytes) -> None:
        try:
            entry = wire.decode_object(line)
            self._add(entry)
        except (InputError, KeyError, TypeError, ValueError, OverflowError):  # not written by us
            return

    def _add(self, entry: Mapping[str, Any]) -> None:
        if "event" not in entry:  # a segment begins
            return
        key = (str(entry["agent"]), str(entry["event"]), str(entry["decision"]))
        if key not in self.events and len(self.events) >= MOST_EVENTS:
            key = (OTHER, OTHER, OTHER)
        self.events[key] += 1
        names = entry["hooks"]
        said = entry.get("said") or ("none",) * len(names)
        for name, ms, word in zip(names, entry.get("times", ()), said, strict=False):
            self._add_hook(str(name), float(ms) / 1000, str(word))

    def _add_hook(self, name: str, seconds: float, word: str) -> None:
        if name not in self.durations and len(self.durations) >= MOST_HOOKS:
            name = OTHER
        self.durations.setdefault(name, Histogram()).add(seconds)
        if word in ("failed", "late"):
            self.failures[name, "timeout" if word == "late" else "error"] += 1


class Histogram:
    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self._sum += seconds

    def samples(self, labels: Labels) -> Iterator[tuple[str, Labels, float]]:
        passed = 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), self._counts, strict=True):
            passed += count
            yield "_bucket", (*labels, ("le", bound)), passed
        yield "_sum", labels, round(self._sum, 6)
        yield "_count", labels, passed


class Page:
    """The text format, in either of its two spellings."""

    def __init__(self, *, is_open: bool) -> None:
        self._is_open = is_open
        self._lines: list[str] = []

    def add(self, name: str, kind: str, about: str, samples: Samples) -> None:
        """Nothing is said about what has no samples yet."""
        listed = list(samples)
        if not listed:
            return
        title = name if self._is_open or kind != "counter" else f"{name}_total"
        self._lines += [f"# HELP {title} {about}", f"# TYPE {title} {kind}"]
        end = "_total" if kind == "counter" else ""
        self._lines += [f"{name}{end}{part}{_labels(labels)} {value}" for part, labels, value in listed]

    def __bytes__(self) -> bytes:
        end = ["# EOF"] if self._is_open else []
        return ("\n".join([*self._lines, *end]) + "\n").encode("utf-8", "replace")


def _labels(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}" if labels else ""


@cache
def _masker() -> Masker:
    """One for all looks: it knows again what it has seen."""
    return Masker()


def _escaped(value: str) -> str:
    return _masker().text(value)[:_LONGEST].replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def add_tail(page: Page, tail: Tail) -> None:
    page.add("fairlead_events", "counter", "Events that agents have asked about since the server began.",
             (("", (("agent", agent), ("event", event), ("decision", decision)), count)
              for (agent, event, decision), count in sorted(tail.events.items())))  # fmt: skip
    page.add("fairlead_hook_failures", "counter", "Runs of a hook that gave no verdict.",
             (("", (("hook", hook), ("kind", kind)), count)
              for (hook, kind), count in sorted(tail.failures.items())))  # fmt: skip
    page.add("fairlead_hook_duration_seconds", "histogram", "How long a hook took.",
             (sample for hook, times in sorted(tail.durations.items())
              for sample in times.samples((("hook", hook),))))  # fmt: skip
    page.add("fairlead_journal_behind_bytes", "gauge", "What is in the journal and not counted here yet.",
             [("", (), tail.behind())])  # fmt: skip


def _size(log: Log, segment: int) -> int:
    try:
        return os.stat(log.path(segment, LINES)).st_size
    except FileNotFoundError:
        return 0
