"""OpenHands: events under `event_type`, one editor for all files, and answers at the top level."""

from __future__ import annotations

from fairlead import wire
from fairlead.dialects._agents import answer, read_named, renamed
from fairlead.dialects._claude_reply import reason
from fairlead.dialects._common import exit_2, given
from fairlead.dialects._payloads import failed, with_shell_result
from fairlead.events import canonical_name
from fairlead.tools import Vocabulary, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.dialects import Reply
    from fairlead.events import Event
    from fairlead.tools import Tool
    from fairlead.verdicts import Decision


def _editor(own: str) -> tuple[Tool, ...]:
    return (
        tool(own, "Read", {"command": "view"}, path="file_path"),
        tool(own, "Write", {"command": "create"}, path="file_path", file_text="content"),
        tool(own, "Edit", {"command": "str_replace"}, path="file_path", old_str="old_string", new_str="new_string"),
        tool(own, "Edit", {"command": "insert"}, path="file_path", new_str="new_string"),
        tool(own, "Edit", {"command": "undo_edit"}, path="file_path"),
    )


NAME = "openhands"
TOOLS = Vocabulary(
    tool("terminal", "Bash"),
    tool("execute_bash", "Bash"),
    *_editor("file_editor"),
    *_editor("str_replace_editor"),
    *_editor("planning_file_editor"),
    tool("apply_patch", "apply_patch", patch="command"),
    tool("grep", "Grep"),
    tool("glob", "Glob"),
    tool("task", "Agent"),
    tool("task_tracker", "TodoWrite"),
)
_NAMES = ("PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "SessionStart", "SessionEnd")
EVENTS: Mapping[str, str] = {name: name for name in _NAMES}
CAN: Mapping[str, frozenset[str]] = {
    "PreToolUse": frozenset({"deny"}),
    "UserPromptSubmit": frozenset({"deny", "context"}),
    "Stop": frozenset({"deny"}),
    "*": frozenset(),
}
DEADLINES: Mapping[str, float] = {"*": 60.0}
CAPS_STOPS = False
INPUT_VARIABLE = ""
_KEYS = {"event_type": "hook_event_name", "working_dir": "cwd", "message": "prompt"}


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    fields = _with_result(renamed(wire.decode_object(raw), _KEYS))
    name = canonical_name(event_name or str(fields.get("hook_event_name") or ""))
    if name == "PostToolUse" and _is_error(fields):
        name, fields = "PostToolUseFailure", failed(fields, fields.get("tool_response"))
    return with_shell_result(read_named(fields, name, events=EVENTS, vocabulary=TOOLS))


def _with_result(fields: dict[str, Any]) -> dict[str, Any]:
    """Older versions send the output as text, newer ones a structure under another name."""
    text = fields.pop("tool_output", None)
    return fields if fields.get("tool_response") else {**fields, "tool_response": text}


def _is_error(fields: Mapping[str, Any]) -> bool:
    response = fields.get("tool_response")
    return isinstance(response, dict) and response.get("is_error") is True


def write_reply(event: Event, decision: Decision) -> Reply:
    return answer(write_result(event, decision))


def write_result(_event: Event, decision: Decision) -> dict[str, Any]:
    said = {"decision": "deny", "reason": reason(decision)} if decision.denies else {}
    return said | given({"additionalContext": decision.for_model})


write_failure = exit_2
