"""What a person has allowed once and for all: exact, readable, and taken back at any time.

A rule allows one tool: `command` is a whole command, or its first words followed by ` *`; `path` is a file, or a
folder followed by `/**`. Words are compared only where a command is plain: one that pipes, chains, redirects,
expands or quotes says more than its first words, and is asked about.
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
_WRITERS = ("Write", "Edit", "MultiEdit", "NotebookEdit")


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


def read_rule(fields: Mapping[str, Any], *, tool: str, run_id: str, project: str) -> dict[str, str]:
    """The fields of a rule that a person wants, for a question that they look at. Raises Refused."""
    scope = fields.get("scope")
    if scope not in SCOPES:
        raise Refused(400, "invalid_input", f"scope must be one of {', '.join(SCOPES)}")
    command, path = str(fields.get("command", "")), str(fields.get("path", ""))
    if bool(command) == bool(path):
        raise Refused(400, "invalid_input", "a rule names a command or a path: allowing all of a tool is no rule")
    if path and (
        not os.path.isabs(path) or os.path.normpath(path.removesuffix("/**")) in ("/", os.path.expanduser("~"))
    ):
        raise Refused(400, "invalid_input", "path must be absolute, and less than everything")
    if command.removesuffix(" *").strip() == "":
        raise Refused(400, "invalid_input", "command must name a program")
    within = {"session": run_id, "project": project, "user": ""}[str(scope)]
    if scope == "project" and not project:
        raise Refused(400, "invalid_input", "this run has no project")
    return {"scope": str(scope), "within": within, "tool": tool, "command": command, "path": path}


def applies(rule: Rule, *, tool: str, payload: Mapping[str, Any], run_id: str, project: str) -> bool:
    here = {"session": run_id, "project": project, "user": ""}[rule.scope]
    if rule.tool != tool or rule.within != here:
        return False
    if rule.command:
        return _command_is(payload.get("command"), rule.command)
    return tool in _WRITERS and _path_is(payload.get("file_path", payload.get("notebook_path")), rule.path)


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
    """What the path really is, behind links and dots."""
    if not isinstance(path, str) or not os.path.isabs(path):
        return False
    real = os.path.realpath(path)
    if not allowed.endswith("/**"):
        return real == os.path.realpath(allowed)
    return real.startswith(os.path.realpath(allowed[:-3]) + os.sep)
