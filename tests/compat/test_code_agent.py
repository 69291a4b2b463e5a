"""Code Agent's engine: configured commands and functions in code, in order, with its own results."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead import Event, UsageError
from fairlead.compat.code_agent import HookEvent, HooksEngine
from tests.conftest import Home


@pytest.fixture(autouse=True)
def at_home(place: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", place.environ["HOME"])
    monkeypatch.chdir(place.project)


def bash(kind: str = "PreToolUse") -> HookEvent:
    payload = {"toolName": "Bash", "input": {"command": "ls"}}
    return {"type": kind, "timestamp": 1, "sessionId": "sess_1", "payload": payload}


def settings(place: Home, path: str, command: str) -> None:
    hooks = [{"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}]
    place.write(path, {"hooks": {"PreToolUse": hooks}})


async def test_without_hooks_everything_is_allowed() -> None:
    assert await HooksEngine().trigger(bash()) == {"allowed": True, "results": []}


async def test_a_configured_command_blocks(place: Home) -> None:
    settings(place, "~/.claude/settings.json", "echo no >&2; exit 1")
    result = await HooksEngine().trigger(bash())
    assert result["allowed"] is False
    (one,) = result["results"]
    assert (one["success"], one["error"], one["decision"]) == (True, "no", "block")


@pytest.mark.parametrize(
    ("value", "decision"),
    [
        ("allow", "allow"),
        ("block", "block"),
        ("BLOCK", "block"),
        ("continue", "continue"),
        ({"decision": "block", "reason": "no"}, "block"),
        ({"decision": "continue"}, "continue"),
        (None, "allow"),
    ],
    ids=str,
)
async def test_a_function_says_a_word(value: Any, decision: str) -> None:
    engine = HooksEngine()
    identity = engine.register("PreToolUse", lambda event: value)
    result = await engine.trigger(bash())
    assert result["allowed"] == (decision != "block")
    assert [(one["hookId"], one["decision"]) for one in result["results"]] == [(identity, decision)]


@pytest.mark.parametrize("value", ["maybe", "", {"decision": "no"}], ids=str)
async def test_a_word_that_nobody_knows_blocks(value: Any) -> None:
    engine = HooksEngine()
    engine.register("PreToolUse", lambda event: value)
    result = await engine.trigger(bash())
    assert result["allowed"] is False
    assert result["results"][0]["success"] is False


async def test_an_async_function_sees_the_event_and_can_go_again() -> None:
    engine = HooksEngine()
    seen: list[Event] = []

    async def look(event: Event) -> None:
        seen.append(event)

    identity = engine.register("PreToolUse", look)
    await engine.trigger(bash())
    assert (seen[0].session_id, seen[0].command) == ("sess_1", "ls")  # type: ignore[attr-defined]
    assert not engine.unregister("Stop", identity)
    assert engine.unregister("PreToolUse", identity)
    assert (await engine.trigger(bash()))["results"] == []


async def test_the_first_block_ends_the_row() -> None:
    engine = HooksEngine()
    for word in ("allow", "block", "allow"):
        engine.register("PreToolUse", lambda event, word=word: word)
    assert [one["decision"] for one in (await engine.trigger(bash()))["results"]] == ["allow", "block"]


async def test_a_project_needs_somebody_who_vouches(place: Home) -> None:
    settings(place, ".claude/settings.json", "touch ran")
    result = await HooksEngine().trigger(bash())
    assert result["allowed"] is False
    assert "trust_project=True" in result["results"][0]["error"]
    assert not (place.project / "ran").exists()
    assert (await HooksEngine(trust_project=True).trigger(bash()))["allowed"] is True
    assert (place.project / "ran").exists()


def test_an_unknown_event_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="PreTooluse"):
        HooksEngine().register("PreTooluse", print)
