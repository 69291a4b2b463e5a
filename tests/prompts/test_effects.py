"""What a judge's yes and no do to each event, in the way of the hook's own system."""

from __future__ import annotations

import pytest

from fairlead.events import EVENTS, GUARDED, Event
from fairlead.handlers.prompt import Prompt
from fairlead.hooks import Hook, HookFailed, Origin
from fairlead.models.answers import Answer
from fairlead.models.effects import no_judgement, verdict
from fairlead.verdicts import NONE, Verdict

NO = Answer(word="no", reason="it deletes the backups")


def hook(dialect: str = "claude-code", on_error: str = "") -> Hook:
    origin = Origin(dialect=dialect, layer="user")
    return Hook(name="judge", events=("*",), handler=Prompt(prompt="Judge"), origin=origin, on_error=on_error)


def event(name: str) -> Event:
    return Event.from_payload({"hook_event_name": name, "session_id": "s", "tool_name": "Bash", "tool_input": {}})


def essence(found: Verdict) -> str:
    return f"{found.word}{' and the turn ends' if found.stop else ''}"


CLAUDE_CODE = [
    ("PreToolUse", "deny and the turn ends", "deny"),
    ("PostToolUse", "block and the turn ends", "block"),
    ("TeammateIdle", "block and the turn ends", "block"),
    ("PostToolUseFailure", "block", "block"),
    ("PostToolBatch", "block", "block"),
    ("UserPromptSubmit", "block", "block"),
    ("UserPromptExpansion", "block", "block"),
    ("TaskCreated", "block", "block"),
    ("TaskCompleted", "block", "block"),
    ("Stop", "block", "block"),
    ("SubagentStop", "block", "block"),
    ("PermissionRequest", "none", "none"),
    ("PermissionDenied", "none", "none"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "refused", "refused_and_continued"), CLAUDE_CODE, ids=[row[0] for row in CLAUDE_CODE])
def test_a_no_in_claude_code_does_what_it_does_there(name: str, refused: str, refused_and_continued: str) -> None:
    assert essence(verdict(NO, hook(), event(name))) == refused
    assert essence(verdict(NO, hook(), event(name), continue_on_block=True)) == refused_and_continued


def test_a_no_that_claude_code_does_not_hear_is_told_to_the_person() -> None:
    found = verdict(NO, hook(), event("PermissionRequest"))
    assert "judge: it deletes the backups" in found.user_message


@pytest.mark.parametrize("dialect", ["fairlead", "cursor", "qwen", "code-agent", "codemie"])
def test_a_no_refuses_every_event_of_the_others(dialect: str) -> None:
    for name in EVENTS:
        found = verdict(NO, hook(dialect), event(name))
        word = "deny" if name in ("PreToolUse", "PermissionRequest") else "block"
        assert (found.denies, found.word, found.reason, found.stop) == (True, word, "it deletes the backups", False), (
            name
        )


def test_a_no_without_a_reason_has_one() -> None:
    assert verdict(Answer(word="no"), hook(), event("PreToolUse")).reason


@pytest.mark.parametrize("name", ["Stop", "SubagentStop"])
@pytest.mark.parametrize("dialect", ["claude-code", "fairlead"])
def test_what_is_impossible_keeps_nobody_going(name: str, dialect: str) -> None:
    found = verdict(NO.but(impossible=True), hook(dialect), event(name))
    assert not found.denies
    assert "it deletes the backups" in found.user_message


def test_impossible_means_nothing_before_a_tool() -> None:
    assert verdict(NO.but(impossible=True), hook(), event("PreToolUse")).denies


@pytest.mark.parametrize("style", ["ok", "word", "decision"])
@pytest.mark.parametrize("dialect", ["claude-code", "fairlead", "code-agent", "codemie", "qwen"])
def test_a_yes_never_skips_the_agents_own_question(dialect: str, style: str) -> None:
    for name in EVENTS:
        found = verdict(Answer(word="yes", reason="fine"), hook(dialect), event(name), style=style)
        assert found.decision == "none", name


def test_a_yes_says_so_to_codemie() -> None:
    found = verdict(
        Answer(word="yes", reason="fine", context="mind the tests"), hook("codemie"), event("Stop"), style="decision"
    )
    assert (found.word, found.reason, found.context) == ("allow", "fine", "mind the tests")


def test_context_beside_a_yes_is_for_qwen_alone() -> None:
    answer = Answer(word="yes", context="mind the tests")
    assert verdict(answer, hook("qwen"), event("PreToolUse")).context == "mind the tests"
    assert verdict(answer, hook("claude-code"), event("PreToolUse")) is NONE


def test_no_opinion_is_context() -> None:
    found = verdict(
        Answer(word="continue", reason="look at line 3"), hook("code-agent"), event("PreToolUse"), style="word"
    )
    assert (found.decision, found.word, found.context) == ("none", "continue", "look at line 3")


@pytest.mark.parametrize("dialect", ["claude-code", "codemie", "code-agent", "qwen", "fairlead"])
@pytest.mark.parametrize("on_error", ["", "deny"])
@pytest.mark.parametrize("name", sorted(GUARDED))
def test_no_judgement_of_a_guard_is_a_no_in_every_system(name: str, on_error: str, dialect: str) -> None:
    found = no_judgement(hook(dialect, on_error), event(name), "the answer was unclear")
    assert found.denies
    assert found.reason == "hook judge: the answer was unclear"


@pytest.mark.parametrize(("name", "on_error"), [("PreToolUse", "allow"), ("Stop", ""), ("PostToolUse", "deny")])
def test_elsewhere_no_judgement_is_a_failure(name: str, on_error: str) -> None:
    with pytest.raises(HookFailed, match="unclear"):
        no_judgement(hook(on_error=on_error), event(name), "the answer was unclear")
