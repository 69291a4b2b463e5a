"""What the inbox page and the terminal call: what waits, what was decided, answers, live changes."""

from __future__ import annotations

import asyncio
import getpass
import time
import uuid
from typing import TYPE_CHECKING, Any

from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from fairlead import wire
from fairlead.errors import InputError
from fairlead.server import protocol, security, views
from fairlead.server.records import Answer, Refused, Run
from fairlead.server.rules import Rule, read_rule

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request

    from fairlead.server.desk import Desk
    from fairlead.server.records import Interaction

    Endpoint = Callable[[Request], Awaitable[Response]]

SESSION_LIVES = 30 * 24 * 3600.0
_LARGEST = 1024 * 1024


class Inbox:
    """Every endpoint that needs a person."""

    def __init__(self, desk: Desk, keys: security.OneTimeKeys, token_hash: str) -> None:
        self._desk = desk
        self._keys = keys
        self._token_hash = token_hash
        """Of the key in the user's own files, for programs of this user."""

    def routes(self) -> list[Route]:
        found: list[tuple[str, str, Endpoint]] = [
            ("POST", "/api/login", self.login),
            ("POST", "/api/logout", self.logout),
            ("POST", "/api/login-link", self.login_link),
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

    async def person(self, request: Request) -> str:
        """The name of the person whose page or program asks. An agent's key is nobody's."""
        key = security.bearer(request.headers)
        if key:
            hashed = security.hashed(key)
            name = getpass.getuser() if hashed == self._token_hash else await self._desk.login(hashed)
            if not name and await self._desk.run_of_key(hashed) is not None:
                raise Refused(403, "agents_cannot", "an agent can ask, and never decide")
        else:
            session = security.cookie(request.headers, security.COOKIE)
            name = await self._desk.login(security.hashed(session)) if session else ""
            if name and request.method != "GET":
                security.check_same_origin(request.headers, request.headers.get("host", ""), request.scope["scheme"])
            elif name:
                security.check_own_page(request.headers)
        if not name:
            raise Refused(401, "unauthorized", "open the inbox with the link that `fairlead inbox --link` prints")
        return name

    async def login(self, request: Request) -> Response:
        host = request.headers.get("host", "")
        security.check_same_origin(request.headers, host, request.scope["scheme"])
        name = self._keys.use(_string(await _fields(request), "key"))
        if not name:
            raise Refused(401, "unauthorized", "this link was used already or is older than a minute; make a new one")
        secret = security.new_secret()
        await self._desk.do(self._desk.store.add_login, security.hashed(secret), name, SESSION_LIVES)
        response = _json({"name": name})
        secure = request.scope["scheme"] == "https"
        response.set_cookie(
            security.COOKIE, secret, max_age=int(SESSION_LIVES), httponly=True, samesite="strict", secure=secure
        )
        return response

    async def logout(self, request: Request) -> Response:
        await self.person(request)
        session = security.cookie(request.headers, security.COOKIE)
        await self._desk.do(self._desk.store.end_login, security.hashed(session))
        response = _json({})
        response.delete_cookie(security.COOKIE)
        return response

    async def login_link(self, request: Request) -> Response:
        name = await self.person(request)
        return _json({"key": self._keys.new(name)})

    async def me(self, request: Request) -> Response:
        return _json({"name": await self.person(request), "trouble": self._desk.trouble})

    # --- questions -------------------------------------------------------------------------------

    async def interactions(self, request: Request) -> Response:
        await self.person(request)
        query = request.query_params
        found = await self._desk.do(
            self._desk.store.interactions,
            pending=query.get("state", "pending") == "pending",
            run_id=query.get("run", ""),
            text=query.get("text", ""),
        )
        return _json({"interactions": [await self._item(one) for one in found], "now": time.time()})

    async def interaction(self, request: Request) -> Response:
        await self.person(request)
        found = await self._desk.do(self._desk.store.interaction, request.path_params["id"])
        if found is None:
            raise Refused(404, "not_found", "there is no such question")
        return _json(await self._item(found))

    async def answer(self, request: Request) -> Response:
        by = await self.person(request)
        found = await self._desk.answer(request.path_params["id"], _answer(await _fields(request), by))
        return _json(await self._item(found))

    async def answers(self, request: Request) -> Response:
        """Several at once: each stands or falls by itself."""
        by = await self.person(request)
        wanted = (await _fields(request)).get("answers")
        if not isinstance(wanted, list) or not all(isinstance(one, dict) for one in wanted):
            raise Refused(400, "invalid_input", "answers must be a list of objects")
        return _json({"answers": [await self._answered(one, by) for one in wanted]})

    async def _answered(self, fields: dict[str, Any], by: str) -> dict[str, Any]:
        try:
            found = await self._desk.answer(str(fields.get("id", "")), _answer(fields, by))
        except Refused as refused:
            return {"id": fields.get("id"), **protocol.error(refused)}
        return await self._item(found)

    async def _item(self, interaction: Interaction) -> dict[str, Any]:
        run = await self._desk.do(self._desk.store.run, interaction.run_id)
        return views.item(interaction, run)

    # --- rules -----------------------------------------------------------------------------------

    async def rules(self, request: Request) -> Response:
        await self.person(request)
        return _json({"rules": [rule.as_dict() for rule in await self._desk.do(self._desk.store.rules)]})

    async def add_rule(self, request: Request) -> Response:
        """ "Always allow this", made from a question that the person looks at."""
        by = await self.person(request)
        about = await self._desk.do(self._desk.store.interaction, request.path_params["id"])
        if about is None:
            raise Refused(404, "not_found", "there is no such question")
        run = await self._desk.do(self._desk.store.run, about.run_id)
        asked = wire.decode_object(about.body).get("payload", {})
        project = run.project if run else ""
        wanted = read_rule(await _fields(request), tool=about.tool, payload=asked, run_id=about.run_id, project=project)
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
        return _json({"runs": [run.as_dict() for run in await self._desk.do(self._desk.store.runs)]})

    async def add_run(self, request: Request) -> Response:
        await self.person(request)
        fields = await _fields(request)
        agent, project, title = (_string(fields, name) for name in ("agent", "project", "title"))
        run = Run(id=uuid.uuid4().hex, agent=agent, project=project, title=title, created_at=time.time())
        key = security.new_secret()
        await self._desk.add_run(run, security.hashed(key))
        return _json({"run": run.as_dict(), "key": key}, status=201)

    async def end_run(self, request: Request) -> Response:
        await self.person(request)
        if await self._desk.do(self._desk.store.run, request.path_params["id"]) is None:
            raise Refused(404, "not_found", "there is no such run")
        await self._desk.end_run(request.path_params["id"])
        return _json({})

    # --- live ------------------------------------------------------------------------------------

    async def stream(self, request: Request) -> Response:
        await self.person(request)
        return StreamingResponse(self._changes(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    async def _changes(self) -> AsyncIterator[bytes]:
        queue = self._desk.watch()
        try:
            yield b"retry: 1000\n\n: here\n\n"
            while True:
                try:
                    async with asyncio.timeout(protocol.KEEPALIVE):
                        changed = await queue.get()
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                if changed is None:
                    return
                yield b"event: interaction\ndata: " + wire.encode(await self._item(changed)) + b"\n\n"
        finally:
            self._desk.unwatch(queue)


def _guarded(endpoint: Endpoint) -> Endpoint:
    async def guarded(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Refused as refused:
            body = protocol.error(refused)
            if refused.interaction is not None:
                body["interaction"] = views.item(refused.interaction, None)
            return _json(body, status=refused.status)

    return guarded


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
