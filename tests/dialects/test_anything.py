"""Whatever stands in a file, an event or an answer: a value or a clear error, never a crash."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead import Event, HookFailed, InputError, Verdict
from fairlead.dialects import HOOK_HALVES, Places, Source, agent_half, hook_half
from fairlead.errors import ConfigError
from fairlead.handlers.command import Command
from fairlead.hooks import Hook, Origin
from fairlead.work import Result

SEEDS = ("code-agent", "codemie", "amcp", "claude-agent")
PLACES = Places(home="/home", project="/project", environ={})

KEYS = st.sampled_from(
    """
    hooks PreToolUse preToolUse Stop matcher type command prompt timeout timeout_secs handlers script function
    enabled reads profiles activeProfile default maxHookRetries debug version x decision reason continue_execution
    stop_reason updatedInput updated_input additionalContext additional_context hookSpecificOutput event payload
    permissionDecision tool_name toolName tool_input input session_id sessionId hook_event_name cwd continue feedback
    updatedResponse system_message systemMessage suppress_logging suppressOutput action message prompt_id agent_id
    metadata extra
    """.split()
)
WORDS = st.sampled_from(
    "command prompt python allow deny block approve ask continue PreToolUse pre_tool_use Bash * ( default stdin".split()
) | st.sampled_from(["", "\0", "\ud800"])
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS
    | st.text(max_size=5)
)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=25
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=6)


def hook_of(dialect: str) -> Hook:
    origin = Origin(dialect=dialect, layer="user", file="f", path=("hooks", 0))
    return Hook(name="hook", events=("*",), handler=Command(command="true"), origin=origin)


EVENTS = [
    Event.pre_tool_use("s", "Bash", {"command": "ls"}),
    Event.post_tool_use("s", "Bash", "out"),
    Event.user_prompt_submit("s", "hello"),
    Event.stop("s"),
    Event.session_start("s"),
    Event.subagent_start("s", "a", "t"),
]


def said(error: Exception) -> None:
    assert str(error), "an error is a sentence"


def settings_of(dialect: str, value: object) -> dict[str, Any]:
    """The value at a place where it is looked at."""
    if dialect == "codemie":
        return {"activeProfile": "default", "profiles": {"default": {"hooks": value}}}
    return {"hooks": value}


@pytest.mark.parametrize("dialect", SEEDS)
@settings(max_examples=50, deadline=None)
@given(value=JSON, wrapped=st.booleans())
def test_a_configuration_of_any_shape_is_read_or_reported(dialect: str, value: object, wrapped: bool) -> None:
    half = hook_half(dialect)
    text = json.dumps(settings_of(dialect, value) if wrapped else value)
    source = Source(path="/home/hooks.json", layer="user", owner="user")

    reading = half.read(source, text, PLACES)

    assert all(problem.line >= 1 and problem.column >= 1 and problem.message for problem in reading.problems)
    for hook in half.arrange(reading.hooks, [(source, reading)]):
        assert hook.timeout is None or 0 < hook.timeout <= 1_000_000
        assert hook.name
        assert hook.handler.describe()


@pytest.mark.parametrize("dialect", SEEDS)
@settings(max_examples=50, deadline=None)
@given(value=JSON | OBJECTS, code=st.sampled_from([0, 0, 0, 1, 2, 127]), junk=st.binary(max_size=8))
def test_any_answer_of_a_hook_is_a_verdict_or_a_failure(dialect: str, value: object, code: int, junk: bytes) -> None:
    half = hook_half(dialect)
    for event in EVENTS:
        for stdout in (json.dumps(value).encode(), json.dumps(value).encode() + junk, junk):
            try:
                verdict = half.read_verdict(hook_of(dialect), event, Result(stdout=stdout, stderr=junk, exit_code=code))
            except HookFailed as error:
                said(error)
            else:
                assert verdict.decision in ("none", "allow", "ask", "deny")
                assert half.merge(event, [verdict, verdict]).decision == verdict.decision


@pytest.mark.parametrize("dialect", SEEDS)
@settings(max_examples=50, deadline=None)
@given(value=JSON | OBJECTS)
def test_any_value_of_a_function_is_a_verdict_or_a_failure(dialect: str, value: object) -> None:
    for event in EVENTS:
        try:
            assert isinstance(hook_half(dialect).read_value(hook_of(dialect), event, value), Verdict)
        except HookFailed as error:
            said(error)


@pytest.mark.parametrize("agent", [*SEEDS, "m"])
@settings(max_examples=50, deadline=None)
@given(payload=OBJECTS, name=st.sampled_from(["", "PreToolUse", "pre_tool_use", "Stop", "Nobody"]))
def test_any_event_is_read_or_refused_with_a_sentence(agent: str, payload: dict[str, Any], name: str) -> None:
    half = agent_half(agent)
    try:
        event = half.read_event(json.dumps(payload).encode(), name, {})
    except InputError as error:
        said(error)
    else:
        for dialect in HOOK_HALVES:
            setting: Any = type("Setting", (), {"project": "/project", "home": "/home", "environ": {}})
            given_to_hook = hook_half(dialect).hook_input(hook_of(dialect), event, setting)
            assert isinstance(json.loads(given_to_hook.stdin), dict)
            assert all(isinstance(value, str) for value in given_to_hook.env.values())


@pytest.mark.parametrize("text", ["", "{", "[1", "nul", "\ufeff{}", '{"hooks": NaN}', "[" * 200_000, '{"a":1,"a":2}'])
@pytest.mark.parametrize("dialect", SEEDS)
def test_a_text_that_is_no_document_is_refused_with_its_place(dialect: str, text: str) -> None:
    source = Source(path="/home/hooks.json", layer="user", owner="user")
    try:
        reading = hook_half(dialect).read(source, text, PLACES)
    except ConfigError as error:
        said(error)
    else:
        assert reading.hooks == ()
