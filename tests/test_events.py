from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import events
from fairlead.errors import InputError
from fairlead.events import EVENTS, Event, OtherEvent, PreToolUse, canonical_name

ABOUT_TOOLS = [name for name, cls in EVENTS.items() if issubclass(cls, events.ToolEvent)]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = sorted({field for cls in EVENTS.values() for field in cls._fields} | {"unknown", "hook_event_name"})
PAYLOADS = st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=8)
NAMES = st.sampled_from([*EVENTS, "SomethingNew", ""])


@given(PAYLOADS, NAMES)
def test_a_random_payload_is_an_event_or_an_input_error(payload: dict[str, Any], name: str) -> None:
    try:
        event = Event.from_payload(payload, name)
    except InputError as error:
        message = str(error)
    else:
        assert event.name == (name or payload["hook_event_name"])
        assert isinstance(event.matcher_value, str)
        assert json.loads(json.dumps(event.payload()))["hook_event_name"] == event.name
        return
    assert message


def _minimal(name: str) -> dict[str, Any]:
    return {"hook_event_name": name, **({"tool_name": "Bash"} if name in ABOUT_TOOLS else {})}


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_comes_back_as_it_was_sent(name: str) -> None:
    payload = {**_minimal(name), "session_id": "s", "cwd": "/x", "something_new": {"a": [1]}}
    event = Event.from_payload(payload)
    assert type(event) is EVENTS[name]
    assert event.payload() == payload
    assert Event.from_payload(event.payload()) == event


@given(st.text(min_size=1, max_size=20).filter(lambda name: canonical_name(name) not in EVENTS))
def test_an_event_that_nobody_knows_is_carried_as_it_came(name: str) -> None:
    payload = {"hook_event_name": name, "tool_name": 5, "x": [1]}
    event = Event.from_payload(payload)
    assert isinstance(event, OtherEvent)
    assert event.payload() == payload
    assert (event.name, event.matcher_value) == (name, "")


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        ({}, "the event has no hook_event_name"),
        ({"hook_event_name": ""}, "no hook_event_name"),
        ({"hook_event_name": 5}, "no hook_event_name"),
        ({"hook_event_name": ["PreToolUse"]}, "no hook_event_name"),
        ({"hook_event_name": "PreToolUse"}, "PreToolUse without tool_name"),
        ({"hook_event_name": "PreToolUse", "tool_name": ""}, "PreToolUse without tool_name"),
        ({"hook_event_name": "PreToolUse", "tool_name": None}, "PreToolUse without tool_name"),
        ({"hook_event_name": "PreToolUse", "tool_name": 5}, "PreToolUse: tool_name must be a string, not a number"),
        (
            {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": "rm"},
            "PreToolUse: tool_input must be an object, not a string",
        ),
        (
            {"hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": ["/"]},
            "PreToolUse: cwd must be a string, not a list",
        ),
        ({"hook_event_name": "Stop", "stop_hook_active": "yes"}, "must be true or false, not a string"),
    ],
    ids=str,
)
def test_what_is_wrong_is_named(payload: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as error:
        Event.from_payload(payload)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("event", "value"),
    [
        (PreToolUse(tool_name="Bash"), "Bash"),
        (events.SessionStart(source="resume"), "resume"),
        (events.SessionEnd(reason="clear"), "clear"),
        (events.SubagentStop(agent_type="reviewer"), "reviewer"),
        (events.SubagentStart(agent_type="reviewer"), "reviewer"),
        (events.Notification(notification_type="idle"), "idle"),
        (events.PreCompact(trigger="auto"), "auto"),
        (events.FileChanged(file_path="/a/b/.env"), ".env"),
        (events.FileChanged(file_path="C:\\a\\.env"), ".env"),
        (events.UserPromptSubmit(prompt="hi"), ""),
        (events.Stop(), ""),
    ],
    ids=repr,
)
def test_each_event_knows_what_a_matcher_looks_at(event: Event, value: str) -> None:
    assert event.matcher_value == value


@pytest.mark.parametrize(
    ("tool_input", "command", "path"),
    [
        ({"command": "ls"}, "ls", ""),
        ({"command": ["ls"]}, "", ""),
        ({"file_path": "/a", "path": "/b"}, "", "/a"),
        ({"path": "/b"}, "", "/b"),
        ({"notebook_path": "/n"}, "", "/n"),
        ({"file_path": 5}, "", ""),
        ({}, "", ""),
    ],
    ids=str,
)
def test_a_tool_event_says_which_command_and_which_file(tool_input: dict[str, Any], command: str, path: str) -> None:
    event = PreToolUse(tool_name="x", tool_input=tool_input)
    assert (event.command, event.file_path) == (command, path)


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        (Event.pre_tool_use("s", "Bash", {"command": "ls"}), {"tool_name": "Bash", "tool_input": {"command": "ls"}}),
        (Event.post_tool_use("s", "Bash", "out"), {"tool_name": "Bash", "tool_response": "out"}),
        (Event.post_tool_use_failure("s", "Bash", "no"), {"tool_name": "Bash", "error": "no"}),
        (Event.user_prompt_submit("s", "hi"), {"prompt": "hi"}),
        (Event.session_start("s", source="startup"), {"source": "startup"}),
        (Event.session_end("s", reason="exit"), {"reason": "exit"}),
        (Event.stop("s", stop_hook_active=True), {"stop_hook_active": True}),
        (Event.pre_compact("s", trigger="auto"), {"trigger": "auto"}),
        (Event.subagent_start("s", "a1", "reviewer", "x"), {"agent_id": "a1", "agent_type": "reviewer"}),
        (Event.subagent_stop("s", "a1", success=False), {"agent_id": "a1", "success": False}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_events_can_be_made_in_a_line(event: Event, fields: dict[str, Any]) -> None:
    payload = event.payload()
    assert payload["session_id"] == "s"
    assert fields.items() <= payload.items()
    assert event.subagent_id == payload.get("agent_id", "")


def test_what_can_be_kept_from_happening() -> None:
    blockable = {name for name, cls in EVENTS.items() if cls.blockable}
    assert {"PreToolUse", "PermissionRequest", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact"} <= blockable
    assert not {"PostToolUse", "SessionEnd", "Notification", "PostModelSwitch"} & blockable
