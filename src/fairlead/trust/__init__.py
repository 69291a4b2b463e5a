"""Which hooks of a project may run: those that somebody has looked at, as long as they are the same bytes.

A hook is trusted by the digest of its definition and of the programs of the project that it runs; what runs is a copy
of exactly these bytes. Who has trusted what is in the user's state folder, which no project can write.
"""

from __future__ import annotations

import os

from fairlead.folders import state_folder
from fairlead.journal.writing import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairlead.dialects import Places

LOCK = "fairlead.lock"


def folder(environ: Mapping[str, str], home: str = "") -> str:
    return os.path.join(state_folder(environ, home), "trust")


def file_of(folder: str, project: str) -> str:
    """What the user has said about one project."""
    return os.path.join(folder, sha256(os.fsencode(os.path.realpath(project)))[:40] + ".json")


def lock_file(project: str) -> str:
    return os.path.join(project, LOCK)


def watched(places: Places) -> list[str]:
    """The files that decide about trust, beside the hooks' own."""
    own = folder(places.environ, places.home)
    return [own, file_of(own, places.project), lock_file(places.project)]


def is_known(places: Places) -> bool:
    """Whether the user has ever said something about this project: its hooks may be gone now."""
    return os.path.lexists(file_of(folder(places.environ, places.home), places.project))
