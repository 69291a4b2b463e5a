"""A user, a project and an organisation, each with files of their own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from fairlead import Decision, Event, Hooks, PreToolUse
from tests.conftest import Home

MINE = "~/.config/fairlead/fairlead.toml"


class World:
    """`project`, `mine` and `managed` write; `load` reads it all as `fairlead hook` would."""

    def __init__(self, place: Home) -> None:
        self.place = place
        self.etc = place.root / "etc"
        self.environ = dict(place.environ)

    def project(self, content: str | dict[str, Any], file: str = "fairlead.toml") -> str:
        return str(self.place.write(file, content))

    def mine(self, content: str | dict[str, Any], file: str = MINE) -> str:
        return str(self.place.write(file, content))

    def managed(self, content: str | dict[str, Any], file: str = "fairlead/fairlead.toml") -> str:
        path = self.etc / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
        return str(path)

    def load(self, *, trust: bool = False, agent: str = "", env: Mapping[str, str] | None = None) -> Hooks:
        environ = {**self.environ, **(env or {})}
        return Hooks.load(self.place.project, environ=environ, managed=str(self.etc), trust_project=trust, agent=agent)

    def fire(self, event: Event | str = "ls", *, hooks: Hooks | None = None, **how: Any) -> Decision:
        """A command, or any event, as the project's agent would send it."""
        if isinstance(event, str):
            event = PreToolUse(session_id="s1", tool_name="Bash", tool_input={"command": event})
        return (hooks or self.load(**how)).fire_sync(event.but(cwd=str(self.place.project)))

    def ran(self) -> list[str]:
        """The names that hooks made by `leaves` have left behind, in order."""
        file = self.place.root / "ran"
        return file.read_text().split() if file.exists() else []

    def leaves(self, name: str, **more: Any) -> str:
        """A hook of fairlead.toml that leaves its name behind."""
        lines = {"name": name, "on": "PreToolUse", "run": self.command(name), **more}
        return "[[hook]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in lines.items())

    def command(self, name: str) -> str:
        return f"echo {name} >> {self.place.root / 'ran'}"


@pytest.fixture
def world(place: Home) -> World:
    return World(place)


@pytest.fixture
def said() -> Callable[[Hooks], list[str]]:
    """Every problem as `level line:column message (hint)`."""

    def problems(hooks: Hooks) -> list[str]:
        return [f"{p.level} {p.line}:{p.column} {p.message} ({p.hint})" for p in hooks.problems]

    return problems
