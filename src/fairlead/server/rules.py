"""What a person has allowed once and for all: exact, readable, and taken back at any time.

A rule allows one tool: `command` is a whole command, or its first words followed by ` *`; `path` is a file, or a
folder followed by `/**`. Words are compared only where a command is plain: one that pipes, chains, redirects,
expands or quotes says more than its first words, and is asked about. So is a call with fields that a rule has no
words for: they may send it elsewhere, or out of its sandbox.

A command means something else in another folder, so its rule holds in the one where it was asked about. A path is
followed behind links where the agent sees the same files as we do; else it is compared as it is written.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fairlead import machines
from fairlead._record import Record
from fairlead.server.records import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairlead.server.records import Asked, Run

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
    folder: str = ""
    """Where a command is allowed."""
    host: str = ""
    """The machine on which it is."""
    created_by: str
    created_at: float


class Call(Record):
    """What a rule is compared with."""

    tool: str
    payload: Mapping[str, Any]
    run_id: str
    project: str = ""
    folder: str = ""
    """Where the agent is."""
    host: str = ""
    is_here: bool = False
    """Whether the agent sees the same files as we do."""


def asked_in(asked: Asked, run: Run) -> Call:
    return call_of(asked.tool, asked.payload, asked.cwd, run)


def call_of(tool: str, payload: Mapping[str, Any], cwd: str, run: Run) -> Call:
    return Call(
        tool=tool,
        payload=payload,
        run_id=run.id,
        project=run.project,
        folder=os.path.normpath(cwd or run.project) if cwd or run.project else "",
        host=run.host.partition(".")[0],
        is_here=is_here(run),
    )


def is_here(run: Run | None) -> bool:
    return run is not None and run.host == machines.this_machine()


def read_rule(fields: Mapping[str, Any], call: Call) -> dict[str, str]:
    """The fields of a rule that a person wants, for a question that they look at. Raises Refused."""
    scope, command, path = (_text(fields, name) for name in ("scope", "command", "path"))
    if scope not in SCOPES:
        raise _wrong(f"scope must be one of {', '.join(SCOPES)}")
    if scope == "project" and not call.project:
        raise _wrong("this run has no project")
    if bool(command) == bool(path):
        raise _wrong("a rule names a command or a path: allowing all of a tool is no rule")
    if command:
        _check_command(command, call.payload.get("command"))
    else:
        path = _real_path(path) if call.is_here else _literal_path(path)
    if not _is_about(call, command, path):
        raise _wrong("this rule would not allow the very question that it is made from; name the whole command or file")
    place = {"within": _within(call, scope), "folder": call.folder if command else "", "host": call.host}
    return {"scope": scope, "tool": call.tool, "command": command, "path": path, **place}


def _within(call: Call, scope: str) -> str:
    return {"session": call.run_id, "project": call.project, "user": ""}[scope]


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


def _literal_path(path: str) -> str:
    """On another machine nobody here can tell where a path leads: it is what it says, and must say it plainly."""
    folder = path.removesuffix("/**")
    if not _is_plain_path(folder):
        raise _wrong("path must be absolute and plain: the agent is on another machine, where .. cannot be followed")
    names = folder.split("/")[1:]
    if path != folder and len(names) < (3 if names[0] in ("home", "Users") else 2):
        raise _wrong("path must be less than everything: a folder inside a home, or elsewhere")
    return path


def _is_plain_path(path: object) -> bool:
    if not isinstance(path, str) or not path.startswith("/") or len(path) > _LONGEST_PATH or "\0" in path:
        return False
    return _is_unicode(path) and not {"", ".", ".."}.intersection(path[1:].split("/"))


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


def applies(rule: Rule, call: Call) -> bool:
    if (rule.tool, rule.within, rule.host) != (call.tool, _within(call, rule.scope), call.host):
        return False
    return (not rule.command or rule.folder == call.folder) and _is_about(call, rule.command, rule.path)


def _is_about(call: Call, command: str, path: str) -> bool:
    payload = call.payload
    if command:
        return payload.keys() <= _COMMAND_FIELDS and _command_is(payload.get("command"), command)
    if call.tool not in _WRITERS:
        return False
    field, others = _WRITERS[call.tool]
    known = payload.keys() <= {field, *others} and _are_plain_edits(payload.get("edits", []))
    return known and _path_is(payload.get(field), path, is_here=call.is_here)


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


def _path_is(path: object, allowed: str, *, is_here: bool) -> bool:
    """What the path really is, behind links and dots; a rule's own path was resolved when it was made."""
    real = _resolved(path) if is_here else str(path) if _is_plain_path(path) else ""
    if not real:
        return False
    if not allowed.endswith("/**"):
        return real == allowed
    return real != allowed[:-3] and _is_inside(real, allowed[:-3])
