"""Goose: hooks of plugins. Exit 2 refuses, before a tool and at the end of a turn; every other event only tells."""

from __future__ import annotations

from fairlead import tools, wire
from fairlead.dialects import Reply
from fairlead.dialects._agents import read_named, refused, renamed
from fairlead.dialects._calls import qualified_mcp_name
from fairlead.dialects._claude_reply import reason
from fairlead.dialects._common import exit_2
from fairlead.dialects._payloads import text
from fairlead.tools import Vocabulary, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.events import Event
    from fairlead.verdicts import Decision

NAME = "goose"
_EDITOR = "developer__text_editor"
_PATH = {"path": "file_path"}
TOOLS = Vocabulary(
    tool("developer__shell", "Bash"),
    tool(_EDITOR, "Write", {"command": "write"}, file_text="content", content="content", **_PATH),
    tool(_EDITOR, "Edit", {"command": "str_replace"}, old_str="old_string", new_str="new_string", **_PATH),
    tool(_EDITOR, "Edit", {"command": "insert"}, new_str="new_string", **_PATH),
    tool(_EDITOR, "Edit", {"command": "undo_edit"}, **_PATH),
    tool(_EDITOR, "Read", {"command": "view"}, **_PATH),
    tool(_EDITOR, "Edit", **_PATH),
    *(
        known
        for prefix in ("", "developer__")
        for known in (
            tool(f"{prefix}shell", "Bash"),
            tool(f"{prefix}write", "Write", **_PATH),
            tool(f"{prefix}edit", "Edit", before="old_string", after="new_string", **_PATH),
            tool(f"{prefix}read", "Read", **_PATH),
            tool(f"{prefix}read_image", "Read", source="file_path", **_PATH),
            tool(f"{prefix}tree", "LS"),
            tool(f"{prefix}web_fetch", "WebFetch"),
        )
    ),
    mcp="{server}__{tool}",
)
EVENTS: Mapping[str, str] = {
    "SessionStart": "SessionStart",
    "SessionEnd": "SessionEnd",
    "Stop": "Stop",
    "UserPromptSubmit": "UserPromptSubmit",
    "PreToolUse": "PreToolUse",
    "PostToolUse": "PostToolUse",
    "PostToolUseFailure": "PostToolUseFailure",
    # The same calls once more, after PreToolUse and PostToolUse; a refusal comes too late here.
    "BeforeReadFile": "PreToolUse",
    "BeforeShellExecution": "PreToolUse",
    "AfterFileEdit": "PostToolUse",
    "AfterShellExecution": "PostToolUse",
}
_KEYS = {
    "event": "hook_event_name",
    "working_dir": "cwd",
    "tool_call_id": "tool_use_id",
    "tool_output": "tool_response",
    "message": "prompt",
}


# --- the agent half ----------------------------------------------------------------------------------

CAN: Mapping[str, frozenset[str]] = {
    "PreToolUse": frozenset({"deny"}),
    "Stop": frozenset({"deny"}),
    "*": frozenset(),
}
DEADLINES: Mapping[str, float] = {"*": 30.0}
CAPS_STOPS = False
INPUT_VARIABLE = ""


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    fields = renamed(wire.decode_object(raw), _KEYS)
    if "tool_name" in fields:
        name = qualified_mcp_name(TOOLS, text(fields["tool_name"]), fields.get("tool_input"))
        fields = tools.read_call(TOOLS, fields, name)
    if (event_name or fields.get("hook_event_name")) == "PostToolUseFailure":
        fields.setdefault("error", tools.output_text(fields.get("tool_response")))
    return read_named(fields, event_name, events=EVENTS)


def write_reply(_event: Event, decision: Decision) -> Reply:
    return refused(decision) if decision.denies else Reply()


def write_result(_event: Event, decision: Decision) -> dict[str, Any]:
    return {"decision": "block", "reason": reason(decision)} if decision.denies else {}


write_failure = exit_2
