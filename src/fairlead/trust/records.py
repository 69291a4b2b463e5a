"""What somebody has trusted: one hook, its definition, and the bytes of its programs."""

from __future__ import annotations

import os
import stat

from fairlead._record import Record
from fairlead.errors import ConfigError
from fairlead.journal.writing import sha256
from fairlead.trust.definitions import definition, digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.hooks import Hook

LARGEST = 64 << 20
"""Bytes of one program."""


class Trusted(Record):
    name: str
    file: str
    """Where it stands, seen from the project."""
    definition: Mapping[str, Any]
    files: Mapping[str, tuple[bool, str]]
    """Each program: whether it can be executed, and the digest of its bytes."""
    when: float = 0.0
    how: str = ""

    @property
    def defined(self) -> str:
        return digest_of(self.definition)

    @property
    def digest(self) -> str:
        return digest_of({"definition": self.defined, "files": as_lists(self.files)})

    @property
    def dialect(self) -> str:
        return str(self.definition.get("origin", {}).get("dialect", ""))

    @property
    def required(self) -> bool:
        return bool(self.definition.get("options", {}).get("required"))


def as_lists(files: Mapping[str, tuple[bool, str]]) -> dict[str, list[Any]]:
    return {path: list(facts) for path, facts in sorted(files.items())}


def to_data(trusted: Trusted) -> dict[str, Any]:
    return {**trusted.as_dict(), "files": as_lists(trusted.files), "digest": trusted.digest}


def from_data(data: Mapping[str, Any]) -> Trusted:
    """Raises KeyError, TypeError or ValueError for what `to_data` has not written."""
    files = {str(path): (bool(facts[0]), str(facts[1])) for path, facts in data["files"].items()}
    definition_ = data["definition"]
    if not isinstance(definition_, dict):
        raise TypeError("a definition must be an object")
    found = Trusted(
        name=str(data["name"]),
        file=str(data["file"]),
        definition=definition_,
        files=files,
        when=float(data.get("when", 0)),
        how=str(data.get("how", "")),
    )
    if data.get("digest") != found.digest:
        raise ValueError("its digest does not fit")
    return found


def read_program(project: str, path: str) -> tuple[bytes, bool]:
    """The bytes of a program, through one descriptor, and whether it can be executed. Raises ConfigError."""
    full = os.path.join(project, path)
    try:
        with os.fdopen(os.open(full, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise ConfigError(f"{path} is not a regular file")
            if about.st_size > LARGEST:
                raise ConfigError(f"{path} is larger than {LARGEST >> 20} MB")
            return file.read(), bool(about.st_mode & 0o111)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None


def plugin_of(hook: Hook) -> str:
    """The folder of the plugin that a hook belongs to; empty for most."""
    return str(hook.options.get("root") or "")


def of_hook(hook: Hook, project: str, *, when: float = 0.0, how: str = "") -> Trusted:
    """As it is now. Slow: it looks at what its programs pull in."""
    from fairlead.trust import needing
    from fairlead.trust.programs import declared, named

    files = {}
    for path in needing.all_of([*named(hook.handler, project, plugin_of(hook)), *declared(hook, project)], project):
        data, executable = read_program(project, path)
        files[path] = (executable, sha256(data))
    return Trusted(
        name=hook.name,
        file=os.path.relpath(hook.origin.file, project),
        definition=definition(hook, project),
        files=files,
        when=when,
        how=how,
    )
