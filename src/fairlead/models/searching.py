"""A search through the project's files, shallow ones first, with an end in sight."""

from __future__ import annotations

import os
import time

from fairlead import wire
from fairlead._record import Record
from fairlead.models.beneath import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from fairlead.models.beneath import Beneath, Parts

    Entries = Callable[[Parts], tuple[dict[str, str], bool]]

MOST_SECONDS = 10.0
MOST_FILES = 5_000
MOST_NAMES = 200_000
"""That are looked at on the way."""
MOST_MATCHES = 200
MOST_BYTES = 64 << 20
MOST_OF_A_FILE = 1 << 20
_LONGEST_PATTERN = 1_000
_LONGEST_LINE = 300
_BEFORE = 100
"""Bytes of a long line that are shown before the match."""
_NAMED = 20
"""Files that are named with the reason why they were not searched."""
_NOT_ENTERED = ".git"


class Found(Record):
    """What a search has come to."""

    matches: list[dict[str, Any]]
    files: int
    left_out: list[dict[str, str]]
    """What could not be searched, and why."""
    unfinished: str
    """Why it has not seen everything; empty if it has."""

    def answer(self, amount: int) -> dict[str, Any]:
        shown = self.matches[:amount]
        unfinished = self.unfinished or ("" if len(shown) == len(self.matches) else "too many matches for one answer")
        answer: dict[str, Any] = {"matches": shown, "files_searched": self.files, "complete": not unfinished}
        if self.left_out:
            answer |= {"not_searched": self.left_out[:_NAMED], "files_not_searched": len(self.left_out)}
        if unfinished:
            answer["note"] = f"{unfinished}; search in a smaller place, or for something rarer"
        return answer


class _EnoughError(Exception):
    """A bound was reached."""


class Search:
    """One search; `run` it once."""

    def __init__(self, beneath: Beneath, entries: Entries, pattern: str, glob: str, deadline: float) -> None:
        self._beneath = beneath
        self._entries = entries
        self._find = _compiled(f"(?m){_checked(pattern, 'pattern')}", "pattern").search
        self._wanted = _glob(glob)
        self._ends = min(deadline, time.monotonic() + MOST_SECONDS)
        self._matches: list[dict[str, Any]] = []
        self._left_out: list[dict[str, str]] = []
        self._files = 0
        self._bytes = 0
        self._names = 0
        self._notes: dict[str, None] = {}

    def run(self, start: Parts) -> Found:
        try:
            self._everything_below(start)
        except _EnoughError as bound:
            self._notes[str(bound)] = None
        return Found(
            matches=self._matches, files=self._files, left_out=self._left_out, unfinished="; ".join(self._notes)
        )

    def _everything_below(self, start: Parts) -> None:
        try:
            self._entries(start)
        except Refused:
            self._look_into(start)  # says what is wrong, unless it is a file
            return
        for parts in self._walk(start):
            if self._wanted("/".join(parts)) or self._wanted("/".join(parts[len(start) :])):
                self._try(self._look_into, parts)

    def _walk(self, start: Parts) -> Iterator[Parts]:
        """Every file below it: people's own first, then what tools have made. Links lead nowhere."""
        from collections import deque

        waiting: deque[Parts] = deque([start])
        later: deque[Parts] = deque()
        while waiting or later:
            here = (waiting or later).popleft()
            for name, kind in self._counted(self._try(self._entries, here)):
                if kind == "files":
                    yield (*here, name)
                elif kind == "directories" and name != _NOT_ENTERED:
                    (later if _is_made(name) else waiting).append((*here, name))

    def _try(self, function: Callable[[Parts], Any], parts: Parts) -> Any:
        if time.monotonic() > self._ends:
            raise _EnoughError("it took too long")
        try:
            return function(parts)
        except Refused as why:
            self._left_out.append({"path": "/".join(parts), "why": str(why)})
            return None

    def _counted(self, found: tuple[dict[str, str], bool] | None) -> list[tuple[str, str]]:
        entries, complete = found or ({}, True)
        self._names += len(entries)
        if self._names > MOST_NAMES or not complete:
            raise _EnoughError("there are too many files")
        return sorted(entries.items())

    def _look_into(self, parts: Parts) -> None:
        if self._files == MOST_FILES or self._bytes > MOST_BYTES:
            raise _EnoughError(f"only {self._files} files were searched")
        opened = self._beneath.file(parts)
        try:
            data = os.pread(opened.file, MOST_OF_A_FILE, 0)
        finally:
            os.close(opened.file)
        self._files += 1
        self._bytes += len(data)
        if opened.size > len(data):
            self._notes["of large files only the first 1 MiB was searched"] = None
        self._add_matches("/".join(parts), data)

    def _add_matches(self, path: str, data: bytes) -> None:
        binary, raw = b"\0" in data, data
        data = _mended(raw)
        for number, start, match, end in _matching_lines(self._find, data):
            if len(self._matches) == MOST_MATCHES:
                raise _EnoughError(f"there are more than {MOST_MATCHES} matches")
            if binary:
                self._matches.append({"path": path, "binary": True})
                return
            first = max(start, match - _BEFORE)
            text = data[first : min(end, first + _LONGEST_LINE)].decode("utf-8", "replace")
            place = {"offset": start} if data == raw else {}
            self._matches.append({"path": path, "line": number, **place, "text": text})


def _mended(data: bytes) -> bytes:
    """What is not Unicode is no character to RE2, and a dot would not match it."""
    return data.decode("utf-8", "replace").encode()


def _is_made(name: str) -> bool:
    from fairlead.guard.regenerable import REGENERABLE

    return name.startswith(".") or name.lower() in REGENERABLE


def _matching_lines(find: Callable[..., Any], data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """The number of each, where it starts, where it matches, and where it ends."""
    number, counted, place = 1, 0, 0
    while (match := find(data, place)) is not None:
        at = match.start()
        start = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        number += data.count(b"\n", counted, start)
        yield number, start, at, end
        counted, place = start, end + 1
        if place >= len(data):
            return


def _checked(text: str, what: str) -> str:
    if len(text) > _LONGEST_PATTERN:
        raise Refused(f"the {what} is too long")
    if text != wire.mended(text):
        raise Refused(f"the {what} holds half a character")
    return text


def _compiled(pattern: str, what: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise Refused(f"the {what} cannot be used: {_detail(error).replace('(?m)', '')}") from None


def _detail(error: Exception) -> str:
    detail = error.args[0] if error.args else error
    return detail.decode(errors="replace") if isinstance(detail, bytes) else str(detail)


_GLOB = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", ",": "|"}


def _glob(glob: str) -> Callable[[str], bool]:
    """Whether a path, or its last name where the glob has no slash, is wanted."""
    import re

    import re2

    glob = _checked(glob, "glob").removeprefix("./").removeprefix("/")
    if not glob:
        return lambda _path: True
    pieces = re.split(r"(\*\*/|\*\*|[*?{}]|\[[^\]/]+\]" + ("|,)" if "{" in glob else ")"), glob)
    source = "".join(_GLOB.get(piece) or _class(piece) or re2.escape(piece) for piece in pieces)
    matches = _compiled(f"(?s){source}", "glob").fullmatch
    if "/" in glob:
        return lambda path: matches(_mended(os.fsencode(path))) is not None
    return lambda path: matches(_mended(os.fsencode(path.rpartition("/")[2]))) is not None


def _class(piece: str) -> str:
    """`[abc]` or `[!abc]`, as RE2 writes it."""
    if len(piece) < 3 or piece[0] != "[" or piece[-1] != "]":
        return ""
    inside = piece[1:-1].replace("\\", "\\\\").replace("[", "\\[")
    return f"[^{inside[1:]}]" if inside[0] == "!" else f"[{inside}]"
