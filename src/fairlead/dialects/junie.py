"""Junie CLI: Claude Code's events with very little in them, answers at the top level, and a PermissionRequest that
takes silence for consent."""

from __future__ import annotations

from fairlead import wire
from fairlead.dialects import Reply
from fairlead.dialects._agents import answer, read_named, refusal
from fairlead.dialects._claude_reply import reason, rewrite
from fairlead.dialects._common import exit_2, given
from fairlead.tools import Vocabulary, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.events import Event
    from fairlead.verdicts import Decision

NAME = "junie"
TOOLS = Vocabulary(tool("Bash", "Bash"), tool("Edit", "Edit"), tool("Read", "Read"))
_NAMES = (
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "Stop", "StopFailure", "SessionEnd",
)  # fmt: skip
EVENTS: Mapping[str, str] = {name: name for name in _NAMES}
CAN: Mapping[str, frozenset[str]] = {
    "PreToolUse": frozenset({"deny", "ask", "allow", "rewrite", "context"}),
    "PermissionRequest": frozenset({"deny", "ask", "allow"}),
    "UserPromptSubmit": frozenset({"deny"}),
    # Not `context`: at Stop it would keep the turn going.
    "Stop": frozenset({"deny", "stop", "user_message"}),
    "*": frozenset(),
}
DEADLINES: Mapping[str, float] = {"Stop": 600.0, "StopFailure": 60.0, "SessionEnd": 2.0, "*": 10.0}
CAPS_STOPS = True
INPUT_VARIABLE = ""
TO_THE_DIALOG = 1
"""Exit 0 approves a PermissionRequest and 2 denies it; after anything else Junie asks its user."""


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    return read_named(wire.decode_object(raw), event_name, events=EVENTS, vocabulary=TOOLS)


def write_reply(event: Event, decision: Decision) -> Reply:
    if decision.denies and event.name in ("PermissionRequest", "UserPromptSubmit"):
        return refusal(reason(decision))
    if event.name == "PermissionRequest":
        return Reply(exit_code=0 if decision.decision == "allow" else TO_THE_DIALOG)
    return answer(write_result(event, decision))


def write_result(event: Event, decision: Decision) -> dict[str, Any]:
    if decision.denies:
        return {"decision": "block", "reason": reason(decision), **_beside(decision)}
    said = {} if decision.decision == "none" else {"decision": decision.decision, "reason": decision.reason}
    halt = {"continue": False} if decision.stop and event.name == "Stop" else {}
    return given(said) | rewrite(decision) | halt | _beside(decision)


def _beside(decision: Decision) -> dict[str, Any]:
    return given({"additionalContext": decision.for_model, "systemMessage": decision.user_message})


write_failure = exit_2
