"""Do the work that the engine asks for: with asyncio, or with poll(2) as long as all of it is processes."""

from __future__ import annotations

import time

from fairlead.calls import CANCEL_GRACE, perform
from fairlead.work import Call, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.engine import Batch, Judging
    from fairlead.hooks import Report
    from fairlead.process import Child
    from fairlead.verdicts import Decision


async def drive(judging: Judging) -> Decision:
    """Run the work on the current event loop."""
    try:
        batch = next(judging)
        while True:
            if len(batch) == 1:
                await _do(batch[0])
            else:
                await _do_all(batch)
            batch = judging.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    finally:
        judging.close()


async def _do_all(batch: Batch) -> None:
    import asyncio

    tasks = [asyncio.ensure_future(_do(report)) for report in batch]
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


def drive_blocking(judging: Judging) -> Decision:
    """Run the work without an event loop, unless a hook in this process needs one."""
    try:
        batch = next(judging)
        while True:
            calls = [report for report in batch if not isinstance(report.work, Run)]
            if not calls:
                _run_all(batch)
            elif len(calls) == len(batch) and _limit(calls) is None and not _in_loop():
                _with_loop(calls)
            else:
                _beside(calls, batch)
            batch = judging.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]


def _run_all(batch: Batch) -> None:
    from fairlead.process import Child, wait_for_any

    started = time.perf_counter()
    children: list[tuple[Child, Report]] = []
    try:
        for report in batch:
            if isinstance(report.work, Run):
                children.append((Child(report.work), report))  # noqa: PERF401  # kept if the next one fails
        while children:
            waiting = [pair for pair in children if pair[0].result is None]
            for child, report in children:
                if child.result is not None:
                    report.outcome = child.result
                    report.ms = (time.perf_counter() - started) * 1000
            children = waiting
            if children:
                wait_for_any(child for child, _ in children)
    finally:
        for child, _ in children:
            child.cancel()


def _with_loop(batch: Batch) -> None:
    import asyncio

    asyncio.run(_do_all(batch))


def _beside(calls: Batch, batch: Batch) -> None:
    """Functions in a thread of their own: one that blocks its loop cannot hold the decision back."""
    import contextvars
    import threading

    limit = _limit(calls)
    thread = threading.Thread(target=contextvars.copy_context().run, args=(_with_loop, calls), daemon=True)
    thread.start()
    _run_all(batch)
    thread.join(None if limit is None else limit + CANCEL_GRACE + 0.05)
    if thread.is_alive():
        for report in calls:
            _give_up(report)


def _limit(calls: Batch) -> float | None:
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
