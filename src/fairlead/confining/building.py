"""From what a hook asks for to walls that can be built around its process."""

from __future__ import annotations

import os

from fairlead.confining import Walls
from fairlead.confining.places import TEMPORARY, WRITE, kind_of, places
from fairlead.confining.scratch import name_in
from fairlead.confining.ways import LANDLOCK, find
from fairlead.folders import temporary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairlead.confining import Sandbox
    from fairlead.hooks import Setting
    from fairlead.work import Run

_VARIABLES = ("TMPDIR", "TEMP", "TMP")
_CACHES = {"RUFF_CACHE_DIR": ".ruff_cache", "MYPY_CACHE_DIR": ".mypy_cache"}
"""Of tools that put it into the project; and what it is called there."""


def walled(run: Run, wish: Sandbox, setting: Setting, *, is_confined: bool) -> Run:
    """The run inside its sandbox. Raises HookFailed where none can be built."""
    by, options = find(wish.by, setting.environ, setting.home)
    seen = (run.cwd, *_programs(run))
    found = places(wish, setting, seen, is_confined=is_confined)
    folder = name_in(temporary(setting.environ)) if by == LANDLOCK else ""
    if folder:
        found[folder] = WRITE
    env = {name: value for name, value in run.env.items() if name not in _VARIABLES}
    env["TMPDIR"] = folder or TEMPORARY
    env |= _caches(env, run.cwd, found)
    walls = Walls(by=by, options=options, places=found, network=wish.network)
    facts = {**run.facts, "sandbox": os.path.basename(by).replace("bwrap", "bubblewrap")}
    return run.but(env=env, sandbox=walls, scratch=folder, facts=facts)


def _programs(run: Run) -> list[str]:
    """The files among its words: they are there also where they lie in a temporary folder."""
    words = (run.program, *run.argv, *(part for part in run.otherwise[:1]))
    return [word for word in words if os.path.isabs(word) and os.path.isfile(word)]


def _caches(env: Mapping[str, str], cwd: str, found: Mapping[str, str]) -> dict[str, str]:
    """In the temporary folder, unless the hook may write where they would be."""
    usual = {name: os.path.realpath(os.path.join(cwd, env.get(name) or folder)) for name, folder in _CACHES.items()}
    moved = [name for name, path in usual.items() if kind_of(path, found) != WRITE]
    return {name: os.path.join(env["TMPDIR"], _CACHES[name]) for name in moved}
