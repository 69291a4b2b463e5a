"""What was there before: enough to put it back byte for byte, and to know our own work again."""

from __future__ import annotations

import base64
import hashlib
import json
import os

from fairlead._record import Record
from fairlead.errors import ConfigError
from fairlead.folders import state_folder
from fairlead.installing import files
from fairlead.installing.edits import Edit
from fairlead.installing.entries import Wishes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Kept(Record):
    """One file, before and after us."""

    path: str
    kind: str
    """`settings`: we have entries in it. `own`: all of it is ours. `adopted`: hooks that we look after.
    `relay`: ours, and the same file for all agents."""
    original: bytes | None
    written: str
    """The SHA-256 of what we wrote; empty where our part of it was to remove the file."""
    edits: tuple[Edit, ...] = ()
    folders: tuple[str, ...] = ()
    """Directories that we made, innermost first."""
    mode: int | None = None

    def is_untouched(self, content: bytes | None) -> bool:
        return (digest(content) if content is not None else "") == self.written


class Installed(Record):
    agent: str
    scope: str
    project: str
    wishes: Wishes
    files: tuple[Kept, ...]

    def kept(self, path: str) -> Kept | None:
        return next((kept for kept in self.files if kept.path == path), None)

    def of_kind(self, kind: str) -> list[Kept]:
        return [kept for kept in self.files if kept.kind == kind]


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def folder(home: str, environ: Mapping[str, str]) -> str:
    return os.path.join(state_folder(environ, home), "installed")


def path_of(where: str, agent: str, scope: str, project: str) -> str:
    suffix = "" if scope == "user" else "-" + digest(os.path.realpath(project).encode())[:16]
    return os.path.join(where, f"{agent}-{scope}{suffix}.json")


def load(path: str) -> Installed | None:
    """None where nothing was installed. Raises ConfigError for a record that cannot be read."""
    content = files.look(path).content
    if content is None:
        return None
    try:
        return _from_json(json.loads(content))
    except (ValueError, KeyError, TypeError) as error:
        hint = "move it away; then entries are taken out one by one, and the file as it was is in there"
        raise ConfigError(f"{path} cannot be read: {error}", hint=hint) from None


def paths_in_use(where: str, kind: str) -> set[str]:
    """The files of one kind that any installation needs; a record that cannot be read may need all of them."""
    found: set[str] = set()
    for name in sorted(os.listdir(where)):
        if name.endswith(".json"):
            try:
                installed = load(os.path.join(where, name))
            except ConfigError:
                return _Everything()
            found.update(kept.path for kept in (installed.of_kind(kind) if installed else ()))
    return found


class _Everything(set[str]):
    def __contains__(self, _path: object) -> bool:
        return True


def save(path: str, installed: Installed) -> None:
    files.make_folders(path, 0o700)
    files.replace(path, json.dumps(_as_json(installed), indent=1).encode(), 0o600)


def _as_json(installed: Installed) -> dict[str, Any]:
    return {
        "format": 1,
        "agent": installed.agent,
        "scope": installed.scope,
        "project": installed.project,
        "wishes": installed.wishes.as_dict(),
        "files": [_kept_as_json(kept) for kept in installed.files],
    }


def _kept_as_json(kept: Kept) -> dict[str, Any]:
    return {
        "path": kept.path,
        "kind": kept.kind,
        "original": None if kept.original is None else base64.b64encode(kept.original).decode(),
        "written": kept.written,
        "edits": [[edit.start, edit.end, edit.new] for edit in kept.edits],
        "folders": list(kept.folders),
        "mode": kept.mode,
    }


def _from_json(data: dict[str, Any]) -> Installed:
    return Installed(
        agent=data["agent"],
        scope=data["scope"],
        project=data["project"],
        wishes=Wishes(**data["wishes"]),
        files=tuple(_kept_from_json(kept) for kept in data["files"]),
    )


def _kept_from_json(data: dict[str, Any]) -> Kept:
    return Kept(
        path=data["path"],
        kind=data["kind"],
        original=None if data["original"] is None else base64.b64decode(data["original"]),
        written=data["written"],
        edits=tuple(Edit(start=start, end=end, new=new) for start, end, new in data["edits"]),
        folders=tuple(data["folders"]),
        mode=data["mode"],
    )
