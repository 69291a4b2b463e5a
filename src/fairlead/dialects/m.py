"""Project M: an agent's tool calls as `{tool, input}`, answered with a decision. It has no hook files.

Its hook asks a person about the tools that its variables name, and so do we, after every other hook.
"""

from __future__ import annotations

import os

from fairlead import surroundings, wire
from fairlead.dialects import Reply
from fairlead.dialects._common import given
from fairlead.errors import InputError
from fairlead.events import Event
from fairlead.hooks import Hook, Origin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.verdicts import Decision

NAME = "m"
TOOLS = None
CAN: Mapping[str, frozenset[str]] = {"*": frozenset({"deny", "allow"})}
DEADLINES: Mapping[str, float] = {"*": 600.0}
"""Claude Code's, which M starts."""
CAPS_STOPS = False
INPUT_VARIABLE = ""

VARIABLES: Mapping[str, str] = {
    "M_APPROVAL_TOOLS": "Edit Write Bash NotebookEdit",
    "M_INPUT_TOOLS": "AskUserQuestion",
    "M_HOOK_TIMEOUT": "300",
    "M_HOOK_DEBUG": "0",
}
"""With their defaults, which count for an empty value too."""


def own_hook(environ: Mapping[str, str]) -> Hook:
    """The one that M itself has."""
    from fairlead.handlers.approval import Approval

    values = {name: environ.get(name) or default for name, default in VARIABLES.items()}
    asking = Approval(
        text="",
        tools=tuple(values["M_APPROVAL_TOOLS"].split()),
        input_tools=tuple(values["M_INPUT_TOOLS"].split()),
        log=_debug if values["M_HOOK_DEBUG"] == "1" else None,
    )
    origin = Origin(dialect="fairlead", layer="code")
    timeout = _seconds(values["M_HOOK_TIMEOUT"])
    return Hook(
        name="approval", events=("PreToolUse",), handler=asking, origin=origin, timeout=timeout, on_error="deny"
    )


def _seconds(text: str) -> float:
    """What is no time waits as long as it would by default: nobody is let through by a slip."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    return value if 0 < value < float("inf") else float(VARIABLES["M_HOOK_TIMEOUT"])


def _debug(line: str) -> None:
    os.write(2, f"[M_HOOK] {line}\n".encode("utf-8", "replace"))


def read_event(raw: bytes, event_name: str, environ: Mapping[str, str]) -> Event:
    """The document's `{tool, input}`, or what Claude Code really sends."""
    payload = wire.decode_object(raw)
    tool = payload.pop("tool", None) or payload.get("tool_name")
    tool_input = payload.pop("input", None) or payload.get("tool_input") or {}
    if not isinstance(tool, str) or not tool:
        raise InputError("the event names no tool", hint='expected {"tool": …, "input": …}')
    fields = {
        "session_id": environ.get("M_RUN_ID", ""),
        **payload,
        "tool_name": tool,
        "tool_input": tool_input,
    }
    return Event.from_payload(fields, event_name or payload.get("hook_event_name") or "PreToolUse")


def write_reply(event: Event, decision: Decision) -> Reply:
    return Reply(stdout=wire.encode(write_result(event, decision)) + b"\n")


def write_result(event: Event, decision: Decision) -> dict[str, Any]:
    if decision.denies:
        return _blocked(event, decision.reason)
    response = decision.extra.get("response")
    if _is_claude_codes(event) and "CLAUDE_PROJECT_DIR" in surroundings.environ():
        return _allowed_in_claude_code(event, decision, response)
    return {"decision": "allow", **({} if response is None else {"response": response})}


def _blocked(event: Event, reason: str) -> dict[str, Any]:
    """Claude Code itself looks for a refusal in other places than M, and does not mind M's."""
    answer = given({"decision": "block", "message": reason})
    if not _is_claude_codes(event):
        return answer
    reason = reason or "Blocked by hook"
    inside = {"hookEventName": event.name, "permissionDecision": "deny", "permissionDecisionReason": reason}
    return {**answer, "reason": reason, **({"hookSpecificOutput": inside} if event.name == "PreToolUse" else {})}


def _allowed_in_claude_code(event: Event, decision: Decision, response: object) -> dict[str, Any]:
    """To which M's word is a mistake: it would discard the whole answer. Silence where nobody has agreed."""
    if decision.decision != "allow" or event.name != "PreToolUse":
        return {}
    from fairlead.handlers.approval import answers_to

    tool_input: dict[str, Any] = getattr(event, "tool_input", {})
    answers = {} if response is None else answers_to(tool_input, response)
    inside = {"hookEventName": event.name, "permissionDecision": "allow"}
    more = {"updatedInput": {**tool_input, "answers": answers}} if answers else {}
    return {"hookSpecificOutput": {**inside, **more}}


def _is_claude_codes(event: Event) -> bool:
    """Whether it was Claude Code that wrote it: M's own events have neither."""
    return bool(event.transcript_path or event.permission_mode)


def write_failure(event_name: str, message: str) -> Reply:
    del event_name
    return Reply(stdout=wire.encode({"decision": "block", "message": f"Fairlead: {message}"}) + b"\n")
