"""The whole service as one ASGI application."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route, Router

from fairlead import wire
from fairlead.server import protocol, security
from fairlead.server.desk import Desk
from fairlead.server.hooks_api import PATH as HOOKS_PATH
from fairlead.server.hooks_api import Home, HookEvents, sends_event
from fairlead.server.inbox import Inbox
from fairlead.server.push_api import PushApi
from fairlead.server.records import Refused
from fairlead.server.statistics import Statistics
from fairlead.server.telling import Settings, Teller
from fairlead.warm.loaded import Loaded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping

    from starlette.requests import Request

    from fairlead.server.store import Store
    from fairlead.warm.listening import Listener

REFRESHED_EVERY = 1.0
"""Seconds between two looks at the files of hooks, beside those that each event has."""
_PAGES = os.path.join(os.path.dirname(__file__), "pages")
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
}


def build(
    store: Store,
    *,
    hosts: Iterable[str],
    token: str,
    approvers: tuple[str, ...] = (),
    telling: Settings | None = None,
    environ: Mapping[str, str] | None = None,
    metrics_key: str = "",
    keepalive: float = protocol.KEEPALIVE,
    hook_key: str = "",
    loaded: Loaded | None = None,
    listener: Listener | None = None,
) -> Any:
    """`hosts` are the names, with ports, under which we may be called; `token` is the user's own key.

    Nobody but the `approvers` decides anything, where some are named. `telling` says who hears of questions elsewhere.
    `environ` says where the journal is that statistics are made of; `metrics_key` opens the metrics alone.
    `hook_key` may send events, for which `environ` counts and `loaded` has the hooks; `listener` hears the others.
    """
    desk = Desk(store)
    desk.approvers = approvers
    inbox = Inbox(desk, security.hashed(token))
    teller = Teller(desk, telling or Settings())
    inbox.untold = lambda: teller.trouble
    token_hash = security.hashed(token)
    loaded = loaded or Loaded()
    events = HookEvents(hook_key, Home.of(os.environ if environ is None else environ), loaded)
    statistics = Statistics(inbox, desk, token_hash=token_hash, environ=environ, metrics_key=metrics_key)

    @asynccontextmanager
    async def lifespan(_app: Router) -> AsyncIterator[None]:
        await desk.start()
        await teller.start()
        if listener is not None:
            await listener.start()
        refreshing = asyncio.create_task(_refresh(loaded))
        yield
        refreshing.cancel()
        if listener is not None:
            await listener.stop()
        await statistics.stop()
        await teller.stop()
        await desk.stop()

    routes = [
        Route(protocol.PATH, protocol.InteractionRequest(desk, keepalive), methods=["POST"]),
        *inbox.routes(),
        *PushApi(inbox, teller).routes(),
        *statistics.routes(),
        Route(HOOKS_PATH, events, methods=["POST"]),
        Route("/api/health", _health, methods=["GET"]),
        Route("/api/openapi.json", _page("../openapi.json"), methods=["GET"]),
        *(Route(path, _page(name), methods=["GET"]) for path, name in _pages()),
    ]
    return Guarded(Router(routes=routes, lifespan=lifespan), frozenset(hosts), events)


async def _refresh(loaded: Loaded) -> None:
    while True:
        await asyncio.sleep(REFRESHED_EVERY)
        loaded.refresh()


async def _health(_request: Request) -> Response:
    return Response(b'{"ok":true}\n', media_type="application/json")


def _pages() -> list[tuple[str, str]]:
    names = sorted(os.listdir(_PAGES)) if os.path.isdir(_PAGES) else []
    return [("/" if name == "index.html" else f"/{name.removesuffix('.html')}", name) for name in names]


def _page(name: str) -> Any:
    kind = _KINDS[os.path.splitext(name)[1]]

    async def page(_request: Request) -> Response:
        with open(os.path.join(_PAGES, name), "rb") as file:  # noqa: ASYNC230  # a few kilobytes from the page cache
            return Response(file.read(), headers={"content-type": kind, **security.OWN_HEADERS.get(name, {})})

    return page


_HEADERS = [(name.encode(), value.encode()) for name, value in security.HEADERS.items()]
_HEAD = b"".join(b"%b: %b\r\n" % header for header in [(b"content-type", b"application/json"), *_HEADERS])


class Guarded:
    """In front of everything: the host, the headers of every answer, and no traceback for anybody."""

    def __init__(self, app: Any, hosts: frozenset[str], events: HookEvents | None = None) -> None:
        """`events` come much more often than all the rest, and do not look through its routes."""
        self._app = app
        self._events = events
        self._hosts = hosts

    def at_once(self, url: bytes, headers: list[tuple[bytes, bytes]]) -> Callable[[bytes], bytes | None] | None:
        """Who answers events with this head, each answer with its headers, where nothing has to be waited for."""
        given = dict(headers)
        if self._events is None or given.get(b"host", b"").decode("latin-1").lower() not in self._hosts:
            return None
        answering = self._events.at_once(url, given)

        def with_headers(body: bytes) -> bytes | None:
            said = answering(body) if answering is not None else None
            return None if said is None else b"%bcontent-length: %d\r\n\r\n%b" % (_HEAD, len(said), said)

        return None if answering is None else with_headers

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = _without_slash(scope)
        started = False

        async def with_headers(message: Any) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                present = {key for key, _ in message["headers"]}
                more = [header for header in _HEADERS if header[0] not in present]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        try:
            security.check_host(_header(scope, b"host"), self._hosts)
            app = self._events if self._events is not None and sends_event(scope) else self._app
            await app(scope, receive, with_headers)
        except Refused as refused:
            await _plain(with_headers, refused)
        except Exception as error:  # the store is broken or full: said so, and nothing was promised
            if started:
                raise
            await _plain(with_headers, _trouble(error))


def _without_slash(scope: Any) -> Any:
    """Who is sent elsewhere because of a slash at the end, and does not go there, has not asked."""
    path: str = scope["path"]
    return {**scope, "path": path.rstrip("/")} if path.startswith("/api/") and path.endswith("/") else scope


def _trouble(error: Exception) -> Refused:
    return Refused(503, "unavailable", f"the store cannot be used now ({type(error).__name__}: {error}); try again")


def _header(scope: Any, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


async def _plain(send: Any, refused: Refused) -> None:
    body = wire.encode(protocol.error(refused)) + b"\n"
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
