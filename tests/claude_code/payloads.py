"""One event of each kind, as Claude Code sends them."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

COMMON: Json = {
    "session_id": "0b1e2f4c-session",
    "transcript_path": "/home/dev/.claude/projects/demo/0b1e2f4c-session.jsonl",
    "cwd": "/home/dev/demo",
}
TURN: Json = {"prompt_id": "p-1", "permission_mode": "default", "effort": {"level": "high"}}
BASH: Json = {"tool_name": "Bash", "tool_input": {"command": "make clean", "description": "tidy up"}}
MCP: Json = {"mcp_server": {"name": "memory", "source": "project"}}
SWITCH: Json = {
    "from_model": "large-1",
    "to_model": "small-2[1m]",
    "requested_model": "small",
    "source": "picker",
    "context_tokens": 1200,
    "prompt_cache_warm": False,
    "cache_ttl": "1h",
    "estimated_cache_write_usd": 0.25,
    "pricing": "catalog",
}
TASK: Json = {"task_id": "7", "task_subject": "sort", "task_description": "sort it", "teammate_name": "ann"}
ENDING: Json = {
    "stop_hook_active": False,
    "last_assistant_message": "Done.",
    "background_tasks": [{"id": "b1", "type": "shell", "status": "running", "description": "server"}],
    "session_crons": [{"id": "c1", "schedule": "0 9 * * *", "recurring": True, "prompt": "report"}],
}

_OWN: dict[str, Json] = {
    "SessionStart": {
        "source": "resume",
        "model": "large-1",
        "session_title": "tidy",
        "seconds_since_last_response": 42,
        "context_tokens": 900,
        "prompt_cache_likely_expired": True,
        "estimated_cache_write_usd": 0.5,
    },
    "Setup": {"trigger": "init"},
    "InstructionsLoaded": {
        "file_path": "/home/dev/demo/CLAUDE.md",
        "memory_type": "Project",
        "load_reason": "include",
        "globs": ["*.md"],
        "trigger_file_path": "/home/dev/demo/a.md",
        "parent_file_path": "/home/dev/demo/b.md",
    },
    "UserPromptSubmit": {**TURN, "prompt": "tidy up", "session_title": "tidy"},
    "UserPromptExpansion": {
        **TURN,
        "expansion_type": "slash_command",
        "command_name": "deploy",
        "command_args": "now",
        "command_source": "projectSettings",
        "prompt": "/deploy now",
    },
    "MessageDisplay": {"turn_id": "t1", "message_id": "m1", "index": 0, "final": True, "delta": "Hello"},
    "PreToolUse": {**TURN, **BASH, "tool_use_id": "u1", **MCP, "agent_id": "a1", "agent_type": "reviewer"},
    "PermissionRequest": {
        **TURN,
        **BASH,
        "permission_suggestions": [{"type": "setMode", "mode": "plan", "destination": "session"}],
    },
    "PermissionDenied": {**TURN, **BASH, "tool_use_id": "u1", "reason": "too risky"},
    "PostToolUse": {
        **TURN,
        **BASH,
        "tool_use_id": "u1",
        "tool_response": {"stdout": "ok", "stderr": "", "interrupted": False, "isImage": False},
        "duration_ms": 12,
    },
    "PostToolUseFailure": {
        **TURN,
        **BASH,
        "tool_use_id": "u1",
        "error": "Exit code 3",
        "is_interrupt": False,
        "duration_ms": 7.5,
    },
    "PostToolBatch": {**TURN, "tool_calls": [{**BASH, "tool_use_id": "u1", "tool_response": "ok"}]},
    "Notification": {"message": "waiting", "title": "Claude", "notification_type": "idle_prompt"},
    "SubagentStart": {"agent_id": "a1", "agent_type": "reviewer"},
    "SubagentStop": {
        **TURN,
        **ENDING,
        "agent_id": "a1",
        "agent_type": "",
        "agent_transcript_path": "/home/dev/.claude/a1.jsonl",
    },
    "TaskCreated": {**TURN, **TASK, "team_name": "blue"},
    "TaskCompleted": {**TURN, **TASK, "team_name": "blue"},
    "Stop": {**TURN, **ENDING},
    "StopFailure": {"error": "rate_limit", "error_details": {"status": 429}, "last_assistant_message": "API Error"},
    "TeammateIdle": {**TURN, "teammate_name": "ann", "team_name": "blue"},
    "ConfigChange": {"source": "project_settings", "file_path": "/home/dev/demo/.claude/settings.json"},
    "CwdChanged": {"old_cwd": "/home/dev", "new_cwd": "/home/dev/demo"},
    "DirectoryAdded": {"directory": "/home/dev/other", "source": "slash_command"},
    "FileChanged": {"file_path": "/home/dev/demo/.envrc", "event": "change"},
    "WorktreeCreate": {"name": "feature"},
    "WorktreeRemove": {"worktree_path": "/home/dev/trees/feature"},
    "PreCompact": {"trigger": "auto", "custom_instructions": None},
    "PostCompact": {"trigger": "manual", "compact_summary": "short"},
    "PreModelSwitch": SWITCH,
    "PostModelSwitch": {**SWITCH, "source": "auto"},
    "SessionEnd": {"reason": "logout"},
    "Elicitation": {
        "mcp_server_name": "memory",
        "message": "Which one?",
        "mode": "form",
        "url": "https://example.com",
        "elicitation_id": "e1",
        "requested_schema": {"type": "object", "properties": {"which": {"type": "string"}}},
    },
    "ElicitationResult": {
        "mcp_server_name": "memory",
        "action": "accept",
        "content": {"which": "first"},
        "mode": "form",
        "elicitation_id": "e1",
    },
}
EVENTS: dict[str, Json] = {name: {**COMMON, "hook_event_name": name, **own} for name, own in _OWN.items()}

MATCHED: dict[str, str] = {
    "SessionStart": "resume",
    "Setup": "init",
    "InstructionsLoaded": "include",
    "UserPromptExpansion": "deploy",
    "PreToolUse": "Bash",
    "PermissionRequest": "Bash",
    "PermissionDenied": "Bash",
    "PostToolUse": "Bash",
    "PostToolUseFailure": "Bash",
    "Notification": "idle_prompt",
    "SubagentStart": "reviewer",
    "SubagentStop": "",
    "StopFailure": "rate_limit",
    "ConfigChange": "project_settings",
    "DirectoryAdded": "slash_command",
    "FileChanged": ".envrc",
    "PreCompact": "auto",
    "PostCompact": "manual",
    "PreModelSwitch": "small-2",
    "PostModelSwitch": "small-2",
    "SessionEnd": "logout",
    "Elicitation": "memory",
    "ElicitationResult": "memory",
}
"""What a matcher is compared with; the other events have nothing to compare."""
