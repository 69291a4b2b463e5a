"""What several agents' payloads need: results in many shapes, failures under the same event, lists of folders."""

from __future__ import annotations

from fairlead import tools
from fairlead.errors import InputError
from fairlead.events import PostToolUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.events import Event


def with_shell_result(event: Event, key: str = "output") -> Event:
    """The result of a shell in Claude Code's shape; `key` is where the agent's own has its text."""
    response = event.tool_response if isinstance(event, PostToolUse) and event.tool_name == "Bash" else None
    if not isinstance(response, dict) or "stdout" in response:
        return event
    text = response.get(key)
    stdout = text if isinstance(text, str) else tools.output_text(response)
    return event.but(tool_response={"stdout": stdout, "stderr": "", "interrupted": False})


def failed(payload: Mapping[str, Any], error: object) -> dict[str, Any]:
    """The payload of a call that failed, for agents that have one event for both ends."""
    fields = {key: value for key, value in payload.items() if key != "tool_response"}
    return {**fields, "error": tools.output_text(error) or "the tool failed"}


def first_text(value: object) -> str:
    """The first of a list of texts: agents name all their folders, and work in the first."""
    return next((item for item in value if isinstance(item, str) and item), "") if isinstance(value, list) else ""


def named_once(tool_input: object) -> None:
    """For tools that may know a file by either key: which of two they take nobody can say."""
    if not isinstance(tool_input, dict) or "path" not in tool_input or "file_path" not in tool_input:
        return
    if tool_input["path"] != tool_input["file_path"]:
        raise InputError("the call names two files, as path and as file_path", hint="name one")
