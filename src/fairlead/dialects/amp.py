"""Amp, through a plugin."""

from __future__ import annotations

from fairlead.dialects import _plugin
from fairlead.tools import Vocabulary, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairlead.events import Event

NAME = "amp"
TOOLS = Vocabulary(
    tool("shell_command", "Bash", workdir="cwd"),
    tool("Bash", "Bash", cmd="command", cwd="cwd"),
    tool("create_file", "Write", path="file_path"),
    tool("edit_file", "Edit", path="file_path", old_str="old_string", new_str="new_string"),
    tool("undo_edit", "Edit", path="file_path"),
    tool("apply_patch", "apply_patch", patchText="command"),
    tool("Read", "Read", path="file_path"),
    tool("Grep", "Grep"),
    tool("glob", "Glob", filePattern="pattern"),
    tool("read_web_page", "WebFetch"),
    tool("web_search", "WebSearch", objective="query"),
    tool("Task", "Agent"),
)
EVENTS: Mapping[str, str] = {
    "session.start": "SessionStart", "agent.start": "UserPromptSubmit", "tool.call": "PreToolUse",
    "tool.result": "PostToolUse", "agent.end": "Stop",
}  # fmt: skip
CAN: Mapping[str, frozenset[str]] = {"PreToolUse": frozenset({"deny", "rewrite"}), "*": frozenset()}
DEADLINES: Mapping[str, float] = {"*": 600.0}
CAPS_STOPS = False
INPUT_VARIABLE = ""


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    return _plugin.read_event(raw, event_name, EVENTS, TOOLS)


write_reply = _plugin.write_reply
write_result = _plugin.write_result
write_failure = _plugin.write_failure
