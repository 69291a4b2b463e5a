"""Devin CLI: Claude Code's payload, and a decision at the top of the answer; it can refuse, and little else."""

from __future__ import annotations

from fairlead import tools, wire
from fairlead.dialects import Reply
from fairlead.dialects._agents import read_named
from fairlead.dialects._calls import in_folder
from fairlead.dialects._claude_reply import reason
from fairlead.dialects._common import exit_2, given, text_in
from fairlead.tools import Vocabulary, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.events import Event
    from fairlead.verdicts import Decision

NAME = "devin"
TOOLS = Vocabulary(
    tool("exec", "Bash"),
    tool("read", "Read", file_path="file_path", path="file_path"),
    tool("write", "Write", file_path="file_path", path="file_path"),
    tool("edit", "Edit", file_path="file_path", path="file_path"),
    tool("apply_patch", "apply_patch", command="command", input="command", patch="command"),
    tool("grep", "Grep"),
    tool("glob", "Glob"),
)
EVENTS: Mapping[str, str] = {
    "PreToolUse": "PreToolUse",
    "PostToolUse": "PostToolUse",
    "PermissionRequest": "PermissionRequest",
    "UserPromptSubmit": "UserPromptSubmit",
    "Stop": "Stop",
    "SessionStart": "SessionStart",
    "SessionEnd": "SessionEnd",
    "PostCompaction": "PostCompact",
}


# --- the agent half ----------------------------------------------------------------------------------

_REFUSES = frozenset({"deny"})
CAN: Mapping[str, frozenset[str]] = {
    "PreToolUse": _REFUSES,
    "PermissionRequest": frozenset({"deny", "ask", "allow"}),  # to ask is to say nothing: it was about to
    "UserPromptSubmit": _REFUSES,
    "Stop": _REFUSES,
    "*": frozenset(),
}
DEADLINES: Mapping[str, float] = {"*": 60.0}
CAPS_STOPS = False
INPUT_VARIABLE = ""


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    payload = wire.decode_object(raw)
    name = event_name or payload.get("hook_event_name") or ""
    if "tool_name" in payload:
        payload = in_folder(tools.read_call(TOOLS, payload), "exec_dir")
    if name == "PostToolUse":
        name, payload = _after(payload)
    return read_named(payload, name, events=EVENTS, keys={"summary": "compact_summary"})


def _after(fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Its one event for a tool that went well and for one that did not."""
    response = fields.get("tool_response")
    if not isinstance(response, dict):
        return "PostToolUse", fields
    if response.get("success") is False:
        return "PostToolUseFailure", {**fields, "error": text_in(response, "error") or text_in(response, "output")}
    if fields.get("tool_name") == "Bash":
        output = tools.shell_output(text_in(response, "output"), text_in(response, "error"))
        fields = {**fields, "tool_response": output}
    return "PostToolUse", fields


def write_reply(event: Event, decision: Decision) -> Reply:
    fields = write_result(event, decision)
    if not fields:
        return Reply()
    stdout = wire.encode(fields) + b"\n"
    return (
        Reply(stdout=stdout, stderr=f"{reason(decision)}\n", exit_code=2) if decision.denies else Reply(stdout=stdout)
    )


def write_result(_event: Event, decision: Decision) -> dict[str, Any]:
    if decision.denies:
        return {"decision": "block", "reason": reason(decision)}
    return given({"decision": "approve", "reason": decision.reason}) if decision.decision == "allow" else {}


write_failure = exit_2
