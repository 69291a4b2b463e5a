"""Event in, decision out.

`judge` is written once, as a generator: it yields the work of hooks that may run side by side, and goes on
when that is done. Who does it, with asyncio or without, is the business of `driving`.
"""

from __future__ import annotations

import os

from fairlead import dialects, tools
from fairlead.errors import plain
from fairlead.hooks import HookFailed, Report, Reports
from fairlead.verdicts import NONE, Decision, Verdict, deny, merge
from fairlead.work import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from typing import Any

    from fairlead.dialects import HookHalf
    from fairlead.events import Event
    from fairlead.hooks import Hook, Setting

    Judging = Generator["Batch", None, Decision]
    Row = Generator["Batch", None, Verdict]

UNTRUSTED = "comes from a project that is not trusted"
REWRITABLE = frozenset({"PreToolUse", "PermissionRequest"})
ASKED_ONCE = frozenset({"approval", "prompt", "agent"})
"""Who is asked about a whole call, whatever it does: people and language models."""
_SLOW_MS = 5000.0
_AT_ONCE = 64
"""Hooks that run side by side: a patch of a thousand files must not start a thousand processes."""


class Batch:
    """Hooks that run side by side. Each is made ready when it is asked for: the first run while others are prepared."""

    __slots__ = ("reports", "setting")

    def __init__(self, reports: Sequence[Report], setting: Setting) -> None:
        self.reports = reports
        self.setting = setting

    def __len__(self) -> int:
        return len(self.reports)

    def __iter__(self) -> Iterator[Report]:
        for report in self.reports:
            _make_ready(report, self.setting)
            if report.work is not None:
                yield report

    def first(self) -> Report | None:
        """The only one of a batch, if it is to be run."""
        report = self.reports[0]
        _make_ready(report, self.setting)
        return None if report.work is None else report


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

    __slots__ = ("groups", "kept_from", "kinds", "skipped")

    def __init__(self, groups: Sequence[Group], skipped: Sequence[tuple[Hook, str, bool]]) -> None:
        self.groups = groups
        self.kinds = frozenset(hook.handler.kind for group in groups for hook in group.hooks)
        """Of the handlers of those that look."""
        self.skipped = skipped
        """Hook, reason, and whether its matcher applied."""
        self.kept_from = tuple(index for index, (_, _, matched) in enumerate(skipped) if matched)
        """Which of these would look if they could."""


def plan(hooks: Sequence[Hook], event: Event) -> Plan:
    """Everything about an event that its name and its matcher's value decide."""
    matching: dict[str, list[Hook]] = {}
    skipped: list[tuple[Hook, str, bool]] = []
    names: dict[str, tuple[str, ...]] = {}
    for hook in hooks:
        dialect = hook.origin.dialect
        if dialect not in names:
            names[dialect] = names_for(dialect, event)
        why, matched = _why_not(hook, event, names[dialect])
        if why:
            skipped.append((hook, why, matched))
        else:
            matching.setdefault(dialect, []).append(hook)
    return Plan([Group(name, found, event) for name, found in matching.items()], skipped)


def names_for(dialect: str, event: Event) -> tuple[str, ...]:
    """What hooks of a dialect may call the event's tool; in our own files it goes by any agent's name."""
    return tools.names(dialects.hook_half(dialect).TOOLS, event, everywhere=dialect == "fairlead")


def _why_not(hook: Hook, event: Event, names: Sequence[str]) -> tuple[str, bool]:
    """Why a hook does not look at an event, and whether it would if it could."""
    if event.name not in hook.events and "*" not in hook.events:
        return f"is for {', '.join(hook.events)}", False
    if not hook.matches(event, names):
        return f"its matcher {hook.matcher.text!r} does not match {event.matcher_value!r}", False
    if not hook.enabled:
        return hook.options.get("off") or "is switched off", True
    if not hook.trusted:
        return UNTRUSTED, True
    return "", True


def in_order(hooks: Sequence[Hook]) -> list[Hook]:
    """Hooks of each dialect together, in the order of their groups; Fairlead's own by priority."""
    order = {name: index for index, name in enumerate(dialects.HOOK_HALVES)}
    first = (0, False, 0)
    return sorted(hooks, key=lambda h: (order[h.origin.dialect], h.place if h.origin.dialect == "fairlead" else first))


def judge(plan: Plan, event: Event, setting: Setting) -> Judging:
    """Where input can be rewritten, each group sees it as the one before left it; else side by side."""
    reports: list[Report] = []
    first = event
    if event.name in REWRITABLE:
        said: dict[str, Verdict] = {}
        refused = ""
        for group in plan.groups:
            said[group.dialect] = verdict = yield from _row(group, event, setting, reports, refused)
            refused = refused or (f"hooks of {group.dialect} have refused it already" if verdict.denies else "")
            event = _rewritten(group.half, event, verdict)
    else:
        said = yield from _side_by_side(plan.groups, event, setting, reports)
    return _decide(first, event, said, Reports(reports, plan.skipped, plan.kept_from, first))


def undecided(plan: Plan, event: Event) -> Decision:
    """Nobody looks at it, as at most events."""
    reports = Reports((), plan.skipped, plan.kept_from, event)
    return Decision(reports=reports, notes=_notes(reports.met))


def _side_by_side(
    groups: Sequence[Group], event: Event, setting: Setting, reports: list[Report]
) -> Generator[Batch, None, dict[str, Verdict]]:
    lists: list[list[Report]] = [[] for _ in groups]
    rows = {g.dialect: _row(g, event, setting, own) for g, own in zip(groups, lists, strict=True)}
    said: dict[str, Verdict] = dict.fromkeys(rows, NONE)
    while rows:
        together: list[Report] = []
        for dialect, row in list(rows.items()):
            try:
                together += next(row).reports
            except StopIteration as done:
                said[dialect] = done.value
                del rows[dialect]
        if together:
            yield Batch(together, setting)
    for own in lists:
        reports += own
    return said


def _row(group: Group, event: Event, setting: Setting, reports: list[Report], refused: str = "") -> Row:
    """`refused`: why no person has to be asked any more."""
    verdict = yield from _attempt(group, event, setting, reports, refused)
    attempt = 1
    while (retry := group.half.again(event, verdict, group.hooks, attempt)) is not None:
        verdict = yield from _attempt(group, retry, setting, reports, refused)
        attempt += 1
    return verdict


def _attempt(group: Group, event: Event, setting: Setting, reports: list[Report], refused: str) -> Row:
    half, verdicts, ended = group.half, [], ""
    as_it_is = half.TOOLS is None and getattr(event, "tool_name", "") != tools.PATCH and not tools.several(event)
    for hooks in group.batches:
        batch = [Report(hook, event, ended) for hook in hooks] if as_it_is else _views(half, hooks, event, ended)
        if refused:
            _ask_nobody(batch, refused)
        reports += batch
        try:
            for part in () if ended else _parts(batch):
                yield Batch(part, setting)
            for report in batch:
                _settle(half, report, setting)
        finally:
            _release(batch)  # not before the verdicts: they ask whether the hook has read its file
        if len(batch) > len(hooks):
            _allow_as_a_whole(batch)
        for report in batch:
            verdict = report.verdict
            if verdict is None or verdict is NONE:
                continue
            if verdict.updated_input is not None:
                report.verdict = verdict = tools.heard(half.TOOLS, report.event, event, verdict, report.view)
            verdicts.append(verdict)
            refused = refused or (f"{report.hook.name} has refused it already" if verdict.denies else "")
            if half.ends_row(event, verdict):
                ended = ended or f"{report.hook.name} has decided already"
            event = _rewritten(half, event, verdict)
    return half.merge(event, verdicts)


def _parts(batch: list[Report]) -> Sequence[list[Report]]:
    if len(batch) <= _AT_ONCE:
        return (batch,)
    return [batch[start : start + _AT_ONCE] for start in range(0, len(batch), _AT_ONCE)]


def _views(half: HookHalf, hooks: Sequence[Hook], event: Event, ended: str) -> list[Report]:
    """Each hook with the event as it knows it; a guard of ours reads a whole patch, people and models are asked once,
    others look at it file by file."""
    patch = getattr(event, "tool_name", "") == tools.PATCH
    views = tools.views(half.TOOLS, event)
    return [
        Report(hook, seen, ended, view=index)
        for hook in hooks
        for index, seen in enumerate((event,) if _as_a_whole(hook, patch=patch) else views)
    ]


def _ask_nobody(batch: Sequence[Report], why: str) -> None:
    """About what has been refused already."""
    for report in batch:
        if report.hook.handler.kind == "approval":
            report.why = report.why or why


def _as_a_whole(hook: Hook, *, patch: bool) -> bool:
    return hook.handler.kind in ASKED_ONCE or (patch and hook.handler.kind == "guard")


def _allow_as_a_whole(batch: Sequence[Report]) -> None:
    """An allow for one part of a call says nothing about the rest: it counts where a hook has given it to each."""
    parts: dict[int, list[Report]] = {}
    for report in batch:
        parts.setdefault(id(report.hook), []).append(report)
    for reports in parts.values():
        allowing = [r for r in reports if r.verdict is not None and r.verdict.decision == "allow"]
        for report in allowing if len(allowing) < len(reports) else ():
            report.verdict = report.verdict and report.verdict.but(decision="none", said="")


def _make_ready(report: Report, setting: Setting) -> None:
    hook, event = report.hook, report.event
    if report.why:
        return
    try:
        if hook.options:
            report.why = has_run(hook, event)
        if hook.condition is not None and not report.why:
            report.why = does_not_apply(hook, event)
        if not report.why:
            setting = setting if setting.trace is None else setting.trace.entered(report, setting)
            report.work = hook.handler.start(hook, event, setting)
    except Exception as error:  # noqa: BLE001  # also what a stranger's module does on import
        report.outcome = error


def has_run(hook: Hook, event: Event) -> str:
    once = hook.options.get("once")
    return "" if once is None else str(once(event))


def does_not_apply(hook: Hook, event: Event) -> str:
    """Who is asked about a whole call is asked if the condition holds for a part of it."""
    assert hook.condition is not None  # noqa: S101  # for mypy
    return no_part(hook, event) if hook.handler.kind in ASKED_ONCE else hook.condition(event)


def no_part(hook: Hook, event: Event) -> str:
    """Why a hook applies to no part of a call, each in the words of the hook's own system."""
    if hook.condition is None:
        return ""
    own_words = dialects.hook_half(hook.origin.dialect).TOOLS
    reasons = [hook.condition(view) for view in tools.views(own_words, event)]
    return "" if "" in reasons else reasons[0]


def _settle(half: HookHalf, report: Report, setting: Setting) -> None:
    if report.why:
        return
    if report.outcome is not None:  # as of most functions
        report.facts = getattr(report.outcome, "facts", getattr(report.work, "facts", report.facts))
    report.verdict = verdict = _conclude(half, report)
    options = report.hook.options
    once = options.get("once") if options else None
    if once is not None and setting.asks_people and not (report.error or verdict.denies):  # a rehearsal does not count
        once.ran(report.event)
    if half.log is not None:
        half.log(report, setting)


def _release(batch: Sequence[Report]) -> None:
    for report in batch:
        work = report.work
        if work.__class__ is Run and work.input_file:
            try:
                os.unlink(work.input_file)
            except OSError:  # the hook has taken it away
                pass


def _conclude(half: HookHalf, report: Report) -> Verdict:
    try:
        outcome = report.outcome
        if isinstance(outcome, BaseException):
            raise outcome  # noqa: TRY301  # one place turns failures into verdicts
        return report.hook.handler.conclude(report.hook, report.event, report.work, outcome)
    except HookFailed as error:
        return _failed(half, report, str(error))
    except TimeoutError:
        limit = getattr(report.work, "timeout", None)
        return _failed(half, report, "timed out" if limit is None else f"timed out after {plain(limit)} s")
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


def _decide(first: Event, last: Event, said: dict[str, Verdict], reports: Reports) -> Decision:
    merged = merge(said.values())
    if merged.decision in ("ask", "defer") and _has_been_agreed(reports.met):
        merged = merged.but(decision="allow", said="")
    fields = {
        **merged.__dict__,
        "reports": reports,
        "groups": said,
        "notes": _notes(reports.met),
    }
    if last is not first:
        fields["updated_input"] = last.tool_input  # type: ignore[attr-defined]  # rewritable events have one
    return Decision(**fields)


def _has_been_agreed(reports: Sequence[Report]) -> bool:
    """A person was asked, and said yes: that is the answer to whoever wanted one to be asked."""
    asked = [r.verdict for r in reports if r.hook.handler.kind == "approval" and r.verdict is not None]
    return bool(asked) and all(verdict.decision == "allow" for verdict in asked)


def _notes(reports: Sequence[Report]) -> tuple[str, ...]:
    """What was skipped or failed. An untrusted project is named once, with all that it would have run."""
    if not reports:
        return ()
    notes = [f"hook {r.hook.name} failed: {r.error}" for r in reports if r.error]
    notes += [f"hook {r.hook.name} took {r.ms / 1000:.1f} s" for r in reports if r.ms > _SLOW_MS and _was_slow(r)]
    notes += [f"hook {r.hook.name} ran because {r.hook.matcher.problem}" for r in reports if r.hook.matcher.problem]
    untrusted = [r.hook for r in reports if r.why == UNTRUSTED]
    if untrusted:
        names = ", ".join(f"{hook.name} ({hook.origin.file})" for hook in untrusted)
        notes.append(f"not run, because this project is not trusted: {names}; look at them with `fairlead trust`")
    return tuple(notes)


def _was_slow(report: Report) -> bool:
    """People take their time; whoever else does is named."""
    return not report.error and report.hook.handler.kind != "approval"
