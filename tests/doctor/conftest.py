"""A machine with agents on it, and everything that is wrong with their hooks."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.dialects import Places
from fairlead.doctor import Examined, examine
from fairlead.doctor.finding import Finding
from tests.conftest import Home


class Machine:
    def __init__(self, place: Home) -> None:
        self.place = place
        (place.root / "etc").mkdir()

    def examine(self, *agents: str, **environ: str) -> Examined:
        places = Places(
            home=str(self.place.home),
            project=str(self.place.project),
            environ={**self.place.environ, "PATH": "/usr/bin:/bin", "SHELL": "/bin/sh", **environ},
            managed=str(self.place.root / "etc"),
        )
        return examine(places, agents)

    def findings(self, *agents: str, check: str = "", **environ: str) -> list[Finding]:
        found = self.examine(*agents, **environ).findings
        assert not [one for one in found if "could not be made" in one.message]
        return [one for one in found if check in ("", one.check)]


@pytest.fixture
def machine(place: Home) -> Machine:
    return Machine(place)


def command(line: str, **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": line, **more}


def groups(event: str, *handlers: dict[str, Any], **group: Any) -> dict[str, Any]:
    return {"hooks": {event: [{**group, "hooks": list(handlers)}]}}
