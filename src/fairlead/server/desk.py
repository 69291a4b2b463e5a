"""Between the requests and the store: one thread works on the store, and waiters are woken when it has changed."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from fairlead.server.records import PENDING

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairlead.server.records import Answer, Asked, Interaction, Run
    from fairlead.server.store import Store

SWEEP = 1.0
"""Seconds between two looks for what has expired, and for what another process has decided."""


class Desk:
    """Lives in one event loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._waiting: dict[str, set[asyncio.Future[Interaction]]] = {}
        self._watchers: set[asyncio.Queue[Interaction]] = set()
        self._sweeper: asyncio.Task[None] | None = None
        self.trouble = ""
        """What keeps the store from working, while it does."""

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        changed = lambda name: loop.call_soon_threadsafe(self._look_again, name)  # noqa: E731
        await self.do(self._store.watch, changed)
        self._sweeper = asyncio.create_task(self._sweep())

    async def stop(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
        await self.do(self._store.close)
        self._thread.shutdown(wait=True)

    @property
    def store(self) -> Store:
        """For `do`."""
        return self._store

    async def do(self, work: Callable[..., Any], *values: Any, **named: Any) -> Any:
        """One call of the store, in its thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: work(*values, **named))

    # --- what changes ----------------------------------------------------------------------------

    async def ask(self, asked: Asked) -> tuple[Interaction, bool]:
        interaction, new = await self.do(self._store.ask, asked)
        if new:
            self._tell(interaction)
        return interaction, new

    async def answer(self, interaction_id: str, answer: Answer) -> Interaction:
        interaction: Interaction = await self.do(self._store.answer, interaction_id, answer)
        self._tell(interaction)
        return interaction

    async def add_run(self, run: Run, key_hash: str) -> None:
        await self.do(self._store.add_run, run, key_hash)

    async def end_run(self, run_id: str) -> None:
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
        now: Interaction | None = await self.do(self._store.interaction, interaction.id)
        if now is not None and now.state != PENDING and not future.done():
            future.set_result(now)
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

    def watch(self) -> asyncio.Queue[Interaction]:
        """Every change from now on; give it back with `unwatch`."""
        queue: asyncio.Queue[Interaction] = asyncio.Queue(maxsize=1000)
        self._watchers.add(queue)
        return queue

    def unwatch(self, queue: asyncio.Queue[Interaction]) -> None:
        self._watchers.discard(queue)

    def _tell(self, interaction: Interaction) -> None:
        for queue in list(self._watchers):
            if queue.full():  # a page that has stopped reading; it loads everything when it comes back
                self._watchers.discard(queue)
            else:
                queue.put_nowait(interaction)
        if interaction.state == PENDING:
            return
        for future in self._waiting.get(interaction.id, ()):
            if not future.done():
                future.set_result(interaction)

    def _look_again(self, interaction_id: str) -> None:
        asyncio.get_running_loop().create_task(self._told_from_outside([interaction_id]))

    async def _told_from_outside(self, ids: list[str]) -> None:
        for interaction in await self.do(self._store.states, ids):
            self._tell(interaction)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP)
            try:
                for interaction in await self.do(self._store.expire):
                    self._tell(interaction)
                if self._store.shared:
                    await self._told_from_outside(list(self._waiting))
                self.trouble = ""
            except Exception as error:  # noqa: BLE001  # a full disk, a lost server: the next sweep tries again
                self.trouble = f"{type(error).__name__}: {error}"
