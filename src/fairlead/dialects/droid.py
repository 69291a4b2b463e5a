"""Factory Droid: Claude Code's shapes of 2025. Of several hooks the first one's JSON counts; exit 2 always blocks."""

from __future__ import annotations

from fairlead import wire
from fairlead.dialects import _claude_reply
from fairlead.dialects._agents import answer, read_named, refused
from fairlead.dialects._common import exit_2
from fairlead.tools import Vocabulary, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.dialects import Reply
    from fairlead.events import Event
    from fairlead.verdicts import Decision

NAME = "droid"
TOOLS = Vocabulary(
    tool("Execute", "Bash", summary="description"),
    tool("Create", "Write"),
    tool(
        "Edit", "Edit", old_str="old_string", old_string="old_string", new_str="new_string", new_string="new_string",
        change_all="replace_all", replace_all="replace_all",
    ),
    tool("ApplyPatch", "apply_patch", input="command", patch="command", command="command"),
    tool("Read", "Read"),
    tool("FetchUrl", "WebFetch"),
    tool("Task", "Agent"),
)  # fmt: skip
_NAMES = (
    "PreToolUse", "PostToolUse", "Notification", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact",
    "SessionStart", "SessionEnd",
)  # fmt: skip
EVENTS: Mapping[str, str] = {name: name for name in _NAMES}


# --- the agent half ----------------------------------------------------------------------------------

_SAYS = frozenset({"user_message"})
CAN: Mapping[str, frozenset[str]] = {
    # It runs the tool on `ask` where it skips permissions, and our `allow` would outdo another hook's later refusal.
    "PreToolUse": frozenset({"deny", "rewrite", "stop"}) | _SAYS,
    "PostToolUse": frozenset({"deny", "context", "stop"}) | _SAYS,
    "UserPromptSubmit": frozenset({"deny", "context", "stop"}) | _SAYS,
    "Stop": frozenset({"deny", "stop"}) | _SAYS,
    "SubagentStop": frozenset({"deny", "stop"}) | _SAYS,
    "SessionStart": frozenset({"context"}) | _SAYS,
    "*": _SAYS,
}
DEADLINES: Mapping[str, float] = {"*": 60.0}
CAPS_STOPS = False
INPUT_VARIABLE = ""

_BY_EXIT_CODE = frozenset({"PreToolUse", "PostToolUse", "UserPromptSubmit"})
"""Where exit 2 reaches further than JSON: past another hook's allow, and into the model's view after a tool."""


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    return read_named(wire.decode_object(raw), event_name, events=EVENTS, vocabulary=TOOLS)


def write_reply(event: Event, decision: Decision) -> Reply:
    if decision.denies and not decision.stop and event.name in _BY_EXIT_CODE:
        return refused(decision)
    return answer(write_result(event, decision))


def write_result(event: Event, decision: Decision) -> dict[str, Any]:
    return _claude_reply.plain(event, decision)


write_failure = exit_2
