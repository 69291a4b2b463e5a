"""The journal in numbers, for the page and for Prometheus. Nobody who waits for an approval waits for them.

The numbers for the page come from `fairlead stats --json` in a process of its own, which the system lets run after
everything else; one at a time, and what it said is used again for a while.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import sys
import time
from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.routing import Route

from fairlead import wire
from fairlead.errors import InputError, plain
from fairlead.journal import settings
from fairlead.server import metrics, security
from fairlead.server.inbox import _guarded, _json
from fairlead.server.records import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from starlette.requests import Request

    from fairlead.server.desk import Desk
    from fairlead.server.inbox import Inbox

RANGES = {"24h": 1, "7d": 7, "30d": 30}
"""In days."""
FRESH = 10.0
"""Seconds for which numbers are used again; longer, where it took long to count."""
LONGEST = 120.0
"""Seconds that counting may take."""
PATIENCE = 8.0
"""Seconds that a page waits where there are no numbers yet; it asks again."""


class Statistics:
    def __init__(
        self, inbox: Inbox, desk: Desk, *, token_hash: str, environ: Mapping[str, str] | None, metrics_key: str = ""
    ) -> None:
        """Without `environ` there is no journal to be read. `metrics_key` opens the metrics, and nothing else."""
        self._inbox = inbox
        self._desk = desk
        self._token_hash = token_hash
        self._metrics_hash = security.hashed(metrics_key) if metrics_key else ""
        self._environ = environ
        turn = asyncio.Lock()
        self._reports = {name: _Report(name, environ or {}, turn) for name in RANGES}
        self._tail = metrics.Tail(settings.folder(environ)) if environ is not None else None
        self._looking = asyncio.Lock()

    def routes(self) -> list[Route]:
        return [
            Route("/api/stats", _guarded(self.stats), methods=["GET"]),
            Route("/metrics", _guarded(self.scrape), methods=["GET"]),
        ]

    async def stop(self) -> None:
        for report in self._reports.values():
            await report.stop()

    async def stats(self, request: Request) -> Response:
        await self._inbox.person(request)
        wanted = request.query_params.get("range", "24h")
        if wanted not in RANGES:
            raise Refused(400, "invalid_input", f"range must be one of {', '.join(RANGES)}")
        if self._environ is None:
            raise Refused(404, "not_found", "this server has no journal")
        return _json(await self._reports[wanted].get())

    # --- Prometheus ------------------------------------------------------------------------------

    async def scrape(self, request: Request) -> Response:
        self._check_reader(request)
        is_open = "application/openmetrics-text" in request.headers.get("accept", "")
        page = metrics.Page(is_open=is_open)
        await self._add_own(page)
        if self._tail is not None:
            async with self._looking:
                await asyncio.to_thread(self._tail.look)
                metrics.add_tail(page, self._tail)
        return Response(bytes(page), media_type=metrics.OPEN_METRICS if is_open else metrics.PLAIN)

    def _check_reader(self, request: Request) -> None:
        """The user's own key opens everything, so it is taken from this machine alone."""
        hashed = security.hashed(security.bearer(request.headers))
        if self._metrics_hash and hashed == self._metrics_hash:
            return
        if hashed != self._token_hash:
            raise Refused(401, "unauthorized", "metrics need a key: `fairlead serve --metrics-token FILE` names one")
        if not _is_here(request.client.host if request.client else ""):
            raise Refused(403, "not_yours", "from another machine, use the key of `--metrics-token`")

    async def _add_own(self, page: metrics.Page) -> None:
        desk = self._desk
        count, oldest = await desk.look(desk.store.waiting)
        age = max(time.time() - oldest, 0.0) if oldest is not None else 0.0
        page.add("fairlead_waiting_interactions", "gauge", "Questions that nobody has answered.", [("", (), count)])
        page.add("fairlead_oldest_waiting_seconds", "gauge", "How long the first of them waits.",
                 [("", (), round(age, 3))])  # fmt: skip
        page.add("fairlead_agents_waiting", "gauge", "Connections of agents that wait.", [("", (), desk.waiters)])
        page.add("fairlead_streams_open", "gauge", "Pages and programs that watch.", [("", (), self._inbox.streams)])
        page.add("fairlead_answers", "counter", "Answers of people since the server began.",
                 [("", (("answer", word),), desk.answers[word]) for word in ("allow", "refuse")])  # fmt: skip
        page.add("fairlead_store_trouble", "gauge", "1 while the store cannot be used.",
                 [("", (), int(bool(desk.trouble)))])  # fmt: skip


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def ticks(name: str, now: float) -> list[str]:
    """The hours or days of a range, as the numbers name them."""
    style = "%Y-%m-%dT%H" if name == "24h" else "%Y-%m-%d"
    halves = range(RANGES[name] * 48, -1, -1)  # half hours: some time zones are half an hour off
    return list(dict.fromkeys(time.strftime(style, time.localtime(now - half * 1800)) for half in halves))


class _Report:
    """What one range looked like a moment ago."""

    def __init__(self, name: str, environ: Mapping[str, str], turn: asyncio.Lock) -> None:
        self._name = name
        self._turn = turn
        """One range is counted at a time."""
        self._environ = dict(environ)
        self._made = -1e9
        self._took = 0.0
        self._found: dict[str, Any] = {}
        self._task: asyncio.Task[None] | None = None

    async def get(self) -> dict[str, Any]:
        """The last numbers; newer ones are on their way where these are old."""
        if time.monotonic() - self._made > max(FRESH, 3 * self._took) and self._task is None:
            self._task = asyncio.create_task(self._make())
        if self._task is not None and not self._found:
            await asyncio.wait([self._task], timeout=PATIENCE)
        about = {"range": self._name, "now": time.time(), "ticks": ticks(self._name, time.time())}
        return {**about, "reading": self._task is not None, **self._found}

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _make(self) -> None:
        try:
            async with self._turn:
                begun = time.monotonic()
                self._found = await self._count()
                self._took = time.monotonic() - begun
        finally:
            self._made = time.monotonic()
            self._task = None

    async def _count(self) -> dict[str, Any]:
        words = ("stats", "--json", "--gently", "--since", self._name)
        counting = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "fairlead", *words, env=self._environ, cwd="/", start_new_session=True,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            async with asyncio.timeout(LONGEST):
                out, err = await counting.communicate()
        except TimeoutError:
            return {"problem": f"counting took longer than {plain(LONGEST)} seconds"}
        finally:
            if counting.returncode is None:
                counting.kill()
                await counting.wait()
        try:
            return {"report": wire.decode_object(out)}
        except InputError:
            return {"problem": err.decode("utf-8", "replace").strip()[:1000] or "the journal could not be counted"}
