"""Windsurf Cascade: the event names the tool, and only the exit code is read."""

from __future__ import annotations

from fairlead import wire
from fairlead.dialects import Reply
from fairlead.dialects._agents import read_named, refusal, renamed
from fairlead.dialects._calls import as_patch, patch_of_edits
from fairlead.dialects._claude_reply import reason
from fairlead.dialects._common import exit_2
from fairlead.dialects._payloads import arguments, parsed
from fairlead.errors import InputError
from fairlead.tools import Vocabulary, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.events import Event
    from fairlead.verdicts import Decision

NAME = "windsurf"
TOOLS = Vocabulary(
    tool("run_command", "Bash", command_line="command"),
    tool("write_code", "Edit"),
    tool("read_code", "Read"),
)
EVENTS: Mapping[str, str] = {
    "pre_read_code": "PreToolUse",
    "post_read_code": "PostToolUse",
    "pre_write_code": "PreToolUse",
    "post_write_code": "PostToolUse",
    "pre_run_command": "PreToolUse",
    "post_run_command": "PostToolUse",
    "pre_mcp_tool_use": "PreToolUse",
    "post_mcp_tool_use": "PostToolUse",
    "pre_user_prompt": "UserPromptSubmit",
    "post_cascade_response": "Stop",
    # The same moment once more, and a worktree that is there already: events of its own.
    "post_cascade_response_with_transcript": "post_cascade_response_with_transcript",
    "post_setup_worktree": "post_setup_worktree",
}
_KEYS = {"trajectory_id": "session_id", "execution_id": "prompt_id"}
_INFO: Mapping[str, str] = {"user_prompt": "prompt", "response": "last_assistant_message", "worktree_path": "cwd"}
"""What the other events say in `tool_info`, in our words."""


# --- the agent half ----------------------------------------------------------------------------------

_BLOCKS = frozenset({"deny"})
CAN: Mapping[str, frozenset[str]] = {"PreToolUse": _BLOCKS, "UserPromptSubmit": _BLOCKS, "*": frozenset()}
DEADLINES: Mapping[str, float] = {"*": 60.0}
CAPS_STOPS = False
INPUT_VARIABLE = ""


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    payload = wire.decode_object(raw)
    named = payload.pop("agent_action_name", None)
    name = event_name or (named if isinstance(named, str) else "")
    info = payload.pop("tool_info", None)
    if info is not None and not isinstance(info, dict):
        raise InputError("tool_info must be an object")
    moment, _, own = name.partition("_")
    if own not in ("run_command", "write_code", "read_code", "mcp_tool_use") or moment not in ("pre", "post"):
        return read_named({**payload, **renamed(info or {}, _INFO)}, name, events=EVENTS, keys=_KEYS)
    return _read_call({**payload, "tool_name": own}, info or {}, name)


def _read_call(payload: dict[str, Any], info: dict[str, Any], name: str) -> Event:
    if payload["tool_name"] == "mcp_tool_use":
        return _read_mcp(payload, info, name)
    fields = {**payload, "tool_input": {key: value for key, value in info.items() if key != "cwd"}}
    if isinstance(info.get("cwd"), str):
        fields["cwd"] = info["cwd"]
    event = read_named(fields, name, events=EVENTS, vocabulary=TOOLS, keys=_KEYS)
    if payload["tool_name"] != "write_code":
        return event
    return as_patch(event, patch_of_edits(info.get("file_path"), info.get("edits")))


def _read_mcp(payload: dict[str, Any], info: dict[str, Any], name: str) -> Event:
    fields = {**payload, "tool_input": arguments(info.get("mcp_tool_arguments"))}
    if "mcp_result" in info:
        fields["tool_response"] = parsed(info["mcp_result"])
    tool_name = f"mcp__{info.get('mcp_server_name', '')}__{info.get('mcp_tool_name', '')}"
    return read_named(fields, name, events=EVENTS, vocabulary=TOOLS, keys=_KEYS, tool=tool_name)


def write_reply(event: Event, decision: Decision) -> Reply:
    return refusal(reason(decision)) if write_result(event, decision) else Reply()


def write_result(event: Event, decision: Decision) -> dict[str, Any]:
    """It reads no JSON: what `write_reply` does, for people."""
    if not decision.denies or event.name not in CAN:
        return {}
    return {"exit_code": 2, "stderr": reason(decision)}


write_failure = exit_2
