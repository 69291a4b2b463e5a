"""Find entries in one segment.

A segment is searched as bytes, a piece at a time, for what an entry must contain to be wanted; only what is found is
parsed, and then looked at exactly. So a million entries take as long as it takes to read a gigabyte once.
"""

from __future__ import annotations

import os

from fairlead import wire
from fairlead._record import Record
from fairlead.errors import InputError
from fairlead.journal.writing import when

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Entry = dict[str, Any]

PIECE = 1 << 16
"""Bytes that are looked at together: what fits into the cache of a processor is searched twice as fast, and what the
allocator takes from the system anew each time (128 KiB and more) costs half as much again."""
_LOOKED_FOR = 200
"""Characters of a text; where they stand, all of it is looked at."""
_FEW = 500
"""Entries of a segment whose wholes are read one by one; where there are more, all are searched."""
_FINE = b'"failed":0,'
_FIELDS = ("agent", "session", "event", "tool", "decision")
"""In the order in which they stand in a line."""


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
    """In any value or name of the whole entry, in any case."""

    def needles(self) -> list[bytes]:
        """What stands in the line of each entry that is wanted. Fields that follow each other are one."""
        found: list[bytes] = []
        previous = ""
        for before, name in zip(("", *_FIELDS), _FIELDS, strict=False):
            value = getattr(self, name)
            if not value:
                continue
            part = b'"%s":%s,' % (name.encode(), wire.encode(value))
            if found and previous == before:
                found[-1] += part
            else:
                found.append(part)
            previous = name
        return found

    def takes(self, entry: Entry) -> bool:
        """Of what has all needles in it."""
        if "event" not in entry or (self.failed and not entry["failed"]):
            return False
        if any((value := getattr(self, name)) and value != entry.get(name) for name in _FIELDS):
            return False
        return self.takes_time(entry["t"]) and (not self.hook or self.hook in entry["hooks"])

    def takes_time(self, moment: float) -> bool:
        return moment >= self.since and (not self.until or moment < self.until)


class Search:
    """What is wanted, made ready to be looked for in many segments."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self._needles = wanted.needles()
        self._hook = wire.encode(wanted.hook) if wanted.hook else b""
        self.text = Text(wanted.text) if wanted.text else None

    def forwards(self, lines: str, details: str) -> Iterator[Entry]:
        if self.text is not None:
            yield from self._with_text(lines, details, self.text, pieces_forwards)
            return
        for _, piece in pieces_forwards(lines):
            yield from self._in_piece(piece)

    def backwards(self, lines: str, details: str) -> Iterator[Entry]:
        if self.text is not None:
            yield from self._with_text(lines, details, self.text, pieces_backwards)
            return
        for _, piece in pieces_backwards(lines):
            yield from self._in_piece(piece, last_first=True)

    def in_line(self, line: bytes) -> Entry | None:
        """For what comes line by line; the text is not looked for."""
        return self._taken(line, 0, len(line))

    def _in_piece(self, piece: bytes, *, last_first: bool = False) -> Iterator[Entry]:
        spans = self._spans(piece)
        for start, end in reversed(list(spans)) if last_first else spans:
            entry = self._taken(piece, start, end)
            if entry is not None:
                yield entry

    def _spans(self, piece: bytes) -> Iterator[tuple[int, int]]:
        """Lines that may be wanted."""
        if self.wanted.failed and piece.count(_FINE) >= piece.count(b"\n"):
            return iter(())
        rarest = self._rarest(piece)
        if not rarest:
            return _lines(piece)
        return _lines_with(piece, rarest, _in_list if rarest is self._hook else bytes.find)

    def _rarest(self, piece: bytes) -> bytes:
        """Of what every line that is wanted has in it; empty, if that is nothing."""
        known = [*self._needles, self._hook] if self._hook else self._needles
        return min(known, key=piece.count) if len(known) > 1 else known[0] if known else b""

    def may_be(self, line: bytes) -> bool:
        return all(needle in line for needle in self._needles)

    def _taken(self, piece: bytes, start: int, end: int) -> Entry | None:
        wanted = self.wanted
        for needle in self._needles:
            if piece.find(needle, start, end) < 0:
                return None
        if self._hook and _in_list(piece, self._hook, start, end) < 0:
            return None
        if wanted.failed and piece.find(_FINE, start, end) >= 0:
            return None
        if wanted.since or wanted.until:
            moment = when(piece[start : start + 80])
            if moment is None or not wanted.takes_time(moment):
                return None
        entry = parsed(piece[start:end])
        return entry if entry and _takes(wanted, entry) else None

    # --- with a text -----------------------------------------------------------------------------------

    def _with_text(
        self, lines: str, details: str, text: Text, pieces: Callable[[str], Iterator[tuple[int, bytes]]]
    ) -> Iterator[Entry]:
        few = self._few(lines)
        backwards = pieces is pieces_backwards
        if few is not None:
            yield from _whose_whole_has(few[::-1] if backwards else few, details, text)
            return
        known = _Numbered(lines, backwards=backwards)
        for start, piece in pieces(details):
            found = list(text.numbers(piece))
            for number, place in reversed(found) if backwards else found:
                line = known.line(number)
                entry = self._taken(line, 0, len(line)) if line else None
                # What was written for an entry that never came to be is not what stands at its place.
                if entry is not None and entry.get("at", [-1])[0] == start + place:
                    yield entry

    def _few(self, lines: str) -> list[Entry] | None:
        """What the lines alone leave over, if that is little."""
        count = 0
        for _, piece in pieces_forwards(lines):
            rarest = self._rarest(piece)
            count += piece.count(rarest) if rarest else _FEW + 1
            if count > _FEW:
                return None
        return [entry for _, piece in pieces_forwards(lines) for entry in self._in_piece(piece)]


def _takes(wanted: Wanted, entry: Entry) -> bool:
    try:
        return wanted.takes(entry)
    except (KeyError, TypeError):  # not written by us
        return False


def _whose_whole_has(entries: list[Entry], details: str, text: Text) -> Iterator[Entry]:
    try:
        with open(details, "rb") as file:
            for entry in entries:
                if "at" in entry and text.is_in(os.pread(file.fileno(), entry["at"][1], entry["at"][0])):
                    yield entry
    except FileNotFoundError:  # it has just been turned over
        return


class _Numbered:
    """The lines of a segment by their numbers, asked for in one direction."""

    def __init__(self, path: str, *, backwards: bool) -> None:
        self._path = path
        self._backwards = backwards
        self._lines: bytes | None = None
        self._at = 0

    def line(self, number: int) -> bytes:
        if self._lines is None:
            self._lines = b"\n" + _read(self._path)
            self._at = len(self._lines) if self._backwards else 0
        needle = b'\n{"n":%d,' % number
        place = self._lines.rfind(needle, 0, self._at) if self._backwards else self._lines.find(needle, self._at)
        if place < 0:
            return b""
        end = self._lines.find(b"\n", place + 1)
        self._at = place + (len(needle) if self._backwards else 0)
        return self._lines[place + 1 : end if end >= 0 else None]


class Text:
    """A text to be found in the wholes of entries, whatever stands around it and however it was escaped."""

    def __init__(self, text: str) -> None:
        self._text = text.casefold()
        self._pattern = _pattern(text[:_LOOKED_FOR])

    def numbers(self, piece: bytes) -> Iterator[tuple[int, int]]:
        """Of the entries in some whole lines, and where each begins."""
        at = self._find(piece, 0)
        while at >= 0:
            start, end = piece.rfind(b"\n", 0, at) + 1, piece.find(b"\n", at)
            end = end if end >= 0 else len(piece)
            if self._is_really_in(piece[start:end]):
                number = _number(piece[start : start + 30])
                if number:
                    yield number, start
            at = self._find(piece, end)

    def is_in(self, whole: bytes) -> bool:
        return self._find(whole, 0) >= 0 and self._is_really_in(whole)

    def _is_really_in(self, whole: bytes) -> bool:
        """The letter n is also in what is written for the end of a line, and a comma is between any two values."""
        details = parsed(whole)
        details.pop("n", None)
        return any(self._text in text.casefold() for text in _texts(details))

    def _find(self, piece: bytes, start: int) -> int:
        found = self._pattern.search(piece, start)
        return found.start() if found else -1


def _has_one_spelling(text: str) -> bool:
    """Small ASCII letters are all that is left of it; capitals of other scripts are written with other digits."""
    return all(character.isascii() or len(_cases(character)) == 1 for character in text)


def _cases(character: str) -> set[str]:
    return {character, character.lower(), character.upper(), character.title()}


def _pattern(text: str) -> Any:
    """In capitals or not: RE2 takes half as long as to make small letters of it all and to look there."""
    import re2

    options = re2.Options()
    options.case_sensitive = False
    options.encoding = re2.Options.Encoding.LATIN1  # bytes, whatever they are
    return re2.compile(_spelled(text), options)


def _spelled(text: str) -> bytes:
    from re2 import escape

    if _has_one_spelling(text):
        return bytes(escape(wire.encode(text)[1:-1]))
    spellings = [{wire.encode_text(one)[1:-1].lower() for one in _cases(character)} for character in text]
    return b"".join(b"(?:%b)" % b"|".join(escape(one.encode()) for one in sorted(some)) for some in spellings)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield wire.encode_text(value)


def _number(start: bytes) -> int:
    word = start.removeprefix(b'{"n":').partition(b",")[0]
    return int(word) if word.isdigit() else 0


# --- pieces of a file ------------------------------------------------------------------------------------


def pieces_forwards(path: str) -> Iterator[tuple[int, bytes]]:
    """Whole lines and where they begin; the last may have been cut short by the end of its writer."""
    try:
        with open(path, "rb", buffering=0) as file:
            place = 0
            rest: list[bytes] = []
            while data := file.read(PIECE):
                end = data.rfind(b"\n") + 1
                if end:
                    piece = b"".join((*rest, memoryview(data)[:end]))
                    yield place, piece
                    place += len(piece)
                    rest = []
                if end < len(data):
                    rest.append(data[end:])
            if rest:
                yield place, b"".join(rest)
    except FileNotFoundError:  # it has just been turned over
        return


def pieces_backwards(path: str) -> Iterator[tuple[int, bytes]]:
    """The same, from the end on."""
    try:
        with open(path, "rb", buffering=0) as file:
            place = os.fstat(file.fileno()).st_size
            rest: list[bytes] = []
            while place > 0:
                size = min(PIECE, place)
                place -= size
                data = os.pread(file.fileno(), size, place)
                start = data.find(b"\n", 0, len(data) if rest else len(data) - 1) + 1 if place else 0
                if start or not place:
                    yield place + start, b"".join((memoryview(data)[start:], *reversed(rest)))
                    rest = [data[:start]]
                else:
                    rest.append(data)
    except FileNotFoundError:
        return


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except FileNotFoundError:
        return b""


def _lines(piece: bytes) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(piece):
        end = piece.find(b"\n", start) + 1 or len(piece)
        yield start, end
        start = end


def _lines_with(
    piece: bytes, needle: bytes, find: Callable[[bytes, bytes, int, int], int]
) -> Iterator[tuple[int, int]]:
    """Each line once."""
    at = find(piece, needle, 0, len(piece))
    while at >= 0:
        end = piece.find(b"\n", at) + 1 or len(piece)
        yield piece.rfind(b"\n", 0, at) + 1, end
        at = find(piece, needle, end, len(piece))


def _in_list(piece: bytes, name: bytes, start: int, end: int) -> int:
    """Where a name stands as one of several, and not as a field or the value of one."""
    at = piece.find(name, start, end)
    while at >= 0 and not (piece[at - 1] in b"[," and piece[at + len(name) : at + len(name) + 1] in (b",", b"]")):
        at = piece.find(name, at + 1, end)
    return at


def parsed(line: bytes) -> Entry:
    try:
        return wire.decode_object(line)
    except InputError:  # cut short by the end of its writer
        return {}
