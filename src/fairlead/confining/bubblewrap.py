"""bubblewrap: a view of the machine of the hook's own, made of namespaces."""

from __future__ import annotations

import os

from fairlead.confining.places import HIDDEN, READ, WRITE, in_order, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.confining import Walls
    from fairlead.work import Run

ALWAYS = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL", "--die-with-parent", "--new-session",
    "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
)  # fmt: skip
OPTIONAL = ("--disable-userns",)
"""What older ones do not have (0.8)."""


def words(run: Run, walls: Walls, filter_from: int | None) -> list[str]:
    """What stands before the hook's own words."""
    found = [walls.by, *walls.options]
    if not walls.network:
        found.append("--unshare-net")
    for path, kind in in_order(walls.places):
        found += _mounted(path, kind, walls)
    if run.input_file:  # to be written as well: that is how we hear that it was read
        found += ("--bind", run.input_file, run.input_file)
    for source, place in run.binds:
        found += ("--ro-bind", source, place)
    found += [word for path in _emptied(walls) for word in ("--remount-ro", path)]
    if filter_from is not None:
        found += ("--seccomp", str(filter_from))
    return [*found, "--chdir", os.path.realpath(run.cwd), "--"]


def _mounted(path: str, kind: str, walls: Walls) -> tuple[str, ...]:
    """Nothing where the place around it is the same already."""
    if path == "/" or kind == kind_of(os.path.dirname(path), walls.places):
        return ()
    if kind in (READ, WRITE):
        return "--ro-bind" if kind == READ else "--bind", path, path
    return ("--tmpfs", path) if os.path.isdir(path) else ("--ro-bind", "/dev/null", path)


def _emptied(walls: Walls) -> list[str]:
    """Hidden folders: they stay empty. Last, since other places may have to be put into them."""
    found = [path for path, kind in walls.places.items() if kind == HIDDEN and _mounted(path, kind, walls)]
    return [path for path in found if os.path.isdir(path)]
