"""Append to the journal: many processes at once, none of them slowed down by the others for long."""

from __future__ import annotations

import fcntl
import os
import sys
import time
from _thread import allocate_lock

from fairlead import wire
from fairlead.errors import InputError
from fairlead.folders import make_private

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
WHOLE = MIB
"""Bytes of one entry, however many values it has."""
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
    """Its files stay open from one entry to the next, and are looked for again when they have been moved away."""

    def __init__(
        self, folder: str, *, segment: int = 32 * MIB, size: int = 1024 * MIB, age: float = 30 * 24 * 3600.0
    ) -> None:
        self.folder = folder
        self._segment = segment
        self._size = size
        self._age = age
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._turn = allocate_lock()
        self._head = _File(os.path.join(self.folder, HEAD), os.O_RDWR)
        self._lines = self._details = _File("", 0)
        self._open_segment = 0
        self._left, self._left_size = Position(), 0
        """How far both files went when we let go of them."""
        self._left_as = b""
        """And the head: nobody has to take the same apart again."""

    def append(self, summary: Mapping[str, Any] | bytes, details: Mapping[str, Any] | bytes) -> int:
        """The number of the entry. When this returns it is there, also if the process is killed then.

        Bytes are JSON already, the former without its braces.
        """
        fields = summary if isinstance(summary, bytes) else _fields(summary)
        body = details if isinstance(details, bytes) else _encoded(details)
        if self._process != os.getpid():  # what was opened before a fork has the lock in common with the parent
            self._begin()
        if not self._turn.acquire(timeout=_PATIENCE):
            raise Busy("the journal is held by another thread")
        try:
            head = self._locked()
            try:
                return self._appended(head, fields, body)
            finally:
                unlock(head)
        finally:
            self._turn.release()

    def path(self, segment: int, kind: str) -> str:
        return os.path.join(self.folder, f"{segment:06d}{kind}")

    def _locked(self) -> int:
        """The head, which nobody else has now; and which is still the one in the folder."""
        while True:
            head = self._head.file if self._head.file >= 0 else self._opened_head()
            lock(head)
            if self._head.is_in_its_place():
                return head
            self._open_segment, self._left_as = 0, b""

    def _opened_head(self) -> int:
        try:
            return self._head.opened()
        except FileNotFoundError:
            make_private(self.folder)
            return self._head.opened()

    def _appended(self, head: int, fields: bytes, body: bytes) -> int:
        at, size, torn = self._left, self._left_size, False
        if not self._is_as_left(head):
            at, size, torn = self._place(head)
        whole = b'{"n":%d,%b\n' % (at.count + 1, body[1:])
        self._details.append(whole, size)
        entry = b'{"n":%d,%b,"at":[%d,%d],"sum":"%b"%b}' % (
            at.count + 1, _timed(fields), size, len(whole), sha256(whole).encode(), b',"torn":true' if torn else b"",
        )  # fmt: skip
        try:
            self._write(at, entry)
        except OSError:
            self._details.cut(size)
            raise
        self._left, self._left_size, self._left_as = at, size + len(whole), bytes(at)
        os.pwrite(head, self._left_as, 0)
        return at.count

    def _is_as_left(self, head: int) -> bool:
        """Whether nobody has written since we did, all is in its place, and there is room in this segment."""
        known, self._left_as = self._left_as, b""  # until what follows has come to its end
        if not known or os.pread(head, 256, 0) != known:
            return False
        lines, details = os.fstat(self._lines.file), os.fstat(self._details.file)
        return (
            lines.st_size == self._left.offset
            and details.st_size == self._left_size
            and bool(lines.st_nlink and details.st_nlink)
            and lines.st_size + details.st_size <= self._segment
        )

    def _place(self, head: int) -> tuple[Position, int, bool]:
        """Where to go on in both files, and whether what stands before it was cut short by the end of its writer."""
        at, torn = self._position(head)
        size = self._details.size() if at.segment else 0
        if at.segment == 0 or at.offset + size > self._segment:
            at, torn = self._turn_over(at, torn)
            size = self._details.size()
        return at, size, torn

    def _write(self, at: Position, entry: bytes) -> None:
        line, chain = chained(entry, at.chain)
        self._lines.append(line, at.offset)
        at.chain = chain
        at.offset += len(line)
        at.count += 1

    def _use(self, segment: int) -> None:
        self._lines = _File(self.path(segment, LINES), _APPEND)
        self._details = _File(self.path(segment, DETAILS), _APPEND)
        self._open_segment = segment

    def _position(self, head: int) -> tuple[Position, bool]:
        """The end of the lines, as the head has it or as it is found; and the same."""
        at = Position.read(os.pread(head, 256, 0)) or self._without_head()
        if not at.segment:
            return at, False
        if at.segment != self._open_segment:
            self._use(at.segment)
        end = self._lines.size()
        if end <= at.offset:
            at.offset = end
            return at, False
        return at, self._catch_up(at)

    def _without_head(self) -> Position:
        """Nobody has written yet, or the head is lost: the last segment that has an entry says how far it is."""
        present = segments(self.folder)
        begun = (number for number in reversed(present) if _begins(self.path(number, LINES)))
        return Position(next(begun, max(present, default=0)))

    def _catch_up(self, at: Position) -> bool:
        """Over entries whose writers were killed before the head knew of them. Whether the last was cut short."""
        torn = False
        with open(self.path(at.segment, LINES), "rb") as file:
            file.seek(at.offset)
            for line in file:
                if not line.endswith(b"\n"):
                    self._lines.append(b"\n", at.offset + len(line))
                at.offset += len(line.rstrip(b"\n")) + 1
                found, number = unchained(line), _number(line)
                torn = found is None or number is None
                if found is not None and number is not None:
                    at.count, at.chain = number, found[1]
        return torn

    def _turn_over(self, at: Position, torn: bool) -> tuple[Position, bool]:
        """The next segment; the oldest go when they are too many or too old."""
        fresh = Position(at.segment + 1, 0, at.count, at.chain)
        self._use(fresh.segment)
        if self._lines.size():  # somebody was killed when he had just done this
            if _begins(self.path(fresh.segment, LINES)):
                return fresh, self._catch_up(fresh)
            self._lines.cut(0)
        gone = list(self._too_many(fresh.segment))
        kept = [number for number in segments(self.folder) if number not in gone]
        first = min(kept, default=fresh.segment)
        begin = {"n": at.count + 1, "t": time.time(), "prev": at.chain, "first": first}
        begin |= {"torn": True} if torn else {}
        self._write(fresh, wire.encode({**begin, **_span(self.path(at.segment, LINES))}))
        for number in gone:
            for kind in (DETAILS, LINES):  # in this order: what has no lines is not looked for again
                if os.path.exists(self.path(number, kind)):
                    os.unlink(self.path(number, kind))
        return fresh, False

    def _too_many(self, before: int) -> Iterator[int]:
        """The oldest segments: as many as no longer fit, with room for the new one, or are too old. Never one from
        between others."""
        present = [number for number in segments(self.folder) if number < before]
        sizes = [_size(self.path(number, LINES)) + _size(self.path(number, DETAILS)) for number in present]
        over = sum(sizes) - (self._size - self._segment)
        for number, size in zip(present, sizes, strict=True):
            if over <= 0 and time.time() - _written(self.path(number, LINES)) <= self._age:
                return
            yield number
            over -= size


def _fields(summary: Mapping[str, Any]) -> bytes:
    """With its time in front, if it has one of its own."""
    first = {"t": summary["t"]} if "t" in summary else {}
    return wire.encode({**first, **summary})[1:-1]


def _timed(fields: bytes) -> bytes:
    return fields if fields.startswith(b'"t":') else b'"t":%a,%b' % (time.time(), fields)


def _encoded(details: Mapping[str, Any]) -> bytes:
    body = wire.encode(details)
    if len(body) <= WHOLE:
        return body
    from fairlead.journal.recording import fitted

    return wire.encode(fitted(details, len(body)))


_APPEND = os.O_WRONLY | os.O_APPEND


class _File:
    """Opened when it is needed, and anew when it was deleted."""

    __slots__ = ("_flags", "_identity", "_path", "file")

    def __init__(self, path: str, flags: int) -> None:
        self._path = path
        self._flags = flags | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self.file = -1
        self._identity = (0, 0)

    def __del__(self) -> None:
        self._close()

    def _close(self) -> None:
        if self.file >= 0:
            os.close(self.file)
            self.file = -1

    def opened(self) -> int:
        if self.file < 0:
            self.file = os.open(self._path, self._flags, 0o600)
            found = os.fstat(self.file)
            self._identity = (found.st_dev, found.st_ino)
        return self.file

    def size(self) -> int:
        found = os.fstat(self.file if self.file >= 0 else self.opened())
        if found.st_nlink:
            return found.st_size
        self._close()
        return os.fstat(self.opened()).st_size

    def is_in_its_place(self) -> bool:
        """If not (the folder was moved away, and another made), it is closed."""
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            found = None
        if found is not None and (found.st_dev, found.st_ino) == self._identity:
            return True
        self._close()
        return False

    def append(self, data: bytes, place: int) -> None:
        """All of it, behind `place`; or nothing, and an error that says why."""
        try:
            written = os.write(self.file, data)
            while written < len(data):
                written += os.write(self.file, data[written:])
        except OSError:
            self.cut(place)
            raise

    def cut(self, place: int) -> None:
        """What cannot be taken back is passed over by the next who writes."""
        try:
            os.ftruncate(self.file, place)
        except OSError:
            pass


def _begins(path: str) -> bool:
    """Whether a segment has at least one whole line."""
    try:
        with open(path, "rb") as file:
            return file.readline().endswith(b"\n")
    except FileNotFoundError:
        return False


def _span(path: str) -> dict[str, list[float]]:
    """Of the times in a segment that is full; clocks are set, so the first and the last line do not tell."""
    try:
        with open(path, "rb") as file:
            file.readline()  # how it begins
            whole = (line for line in file if line.endswith(b'"}\n') and CHAIN in line)
            times = [found for line in whole if (found := when(line)) is not None]
    except FileNotFoundError:
        return {}
    return {"span": [min(times), max(times)]} if times else {}


def when(line: bytes) -> float | None:
    """The time of an entry, without reading all of its line."""
    before, found, rest = line[:80].partition(b',"t":')
    if not found or not before.startswith(b'{"n":') or b"," in before:
        return None
    try:
        return float(rest.partition(b",")[0])
    except ValueError:
        return None


def segments(folder: str) -> list[int]:
    """Their numbers, the oldest first."""
    return sorted(
        int(name.removesuffix(LINES))
        for name in os.listdir(folder)
        if name.endswith(LINES) and name.removesuffix(LINES).isdecimal()
    )


def chained(entry: bytes, previous: str) -> tuple[bytes, str]:
    chain = sha256(previous.encode() + entry)
    return b'%b%b%b"}\n' % (entry[:-1], CHAIN, chain.encode()), chain


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
    """Without `hashlib`, which loads all of OpenSSL: the cold path has no time for it. Where it is loaded, it is used:
    it is faster."""
    if "_hashlib" in sys.modules:
        return str(sys.modules["_hashlib"].openssl_sha256(data).hexdigest())
    try:
        module = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256")
    except ImportError:  # a Python that was built without them
        module = __import__("hashlib")
    return str(module.sha256(data).hexdigest())


def lock(file: int) -> None:
    end = 0.0
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return  # noqa: TRY300  # there is nothing else to do
        except BlockingIOError:
            end = end or time.monotonic() + _PATIENCE
            if time.monotonic() > end:
                raise Busy("the journal is held by another process") from None
            time.sleep(0.0005)


def unlock(file: int) -> None:
    fcntl.flock(file, fcntl.LOCK_UN)


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
