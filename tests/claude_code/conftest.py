"""Claude Code's settings files in an isolated home, and Fairlead as its engine or as one of its hooks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from fairlead import Event, Hooks
from fairlead.answering import Answer, Request, Result, as_engine, as_hook
from fairlead.verdicts import Decision
from tests.claude_code.payloads import EVENTS, Json
from tests.conftest import Home


class Claude:
    """`fire` gives the decision, `engine` and `hook` what Claude Code is told."""

    def __init__(self, place: Home) -> None:
        self.place = place
        self.managed = place.root / "etc"

    def settings(self, event: str, *handlers: str | Json, matcher: str | None = None, **more: Any) -> Json:
        listed = [{"type": "command", "command": each} if isinstance(each, str) else each for each in handlers]
        group: Json = {"hooks": listed} if matcher is None else {"matcher": matcher, "hooks": listed}
        return {"hooks": {event: [group]}, **more}

    def configure(self, event: str, *handlers: str | Json, file: str = "~/.claude/settings.json", **more: Any) -> None:
        self.place.write(file, self.settings(event, *handlers, **more))

    def manage(self, content: Json, name: str = "managed-settings.json") -> None:
        file = self.managed / "claude-code" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content))

    def load(self, *, trust: bool = True, env: Mapping[str, str] | None = None, **more: Any) -> Hooks:
        return Hooks.load(
            self.place.project,
            environ={**self.place.environ, **(env or {})},
            managed=str(self.managed),
            dialects=["claude-code"],
            agent="claude-code",
            trust_project=trust,
            **more,
        )

    def payload(self, event: str, **more: Any) -> Json:
        return {**EVENTS[event], "cwd": str(self.place.project), **more}

    def fire(self, event: str, *, hooks: Hooks | None = None, **more: Any) -> Decision:
        return (hooks or self.load()).fire_sync(Event.from_payload(self.payload(event, **more)))

    def _request(self, payload: Mapping[str, Any] | bytes, **more: Any) -> Request:
        return Request(
            agent="claude-code",
            raw=payload if isinstance(payload, bytes) else json.dumps(payload).encode(),
            environ=self.place.environ,
            managed=str(self.managed),
            **{"project": str(self.place.project), "trust_project": True, **more},
        )

    def engine(self, event: str, **more: Any) -> Result:
        return as_engine(self._request(self.payload(event, **more)))

    def hook(self, event: str, **more: Any) -> Answer:
        return as_hook(self._request(self.payload(event, **more)))

    def problems(self, content: Json, file: str = "~/.claude/settings.json") -> list[str]:
        self.place.write(file, content)
        return [f"{problem.level}: {problem.message}" for problem in self.load().problems]

    def ran(self, decision: Decision) -> list[str]:
        return [report.hook.name for report in decision.reports if report.ran]


@pytest.fixture
def claude(place: Home) -> Claude:
    return Claude(place)


def says(answer: Json | str, *, code: int = 0, err: str = "") -> str:
    """A shell line that prints an answer."""
    text = answer if isinstance(answer, str) else json.dumps(answer)
    quoted = text.replace("'", "'\\''")
    complain = f"; printf %s '{err}' >&2" if err else ""
    return f"printf %s '{quoted}'{complain}; exit {code}"
