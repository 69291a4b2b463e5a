"""What several agents' payloads need: values that may be missing or of another kind, and results in many shapes."""

from __future__ import annotations

from fairlead import tools, wire
from fairlead.errors import InputError
from fairlead.events import PostToolUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.events import Event


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def first_text(value: object) -> str:
    """The first of a list of texts: agents name all their folders, and work in the first."""
    return next((item for item in listed(value) if isinstance(item, str) and item), "")


def with_folder(fields: dict[str, Any], roots: object) -> dict[str, Any]:
    """A payload that names no working directory has the first of its workspace's folders."""
    return fields if fields.get("cwd") else {**fields, "cwd": first_text(roots)}


def parsed(value: Any) -> Any:
    """A value that was handed over as JSON text; other text stays as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[", '"')):
        return value
    try:
        return wire.decode(value)
    except InputError:
        return value


def arguments(value: Any) -> Any:
    """A tool's input, also where it came as text."""
    found = parsed(value)
    return {"input": found} if isinstance(found, str) else found


def failed(payload: Mapping[str, Any], error: object) -> dict[str, Any]:
    """The payload of a call that failed, for agents that have one event for both ends."""
    fields = {key: value for key, value in payload.items() if key != "tool_response"}
    return {**fields, "error": tools.output_text(error) or "the tool failed"}


def with_shell_result(event: Event, key: str = "output") -> Event:
    """The result of a shell in our shape; `key` is where the agent's own has its text."""
    response = event.tool_response if isinstance(event, PostToolUse) and event.tool_name == "Bash" else None
    if not isinstance(response, dict) or "stdout" in response:
        return event
    printed = response.get(key)
    stdout = printed if isinstance(printed, str) else tools.output_text(response)
    return event.but(tool_response=tools.shell_output(stdout))
