"""Read the journal: the latest of what is wanted, all of it, what comes later, or one entry."""

from __future__ import annotations

import os

from fairlead.journal.searching import Search, Wanted, parsed
from fairlead.journal.sharing import shared
from fairlead.journal.writing import DETAILS, LINES, segments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.journal.searching import Entry

__all__ = ["Entry", "Log", "Wanted"]
_FIRST_LINE = 4096


class Log:
    """A journal's folder, to be read. Segments may come and go while we look."""

    def __init__(self, folder: str, *, workers: int = 1) -> None:
        """With several `workers` a long search is shared among processes."""
        self.folder = folder
        self._workers = workers

    def segments(self) -> list[int]:
        try:
            return segments(self.folder)
        except FileNotFoundError:
            return []

    def latest(self, wanted: Wanted, most: int) -> list[Entry]:
        """The newest entries that are wanted, the oldest of them first."""
        search = Search(wanted)
        found: list[Entry] = []
        places = [segment for segment in reversed(self.segments()) if self.may_have(segment, wanted)]

        def work(segment: int) -> list[Entry]:
            return self._newest(segment, search, most)

        if most > 0:
            for newest, some in ((True, places[:1]), (False, places[1:])):
                # Most questions are answered by the newest segment: no process is worth its start for it.
                for entries in shared(work, some, 1 if newest else min(self._workers, len(some))):
                    found += entries
                    if len(found) >= most:
                        return found[:most][::-1]
        return found[::-1]

    def _newest(self, segment: int, search: Search, most: int) -> list[Entry]:
        found: list[Entry] = []
        for entry in search.backwards(self.path(segment, LINES), self.path(segment, DETAILS)):
            found.append(entry | {"segment": segment})
            if len(found) >= most:
                break
        return found

    def all(self, wanted: Wanted) -> Iterator[Entry]:
        """From the oldest on, however many there are."""
        search = Search(wanted)
        for segment in self.segments():
            if self.may_have(segment, wanted):
                for entry in search.forwards(self.path(segment, LINES), self.path(segment, DETAILS)):
                    yield entry | {"segment": segment}

    def after(self, place: tuple[int, int], wanted: Wanted) -> tuple[list[Entry], tuple[int, int]]:
        """What came behind a place, and the place behind that; (0, 0) is the beginning."""
        search, present = Search(wanted), self.segments()
        found: list[Entry] = []
        if present and place[0] > present[-1]:  # somebody has begun anew
            place = (0, 0)
        for number in [one for one in present if one >= place[0]]:
            start, whole = self._rest(number, place[1] if number == place[0] else 0)
            place = (number, start + len(whole))
            for line in whole.splitlines(keepends=True):
                entry = search.in_line(line)
                if entry is not None and self.has_text(entry | {"segment": number}, search):
                    found.append(entry | {"segment": number})
        return found, place

    def _rest(self, segment: int, start: int) -> tuple[int, bytes]:
        """The whole lines from there on; from the beginning, where another file has taken its place."""
        try:
            with open(self.path(segment, LINES), "rb") as file:
                start = start if start <= os.fstat(file.fileno()).st_size else 0
                file.seek(start)
                raw = file.read()
        except FileNotFoundError:  # it has just been turned over
            return start, b""
        return start, raw[: raw.rfind(b"\n") + 1]

    def has_text(self, entry: Entry, search: Search) -> bool:
        return search.text is None or ("at" in entry and search.text.is_in(self.details(entry)))

    def end(self) -> tuple[int, int]:
        last = max(self.segments(), default=0)
        try:
            return (last, os.path.getsize(self.path(last, LINES))) if last else (0, 0)
        except FileNotFoundError:
            return (last, 0)

    def entry(self, number: int) -> Entry | None:
        """One in full, by its number."""
        needle = b'\n{"n":%d,' % number
        for segment in reversed(self.segments()):
            first = self._first_line(segment).get("n")
            if isinstance(first, int) and first > number:
                continue
            lines = b"\n" + self._rest(segment, 0)[1]
            at = lines.rfind(needle) + 1
            while at:  # what was cut short by the end of its writer has the number of the next one
                found = parsed(lines[at : lines.find(b"\n", at)])
                if found:
                    return self.whole(found | {"segment": segment})
                at = lines.rfind(needle, 0, at) + 1
        return None

    def whole(self, entry: Entry) -> Entry:
        """With everything that the short line leaves out."""
        details = parsed(self.details(entry)) if "at" in entry else {}
        return {**entry, **({"details": details} if details else {})}

    def details(self, entry: Entry) -> bytes:
        start, length = entry["at"]
        try:
            with open(self.path(entry["segment"], DETAILS), "rb", buffering=0) as file:
                return os.pread(file.fileno(), length, start)
        except FileNotFoundError:  # it has just been turned over
            return b""

    def path(self, segment: int, kind: str) -> str:
        return os.path.join(self.folder, f"{segment:06d}{kind}")

    def may_have(self, segment: int, wanted: Wanted) -> bool:
        """Whether entries of this segment can be of the time that is wanted; the next one begins with what is known."""
        if not wanted.since and not wanted.until:
            return True
        span = self._first_line(segment + 1).get("span")
        if not isinstance(span, list) or len(span) != 2:
            return True
        return bool(span[1] >= wanted.since and (not wanted.until or span[0] < wanted.until))

    def _first_line(self, segment: int) -> Entry:
        try:
            with open(self.path(segment, LINES), "rb") as file:
                return parsed(file.readline(_FIRST_LINE))
        except FileNotFoundError:
            return {}
