"""Hooks that write down what they were given, and Fairlead as an agent's engine or hook in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fairlead import Hooks
from fairlead.answering import Answer, Request, Result, as_engine, as_hook
from tests.conftest import Home

BIG = 131_072
NOBODY_IS_ASKED = {"M_APPROVAL_TOOLS": "-"}
"""M asks a person about most tools; here its other half is looked at."""


class Recorder:
    """Makes hook scripts that note their name, stdin and environment, and then go on as they are told."""

    def __init__(self, place: Home) -> None:
        self._place = place
        self._seen = place.root / "seen"
        self._seen.mkdir()
        (self._seen / "order").touch()

    def script(self, name: str, then: str = "exit 0", *, where: str = "~/bin") -> str:
        """The path of a new program. `then` is Bash; stdin stays unread where it begins with a colon."""
        keep = self._seen / name
        keep.mkdir(exist_ok=True)
        reading = "" if then.startswith(":") else f'cat > "{keep}/stdin"\n'
        body = f'echo {name} >> "{self._seen}/order"\nenv -0 > "{keep}/env"\n{reading}{then}'
        return str(self._place.script(f"{where}/{name}", body))

    @property
    def order(self) -> list[str]:
        return (self._seen / "order").read_text().split()

    def stdin(self, name: str) -> Any:
        return json.loads((self._seen / name / "stdin").read_bytes())

    def env(self, name: str) -> dict[str, str]:
        pairs = (self._seen / name / "env").read_bytes().decode("utf-8", "surrogateescape").split("\0")
        return dict(pair.split("=", 1) for pair in pairs if pair)


@pytest.fixture
def recorder(place: Home) -> Recorder:
    return Recorder(place)


class Agents:
    """Fairlead for any agent: `engine` runs its hooks, `hook` is one of its hooks."""

    def __init__(self, place: Home) -> None:
        self._place = place

    def _request(
        self, agent: str, event: Mapping[str, Any] | bytes, env: Mapping[str, str] | None = None, **more: Any
    ) -> Request:
        return Request(
            agent=agent,
            raw=event if isinstance(event, bytes) else json.dumps(event).encode(),
            environ={**self._place.environ, **NOBODY_IS_ASKED, **(env or {})},
            managed=str(self._place.root / "etc"),
            **{"project": str(self._place.project), "trust_project": True, **more},
        )

    def engine(self, agent: str, event: Mapping[str, Any] | bytes, **more: Any) -> Result:
        return as_engine(self._request(agent, event, **more))

    def hook(self, agent: str, event: Mapping[str, Any] | bytes, **more: Any) -> Answer:
        return as_hook(self._request(agent, event, **more))

    def load(self, agent: str, **more: Any) -> Hooks:
        options: dict[str, Any] = {"dialects": [agent], "agent": agent, "trust_project": True, **more}
        return Hooks.load(
            self._place.project, environ=self._place.environ, managed=str(self._place.root / "etc"), **options
        )


@pytest.fixture
def agents(place: Home) -> Agents:
    return Agents(place)


@pytest.fixture
def problems(place: Home, agents: Agents) -> Callable[..., list[str]]:
    """What is wrong with a configuration, each as `line:column message (hint)`."""

    def find(agent: str, path: str, content: str) -> list[str]:
        file: Path = place.write(path, content)
        found = agents.load(agent).problems
        assert {problem.file for problem in found} <= {str(file)}
        return [f"{p.line}:{p.column} {p.message}" + (f" ({p.hint})" if p.hint else "") for p in found]

    return find
