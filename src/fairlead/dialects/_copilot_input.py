"""What a hook written for Copilot reads on stdin, in the form that its event's name asks for."""

from __future__ import annotations

import time

from fairlead import wire
from fairlead.dialects import HookInput
from fairlead.dialects._common import given, text_in
from fairlead.dialects.copilot import BARE, TOOLS
from fairlead.events import PostToolUse, ToolEvent
from fairlead.tools import output_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.events import Event
    from fairlead.hooks import Setting

_CAMEL = {
    "hook_event_name": "", "session_id": "sessionId", "transcript_path": "transcriptPath", "tool_name": "toolName",
    "tool_input": "toolArgs", "tool_result": "toolResult", "stop_reason": "stopReason",
    "initial_prompt": "initialPrompt", "custom_instructions": "customInstructions", "agent_id": "agentId",
    "agent_type": "agentType", "agent_name": "agentName", "description": "agentDescription",
    "error_context": "errorContext", "result_type": "resultType", "text_result_for_llm": "textResultForLlm",
    "tool_use_id": "toolUseId",
}  # fmt: skip
_WITH_TRANSCRIPT = ("Stop", "SubagentStart", "SubagentStop", "PreCompact")


def hook_input(name: str, event: Event, setting: Setting, folder: str) -> HookInput:
    camel = name[:1].islower() or event.name == "PermissionRequest"
    fields = {"session_id": event.session_id, "timestamp": _now(camel), "cwd": event.cwd or setting.project}
    fields |= _own(event)
    if camel:
        payload = _in_camel(name, fields)
    else:
        payload = {"hook_event_name": name, **_in_claudes_words(event, fields)}
    env = {"COPILOT_PROJECT_DIR": setting.project, "CLAUDE_PROJECT_DIR": setting.project, "COPILOT_HOOK_DIR": folder}
    return HookInput(stdin=wire.encode(payload), env=given(env))


def _now(camel: bool) -> int | str:
    now = time.time()
    if camel:
        return int(now * 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03d}Z"


def _own(event: Event) -> dict[str, Any]:
    """What this event says beyond the common fields."""
    payload = event.payload()
    known = _KNOWN.get(event.name)
    if known is None:
        common = ("hook_event_name", "session_id", "cwd", "timestamp", BARE)
        return {key: value for key, value in payload.items() if key not in common}
    found = {key: payload[key] for key in known if key in payload}
    if event.name in _WITH_TRANSCRIPT:
        found["transcript_path"] = event.transcript_path
    if isinstance(event, PostToolUse):
        found["tool_result"] = _result(event.tool_response)
    return {**_ALWAYS.get(event.name, {}), **found}


_TOOL = ("tool_name", "tool_input", "tool_use_id")
_KNOWN: dict[str, tuple[str, ...]] = {
    "SessionStart": ("source", "initial_prompt"),
    "SessionEnd": ("reason",),
    "UserPromptSubmit": ("prompt",),
    "PreToolUse": _TOOL,
    "PermissionRequest": _TOOL,
    "PostToolUse": _TOOL,
    "PostToolUseFailure": (*_TOOL, "error"),
    "Stop": ("stop_reason", "stop_hook_active"),
    "SubagentStart": ("agent_name", "description"),
    "SubagentStop": ("agent_id", "agent_type", "agent_name", "last_assistant_message", "stop_reason",
                     "stop_hook_active"),
    "StopFailure": ("error", "error_context", "recoverable"),
    "PreCompact": ("trigger", "custom_instructions"),
    "Notification": ("message", "title", "notification_type"),
}  # fmt: skip
_ALWAYS: dict[str, dict[str, Any]] = {
    "Stop": {"stop_reason": "end_turn", "stop_hook_active": False},
    "SubagentStop": {"stop_reason": "end_turn"},
    "SessionStart": {"source": "new"},
}


def _result(response: Any) -> dict[str, Any]:
    kind, text = "success", output_text(response)
    if isinstance(response, dict):
        kind = text_in(response, "resultType") or text_in(response, "result_type") or kind
        text = text_in(response, "textResultForLlm") or text_in(response, "text_result_for_llm") or text
    return {"result_type": kind, "text_result_for_llm": text}


def _in_camel(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    renamed = {_CAMEL.get(key, key): value for key, value in fields.items()}
    renamed.pop("", None)
    if "toolName" in renamed:
        renamed["toolName"] = _runtime_name(str(renamed["toolName"]))
    result = fields.get("tool_result")
    if isinstance(result, dict):
        renamed["toolResult"] = {_CAMEL.get(key, key): value for key, value in result.items()}
    if "last_assistant_message" in renamed:
        renamed["response"] = renamed.pop("last_assistant_message")
    if name == "errorOccurred":
        renamed["error"] = {"message": renamed.get("error", ""), "name": "Error"}
    if name in ("permissionRequest", "PermissionRequest"):
        return _permission(renamed)
    return {"hook_event_name": "Notification", **renamed} if name == "notification" else renamed


def _permission(fields: dict[str, Any]) -> dict[str, Any]:
    """In camelCase whatever its name, and with keys of its own."""
    kept = {key: value for key, value in fields.items() if key != "toolArgs"}
    return {
        "hookName": "permissionRequest",
        **kept,
        "toolInput": fields.get("toolArgs", {}),
        "permissionSuggestions": [],
    }


def _runtime_name(name: str) -> str:
    """MCP tools go by their server's name and their own; others by Copilot's, also where Claude Code's was said."""
    if name.startswith("mcp__"):
        return TOOLS.mcp_name(name)
    known = TOOLS.entry_for(name)
    return name if known is None else known.own


def _in_claudes_words(event: Event, fields: dict[str, Any]) -> dict[str, Any]:
    """The tool's name is Claude Code's. Scripts look for either system's keys, and find both."""
    if not isinstance(event, ToolEvent):
        return fields
    name, meant = TOOLS.read(event.tool_name, dict(event.tool_input), event.cwd)
    if name.startswith("mcp__"):
        name = _runtime_name(name)
    return {**fields, "tool_name": name, "tool_input": {**meant, **event.tool_input}}
