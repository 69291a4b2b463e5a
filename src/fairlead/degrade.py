"""What an agent cannot carry out becomes the nearest safe thing that it can, with an explanation.

An agent's half says for each event which of these it honours:

    deny  ask  allow  defer   the decision itself
    rewrite                   another tool input
    output                    another tool output
    context                   text for the model
    user_message              text for the person
    stop                      ending the turn
"""

from __future__ import annotations

from fairlead import wire
from fairlead.verdicts import join_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.events import Event
    from fairlead.verdicts import Decision


def degrade(event: Event, decision: Decision, can: Mapping[str, frozenset[str]], agent: str) -> Decision:
    able = can.get(event.name, can.get("*", frozenset()))
    for step in (_rewrite, _defer, _ask, _stop, _allow, _deny):
        decision = step(event, decision, able, agent)
    return _texts(decision, able, agent)


def _noted(decision: Decision, note: str, /, **changes: Any) -> Decision:
    return decision.but(notes=(*decision.notes, note), **changes)


def _refused(decision: Decision, reason: str, /, **changes: Any) -> Decision:
    whole = join_lines((reason, decision.reason if decision.reason != reason else ""))
    return _noted(decision, reason, decision="deny", said="", reason=whole, **changes)


def _rewrite(_event: Event, decision: Decision, able: frozenset[str], agent: str) -> Decision:
    if decision.updated_input is None or "rewrite" in able:
        return decision
    if decision.denies:
        return decision.but(updated_input=None)
    wanted = wire.encode_text(decision.updated_input)
    reason = f"a hook wants another input, and {agent} cannot change it; call the tool again with: {wanted}"
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
    if "deny" in able and not event.name.endswith("Stop"):
        return _refused(decision, decision.stop_reason or "a hook has ended the turn", stop=False)
    return _noted(decision, f"{agent} cannot end the turn here: {decision.stop_reason}", stop=False)


def _allow(_event: Event, decision: Decision, able: frozenset[str], _agent: str) -> Decision:
    return decision if decision.decision != "allow" or "allow" in able else decision.but(decision="none", said="")


def _deny(event: Event, decision: Decision, able: frozenset[str], agent: str) -> Decision:
    if not decision.denies or "deny" in able:
        return decision
    return _noted(decision, f"{agent} cannot block {event.name}: {decision.reason}", decision="none", said="")


def _texts(decision: Decision, able: frozenset[str], agent: str) -> Decision:
    if decision.for_model and "context" not in able:
        changes = {"context": "", "feedback": "", "system_message": ""}
        decision = _noted(decision, f"{agent} takes no context here; dropped: {decision.for_model}", **changes)
    if decision.user_message and "user_message" not in able:
        decision = _noted(decision, f"{agent} shows no message here: {decision.user_message}", user_message="")
    if decision.updated_output is not None and "output" not in able:
        decision = _noted(decision, f"{agent} cannot take another output here; dropped", updated_output=None)
    return decision
