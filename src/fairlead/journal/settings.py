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
    return os.path.join(state_folder(environ, home), "journal")


def mode(said: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    wish = environ.get(VARIABLE, "")
    return str(said.get("mode") or (wish if wish in ("off", "without-payloads") else "on"))


def journal(said: Mapping[str, Any], environ: Mapping[str, str], home: str = "") -> Journal:
    days, size = said.get("keep_days", 30), said.get("keep_mb", 1024)
    whole = int(size * MIB)
    return Journal(folder(environ, home), segment=min(32 * MIB, whole // 4), size=whole, age=days * 24 * 3600.0)
