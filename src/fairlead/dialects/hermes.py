"""Hermes Agent: events of its own names, most of what they say under `extra`, and rewrites that it lays over the
arguments."""

from __future__ import annotations

from fairlead import wire
from fairlead.dialects._agents import answer, read_named
from fairlead.dialects._claude_reply import reason
from fairlead.dialects._common import exit_2, given
from fairlead.dialects._payloads import failed, parsed, with_shell_result
from fairlead.errors import InputError
from fairlead.events import event_class
from fairlead.tools import Vocabulary, output_text, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.dialects import Reply
    from fairlead.events import Event
    from fairlead.verdicts import Decision

NAME = "hermes"
TOOLS = Vocabulary(
    tool("terminal", "Bash", workdir="cwd"),
    tool("write_file", "Write", path="file_path"),
    tool("patch", "apply_patch", {"mode": "patch"}, patch="command"),
    tool("patch", "Edit", path="file_path"),
    tool("read_file", "Read", path="file_path"),
    tool("search_files", "Glob", {"target": "files"}),
    tool("search_files", "Grep"),
    tool("web_search", "WebSearch"),
    tool("delegate_task", "Agent", goal="prompt"),
    tool("todo", "TodoWrite"),
)
EVENTS: Mapping[str, str] = {
    "on_session_start": "SessionStart", "on_session_end": "SessionEnd", "pre_llm_call": "UserPromptSubmit",
    "pre_tool_call": "PreToolUse", "post_tool_call": "PostToolUse", "pre_verify": "Stop",
    "subagent_start": "SubagentStart", "subagent_stop": "SubagentStop", "pre_api_request": "PreModelRequest",
    "post_api_request": "PostModelRequest",
}  # fmt: skip
CAN: Mapping[str, frozenset[str]] = {
    # Not `ask`: its word for that, "approve", is unknown to the shell hooks of many versions, and the tool runs.
    "PreToolUse": frozenset({"deny", "rewrite_over"}),
    "UserPromptSubmit": frozenset({"context"}),
    "Stop": frozenset({"deny"}),
    "*": frozenset(),
}
DEADLINES: Mapping[str, float] = {"*": 60.0}
CAPS_STOPS = False
INPUT_VARIABLE = ""
_KEYS = {
    "user_message": "prompt", "result": "tool_response", "tool_call_id": "tool_use_id", "duration_ms": "duration_ms",
    "final_response": "last_assistant_message", "child_role": "agent_type", "child_subagent_id": "agent_id",
    "child_goal": "description", "child_summary": "last_assistant_message", "model": "model",
}  # fmt: skip
"""What stands under `extra`, and our names for it."""


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    payload = wire.decode_object(raw)
    name = event_name or payload.pop("hook_event_name", "")
    if not isinstance(name, str) or not name:
        raise InputError("the event is not named", hint="name it with --event")
    name = EVENTS.get(name, name)
    extra = payload.pop("extra", None)
    fields = payload | _promoted(extra if isinstance(extra, dict) else {}, name)
    if name == "PostToolUse" and (error := _error(fields)):
        name, fields = "PostToolUseFailure", failed(fields, error)
    return with_shell_result(read_named(fields, name, events=EVENTS, vocabulary=TOOLS))


def _error(fields: Mapping[str, Any]) -> object:
    """Newer versions say how a call ended; older ones only have an error in the result."""
    response = fields.get("tool_response")
    found = response.get("error") if isinstance(response, dict) else None
    if "status" not in fields:
        return found
    return (fields.get("error_message") or found or "the tool failed") if fields["status"] == "error" else None


def _promoted(extra: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Fields of the event under our names; what only looks like one of them is left out, the rest stays."""
    known = event_class(name)._fields
    found = {key: value for key, value in extra.items() if key not in known}
    found |= {ours: _meant(ours, extra[key]) for key, ours in _KEYS.items() if ours in known and extra.get(key)}
    if name == "Stop" and extra.get("attempt"):
        found["stop_hook_active"] = True
    return found


def _meant(key: str, value: object) -> object:
    if key == "tool_response" and isinstance(value, str):
        return parsed(value)  # it is JSON in a string
    return output_text(value) if key in ("prompt", "description", "last_assistant_message") else value


def write_reply(event: Event, decision: Decision) -> Reply:
    return answer(write_result(event, decision))


def write_result(event: Event, decision: Decision) -> dict[str, Any]:
    if decision.denies:
        return {"action": "continue" if event.name == "Stop" else "block", "message": reason(decision)}
    if decision.updated_input is not None:
        return {"action": "modify", "args": decision.updated_input}
    return given({"context": decision.for_model})


write_failure = exit_2
