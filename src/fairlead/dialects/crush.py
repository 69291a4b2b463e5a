"""Crush: hooks before its tools and nowhere else, with an answer of its own; exit 49 or `halt` ends the turn."""

from __future__ import annotations

from fairlead import tools, wire
from fairlead.dialects._agents import answer, read_named, renamed
from fairlead.dialects._calls import in_folder
from fairlead.dialects._claude_reply import ended_before, reason
from fairlead.dialects._common import exit_2, given
from fairlead.dialects._payloads import text
from fairlead.tools import Vocabulary, tool
from fairlead.verdicts import join_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.dialects import Reply
    from fairlead.events import Event
    from fairlead.verdicts import Decision

NAME = "crush"
TOOLS = Vocabulary(
    tool("bash", "Bash"),
    tool("write", "Write"),
    tool("edit", "Edit"),
    tool("multiedit", "MultiEdit"),
    tool("view", "Read"),
    tool("ls", "LS"),
    tool("grep", "Grep"),
    tool("glob", "Glob"),
    tool("fetch", "WebFetch"),
    tool("download", "Write"),
    tool("agent", "Agent"),
    mcp="mcp_{server}_{tool}",
)
EVENTS: Mapping[str, str] = {"PreToolUse": "PreToolUse"}


# --- the agent half ----------------------------------------------------------------------------------

CAN: Mapping[str, frozenset[str]] = {
    "PreToolUse": frozenset({"deny", "allow", "rewrite", "context", "stop"}),
    "*": frozenset(),
}
DEADLINES: Mapping[str, float] = {"*": 30.0}
CAPS_STOPS = False
INPUT_VARIABLE = ""


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    fields = renamed(wire.decode_object(raw), {"event": "hook_event_name"})
    if "tool_name" in fields:
        fields = in_folder(tools.read_call(TOOLS, fields, _mcp_name(text(fields["tool_name"]))), "working_dir")
    return read_named(fields, event_name, events=EVENTS)


def _mcp_name(own: str) -> str:
    """Where a server's name ends is a guess: at the first underscore."""
    server, _, name = own.removeprefix("mcp_").partition("_")
    return f"mcp__{server}__{name}" if own.startswith("mcp_") and server and name else ""


def write_reply(event: Event, decision: Decision) -> Reply:
    return answer(write_result(event, decision))


def write_result(event: Event, decision: Decision) -> dict[str, Any]:
    decision = ended_before(event, decision)
    if decision.denies:
        halt = {"halt": True} if decision.stop else {}
        return {"decision": "deny", **halt, "reason": join_lines((reason(decision), decision.for_model))}
    word = "allow" if decision.decision == "allow" else ""
    return given({"decision": word, "context": decision.for_model}) | _update(event, decision)


def _update(event: Event, decision: Decision) -> dict[str, Any]:
    """It lays an update over the input; null takes away what the update has left out."""
    if decision.updated_input is None:
        return {}
    gone = dict.fromkeys(key for key in getattr(event, "tool_input", {}) if key not in decision.updated_input)
    return {"updated_input": {**decision.updated_input, **gone}}


write_failure = exit_2
