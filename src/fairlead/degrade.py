"""What an agent cannot carry out becomes the nearest safe thing that it can, with an explanation.

An agent's half says for each event which of these it honours:

    deny  ask  allow  defer   the decision itself
    rewrite                   another tool input
    rewrite_over              the same, laid over the old one: nothing can be taken out of it
    rewrite_if_allowed        the same, but only together with `allow`
    output                    another tool output
    context                   text for the model
    user_message              text for the person
    stop                      ending the turn
"""

from __future__ import annotations

from fairlead.verdicts import join_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.events import Event
    from fairlead.verdicts import Decision


_REASON_REACHES_MODEL = frozenset(
    {"PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop", "SubagentStop",
     "TaskCreated", "TaskCompleted", "TeammateIdle"}
)  # fmt: skip


def degrade(event: Event, decision: Decision, can: Mapping[str, frozenset[str]], agent: str) -> Decision:
    able = can.get(event.name, can.get("*", frozenset()))
    for step in (_rewrite, _defer, _ask, _stop, _allow, _deny, _output, _context, _user_message):
        decision = step(event, decision, able, agent)
    return decision


def _noted(decision: Decision, note: str, /, **changes: Any) -> Decision:
    return decision.but(notes=(*decision.notes, note), **changes)


def _refused(decision: Decision, reason: str, /, **changes: Any) -> Decision:
    whole = join_lines((reason, decision.reason if decision.reason != reason else ""))
    return _noted(decision, reason, decision="deny", said="", reason=whole, **changes)


def _rewrite(event: Event, decision: Decision, able: frozenset[str], agent: str) -> Decision:
    if decision.updated_input is None or "rewrite" in able:
        return decision
    if decision.decision == "allow" and "rewrite_if_allowed" in able:
        return decision
    if "rewrite_over" in able and decision.updated_input.keys() >= getattr(event, "tool_input", {}).keys():
        return decision
    too_late = event.name not in ("PreToolUse", "PermissionRequest")
    if decision.denies or too_late or decision.updated_input == getattr(event, "tool_input", None):
        return decision.but(updated_input=None)
    from fairlead import said

    wanted = said.as_json(decision.updated_input)
    cannot = "take anything out of it" if "rewrite_over" in able else "change it"
    reason = f"a hook wants another input, and {agent} cannot {cannot}; call the tool again with: {wanted}"
    return _refused(decision, reason, updated_input=None)


def _defer(_event: Event, decision: Decision, able: frozenset[str], agent: str) -> Decision:
    if decision.decision != "defer" or "defer" in able:
        return decision
    return _noted(decision, f"{agent} cannot defer; asked instead", decision="ask", said="")


def _ask(_event: Event, decision: Decision, able: frozenset[str], agent: str) -> Decision:
    if decision.decision != "ask" or "ask" in able:
        return decision
    return _refused(decision, f"a person has to agree to this, and {agent} cannot ask one here")


def _stop(event: Event, decision: Decision, able: frozenset[str], agent: str) -> Decision:
    if not decision.stop or "stop" in able:
        return decision
    if event.name in ("Stop", "SubagentStop"):  # it ends by itself, if nobody keeps it going
        return decision.but(stop=False, decision="none", said="")
    if "deny" in able:
        return _refused(decision, decision.stop_reason or "a hook has ended the turn", stop=False)
    return _noted(decision, f"{agent} cannot end the turn here: {decision.stop_reason}", stop=False)


def _allow(_event: Event, decision: Decision, able: frozenset[str], _agent: str) -> Decision:
    return decision if decision.decision != "allow" or "allow" in able else decision.but(decision="none", said="")


def _deny(event: Event, decision: Decision, able: frozenset[str], agent: str) -> Decision:
    if not decision.denies or "deny" in able:
        return decision
    return _noted(decision, f"{agent} cannot block {event.name}: {decision.reason}", decision="none", said="")


def _output(event: Event, decision: Decision, able: frozenset[str], agent: str) -> Decision:
    """Where a refusal takes the place of the output, the new one stands in its reason."""
    if decision.updated_output is None or "output" in able:
        return decision
    if "deny" not in able or event.name != "PostToolUse":
        return _noted(decision, f"{agent} cannot take another output here; dropped", updated_output=None)
    from fairlead import said

    wanted = decision.updated_output
    wanted = wanted if isinstance(wanted, str) else said.as_json(wanted)
    reason = f"a hook has replaced this output, and {agent} cannot; go by this instead: {wanted}"
    return _refused(decision, reason, updated_output=None)


def _context(event: Event, decision: Decision, able: frozenset[str], agent: str) -> Decision:
    text = decision.for_model
    if not text or "context" in able:
        return decision
    nothing = {"context": "", "feedback": "", "system_message": ""}
    if decision.denies and event.name in _REASON_REACHES_MODEL:
        return decision.but(reason=join_lines((decision.reason, text)), **nothing)
    return _noted(decision, f"{agent} takes no context here; dropped: {text}", **nothing)


def _user_message(_event: Event, decision: Decision, able: frozenset[str], agent: str) -> Decision:
    if not decision.user_message or "user_message" in able:
        return decision
    lost = [line for line in decision.user_message.split("\n") if line.strip() and line not in decision.notes]
    notes = (f"{agent} shows no message here: {line}" for line in lost)
    return decision.but(user_message="", notes=(*decision.notes, *notes))
