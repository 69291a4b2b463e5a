"""What must hold for all agents alike, judged by what the agents were seen to do with an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead import dialects, tools, verdicts
from fairlead.answering import told
from fairlead.api import Hooks
from fairlead.dialects import AGENT_HALVES, Reply
from fairlead.events import EVENTS, Event, PreToolUse, ToolEvent
from fairlead.hooks import Setting
from fairlead.verdicts import Decision, Verdict
from tests.dialects import samples
from tests.dialects.oracles import ASKS, BLOCKED, RUNS, Outcome, outcome

SETTING = Setting(project="/project", home="/home/u", environ={})


def read(agent: str, command: str) -> ToolEvent:
    raw = json.dumps(samples.SHELL[agent](command)).encode()
    event = dialects.agent_half(agent).read_event(raw, samples.EVENT.get(agent, ""), {})
    assert isinstance(event, PreToolUse)
    return event


def answered(agent: str, verdict: Verdict, command: str = "ls") -> Outcome:
    """What the agent does after its call was judged like this."""
    half = dialects.agent_half(agent)
    hooks = Hooks([], setting=SETTING)
    hooks.register("PreToolUse", lambda _event: verdict)
    event = read(agent, command)
    seen, decision = told(half, hooks, event, hooks.fire_sync(event))
    return outcome(agent, half.write_reply(seen, decision))


@pytest.mark.parametrize("agent", AGENT_HALVES)
def test_a_shell_command_is_understood(agent: str) -> None:
    event = read(agent, "git push --force")
    assert event.tool_name == "Bash"
    assert event.command == "git push --force"


@pytest.mark.parametrize("agent", AGENT_HALVES)
@pytest.mark.parametrize("reason", ["no force push", "", "two\nlines", "quotes \" ' \\ and ünïcödé"])
def test_a_refusal_is_understood_and_the_reason_arrives(agent: str, reason: str) -> None:
    found = answered(agent, verdicts.deny(reason))
    assert found.what == BLOCKED
    assert reason.strip() in found.reason.strip() or agent == "code-agent"


@pytest.mark.parametrize("agent", AGENT_HALVES)
def test_half_a_character_in_a_reason_costs_nothing(agent: str) -> None:
    half = dialects.agent_half(agent)
    hooks = Hooks([], setting=SETTING)
    hooks.register("PreToolUse", lambda _event: verdicts.deny("no \ud800 no"))
    event = read(agent, "ls")
    seen, decision = told(half, hooks, event, hooks.fire_sync(event))
    reply = half.write_reply(seen, decision)
    assert outcome(agent, reply).what == BLOCKED
    assert b"\\ud800" not in reply.stdout
    assert "\ud800" not in reply.stderr


@pytest.mark.parametrize("agent", AGENT_HALVES)
def test_a_question_is_asked_or_refused_and_never_answered_with_yes(agent: str) -> None:
    assert answered(agent, verdicts.ask("sure?")).what in (ASKS, BLOCKED)
    assert answered(agent, verdicts.defer("later")).what in (ASKS, BLOCKED) or agent == "claude-code"


@pytest.mark.parametrize("agent", AGENT_HALVES)
def test_the_end_of_the_turn_is_also_the_end_of_the_call(agent: str) -> None:
    assert answered(agent, verdicts.stop("enough")).what == BLOCKED


@pytest.mark.parametrize("agent", AGENT_HALVES)
def test_another_command_runs_or_nothing_does(agent: str) -> None:
    found = answered(agent, verdicts.rewrite({"command": "ls -l"}))
    if found.what == BLOCKED:
        assert "ls -l" in found.reason or agent == "code-agent"
    else:
        assert found.what in (RUNS, ASKS)
        assert found.tool_input is not None
        assert found.tool_input[samples.COMMAND_KEY.get(agent, "command")] == "ls -l"


@pytest.mark.parametrize("agent", AGENT_HALVES)
def test_silence_lets_the_agent_go_on_by_its_own_rules(agent: str) -> None:
    found = answered(agent, verdicts.NONE)
    assert found.what == RUNS or (found.what == ASKS and agent == "antigravity")
    assert found.tool_input is None


@pytest.mark.parametrize("agent", AGENT_HALVES)
@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"a": 1, "a": 2}', b"{}"])
def test_what_cannot_be_read_is_refused_in_words_that_the_agent_understands(agent: str, raw: bytes) -> None:
    from fairlead.answering import Request, as_hook

    reply = as_hook(Request(agent=agent, raw=raw, environ={"HOME": "/nowhere"}, managed="/nowhere")).reply
    assert outcome(agent, reply).what == BLOCKED


TEXT = st.text(max_size=20) | st.sampled_from(["", " ", "\n", "\0", "\ud800", "{", '"}'])
VERDICTS = st.builds(
    Verdict,
    decision=st.sampled_from(["none", "allow", "ask", "defer", "deny"]),
    reason=TEXT,
    context=TEXT,
    feedback=TEXT,
    system_message=TEXT,
    user_message=TEXT,
    updated_input=st.none() | st.just({"command": "pwd"}) | st.just({}),
    stop=st.booleans(),
    stop_reason=TEXT,
    suppress_output=st.booleans(),
    extra=st.dictionaries(
        st.sampled_from(["interrupt", "terminalSequence", "permission", "cancel", "x"]), st.booleans()
    ),
)


@pytest.mark.parametrize("agent", AGENT_HALVES)
@settings(max_examples=40, deadline=None)
@given(verdict=VERDICTS)
def test_whatever_is_said_with_it_a_refusal_arrives(agent: str, verdict: Verdict) -> None:
    found = answered(agent, verdict)
    if verdict.decision == "deny" or verdict.stop:
        assert found.what == BLOCKED
    elif verdict.decision in ("ask", "defer"):
        assert found.what in (ASKS, BLOCKED) or (agent == "claude-code" and verdict.decision == "defer")
    elif verdict.updated_input is not None and found.what == RUNS:
        assert found.tool_input is not None
    elif verdict.updated_input is None:
        assert found.what == RUNS or (found.what == ASKS and agent == "antigravity")


def _sample(name: str) -> Event:
    cls = EVENTS[name]
    return cls(tool_name="Bash", tool_input={"command": "ls"}) if issubclass(cls, ToolEvent) else cls()


@pytest.mark.parametrize("agent", AGENT_HALVES)
@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(sorted(EVENTS)), verdict=VERDICTS)
def test_every_event_has_an_answer_that_can_be_written(agent: str, name: str, verdict: Verdict) -> None:
    half = dialects.agent_half(agent)
    event = tools.spoken_by(half.TOOLS, _sample(name))
    seen, decision = told(half, Hooks([], setting=SETTING), event, Decision(**verdict.__dict__))
    reply, result = half.write_reply(seen, decision), half.write_result(seen, decision)
    assert isinstance(reply, Reply)
    assert json.loads(json.dumps(result)) == result
    assert not reply.stdout or reply.stdout.endswith(b"\n")


# --- from one agent's words into another's -----------------------------------------------------------

CALLS = {
    "Bash": {"command": "make"},
    "Write": {"file_path": "/project/a.txt", "content": "one\ntwo\n"},
    "Edit": {"file_path": "/project/a.txt", "old_string": "one", "new_string": "two"},
    "Read": {"file_path": "/project/a.txt"},
    "mcp__github__search": {"query": "x"},
}
VOCABULARIES = {name: half.TOOLS for name in AGENT_HALVES if (half := dialects.agent_half(name)).TOOLS is not None}


@pytest.mark.parametrize("first", VOCABULARIES)
@pytest.mark.parametrize("second", VOCABULARIES)
@settings(max_examples=10, deadline=None)
@given(tool=st.sampled_from(sorted(CALLS)), text=st.text(max_size=30))
def test_a_call_keeps_its_meaning_between_any_two_agents(first: str, second: str, tool: str, text: str) -> None:
    """Said by one agent, shown to a hook of the other, and the hook's rewrite said back to the first."""
    ours = {key: value if key == "file_path" else value + text.replace("\r", "") for key, value in CALLS[tool].items()}
    event = tools.spoken_by(VOCABULARIES[first], PreToolUse(tool_name=tool, tool_input=ours, cwd="/project"))
    assert isinstance(event, ToolEvent)
    (seen,) = tools.views(VOCABULARIES[second], event)
    assert isinstance(seen, ToolEvent)
    heard = tools.heard(VOCABULARIES[second], seen, event, Verdict(updated_input=dict(seen.tool_input)))
    assert heard.updated_input is not None
    for key, value in ours.items():
        assert heard.updated_input[key].rstrip("\n") == value.rstrip("\n")
    back, decision = tools.for_agent(event, Decision(updated_input=ours))
    assert event.spoken is not None
    assert decision.updated_input == event.spoken.tool_input
    assert isinstance(back, ToolEvent)
    assert back.tool_input == event.spoken.tool_input


@pytest.mark.parametrize("agent", dialects.HOOK_HALVES)
def test_the_signs_of_a_dialect_are_above_all_of_its_files(agent: str, tmp_path: Path) -> None:
    environ: dict[str, Any] = {
        name: str(tmp_path / name) for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME")
    }
    for env in ({}, environ):
        places = dialects.Places(home=str(tmp_path / "h"), project=str(tmp_path / "p"), environ=env)
        signs = [sign for sign in dialects.signs(agent, places) if sign]
        for source in dialects.hook_half(agent).sources(places):
            assert agent == "fairlead" or any(source.path.startswith(f"{sign}/") for sign in signs), source.path
