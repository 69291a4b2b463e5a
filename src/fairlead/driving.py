"""Do the work that the engine asks for: with asyncio, or with poll(2) as long as all of it is processes."""

from __future__ import annotations

import time

from fairlead.calls import CANCEL_GRACE, perform
from fairlead.work import Call, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.engine import Batch, Judging
    from fairlead.hooks import Report
    from fairlead.process import Child
    from fairlead.verdicts import Decision


async def drive(judging: Judging) -> Decision:
    """Do the work on the current event loop."""
    try:
        batch = next(judging)
        while True:
            if len(batch.reports) == 1:
                report = batch.first()
                if report is not None:
                    await _do(report)
            else:
                await _do_all(batch)
            batch = next(judging)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    finally:
        judging.close()


async def _do_all(batch: Batch) -> None:
    from fairlead.process import watch_all

    race = _Race(batch)
    if not race.calls:
        await watch_all(race.children, race.done)
        return
    import asyncio

    calls = asyncio.ensure_future(_do_calls(race.calls))
    try:
        await watch_all(race.children, race.done)
        await calls
    finally:
        calls.cancel()


async def _do_calls(calls: list[Report]) -> None:
    import asyncio

    tasks = [asyncio.ensure_future(_do(report)) for report in calls]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


async def _do(report: Report) -> None:
    work = report.work
    started = time.perf_counter()
    try:
        if isinstance(work, Call):
            report.outcome = await perform(work)
        elif isinstance(work, Run):
            from fairlead.process import run

            report.outcome = await run(work)
    except Exception as error:  # noqa: BLE001  # a hook may raise anything; the engine says what it means
        report.outcome = error
    report.ms = (time.perf_counter() - started) * 1000


class _Race:
    """A batch under way: its processes are started, its calls are still to be made."""

    def __init__(self, batch: Batch) -> None:
        from fairlead.process import start_all

        self.calls: list[Report] = []
        self._runners: list[Report] = []
        self._started = time.perf_counter()
        self.children = start_all(self._runs(batch))
        self._reports = dict(zip(self.children, self._runners, strict=True))

    def _runs(self, batch: Batch) -> Iterator[Run]:
        for report in batch:
            if isinstance(report.work, Run):
                self._runners.append(report)
                yield report.work
            else:
                self.calls.append(report)

    def done(self, child: Child) -> None:
        report = self._reports[child]
        report.outcome = child.result
        report.ms = (time.perf_counter() - self._started) * 1000


def drive_blocking(judging: Judging) -> Decision:
    """Do the work without an event loop, unless a hook in this process needs one."""
    try:
        while True:
            race = _Race(next(judging))
            if not race.calls:
                _wait(race)
            elif not race.children and all(map(_is_instant, race.calls)):
                for report in race.calls:
                    _do_now(report)
            elif not race.children and _limit(race.calls) is None and not _in_loop():
                _with_loop(race.calls)
            else:
                _beside(race)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    finally:
        judging.close()


def _wait(race: _Race) -> None:
    from fairlead.process import wait_for_any

    waiting = race.children
    try:
        while waiting:
            for child in waiting:
                if child.result is not None:
                    race.done(child)
            waiting = [child for child in waiting if child.result is None]
            if waiting:
                wait_for_any(waiting)
    finally:
        for child in waiting:
            child.cancel()


def _is_instant(report: Report) -> bool:
    return isinstance(report.work, Call) and report.work.is_instant


def _do_now(report: Report) -> None:
    doing = _do(report)
    try:
        doing.send(None)
    except StopIteration:
        return
    finally:
        doing.close()
    raise RuntimeError("a call that waits for nothing has to wait")


def _with_loop(calls: list[Report]) -> None:
    import asyncio

    asyncio.run(_do_calls(calls))


def _beside(race: _Race) -> None:
    """Functions in a thread of their own: one that blocks its loop cannot hold the decision back."""
    import contextvars
    import threading

    limit = _limit(race.calls)
    thread = threading.Thread(target=contextvars.copy_context().run, args=(_with_loop, race.calls), daemon=True)
    try:
        thread.start()
    except BaseException:
        for child in race.children:
            child.cancel()
        raise
    _wait(race)
    thread.join(None if limit is None else limit + CANCEL_GRACE + 0.05)
    if thread.is_alive():
        for report in race.calls:
            _give_up(report)


def _limit(calls: list[Report]) -> float | None:
    """The longest time that one of them may take; None where one may take for ever."""
    limits = [report.work.timeout for report in calls if isinstance(report.work, Call)]
    return None if None in limits else max(filter(None, limits), default=0.0)


def _give_up(report: Report) -> None:
    if report.ms == 0.0:
        report.outcome = TimeoutError()
    if isinstance(report.work, Call) and report.work.cancellation is not None:
        report.work.cancellation.set()


def _in_loop() -> bool:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
