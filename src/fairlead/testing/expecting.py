"""Whether a case came out as it should, and if not, in words that say why."""

from __future__ import annotations

import os

from fairlead._record import Record
from fairlead.journal.recording import decided
from fairlead.testing.cases import absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from fairlead.hooks import Hook, Report
    from fairlead.testing.cases import Expected, Where
    from fairlead.testing.judging import Judgement

_MOST = 8


class Failure(Record):
    what: str
    expected: str
    came: str


def pattern_problem(text: str) -> str:
    import re

    if not _is_pattern(text):
        return ""
    try:
        re.compile(text[1:-1])
    except re.error as error:
        return str(error)
    return ""


def _is_pattern(text: str) -> bool:
    return len(text) > 2 and text.startswith("/") and text.endswith("/")


def failures(expected: Expected, judged: Judgement, where: Where) -> list[Failure]:
    found = [*_decision(expected, judged), *_texts(expected, judged, where), *_rewrite(expected, judged, where)]
    found += [*_hooks(expected, judged), *_fails(expected, judged)]
    return [Failure(what=one.what, expected=where.hidden(one.expected), came=where.hidden(one.came)) for one in found]


def _decision(expected: Expected, judged: Judgement) -> Iterator[Failure]:
    came = decided(judged.told)
    if expected.decision and came not in expected.decision:
        yield Failure(what="decision", expected=" or ".join(expected.decision), came=_with_cause(came, judged))


def _with_cause(came: str, judged: Judgement) -> str:
    if came == "stop":
        return "stop (the turn ends)"
    if came in (judged.merged.decision, "none"):
        return came
    return f"{came} (the hooks said {judged.merged.decision}; {judged.agent} cannot do that here)"


def _texts(expected: Expected, judged: Judgement, where: Where) -> Iterator[Failure]:
    pairs = (("reason", expected.reason, judged.told.reason), ("context", expected.context, judged.told.for_model))
    for what, wanted, came in pairs:
        for text in wanted:
            if not _holds(came, where.filled(text)):
                yield Failure(what=what, expected=text, came=came or "nothing")


def _holds(came: str, wanted: str) -> bool:
    import re

    return re.search(wanted[1:-1], came) is not None if _is_pattern(wanted) else wanted in came


def _rewrite(expected: Expected, judged: Judgement, where: Where) -> Iterator[Failure]:
    wanted, came = expected.rewrite, judged.updated_input
    if wanted is None:
        return
    shown = "the input as it was" if came is None else _json(came)
    if isinstance(wanted, bool):
        if wanted != (came is not None):
            yield Failure(what="rewrite", expected="another input" if wanted else "the input as it was", came=shown)
        return
    whole = absolute(where.filled(wanted), where.project)
    if came is None or whole not in (came, judged.told.updated_input):
        yield Failure(what="rewrite", expected=_json(wanted), came=shown)


def _hooks(expected: Expected, judged: Judgement) -> Iterator[Failure]:
    ran = {name for report in judged.ran for name in _names(report.hook)}
    for name in expected.hooks:
        if name not in ran:
            yield Failure(what="hooks", expected=f"{name} runs", came=why_not(name, judged))


def _names(hook: Hook) -> tuple[str, str]:
    return hook.name, hook.handler.describe()


def why_not(name: str, judged: Judgement) -> str:
    """Why a hook of this name has not run."""
    from fairlead.dialects._common import did_you_mean

    for report in judged.merged.reports:
        if name in _names(report.hook):
            return _clause(report.why) or "it was not asked: say what it says (says), or use --online"
    if any(name in _names(hook) for hook in judged.hooks):
        return "it did not look at this event"
    known = sorted({hook.name for hook in judged.hooks})
    return f"there is no hook {name!r}; {did_you_mean(name, known)}" if known else "there is no hook at all"


def _clause(why: str) -> str:
    return f"it {why}" if why.startswith(("is ", "comes ")) else why


def _fails(expected: Expected, judged: Judgement) -> Iterator[Failure]:
    """A hook that fails may refuse just because it fails: that proves nothing, unless it is what the case is about."""
    failed = [report for report in judged.ran if report.error]
    if expected.fails is True:
        if not failed:
            yield Failure(what="fails", expected="a hook that fails", came="none has failed")
        return
    wanted = expected.fails or ()
    for report in failed:
        if report.hook.name not in wanted:
            yield Failure(
                what="hooks", expected=f"{report.hook.name} gives an answer", came=f"it failed: {report.error}"
            )
    names = [report.hook.name for report in failed]
    for name in wanted:
        if name not in names:
            yield Failure(what="fails", expected=f"{name} fails", came="it has not failed")


def _json(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, default=str)


# --- what happened -----------------------------------------------------------------------------------


def account(judged: Judgement, where: Where) -> list[dict[str, Any]]:
    """Each hook that looked at the event, or would have: what it said, or why it did not run."""
    reports = [report for report in judged.merged.reports if report.ran or report.matched]
    others = [report for report in judged.merged.reports if report not in reports and _is_for(report)]
    return [_told(report, judged, where) for report in (*reports, *(others if not reports else ()))][:_MOST]


def _is_for(report: Report) -> bool:
    return report.event.name in report.hook.events or "*" in report.hook.events


def _told(report: Report, judged: Judgement, where: Where) -> dict[str, Any]:
    unasked = report.ran and report not in judged.ran
    why = "was not asked" if unasked else report.why
    verdict = report.verdict
    return {
        "name": report.hook.name,
        "origin": _place(report.hook, where),
        "verdict": None if verdict is None or unasked else verdict.decision,
        "reason": where.hidden(verdict.reason) if verdict is not None else "",
        "error": where.hidden(report.error),
        "why": where.hidden(why),
        "ms": round(report.ms, 1),
    }


def _place(hook: Hook, where: Where) -> str:
    file = hook.origin.file
    if not file:
        return hook.origin.layer
    inside = os.path.relpath(file, where.project) if file.startswith(where.project + os.sep) else file
    return f"{where.hidden(inside)}:{hook.origin.line}"


def sentence(entry: dict[str, Any]) -> str:
    """One hook of an account in a line."""
    said = entry["error"] and f"failed: {entry['error']}"
    said = said or (entry["why"] if entry["verdict"] is None else entry["reason"])
    word = "" if entry["verdict"] is None else f" said {entry['verdict']}"
    return f"{entry['name']} ({entry['origin']}){word}" + (f": {said}" if said and word else f" {said}" if said else "")
