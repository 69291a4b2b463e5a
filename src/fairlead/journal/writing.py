"""Append to the journal: many processes at once, none of them slowed down by the others for long."""

from __future__ import annotations

import os
import sys
import time

from fairlead import wire
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

HEAD = "head"
LINES = ".jsonl"
DETAILS = ".details"
START = "0" * 64
CHAIN = b',"chain":"'
MIB = 1 << 20
_PATIENCE = 1.0
"""Seconds to wait for others who write. Nobody holds the lock for more than a few hundred microseconds, unless it was
stopped while it did."""


class Busy(OSError):  # noqa: N818  # it is a fact about others, not an error of ours
    """Somebody keeps the journal to himself."""


class Position:
    """Where the next entry goes, and what it follows."""

    __slots__ = ("chain", "count", "offset", "segment")

    def __init__(self, segment: int = 0, offset: int = 0, count: int = 0, chain: str = START) -> None:
        self.segment = segment
        self.offset = offset
        self.count = count
        self.chain = chain

    def __bytes__(self) -> bytes:
        return b"%06d %012d %012d %s\n" % (self.segment, self.offset, self.count, self.chain.encode())

    @classmethod
    def read(cls, raw: bytes) -> Position | None:
        words = raw.split()
        try:
            return cls(int(words[0]), int(words[1]), int(words[2]), words[3].decode())
        except (IndexError, ValueError):
            return None


class Journal:
    def __init__(
        self, folder: str, *, segment: int = 32 * MIB, size: int = 1024 * MIB, age: float = 30 * 24 * 3600.0
    ) -> None:
        self.folder = folder
        self._segment = segment
        self._size = size
        self._age = age

    def append(self, summary: Mapping[str, Any], details: Mapping[str, Any]) -> int:
        """The number of the entry. When this returns it is there, also if the process is killed then."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        body = wire.encode(details)
        head = os.open(os.path.join(self.folder, HEAD), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            lock(head)
            at, torn = self._position(head)
            if at.segment == 0 or at.offset + self._whole_size(at.segment) > self._segment:
                at = self._turn_over(at)
            whole = b'{"n":%d,%s\n' % (at.count + 1, body[1:])
            place = _append(self.path(at.segment, DETAILS), whole)
            entry = {"n": at.count + 1, "t": time.time(), **summary, "at": [place, len(whole)], "sum": sha256(whole)}
            self._write(at, {**entry, "torn": True} if torn else entry)
            os.pwrite(head, bytes(at), 0)
            return at.count
        finally:
            os.close(head)

    def path(self, segment: int, kind: str) -> str:
        return os.path.join(self.folder, f"{segment:06d}{kind}")

    def _write(self, at: Position, entry: Mapping[str, Any]) -> None:
        line, at.chain = chained(entry, at.chain)
        _append(self.path(at.segment, LINES), line)
        at.offset += len(line)
        at.count += 1

    def _whole_size(self, segment: int) -> int:
        return _size(self.path(segment, DETAILS))

    def _position(self, head: int) -> tuple[Position, bool]:
        """Where to go on, and whether what stands before it was cut short by the end of its writer."""
        at = Position.read(os.pread(head, 256, 0))
        if at is None:
            at = self._without_head()
        end = _size(self.path(at.segment, LINES)) if at.segment else 0
        if end <= at.offset:
            at.offset = end
            return at, False
        return at, self._catch_up(at)

    def _without_head(self) -> Position:
        """Nobody has written yet, or the head is lost: the last segment says how far it is."""
        last = max(segments(self.folder), default=0)
        return Position(last) if last else Position()

    def _catch_up(self, at: Position) -> bool:
        """Over entries whose writer was killed before the head knew of them."""
        with open(self.path(at.segment, LINES), "rb") as file:
            file.seek(at.offset)
            for line in file:
                if not line.endswith(b"\n"):
                    _append(self.path(at.segment, LINES), b"\n")
                found, number = unchained(line), _number(line)
                if found is None or number is None:
                    at.offset = _size(self.path(at.segment, LINES))
                    return True
                at.offset, at.count, at.chain = at.offset + len(line.rstrip(b"\n")) + 1, number, found[1]
        return False

    def _turn_over(self, at: Position) -> Position:
        """The next segment; the oldest go when they are too many or too old."""
        fresh = Position(at.segment + 1, 0, at.count, at.chain)
        gone = list(self._too_many())
        kept = [number for number in segments(self.folder) if number not in gone]
        first = min(kept, default=fresh.segment)
        self._write(fresh, {"n": at.count + 1, "t": time.time(), "prev": at.chain, "first": first})
        for number in gone:
            for kind in (LINES, DETAILS):
                if os.path.exists(self.path(number, kind)):
                    os.unlink(self.path(number, kind))
        return fresh

    def _too_many(self) -> Iterator[int]:
        """Segments that no longer fit, with room for the new one."""
        left = self._size - self._segment
        for number in reversed(segments(self.folder)):
            left -= _size(self.path(number, LINES)) + self._whole_size(number)
            written = _written(self.path(number, LINES))
            if left < 0 or time.time() - written > self._age:
                yield number


def segments(folder: str) -> list[int]:
    """Their numbers, the oldest first."""
    return sorted(
        int(name.removesuffix(LINES))
        for name in os.listdir(folder)
        if name.endswith(LINES) and name.removesuffix(LINES).isdecimal()
    )


def chained(entry: Mapping[str, Any], previous: str) -> tuple[bytes, str]:
    body = wire.encode(entry)
    chain = sha256(previous.encode() + body)
    return body[:-1] + CHAIN + chain.encode() + b'"}\n', chain


def unchained(line: bytes) -> tuple[bytes, str] | None:
    """What a line's chain speaks for, and the chain; None for what is no line of ours."""
    body, found, rest = line.rstrip(b"\n").rpartition(CHAIN)
    return (body + b"}", rest[:-2].decode("ascii", "replace")) if found and rest.endswith(b'"}') else None


def _number(line: bytes) -> int | None:
    """None for what is no entry: others can write into the folder too, and a disk can fail."""
    try:
        found = wire.decode_object(line).get("n")
    except InputError:
        return None
    return found if isinstance(found, int) else None


def sha256(data: bytes) -> str:
    """Without `hashlib`, which loads all of OpenSSL: the cold path has no time for it."""
    try:
        module = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256")
    except ImportError:  # a Python that was built without them
        module = __import__("hashlib")
    return str(module.sha256(data).hexdigest())


def lock(file: int) -> None:
    import fcntl

    end = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return  # noqa: TRY300  # there is nothing else to do
        except BlockingIOError:
            if time.monotonic() > end:
                raise Busy("the journal is held by another process") from None
            time.sleep(0.0005)


def _append(path: str, data: bytes) -> int:
    """Where it begins. All of it, or an error that says why not."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        place = os.fstat(file).st_size
        while data:
            data = data[os.write(file, data) :]
    finally:
        os.close(file)
    return place


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _written(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except FileNotFoundError:
        return 0.0
