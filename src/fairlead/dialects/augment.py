"""Augment (Auggie CLI and its editor plugins): Claude Code's answer inside, a payload without session and folder."""

from __future__ import annotations

from fairlead import tools, wire
from fairlead.dialects._agents import answer, read_named, refused, renamed
from fairlead.dialects._calls import in_folder, read_as, read_parts, removal
from fairlead.dialects._claude_reply import reason, rewrite
from fairlead.dialects._common import exit_2, given
from fairlead.dialects._payloads import listed, text, with_folder
from fairlead.tools import PATCH, Vocabulary, tool
from fairlead.verdicts import join_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.dialects import Reply
    from fairlead.events import Event
    from fairlead.verdicts import Decision

NAME = "augment"
_PATH = {"path": "file_path"}
TOOLS = Vocabulary(
    tool("launch-process", "Bash"),
    tool("write-process", "Bash", input_text="command"),  # what is typed into a shell is a command as well
    tool("save-file", "Write", file_content="content", content="content", **_PATH),
    tool(
        "str-replace-editor", "Edit", old_str_1="old_string", old_str="old_string", new_str_1="new_string",
        new_str="new_string", **_PATH,
    ),
    tool("view", "Read", **_PATH),
    tool("web-fetch", "WebFetch"),
    tool("web-search", "WebSearch"),
    mcp="mcp:{tool}_{server}",
)  # fmt: skip
EVENTS: Mapping[str, str] = {
    "PreToolUse": "PreToolUse",
    "PostToolUse": "PostToolUse",
    "Stop": "Stop",
    "SessionStart": "SessionStart",
    "SessionEnd": "SessionEnd",
    "Notification": "Notification",
    "PromptSubmit": "UserPromptSubmit",
}
_KEYS = {"conversation_id": "session_id", "tool_output": "tool_response", "tool_error": "error"}
_OWN_NAMES = {"PostToolUseFailure": "PostToolUse", "UserPromptSubmit": "PromptSubmit"}


# --- the agent half ----------------------------------------------------------------------------------

_SAYS = frozenset({"user_message"})
_AFTER = frozenset({"deny", "context"}) | _SAYS
CAN: Mapping[str, frozenset[str]] = {
    "PreToolUse": frozenset({"deny", "rewrite_over"}) | _SAYS,  # whether it replaces or merges is not documented
    "PostToolUse": _AFTER,  # it cannot be blocked; a refusal is what the model is told about it
    "PostToolUseFailure": _AFTER,
    "Stop": frozenset({"deny"}) | _SAYS,
    "SessionStart": frozenset({"context"}) | _SAYS,
    "*": _SAYS,
}
DEADLINES: Mapping[str, float] = {"*": 60.0}
CAPS_STOPS = False
INPUT_VARIABLE = ""


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    fields = renamed(wire.decode_object(raw), _KEYS)
    name = event_name or text(fields.get("hook_event_name"))
    fields = with_folder(fields, fields.get("workspace_roots"))
    if "tool_name" in fields:
        fields = in_folder(_call(fields), "cwd")
    if name == "PostToolUse" and fields.get("error"):
        name = "PostToolUseFailure"
    if name == "Stop":
        name, fields = _end(fields)
    return read_named(fields, name, events=EVENTS)


def _end(fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Whoever was interrupted must not be kept going."""
    said = fields.get("conversation")
    if isinstance(said, dict) and isinstance(said.get("agentTextResponse"), str):
        fields = {**fields, "last_assistant_message": said["agentTextResponse"]}
    return ("Interrupt" if fields.get("agent_stop_cause") == "interrupted" else "Stop"), fields


def _call(fields: dict[str, Any]) -> dict[str, Any]:
    own, tool_input = fields.get("tool_name"), fields.get("tool_input")
    if not isinstance(own, str) or not isinstance(tool_input, dict):
        return tools.read_call(TOOLS, fields)
    if own == "remove-files":
        return read_as(TOOLS, fields, PATCH, removal(listed(tool_input.get("file_paths"))))
    edits = _edits(tool_input) if own == "str-replace-editor" else []
    if len(edits) > 1:
        return read_parts(TOOLS, fields, edits)
    return tools.read_call(TOOLS, fields, _mcp_name(own))


def _edits(tool_input: dict[str, Any]) -> list[dict[str, Any]]:
    """One input for each of its numbered replacements."""
    numbers = dict.fromkeys(key.rpartition("_")[2] for key in tool_input if key.startswith(("old_str_", "new_str_")))
    common = {key: value for key, value in tool_input.items() if not key.startswith(("old_str_", "new_str_"))}
    return [
        common | given({f"{word}_1": tool_input.get(f"{word}_{number}") for word in ("old_str", "new_str")})
        for number in numbers
    ]


def _mcp_name(own: str) -> str:
    """It puts the server last; where the tool's name ends is a guess: at the last underscore."""
    name, _, server = own.removeprefix("mcp:").rpartition("_")
    return f"mcp__{server}__{name}" if own.startswith("mcp:") and server and name else ""


def write_reply(event: Event, decision: Decision) -> Reply:
    decision = _possible(event, decision)
    if decision.denies and event.name == "PreToolUse":
        return refused(decision)
    return answer(write_result(event, decision))


def _possible(event: Event, decision: Decision) -> Decision:
    """Its tool for removing files has no place for what a patch could be changed into."""
    if decision.updated_input is None or decision.denies or getattr(event, "tool_name", "") != "remove-files":
        return decision
    return decision.but(
        decision="deny", said="", reason="a hook wants to change which files are removed; do it by hand"
    )


def write_result(event: Event, decision: Decision) -> dict[str, Any]:
    decision = _possible(event, decision)
    inner = _inside(event, decision)
    name = _OWN_NAMES.get(event.name, event.name)
    specific = {"hookSpecificOutput": {"hookEventName": name, **inner}} if inner else {}
    return specific | given({"systemMessage": decision.user_message})


def _inside(event: Event, decision: Decision) -> dict[str, Any]:
    if event.name == "PreToolUse":
        return _before(decision)
    if event.name == "Stop":
        return {"decision": "block", "reason": reason(decision)} if decision.denies else {}
    told = (reason(decision) if decision.denies else "", decision.for_model)
    return given({"additionalContext": join_lines(told)})


def _before(decision: Decision) -> dict[str, Any]:
    if decision.denies:
        return {"permissionDecision": "deny", "permissionDecisionReason": reason(decision)}
    changed = rewrite(decision)
    return {"permissionDecision": "allow", **changed} if changed else {}


write_failure = exit_2
