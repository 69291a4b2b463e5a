"""Whatever an agent cannot carry out becomes the nearest safe thing, never something weaker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead import Event, dialects
from fairlead.degrade import degrade
from fairlead.events import EVENTS, PostToolUse, PreToolUse, SessionStart, Stop, ToolEvent
from fairlead.verdicts import Decision

Able = frozenset[str]
CALL = PreToolUse(tool_name="Bash", tool_input={"command": "rm x"})
RESULT = PostToolUse(tool_name="Bash", tool_response="secret")
REWRITABLE = ("PreToolUse", "PermissionRequest")
REWRITTEN = {"command": "ls"}
AGENTS: dict[str, Mapping[str, Able]] = {name: dialects.agent_half(name).CAN for name in dialects.AGENT_HALVES}
WORDS = ("deny", "ask", "allow", "defer", "rewrite", "rewrite_over", "rewrite_if_allowed", "output", "context",
         "user_message", "stop")  # fmt: skip


def carried_out(event: Event, able: Able, **fields: Any) -> Decision:
    return degrade(event, Decision(**fields), {event.name: able}, "agent")


def event_named(name: str) -> Event:
    cls = EVENTS[name]
    return cls(tool_name="Bash", tool_input={"command": "rm x"}) if issubclass(cls, ToolEvent) else cls()


@pytest.mark.parametrize("agent", AGENTS)
def test_agents_only_claim_what_has_a_meaning(agent: str) -> None:
    can = AGENTS[agent]
    assert "*" in can
    assert set(can) <= {*EVENTS, *getattr(dialects.agent_half(agent), "EVENTS", {}).values(), "*"}
    for able in can.values():
        assert able <= set(WORDS)


# what the agent can, what was decided, what it is told
TABLE: list[tuple[str, Event, set[str], dict[str, Any], str]] = [
    ("deny is carried", CALL, {"deny"}, {"decision": "deny"}, "deny"),
    ("ask is carried", CALL, {"deny", "ask"}, {"decision": "ask"}, "ask"),
    ("ask becomes deny", CALL, {"deny"}, {"decision": "ask"}, "deny"),
    ("defer is carried", CALL, {"deny", "ask", "defer"}, {"decision": "defer"}, "defer"),
    ("defer becomes ask", CALL, {"deny", "ask"}, {"decision": "defer"}, "ask"),
    ("defer becomes deny", CALL, {"deny"}, {"decision": "defer"}, "deny"),
    ("allow is carried", CALL, {"deny", "allow"}, {"decision": "allow"}, "allow"),
    ("allow becomes nothing", CALL, {"deny"}, {"decision": "allow"}, "none"),
    ("deny becomes a note", CALL, set(), {"decision": "deny"}, "none"),
    ("a rewrite is carried", CALL, {"deny", "rewrite"}, {"updated_input": REWRITTEN}, "none"),
    ("a rewrite becomes deny", CALL, {"deny"}, {"updated_input": REWRITTEN}, "deny"),
    ("an allowed rewrite becomes deny", CALL, {"deny", "allow"},
     {"decision": "allow", "updated_input": REWRITTEN}, "deny"),
    ("a rewrite that needs allow has it", CALL, {"deny", "allow", "rewrite_if_allowed"},
     {"decision": "allow", "updated_input": REWRITTEN}, "allow"),
    ("a rewrite that needs allow has it not", CALL, {"deny", "allow", "rewrite_if_allowed"},
     {"updated_input": REWRITTEN}, "deny"),
    ("a rewrite is laid over", CALL, {"deny", "rewrite_over"},
     {"updated_input": {**CALL.tool_input, "more": 1}}, "none"),
    ("a rewrite that takes a key out cannot be laid over", CALL, {"deny", "rewrite_over"},
     {"updated_input": {}}, "deny"),
    ("a rewrite that changes nothing is none", CALL, {"deny"}, {"updated_input": CALL.tool_input}, "none"),
    ("a rewrite after the fact is none", RESULT, {"deny"}, {"updated_input": REWRITTEN}, "none"),
    ("a stop becomes deny", CALL, {"deny"}, {"stop": True}, "deny"),
    ("a stop is carried", CALL, {"deny", "stop"}, {"stop": True}, "none"),
    ("a stop beats going on", Stop(), {"deny"}, {"stop": True, "decision": "deny"}, "none"),
    ("an output becomes deny", RESULT, {"deny"}, {"updated_output": "***"}, "deny"),
    ("an output is carried", RESULT, {"deny", "output"}, {"updated_output": "***"}, "none"),
    ("an output is dropped", RESULT, set(), {"updated_output": "***"}, "none"),
]  # fmt: skip


@pytest.mark.parametrize(("event", "able", "fields", "word"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_decision_is_carried_out_as(event: Event, able: set[str], fields: dict[str, Any], word: str) -> None:
    assert carried_out(event, frozenset(able), **fields).decision == word


def test_a_refused_rewrite_says_what_was_wanted() -> None:
    decision = carried_out(CALL, frozenset({"deny"}), updated_input=REWRITTEN, reason="too broad")
    assert '{"command":"ls"}' in decision.reason
    assert decision.reason.endswith("too broad")
    assert decision.updated_input is None


def test_a_refused_output_says_what_it_should_have_been() -> None:
    decision = carried_out(RESULT, frozenset({"deny"}), updated_output={"stdout": "***"})
    assert '{"stdout":"***"}' in decision.reason
    assert decision.updated_output is None


def test_context_goes_with_the_reason_of_a_refusal() -> None:
    decision = carried_out(CALL, frozenset({"deny"}), decision="deny", reason="no", context="use make", feedback="so")
    assert decision.reason == "no\nuse make\nso"
    assert decision.for_model == ""


def test_context_that_has_no_place_is_noted() -> None:
    decision = carried_out(CALL, frozenset({"deny"}), context="use make")
    assert decision.for_model == ""
    assert "use make" in decision.notes[-1]


def test_a_message_that_has_no_place_is_noted() -> None:
    decision = carried_out(CALL, frozenset({"deny"}), user_message="psst")
    assert decision.user_message == ""
    assert "psst" in decision.notes[-1]


def test_a_refusal_that_cannot_be_carried_out_is_noted_with_its_reason() -> None:
    decision = carried_out(SessionStart(), frozenset({"context"}), decision="deny", reason="no")
    assert decision.notes == ("agent cannot block SessionStart: no",)


texts = st.text(max_size=6)
DECISIONS = st.fixed_dictionaries(
    {"decision": st.sampled_from(["none", "allow", "ask", "defer", "deny"])},
    optional={
        "reason": texts,
        "context": texts,
        "feedback": texts,
        "system_message": texts,
        "user_message": texts,
        "updated_input": st.none() | st.dictionaries(texts, texts, max_size=2),
        "updated_output": st.none() | texts,
        "stop": st.booleans(),
        "stop_reason": texts,
    },
)
ABLE = st.frozensets(st.sampled_from(WORDS))
REAL = st.sampled_from([(agent, name) for agent in AGENTS for name in EVENTS])


def check_rewrite(event: Event, able: Able, told: Decision) -> None:
    if told.updated_input is None:
        return
    assert able & {"rewrite", "rewrite_over", "rewrite_if_allowed"}
    if not able & {"rewrite", "rewrite_if_allowed"}:
        assert told.updated_input.keys() >= CALL.tool_input.keys() or event.name not in REWRITABLE


def check(event: Event, able: Able, fields: dict[str, Any], told: Decision) -> None:
    wanted = Decision(**fields)
    stops = event.name in ("Stop", "SubagentStop") and wanted.stop
    if "deny" in able and not stops:
        if wanted.decision in ("deny", "ask", "defer"):
            assert told.decision in ("deny", "ask", "defer")
        if wanted.decision == "deny":
            assert told.denies
        if wanted.stop:
            assert told.stop or told.denies
        if event.name in REWRITABLE and wanted.updated_input not in (None, CALL.tool_input):
            assert told.denies or told.updated_input == wanted.updated_input
    if told.decision != "none":
        assert told.decision in able
    check_rewrite(event, able, told)
    for text, word in ((told.for_model, "context"), (told.user_message, "user_message")):
        assert not text or word in able
    assert told.updated_output is None or "output" in able
    assert not told.stop or "stop" in able
    if told.decision == "allow":
        assert wanted.decision == "allow"


@settings(deadline=None)
@given(pair=REAL, fields=DECISIONS)
def test_no_agent_is_told_anything_weaker_than_what_was_decided(pair: tuple[str, str], fields: dict[str, Any]) -> None:
    agent, name = pair
    can = AGENTS[agent]
    event = event_named(name)
    check(event, can.get(name, can["*"]), fields, degrade(event, Decision(**fields), can, agent))


@settings(deadline=None)
@given(able=ABLE, name=st.sampled_from(sorted(EVENTS)), fields=DECISIONS)
def test_no_agent_that_may_come_would_be_either(able: Able, name: str, fields: dict[str, Any]) -> None:
    event = event_named(name)
    check(event, able, fields, carried_out(event, able, **fields))


@settings(deadline=None)
@given(able=ABLE, fields=DECISIONS)
def test_no_text_is_dropped_without_a_word(able: Able, fields: dict[str, Any]) -> None:
    wanted, told = Decision(**fields), carried_out(CALL, able, **fields)
    somewhere = "\n".join((told.for_model, told.user_message, told.reason, *told.notes))
    for text in (wanted.for_model, wanted.user_message, wanted.reason if wanted.denies else ""):
        assert all(line in somewhere for line in text.split("\n") if line.strip())
