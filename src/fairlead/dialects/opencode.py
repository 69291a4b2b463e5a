"""OpenCode, through a plugin."""

from __future__ import annotations

from fairlead.dialects import _plugin
from fairlead.tools import Vocabulary, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairlead.events import Event

NAME = "opencode"
TOOLS = Vocabulary(
    tool("bash", "Bash", workdir="cwd"),
    tool("write", "Write", filePath="file_path"),
    tool(
        "edit", "Edit", filePath="file_path", oldString="old_string", newString="new_string", replaceAll="replace_all"
    ),
    tool("multiedit", "Edit", filePath="file_path"),
    tool("apply_patch", "apply_patch", patchText="command"),
    tool("patch", "apply_patch", patchText="command"),
    tool("read", "Read", filePath="file_path"),
    tool("grep", "Grep", include="glob"),
    tool("glob", "Glob"),
    tool("webfetch", "WebFetch"),
    tool("websearch", "WebSearch"),
    tool("task", "Agent"),
    tool("todowrite", "TodoWrite"),
)  # fmt: skip
EVENTS: Mapping[str, str] = {
    "session.created": "SessionStart", "chat.message": "UserPromptSubmit", "tool.execute.before": "PreToolUse",
    "tool.execute.after": "PostToolUse", "experimental.session.compacting": "PreCompact", "session.idle": "Stop",
}  # fmt: skip
CAN: Mapping[str, frozenset[str]] = {
    "PreToolUse": frozenset({"deny", "rewrite"}),
    "PostToolUse": frozenset({"deny", "output", "context"}),
    "UserPromptSubmit": frozenset({"deny", "context"}),
    "PreCompact": frozenset({"context"}),
    "*": frozenset(),
}
DEADLINES: Mapping[str, float] = {"*": 600.0}
CAPS_STOPS = False
INPUT_VARIABLE = ""


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    return _plugin.read_event(raw, event_name, EVENTS, TOOLS)


write_reply = _plugin.write_reply
write_result = _plugin.write_result
write_failure = _plugin.write_failure
