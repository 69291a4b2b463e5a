"""Project M: an agent's tool calls as `{tool, input}`, answered with a decision. It has no hook files."""

from __future__ import annotations

from fairlead import wire
from fairlead.dialects import Reply
from fairlead.dialects._common import given
from fairlead.errors import InputError
from fairlead.events import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.verdicts import Decision

NAME = "m"
TOOLS = None
CAN: Mapping[str, frozenset[str]] = {"*": frozenset({"deny", "allow"})}
DEADLINES: Mapping[str, float] = {"*": 300.0}
CAPS_STOPS = False
INPUT_VARIABLE = ""


def read_event(raw: bytes, event_name: str, environ: Mapping[str, str]) -> Event:
    """The document's `{tool, input}`, or what Claude Code really sends."""
    payload = wire.decode_object(raw)
    tool = payload.pop("tool", None) or payload.get("tool_name")
    tool_input = payload.pop("input", None) or payload.get("tool_input") or {}
    if not isinstance(tool, str) or not tool:
        raise InputError("the event names no tool", hint='expected {"tool": …, "input": …}')
    fields = {
        "session_id": environ.get("M_RUN_ID", ""),
        **payload,
        "tool_name": tool,
        "tool_input": tool_input,
    }
    return Event.from_payload(fields, event_name or payload.get("hook_event_name") or "PreToolUse")


def write_reply(event: Event, decision: Decision) -> Reply:
    return Reply(stdout=wire.encode(write_result(event, decision)) + b"\n")


def write_result(_event: Event, decision: Decision) -> dict[str, Any]:
    if decision.denies:
        return given({"decision": "block", "message": decision.reason})
    return {"decision": "allow"}


def write_failure(event_name: str, message: str) -> Reply:
    del event_name
    return Reply(stdout=wire.encode({"decision": "block", "message": f"Fairlead: {message}"}) + b"\n")
