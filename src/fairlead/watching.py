"""Connects a process to the running asyncio loop. Not imported where there is none."""

from __future__ import annotations

import asyncio
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.process import Child


class Watch:
    def __init__(self, child: Child) -> None:
        self._child = child
        self._loop = asyncio.get_running_loop()
        self._done = self._loop.create_future()
        self._readers: set[int] = set()
        self._writers: set[int] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_for: float | None = None

    async def wait(self) -> None:
        try:
            self._update()
            await self._done
        finally:
            self._unwatch(set())
            self._child.cancel()
            if self._timer is not None:
                self._timer.cancel()

    def _on_ready(self, fd: int) -> None:
        before = set(self._child.wants)
        self._child.ready(fd)
        self._unwatch(before & set(self._child.wants))
        self._update()

    def _on_time(self) -> None:
        self._timer_for = None
        self._unwatch(set())
        self._child.tick()
        self._update()

    def _update(self) -> None:
        if self._child.result is not None:
            self._unwatch(set())
            if not self._done.done():
                self._done.set_result(None)
            return
        for fd, events in self._child.wants.items():
            if events == select.POLLIN and fd not in self._readers:
                self._loop.add_reader(fd, self._on_ready, fd)
                self._readers.add(fd)
            elif events == select.POLLOUT and fd not in self._writers:
                self._loop.add_writer(fd, self._on_ready, fd)
                self._writers.add(fd)
        self._arm()

    def _arm(self) -> None:
        if self._child.wake_at == self._timer_for:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_for = self._child.wake_at
        if self._timer_for is not None:
            delay = max(0.0, self._timer_for - time.monotonic()) + 0.001
            self._timer = self._loop.call_later(delay, self._on_time)

    def _unwatch(self, keep: set[int]) -> None:
        for fd in self._readers - keep:
            self._loop.remove_reader(fd)
        for fd in self._writers - keep:
            self._loop.remove_writer(fd)
        self._readers &= keep
        self._writers &= keep
