"""Connects processes to the running asyncio loop. Not imported where there is none."""

from __future__ import annotations

import asyncio
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fairlead.process import Child


class Watch:
    """Waits for children that run side by side; tells of each when it is done."""

    def __init__(self, children: Sequence[Child], tell: Callable[[Child], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._done = self._loop.create_future()
        self._running = list(children)
        self._tell = tell
        self._watched: dict[Child, dict[int, int]] = {child: {} for child in children}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_for: float | None = None

    async def wait(self) -> None:
        """A cancelled caller ends them all."""
        try:
            for child in list(self._running):
                self._follow(child)
            self._settle()
            await self._done
        finally:
            for child in list(self._running):
                self._forget(child, list(self._watched[child]))
                child.cancel()
            if self._timer is not None:
                self._timer.cancel()

    def _on_ready(self, child: Child, fd: int) -> None:
        try:
            child.ready(fd)
            self._follow(child)
            self._settle()
        except Exception as error:  # noqa: BLE001  # the loop would swallow it, and the caller wait for ever
            self._give_up(error)

    def _on_time(self) -> None:
        self._timer_for = None
        try:
            for child in list(self._running):
                child.tick()
                self._follow(child)
            self._settle()
        except Exception as error:  # noqa: BLE001  # the same
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        if not self._done.done():
            self._done.set_exception(error)

    def _follow(self, child: Child) -> None:
        """Watch what it wants now, and nothing else of it."""
        watched = self._watched[child]
        self._forget(child, [fd for fd in watched if fd not in child.wants])
        for fd, events in child.wants.items():
            if fd not in watched:
                add = self._loop.add_reader if events == select.POLLIN else self._loop.add_writer
                add(fd, self._on_ready, child, fd)
                watched[fd] = events
        if child.result is not None:
            self._running.remove(child)
            self._tell(child)

    def _forget(self, child: Child, fds: list[int]) -> None:
        for fd in fds:
            events = self._watched[child].pop(fd)
            remove = self._loop.remove_reader if events == select.POLLIN else self._loop.remove_writer
            remove(fd)

    def _settle(self) -> None:
        if not self._running and not self._done.done():
            self._done.set_result(None)
        moments = [child.wake_at for child in self._running if child.wake_at is not None]
        soonest = min(moments, default=None)
        if soonest == self._timer_for:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_for = soonest
        if soonest is not None:
            delay = max(0.0, soonest - time.monotonic()) + 0.001
            self._timer = self._loop.call_later(delay, self._on_time)
