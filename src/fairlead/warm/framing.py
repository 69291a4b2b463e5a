"""What goes over the socket: little endian, everything with its length before it, nothing to be parsed as text.

request = "FLH1" n_args {len bytes} n_env {len "NAME=value"} len cwd  len64 stdin
ack     = "FLA1" deadline_ms exit_code len_out len_err stdout stderr
reply   = "FLR1" exit_code len_out len_err stdout stderr "DONE"
"""

from __future__ import annotations

import os
from struct import Struct
from typing import TYPE_CHECKING

from fairlead._record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

REQUEST, ACK, REPLY, DONE = b"FLH1", b"FLA1", b"FLR1", b"DONE"
MOST_WORDS = 64
LONGEST_WORD = 4 << 10
LARGEST_ENVIRONMENT = 2 << 20
MOST_VARIABLES = 1 << 16
LARGEST_EVENT = 64 << 20
_LONGEST_PATH = 64 << 10
_NUMBER, _LONG = Struct("<I"), Struct("<Q")
_ACK, _REPLY = Struct("<4sIIII"), Struct("<4sIII")


class Garbage(ValueError):  # noqa: N818  # it is a fact about who has sent it
    """No request of ours, or one beyond every limit."""


class Unfinished(Exception):  # noqa: N818  # more will come
    pass


class Asked(Record):
    """A call of `fairlead hook`, as if it had been made here."""

    words: tuple[str, ...]
    environ: Mapping[str, str]
    cwd: str
    stdin: bytes


class Reader:
    """Takes a request apart while it comes in. What has been read once is not read again."""

    def __init__(self, largest: int = LARGEST_EVENT) -> None:
        self._data = bytearray()
        self._largest = largest
        self._head: tuple[tuple[str, ...], bytes, str, int] | None = None
        self._place = 0

    def feed(self, data: bytes) -> Asked | None:
        """The request, when it is whole. Raises Garbage."""
        self._data += data
        try:
            if self._head is None:
                self._head = self._read_head()
            words, environ, cwd, size = self._head
            stdin = self._take(size)
        except Unfinished:
            return None
        if self._place != len(self._data):
            raise Garbage("more than one request")
        return Asked(words=words, environ=variables(environ), cwd=cwd, stdin=stdin)

    def _read_head(self) -> tuple[tuple[str, ...], bytes, str, int]:
        self._place = 0
        if not self._data.startswith(REQUEST[: len(self._data)]):
            raise Garbage("not a request")
        self._take(len(REQUEST))
        words = [self._text(LONGEST_WORD) for _ in range(self._number(MOST_WORDS))]
        environ = self._environment()
        cwd = self._text(_LONGEST_PATH)
        return tuple(words), environ, cwd, self._number(self._largest, _LONG)

    def _environment(self) -> bytes:
        """As it came: taken apart only where it is not known already."""
        start, data = self._place, self._data
        count = self._number(MOST_VARIABLES)
        end, there = self._place, len(data)
        for _ in range(count):
            if end + _NUMBER.size > there:
                raise Unfinished
            end += _NUMBER.size + _NUMBER.unpack_from(data, end)[0]
            if end - start > LARGEST_ENVIRONMENT:
                raise Garbage("the environment is too large")
        if end > there:
            raise Unfinished
        self._place = end
        return bytes(data[start:end])

    def _number(self, most: int, form: Struct = _NUMBER) -> int:
        found: int = form.unpack(self._take(form.size))[0]
        if found > most:
            raise Garbage(f"{found} where at most {most} can be")
        return found

    def _text(self, most: int) -> str:
        return os.fsdecode(self._take(self._number(most)))

    def _take(self, size: int) -> bytes:
        end = self._place + size
        if end > len(self._data):
            raise Unfinished
        found = bytes(self._data[self._place : end])
        self._place = end
        return found


_KNOWN: dict[bytes, dict[str, str]] = {}
_MOST_KNOWN = 32


def variables(block: bytes) -> dict[str, str]:
    """As a program would find them in `os.environ`. An agent sends the same ones with each event: those are kept."""
    found = _KNOWN.pop(block, None)
    if found is None:
        found = dict(_split(block))
    _KNOWN[block] = found
    if len(_KNOWN) > _MOST_KNOWN:
        del _KNOWN[next(iter(_KNOWN))]
    return found


def _split(block: bytes) -> list[tuple[str, str]]:
    """The first of two with the same name counts, as it does in CPython."""
    place = _NUMBER.size
    found: dict[str, str] = {}
    for _ in range(_NUMBER.unpack_from(block)[0]):
        size = _NUMBER.unpack_from(block, place)[0]
        entry = block[place + _NUMBER.size : place + _NUMBER.size + size]
        place += _NUMBER.size + size
        name, equals, value = entry.partition(b"=")
        if equals:
            found.setdefault(os.fsdecode(name), os.fsdecode(value))
    return list(found.items())


def ack(deadline: float, exit_code: int, stdout: bytes, stderr: bytes) -> bytes:
    """`deadline`: seconds from now, after which the rest of it is the answer."""
    head = _ACK.pack(ACK, min(max(int(deadline * 1000), 1), 0xFFFFFFFF), exit_code, len(stdout), len(stderr))
    return b"".join((head, stdout, stderr))


def reply(exit_code: int, stdout: bytes, stderr: bytes) -> bytes:
    return b"".join((_REPLY.pack(REPLY, exit_code, len(stdout), len(stderr)), stdout, stderr, DONE))


def request(words: list[str], environ: Mapping[str, str], cwd: str, stdin: bytes) -> bytes:
    """What a client sends."""
    pairs = [os.fsencode(f"{name}={value}") for name, value in environ.items()]
    parts = [REQUEST, _listed([os.fsencode(word) for word in words]), _listed(pairs), _sized(os.fsencode(cwd))]
    return b"".join((*parts, _LONG.pack(len(stdin)), stdin))


def _listed(parts: list[bytes]) -> bytes:
    return _NUMBER.pack(len(parts)) + b"".join(map(_sized, parts))


def _sized(part: bytes) -> bytes:
    return _NUMBER.pack(len(part)) + part
