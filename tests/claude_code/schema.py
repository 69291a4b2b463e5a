"""The answers that Claude Code reads, as JSON Schema: for each event exactly the keys that it knows."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

TEXT: Json = {"type": "string", "minLength": 1}
YES: Json = {"const": True}
OBJECT: Json = {"type": "object"}
PATHS: Json = {"type": "array", "items": TEXT}

_TALKS: Json = {"systemMessage": TEXT, "continue": {"const": False}, "stopReason": TEXT}
_BLOCK: Json = {"decision": {"const": "block"}, "reason": TEXT}
_CONTEXT: Json = {"additionalContext": TEXT}
_ACTION: Json = {"action": {"enum": ["accept", "decline", "cancel"]}, "content": OBJECT}
_SWITCH: Json = {"permissionDecision": {"enum": ["allow", "deny", "ask"]}, "permissionDecisionReason": TEXT}
_TOOL: Json = {
    "permissionDecision": {"enum": ["allow", "deny", "ask", "defer"]},
    "permissionDecisionReason": TEXT,
    "updatedInput": OBJECT,
}
_PERMISSION: Json = {
    "oneOf": [
        {
            "type": "object",
            "properties": {
                "behavior": {"const": "allow"},
                "updatedInput": OBJECT,
                "updatedPermissions": {"type": "array"},
            },
            "required": ["behavior"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"behavior": {"const": "deny"}, "message": TEXT, "interrupt": {"type": "boolean"}},
            "required": ["behavior", "message"],
            "additionalProperties": False,
        },
    ]
}

# event: what it reads at the top, and inside hookSpecificOutput
_EVENTS: dict[str, tuple[Json, Json]] = {
    "PreToolUse": (_TALKS, {**_TOOL, **_CONTEXT}),
    "PermissionRequest": (_TALKS, {"decision": _PERMISSION}),
    "PermissionDenied": (_TALKS, {"retry": YES}),
    "PostToolUse": ({**_TALKS, **_BLOCK}, {**_CONTEXT, "updatedToolOutput": {}, "classifierContext": TEXT}),
    "PostToolUseFailure": ({**_TALKS, **_BLOCK}, _CONTEXT),
    "PostToolBatch": ({**_TALKS, **_BLOCK}, _CONTEXT),
    "UserPromptSubmit": (
        {**_TALKS, **_BLOCK},
        {**_CONTEXT, "suppressOriginalPrompt": {"type": "boolean"}, "sessionTitle": TEXT},
    ),
    "UserPromptExpansion": ({**_TALKS, **_BLOCK}, _CONTEXT),
    "SessionStart": (
        {"systemMessage": TEXT},
        {**_CONTEXT, "initialUserMessage": TEXT, "sessionTitle": TEXT, "watchPaths": PATHS, "reloadSkills": YES},
    ),
    "SubagentStart": (_TALKS, _CONTEXT),
    "Stop": ({**_TALKS, **_BLOCK}, _CONTEXT),
    "SubagentStop": ({**_TALKS, **_BLOCK}, _CONTEXT),
    "TaskCreated": ({"systemMessage": TEXT, **_BLOCK}, {}),
    "TaskCompleted": ({**_TALKS, **_BLOCK}, {}),
    "TeammateIdle": ({**_TALKS, **_BLOCK}, {}),
    "ConfigChange": (_BLOCK, {}),
    "PreCompact": (_BLOCK, {}),
    "PreModelSwitch": (_TALKS, _SWITCH),
    "PostModelSwitch": (_TALKS, _CONTEXT),
    "Elicitation": ({}, _ACTION),
    "ElicitationResult": ({}, _ACTION),
    "WorktreeCreate": ({}, {"worktreePath": TEXT}),
    "CwdChanged": ({"systemMessage": TEXT}, {"watchPaths": PATHS}),
    "FileChanged": ({"systemMessage": TEXT}, {"watchPaths": PATHS}),
    "DirectoryAdded": ({"systemMessage": TEXT}, {}),
    "MessageDisplay": ({}, {"displayContent": TEXT}),
}


def schema_for(event: str) -> Json:
    top, inside = _EVENTS.get(event, ({}, {}))
    specific = {
        "type": "object",
        "properties": {"hookEventName": {"const": event}, **inside},
        "required": ["hookEventName"],
        "minProperties": 2,
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "suppressOutput": YES,
            "terminalSequence": TEXT,
            **top,
            **({"hookSpecificOutput": specific} if inside else {}),
        },
        "dependentRequired": {"decision": ["reason"], "reason": ["decision"], "stopReason": ["continue"]},
        "additionalProperties": False,
    }
