"""Kimi Code: exit 2 and stderr refuse, before a tool, a prompt and the end of a turn; nothing else is heard."""

from __future__ import annotations

from fairlead import tools, wire
from fairlead.dialects import Reply
from fairlead.dialects._agents import read_named, refused, renamed
from fairlead.dialects._calls import in_folder
from fairlead.dialects._claude_reply import reason
from fairlead.dialects._common import exit_2
from fairlead.dialects._payloads import text
from fairlead.tools import Vocabulary, tool
from fairlead.verdicts import join_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.events import Event
    from fairlead.verdicts import Decision

NAME = "kimi"
TOOLS = Vocabulary(
    tool("Bash", "Bash"),
    tool("Write", "Write", path="file_path", file_path="file_path"),
    tool("Edit", "Edit", path="file_path", file_path="file_path"),
    tool("Read", "Read", path="file_path", file_path="file_path", line_offset="offset", n_lines="limit"),
    tool("ReadMediaFile", "Read", path="file_path"),
    tool("FetchURL", "WebFetch"),
    tool("TodoList", "TodoWrite"),
    # Kimi CLI, the program before:
    tool("Shell", "Bash"),
    tool("WriteFile", "Write", path="file_path"),
    tool("StrReplaceFile", "Edit", path="file_path"),
    tool("ReadFile", "Read", path="file_path", line_offset="offset", n_lines="limit"),
    tool("SearchWeb", "WebSearch"),
    tool("Task", "Agent"),
)
_NAMES = (
    "UserPromptSubmit", "UserPromptQueued", "PreToolUse", "Stop", "TurnStarted", "PostToolUse", "PostToolUseFailure",
    "PermissionRequest", "PermissionResult", "SessionStart", "SessionEnd", "SessionHeartbeat", "SubagentStart",
    "SubagentStop", "TaskStarted", "StopFailure", "Interrupt", "PreCompact", "PostCompact", "Notification",
)  # fmt: skip
EVENTS: Mapping[str, str] = {name: name for name in _NAMES}
_KEYS = {
    "tool_call_id": "tool_use_id",
    "tool_output": "tool_response",
    "agent_name": "agent_type",
    "error_type": "error",
}


# --- the agent half ----------------------------------------------------------------------------------

CAN: Mapping[str, frozenset[str]] = {
    "PreToolUse": frozenset({"deny"}),
    "UserPromptSubmit": frozenset({"deny", "context"}),
    "Stop": frozenset({"deny"}),
    "*": frozenset(),
}
DEADLINES: Mapping[str, float] = {"*": 30.0}
CAPS_STOPS = False
INPUT_VARIABLE = ""


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    fields = renamed(wire.decode_object(raw), _KEYS)
    for key in ("prompt", "error", "turn_id"):
        if fields.get(key) is not None:
            fields[key] = _as_text(fields[key])
    if "tool_name" in fields:
        fields = in_folder(tools.read_call(TOOLS, fields), "cwd")
    return read_named(fields, event_name, events=EVENTS)


def _as_text(value: object) -> str:
    """A prompt in parts, an error with a name, a number: what is text in it."""
    if isinstance(value, list):
        return join_lines(text(part.get("text")) if isinstance(part, dict) else text(part) for part in value)
    if isinstance(value, dict) and isinstance(value.get("message"), str):
        return str(value["message"])
    return tools.output_text(value)


def write_reply(event: Event, decision: Decision) -> Reply:
    if decision.denies:
        return refused(decision)
    if event.name == "UserPromptSubmit" and decision.for_model:  # it pastes the whole of stdout, JSON included
        return Reply(stdout=f"{decision.for_model}\n".encode("utf-8", "replace"))
    return Reply()


def write_result(_event: Event, decision: Decision) -> dict[str, Any]:
    if decision.denies:
        inner = {"permissionDecision": "deny", "permissionDecisionReason": reason(decision)}
        return {"hookSpecificOutput": inner}
    return {"context": decision.for_model} if decision.for_model else {}


write_failure = exit_2
