"""Antigravity: payloads that do not name their event, arguments in PascalCase, a decision that is never left out."""

from __future__ import annotations

from fairlead import wire
from fairlead.dialects._agents import answer, denied, read_named, renamed
from fairlead.dialects._claude_reply import reason
from fairlead.dialects._common import given
from fairlead.dialects._payloads import failed, first_text
from fairlead.events import ToolEvent
from fairlead.tools import Vocabulary, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.dialects import Reply
    from fairlead.events import Event
    from fairlead.verdicts import Decision

NAME = "antigravity"
TOOLS = Vocabulary(
    tool("run_command", "Bash", CommandLine="command", Cwd="cwd"),
    tool("write_to_file", "Write", TargetFile="file_path", CodeContent="content"),
    tool(
        "replace_file_content", "Edit",
        TargetFile="file_path", TargetContent="old_string", ReplacementContent="new_string",
        AllowMultiple="replace_all",
    ),
    tool("multi_replace_file_content", "Edit", TargetFile="file_path", ReplacementChunks="edits"),
    tool("view_file", "Read", AbsolutePath="file_path"),
    tool("grep_search", "Grep", Query="pattern", SearchPath="path"),
    tool("find_by_name", "Glob", Pattern="pattern", SearchDirectory="path"),
    tool("read_url_content", "WebFetch", Url="url"),
    tool("search_web", "WebSearch"),
)  # fmt: skip
EVENTS: Mapping[str, str] = {
    "PreInvocation": "UserPromptSubmit", "PostInvocation": "PostModelRequest", "PreToolUse": "PreToolUse",
    "PostToolUse": "PostToolUse", "Stop": "Stop",
}  # fmt: skip
CAN: Mapping[str, frozenset[str]] = {
    "PreToolUse": frozenset({"deny", "ask", "allow"}),
    "UserPromptSubmit": frozenset({"context"}),
    "Stop": frozenset({"deny"}),
    "*": frozenset(),
}
DEADLINES: Mapping[str, float] = {"*": 30.0}
CAPS_STOPS = False
INPUT_VARIABLE = ""
_KEYS = {"conversationId": "session_id", "transcriptPath": "transcript_path"}
_MCP = "call_mcp_tool"
_WORDS = {"deny": "deny", "allow": "allow", "ask": "force_ask", "none": "ask"}
"""`allow` would skip its own question, and silence is no answer: with `ask` it does what it would have done. A hook
that asks means it: `force_ask` also asks where its user has said "always"."""


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    payload = wire.decode_object(raw)
    fields = _about_session(payload) | _call(payload, event_name)
    name = event_name
    if name == "PreInvocation" and fields.get("invocationNum"):
        name = "PreModelRequest"  # only the first request of a turn follows upon a prompt
    if name == "PostToolUse" and payload.get("error"):
        name, fields = "PostToolUseFailure", failed(fields, payload["error"])
    return _of_mcp(read_named(fields, name, events=EVENTS, vocabulary=TOOLS))


def _about_session(payload: dict[str, Any]) -> dict[str, Any]:
    fields = {key: value for key, value in payload.items() if key not in ("toolCall", "error")}
    return renamed(fields, _KEYS) | {"cwd": first_text(payload.get("workspacePaths")) or payload.get("cwd")}


def _call(payload: Mapping[str, Any], event_name: str) -> dict[str, Any]:
    """After a tool it may be left out which one it was; before one that is a mistake."""
    call, number = payload.get("toolCall"), payload.get("stepIdx")
    if not isinstance(call, dict):
        call = {"name": "unknown"} if event_name == "PostToolUse" else {}
    said = {"tool_name": call.get("name"), "tool_input": call.get("args") or {}} if call else {}
    return said if number is None else {**said, "tool_use_id": str(number)}


def _of_mcp(event: Event) -> Event:
    """One tool of its own calls those of all MCP servers."""
    if not isinstance(event, ToolEvent) or event.tool_name != _MCP or event.spoken is None:
        return event
    server, name = event.tool_input.get("ServerName"), event.tool_input.get("ToolName")
    arguments = event.tool_input.get("Arguments")
    if not isinstance(server, str) or not isinstance(name, str) or not isinstance(arguments, dict):
        return event
    return event.but(tool_name=f"mcp__{server}__{name}", tool_input=arguments, spoken=event.spoken.but(meant=arguments))


def write_reply(event: Event, decision: Decision) -> Reply:
    return answer(write_result(event, decision), always=True)


def write_result(event: Event, decision: Decision) -> dict[str, Any]:
    if event.name == "PreToolUse":
        return {"decision": _WORDS.get(decision.decision, "deny"), **given({"reason": _why(decision)})}
    if event.name == "Stop":
        return {"decision": "continue", "reason": reason(decision)} if decision.denies else {"decision": "stop"}
    if event.name == "UserPromptSubmit" and decision.for_model:
        return {"injectSteps": [{"ephemeralMessage": decision.for_model}]}
    return {}


def _why(decision: Decision) -> str:
    if decision.decision == "none":
        return ""
    return reason(decision) if decision.denies else decision.reason


def write_failure(event_name: str, message: str) -> Reply:
    """Where the event is not known, as if it were a tool call."""
    if event_name in ("PostToolUse", "PreInvocation", "PostInvocation"):
        return answer({}, always=True).but(stderr=f"Fairlead: {message}\n")
    if event_name == "Stop":  # nobody counts these: it must not go on for ever
        return answer({"decision": "stop", "reason": f"Fairlead: {message}"})
    return denied(event_name, message)
