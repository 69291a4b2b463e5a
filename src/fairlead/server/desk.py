"""Between the requests and the store: one thread works on the store, and waiters are woken when it has changed."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from fairlead.server.records import PENDING, Refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairlead.server.records import Answer, Asked, Interaction, Run
    from fairlead.server.store import Store

SWEEP = 1.0
"""Seconds between two looks for what has expired, and for what another process has decided."""
_EVERYBODY = 5
"""Sweeps between two looks for every waiter, where nobody else changes the store."""
_OVERLAP = 10.0
"""Seconds: longer than a change takes from its time stamp until others can see it."""
_UNREAD = 1000


class Desk:
    """Lives in one event loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._waiting: dict[str, set[asyncio.Future[Interaction]]] = {}
        self._watchers: set[asyncio.Queue[Interaction | None]] = set()
        self._told: dict[str, Interaction] = {}
        """What the watchers were told lately, where another process may make us look at it again."""
        self._looking: set[asyncio.Task[None]] = set()
        self._sweeper: asyncio.Task[None] | None = None
        self._sweeps = 0
        self._swept_at = time.monotonic()
        self.trouble = ""
        """What keeps the store from working, while it does."""

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        changed = lambda name: loop.call_soon_threadsafe(self._heard, name)  # noqa: E731
        await self.do(self._store.watch, changed)
        self._sweeper = asyncio.create_task(self._sweep())

    async def stop(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
        await self.do(self._store.close)
        for task in self._looking:
            task.cancel()
        self._thread.shutdown(wait=True)

    @property
    def store(self) -> Store:
        """For `do`."""
        return self._store

    async def do(self, work: Callable[..., Any], *values: Any, **named: Any) -> Any:
        """One call of the store, in its thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: work(*values, **named))

    # --- what changes ----------------------------------------------------------------------------
    # The one who asked may go away in the middle; what has happened is told to the others all the same.

    async def ask(self, asked: Asked) -> tuple[Interaction, bool]:
        return await asyncio.shield(self._ask(asked))

    async def _ask(self, asked: Asked) -> tuple[Interaction, bool]:
        interaction, new = await self.do(self._store.ask, asked)
        if new:
            self._tell(interaction)
        return interaction, new

    async def answer(self, interaction_id: str, answer: Answer) -> Interaction:
        return await asyncio.shield(self._answer(interaction_id, answer))

    async def _answer(self, interaction_id: str, answer: Answer) -> Interaction:
        interaction: Interaction = await self.do(self._store.answer, interaction_id, answer)
        self._tell(interaction)
        return interaction

    async def add_run(self, run: Run, key_hash: str) -> None:
        await self.do(self._store.add_run, run, key_hash)

    async def end_run(self, run_id: str) -> None:
        await asyncio.shield(self._end_run(run_id))

    async def _end_run(self, run_id: str) -> None:
        for interaction in await self.do(self._store.end_run, run_id):
            self._tell(interaction)

    # --- who is who ------------------------------------------------------------------------------

    async def run_of_key(self, key_hash: str) -> Run | None:
        return await self.do(self._store.run_of_key, key_hash)  # type: ignore[no-any-return]

    async def login(self, token_hash: str) -> str:
        return str(await self.do(self._store.login, token_hash))

    # --- who waits -------------------------------------------------------------------------------

    async def waiter(self, interaction: Interaction) -> asyncio.Future[Interaction]:
        """Done when the interaction is decided; give it back with `leave`. Registered before the look."""
        future: asyncio.Future[Interaction] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(interaction.id, set()).add(future)
        try:
            now: Interaction | None = await self.do(self._store.interaction, interaction.id)
        except Exception as error:  # noqa: BLE001  # the answer has begun already; the sweep looks again
            self.trouble = _said(error)
            return future
        if now is not None:
            self._wake(now)
        return future

    def leave(self, interaction: Interaction, future: asyncio.Future[Interaction]) -> None:
        future.cancel()
        waiters = self._waiting.get(interaction.id, set())
        waiters.discard(future)
        if not waiters:
            self._waiting.pop(interaction.id, None)

    @property
    def waiters(self) -> int:
        return sum(len(waiters) for waiters in self._waiting.values())

    def watch(self) -> asyncio.Queue[Interaction | None]:
        """Every change from now on; None is the end: load everything, and watch again. Give it back with `unwatch`."""
        queue: asyncio.Queue[Interaction | None] = asyncio.Queue()
        self._watchers.add(queue)
        return queue

    def unwatch(self, queue: asyncio.Queue[Interaction | None]) -> None:
        self._watchers.discard(queue)

    def _tell(self, interaction: Interaction) -> None:
        if self._told.get(interaction.id) != interaction:
            self._tell_watchers(interaction)
        if self._store.shared and self._watchers:
            self._told[interaction.id] = interaction
        self._wake(interaction)

    def _tell_watchers(self, interaction: Interaction) -> None:
        for queue in list(self._watchers):
            slow = queue.qsize() >= _UNREAD
            queue.put_nowait(None if slow else interaction)
            if slow:
                self._watchers.discard(queue)

    def _wake(self, interaction: Interaction) -> None:
        waiters = self._waiting.get(interaction.id, ()) if interaction.state != PENDING else ()
        for future in waiters:
            if not future.done():
                future.set_result(interaction)

    # --- what was missed -------------------------------------------------------------------------

    def _heard(self, interaction_id: str) -> None:
        """Another process has changed it."""
        task = asyncio.get_running_loop().create_task(self._look_at(interaction_id))
        self._looking.add(task)
        task.add_done_callback(self._looking.discard)

    async def _look_at(self, interaction_id: str) -> None:
        try:
            interaction: Interaction | None = await self.do(self._store.interaction, interaction_id)
        except Exception as error:  # noqa: BLE001  # the sweep looks again
            self.trouble = _said(error)
        else:
            if interaction is not None:
                self._tell(interaction)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP)
            try:
                await self._swept()
                self.trouble = ""
            except Exception as error:  # noqa: BLE001  # a full disk, a lost server: the next sweep tries again
                self.trouble = _said(error)

    async def _swept(self) -> None:
        now = time.monotonic()
        for interaction in await self.do(self._store.expire):
            self._tell(interaction)
        self._sweeps += 1
        if self._store.shared or self._sweeps % _EVERYBODY == 0:
            for interaction in await self.do(self._store.states, list(self._waiting)):
                self._tell(interaction)
        if self._store.shared:
            await self._look_back(now - self._swept_at + _OVERLAP)
        self._swept_at = now

    async def _look_back(self, seconds: float) -> None:
        recent = await self.do(self._store.recent, seconds) if self._watchers else ()
        for interaction in recent:
            self._tell(interaction)
        names = {interaction.id for interaction in recent}
        self._told = {name: told for name, told in self._told.items() if name in names}


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, Refused) else f"{type(error).__name__}: {error}"
