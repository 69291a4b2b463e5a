"""Most events are looked at by nobody. What is cut short for those is what the long way would have said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import Hooks, PreToolUse, dialects
from fairlead.answering import told
from fairlead.degrade import degrade
from fairlead.dialects import AGENT_HALVES, Reply
from fairlead.events import EVENTS, Event, event_class
from fairlead.verdicts import NONE, Decision, Verdict

SILENT = Decision(groups={"fairlead": NONE})
SAME_IN_WORDS = SILENT.but(decision="none", said="", reason="", stop=False)
"""Says as little, but is not known to be silent: it goes the long way."""


def an_event(name: str) -> Event:
    cls = event_class(name)
    return cls.read(name, dict.fromkeys(cls._required, "x"))


@pytest.mark.parametrize("name", [*EVENTS, "Another"])
def test_claude_code_is_told_nothing_either_way(name: str) -> None:
    event = an_event(name) if name in EVENTS else Event.from_payload({"hook_event_name": name})
    half = dialects.agent_half("claude-code")
    assert half.write_reply(event, SILENT) == half.write_reply(event, SAME_IN_WORDS) == Reply()


@pytest.mark.parametrize("agent", AGENT_HALVES)
def test_there_is_nothing_that_an_agent_could_not_be_told(agent: str) -> None:
    half = dialects.agent_half(agent)
    for name in EVENTS:
        event = an_event(name)
        spoken, decision = told(half, Hooks(), event, SILENT)
        assert degrade(spoken, decision, half.CAN, agent) is decision
        assert half.write_reply(spoken, decision) == half.write_reply(*told(half, Hooks(), event, SAME_IN_WORDS))


WORDS = {
    "decision": st.sampled_from(["allow", "ask", "defer", "deny"]),
    "reason": st.text(min_size=1),
    "context": st.text(min_size=1),
    "user_message": st.text(min_size=1),
    "updated_input": st.just({"command": "true"}),
    "updated_output": st.just("other"),
    "stop": st.just(True),
    "extra": st.just({"additionalContext": "x"}),
    "notes": st.just(("a hook failed",)),
    "whole": st.just({"reason": "long"}),
}


@given(st.data())
def test_whoever_says_anything_at_all_is_not_silent(data: st.DataObject) -> None:
    said = data.draw(st.lists(st.sampled_from(sorted(WORDS)), min_size=1, max_size=3, unique=True))
    assert not SILENT.but(**{name: data.draw(WORDS[name]) for name in said}).is_silent


def test_every_word_of_a_verdict_breaks_the_silence() -> None:
    assert not [name for name in Verdict._fields if SILENT.but(**{name: "x"}).is_silent]
    assert SILENT.is_silent
    assert Decision().is_silent


async def test_a_hook_that_runs_and_says_nothing_leaves_it_silent() -> None:
    hooks = Hooks()
    hooks.register("PreToolUse", lambda _event: None)
    decision = await hooks.fire(PreToolUse(tool_name="Bash"))
    assert decision.is_silent
    assert len(decision.met) == 1


async def test_what_was_kept_from_looking_is_noted_where_nobody_else_looks() -> None:
    hooks = Hooks()
    hooks.register("PreToolUse", lambda _event: None)
    untrusted = [hook.but(trusted=False) for hook in hooks]
    decision = await Hooks(untrusted).fire(PreToolUse(tool_name="Bash"))
    assert "not trusted" in decision.notes[0]
    assert not decision.is_silent
