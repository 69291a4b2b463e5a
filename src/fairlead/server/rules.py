"""What a person has allowed once and for all: exact, readable, and taken back at any time.

A rule allows one tool: `command` is a whole command, or its first words followed by ` *`; `path` is a file, or a
folder followed by `/**`. Words are compared only where a command is plain: one that pipes, chains, redirects,
expands or quotes says more than its first words, and is asked about. So is a call with fields that a rule has no
words for: they may send it elsewhere, or out of its sandbox.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fairlead._record import Record
from fairlead.server.records import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

SCOPES = ("session", "project", "user")
_NOT_PLAIN = frozenset(";&|<>$`\n\r\\\"'(){}[]*?~#!=")
_COMMAND_FIELDS = frozenset({"command", "description", "timeout", "run_in_background"})
_EDIT_FIELDS = frozenset({"old_string", "new_string", "replace_all"})
_WRITERS = {
    "Write": ("file_path", frozenset({"content"})),
    "Edit": ("file_path", _EDIT_FIELDS),
    "MultiEdit": ("file_path", frozenset({"edits"})),
    "NotebookEdit": ("notebook_path", frozenset({"new_source", "cell_id", "cell_number", "cell_type", "edit_mode"})),
}
"""The field with the path, and those that only say what is written there."""
_RUN_OTHERS = frozenset(
    "builtin busybox chroot chrt command doas env eval exec find flock ionice nice nohup parallel script setpriv "
    "setsid stdbuf su sudo systemd-run taskset time timeout unshare watch xargs".split()
)
_INTERPRETERS = frozenset(
    "awk ash bash bun cmd csh dash deno fish gawk ipython ksh lua mawk node nodejs perl php powershell pwsh pypy "
    "python r rscript ruby sh source ssh tclsh tcsh ts-node zsh .".split()
)
_LONGEST_PATH = 4096


class Rule(Record):
    id: str
    scope: str
    """`session`, `project` or `user`"""
    within: str
    """The run or the project that it is about; empty for everything of the user's."""
    tool: str
    command: str = ""
    path: str = ""
    created_by: str
    created_at: float


def read_rule(
    fields: Mapping[str, Any], *, tool: str, payload: Mapping[str, Any], run_id: str, project: str
) -> dict[str, str]:
    """The fields of a rule that a person wants, for a question that they look at. Raises Refused."""
    scope, command, path = (_text(fields, name) for name in ("scope", "command", "path"))
    if scope not in SCOPES:
        raise _wrong(f"scope must be one of {', '.join(SCOPES)}")
    if scope == "project" and not project:
        raise _wrong("this run has no project")
    if bool(command) == bool(path):
        raise _wrong("a rule names a command or a path: allowing all of a tool is no rule")
    if command:
        _check_command(command, payload.get("command"))
    else:
        path = _real_path(path)
    if not _is_about(tool, payload, command, path):
        raise _wrong("this rule would not allow the very question that it is made from; name the whole command or file")
    within = {"session": run_id, "project": project, "user": ""}[scope]
    return {"scope": scope, "within": within, "tool": tool, "command": command, "path": path}


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str) or not _is_unicode(value):
        raise _wrong(f"{name} must be text")
    return value


def _is_unicode(text: str) -> bool:
    return text.isascii() or text.encode("utf-8", "replace").decode() == text


def _wrong(message: str) -> Refused:
    return Refused(400, "invalid_input", message)


def _check_command(command: str, asked: object) -> None:
    if not command.endswith(" *"):
        return
    first = command[:-2].split()
    if not first:
        raise _wrong("command must name a program")
    if isinstance(asked, str) and asked.endswith(" *"):
        raise _wrong("the command itself ends with *, and a rule that ends so means any words: it would allow more")
    if _runs_anything(first):
        raise _wrong(f"`{command}` would allow any program there is: {first[0]} runs others; name the whole command")


def _runs_anything(first: list[str]) -> bool:
    """Whether the words to come choose a program, or hold one."""
    name = os.path.basename(first[0]).lower()
    if name in _RUN_OTHERS:
        return True
    if name.rstrip("0123456789.-") not in _INTERPRETERS and name not in _INTERPRETERS:
        return False
    script = first[2:] if first[1:2] == ["-m"] else first[1:]
    return not script or script[0].startswith("-")


def _real_path(path: str) -> str:
    """As it is now, behind links and dots: a link that is turned later must not carry the rule along."""
    folder = path.removesuffix("/**")
    real = _resolved(folder)
    if not real:
        raise _wrong("path must be absolute")
    if path != folder and _is_inside(_resolved(os.path.expanduser("~")), real):
        raise _wrong("path must be less than everything: a folder inside your home, or elsewhere")
    return real + path[len(folder) :]


def _resolved(path: object) -> str:
    """Empty for what is no absolute path."""
    if not isinstance(path, str) or not os.path.isabs(path) or len(path) > _LONGEST_PATH:
        return ""
    try:
        return "/" + os.path.realpath(path).lstrip("/")
    except (ValueError, OSError):  # a NUL, half a character
        return ""


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def applies(rule: Rule, *, tool: str, payload: Mapping[str, Any], run_id: str, project: str) -> bool:
    here = {"session": run_id, "project": project, "user": ""}[rule.scope]
    return rule.tool == tool and rule.within == here and _is_about(tool, payload, rule.command, rule.path)


def _is_about(tool: str, payload: Mapping[str, Any], command: str, path: str) -> bool:
    if command:
        return payload.keys() <= _COMMAND_FIELDS and _command_is(payload.get("command"), command)
    if tool not in _WRITERS:
        return False
    field, others = _WRITERS[tool]
    known = payload.keys() <= {field, *others} and _are_plain_edits(payload.get("edits", []))
    return known and _path_is(payload.get(field), path)


def _are_plain_edits(edits: object) -> bool:
    return isinstance(edits, list) and all(isinstance(edit, dict) and edit.keys() <= _EDIT_FIELDS for edit in edits)


def _command_is(command: object, allowed: str) -> bool:
    if not isinstance(command, str):
        return False
    if not allowed.endswith(" *"):
        return command == allowed
    if _NOT_PLAIN.intersection(command) or not command.isascii() or not command.isprintable():
        return False
    words, first = command.split(), allowed[:-2].split()
    return words[: len(first)] == first


def _path_is(path: object, allowed: str) -> bool:
    """What the path really is, behind links and dots; a rule's own path was resolved when it was made."""
    real = _resolved(path)
    if not real:
        return False
    if not allowed.endswith("/**"):
        return real == allowed
    return real != allowed[:-3] and _is_inside(real, allowed[:-3])
