"""Between the requests and the store: one thread works on the store, and waiters are woken when it has changed."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from fairlead import machines
from fairlead.server.records import PENDING, Refused
from fairlead.server.rules import is_here
from fairlead.server.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fairlead.server.records import Answer, Asked, Interaction, Run
    from fairlead.server.store import Store
    from fairlead.server.transactions import Steps

SWEEP = 1.0
"""Seconds between two looks for what has expired, and for what another process has decided."""
_EVERYBODY = 5
"""Sweeps between two looks for every waiter."""
_OVERLAP = 10.0
"""Seconds: longer than a change takes from its time stamp until others can see it."""
_AT_A_TIME = 500
"""Questions that are looked at in one go."""
_LARGE = 256 * 1024
"""Bytes."""
_UNREAD = 1000
_RUNS = 10_000
"""Of which we remember the keys."""


class Desk:
    """Lives in one event loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._writer = Writer(store)
        self._waiting: dict[tuple[str, str], set[asyncio.Future[Interaction]]] = {}
        """By run and request: known before there is an interaction."""
        self._names: dict[tuple[str, str], str] = {}
        """Of the interactions that somebody waits for."""
        self._runs: dict[str, Run] = {}
        """By the hash of their key, which never becomes another run's."""
        self._watchers: set[asyncio.Queue[Interaction | None]] = set()
        self._told: dict[str, Interaction] = {}
        """What the watchers were told lately, where another process may make us look at it again."""
        self._looked_at: Mapping[str, int] = {}
        """The number of the last change of each, where another process may have made it."""
        self._rumours: set[str] = set()
        """What another process has changed, and we have not looked at."""
        self._looking: asyncio.Task[None] | None = None
        self._sweeper: asyncio.Task[None] | None = None
        self._sweeps = 0
        self._swept_at = time.monotonic()
        self.approvers: tuple[str, ...] = ()
        """Who may decide anything at all; empty for everybody who may log in."""
        self.answers: Counter[str] = Counter()
        """How often people have said `allow` and `refuse`, here."""
        self._answered: set[tuple[str, str]] = set()
        """By whom what was answered lately: an answer that is sent again is the same one."""
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
        if self._looking is not None:
            self._looking.cancel()
        await self._writer.end()

    @property
    def store(self) -> Store:
        """For `do`."""
        return self._store

    async def do(self, work: Callable[..., Any], *values: Any, **named: Any) -> Any:
        """One call of the store, in its thread; what it changed is on the disk."""
        return await self._writer.do(partial(work, *values, **named))

    async def look(self, work: Callable[..., Any], *values: Any, **named: Any) -> Any:
        """The same, for what changes nothing: it comes before all that does."""
        return await self._writer.do(partial(work, *values, **named), looks=True)

    async def listed(self, **wanted: Any) -> tuple[Sequence[Interaction], Mapping[str, Run]]:
        """What waits, or what was decided, with its runs."""
        found: tuple[Sequence[Interaction], Mapping[str, Run]]
        found = await self._look_beside(self._store.listed, self._store.listing, **wanted)
        return found

    async def _look_beside(
        self, work: Callable[..., Any], steps: Callable[..., Steps], *values: Any, **named: Any
    ) -> Any:
        """As `look`, beside others."""
        walk = partial(steps, *values, **named)
        return await self._writer.do(partial(work, *values, **named), looks=True, steps=walk)

    async def _beside(self, work: Callable[..., Any], steps: Callable[..., Steps], *values: Any, about: str) -> Any:
        """As `do`, for what may be done beside others that are not about the same."""
        return await self._writer.do(partial(work, *values), steps=partial(steps, *values), about=about)

    # --- what changes ----------------------------------------------------------------------------
    # The one who asked may go away in the middle; what has happened is told to the others all the same.

    async def ask(self, asked: Asked) -> tuple[Interaction, bool]:
        return await asyncio.shield(self._ask(asked))

    async def _ask(self, asked: Asked) -> tuple[Interaction, bool]:
        interaction, new = await self._stored(asked)
        if new:
            self._tell(interaction)
        elif interaction.state != PENDING:
            self._wake(interaction)
        key = (asked.run_id, asked.request_id)
        if key in self._waiting and interaction.state == PENDING:
            self._names[key] = interaction.id
        return interaction, new

    async def _stored(self, asked: Asked) -> tuple[Interaction, bool]:
        """A large one by itself: sixty of them on one journey would fill the memory."""
        found: tuple[Interaction, bool]
        if len(asked.body) > _LARGE:
            found = await self.do(self._store.ask, asked)
        else:
            about = f"{asked.run_id} {asked.likeness}"
            found = await self._beside(self._store.ask, self._store.asking, asked, about=about)
        return found

    async def answer(self, interaction_id: str, answer: Answer) -> tuple[Interaction, Run | None]:
        return await asyncio.shield(self._answer(interaction_id, answer))

    async def _answer(self, interaction_id: str, answer: Answer) -> tuple[Interaction, Run | None]:
        interaction, run = await self._beside(
            self._store.answer_in_run, self._store.answering, interaction_id, answer, about=interaction_id
        )
        self._count(interaction_id, answer)
        self._tell(interaction)
        return interaction, run

    def _count(self, interaction_id: str, answer: Answer) -> None:
        if len(self._answered) >= _RUNS:
            self._answered.clear()
        if (interaction_id, answer.by) not in self._answered:
            self._answered.add((interaction_id, answer.by))
            self.answers["allow" if answer.allow else "refuse"] += 1

    async def add_run(self, run: Run, key_hash: str) -> None:
        await self.do(self._store.add_run, run, key_hash)

    async def end_run(self, run_id: str) -> None:
        await asyncio.shield(self._end_run(run_id))

    async def _end_run(self, run_id: str) -> None:
        for interaction in await self.do(self._store.end_run, run_id):
            self._tell(interaction)

    # --- who is who ------------------------------------------------------------------------------

    async def run_of_key(self, key_hash: str) -> Run | None:
        """As it was: whether it has ended is for the store to say, when it asks."""
        known = self._runs.get(key_hash)
        if known is None:
            known = await self._look_beside(self._store.run_of_key, self._store.finding_run, key_hash)
            if known is not None and known.active:
                if len(self._runs) >= _RUNS:
                    self._runs.clear()
                self._runs[key_hash] = known
        return known

    async def login(self, token_hash: str) -> str:
        return str(await self.look(self._store.login, token_hash))

    # --- who waits -------------------------------------------------------------------------------

    def waiter(self, asked: Asked) -> asyncio.Future[Interaction]:
        """Done when it is decided; give it back with `leave`. Make it before the question: no answer comes between."""
        future: asyncio.Future[Interaction] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault((asked.run_id, asked.request_id), set()).add(future)
        return future

    def leave(self, asked: Asked, future: asyncio.Future[Interaction]) -> None:
        future.cancel()
        key = (asked.run_id, asked.request_id)
        waiters = self._waiting.get(key, set())
        waiters.discard(future)
        if not waiters:
            self._waiting.pop(key, None)
            self._names.pop(key, None)

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
        if self._watchers and self._is_news(interaction):
            self._tell_watchers(interaction)
        self._wake(interaction)

    def _is_news(self, interaction: Interaction) -> bool:
        """Not what they were told already, nor what they knew before that."""
        if not self._store.shared:
            return True
        told = self._told.get(interaction.id)
        if told is not None and (told == interaction or _age(told) > _age(interaction)):
            return False
        self._told[interaction.id] = interaction
        return True

    def _tell_watchers(self, interaction: Interaction) -> None:
        for queue in list(self._watchers):
            slow = queue.qsize() >= _UNREAD
            queue.put_nowait(None if slow else interaction)
            if slow:
                self._watchers.discard(queue)

    def _wake(self, interaction: Interaction) -> None:
        if interaction.state == PENDING:
            return
        for future in self._waiting.get((interaction.run_id, interaction.request_id), ()):
            if not future.done():
                future.set_result(interaction)

    # --- what was missed -------------------------------------------------------------------------

    def _heard(self, interaction_id: str) -> None:
        """Another process has changed it. What comes while we look is looked at together."""
        self._rumours.add(interaction_id)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        while self._rumours:
            names, self._rumours = list(self._rumours), set()
            try:
                await self._tell_all(self._store.named, names)
            except Exception as error:  # noqa: BLE001  # the sweep looks again
                self.trouble = _said(error)
                return

    async def _tell_all(self, find: Callable[[Sequence[str]], Sequence[Interaction]], names: Sequence[str]) -> None:
        """A few at a time: ten thousand may have changed, and people's answers are to pass between them."""
        for start in range(0, len(names), _AT_A_TIME):
            for interaction in await self.look(find, names[start : start + _AT_A_TIME]):
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
        for interaction in await self.do(self._store.escalate):
            self._tell(interaction)
        await self._end_runs_that_are_over()
        self._sweeps += 1
        if self._sweeps % _EVERYBODY == 0:
            await self._tell_all(self._store.states, list(self._names.values()))
        if self._store.shared:
            await self._look_back(now - self._swept_at + _OVERLAP)
        self._swept_at = now

    async def _end_runs_that_are_over(self) -> None:
        """Whose supervisor was killed: on this machine, where we can see that."""
        for run in await self.look(self._store.runs_with_a_process):
            if is_here(run) and machines.is_over(run.process):
                await self._end_run(run.id)

    async def _look_back(self, seconds: float) -> None:
        """At what has changed since the last look, and at nothing else: ten thousand may wait."""
        recent: Mapping[str, int] = await self.look(self._store.recent, seconds)
        new = [name for name, number in recent.items() if self._looked_at.get(name) != number]
        if not self._watchers:
            waited_for = set(self._names.values())
            new = [name for name in new if name in waited_for]
        await self._tell_all(self._store.named, new)
        self._looked_at = recent
        self._told = {name: told for name, told in self._told.items() if name in recent}


def _age(interaction: Interaction) -> tuple[bool, bool, bool, int, bool]:
    """Grows with every change."""
    decided, answered = interaction.state != PENDING, interaction.allow is not None
    return decided, answered, interaction.used, len(interaction.agreed), interaction.escalated


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, Refused) else f"{type(error).__name__}: {error}"
