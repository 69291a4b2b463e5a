"""Whether and where events are recorded."""

from __future__ import annotations

import os

from fairlead.folders import state_folder
from fairlead.journal.writing import MIB, Journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

VARIABLE = "FAIRLEAD_JOURNAL"
"""`off`, `on` or `without-payloads`, where the configuration says nothing else."""


def folder(environ: Mapping[str, str], home: str = "") -> str:
    return f"{state_folder(environ, home)}/journal"


def mode(said: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    wish = environ.get(VARIABLE, "")
    return str(said.get("mode") or (wish if wish in ("off", "without-payloads") else "on"))


def journal(said: Mapping[str, Any], environ: Mapping[str, str], home: str = "") -> Journal:
    leads = environ.get("XDG_STATE_HOME"), home or environ.get("HOME")
    key = (*leads, said.get("keep_days", 30), said.get("keep_mb", 1024))
    if key not in _OPEN:
        _make_room()
        _OPEN[key] = _journal(folder(environ, home), *key[2:])
    return _OPEN[key]


def _make_room() -> None:
    if not _OPEN and not _FORKS:
        # A child that never writes would keep what its parent had locked, even when the parent was killed.
        os.register_at_fork(after_in_child=_OPEN.clear)
        _FORKS.append(True)
    if len(_OPEN) >= _MOST_OPEN:
        _OPEN.clear()


def _journal(where: str, days: float, size: float) -> Journal:
    whole = int(size * MIB)
    return Journal(where, segment=min(32 * MIB, whole // 4), size=whole, age=days * 24 * 3600.0)


_OPEN: dict[tuple[Any, ...], Journal] = {}
"""A process that answers often keeps them open; one that answers once has only one."""
_MOST_OPEN = 8
_FORKS: list[bool] = []
"""Whether somebody looks after them."""
