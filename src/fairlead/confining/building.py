"""From what a hook asks for to walls that can be built around its process."""

from __future__ import annotations

import os

from fairlead.confining import Walls
from fairlead.confining.places import TEMPORARY, WRITE, places
from fairlead.confining.ways import LANDLOCK, find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.confining import Sandbox
    from fairlead.hooks import Setting
    from fairlead.work import Run

_VARIABLES = ("TMPDIR", "TEMP", "TMP")


def walled(run: Run, wish: Sandbox, setting: Setting, *, is_confined: bool) -> Run:
    """The run inside its sandbox. Raises HookFailed where none can be built."""
    by, options = find(wish.by, setting.environ, setting.home)
    seen = (run.cwd, *_programs(run))
    found = places(wish, setting, seen, is_confined=is_confined)
    folder = _scratch() if by == LANDLOCK else ""
    if folder:
        found[folder] = WRITE
    env = {name: value for name, value in run.env.items() if name not in _VARIABLES}
    env["TMPDIR"] = folder or TEMPORARY
    walls = Walls(by=by, options=options, places=found, network=wish.network)
    facts = {**run.facts, "sandbox": os.path.basename(by).replace("bwrap", "bubblewrap")}
    return run.but(env=env, sandbox=walls, scratch=folder, facts=facts)


def _programs(run: Run) -> list[str]:
    """The files among its words: they are there also where they lie in a temporary folder."""
    words = (run.program, *run.argv, *(part for part in run.otherwise[:1]))
    return [word for word in words if os.path.isabs(word) and os.path.isfile(word)]


def _scratch() -> str:
    """A temporary folder of its own, where there cannot be one of the same name for everybody."""
    import tempfile

    return os.path.realpath(tempfile.mkdtemp(prefix="fairlead-sandbox-"))
