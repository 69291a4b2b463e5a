"""A home with agents in it, and Fairlead going in and out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fairlead.installing import applying, planning, restoring
from fairlead.installing.plans import Machine, Plan
from fairlead.installing.specs import SPECS, settings_file
from tests.conftest import Home

WISHES = ("guard", "enforce", "all_events", "adopt")


class Agents:
    """Plans that are made and carried out, with nobody asked."""

    def __init__(self, place: Home) -> None:
        self.place = place
        self.machine = Machine(home=str(place.home), project=str(place.project), environ=place.environ)

    def file(self, agent: str, scope: str = "user") -> Path:
        where = self.machine
        return Path(settings_file(SPECS[agent], scope, home=where.home, project=where.project, environ=where.environ))

    def write(self, agent: str, text: str, scope: str = "user") -> Path:
        file = self.file(agent, scope)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        return file

    def plan(self, agent: str, scope: str = "user", **wishes: bool) -> Plan:
        asked = {name: wishes.get(name) for name in WISHES}
        return planning.to_install(SPECS[agent], scope, asked, self.machine)

    def install(self, agent: str, scope: str = "user", **wishes: bool) -> Plan:
        plan = self.plan(agent, scope, **wishes)
        assert plan.problem == ""
        if plan.needed:
            applying.install(plan, self.machine)
        return plan

    def uninstall(self, agent: str, scope: str = "user") -> Plan:
        plan = restoring.to_uninstall(SPECS[agent], scope, self.machine)
        assert plan.problem == ""
        applying.uninstall(plan, self.machine)
        return plan


@pytest.fixture
def agents(place: Home) -> Agents:
    return Agents(place)


def everything_below(folder: Path) -> dict[str, tuple[str, int, bytes]]:
    """Each file and folder, its kind, mode and content; without our own state."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name.startswith(".local"):
            continue
        kind = "link" if path.is_symlink() else "folder" if path.is_dir() else "file"
        content = str(path.readlink()).encode() if kind == "link" else path.read_bytes() if kind == "file" else b""
        found[name] = (kind, path.lstat().st_mode, content)
    return found


def plain_json(text: str) -> Any:
    """A reader of JSON with comments that has nothing in common with ours."""
    import json

    text = text.removeprefix("\ufeff")
    strings = r'"(?:\\.|[^"\\])*"'
    text = re.sub(rf"({strings})|//[^\n]*|/\*.*?\*/", lambda found: found[1] or " ", text, flags=re.DOTALL)
    text = re.sub(rf"({strings})|,(?=\s*[}}\]])", lambda found: found[1] or " ", text, flags=re.DOTALL)
    return json.loads(text)
