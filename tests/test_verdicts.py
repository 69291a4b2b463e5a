from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import verdicts
from fairlead.verdicts import NONE, RANK, Decision, Verdict, merge

WORDS = st.sampled_from([*RANK, "block", "approve", "continue"])
TEXTS = st.sampled_from(["", "a", "b", "c"])
VERDICTS = st.builds(
    Verdict.of, WORDS, reason=TEXTS, context=TEXTS, feedback=TEXTS, system_message=TEXTS, user_message=TEXTS,
    updated_input=st.none() | st.dictionaries(TEXTS, TEXTS, max_size=2), stop=st.booleans(), stop_reason=TEXTS,
    suppress_output=st.booleans(), updated_output=st.none() | TEXTS,
)  # fmt: skip


@given(st.lists(VERDICTS, max_size=6))
def test_the_strongest_word_wins_whatever_the_order(said: list[Verdict]) -> None:
    merged = merge(said)
    assert RANK[merged.decision] == max((RANK[verdict.decision] for verdict in said), default=0)
    assert merge(reversed(said)).decision == merged.decision
    assert merged.stop == any(verdict.stop for verdict in said)


@given(st.lists(VERDICTS, min_size=1, max_size=6), VERDICTS)
def test_another_verdict_never_weakens_a_decision(said: list[Verdict], more: Verdict) -> None:
    assert RANK[merge([*said, more]).decision] >= RANK[merge(said).decision]


@given(st.lists(VERDICTS, max_size=6))
def test_nothing_that_was_said_to_the_model_is_lost(said: list[Verdict]) -> None:
    merged = merge(said)
    for verdict in said:
        assert {verdict.context, verdict.feedback, verdict.system_message} - {""} <= set(merged.for_model.split("\n"))
        if verdict.decision == merged.decision and verdict.reason:
            assert verdict.reason in merged.reason.split("\n")


@given(st.lists(VERDICTS, min_size=2, max_size=4))
def test_merging_in_two_steps_decides_the_same(said: list[Verdict]) -> None:
    assert merge([merge(said[:-1]), said[-1]]).decision == merge(said).decision


def test_nothing_said_is_nothing() -> None:
    assert merge([]) is NONE
    assert merge([NONE, NONE]) is NONE
    assert merge([NONE, verdicts.deny("no")]) == verdicts.deny("no")


@pytest.mark.parametrize(
    ("verdict", "fields"),
    [
        (verdicts.allow("fine"), {"decision": "allow", "reason": "fine", "word": "allow", "denies": False}),
        (verdicts.approve(), {"decision": "allow", "word": "approve"}),
        (verdicts.ask("sure?"), {"decision": "ask", "reason": "sure?"}),
        (verdicts.defer(), {"decision": "defer"}),
        (verdicts.deny("no"), {"decision": "deny", "word": "deny", "denies": True}),
        (verdicts.block("no"), {"decision": "deny", "word": "block", "denies": True}),
        (verdicts.keep_going("tests fail"), {"decision": "deny", "word": "block", "reason": "tests fail"}),
        (verdicts.stop("enough"), {"stop": True, "stop_reason": "enough", "decision": "none"}),
        (verdicts.context("hint"), {"context": "hint", "decision": "none", "for_model": "hint"}),
        (verdicts.rewrite({"a": 1}), {"updated_input": {"a": 1}}),
        (Verdict.of("continue"), {"decision": "none", "word": "continue"}),
        (verdicts.allow().with_context("a").with_context("b"), {"context": "a\nb"}),
        (verdicts.allow().with_input({"a": 1}), {"updated_input": {"a": 1}}),
        (verdicts.allow().with_output(0), {"updated_output": 0}),
        (verdicts.allow().with_system_message("m"), {"system_message": "m"}),
        (verdicts.allow().with_user_message("m"), {"user_message": "m"}),
        (verdicts.allow().without_logging(), {"suppress_output": True}),
    ],
    ids=repr,
)
def test_a_verdict_says_what_it_was_made_to_say(verdict: Verdict, fields: dict[str, Any]) -> None:
    assert {name: getattr(verdict, name) for name in fields} == fields


def test_two_reasons_stand_on_two_lines_and_the_same_one_once() -> None:
    said = [verdicts.deny("a"), verdicts.allow("x"), verdicts.deny("b"), verdicts.deny("a")]
    assert merge(said).reason == "a\nb"


def test_an_output_of_false_or_nothing_is_still_an_output() -> None:
    assert merge([Verdict(updated_output="x"), Verdict(updated_output=0)]).updated_output == 0
    assert merge([Verdict(updated_output=""), Verdict()]).updated_output == ""


@pytest.mark.parametrize(("word", "allowed"), [("none", True), ("allow", True), ("ask", False), ("deny", False)])
def test_only_nothing_and_allow_let_a_call_through(word: str, allowed: bool) -> None:
    assert Decision(decision=word).allowed is allowed
