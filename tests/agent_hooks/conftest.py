"""A language model's server with a script, and a project to look around in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairlead import Decision, PreToolUse
from fairlead.api import Hooks
from fairlead.events import Event
from fairlead.handlers.agent import Agent
from fairlead.hooks import Hook, Origin, Setting
from tests.conftest import Home
from tests.models.provider import Provider, provider

__all__ = ["provider"]

Judge = Callable[..., Decision]
CALL = PreToolUse(session_id="s", tool_name="Bash", tool_input={"command": "make deploy"})


@pytest.fixture
def judge(place: Home, provider: Provider) -> Judge:
    """Let one agent hook judge an event: judge("anthropic", turns=3, on_error="allow")."""

    def run(
        wire: str = "anthropic",
        event: Event = CALL,
        *,
        dialect: str = "fairlead",
        on_error: str = "",
        timeout: float | None = 60,
        **fields: Any,
    ) -> Decision:
        hook = Hook(
            name="look",
            events=(event.name,),
            handler=Agent(**{"prompt": "Is this deploy tested?", **fields}),
            origin=Origin(dialect=dialect, layer="user"),
            on_error=on_error,
            timeout=timeout,
        )
        environ = {**place.environ, **provider.environ(wire)}
        setting = Setting(project=str(place.project), home=str(place.home), environ=environ)
        return Hooks([hook], setting=setting).fire_sync(event)

    return run
