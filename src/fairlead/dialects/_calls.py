"""Tool calls in other shapes than ours: several things at once, another folder, edits that are no single `Edit`.

Edits of several places or files, and removals, become a patch: hooks for `Edit` and for `Write` both look at one,
file by file.
"""

from __future__ import annotations

import os

from fairlead import tools
from fairlead.dialects._payloads import text
from fairlead.errors import InputError
from fairlead.events import Spoken, ToolEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

    from fairlead.events import Event
    from fairlead.tools import Vocabulary
    from fairlead.verdicts import Decision

    Input = dict[str, Any]
    Fields = dict[str, Any]


def read_as(vocabulary: Vocabulary, fields: Fields, name: str, meant: Input, *others: Input) -> Fields:
    """A payload with its call as one of ours, and with what the same call does besides."""
    response = fields.get("tool_response")
    spoken = Spoken(
        vocabulary=vocabulary,
        tool_name=fields["tool_name"],
        tool_input=fields["tool_input"],
        tool_response=response,
        meant=meant,
        others=others,
    )
    found = {**fields, "tool_name": name, "tool_input": meant, "spoken": spoken}
    if name == "Bash" and isinstance(response, str):
        found["tool_response"] = tools.shell_output(response)
    return found


def read_parts(vocabulary: Vocabulary, fields: Fields, parts: Sequence[Input]) -> Fields:
    """The same for a call that does all of `parts`, each of them an input that would do just that.

    A hook sees one call for each part, so that no file and no command hides behind the first.
    """
    cwd = text(fields.get("cwd"))
    read = [vocabulary.read(fields["tool_name"], part, cwd) for part in parts]
    return read_as(vocabulary, fields, read[0][0], *(meant for _, meant in read))


def in_folder(fields: Fields, key: str) -> Fields:
    """A shell command that the agent runs in another folder, as the command line that goes there first."""
    spoken = fields.get("spoken")
    if fields.get("tool_name") != "Bash" or not isinstance(spoken, Spoken):
        return fields
    folder = _elsewhere(text(fields.get("cwd")), text(spoken.tool_input.get(key)))
    command = spoken.meant.get("command")
    if not folder or not isinstance(command, str):
        return fields
    meant = {**spoken.meant, "command": f"cd {quoted(folder)} && {command}"}
    return {**fields, "tool_input": meant, "spoken": spoken.but(meant=meant)}


def _elsewhere(cwd: str, folder: str) -> str:
    """The whole path of a folder; empty where it is the working directory itself."""
    if not folder:
        return ""
    whole = os.path.normpath(os.path.join(cwd, _from_home(folder)))
    return "" if cwd and whole == os.path.normpath(cwd) else whole


def _from_home(folder: str) -> str:
    """Of whoever asks; another user's, `~name`, is the same for everybody."""
    if folder != "~" and not folder.startswith("~/"):
        return os.path.expanduser(folder)
    from fairlead import surroundings
    from fairlead.folders import home_of

    return home_of(surroundings.environ()) + folder[1:]


def quoted(word: str) -> str:
    import shlex

    return shlex.quote(word)


def named_once(tool_input: object) -> None:
    """For tools that may know a file by either key: which of two they take nobody can say."""
    if not isinstance(tool_input, dict) or "path" not in tool_input or "file_path" not in tool_input:
        return
    if tool_input["path"] != tool_input["file_path"]:
        raise InputError("the call names two files, as path and as file_path", hint="name one")


# --- names of MCP tools ------------------------------------------------------------------------------


def qualified_mcp_name(vocabulary: Vocabulary, own: str, tool_input: object) -> str:
    """Ours for `server__tool`; empty for anything else."""
    is_qualified = "__" in own.strip("_") and not own.startswith("mcp__")
    known = vocabulary.entry(own, tool_input if isinstance(tool_input, dict) else {})
    return f"mcp__{own}" if is_qualified and known is None else ""


class KeepingMcpNames(tools.Vocabulary):
    """Shows hooks an MCP tool under our name, which says the server: their half writes it in their system's words."""

    __slots__ = ()

    def write(self, name: str, tool_input: dict[str, Any], like: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        return (name, tool_input) if name.startswith("mcp__") else super().write(name, tool_input, like)


# --- patches -----------------------------------------------------------------------------------------


def as_patch(event: Event, patch: str) -> Event:
    """The same call as a patch; the agent's own words stay beside it."""
    if not patch or not isinstance(event, ToolEvent) or event.spoken is None:
        return event
    meant = {"command": patch}
    return event.but(tool_name=tools.PATCH, tool_input=meant, spoken=event.spoken.but(meant=meant))


def patch_of_edits(path: Any, edits: Any) -> str:
    """One file, several places; empty where that is not what is there."""
    from fairlead import patches

    if not isinstance(edits, list) or not edits:
        return ""
    if len(edits) == 1 and isinstance(edits[0], dict) and edits[0].get("old_string") == "":
        return patches.of_call("Write", {"file_path": path, "content": edits[0].get("new_string")})
    parts = [patches.of_call("Edit", {**edit, "file_path": path}) if isinstance(edit, dict) else "" for edit in edits]
    if not all(parts):
        return ""
    hunks = [line for part in parts for line in part.split("\n")[2:-1]]
    return "\n".join([*parts[0].split("\n")[:2], *hunks, "*** End Patch"])


def patch_of_files(paths: Iterable[object], mark: str = "Update") -> str:
    """Files of which nothing is known but that they are changed (or deleted); empty where there are none."""
    named = [path for path in paths if isinstance(path, str) and path]
    return _patch_of(named, mark) if named else ""


def removal(paths: Iterable[object]) -> Input:
    """A patch that removes files: our only word for it."""
    return {"command": _patch_of(paths, "Delete")}


def _patch_of(paths: Iterable[object], mark: str) -> str:
    lines, named = ["*** Begin Patch"], list(paths)
    if not named:
        raise InputError("the call names no file")
    for path in named:
        if not isinstance(path, str) or not path or "\n" in path or "\r" in path:
            raise InputError(f"a file of this call has no usable name: {path!r}")
        lines.append(f"*** {mark} File: {path}")
    return "\n".join([*lines, "*** End Patch"])


def refused_as_patch(event: Event, decision: Decision, own_tools: Collection[str]) -> Decision:
    """What became a patch on the way in has no way back: a rewrite of it is a refusal that says what is wanted."""
    wanted = decision.updated_input
    if wanted is None or getattr(event, "tool_name", "") not in own_tools:
        return decision
    if decision.denies or "command" not in wanted:
        return decision
    reason = f"a hook wants this patch instead, and this tool cannot take one: {wanted['command']}"
    return decision.but(decision="deny", said="", reason=reason, updated_input=None)
