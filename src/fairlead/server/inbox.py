"""What the inbox page and the terminal call: what waits, what was decided, answers, live changes."""

from __future__ import annotations

import asyncio
import time
import uuid
from typing import TYPE_CHECKING, Any

from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from fairlead import machines, wire
from fairlead._record import Record
from fairlead.errors import InputError
from fairlead.server import protocol, security, views
from fairlead.server.records import Answer, Refused, Run
from fairlead.server.rules import Rule, call_of, read_rule

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request

    from fairlead.server.desk import Desk
    from fairlead.server.records import Interaction

    Endpoint = Callable[[Request], Awaitable[Response]]

SESSION_LIVES = 30 * 24 * 3600.0
_LOOK_AT_LOGIN = 0.5
"""Seconds between two looks whether somebody who watches is still logged in."""


class Person(Record):
    """Who asks for something."""

    name: str
    login: str = ""
    """The hash of their session; empty for the key in the user's own files."""

    @property
    def runs_the_server(self) -> bool:
        return not self.login


class Inbox:
    """Every endpoint that needs a person."""

    def __init__(self, desk: Desk, token_hash: str) -> None:
        self._desk = desk
        self._token_hash = token_hash
        """Of the key in the user's own files, for programs of this user."""
        self.streams = 0
        """Pages and programs that watch now."""
        self.untold: Callable[[], str] = str
        """What keeps people from being told of questions elsewhere."""

    def routes(self) -> list[Route]:
        found: list[tuple[str, str, Endpoint]] = [
            ("POST", "/api/login", self.login),
            ("POST", "/api/logout", self.logout),
            ("POST", "/api/login-link", self.login_link),
            ("GET", "/api/people", self.people),
            ("DELETE", "/api/people/{id}", self.log_out),
            ("GET", "/api/me", self.me),
            ("GET", "/api/interactions", self.interactions),
            ("GET", "/api/interactions/{id}", self.interaction),
            ("POST", "/api/interactions/{id}/answer", self.answer),
            ("POST", "/api/answers", self.answers),
            ("GET", "/api/rules", self.rules),
            ("POST", "/api/interactions/{id}/rule", self.add_rule),
            ("DELETE", "/api/rules/{id}", self.end_rule),
            ("GET", "/api/runs", self.runs),
            ("POST", "/api/runs", self.add_run),
            ("POST", "/api/runs/{id}/end", self.end_run),
            ("GET", "/api/stream", self.stream),
        ]
        return [Route(path, _guarded(endpoint), methods=[method]) for method, path, endpoint in found]

    # --- who is it -------------------------------------------------------------------------------

    async def person(self, request: Request) -> Person:
        """The person whose page or program asks. An agent's key is nobody's."""
        key = security.bearer(request.headers)
        person = await (self._with_key(security.hashed(key)) if key else self._with_cookie(request))
        if not person.name:
            raise Refused(401, "unauthorized", "open the inbox with the link that `fairlead inbox --link` prints")
        return person

    async def _with_key(self, hashed: str) -> Person:
        if hashed == self._token_hash:
            return Person(name=security.owner())
        name = await self._desk.login(hashed)
        if not name and await self._desk.run_of_key(hashed) is not None:
            raise Refused(403, "agents_cannot", "an agent can ask, and never decide")
        return Person(name=name, login=hashed)

    async def _with_cookie(self, request: Request) -> Person:
        scheme = request.scope["scheme"]
        session = security.cookie(request.headers, security.cookie_name(scheme))
        hashed = security.hashed(session)
        name = await self._desk.login(hashed) if session else ""
        if name and request.method != "GET":
            security.check_same_origin(request.headers, request.headers.get("host", ""), scheme)
        elif name:
            security.check_own_page(request.headers)
        return Person(name=name, login=hashed)

    async def owner(self, request: Request) -> Person:
        """Who runs the server, with the key from their own files: a page that somebody left open is not enough."""
        person = await self.person(request)
        if not person.runs_the_server:
            raise Refused(403, "not_yours", "only who runs the server may do this, in a terminal on its machine")
        return person

    async def login(self, request: Request) -> Response:
        scheme = request.scope["scheme"]
        security.check_same_origin(request.headers, request.headers.get("host", ""), scheme)
        key = _string(await _fields(request), "key")
        secret = security.new_secret()
        hashes = (security.hashed(key), security.hashed(secret))
        name = await self._desk.do(self._desk.store.use_login_key, *hashes, SESSION_LIVES)
        if not name:
            raise Refused(401, "unauthorized", "this link was used already or is older than a minute; make a new one")
        response = _json({"name": name})
        response.set_cookie(security.cookie_name(scheme), secret, max_age=int(SESSION_LIVES), **_cookie(scheme))
        return response

    async def logout(self, request: Request) -> Response:
        person = await self.person(request)
        await self._desk.do(self._desk.store.end_login, person.login)
        scheme = request.scope["scheme"]
        response = _json({})
        response.delete_cookie(security.cookie_name(scheme), **_cookie(scheme))
        return response

    async def login_link(self, request: Request) -> Response:
        """For oneself; who runs the server makes them for others too."""
        person = await self.person(request)
        wanted = _string(await _fields(request) if await request.body() else {}, "name")
        name = security.person_name(wanted) if wanted else person.name
        if name != person.name:
            await self.owner(request)
        key = security.new_secret()
        await self._desk.do(self._desk.store.add_login_key, security.hashed(key), name, security.KEY_LIVES)
        return _json({"key": key, "name": name})

    async def people(self, request: Request) -> Response:
        await self.owner(request)
        return _json({"logins": [login.as_dict() for login in await self._desk.look(self._desk.store.logins)]})

    async def log_out(self, request: Request) -> Response:
        """Everywhere, at once."""
        await self.owner(request)
        name = security.person_name(request.path_params["id"])
        ended = await self._desk.do(self._desk.store.end_logins, name)
        if not ended:
            raise Refused(404, "not_found", f"{name} is not logged in anywhere")
        return _json({"name": name, "ended": ended})

    async def me(self, request: Request) -> Response:
        name = (await self.person(request)).name
        return _json({"name": name, "trouble": self._desk.trouble, "untold": self.untold()})

    # --- questions -------------------------------------------------------------------------------

    async def interactions(self, request: Request) -> Response:
        """A list: the whole of each is asked for by its id."""
        person = await self.person(request)
        query = request.query_params
        found, runs = await self._desk.listed(
            pending=query.get("state", "pending") == "pending",
            run_id=query.get("run", ""),
            text=query.get("text", ""),
        )
        rows = [views.summary(item, runs.get(item.run_id), person.name) for item in found]
        return _json({"interactions": rows, "now": time.time()})

    async def interaction(self, request: Request) -> Response:
        person = await self.person(request)
        found = await self._desk.look(self._desk.store.interaction, request.path_params["id"])
        if found is None:
            raise Refused(404, "not_found", "there is no such question")
        return _json(await self._item(found, person.name))

    async def answer(self, request: Request) -> Response:
        by = (await self.person(request)).name
        found, run = await self._desk.answer(request.path_params["id"], _answer(await _fields(request), by))
        return _json(views.item(found, run, by))

    async def answers(self, request: Request) -> Response:
        """Several at once: each stands or falls by itself."""
        by = (await self.person(request)).name
        wanted = (await _fields(request)).get("answers")
        if not isinstance(wanted, list) or not all(isinstance(one, dict) for one in wanted):
            raise Refused(400, "invalid_input", "answers must be a list of objects")
        return _json({"answers": await asyncio.gather(*(self._answered(one, by) for one in wanted))})

    async def _answered(self, fields: dict[str, Any], by: str) -> dict[str, Any]:
        try:
            found, run = await self._desk.answer(str(fields.get("id", "")), _answer(fields, by))
        except Refused as refused:
            return {"id": fields.get("id"), **protocol.error(refused)}
        return views.summary(found, run, by)

    async def _item(self, interaction: Interaction, name: str) -> dict[str, Any]:
        run = await self._desk.look(self._desk.store.run, interaction.run_id)
        return views.item(interaction, run, name)

    async def _summary(self, interaction: Interaction, name: str) -> dict[str, Any]:
        run = await self._desk.look(self._desk.store.run, interaction.run_id)
        return views.summary(interaction, run, name)

    # --- rules -----------------------------------------------------------------------------------

    async def rules(self, request: Request) -> Response:
        await self.person(request)
        here = machines.this_machine().partition(".")[0]
        rules = await self._desk.look(self._desk.store.rules)
        return _json({"rules": [{**rule.as_dict(), "here": rule.host in ("", here)} for rule in rules]})

    async def add_rule(self, request: Request) -> Response:
        """ "Always allow this", made from a question that the person looks at."""
        by = (await self.person(request)).name
        about = await self._desk.look(self._desk.store.interaction, request.path_params["id"])
        run = await self._desk.look(self._desk.store.run, about.run_id) if about else None
        if about is None or run is None:
            raise Refused(404, "not_found", "there is no such question")
        if not about.may_be_decided_by(by):
            raise Refused(403, "not_yours", f"{' or '.join(about.deciders)} may decide this, nobody else", about)
        asked = protocol.read_request(about.body, {"x-m-request-id": about.request_id})
        wanted = read_rule(await _fields(request), call_of(about.tool, asked.payload, asked.cwd, run))
        rule = Rule(id=uuid.uuid4().hex, created_by=by, created_at=time.time(), **wanted)
        await self._desk.do(self._desk.store.add_rule, rule)
        return _json({"rule": rule.as_dict()}, status=201)

    async def end_rule(self, request: Request) -> Response:
        await self.person(request)
        if not await self._desk.do(self._desk.store.end_rule, request.path_params["id"]):
            raise Refused(404, "not_found", "there is no such rule in force")
        return _json({})

    # --- runs ------------------------------------------------------------------------------------

    async def runs(self, request: Request) -> Response:
        await self.person(request)
        return _json({"runs": [run.as_dict() for run in await self._desk.look(self._desk.store.runs)]})

    async def add_run(self, request: Request) -> Response:
        await self.person(request)
        fields = await _fields(request)
        names = ("agent", "project", "title", "host", "process")
        given: dict[str, Any] = {name: _string(fields, name) for name in names}
        run = Run(id=uuid.uuid4().hex, created_at=time.time(), **given)
        key = security.new_secret()
        await self._desk.add_run(run, security.hashed(key))
        return _json({"run": run.as_dict(), "key": key}, status=201)

    async def end_run(self, request: Request) -> Response:
        await self.person(request)
        if await self._desk.look(self._desk.store.run, request.path_params["id"]) is None:
            raise Refused(404, "not_found", "there is no such run")
        await self._desk.end_run(request.path_params["id"])
        return _json({})

    # --- live ------------------------------------------------------------------------------------

    async def stream(self, request: Request) -> Response:
        changes = self._changes(await self.person(request))
        return StreamingResponse(changes, media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    async def _changes(self, person: Person) -> AsyncIterator[bytes]:
        queue = self._desk.watch()
        self.streams += 1
        spoken = time.monotonic()
        try:
            yield b"retry: 1000\n\n: here\n\n"
            while True:
                try:
                    async with asyncio.timeout(_LOOK_AT_LOGIN):
                        changed = await queue.get()
                except TimeoutError:
                    if not await self._is_logged_in(person):
                        return
                    if time.monotonic() - spoken >= protocol.KEEPALIVE:
                        spoken = time.monotonic()
                        yield b": still here\n\n"
                    continue
                if changed is None or not await self._is_logged_in(person):
                    return
                spoken = time.monotonic()
                row = await self._summary(changed, person.name)
                yield b"event: interaction\ndata: " + wire.encode(row) + b"\n\n"
        finally:
            self.streams -= 1
            self._desk.unwatch(queue)

    async def _is_logged_in(self, person: Person) -> bool:
        """A store that cannot be asked has nothing to tell either."""
        try:
            return person.runs_the_server or await self._desk.login(person.login) == person.name
        except Exception:  # noqa: BLE001
            return True


def _guarded(endpoint: Endpoint) -> Endpoint:
    async def guarded(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Refused as refused:
            body = protocol.error(refused)
            if refused.interaction is not None:
                body["interaction"] = views.summary(refused.interaction, None)
            return _json(body, status=refused.status)

    return guarded


def _cookie(scheme: str) -> dict[str, Any]:
    return {"httponly": True, "samesite": "strict", "secure": scheme == "https"}


def _json(value: dict[str, Any], status: int = 200) -> Response:
    return Response(wire.encode(value) + b"\n", status_code=status, media_type="application/json")


async def _fields(request: Request) -> dict[str, Any]:
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise Refused(415, "not_json", "send JSON, with Content-Type: application/json")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > protocol.LARGEST:
            raise Refused(413, "too_large", "the request is too large")
    try:
        return wire.decode_object(body)
    except InputError as error:
        raise Refused(400, "invalid_input", f"the body cannot be read: {error}") from None


def _answer(fields: dict[str, Any], by: str) -> Answer:
    decision, update = fields.get("decision"), fields.get("updated_input")
    if decision not in ("allow", "block"):
        raise Refused(400, "invalid_input", "decision must be allow or block")
    if update is not None and (not isinstance(update, dict) or decision != "allow"):
        raise Refused(400, "invalid_input", "updated_input must be an object, with the decision allow")
    return Answer(
        allow=decision == "allow",
        by=by,
        digest=_string(fields, "digest"),
        message=_string(fields, "message"),
        response=fields.get("response"),
        updated_input=update,
    )


def _string(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise Refused(400, "invalid_input", f"{name} must be a string")
    if "\0" in value or value.encode("utf-8", "replace").decode() != value:
        raise Refused(400, "invalid_input", f"{name} holds what is no text: a NUL, or half a character")
    return value
