"""Event in, decision out.

`judge` is written once, as a generator: it yields the work of hooks that may run side by side and is
sent what came of it. `drive` runs it with asyncio, `drive_blocking` without: with poll(2) as long as
all work is processes, so that the cold path needs no event loop.
"""

from __future__ import annotations

import os
import time

from fairlead import dialects
from fairlead.hooks import HookFailed, Report
from fairlead.verdicts import NONE, Decision, Verdict, deny, merge
from fairlead.work import Call, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Any

    from fairlead.dialects import HookHalf
    from fairlead.events import Event
    from fairlead.hooks import Hook, Setting

    Batch = Sequence[Report]
    Judging = Generator[Batch, None, "Decision"]
    Row = Generator[Batch, None, Verdict]

CANCEL_GRACE = 0.2
"""Seconds that a function has to tidy up when its time is over."""
UNTRUSTED = "comes from a project that is not trusted"
REWRITABLE = frozenset({"PreToolUse", "PermissionRequest"})


class Group:
    """Hooks of one dialect that match an event."""

    __slots__ = ("batches", "dialect", "half", "hooks")

    def __init__(self, dialect: str, hooks: Sequence[Hook], event: Event) -> None:
        self.dialect = dialect
        self.half: HookHalf = dialects.hook_half(dialect)
        self.hooks = hooks
        self.batches = self.half.batches(event, hooks)


class Plan:
    """Which hooks look at an event, and which do not and why."""

    __slots__ = ("groups", "skipped")

    def __init__(self, groups: Sequence[Group], skipped: Sequence[tuple[Hook, str, bool]]) -> None:
        self.groups = groups
        self.skipped = skipped
        """Hook, reason, and whether its matcher applied."""


def plan(hooks: Sequence[Hook], event: Event) -> Plan:
    """Everything about an event that its name and its matcher's value decide."""
    matching: dict[str, list[Hook]] = {}
    skipped: list[tuple[Hook, str, bool]] = []
    for hook in hooks:
        why, matched = _why_not(hook, event)
        if why:
            skipped.append((hook, why, matched))
        else:
            matching.setdefault(hook.origin.dialect, []).append(hook)
    return Plan([Group(name, found, event) for name, found in matching.items()], skipped)


def _why_not(hook: Hook, event: Event) -> tuple[str, bool]:
    """Why a hook does not look at an event, and whether it would if it could."""
    if event.name not in hook.events and "*" not in hook.events:
        return f"is for {', '.join(hook.events)}", False
    if not hook.matches(event):
        return f"its matcher {hook.matcher.text!r} does not match {event.matcher_value!r}", False
    if not hook.enabled:
        return "is switched off", True
    if not hook.trusted:
        return UNTRUSTED, True
    return "", True


def in_order(hooks: Sequence[Hook]) -> list[Hook]:
    """Hooks of each dialect together, in the order of their groups; Fairlead's own by priority."""
    order = {name: index for index, name in enumerate(dialects.HOOK_HALVES)}
    return sorted(hooks, key=lambda h: (order[h.origin.dialect], -h.priority if h.origin.dialect == "fairlead" else 0))


def judge(plan: Plan, event: Event, setting: Setting) -> Judging:
    """Where input can be rewritten, each group sees it as the one before left it; else side by side."""
    reports: list[Report] = []
    first = event
    if event.name in REWRITABLE:
        said: dict[str, Verdict] = {}
        for group in plan.groups:
            said[group.dialect] = verdict = yield from _row(group, event, setting, reports)
            event = _rewritten(group.half, event, verdict)
    else:
        said = yield from _side_by_side(plan.groups, event, setting, reports)
    for hook, why, matched in plan.skipped:
        reports.append(Report(hook, first, matched=matched, why=why))
    return _decide(first, event, said, reports)


def _side_by_side(
    groups: Sequence[Group], event: Event, setting: Setting, reports: list[Report]
) -> Generator[Batch, None, dict[str, Verdict]]:
    lists: list[list[Report]] = [[] for _ in groups]
    rows = {g.dialect: _row(g, event, setting, own) for g, own in zip(groups, lists, strict=True)}
    said: dict[str, Verdict] = dict.fromkeys(rows, NONE)
    while rows:
        work: list[Report] = []
        for dialect, row in list(rows.items()):
            try:
                work += row.send(None)
            except StopIteration as done:
                said[dialect] = done.value
                del rows[dialect]
        if work:
            yield work
    for own in lists:
        reports += own
    return said


def _row(group: Group, event: Event, setting: Setting, reports: list[Report]) -> Row:
    verdict = yield from _attempt(group, event, setting, reports)
    attempt = 1
    while (retry := group.half.again(event, verdict, group.hooks, attempt)) is not None:
        verdict = yield from _attempt(group, retry, setting, reports)
        attempt += 1
    return verdict


def _attempt(group: Group, event: Event, setting: Setting, reports: list[Report]) -> Row:
    half, verdicts, ended = group.half, [], ""
    for hooks in group.batches:
        batch = [_prepare(hook, event, setting, ended) for hook in hooks]
        reports += batch
        todo = [report for report in batch if report.work is not None]
        try:
            if todo:
                yield todo
            for report in batch:
                _settle(half, report, setting)
        finally:
            _release(todo)  # not before the verdicts: they ask whether the hook has read its file
        for report in batch:
            verdict = report.verdict
            if verdict is None or verdict is NONE:
                continue
            verdicts.append(verdict)
            if half.ends_row(event, verdict):
                ended = ended or f"{report.hook.name} has decided already"
            event = _rewritten(half, event, verdict)
    return half.merge(event, verdicts)


def _prepare(hook: Hook, event: Event, setting: Setting, ended: str) -> Report:
    report = Report(hook, event)
    try:
        report.why = ended or (hook.condition(event) if hook.condition is not None else "")
        if not report.why:
            report.work = hook.handler.start(hook, event, setting)
    except Exception as error:  # noqa: BLE001  # also what a stranger's module does on import
        report.outcome = error
    return report


def _settle(half: HookHalf, report: Report, setting: Setting) -> None:
    if report.why:
        return
    report.verdict = _conclude(half, report)
    if half.log is not None:
        half.log(report, setting)


def _release(batch: Batch) -> None:
    for report in batch:
        work = report.work
        if work.__class__ is Run and work.input_file:
            os.unlink(work.input_file)


def _conclude(half: HookHalf, report: Report) -> Verdict:
    try:
        if isinstance(report.outcome, BaseException):
            raise report.outcome  # noqa: TRY301  # one place turns failures into verdicts
        return report.hook.handler.conclude(report.hook, report.event, report.work, report.outcome)
    except HookFailed as error:
        return _failed(half, report, str(error))
    except TimeoutError:
        return _failed(half, report, f"timed out after {report.hook.timeout or 0:g} s")
    except Exception as error:  # noqa: BLE001  # a hook may raise anything
        return _failed(half, report, f"{type(error).__name__}: {error}")


def _failed(half: HookHalf, report: Report, message: str) -> Verdict:
    report.error = message
    direction = report.hook.on_error or half.on_failure(report.event)
    return deny(f"hook {report.hook.name} failed: {message}") if direction == "deny" else NONE


def _rewritten(half: HookHalf, event: Event, verdict: Verdict) -> Event:
    if verdict.updated_input is None or event.name not in REWRITABLE:
        return event
    current: dict[str, Any] = event.tool_input  # type: ignore[attr-defined]  # rewritable events have one
    return event.but(tool_input=half.rewritten(current, verdict.updated_input))


def _decide(first: Event, last: Event, said: dict[str, Verdict], reports: list[Report]) -> Decision:
    fields = {
        **merge(said.values()).__dict__,
        "reports": tuple(reports),
        "groups": said,
        "notes": _notes(reports),
    }
    if last is not first:
        fields["updated_input"] = last.tool_input  # type: ignore[attr-defined]  # rewritable events have one
    return Decision(**fields)


def _notes(reports: list[Report]) -> tuple[str, ...]:
    """What was skipped or failed. An untrusted project is named once, with all that it would have run."""
    notes = [f"hook {r.hook.name} failed: {r.error}" for r in reports if r.error]
    notes += [f"hook {r.hook.name} ran because {r.hook.matcher.problem}" for r in reports if r.hook.matcher.problem]
    untrusted = [r.hook for r in reports if r.why == UNTRUSTED]
    if untrusted:
        names = ", ".join(f"{hook.name} ({hook.origin.file})" for hook in untrusted)
        notes.append(f"not run, because this project is not trusted: {names}")
    return tuple(notes)


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
            unlimited = work.timeout is None and not work.in_thread
            value = work.function(*work.arguments) if unlimited else _limited(work)
            report.outcome = await value if hasattr(value, "__await__") else value
        elif isinstance(work, Run):
            from fairlead.process import run

            report.outcome = await run(work)
    except BaseException as error:  # a hook may raise anything; _conclude decides what it means
        if isinstance(work, Call) and work.cancellation is not None:
            work.cancellation.set()
        if not isinstance(error, (Exception, SystemExit)) and not _is_its_own(error):
            raise
        report.outcome = _as_exception(error)
    report.ms = (time.perf_counter() - started) * 1000


def _is_its_own(error: BaseException) -> bool:
    """A cancellation that comes out of a hook, while nobody has cancelled the event."""
    import asyncio

    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and not task.cancelling()


def _limited(call: Call) -> Any:
    if call.in_thread:
        return _in_thread(call)
    assert call.timeout is not None  # noqa: S101  # for mypy
    return _within(call.timeout, call.function(*call.arguments))


async def _within(seconds: float, coroutine: Any) -> Any:
    """Most hooks are done after their first step, and need no timer."""
    try:
        waits_for = coroutine.send(None)
    except StopIteration as done:
        return done.value
    import asyncio

    async with asyncio.timeout(seconds):
        return await _Rest(coroutine, waits_for)


class _Rest:
    """What is left of a coroutine that has taken its first step. One that will not be cancelled is left behind."""

    __slots__ = ("_coroutine", "_insists", "_waits_for")

    def __init__(self, coroutine: Any, waits_for: Any) -> None:
        self._coroutine = coroutine
        self._waits_for = waits_for
        self._insists: Any = None

    def __await__(self) -> Generator[Any, Any, Any]:
        try:
            while True:
                try:
                    value = yield self._waits_for
                except BaseException as error:  # noqa: BLE001  # a cancellation, too, is the coroutine's to handle
                    self._waits_for = self._thrown(error)
                else:
                    self._waits_for = self._coroutine.send(value)
        except StopIteration as done:
            return done.value
        finally:
            if self._insists is not None:
                self._insists.cancel()

    def _thrown(self, error: BaseException) -> Any:
        import asyncio

        task = asyncio.current_task()
        if task is None or not isinstance(error, asyncio.CancelledError):
            return self._coroutine.throw(error)
        if self._insists is not None:
            task.uncancel()  # the one below; the first still stands
            _close(self._coroutine)
            raise error
        waits_for = self._coroutine.throw(error)
        self._insists = asyncio.get_running_loop().call_later(CANCEL_GRACE, task.cancel)
        return waits_for


def _close(coroutine: Any) -> None:
    try:
        coroutine.close()
    except RuntimeError:  # it ignores that too
        pass


async def _in_thread(call: Call) -> Any:
    import asyncio
    import contextvars
    import threading

    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(setter: Callable[[Any], None], value: Any) -> None:
        if not done.done():
            setter(value)

    def work() -> None:
        try:
            value = call.function(*call.arguments)
        except BaseException as error:  # noqa: BLE001  # handed over to the loop
            _tell(loop, settle, done.set_exception, _as_exception(error))
        else:
            _tell(loop, settle, done.set_result, value)

    # A daemon thread: a function that never returns must not keep the process alive.
    threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True).start()
    async with asyncio.timeout(call.timeout):
        value = await done
        return await value if hasattr(value, "__await__") else value


def _tell(loop: Any, *arguments: Any) -> None:
    try:
        loop.call_soon_threadsafe(*arguments)
    except RuntimeError:  # the loop is gone: nobody waits any more
        pass


def _as_exception(error: BaseException) -> Exception:
    if isinstance(error, Exception) and not isinstance(error, StopIteration):  # which no future can hold
        return error
    return HookFailed(f"{type(error).__name__}: {error}")


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
