"""What a hook written for Cursor reads on stdin: each of its events has keys of its own."""

from __future__ import annotations

import os
import stat

from fairlead import wire
from fairlead.dialects import HookInput
from fairlead.dialects._common import given, text_in
from fairlead.dialects.cursor import ASKED_AS, ENDS
from fairlead.tools import output_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from fairlead.events import Event
    from fairlead.hooks import Setting

_MOST = 16 << 20
"""Bytes of a file that a `beforeReadFile` hook gets to see."""


def hook_input(name: str, event: Event, setting: Setting) -> HookInput:
    build = _KEYS_OF.get(name, _nothing)
    own = {**_base(name, event, setting), **build(event, setting)}
    return HookInput(stdin=wire.encode({**own, **_sent_along(event, own)}), env=_environment(event, setting))


def _base(name: str, event: Event, setting: Setting) -> dict[str, Any]:
    return {
        "conversation_id": event.session_id,
        "generation_id": event.prompt_id,
        "model": getattr(event, "model", ""),
        "hook_event_name": name,
        "cursor_version": "",
        "workspace_roots": [setting.project],
        "user_email": None,
        "transcript_path": event.transcript_path or None,
    }


def _sent_along(event: Event, own: dict[str, Any]) -> dict[str, Any]:
    """What Cursor itself sent with the event goes on as it came."""
    if ASKED_AS not in event.extra:
        return {}
    facts = ("model", "cursor_version", "workspace_roots", "user_email")
    return {key: value for key, value in event.extra.items() if key != ASKED_AS and (key in facts or key not in own)}


def _environment(event: Event, setting: Setting) -> dict[str, str]:
    return given(
        {
            "CURSOR_PROJECT_DIR": setting.project,
            "CLAUDE_PROJECT_DIR": setting.project,
            "CURSOR_VERSION": text_in(event.extra, "cursor_version"),
            "CURSOR_USER_EMAIL": text_in(event.extra, "user_email"),
            "CURSOR_TRANSCRIPT_PATH": event.transcript_path,
        }
    )


def _tool_input(event: Event) -> dict[str, Any]:
    found: dict[str, Any] = getattr(event, "tool_input", {})
    return found


def _call(event: Event, setting: Setting) -> dict[str, Any]:
    server, own = _mcp_names(event)
    return {
        "tool_name": own if not server or own.startswith("MCP:") else f"MCP:{own}",
        "tool_input": _tool_input(event),
        "tool_use_id": getattr(event, "tool_use_id", ""),
        "cwd": event.cwd or setting.project,
    }


def _json_text(value: object) -> str:
    return value if isinstance(value, str) else wire.encode_text(value)


def _duration(event: Event) -> float:
    return getattr(event, "duration_ms", None) or 0


def _called(event: Event, setting: Setting) -> dict[str, Any]:
    output = _json_text(getattr(event, "tool_response", None))
    return {**_call(event, setting), "tool_output": output, "duration": _duration(event)}


def _failed(event: Event, setting: Setting) -> dict[str, Any]:
    interrupted = bool(getattr(event, "is_interrupt", False))
    more = {"error_message": getattr(event, "error", ""), "failure_type": "error", "is_interrupt": interrupted}
    return {**_call(event, setting), **more, "duration": _duration(event)}


def _shell(event: Event, setting: Setting) -> dict[str, Any]:
    return {"command": text_in(_tool_input(event), "command"), "cwd": event.cwd or setting.project, "sandbox": False}


def _shell_ran(event: Event, setting: Setting) -> dict[str, Any]:
    output = output_text(getattr(event, "tool_response", None))
    return {**_shell(event, setting), "output": output, "duration": _duration(event)}


def _mcp_names(event: Event) -> tuple[str, str]:
    """The server's name, where it is known, and the tool's."""
    name = str(getattr(event, "tool_name", ""))
    if not name.startswith("mcp__"):
        return text_in(event.extra, "mcp_server_name"), name
    server, _, own = name.removeprefix("mcp__").partition("__")
    return server, own


def _mcp(event: Event, _setting: Setting) -> dict[str, Any]:
    server, own = _mcp_names(event)
    tool_input = wire.encode_text(_tool_input(event))
    return {"tool_name": own.removeprefix("MCP:"), "tool_input": tool_input, "mcp_server_name": server}


def _mcp_ran(event: Event, setting: Setting) -> dict[str, Any]:
    result = _json_text(getattr(event, "tool_response", None))
    return {**_mcp(event, setting), "result_json": result, "duration": _duration(event)}


def _path(event: Event, setting: Setting) -> str:
    sent = _tool_input(event)
    path = text_in(sent, "path") or text_in(sent, "file_path")
    return os.path.join(event.cwd or setting.project, path) if path else ""


def _read_file(event: Event, setting: Setting) -> dict[str, Any]:
    path = _path(event, setting)
    content = event.extra.get("content") if ASKED_AS in event.extra else None
    return {"file_path": path, "content": _content(path) if content is None else content, "attachments": []}


def _content(path: str) -> str:
    """Hooks look for secrets in what the model is about to read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except (OSError, ValueError):
        return ""
    with os.fdopen(descriptor, "rb") as file:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return file.read(_MOST).decode("utf-8", "replace") if is_file else ""


def _edited(event: Event, setting: Setting) -> dict[str, Any]:
    sent = _tool_input(event)
    edits = sent.get("edits")
    if not isinstance(edits, list):
        new = text_in(sent, "new_string") or text_in(sent, "contents") or text_in(sent, "content")
        edits = [{"old_string": text_in(sent, "old_string"), "new_string": new}]
    return {"file_path": _path(event, setting), "edits": edits}


def _started(event: Event, _setting: Setting) -> dict[str, Any]:
    return {"session_id": event.session_id, "is_background_agent": False, "composer_mode": "agent"}


def _over(event: Event, _setting: Setting) -> dict[str, Any]:
    return {"session_id": event.session_id, "reason": getattr(event, "reason", ""), "duration_ms": 0,
            "final_status": "completed"}  # fmt: skip


def _prompt(event: Event, _setting: Setting) -> dict[str, Any]:
    return {"prompt": getattr(event, "prompt", ""), "attachments": []}


def _subagent(event: Event, _setting: Setting) -> dict[str, Any]:
    return {"subagent_id": event.agent_id, "subagent_type": event.agent_type,
            "task": getattr(event, "description", ""), "parent_conversation_id": event.session_id}  # fmt: skip


def _subagent_over(event: Event, setting: Setting) -> dict[str, Any]:
    status = "completed" if getattr(event, "success", True) else "error"
    summary = getattr(event, "last_assistant_message", "") or ""
    return {**_subagent(event, setting), "status": status, "summary": summary,
            "loop_count": int(getattr(event, "stop_hook_active", False)),
            "agent_transcript_path": getattr(event, "agent_transcript_path", "") or None}  # fmt: skip


def _stopped(event: Event, _setting: Setting) -> dict[str, Any]:
    return {
        "status": ENDS.get(event.name, "completed"),
        "loop_count": int(getattr(event, "stop_hook_active", False)),
    }


def _compacts(event: Event, _setting: Setting) -> dict[str, Any]:
    return {"trigger": getattr(event, "trigger", "")}


def _nothing(_event: Event, _setting: Setting) -> dict[str, Any]:
    return {}


_KEYS_OF: dict[str, Callable[[Event, Setting], dict[str, Any]]] = {
    "sessionStart": _started,
    "sessionEnd": _over,
    "beforeSubmitPrompt": _prompt,
    "preToolUse": _call,
    "postToolUse": _called,
    "postToolUseFailure": _failed,
    "beforeShellExecution": _shell,
    "afterShellExecution": _shell_ran,
    "beforeMCPExecution": _mcp,
    "afterMCPExecution": _mcp_ran,
    "beforeReadFile": _read_file,
    "beforeTabFileRead": _read_file,
    "afterFileEdit": _edited,
    "afterTabFileEdit": _edited,
    "subagentStart": _subagent,
    "subagentStop": _subagent_over,
    "preCompact": _compacts,
    "stop": _stopped,
}
