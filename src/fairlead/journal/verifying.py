"""Prove that nothing in the journal was changed.

Each segment is looked at for itself, several at once; then whether one follows from the other. Others may write in
the meantime: what the head knew when we began has to be there.
"""

from __future__ import annotations

import os

from fairlead._record import Record
from fairlead.journal.sharing import shared
from fairlead.journal.writing import DETAILS, HEAD, LINES, START, Position, sha256, unchained

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Mapping
    from typing import Any

    from fairlead.journal.reading import Log
    from fairlead.journal.searching import Entry

MOST = 1000
"""Problems that are named; what comes after that is counted."""
_AGAIN = 5
"""Times that we begin anew because the oldest segments went while we looked."""


class Verified(Record):
    entries: int
    events: int
    """Entries without those that begin a segment."""
    first: int
    last: int
    problems: tuple[str, ...]
    more_problems: int = 0
    chain: str
    """Of the last entry: kept somewhere else, it proves later that nothing before it has changed."""
    kept: int = 0
    """The number of the entry that has the line which somebody has kept; 0 if none has."""


class Kept(Record):
    """A line that somebody has kept: `1204-3f2a…`, or without the number."""

    number: int = 0
    chain: str = ""

    @classmethod
    def read(cls, text: str) -> Kept | None:
        number, _, chain = text.strip().lower().rpartition("-")
        is_chain = len(chain) == len(START) and not chain.strip("0123456789abcdef")
        if not is_chain or (number and not number.isdecimal()):
            return None
        return cls(number=int(number or 0), chain=chain)


def line_to_keep(found: Verified) -> str:
    return f"{found.last}-{found.chain}"


def verify(log: Log, kept: Kept | None = None, *, workers: int = 1) -> Verified:
    """Every line and every whole, and that the line which somebody has `kept` is one of them."""
    _load_openssl()
    for _ in range(_AGAIN):
        oldest = min(log.segments(), default=0)
        found = _verified(log, kept or Kept(), workers)
        if not found.problems or min(log.segments(), default=0) <= oldest:
            break
    return found


def _load_openssl() -> None:
    """Whose digests are four times as fast."""
    try:
        import _hashlib  # noqa: F401  # it is found where it is used
    except ImportError:
        pass


def _verified(log: Log, kept: Kept, workers: int) -> Verified:
    head = _head(log)
    present = log.segments()

    def look(segment: int) -> dict[str, Any]:
        return _Look(log, segment, head.count if head else 0, kept.chain).found()

    row = _Row(head, kept)
    for found in shared(look, present, min(workers, len(present))):
        row.add(found)
    row.end(present, is_still=_head_bytes(log) == (bytes(head) if head else b""))
    return row.verified()


def _head(log: Log) -> Position | None:
    return Position.read(_head_bytes(log))


def _head_bytes(log: Log) -> bytes:
    try:
        with open(os.path.join(log.folder, HEAD), "rb") as file:
            return file.read(256)
    except FileNotFoundError:
        return b""


# --- one segment -------------------------------------------------------------------------------------


class _Look:
    """At one segment, which begins with what it follows."""

    def __init__(self, log: Log, segment: int, marked: int, kept: str) -> None:
        self._log = log
        self._segment = segment
        self._marked = marked
        self._kept = kept
        self._problems: list[str] = []
        self._begin: Entry = {}
        self._entries = 0
        self._first = self._last = 0
        self._chain = START
        self._span: list[float] = []
        """The earliest and the latest time."""
        self._unread = ""
        self._chain_at_mark = ""
        self._found = 0
        self._start, self._end = _ordinary()

    def found(self) -> dict[str, Any]:
        """Plain values: they may come from another process."""
        is_there = self._read()
        return {
            "segment": self._segment, "is_there": is_there, "begin": self._begin, "entries": self._entries,
            "first": self._first, "last": self._last, "chain": self._chain, "span": self._span,
            "unread": self._unread, "at_mark": self._chain_at_mark, "kept": self._found,
            "problems": self._problems[:MOST], "more": max(len(self._problems) - MOST, 0),
        }  # fmt: skip

    def _read(self) -> bool:
        details = _opened(self._log.path(self._segment, DETAILS))
        try:
            with open(self._log.path(self._segment, LINES), "rb") as file:
                for index, line in enumerate(file):
                    self._line(f"{self._segment:06d}{LINES}:{index + 1}", line, details, is_first=index == 0)
        except FileNotFoundError:  # it has just been turned over; or else the next one says that it is missing
            return False
        finally:
            os.close(details)
        return True

    def _line(self, where: str, line: bytes, details: int, *, is_first: bool) -> None:
        found = unchained(line)
        entry = self._read_line(line, found[0]) if found else {}
        if found is None or not entry or not isinstance(entry.get("n"), int):
            self._unread = where
            return
        if self._unread and not entry.get("torn"):
            self._problem(f"{self._unread}: this is no entry")
        self._unread = ""
        if is_first:
            self._begins(where, entry)
        self._follow(where, entry, *found)
        if "at" in entry:
            self._check_whole(where, entry, details)
        if not is_first:
            self._note_time(entry.get("t"))

    def _read_line(self, line: bytes, body: bytes) -> Entry:
        """Of an ordinary one only what matters here, which takes a fifth of the time; the chain is for all of it."""
        start, end = self._start.match(line), self._end.search(body, max(len(body) - _LONGEST_END, 0))
        if start is None or end is None:
            return _parsed(line)
        number, moment = start.groups()
        place, length, digest = end.groups()
        return {"n": int(number), "t": float(moment), "at": [int(place), int(length)], "sum": digest.decode()}

    def _problem(self, text: str) -> None:
        self._problems.append(text)

    def _begins(self, where: str, entry: Entry) -> None:
        self._begin = {key: entry[key] for key in ("prev", "first", "span", "torn") if key in entry}
        self._chain = str(entry.get("prev", START))
        if "prev" not in entry:
            self._problem(f"{where}: this is not how a segment begins")

    def _follow(self, where: str, entry: Entry, body: bytes, chain: str) -> None:
        number = entry["n"]
        if sha256(self._chain.encode() + body) != chain:
            self._problem(f"{where}: entry {number} was changed, or something before it is missing")
        elif self._last and number != self._last + 1:
            self._problem(f"{where}: between entry {self._last} and {number} something is missing")
        self._chain, self._last, self._entries = chain, number, self._entries + 1
        self._first = self._first or number
        if number == self._marked:
            self._chain_at_mark = chain
        if chain == self._kept:
            self._found = number

    def _note_time(self, moment: object) -> None:
        if isinstance(moment, (int, float)):
            self._span = [min(self._span[0], moment), max(self._span[1], moment)] if self._span else [moment, moment]

    def _check_whole(self, where: str, entry: Entry, details: int) -> None:
        place = entry["at"]
        is_place = isinstance(place, list) and len(place) == 2 and all(isinstance(number, int) for number in place)
        if not is_place or sha256(_part(details, *place)) != entry.get("sum"):
            self._problem(f"{where}: the whole of entry {entry['n']} was changed")


_LONGEST_END = 150


def _ordinary() -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """How the line of an event begins, and how it ends before its chain."""
    import re

    start = rb'\{"n":([0-9]{1,15}),"t":([0-9]{1,12}(?:\.[0-9]{1,9})?),"agent":'
    end = rb',"at":\[([0-9]{1,15}),([0-9]{1,15})\],"sum":"([0-9a-f]{64})"\}\Z'
    return re.compile(start), re.compile(end)


def _parsed(line: bytes) -> Entry:
    import json

    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _part(file: int, start: int, length: int) -> bytes:
    try:
        return os.pread(file, length, start)
    except (OSError, OverflowError):  # a place where no file can have anything
        return b""


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)


# --- one after the other -----------------------------------------------------------------------------


class _Row:
    """The segments in their order, and what each says of the one before."""

    def __init__(self, head: Position | None, kept: Kept) -> None:
        self._head = head
        self._kept = kept
        self._problems: list[str] = []
        self._more = 0
        self._entries = self._segments = self._first = self._last = self._found = 0
        self._oldest = 0
        self._chain = START
        self._at_mark = self._unread = ""
        self._span: list[float] = []

    def add(self, found: Mapping[str, Any]) -> None:
        if not found["is_there"]:
            return
        for problem in (*self._joints(found), *found["problems"]):
            self._problem(problem)
        self._more += found["more"]
        self._found = self._found or found["kept"] or self._begun_with(found)
        self._unread = found["unread"]
        if not found["entries"]:
            return
        self._oldest = found["begin"].get("first", found["segment"])
        self._entries += found["entries"]
        self._segments += 1
        self._first = self._first or found["first"]
        self._last, self._chain, self._span = found["last"], found["chain"], found["span"]
        self._at_mark = self._at_mark or found["at_mark"]

    def _problem(self, text: str) -> None:
        if len(self._problems) < MOST:
            self._problems.append(text)
        else:
            self._more += 1

    def _begun_with(self, found: Mapping[str, Any]) -> int:
        """The line before the oldest segment that is left is known, too."""
        is_oldest = not self._entries and self._kept.chain and found["begin"].get("prev") == self._kept.chain
        return int(found["first"]) - 1 if is_oldest else 0

    def _joints(self, found: Mapping[str, Any]) -> Iterator[str]:
        """The oldest that is left can only be taken at its word."""
        begin, where = found["begin"], f"{found['segment']:06d}{LINES}:1"
        if self._unread and not begin.get("torn"):
            yield f"{self._unread}: this is no entry"
        if not self._entries or not found["entries"]:
            return
        if begin.get("prev", self._chain) != self._chain:
            yield f"{where}: entry {found['first']} was changed, or something before it is missing"
        elif found["first"] != self._last + 1:
            yield f"{where}: between entry {self._last} and {found['first']} something is missing"
        if "span" in begin and self._span and begin["span"] != self._span:
            yield f"{where}: the times of the segment before are others than it says"

    def end(self, present: list[int], *, is_still: bool) -> None:
        """`is_still`: nobody has written since we began, so that what is half there stays so."""
        if present and self._oldest and present[0] > self._oldest:
            self._problem(f"segments {self._oldest:06d} to {present[0] - 1:06d} are missing")
        if self._unread and is_still:
            self._problem(f"{self._unread}: this is no entry, or its writer was killed")
        for problem in (*self._against_the_head(present), *self._against_the_kept()):
            self._problem(problem)

    def _against_the_head(self, present: list[int]) -> Iterator[str]:
        head = self._head
        if head is None:
            if present:
                yield "the head is missing: whether there were later entries cannot be said"
        elif head.count > self._last:
            yield f"entries {self._last + 1} to {head.count} are missing at the end"
        elif head.count and self._at_mark and head.chain != self._at_mark:
            yield f"the head and entry {head.count} do not agree"

    def _against_the_kept(self) -> Iterator[str]:
        kept = self._kept
        if not kept.chain or self._found:
            return
        if self._first > 1 and 0 < kept.number < self._first - 1:
            yield f"entry {kept.number} has been turned over by age or size: the line that you kept proves nothing now"
        else:
            which = f"entry {kept.number} has another line than" if kept.number else "no entry has"
            yield f"{which} the one that you kept: it, or something before it, was changed or taken out"

    def verified(self) -> Verified:
        return Verified(
            entries=self._entries,
            events=self._entries - self._segments,
            first=self._first,
            last=self._last,
            problems=tuple(self._problems),
            more_problems=self._more,
            chain=self._chain,
            kept=self._found,
        )
