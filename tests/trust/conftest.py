"""A project with hooks of its own, and what its user has said about them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fairlead import Hooks
from fairlead.dialects import Places
from fairlead.trust import reviewing
from fairlead.trust.reviewing import Review, Seen
from fairlead.verdicts import Decision
from tests.conftest import Home

BASH = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}


def places(place: Home) -> Places:
    return Places(
        home=str(place.home), project=str(place.project), environ=place.environ, managed=str(place.root / "etc")
    )


def review(place: Home) -> Review:
    return reviewing.review(places(place))


def seen(place: Home, name: str) -> Seen:
    return next(one for one in review(place).hooks if one.hook.name == name)


def trust(place: Home) -> Review:
    """Say yes to everything that is there now."""
    found = review(place)
    reviewing.accept(found, found.hooks, "test")
    return found


def judged(place: Home, event: dict[str, Any] | None = None, **more: Any) -> Decision:
    from fairlead import Event

    hooks = Hooks.load(place.project, environ=place.environ, managed=str(place.root / "etc"), **more)
    return hooks.fire_sync(Event.from_payload(event or BASH))


def ran(place: Home) -> list[str]:
    """What hooks have written, each a word, into the file `ran` of the home."""
    file = place.home / "ran"
    return file.read_text().split() if file.exists() else []


@pytest.fixture
def guarded(place: Home) -> Home:
    """A project whose hook refuses everything and leaves a trace."""
    place.write(
        "fairlead.toml",
        '[[hook]]\nname = "check"\non = "PreToolUse"\ntool = "Bash"\nrun = "sh hooks/check.sh"\n',
    )
    place.script("hooks/check.sh", 'echo check >> "$HOME/ran"\necho refused >&2\nexit 1')
    return place


@pytest.fixture
def accepted(guarded: Home) -> Home:
    trust(guarded)
    return guarded


Write = Callable[[str, str], Any]


def claude_settings(command: str, event: str = "PreToolUse", matcher: str = "Bash") -> str:
    hook = {"type": "command", "command": command}
    return json.dumps({"hooks": {event: [{"matcher": matcher, "hooks": [hook]}]}})
