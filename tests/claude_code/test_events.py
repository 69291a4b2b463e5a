"""All 33 events: nothing of them is lost, and each knows what its matcher is compared with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairlead import Event
from fairlead.dialects import claude_code
from tests.claude_code.payloads import EVENTS, MATCHED, Json
from tests.conftest import SHARED, needs_shared

CAPTURES = sorted(SHARED.glob("captures/claude*/*.json"))


def test_there_are_33_events() -> None:
    assert len(EVENTS) == 33
    assert set(claude_code.EVENTS) == set(EVENTS)


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_keeps_every_key(name: str) -> None:
    assert Event.from_payload(EVENTS[name]).payload() == EVENTS[name]


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_keeps_what_it_does_not_know(name: str) -> None:
    payload: Json = {**EVENTS[name], "scratchpad_dir": "/tmp/x", "brand_new": {"a": [1, None]}}
    assert Event.from_payload(payload).payload() == payload


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_has_the_matcher_target_that_is_documented(name: str) -> None:
    event = Event.from_payload(EVENTS[name])
    assert bool(event.matches_on) == (name in MATCHED)
    assert event.matcher_value == MATCHED.get(name, "")


def test_null_stays_where_null_is_a_value() -> None:
    payload = {**EVENTS["PreCompact"], "custom_instructions": None}
    assert "custom_instructions" in Event.from_payload(payload).payload()


def test_a_rewritten_input_is_what_the_next_hook_sees() -> None:
    event = Event.from_payload(EVENTS["PreToolUse"])
    assert event.but(tool_input={"command": "ls"}).payload()["tool_input"] == {"command": "ls"}


@needs_shared("captures", "claude")
@pytest.mark.parametrize("file", CAPTURES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_what_the_real_program_sends_keeps_every_key(file: Path) -> None:
    captured = json.loads(file.read_text())
    payload = captured.get("stdin") or captured["more"]["body"]
    assert Event.from_payload(payload).payload() == payload
