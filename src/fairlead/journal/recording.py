"""An event and what became of it, as an entry of the journal."""

from __future__ import annotations

from fairlead import wire
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.dialects import Reply
    from fairlead.events import Event
    from fairlead.hooks import Report
    from fairlead.verdicts import Decision

LONGEST = 4000
"""Characters of one text by a hook."""
LARGEST = 256 * 1024
"""Characters of one value of an event that are kept."""


def summary(agent: str, event: Event, decision: Decision, ms: float) -> dict[str, Any]:
    """What one searches for."""
    ran = [report for report in decision.reports if report.ran]
    return {
        "agent": agent,
        "session": event.session_id,
        "event": event.name,
        "tool": getattr(event, "tool_name", ""),
        "decision": decision.decision,
        "hooks": list(dict.fromkeys(report.hook.name for report in ran)),
        "failed": sum(1 for report in ran if report.error),
        "ms": round(ms, 2),
    }


def details(
    event: Event, decision: Decision, reply: Reply | dict[str, Any] | None, project: str, raw: bytes | None
) -> dict[str, Any]:
    """All of it; without the raw event nothing of what the agent has sent."""
    payloads = raw is not None
    found: dict[str, Any] = {
        "project": project,
        "cwd": event.cwd,
        "reason": decision.reason[:LONGEST],
        "context": decision.for_model[:LONGEST],
        "user_message": decision.user_message[:LONGEST],
        "notes": [note[:LONGEST] for note in decision.notes],
        "hooks": [_hook(report, payloads=payloads) for report in decision.reports if _is_worth_it(report)],
        "others": sum(1 for report in decision.reports if not _is_worth_it(report)),
    }
    if payloads:
        found |= _event(event, raw or b"")
        found["updated_input"] = bounded(decision.updated_input)
        found["reply"] = _reply(reply)
    return found


def _event(event: Event, raw: bytes) -> dict[str, Any]:
    """In our words; and in the agent's own, where they are others, so that it can be judged again exactly."""
    payload = event.payload()
    sent = raw.decode("utf-8", "replace") if len(raw) <= LARGEST else ""
    found = {"payload": bounded(payload)}
    return found if not sent or _says(sent, payload) else {**found, "sent": sent}


def _says(sent: str, payload: dict[str, Any]) -> bool:
    try:
        return bool(wire.decode(sent) == payload)
    except InputError:
        return False


def failure(agent: str, event: str, reason: str, reply: Reply, project: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """An event that could not be judged at all."""
    short = {
        "agent": agent,
        "session": "",
        "event": event,
        "tool": "",
        "decision": "deny",
        "hooks": [],
        "failed": 1,
        "ms": 0.0,
    }
    return short, {"project": project, "reason": reason[:LONGEST], "notes": [], "hooks": [], "reply": _reply(reply)}


def _is_worth_it(report: Report) -> bool:
    """Hooks for other events and other tools are only counted."""
    return report.ran or report.matched


def _hook(report: Report, *, payloads: bool) -> dict[str, Any]:
    hook, verdict = report.hook, report.verdict
    found: dict[str, Any] = {
        "name": hook.name,
        "handler": hook.handler.kind,
        "file": hook.origin.file,
        "place": list(hook.origin.path),
        "layer": hook.origin.layer,
        "dialect": hook.origin.dialect,
    }
    if verdict is None:
        return {**found, "why": report.why}
    found |= {"verdict": verdict.decision, "reason": verdict.reason[:LONGEST], "ms": round(report.ms, 2)}
    if report.error:
        found["error"] = report.error[:LONGEST]
    if report.facts:
        found["facts"] = dict(report.facts)
    if payloads and verdict.updated_input is not None:
        found["updated_input"] = bounded(verdict.updated_input)
    return found


def bounded(value: Any) -> Any:
    """Long texts are cut, and say so; what is decided about has its own digest elsewhere."""
    if isinstance(value, str) and len(value) > LARGEST:
        return f"{value[:LARGEST]}… ({len(value) - LARGEST:,} more characters)"
    if isinstance(value, dict):
        return {key: bounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [bounded(item) for item in value]
    return value


def _reply(reply: Reply | dict[str, Any] | None) -> Any:
    if reply is None or isinstance(reply, dict):
        return bounded(reply)
    stdout = reply.stdout.decode("utf-8", "backslashreplace")
    return bounded({"stdout": stdout, "stderr": reply.stderr, "exit_code": reply.exit_code})
