"""A plan: which files change, from what to what. And what planning and restoring have in common."""

from __future__ import annotations

import os

from fairlead._record import Record
from fairlead.errors import ConfigError
from fairlead.installing import entries, files, jsonsettings, records, tomlsettings, yamlsettings
from fairlead.installing.edits import Edit
from fairlead.installing.entries import Wishes
from fairlead.installing.records import Installed
from fairlead.installing.ways import DIRECT, Way

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from fairlead.installing.entries import Finder
    from fairlead.installing.specs import Install

EDITORS: dict[str, Any] = {"json": jsonsettings, "toml": tomlsettings, "yaml": yamlsettings}
"""By format; each knows `installed`, `removed` and `known_calls`."""


class Machine(Record):
    """Where we are."""

    home: str
    project: str
    environ: Mapping[str, str]

    def records(self) -> str:
        return records.folder(self.home, self.environ)

    def record_path(self, agent: str, scope: str) -> str:
        return records.path_of(self.records(), agent, scope, self.project)


class Change(Record):
    """One file, before and after. None is no file."""

    path: str
    shown: str
    """Where the agent looks for it; `path` is behind the symbolic links."""
    kind: str
    """See `records.Kept`."""
    before: bytes | None
    after: bytes | None
    mode: int | None = None
    """As others left it."""
    mode_now: int | None = None
    is_private: bool = False
    """Whether it holds a key: then nobody else may read it while we are in it."""
    original: bytes | None = None
    """What `uninstall` will bring back."""
    edits: tuple[Edit, ...] = ()
    """From the original to `after`."""

    @property
    def is_needed(self) -> bool:
        return self.before != self.after or self.mode_now not in (None, self.wanted_mode)

    @property
    def wanted_mode(self) -> int | None:
        return 0o600 if self.is_private else self.mode

    @property
    def is_shared(self) -> bool:
        """Whether it is Fairlead's own, the same for all agents."""
        return self.kind in ("relay", "key")


class Plan(Record):
    agent: str
    scope: str
    wishes: Wishes = Wishes()
    way: Way = DIRECT
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""
    """Why nothing can be done."""
    hint: str = ""
    record: Installed | None = None

    @property
    def needed(self) -> list[Change]:
        return [change for change in self.changes if change.is_needed]

    @property
    def shown(self) -> list[Change]:
        """What is needed in the agent's files; where that is nothing, what is in ours."""
        return [change for change in self.needed if not change.is_shared] or self.needed


class Elsewhere(ConfigError):  # noqa: N818  # the family's name says that it is an error
    """A problem with another file than the agent's settings."""

    def __init__(self, file: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.file = file


def failed(plan: Plan, shown: str, error: ConfigError) -> Plan:
    """The plan that says why there is none."""
    file = getattr(error, "file", shown)
    line, column = getattr(error, "line", 0), getattr(error, "column", 0)
    where = f"{file}:{line}:{column}:" if line else file
    hint = error.hint or ("it was left alone; mend it and run this again" if line else "")
    return plan.but(problem=f"{where} {error}", hint=hint, changes=())


def check_writable(changes: Iterable[Change]) -> None:
    for change in changes:
        if change.is_needed:
            try:
                files.check_writable(files.Present(path=change.path, content=change.before))
            except ConfigError as error:
                raise Elsewhere(change.shown, str(error), error.hint) from None


def finder(spec: Install, shim: str = "") -> Finder:
    """What tells our entries from the others. A text alone is one only where a hook may be a text."""
    name = os.path.basename(shim)

    def is_mine(value: object) -> bool:
        if isinstance(value, str) and spec.shape != "named":
            return False
        if name and isinstance(value, dict) and os.path.basename(str(value.get("command")).strip("'\"")) == name:
            return True
        return entries.is_ours(value, spec.name)

    return is_mine
