"""Prove that nothing in the journal was changed."""

from __future__ import annotations

import os

from fairlead._record import Record
from fairlead.journal.searching import parsed
from fairlead.journal.writing import DETAILS, HEAD, LINES, START, Position, sha256, unchained

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.journal.reading import Log
    from fairlead.journal.searching import Entry


class Verified(Record):
    entries: int
    first: int
    problems: tuple[str, ...]
    chain: str
    """Of the last entry: kept somewhere else, it proves later that nothing before it has changed."""


def verify(log: Log) -> Verified:
    """Every line and every whole, from the oldest on."""
    walk = _Walk(log)
    for segment in log.segments():
        walk.over(segment)
    walk.to_the_head()
    return Verified(entries=walk.entries, first=walk.first, problems=tuple(walk.problems), chain=walk.chain)


class _Walk:
    def __init__(self, log: Log) -> None:
        self._log = log
        self.problems: list[str] = []
        self.entries = 0
        self.first = 0
        self.chain = START
        self._number = 0
        self._oldest = 0
        self._unread = ""
        self._span: list[float] = []
        """The earliest and the latest time in this segment."""

    def over(self, segment: int) -> None:
        details = _opened(self._log.path(segment, DETAILS))
        try:
            with open(self._log.path(segment, LINES), "rb") as file:
                for index, line in enumerate(file):
                    self._line(f"{segment:06d}{LINES}:{index + 1}", line, details, segment, is_first=index == 0)
        except FileNotFoundError:  # it has just been turned over; or else the next one says that it is missing
            return
        finally:
            os.close(details)

    def _line(self, where: str, line: bytes, details: int, segment: int, *, is_first: bool) -> None:
        found, entry = unchained(line), parsed(line)
        if found is None or not entry or not isinstance(entry.get("n"), int):
            self._unread = where
            return
        if self._unread and not entry.get("torn"):
            self.problems.append(f"{self._unread}: this is no entry")
        self._unread = ""
        body, chain = found
        if is_first:
            self._begin(where, entry, segment)
        if sha256(self.chain.encode() + body) != chain:
            self.problems.append(f"{where}: entry {entry['n']} was changed, or something before it is missing")
        elif self._number and entry["n"] != self._number + 1:
            self.problems.append(f"{where}: between entry {self._number} and {entry['n']} something is missing")
        if "at" in entry:
            self._check_whole(where, entry, details)
        if not is_first:
            self._note_time(entry.get("t"))
        self.chain, self._number, self.entries = chain, entry["n"], self.entries + 1
        self.first = self.first or entry["n"]

    def _note_time(self, moment: object) -> None:
        if isinstance(moment, (int, float)):
            self._span = [min(self._span[0], moment), max(self._span[1], moment)] if self._span else [moment, moment]

    def _begin(self, where: str, entry: Entry, segment: int) -> None:
        """A segment says what it follows; the oldest that is left can only be taken at its word."""
        if not self.entries:
            self.chain = str(entry.get("prev", START))
        self._oldest = entry.get("first", segment)
        if "prev" not in entry:
            self.problems.append(f"{where}: this is not how a segment begins")
        if "span" in entry and self._span and entry["span"] != self._span:
            self.problems.append(f"{where}: the times of the segment before are others than it says")
        self._span = []

    def _check_whole(self, where: str, entry: Entry, details: int) -> None:
        place = entry["at"]
        is_place = isinstance(place, list) and len(place) == 2 and all(isinstance(number, int) for number in place)
        if not is_place or sha256(os.pread(details, place[1], place[0])) != entry.get("sum"):
            self.problems.append(f"{where}: the whole of entry {entry['n']} was changed")

    def to_the_head(self) -> None:
        present = self._log.segments()
        if present and self._oldest and present[0] > self._oldest:
            self.problems.append(f"segments {self._oldest:06d} to {present[0] - 1:06d} are missing")
        if self._unread:
            self.problems.append(f"{self._unread}: this is no entry, or its writer was killed")
        try:
            with open(os.path.join(self._log.folder, HEAD), "rb") as file:
                head = Position.read(file.read(256))
        except FileNotFoundError:
            head = None
        if head is None and present:
            self.problems.append("the head is missing: whether there were later entries cannot be said")
        elif head is not None and head.count > self._number:
            self.problems.append(f"entries {self._number + 1} to {head.count} are missing at the end")
        elif head is not None and head.count == self._number and head.chain != self.chain:
            self.problems.append("the head and the last entry do not agree")


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
