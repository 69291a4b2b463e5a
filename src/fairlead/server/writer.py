"""One thread works on the store. What came while the disk was busy is committed at once, in one transaction.

Who only looks comes first: a person who opens a list does not wait for the disk, nor behind a thousand agents that ask.
A call is answered when what it did, and what it saw, is on the disk. Each call of a group fails by itself: what the
database could not do in company is done again alone, so that nobody pays for the question of another.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from typing import TYPE_CHECKING, Any

from fairlead.server.records import Refused
from fairlead.server.transactions import Walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fairlead.server.store import Store
    from fairlead.server.transactions import Steps

MOST = 256
"""Calls in one transaction."""
LONGEST = 0.05
"""Seconds after which no further call joins a group: its first one waits, and other replicas wait for its locks."""


class Call:
    """Something to do with the store, and what came of it."""

    def __init__(
        self,
        work: Callable[[], Any],
        future: asyncio.Future[Any],
        *,
        looks: bool,
        steps: Callable[[], Steps] | None = None,
        about: str = "",
    ) -> None:
        self._work = work
        self._future = future
        self.looks = looks
        self.steps = steps
        """The same work, where it can be done beside that of others."""
        self.about = about
        """Two calls about the same are done one after the other."""
        self._result: Any = None
        self.error: BaseException | None = None

    @property
    def unwanted(self) -> bool:
        return self._future.cancelled()

    def run(self) -> None:
        self._result = self.error = None
        try:
            self._result = self._work()
        except BaseException as error:  # noqa: BLE001  # it is the caller's
            self.error = error

    def take(self, walk: Walk) -> None:
        self._result, self.error = walk.result, walk.error

    @property
    def is_judged(self) -> bool:
        """Done, or refused for a reason that does not pass."""
        return self.error is None or (isinstance(self.error, Refused) and self.error.status != 503)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._future.get_loop()

    def tell(self) -> None:
        """In the loop."""
        if self._future.done():
            return
        if self.error is None:
            self._future.set_result(self._result)
        else:
            self._future.set_exception(self.error)


class Writer:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._queue: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._ended = False
        self._left: list[Call] = []
        """Of a group that took too long, or was lost."""

    def do(
        self,
        work: Callable[[], Any],
        *,
        looks: bool = False,
        steps: Callable[[], Steps] | None = None,
        about: str = "",
    ) -> asyncio.Future[Any]:
        """From the loop. `looks` is said of what changes nothing.

        `steps` are the same work, for a store that does several at once, beside calls that are not `about` the same.
        """
        if self._ended:
            raise Refused(503, "unavailable", "this server is ending; try again")
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="store", daemon=True)
            self._thread.start()
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        steps = steps if self._store.walks_abreast else None
        self._queue.put(Call(work, future, looks=looks, steps=steps, about=about))
        return future

    async def end(self) -> None:
        """When all that was asked for is done. The store is closed by the thread that works on it."""
        self._ended = True
        self._queue.put(None)
        if self._thread is None:
            self._store.close()
        else:
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    # --- in the thread ---------------------------------------------------------------------------

    def _run(self) -> None:
        going_on = True
        while going_on or self._left:
            calls, going_on = self._waiting(going_on)
            self._look([call for call in calls if call.looks])
            changing = [call for call in calls if not call.looks]
            if len(changing) == 1:
                self._alone(changing)
            elif changing:
                abreast, others = _abreast(changing)
                self._commit(abreast)
                self._together(others)
        self._store.close()

    def _waiting(self, going_on: bool) -> tuple[list[Call], bool]:
        """All that wait now, at least one; and whether there may be more."""
        calls, self._left = self._left, []
        while going_on and len(calls) < MOST:
            try:
                call = self._queue.get(block=not calls)
            except queue.Empty:
                break
            if call is None:
                going_on = False
            elif not call.unwanted:
                calls.append(call)
        return calls, going_on

    def _look(self, calls: Sequence[Call]) -> None:
        """All that they see is on the disk: no transaction of ours is open."""
        abreast = [call for call in calls if call.steps is not None]
        if len(abreast) < 2 or not self._walked(abreast):
            abreast = []
        _told(abreast)
        self._alone([call for call in calls if call not in abreast])

    def _walked(self, calls: Sequence[Call]) -> bool:
        """Whether it was done; if not, nothing of it was."""
        walks = [Walk(call.steps) for call in calls if call.steps is not None]
        try:
            self._store.abreast(walks)
        except Exception:  # noqa: BLE001  # each meets it again by itself
            return False
        for call, walk in zip(calls, walks, strict=True):
            call.take(walk)
        return True

    def _commit(self, calls: Sequence[Call]) -> None:
        """Side by side, in one transaction."""
        if not calls:
            return
        begun = done = False
        try:
            with self._store.together() as group:
                group.begin()
                begun = True
                done = self._walked(calls)
                group.lost = not done
        except Exception as error:  # noqa: BLE001  # theirs: it is what they are told
            if begun and not done:
                self._alone(calls)
            else:
                _fail(calls, error)
            return
        _told(calls)

    def _alone(self, calls: Iterable[Call]) -> None:
        for call in calls:
            call.run()
            _told([call])

    def _together(self, calls: Sequence[Call]) -> None:
        if not calls:
            return
        within: list[Call] = []
        lost, ends = False, time.monotonic() + LONGEST
        try:
            with self._store.together() as group:
                for number, call in enumerate(calls):
                    call.run()
                    if group.begun:
                        within.append(call)
                    else:
                        _told([call])
                    if group.lost or time.monotonic() > ends:
                        self._left = list(calls[number + 1 :])
                        break
                lost = group.lost
        except Exception as error:  # noqa: BLE001  # theirs: it is what they are told
            if lost or self._store.fails_clean:
                self._alone(within)
            else:
                _fail(within, error)
            return
        _told([call for call in within if call.is_judged])
        self._alone([call for call in within if not call.is_judged])


def _abreast(calls: Sequence[Call]) -> tuple[list[Call], list[Call]]:
    """Those that can be done side by side, and the others."""
    able: dict[str, Call] = {}
    for call in calls:
        if call.steps is not None:
            able.setdefault(call.about, call)
    if len(able) < 2:
        return [], list(calls)
    abreast = [able[about] for about in sorted(able)]  # so that replicas lock the same rows in the same order
    chosen = set(map(id, abreast))
    return abreast, [call for call in calls if id(call) not in chosen]


def _fail(calls: Sequence[Call], error: Exception) -> None:
    for call in calls:
        call.error = error
    _told(calls)


def _told(calls: Sequence[Call]) -> None:
    if not calls:
        return
    try:
        calls[0].loop.call_soon_threadsafe(_tell, calls)
    except RuntimeError:
        """The loop has ended; nobody waits for it any more."""


def _tell(calls: Sequence[Call]) -> None:
    for call in calls:
        call.tell()
