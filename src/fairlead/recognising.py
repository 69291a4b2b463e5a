"""Whose event is this, where nobody says so.

An answer in the wrong dialect is mostly taken for "go on". So this names everybody whose event it can be; only
where that is one alone may somebody rely on it. Variables of the environment are inherited from one agent by the
next, and count only where they repeat what the payload says.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Payload = Mapping[str, Any]
    Names = tuple[str, ...]

_KEYS: tuple[tuple[str, Names], ...] = (
    ("cursor", ("cursor_version",)),
    ("cursor", ("conversation_id", "generation_id")),
    ("windsurf", ("agent_action_name",)),
    ("cline", ("clineVersion",)),
    ("cline", ("hookName",)),
    ("antigravity", ("conversationId", "toolCall")),
    ("antigravity", ("conversationId", "stepIdx")),
    ("antigravity", ("conversationId", "invocationNum")),
    ("antigravity", ("conversationId", "executionNum")),
    ("antigravity", ("conversationId", "workspacePaths")),
    ("code-agent", ("type", "sessionId", "payload")),
    ("openhands", ("event_type",)),
    ("hermes", ("hook_event_name", "profile", "extra")),
    ("augment", ("conversation_id", "workspace_roots")),
    ("kimi", ("hook_event_name", "client_type")),
    ("copilot", ("hook_event_name", "tool_result", "timestamp")),
)
"""Keys that only one agent sends together."""

_EVENTS: Mapping[str, str] = {
    **dict.fromkeys(("pre_tool", "post_tool", "post_agent"), "vibe"),
    **dict.fromkeys(("BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel"), "gemini"),
    **dict.fromkeys(("BeforeToolSelection", "PreCompress"), "gemini"),
    **dict.fromkeys(("pre_tool_call", "post_tool_call", "pre_llm_call", "post_llm_call", "pre_verify"), "hermes"),
    **dict.fromkeys(("on_session_start", "on_session_end", "subagent_stop"), "hermes"),
    **dict.fromkeys(("TodoCreated", "TodoCompleted", "SessionDelete"), "qwen"),
    **dict.fromkeys(("preToolUse", "postToolUse", "userPromptSubmit", "sessionStart", "sessionEnd", "stop"), "kiro"),
    **dict.fromkeys(("agentSpawn", "preTaskExec", "postTaskExec"), "kiro"),
    "PostCompaction": "devin",
}
"""Names of events that only one agent has."""

_FOLDERS = {
    "/.claude/": "claude-code", "/.codex/": "codex", "/.gemini/": "gemini", "/.qwen/": "qwen",
    "/.copilot/": "copilot", "/.factory/": "droid", "/.cursor/": "cursor",
}  # fmt: skip
"""Where agents keep their transcripts."""

_SESSIONS = {
    "AMCP_SESSION_ID": "amcp", "CODEMIE_SESSION_ID": "codemie", "QWEN_CODE_SESSION_ID": "qwen",
    "GEMINI_SESSION_ID": "gemini",
}  # fmt: skip
"""Variables that repeat the payload's `session_id`."""

_MODES = {"off": "droid", "spec": "droid", "auto_edit": "qwen", "yolo": "qwen"}
_PLUGINS = ("amp", "kilo", "opencode")
_JUNIE = frozenset(
    {"hook_event_name", "source", "prompt", "tool_name", "tool_input", "stop_hook_active", "last_assistant_message",
     "error", "error_details", "reason"}
)  # fmt: skip
"""All that Junie ever sends."""


def recognise(payload: Payload, environ: Mapping[str, str]) -> Names:
    """The agents whose payload this can be; empty where it is nobody's."""
    for name, keys in _KEYS:
        if all(key in payload for key in keys):
            return (name,)
    if "hookEventName" in payload:
        return _with_camel_case(payload)
    if "sessionId" in payload:
        return ("copilot",) if any(key in payload for key in ("toolName", "toolArgs", "timestamp")) else ()
    event = payload.get("hook_event_name")
    if not isinstance(event, str) or not event:
        return _unnamed(payload, environ)
    if event in _EVENTS:
        return (_EVENTS[event],)
    return _like_claude_code(payload, environ) if event[0].isupper() else ()


def _with_camel_case(payload: Payload) -> Names:
    """Grok names its events in lower case; an old VS Code as Claude Code does."""
    event = payload["hookEventName"]
    own = isinstance(event, str) and event.islower()
    return ("grok",) if own or "workspaceRoot" in payload else ("vscode",)


def _unnamed(payload: Payload, environ: Mapping[str, str]) -> Names:
    if "event" in payload:
        return _with_event(payload, environ)
    if "tool" in payload and "input" in payload:
        return ("m",)
    return _PLUGINS if "session_id" in payload and "cwd" in payload else ()


def _with_event(payload: Payload, environ: Mapping[str, str]) -> Names:
    if "matcher_context" in payload or "working_dir" in payload:
        return ("goose",)
    event = payload["event"]
    is_snake = isinstance(event, str) and event.islower()
    if is_snake and environ.get("CRUSH_EVENT") != event:
        return ("claude-agent",)
    is_crush = not is_snake and environ.get("CRUSH_EVENT") == event
    return ("crush",) if is_crush else ("claude-agent", "crush")


def _like_claude_code(payload: Payload, environ: Mapping[str, str]) -> Names:
    """For those who took over its names: by what they keep elsewhere, and by what they leave out."""
    named = _by_transcript(payload) or _by_session(payload, environ) or _by_mode(payload)
    if named:
        return (named, "m") if named == "claude-code" and "M_RUN_ID" in environ else (named,)
    if "session_id" not in payload and "cwd" not in payload:
        return ("junie",) if payload.keys() <= _JUNIE and "DEVIN_PROJECT_DIR" not in environ else ("devin", "junie")
    if "turn_id" in payload and payload["hook_event_name"] != "MessageDisplay":
        return ("codex",)
    if "timestamp" in payload:
        return ("copilot", "gemini", "qwen", "vscode") if "transcript_path" in payload else ("copilot", "vscode")
    if "transcript_path" in payload:
        return ("claude-code", "codemie", "codex", "devin", "droid")
    return ("amcp", "codemie", "devin")


def _by_transcript(payload: Payload) -> str:
    path = payload.get("transcript_path")
    if not isinstance(path, str):
        return ""
    found = {name for folder, name in _FOLDERS.items() if folder in path.replace("\\", "/")}
    return found.pop() if len(found) == 1 else ""


def _by_session(payload: Payload, environ: Mapping[str, str]) -> str:
    session = payload.get("session_id")
    if not session:
        return ""
    return next((name for variable, name in _SESSIONS.items() if environ.get(variable) == session), "")


def _by_mode(payload: Payload) -> str:
    mode = payload.get("permission_mode")
    if not isinstance(mode, str):
        return ""
    return "droid" if mode.startswith("auto-") else _MODES.get(mode, "")
