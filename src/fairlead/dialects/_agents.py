"""What the agents' halves have in common: reading an event in other words, and answering with one JSON object."""

from __future__ import annotations

from fairlead import tools, wire
from fairlead.dialects import Reply
from fairlead.dialects._claude_reply import reason
from fairlead.errors import InputError
from fairlead.events import Event, folded
from fairlead.verdicts import join_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.tools import Vocabulary
    from fairlead.verdicts import Decision


def read_named(
    payload: dict[str, Any],
    event_name: str,
    *,
    events: Mapping[str, str],
    vocabulary: Vocabulary | None = None,
    keys: Mapping[str, str] | None = None,
    tool: str = "",
) -> Event:
    """An event from a flat payload: its keys and its event's name in the agent's words.

    `tool` is our name for a tool whose name only the caller can read, such as an MCP tool's.
    """
    fields = renamed(payload, keys or {})
    name = event_name or fields.pop("hook_event_name", None)
    if not isinstance(name, str) or not name:
        raise InputError("the event is not named", hint="name it with --event")
    if vocabulary is not None and "tool_name" in fields:
        fields = tools.read_call(vocabulary, fields, tool)
    return Event.from_payload(fields, event_meant(name, events))


def event_meant(name: str, events: Mapping[str, str]) -> str:
    """Our name for an agent's event, also where its spelling is a little off: a slip must not pass a guard by."""
    if name in events:
        return events[name]
    letters = {folded(own): ours for own, ours in events.items()}
    return letters.get(folded(name), name)


def renamed(payload: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, Any]:
    """With our names for their keys; what they really look at wins over a key that only looks like ours."""
    real = {keys[key] for key in payload if key in keys}
    return {keys.get(key, key): value for key, value in payload.items() if key in keys or key not in real}


def answer(fields: Mapping[str, Any], *, always: bool = False) -> Reply:
    """One JSON object on stdout. Nothing at all where there is nothing to say, unless the agent wants an object."""
    return Reply(stdout=wire.encode(dict(fields)) + b"\n") if fields or always else Reply()


def refusal(message: str) -> Reply:
    """For agents that read exit code 2 and stderr, and no JSON."""
    return Reply(stderr=f"{message}\n", exit_code=2)


def refused(decision: Decision) -> Reply:
    """The same with all that is to be read beside the reason: there is no other place for it."""
    return refusal(join_lines((reason(decision), decision.for_model, decision.user_message)))


def denied(_event_name: str, message: str) -> Reply:
    """A failure of ours, for agents that read `decision` at the top of the answer."""
    return answer({"decision": "deny", "reason": f"Fairlead: {message}"})
