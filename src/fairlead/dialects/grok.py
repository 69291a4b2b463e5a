"""Grok Build: Claude Code's events with camelCase keys; before a tool only a `deny` at the top level counts."""

from __future__ import annotations

from fairlead import wire
from fairlead.dialects import _claude_reply
from fairlead.dialects._agents import answer, read_named
from fairlead.dialects._calls import qualified_mcp_name
from fairlead.dialects._common import exit_2, given, text_in
from fairlead.dialects._payloads import with_shell_result
from fairlead.tools import Vocabulary, tool
from fairlead.verdicts import join_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.dialects import Reply
    from fairlead.events import Event
    from fairlead.verdicts import Decision

NAME = "grok"
TOOLS = Vocabulary(
    tool("run_terminal_command", "Bash"),
    tool("run_terminal_cmd", "Bash"),
    tool("search_replace", "Edit"),
    tool("write_file", "Write", path="file_path"),
    tool("read_file", "Read", target_file="file_path"),
    tool("grep", "Grep"),
    tool("web_fetch", "WebFetch"),
    tool("web_search", "WebSearch"),
    tool("spawn_subagent", "Agent"),
    mcp="{server}__{tool}",
)
_NAMES = (
    "SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
    "PermissionDenied", "Stop", "StopFailure", "Notification", "SubagentStart", "SubagentStop", "PreCompact",
    "PostCompact",
)  # fmt: skip
EVENTS: Mapping[str, str] = {
    **{name: name for name in _NAMES}, "SubagentEnd": "SubagentStop", "StopCancelled": "Interrupt",
}  # fmt: skip
CAN: Mapping[str, frozenset[str]] = {
    # Not `ask`: older versions take it for a mistake, newer ones answer it themselves where everything is allowed.
    "PreToolUse": frozenset({"deny", "rewrite", "context"}),
    "PostToolUse": frozenset({"deny", "context"}),
    "PostToolUseFailure": frozenset({"context"}),
    "UserPromptSubmit": frozenset({"deny"}),
    "Stop": frozenset({"deny"}),
    "SubagentStop": frozenset({"deny"}),
    "*": frozenset(),
}
DEADLINES: Mapping[str, float] = {
    "Stop": 600.0, "SubagentStop": 600.0, "PostToolUse": 600.0, "SessionEnd": 1.5, "*": 5.0,
}  # fmt: skip
CAPS_STOPS = False
INPUT_VARIABLE = ""
_KEYS = {
    "sessionId": "session_id", "toolName": "tool_name", "toolInput": "tool_input", "toolResult": "tool_response",
    "toolUseId": "tool_use_id", "transcriptPath": "transcript_path", "permissionMode": "permission_mode",
    "promptId": "prompt_id", "stopHookActive": "stop_hook_active", "lastAssistantMessage": "last_assistant_message",
    "backgroundTasks": "background_tasks", "sessionCrons": "session_crons", "subagentType": "agent_type",
    "notificationType": "notification_type", "errorDetails": "error_details",
}  # fmt: skip


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    payload = wire.decode_object(raw)
    name = event_name or _event_name(payload)
    payload["cwd"] = payload.get("cwd") or payload.get("workspaceRoot") or ""
    ours = qualified_mcp_name(TOOLS, text_in(payload, "toolName"), payload.get("toolInput"))
    event = read_named(payload, name, events=EVENTS, vocabulary=TOOLS, keys=_KEYS, tool=ours)
    return with_shell_result(event, "output_for_prompt")


def _event_name(payload: dict[str, Any]) -> str:
    """It sends its own name for the event (`pre_tool_use`), and newer versions Claude Code's beside it."""
    own, claudes = payload.pop("hookEventName", ""), payload.pop("hook_event_name", "")
    name = claudes or own
    if not isinstance(name, str):
        return ""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def write_reply(event: Event, decision: Decision) -> Reply:
    return answer(write_result(event, decision))


def write_result(event: Event, decision: Decision) -> dict[str, Any]:
    if event.name != "PreToolUse":
        return _claude_reply.plain(event, decision)
    if decision.denies:  # which drops whatever stands beside it
        return {"decision": "deny", "reason": join_lines((_claude_reply.reason(decision), decision.for_model))}
    inside = _claude_reply.rewrite(decision) | given({"additionalContext": decision.for_model})
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **inside}} if inside else {}


write_failure = exit_2
