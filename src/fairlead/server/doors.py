"""How long we listen to somebody who has not said yet what they want, and to how much at once.

A connection that sends its request byte by byte, or nothing at all, costs a file and some memory, and has shown
nobody's key. It is given half a minute. Where one address holds very many of these, the oldest go sooner.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from fairlead.server.protocol import LARGEST

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

    Answering = Callable[[bytes], bytes | None]
    """Of a body: the answer from its own headers on; None to be asked again by ASGI."""
    AtOnce = Callable[[bytes, list[tuple[bytes, bytes]]], Answering | None]
    """Of the address and the headers: who answers, where somebody may."""

PATIENCE = 30.0
"""Seconds for the head of a request, and between two parts of its body."""
MOST = 1000
"""Unfinished requests of one address: who is behind a proxy shares its address with many."""
HASTE = 5.0
"""Seconds that each of them has all the same: ten thousand agents may come back in one moment."""
QUEUE = 4096
"""Connections that the system keeps for us."""
AT_A_TIME = 32
"""Connections that are taken in one turn of the loop: ten thousand agents may come back in one moment, and who is
inside has to be heard meanwhile."""
LARGEST_HEAD = 64 * 1024
_PART_OF_HEAD, _PART_OF_BODY = 1024, 64 * 1024
AT_ONCE = b"/api/hooks/"
"""Where requests go that may be answered at once, if the application has a method `at_once`."""
_POSTED = b"POST " + AT_ONCE
_LENGTH = re.compile(rb"\r\nContent-Length: ([0-9]{1,8})\r\n", re.IGNORECASE)
_MOST_HEADS, _LONGEST_HEAD = 256, 2048
"""That are remembered."""
_HELD = 64 * 1024
"""Bytes of a body that we wait for before we ask it."""
_AT_A_TIME_READ = 256 * 1024
_LOOK = 1.0
_TIMEOUT = (408, "Request Timeout")
_TOO_LARGE = (431, "Request Header Fields Too Large")  # or, after an answer, the rest of its request


class Hall:
    """Those who have not finished, the one who was silent for longest first."""

    def __init__(self) -> None:
        self._since: dict[Door, float] = {}
        self._of: Counter[str] = Counter()
        self._timer: asyncio.TimerHandle | None = None

    def enter(self, door: Door, *, again: bool = False) -> None:
        """`again` counts from now on, for one who goes on speaking."""
        known = door in self._since
        if known and not again:
            return
        self._since.pop(door, None)
        self._since[door] = door.loop.time()
        self._of[door.address] += not known
        if self._timer is None:
            self._timer = door.loop.call_later(_LOOK, self._look, door.loop)

    def leave(self, door: Door) -> None:
        if self._since.pop(door, None) is not None:
            self._of[door.address] -= 1
            if not self._of[door.address]:
                del self._of[door.address]

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for door, since in list(self._since.items()):
            if now - since < HASTE:
                break
            if now - since >= PATIENCE or self._of[door.address] > MOST:
                door.turn_away(*_TIMEOUT)
        self._timer = loop.call_later(_LOOK, self._look, loop) if self._since else None


class Shared:
    """What the connections of a server have in common."""

    def __init__(self) -> None:
        self.hall = Hall()
        self.buffer = memoryview(bytearray(_AT_A_TIME_READ))
        """Where what comes in is put, until it is taken a moment later."""
        self.known: dict[bytes, Answering] = {}
        """Heads of requests that were answered at once, without their length, and who has answered: an agent sends
        the same with each event."""
        self._headers: list[tuple[bytes, bytes]] = []
        self._usual = b""

    def remember(self, head: bytes, answering: Answering) -> None:
        if len(self.known) >= _MOST_HEADS:
            self.known.clear()
        if len(head) <= _LONGEST_HEAD:
            self.known[head] = answering

    def usual(self, headers: list[tuple[bytes, bytes]]) -> bytes:
        """How each answer begins; uvicorn makes another list each second."""
        if headers is not self._headers:
            self._headers = headers
            self._usual = STATUS_LINE[200] + b"".join(b"%b: %b\r\n" % header for header in headers)
        return self._usual


class Door(HttpToolsProtocol, asyncio.BufferedProtocol):
    """uvicorn's, with an end to its patience."""

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self.address = ""
        self._shared = _shared_by(self.server_state)
        self._hall = self._shared.hall
        self._unfinished = 0
        """Bytes of a head that has no end yet, or of a body that nobody wants."""
        self._in_body = False
        self._begun = False
        """Whether the parser has begun to read a request, and not ended."""
        self._running: RequestResponseCycle | None = None
        """The request that is worked on, where others have come behind it."""
        self._at_once: AtOnce | None = getattr(self.config.app, "at_once", None)
        self._held: bytearray | None = None
        """The body of a request that may be answered at once, as far as it has come."""
        self._head = b""
        """Of a request that has come in one piece, as it is remembered."""
        self._in_vain = False
        """Whether it was asked for an answer at once, and there was none."""
        self._used = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self._hall.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._hall.leave(self)
        super().connection_lost(exc)
        if self._running is not None and not self._running.response_complete:  # uvicorn tells only the last one
            self._running.disconnected = True
            self._running.message_event.set()

    def get_buffer(self, _sizehint: int) -> memoryview:
        """One for all: else each request is read into a quarter of a megabyte of its own, got from the system and
        given back, which costs more than to understand it."""
        return self._shared.buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(bytes(self._shared.buffer[:nbytes]))

    def data_received(self, data: bytes) -> None:
        """In parts: who sends a thousand requests in one go has them read as they are answered, or not at all."""
        self._head, body = (b"", b"") if not data.startswith(_POSTED) or self._is_busy else _taken_apart(data)
        answering = self._shared.known.get(self._head)
        said = None if answering is None else self._said_by(answering, body)
        self._in_vain = answering is not None
        if said is None:
            self._take(data)
        else:
            self._answer_again(said)

    @property
    def _is_busy(self) -> bool:
        """Whether what comes is not the beginning of a request, or nobody can answer it at once."""
        return bool(
            self._at_once is None
            or self._unfinished
            or self._begun
            or self._last is not None
            or self.pipeline
            or self.flow.write_paused
            or self.transport.is_closing()
        )

    def _answer_again(self, said: bytes) -> None:
        """As `_answer`, without a new timer each time: the old one finds out that the connection was used."""
        self._hall.leave(self)
        self.server_state.total_requests += 1
        self._used = self.loop.time()
        self.transport.write(self._shared.usual(self.server_state.default_headers) + said)
        if self.timeout_keep_alive_task is None and not self.transport.is_closing():
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def timeout_keep_alive_handler(self) -> None:
        left = self._used + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self.timeout_keep_alive_task = self.loop.call_later(left, self.timeout_keep_alive_handler)
        else:
            super().timeout_keep_alive_handler()

    def _take(self, data: bytes) -> None:
        while data and not self.transport.is_closing():
            last = self._last
            if last is not None and not last.more_body:
                last.keep_alive = False  # the rest has to be sent again: we hang up after this answer
                return
            size = _PART_OF_HEAD if last is None and self._held is None else _PART_OF_BODY
            part, data = data[:size], data[size:]
            answered = self.server_state.total_requests
            super().data_received(part)
            if answered == self.server_state.total_requests:
                self._judge(len(part))
            else:
                self._was_answered(rest=data)

    def _was_answered(self, rest: bytes) -> None:
        """At once, and it may go on; but not with much that it has sent in the same go."""
        self._unfinished = 0
        if self._begun:  # the beginning of another request
            self._hall.enter(self, again=True)
        else:
            self._hall.leave(self)
        if rest:
            self.transport.close()

    @property
    def _last(self) -> RequestResponseCycle | None:
        """The last request whose head is complete, until it is answered."""
        cycle: RequestResponseCycle | None = self.cycle
        return None if cycle is None or cycle.response_complete else cycle

    def _judge(self, size: int) -> None:
        """Whether it has to hurry up, now that so much more has come."""
        last = self._last
        self._unfinished = self._unfinished + size if last is None else 0
        if self._unfinished > (LARGEST if self._in_body else LARGEST_HEAD):
            self.turn_away(*_TOO_LARGE)
        elif self._in_body:
            self._hall.enter(self, again=True)
        elif last is None:
            self._hall.enter(self)
        else:
            self._hall.leave(self)

    def on_message_begin(self) -> None:
        self._begun = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_body = True
        self._unfinished = 0
        self._unset_keepalive_if_required()  # armed by an answer that was given while this came in
        if self._may_be_answered_at_once():
            self._held = bytearray()
        else:
            super().on_headers_complete()

    def _may_be_answered_at_once(self) -> bool:
        """No task and no ASGI for the requests of which there are most."""
        return (
            self._at_once is not None
            and not self._in_vain
            and self.url.startswith(AT_ONCE)
            and self._last is None
            and not self.pipeline
            and not self.expect_100_continue
            and not self.flow.write_paused
            and self.parser.get_method() == b"POST"
            and self.parser.get_http_version() == "1.1"
            and self.parser.should_keep_alive()
            and not self.parser.should_upgrade()
        )

    def on_body(self, body: bytes) -> None:
        if self._held is None:
            super().on_body(body)
            return
        self._held += body
        if len(self._held) > _HELD:
            self._let_in()

    def on_message_complete(self) -> None:
        self._in_body = self._begun = False
        self._unfinished = 0
        if self._held is not None:
            answer = self._said_at_once(bytes(self._held))
            if answer is not None:
                self._held = None
                self._answer(answer)
                return
            self._let_in()
        super().on_message_complete()

    def _said_at_once(self, body: bytes) -> bytes | None:
        assert self._at_once is not None  # noqa: S101  # for mypy
        try:
            answering = self._at_once(self.url, self.headers)
        except Exception:  # noqa: BLE001  # the ordinary way fails too, and knows how to say it
            return None
        said = None if answering is None else self._said_by(answering, body)
        if said is not None and answering is not None and self._head:
            self._shared.remember(self._head, answering)
        return said

    @staticmethod
    def _said_by(answering: Answering, body: bytes) -> bytes | None:
        try:
            return answering(body)
        except Exception:  # noqa: BLE001  # the same
            return None

    def _let_in(self) -> None:
        """The ordinary way after all, from the head on."""
        held, self._held = self._held, None
        super().on_headers_complete()
        if held:
            super().on_body(bytes(held))

    def _answer(self, answer: bytes) -> None:
        self.transport.write(self._shared.usual(self.server_state.default_headers) + answer)
        self.on_response_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def turn_away(self, status: int, why: str) -> None:
        """Said once, and not waited for."""
        self._hall.leave(self)
        if self.transport.is_closing():
            return
        head = f"HTTP/1.1 {status} {why}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        self.transport.write(head.encode())
        self.transport.close()


class House(uvicorn.Server):
    """Lets a few in at a time, and hears those who are inside in between; the others wait at the door of the system."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(QUEUE)  # asyncio takes one number for both


def _taken_apart(data: bytes) -> tuple[bytes, bytes]:
    """The head, without the number that differs from one request to the next, and the body of what is one whole
    request; else nothing. Whether it is a good one is for the parser to say, the first time."""
    end = data.find(b"\r\n\r\n")
    length = _LENGTH.search(data, 0, end + 2) if end >= 0 else None
    if length is None or int(length[1]) != len(data) - end - 4:
        return b"", b""
    return data[: length.start(1)] + data[length.end(1) : end], data[end + 4 :]


def _shared_by(server_state: Any) -> Shared:
    """One for each server."""
    found: Shared | None = getattr(server_state, "shared", None)
    if found is None:
        found = server_state.shared = Shared()
    return found
