"""What keeps hooks from running on this machine: one file for each kind of check.

`scene` finds the agents and reads their files, each check looks at the scene and says what it found.
Nothing that is configured is ever run. Two programs are started, both harmless: the interpreter of our own
entry, to ask for its version (`own_entry`), and the login shell with an empty command (`profile`); and bubblewrap
with nothing in it, once after each boot, where a hook wants a sandbox (`own_hooks`).
"""

from __future__ import annotations

from fairlead._record import Record
from fairlead.doctor.finding import Finding, in_order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fairlead.dialects import Places
    from fairlead.doctor.scene import Scene

CHECKS = (
    "syntax", "shapes", "events", "types", "timeouts", "patterns", "programs", "project_paths", "search_path",
    "duplicates", "switches", "trust", "profile", "own_entry", "way_in", "own_hooks", "elsewhere", "loops",
    "notifications", "telemetry", "configured",
)  # fmt: skip
"""Modules of this package, each with a `check`. Where two find something in the same place, the first is heard."""


class Examined(Record):
    findings: tuple[Finding, ...]
    agents: tuple[str, ...]
    files: tuple[str, ...]
    hooks: int


def examine(places: Places, agents: Iterable[str] = ()) -> Examined:
    """Everything that is wrong; `agents` are those to look at, by default all that are found."""
    from fairlead.doctor.scene import look

    scene = look(places, tuple(agents))
    found = [finding for name in CHECKS for finding in run(name, scene)]
    return Examined(
        findings=tuple(in_order(found, scene.agents)),
        agents=scene.agents,
        files=tuple(dict.fromkeys(file.path for file in scene.files)),
        hooks=len(scene.entries),
    )


def run(name: str, scene: Scene) -> Iterator[Finding]:
    """One check; that it cannot be made is a finding, too, and costs no other."""
    module = __import__(f"fairlead.doctor.{name}", fromlist=["check"])
    try:
        yield from module.check(scene)
    except Exception as error:  # noqa: BLE001  # whatever it is, the other checks must be made
        what = f"the check “{name}” could not be made: {type(error).__name__}: {error}"
        yield Finding(level="note", agent="fairlead", check=name, message=what, fix="please report this")
