"""Answers in the shape that Claude Code began and half of the agents have taken over."""

from __future__ import annotations

from fairlead.dialects._common import given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.events import Event
    from fairlead.verdicts import Decision

DECIDES_INSIDE = frozenset({"PreToolUse", "PermissionRequest", "PreModelSwitch", "Elicitation", "ElicitationResult"})
"""Where the decision stands in hookSpecificOutput."""
_ENDS_BEFORE = frozenset({"PreToolUse", "PermissionRequest", "PreModelSwitch"})
"""Where `continue: false` alone is too late: the thing is carried out, and the turn ends after it."""


def reason(decision: Decision) -> str:
    """Never blank: some agents carry out what is refused without a reason."""
    return decision.reason if decision.reason.strip() else "Blocked by hook"


def ended_before(event: Event, decision: Decision) -> Decision:
    """A decision to end the turn refuses the call as well."""
    if not decision.stop or event.name not in _ENDS_BEFORE or decision.denies:
        return decision
    return decision.but(decision="deny", said="", reason=decision.stop_reason or "a hook has ended the turn")


def plain(event: Event, decision: Decision) -> dict[str, Any]:
    """The keys that all of that family know: decision, reason, context, another input, the end of the turn, a message.

    What an agent cannot take must have been degraded before.
    """
    decision = ended_before(event, decision)
    specific = inside(event, decision)
    answer: dict[str, Any] = {"hookSpecificOutput": {"hookEventName": event.name, **specific}} if specific else {}
    if decision.denies and event.name not in DECIDES_INSIDE:
        answer |= {"decision": "block", "reason": reason(decision)}
    if decision.stop:
        answer |= given({"continue": False, "stopReason": decision.stop_reason})
    return answer | given({"systemMessage": decision.user_message})


def inside(event: Event, decision: Decision) -> dict[str, Any]:
    if event.name == "PermissionRequest":
        return permission(decision)
    found = tool_permission(decision) if event.name in DECIDES_INSIDE else {}
    return found | given({"additionalContext": decision.for_model})


def tool_permission(decision: Decision) -> dict[str, Any]:
    if decision.denies:
        return {"permissionDecision": "deny", "permissionDecisionReason": reason(decision)}
    found = {}
    if decision.decision != "none":
        found = given({"permissionDecision": decision.decision, "permissionDecisionReason": decision.reason})
    return found | rewrite(decision)


def permission(decision: Decision) -> dict[str, Any]:
    if decision.denies:
        return {"decision": {"behavior": "deny", "message": reason(decision)}}
    return {"decision": {"behavior": "allow", **rewrite(decision)}} if decision.decision == "allow" else {}


def rewrite(decision: Decision) -> dict[str, Any]:
    return {} if decision.updated_input is None else {"updatedInput": decision.updated_input}
