"""What keeps OpenTelemetry from hearing of events: it is sent by a process that nobody sees."""

from __future__ import annotations

import os

from fairlead import wire
from fairlead.doctor.finding import OURSELVES, Finding
from fairlead.errors import InputError
from fairlead.telemetry.spool import parent_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.doctor.scene import Scene

_STATE = "state.json"
_FIX = "mend it, or switch it off: [telemetry] enabled = false; docs/telemetry.md says more"


def check(scene: Scene) -> Iterator[Finding]:
    parent = parent_folder(scene.places.environ, scene.places.home)
    for name in sorted(os.listdir(parent)) if os.path.isdir(parent) else ():
        state = _state(os.path.join(parent, name, _STATE))
        problem, lost = str(state.get("problem", "")), state.get("lost", 0)
        if problem:
            what = f"OpenTelemetry does not get everything: {problem}"
            what += f"; {lost:,} records are lost so far" if lost else ""
            yield Finding(level="warning", agent=OURSELVES, check="telemetry", message=what, fix=_FIX, file="")


def _state(path: str) -> dict[str, object]:
    try:
        with open(path, "rb") as file:
            return wire.decode_object(file.read())
    except (OSError, InputError):
        return {}
