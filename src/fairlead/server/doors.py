"""How long we listen to somebody who has not said yet what they want, and to how much at once.

A connection that sends its request byte by byte, or nothing at all, costs a file and some memory, and has shown
nobody's key. It is given half a minute. Where one address holds very many of these, the oldest go sooner.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from fairlead.server.protocol import LARGEST

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

PATIENCE = 30.0
"""Seconds for the head of a request, and between two parts of its body."""
MOST = 1000
"""Unfinished requests of one address: who is behind a proxy shares its address with many."""
HASTE = 5.0
"""Seconds that each of them has all the same: ten thousand agents may come back in one moment."""
LARGEST_HEAD = 64 * 1024
_PART_OF_HEAD, _PART_OF_BODY = 1024, 64 * 1024
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


class Door(HttpToolsProtocol):
    """uvicorn's, with an end to its patience."""

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self.address = ""
        self._hall = _hall_of(self.server_state)
        self._unfinished = 0
        """Bytes of a head that has no end yet, or of a body that nobody wants."""
        self._in_body = False
        self._running: RequestResponseCycle | None = None
        """The request that is worked on, where others have come behind it."""

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

    def data_received(self, data: bytes) -> None:
        """In parts: who sends a thousand requests in one go has them read as they are answered, or not at all."""
        while data and not self.transport.is_closing():
            last = self._last
            if last is not None and not last.more_body:
                last.keep_alive = False  # the rest has to be sent again: we hang up after this answer
                return
            size = _PART_OF_HEAD if last is None else _PART_OF_BODY
            part, data = data[:size], data[size:]
            super().data_received(part)
            self._judge(len(part))

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

    def on_headers_complete(self) -> None:
        self._in_body = True
        self._unfinished = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body = False
        self._unfinished = 0
        super().on_message_complete()

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


def _hall_of(server_state: Any) -> Hall:
    """One for each server."""
    found: Hall | None = getattr(server_state, "hall", None)
    if found is None:
        found = server_state.hall = Hall()
    return found
