"""What agents call: `POST /api/internal/interaction-request`, answered when a person has decided.

The answer begins at once and is kept alive with blanks, which JSON allows before a value: so a wait of any length
passes proxies that give up on silence. An ASGI application by itself, since ten thousand of these may wait.
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any

from fairlead import people, wire
from fairlead.errors import InputError
from fairlead.server import security, views
from fairlead.server.records import DECIDED, PENDING, Asked, Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairlead.server.desk import Desk
    from fairlead.server.records import Interaction, Run

PATH = "/api/internal/interaction-request"
KEEPALIVE = 15.0
"""Seconds; a third of what the most impatient proxies wait for."""
LARGEST = 16 * 1024 * 1024
EXPIRES = 3600.0
"""Seconds that a question waits for a person, if the asker does not say; then the answer is no."""
_LONGEST = 7 * 24 * 3600.0
_KINDS = ("approval", "input")
_LONGEST_ID = 255
_AT_ONCE = 64
"""Questions that are read and stored at once, as many as are worth one commit. The others of a flood wait for their
turn, and a person does not wait behind them."""


def read_request(body: bytes, headers: Mapping[str, str]) -> Asked:
    """Raises Refused with what is missing or wrong."""
    try:
        fields = wire.decode_object(body)
    except InputError as error:
        raise Refused(400, "invalid_input", f"the body cannot be read: {error}") from None
    header = headers.get("x-m-request-id", "")
    fields = {**fields, **({"request_id": header} if header else {})}
    values = {name: _text(fields, name) for name in ("run_id", "type", "tool", "request_id")}
    if values["type"] not in _KINDS:
        raise Refused(400, "invalid_input", f"type is {values['type']!r}; it must be approval or input")
    payload = fields.get("payload", {})
    if not isinstance(payload, dict):
        raise Refused(400, "invalid_input", "payload must be an object")
    return Asked(
        run_id=values["run_id"],
        request_id=values["request_id"],
        kind=values["type"],
        tool=values["tool"],
        payload=payload,
        body=body,
        digest=hashlib.sha256(body).hexdigest(),
        likeness=_likeness(values, payload, fields.get("cwd")),
        expires_in=_expires_in(fields),
        people=_people(fields),
        line=views.line(values["tool"], payload),
        cwd=fields["cwd"] if isinstance(fields.get("cwd"), str) else "",
        approvers=_names(fields, "approvers"),
        escalate_after=_escalate_after(fields),
        escalate_to=_names(fields, "escalate_to"),
    )


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value:
        raise Refused(400, "invalid_input", f"{name} is missing" if value in (None, "") else f"{name} must be a string")
    if name != "tool" and len(value) > _LONGEST_ID:
        raise Refused(400, "invalid_input", f"{name} is longer than {_LONGEST_ID} characters")
    if not is_plain_text(value):
        raise Refused(400, "invalid_input", f"{name} holds NUL or half a character")
    return value


def is_plain_text(value: str) -> bool:
    """Whether every store keeps it as it is."""
    return "\0" not in value and (value.isascii() or value.encode("utf-8", "replace").decode() == value)


def _likeness(values: Mapping[str, str], payload: dict[str, Any], cwd: object) -> str:
    """The same call in another folder is another one."""
    said = wire.encode([values["type"], values["tool"], _sorted(payload), cwd if isinstance(cwd, str) else ""])
    return hashlib.sha256(said).hexdigest()


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _expires_in(fields: Mapping[str, Any]) -> float:
    value = fields.get("expires_in", EXPIRES)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= _LONGEST:
        raise Refused(400, "invalid_input", f"expires_in must be a number of seconds up to {_LONGEST:.0f}")
    return float(value)


def _people(fields: Mapping[str, Any]) -> int:
    value = fields.get("people", 1)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10:
        raise Refused(400, "invalid_input", "people must be a number from 1 to 10")
    return value


def _names(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    found = people.names_of(fields.get(name, []))
    if found is None:
        raise Refused(400, "invalid_input", f"{name} must be a list of up to {people.MOST} names of people")
    return found


def _escalate_after(fields: Mapping[str, Any]) -> float | None:
    value = fields.get("escalate_after")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _LONGEST:
        raise Refused(400, "invalid_input", f"escalate_after must be a number of seconds up to {_LONGEST:.0f}")
    return float(value)


def told(interaction: Interaction) -> dict[str, Any]:
    """What the agent is told about a decided question."""
    if interaction.late:
        return {"decision": "block", "message": "the answer came too late for this call; make the same call again"}
    if interaction.state != DECIDED:
        return {"decision": "block", "message": interaction.message or "nobody answered in time"}
    if not interaction.allow:
        reason = interaction.message
        return {"decision": "block", "message": f"User rejected: {reason}" if reason else "User rejected"}
    found: dict[str, Any] = {"decision": "allow"}
    if interaction.message:
        found["message"] = interaction.message
    if interaction.response is not None:
        found["response"] = interaction.response
    if interaction.updated_input is not None:
        found["updated_input"] = interaction.updated_input
    return found


class InteractionRequest:
    """The endpoint."""

    def __init__(self, desk: Desk, keepalive: float = KEEPALIVE) -> None:
        self._desk = desk
        self._heart = _Heart(keepalive)
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        try:
            run = await self._run_of(headers)  # first: nobody else's bytes are kept
            body = await _body(headers, receive)
            async with self._turn:
                asked = self._asked(run, headers, body)
                decided, interaction, new = await self._ask(asked)
        except Refused as refused:
            await _answer(send, refused.status, error(refused))
            return
        try:
            if interaction.state == PENDING:
                await self._keep_waiting(decided, receive, send)
            else:
                await _answer(send, 200 if new else 409, told(interaction))
        finally:
            self._desk.leave(asked, decided)

    async def _ask(self, asked: Asked) -> tuple[asyncio.Future[Interaction], Interaction, bool]:
        decided = self._desk.waiter(asked)
        try:
            interaction, new = await self._desk.ask(asked)
        except BaseException:
            self._desk.leave(asked, decided)
            raise
        return decided, interaction, new

    def _asked(self, run: Run, headers: Mapping[str, str], body: bytes) -> Asked:
        asked = read_request(body, headers)
        if asked.run_id != run.id:
            raise Refused(404, "not_found", f"this key does not belong to the run {asked.run_id!r}")
        if not run.active:
            raise Refused(409, "invalid_state", "this run has ended; start another one")
        return asked.limited_to(self._desk.approvers)

    async def _run_of(self, headers: Mapping[str, str]) -> Run:
        key = security.bearer(headers)
        run: Run | None = await self._desk.run_of_key(security.hashed(key)) if key else None
        if run is None:
            raise Refused(401, "unauthorized", "send the run's key: Authorization: Bearer …")
        return run

    async def _keep_waiting(self, decided: asyncio.Future[Interaction], receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        await send(_BLANK)
        gone = asyncio.ensure_future(receive())
        self._heart.keep_alive(send)
        try:
            await _first(decided, gone)
        finally:
            self._heart.let_go(send)
            gone.cancel()
        if decided.done():
            await send({"type": "http.response.body", "body": wire.encode(told(decided.result())) + b"\n"})


async def _first(*futures: asyncio.Future[Any]) -> None:
    """Until one of them is done; cheaper than `asyncio.wait`: ten thousand may wait."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wake(_future: object) -> None:
        if not done.done():
            done.set_result(None)

    for future in futures:
        future.add_done_callback(wake)
    try:
        await done
    finally:
        for future in futures:
            future.remove_done_callback(wake)


_BLANK = {"type": "http.response.body", "body": b" ", "more_body": True}
_BEATS = 15


class _Heart:
    """One timer for all who wait: at each beat a part of them gets its blank, and nobody is woken for it."""

    def __init__(self, seconds: float) -> None:
        """Everybody's turn comes once in so many seconds."""
        self._pause = seconds / _BEATS
        self._parts: list[set[Any]] = [set() for _ in range(_BEATS)]
        self._place: dict[Any, set[Any]] = {}
        self._beats = 0
        self._timer: asyncio.TimerHandle | None = None

    def keep_alive(self, send: Any) -> None:
        """They have just been sent something: their turn comes last."""
        part = self._parts[(self._beats - 1) % _BEATS]
        part.add(send)
        self._place[send] = part
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._pause, self._beat)

    def let_go(self, send: Any) -> None:
        self._place.pop(send).discard(send)

    def _beat(self) -> None:
        part = self._parts[self._beats % _BEATS]
        self._beats += 1
        for send in list(part):
            _send_now(send)
        going_on = bool(self._place)
        self._timer = asyncio.get_running_loop().call_later(self._pause, self._beat) if going_on else None


def _send_now(send: Any) -> None:
    """Without waiting: who does not read what came before needs no further sign of life."""
    sending = send(_BLANK)
    try:
        sending.send(None)
    except StopIteration:
        return
    except Exception:  # noqa: BLE001  # a connection that is broken: the one who holds it finds out
        return
    sending.close()


_HEADERS = [
    (b"content-type", b"application/json"),
    (b"x-accel-buffering", b"no"),
    *((key.encode(), value.encode()) for key, value in security.HEADERS.items()),
]


def error(refused: Refused) -> dict[str, Any]:
    return {"error": {"code": refused.code, "message": str(refused)}}


async def _body(headers: Mapping[str, str], receive: Any) -> bytes:
    too_large = Refused(413, "too_large", f"a request may hold {LARGEST // 1024 // 1024} MiB")
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > LARGEST:
        raise too_large
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "invalid_input", "the request ended before its body did")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > LARGEST:
            raise too_large
        if not message.get("more_body"):
            return b"".join(parts)


async def _answer(send: Any, status: int, value: dict[str, Any]) -> None:
    body = wire.encode(value) + b"\n"
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*_HEADERS, length]})
    await send({"type": "http.response.body", "body": body})
