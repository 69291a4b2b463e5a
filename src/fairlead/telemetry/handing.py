"""What became of an event, written down for the exporter. Nothing of its content, unless that is asked for."""

from __future__ import annotations

import time

from fairlead import wire
from fairlead.journal.recording import word_of
from fairlead.telemetry.spool import Spool, folder
from fairlead.telemetry.tracing import begin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.events import Event
    from fairlead.hooks import Report, Setting
    from fairlead.telemetry.tracing import Trace
    from fairlead.verdicts import Decision

LONGEST = 4000
"""Characters of one text, where content is wanted."""
_NAME = 200
_CONTENT = {
    "tool_input": "input",
    "tool_response": "result",
    "prompt": "prompt",
    "error": "tool_error",
}  # `error` is what kept us from judging


def hand_over(trace: Trace, agent: str, event: Event, decision: Decision, ms: float) -> str:
    """What kept it from being sent, if something did: never a reason to keep the agent waiting, or to refuse."""
    try:
        _leave(trace, _record(trace, agent, event, decision, ms))
    except Exception as error:  # noqa: BLE001  # a mistake in here must not cost the agent its answer
        return f"not sent to OpenTelemetry: {type(error).__name__}: {error}"
    return ""


def hand_over_failure(said: Mapping[str, Any], setting: Setting, agent: str, event: str, reason: str) -> str:
    """An event that could not be judged at all."""
    from fairlead.events import OtherEvent
    from fairlead.verdicts import Decision

    try:
        other = OtherEvent(event_name=event)
        trace = begin(other, said, setting)
        if trace is not None:
            record = _record(trace, agent, other, Decision(decision="deny", reason=reason), 0.0)
            _leave(trace, {**record, "error": "failed"})
    except Exception as error:  # noqa: BLE001  # the same
        return f"not sent to OpenTelemetry: {type(error).__name__}: {error}"
    return ""


def _leave(trace: Trace, record: dict[str, Any]) -> None:
    spool = Spool(folder(trace.said, trace.setting))
    spool.add(wire.encode(record) + b"\n")
    spool.wake(trace.said, trace.setting.environ)


def _record(trace: Trace, agent: str, event: Event, decision: Decision, ms: float) -> dict[str, Any]:
    end = time.time_ns()
    start = min(trace.started, end - int(ms * 1e6))
    content = trace.said.get("content") is True
    record: dict[str, Any] = {
        "trace": trace.trace_id,
        "span": trace.span_id,
        "parent": trace.parent_id,
        "flags": trace.flags,
        "state": trace.state,
        "start": start,
        "end": end,
        "agent": agent,
        "session": event.session_id[:_NAME],
        "event": event.name[:_NAME],
        "tool": str(getattr(event, "tool_name", ""))[:_NAME],
        "call": str(getattr(event, "tool_use_id", ""))[:_NAME],
        "decision": decision.decision,
        "hooks": [_hook(report, end, content=content) for report in decision.met if report.span and report.ran],
    }
    return {**record, **_content(trace, event, decision)} if content else record


def _content(trace: Trace, event: Event, decision: Decision) -> dict[str, Any]:
    payload = event.payload()
    said = {ours: _text(payload[name]) for name, ours in _CONTENT.items() if name in payload}
    return {**said, "reason": decision.reason[:LONGEST], "project": trace.setting.project}


def _hook(report: Report, end: int, *, content: bool) -> dict[str, Any]:
    assert report.span is not None  # noqa: S101  # for mypy
    assert report.verdict is not None  # noqa: S101  # for mypy
    span, start = report.span
    hook, verdict = report.hook, report.verdict
    word = word_of(verdict.decision, report.error)
    found: dict[str, Any] = {
        "span": span,
        "name": _without_values(hook.name)[:_NAME],
        "handler": hook.handler.kind,
        "layer": hook.origin.layer,
        "dialect": hook.origin.dialect,
        "start": start,
        "end": max(start, min(end, start + int(report.ms * 1e6))),
        "verdict": verdict.decision,
    }
    if report.error:
        found["error"] = "timeout" if word == "late" else "failed"
    if content:
        found |= {"reason": verdict.reason[:LONGEST], "message": report.error[:LONGEST], "file": hook.origin.file}
    return found


def _without_values(name: str) -> str:
    """A command that begins with `TOKEN=…` gives its hook that name."""
    return name.partition("=")[0] + "=…" if "=" in name else name


def _text(value: Any) -> str:
    return (value if isinstance(value, str) else wire.encode_text(value))[:LONGEST]
