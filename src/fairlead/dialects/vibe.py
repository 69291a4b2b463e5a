"""Mistral Vibe: three events; exit 0 and JSON. Any other exit is a failure, which passes unless the hook is strict."""

from __future__ import annotations

from fairlead import wire
from fairlead.dialects._agents import answer, denied, read_named, renamed
from fairlead.dialects._calls import named_once
from fairlead.dialects._claude_reply import reason
from fairlead.dialects._common import given
from fairlead.dialects._payloads import failed, with_shell_result
from fairlead.tools import Vocabulary, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.dialects import Reply
    from fairlead.events import Event
    from fairlead.tools import Tool
    from fairlead.verdicts import Decision


def _both(group: str, own: str, name: str, **keys: str) -> tuple[Tool, Tool]:
    """Tools are named with their group; the older harness names them without."""
    return tool(f"{group}.{own}", name, **keys), tool(own, name, **keys)


NAME = "vibe"
TOOLS = Vocabulary(
    *_both("file_system", "bash", "Bash"),
    tool("process.start", "Bash"),
    *_both("file_system", "write_file", "Write", path="file_path"),
    *_both("file_system", "edit", "Edit"),
    tool("file_system.search_replace", "Edit", path="file_path", content="edits"),
    tool("search_replace", "Edit", content="edits"),
    *_both("file_system", "read_file", "Read", path="file_path"),
    *_both("file_system", "grep", "Grep"),
    *_both("file_system", "glob", "Glob"),
    *_both("web", "web_fetch", "WebFetch"),
    *_both("web", "web_search", "WebSearch"),
    tool("task", "Agent", task="prompt", agent="subagent_type"),
)
EVENTS: Mapping[str, str] = {"pre_tool": "PreToolUse", "post_tool": "PostToolUse", "post_agent": "Stop"}
_AFTER = frozenset({"deny", "context"})
CAN: Mapping[str, frozenset[str]] = {
    "PreToolUse": frozenset({"deny", "rewrite"}),
    "PostToolUse": _AFTER,
    "PostToolUseFailure": _AFTER,
    "Stop": frozenset({"deny"}),
    "*": frozenset(),
}
DEADLINES: Mapping[str, float] = {"*": 60.0}
CAPS_STOPS = False
INPUT_VARIABLE = ""
_KEYS = {"tool_call_id": "tool_use_id", "tool_output": "tool_response"}


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    fields = renamed(wire.decode_object(raw), _KEYS)
    name = event_name or fields.get("hook_event_name") or ""
    named_once(fields.get("tool_input"))
    if fields.get("tool_response") is None and "tool_output_text" in fields:
        fields["tool_response"] = fields["tool_output_text"]
    if fields.get("tool_status") == "failure":
        name, fields = "PostToolUseFailure", failed(fields, fields.get("tool_error"))
    return with_shell_result(read_named(fields, name, events=EVENTS, vocabulary=TOOLS))


def write_reply(event: Event, decision: Decision) -> Reply:
    return answer(write_result(event, decision))


def write_result(_event: Event, decision: Decision) -> dict[str, Any]:
    said = {"decision": "deny", "reason": reason(decision)} if decision.denies else {}
    inside: dict[str, Any] = given({"additional_context": decision.for_model})
    if decision.updated_input is not None and not decision.denies:
        inside["tool_input"] = decision.updated_input
    return {**said, "hook_specific_output": inside} if inside else said


write_failure = denied
