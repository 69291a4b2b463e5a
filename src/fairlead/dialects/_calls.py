"""Tool calls that do several things at once, work in another folder or remove files: in our words for each of these."""

from __future__ import annotations

import os

from fairlead.errors import InputError
from fairlead.events import Spoken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from fairlead.tools import Vocabulary

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
    return found | {"tool_response": shell_output(response)} if name == "Bash" and isinstance(response, str) else found


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
    whole = os.path.normpath(os.path.join(cwd, os.path.expanduser(folder)))
    return "" if cwd and whole == os.path.normpath(cwd) else whole


def removal(paths: Iterable[object]) -> Input:
    """A patch that removes files: our only word for it."""
    lines = ["*** Begin Patch"]
    for path in paths:
        if not isinstance(path, str) or not path or "\n" in path or "\r" in path:
            raise InputError(f"a file that is to be removed has no usable name: {path!r}")
        lines.append(f"*** Delete File: {path}")
    return {"command": "\n".join([*lines, "*** End Patch"])}


def shell_output(stdout: object, stderr: object = "") -> dict[str, Any]:
    return {"stdout": text(stdout), "stderr": text(stderr), "interrupted": False}


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def with_folder(fields: Fields, roots: object) -> Fields:
    """A payload that names no working directory has the first of its workspace's folders."""
    root = text(next(iter(listed(roots)), ""))
    return fields if not root or fields.get("cwd") else {**fields, "cwd": root}


def quoted(word: str) -> str:
    import shlex

    return shlex.quote(word)
