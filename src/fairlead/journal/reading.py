"""Search the journal, and prove that nothing in it was changed.

A segment is searched as bytes, for what an entry must contain to be wanted; only what is found is parsed. So a million
entries take as long as it takes to look at a few hundred megabytes once.
"""

from __future__ import annotations

import mmap
import os

from fairlead import wire
from fairlead._record import Record
from fairlead.errors import InputError
from fairlead.journal.writing import DETAILS, HEAD, LINES, START, Position, segments, sha256, unchained

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Self

    Entry = dict[str, Any]


class Wanted(Record):
    """Which entries; what is empty does not matter."""

    agent: str = ""
    session: str = ""
    event: str = ""
    tool: str = ""
    hook: str = ""
    decision: str = ""
    failed: bool = False
    since: float = 0.0
    until: float = 0.0
    text: str = ""
    """Anywhere in the whole entry, in any case."""

    def needles(self) -> list[bytes]:
        """What stands in the line of each entry that is wanted; the rarest first."""
        fields = (("session", self.session), ("tool", self.tool), ("event", self.event), ("agent", self.agent),
                  ("decision", self.decision))  # fmt: skip
        found = [b'"%s":%s' % (name.encode(), wire.encode(value)) for name, value in fields if value]
        return ([wire.encode(self.hook)] if self.hook else []) + found

    def takes(self, entry: Entry) -> bool:
        if "event" not in entry or (self.failed and not entry["failed"]):
            return False
        if (self.since and entry["t"] < self.since) or (self.until and entry["t"] >= self.until):
            return False
        return not self.hook or self.hook in entry["hooks"]


class Log:
    """A journal's folder, to be read. Segments may come and go while we look."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def segments(self) -> list[int]:
        try:
            return segments(self.folder)
        except FileNotFoundError:
            return []

    def latest(self, wanted: Wanted, most: int) -> list[Entry]:
        """The newest entries that are wanted, the oldest of them first."""
        found: list[Entry] = []
        for segment in reversed(self.segments()):
            if len(found) >= most or self.is_before(segment, wanted.since):
                break
            found = list(self._backwards(segment, wanted, most - len(found)))[::-1] + found
        return found

    def all(self, wanted: Wanted) -> Iterator[Entry]:
        """From the oldest on, however many there are."""
        for segment in self.segments():
            if self.is_before(segment, wanted.since):
                continue
            with Lines(self.path(segment, LINES)) as lines:
                for start, end in _candidates(lines, self._places(lines, segment, wanted)):
                    yield from self._taken(lines[start:end], segment, wanted)

    def after(self, place: tuple[int, int], wanted: Wanted) -> tuple[list[Entry], tuple[int, int]]:
        """What came behind a place, and the place behind that; (0, 0) is the beginning."""
        segment, offset = place
        found: list[Entry] = []
        for number in [one for one in self.segments() if one >= segment]:
            with open(self.path(number, LINES), "rb") as file:
                file.seek(offset if number == segment else 0)
                raw = file.read()
            whole = raw[: raw.rfind(b"\n") + 1]
            place = (number, (offset if number == segment else 0) + len(whole))
            for line in whole.splitlines(keepends=True):
                if all(needle in line for needle in wanted.needles()):
                    found += self._taken(line, number, wanted)
        return found, place

    def end(self) -> tuple[int, int]:
        last = max(self.segments(), default=0)
        return (last, os.path.getsize(self.path(last, LINES))) if last else (0, 0)

    def entry(self, number: int) -> Entry | None:
        """One in full, by its number."""
        needle = b'{"n":%d,' % number
        for segment in reversed(self.segments()):
            with Lines(self.path(segment, LINES)) as lines:
                at = lines.find(needle)
                while at >= 0 and at and lines[at - 1 : at] != b"\n":
                    at = lines.find(needle, at + 1)
                if at >= 0:
                    found = _parsed(lines[at : _line_end(lines, at)])
                    return found and self.whole(found | {"segment": segment})
        return None

    def whole(self, entry: Entry) -> Entry:
        """With everything that the short line leaves out."""
        details = _parsed(self.details(entry)) if "at" in entry else {}
        return {**entry, **({"details": details} if details else {})}

    def details(self, entry: Entry) -> bytes:
        start, length = entry["at"]
        try:
            with open(self.path(entry["segment"], DETAILS), "rb") as file:
                file.seek(start)
                return file.read(length)
        except FileNotFoundError:  # it has just been turned over
            return b""

    def path(self, segment: int, kind: str) -> str:
        return os.path.join(self.folder, f"{segment:06d}{kind}")

    def is_before(self, segment: int, since: float) -> bool:
        """Whether all of it is older."""
        try:
            return bool(since) and os.stat(self.path(segment, LINES)).st_mtime < since
        except FileNotFoundError:
            return True

    def _backwards(self, segment: int, wanted: Wanted, most: int) -> Iterator[Entry]:
        with Lines(self.path(segment, LINES)) as lines:
            places = self._places(lines, segment, wanted)
            ends = reversed(list(_candidates(lines, places))) if places is not None else _from_the_end(lines)
            for start, end in ends:
                for entry in self._taken(lines[start:end], segment, wanted):
                    yield entry
                    most -= 1
                if most <= 0:
                    return

    def _places(self, lines: Lines, segment: int, wanted: Wanted) -> Iterator[int] | None:
        """Where in the lines something wanted may stand; None for anywhere."""
        if wanted.text:
            return self._with_text(lines, segment, wanted.text)
        needles = wanted.needles()
        return _occurrences(lines, needles[0]) if needles else None

    def _with_text(self, lines: Lines, segment: int, text: str) -> Iterator[int]:
        """Lines whose whole has a text in it; capitals are as good as small letters."""
        with Lines(self.path(segment, DETAILS)) as details:
            numbers = list(details.lines_with(wire.encode(text)[1:-1]))
        at = 0
        for number in numbers:
            at = max(lines.find(b'{"n":%s,' % number, at), at)
            yield at

    def _taken(self, line: bytes, segment: int, wanted: Wanted) -> Iterator[Entry]:
        if not all(needle in line for needle in wanted.needles()):
            return
        entry = _parsed(line)
        if entry and wanted.takes(entry):
            yield entry | {"segment": segment}


class Lines:
    """A file as bytes that need not be read to be searched."""

    def __init__(self, path: str) -> None:
        self._file = None
        self._map: mmap.mmap | bytes = b""
        try:
            self._file = open(path, "rb")  # noqa: SIM115  # closed with us
            if os.fstat(self._file.fileno()).st_size:
                self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if isinstance(self._map, mmap.mmap):
            self._map.close()
        if self._file is not None:
            self._file.close()

    def __len__(self) -> int:
        return len(self._map)

    def __getitem__(self, part: slice) -> bytes:
        return bytes(self._map[part])

    def find(self, needle: bytes, start: int = 0) -> int:
        return self._map.find(needle, start)

    def rfind(self, needle: bytes, end: int) -> int:
        return self._map.rfind(needle, 0, end)

    def lines_with(self, text: bytes) -> Iterator[bytes]:
        """The numbers of the lines that have a text in them."""
        searched, text = self._map[:].lower(), text.lower()
        at = searched.find(text)
        while at >= 0:
            start = searched.rfind(b"\n", 0, at) + 1 + len(b'{"n":')
            yield searched[start : searched.find(b",", start)]
            end = searched.find(b"\n", at)
            at = searched.find(text, end) if end >= 0 else -1


def _occurrences(lines: Lines, needle: bytes) -> Iterator[int]:
    at = lines.find(needle)
    while at >= 0:
        yield at
        at = lines.find(needle, at + len(needle))


def _candidates(lines: Lines, places: Iterator[int] | None) -> Iterator[tuple[int, int]]:
    """The lines around some places, each once."""
    behind = 0
    for at in places if places is not None else _starts(lines):
        if at < behind:
            continue
        start, behind = lines.rfind(b"\n", at) + 1, _line_end(lines, at)
        yield start, behind


def _starts(lines: Lines) -> Iterator[int]:
    at = 0
    while at < len(lines):
        yield at
        at = _line_end(lines, at)


def _from_the_end(lines: Lines) -> Iterator[tuple[int, int]]:
    end = len(lines)
    while end > 0:
        start = lines.rfind(b"\n", end - 1) + 1
        yield start, end
        end = start


def _line_end(lines: Lines, at: int) -> int:
    end = lines.find(b"\n", at)
    return len(lines) if end < 0 else end + 1


def _parsed(line: bytes) -> Entry:
    try:
        return wire.decode_object(line)
    except InputError:  # cut short by the end of its writer
        return {}


# --- is it all there ---------------------------------------------------------------------------------


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

    def over(self, segment: int) -> None:
        with open(self._log.path(segment, LINES), "rb") as file, Lines(self._log.path(segment, DETAILS)) as details:
            for index, line in enumerate(file):
                self._line(f"{segment:06d}{LINES}:{index + 1}", line, details, segment, is_first=index == 0)

    def _line(self, where: str, line: bytes, details: Lines, segment: int, *, is_first: bool) -> None:
        found, entry = unchained(line), _parsed(line)
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
        self.chain, self._number, self.entries = chain, entry["n"], self.entries + 1
        self.first = self.first or entry["n"]

    def _begin(self, where: str, entry: Entry, segment: int) -> None:
        """A segment says what it follows; the oldest that is left can only be taken at its word."""
        if not self.entries:
            self.chain = str(entry.get("prev", START))
        self._oldest = entry.get("first", segment)
        if "prev" not in entry:
            self.problems.append(f"{where}: this is not how a segment begins")

    def _check_whole(self, where: str, entry: Entry, details: Lines) -> None:
        place = entry["at"]
        is_place = isinstance(place, list) and len(place) == 2 and all(isinstance(number, int) for number in place)
        if not is_place or sha256(details[place[0] : sum(place)]) != entry.get("sum"):
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
