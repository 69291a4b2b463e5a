"""What agents send in a shape of their own: JSON inside strings, edits that are no single `Edit`.

Edits of several places or files, and deletions, become a patch: hooks for `Edit` and for `Write` both look at one,
file by file.
"""

from __future__ import annotations

from fairlead import patches, tools, wire
from fairlead.errors import InputError
from fairlead.events import ToolEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    from fairlead.events import Event
    from fairlead.verdicts import Decision


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


class KeepingMcpNames(tools.Vocabulary):
    """Shows hooks an MCP tool under our name, which says the server: their half writes it in their system's words."""

    __slots__ = ()

    def write(self, name: str, tool_input: dict[str, Any], like: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        return (name, tool_input) if name.startswith("mcp__") else super().write(name, tool_input, like)


# --- patches -----------------------------------------------------------------------------------------


def as_patch(event: Event, text: str) -> Event:
    """The same call as a patch; the agent's own words stay beside it."""
    if not text or not isinstance(event, ToolEvent) or event.spoken is None:
        return event
    meant = {"command": text}
    return event.but(tool_name=tools.PATCH, tool_input=meant, spoken=event.spoken.but(meant=meant))


def patch_of_edits(path: Any, edits: Any) -> str:
    """One file, several places; empty where that is not what is there."""
    if not isinstance(edits, list) or not edits:
        return ""
    if len(edits) == 1 and isinstance(edits[0], dict) and edits[0].get("old_string") == "":
        return patches.of_call("Write", {"file_path": path, "content": edits[0].get("new_string")})
    parts = [patches.of_call("Edit", {**edit, "file_path": path}) if isinstance(edit, dict) else "" for edit in edits]
    if not all(parts):
        return ""
    hunks = [line for part in parts for line in part.split("\n")[2:-1]]
    return "\n".join([*parts[0].split("\n")[:2], *hunks, "*** End Patch"])


def patch_of_files(paths: Iterable[Any], mark: str = "Update") -> str:
    """Files of which nothing is known but that they are changed (or deleted)."""
    lines = [f"*** {mark} File: {path}" for path in paths if isinstance(path, str) and path and "\n" not in path]
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"]) if lines else ""


def refused_as_patch(event: Event, decision: Decision, own_tools: Collection[str]) -> Decision:
    """What became a patch on the way in has no way back: a rewrite of it is a refusal that says what is wanted."""
    wanted = decision.updated_input
    if wanted is None or getattr(event, "tool_name", "") not in own_tools:
        return decision
    if decision.denies or "command" not in wanted:
        return decision
    reason = f"a hook wants this patch instead, and this tool cannot take one: {wanted['command']}"
    return decision.but(decision="deny", said="", reason=reason, updated_input=None)
