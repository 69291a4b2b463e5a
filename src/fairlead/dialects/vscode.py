"""VS Code's agent: Claude Code's shapes, but for Stop, whose decision stands in `hookSpecificOutput`."""

from __future__ import annotations

from fairlead import patches, wire
from fairlead.dialects import _claude_reply
from fairlead.dialects._agents import answer, read_named, renamed
from fairlead.dialects._calls import as_patch, patch_of_files, refused_as_patch
from fairlead.dialects._common import exit_2
from fairlead.dialects._payloads import parsed, with_shell_result
from fairlead.events import ToolEvent
from fairlead.tools import Vocabulary, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.dialects import Reply
    from fairlead.events import Event
    from fairlead.verdicts import Decision

NAME = "vscode"
_EDIT = {"filePath": "file_path", "oldString": "old_string", "newString": "new_string"}
_TERMINALS = ("run_in_terminal", "runTerminalCommand", "runInTerminal")
TOOLS = Vocabulary(
    *(tool(name, "Bash") for name in _TERMINALS),
    *(tool(name, "Write", filePath="file_path") for name in ("create_file", "createFile")),
    *(tool(name, "Edit", **_EDIT) for name in ("replace_string_in_file", "replaceStringInFile")),
    tool("insert_edit_into_file", "Edit", filePath="file_path", code="new_string"),
    tool("edit_notebook_file", "NotebookEdit", filePath="notebook_path", newCode="new_source"),
    tool("apply_patch", "apply_patch", input="command"),
    *(tool(name, "Read", filePath="file_path", startLine="offset") for name in ("read_file", "readFile")),
    tool("grep_search", "Grep", query="pattern"),
    tool("file_search", "Glob", query="pattern"),
    tool("fetch_webpage", "WebFetch"),
    *(tool(name, "Agent") for name in ("runSubagent", "run_subagent")),
    tool("manage_todo_list", "TodoWrite", todoList="todos"),
    mcp="mcp_{server}_{tool}",
)
EVENTS: Mapping[str, str] = {
    name: name
    for name in (
        "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PreCompact", "SubagentStart",
        "SubagentStop", "Stop",
    )
}  # fmt: skip
_KEYS = {
    "hookEventName": "hook_event_name", "sessionId": "session_id", "transcriptPath": "transcript_path",
    "toolName": "tool_name", "toolInput": "tool_input", "toolUseId": "tool_use_id", "toolResponse": "tool_response",
    "stopHookActive": "stop_hook_active", "agentId": "agent_id", "agentType": "agent_type",
}  # fmt: skip
"""As older versions wrote them."""
_SEVERAL = ("multi_replace_string_in_file", "multiReplaceStringInFile", "editFiles", "edit_files")
"""Tools that change several files in one call."""


# --- the agent half ----------------------------------------------------------------------------------

_TALKS = frozenset({"user_message", "stop"})
CAN: Mapping[str, frozenset[str]] = {
    "PreToolUse": frozenset({"deny", "ask", "allow", "rewrite", "context"}) | _TALKS,
    "PostToolUse": frozenset({"deny", "context"}) | _TALKS,
    "UserPromptSubmit": frozenset({"deny"}) | _TALKS,
    "SessionStart": frozenset({"context"}) | _TALKS,
    "SubagentStart": frozenset({"context"}) | _TALKS,
    "Stop": frozenset({"deny"}) | _TALKS,
    "SubagentStop": frozenset({"deny"}) | _TALKS,
    "PreCompact": _TALKS,
    "*": frozenset(),
}
DEADLINES: Mapping[str, float] = {"*": 30.0}
CAPS_STOPS = False
INPUT_VARIABLE = ""


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    payload = renamed(wire.decode_object(raw), _KEYS)
    if "tool_input" in payload:
        payload["tool_input"] = parsed(payload["tool_input"])
    event = read_named(payload, event_name, events=EVENTS, vocabulary=TOOLS)
    if isinstance(event, ToolEvent) and event.tool_name in _SEVERAL:
        event = as_patch(event, _patch(event.tool_input))
    return with_shell_result(event)


def _patch(tool_input: Mapping[str, Any]) -> str:
    replacements = tool_input.get("replacements")
    if not isinstance(replacements, list):
        files = tool_input.get("files")
        return patch_of_files(files) if isinstance(files, list) else ""
    found = [_replacement(each) for each in replacements if isinstance(each, dict)]
    return "\n".join(text for text in found if text)


def _replacement(each: Mapping[str, Any]) -> str:
    edit = renamed(each, _EDIT)
    return patches.of_call("Edit", edit) or patch_of_files([edit.get("file_path")])


def write_reply(event: Event, decision: Decision) -> Reply:
    return answer(write_result(event, decision))


def write_result(event: Event, decision: Decision) -> dict[str, Any]:
    decision = refused_as_patch(event, decision, _SEVERAL)
    if event.name in ("Stop", "SubagentStop"):
        return _at_the_end(event, decision)
    found = _claude_reply.plain(event, decision)
    if decision.denies and event.name == "UserPromptSubmit":
        found |= {"continue": False, "stopReason": _claude_reply.reason(decision)}
    return found


def _at_the_end(event: Event, decision: Decision) -> dict[str, Any]:
    """What ends the turn cannot keep it going as well."""
    if decision.stop:
        return _claude_reply.plain(event, decision.but(decision="none", said=""))
    found = _claude_reply.plain(event, decision)
    if decision.denies:
        said = {"decision": found.pop("decision"), "reason": found.pop("reason")}
        found = {"hookSpecificOutput": {"hookEventName": event.name, **said}, **found}
        return found if event.name == "Stop" else {**found, **said}
    return found


write_failure = exit_2
