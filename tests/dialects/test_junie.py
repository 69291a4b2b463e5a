"""Junie CLI: little in its events, answers at the top level, and silence that approves a PermissionRequest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairlead import verdicts
from fairlead.verdicts import Verdict
from tests.conftest import Home, Ran
from tests.dialects.halves import Json, answer, read, refusal_of_failure, said, with_hooks

BASH: Json = {"tool_name": "Bash", "tool_input": {"command": "make"}}
EVENTS: dict[str, Json] = {
    "SessionStart": {"source": "startup"},
    "UserPromptSubmit": {"prompt": "Build it"},
    "PreToolUse": BASH,
    "PermissionRequest": BASH,
    "Stop": {"stop_hook_active": True, "last_assistant_message": "Done."},
    "StopFailure": {"error": "model_refused", "error_details": "not today"},
    "SessionEnd": {"reason": "prompt_input_exit"},
}


def payload(name: str, **more: Any) -> Json:
    return {"hook_event_name": name, **EVENTS[name], **more}


@pytest.mark.parametrize("name", EVENTS)
def test_each_of_its_events_is_understood(name: str) -> None:
    assert read("junie", payload(name)).payload() == payload(name)


ANSWERS = [
    ("PreToolUse", verdicts.NONE, 0, None),
    ("PreToolUse", verdicts.deny("no"), 0, {"decision": "block", "reason": "no"}),
    ("PreToolUse", verdicts.deny(), 0, {"decision": "block", "reason": "Blocked by hook"}),
    ("PreToolUse", verdicts.ask("sure?"), 0, {"decision": "ask", "reason": "sure?"}),
    ("PreToolUse", verdicts.allow("fine"), 0, {"decision": "allow", "reason": "fine"}),
    ("PreToolUse", verdicts.rewrite({"command": "ls"}), 0, {"updatedInput": {"command": "ls"}}),
    ("PreToolUse", verdicts.context("mind the gap"), 0, {"additionalContext": "mind the gap"}),
    ("PreToolUse", verdicts.stop("enough"), 0, {"decision": "block", "reason": "enough"}),
    ("Stop", verdicts.NONE, 0, None),
    ("Stop", verdicts.keep_going("tests are red"), 0, {"decision": "block", "reason": "tests are red"}),
    ("Stop", verdicts.stop("enough"), 0, {"continue": False}),
    ("Stop", verdicts.context("mind the gap"), 0, None),
    ("Stop", Verdict(user_message="look"), 0, {"systemMessage": "look"}),
    ("SessionStart", verdicts.context("mind the gap"), 0, None),
    ("UserPromptSubmit", verdicts.NONE, 0, None),
]


@pytest.mark.parametrize(("name", "verdict", "code", "reply"), ANSWERS)
def test_a_decision_is_said_in_its_words(name: str, verdict: Verdict, code: int, reply: Json | None) -> None:
    assert said("junie", payload(name), verdict) == (code, reply, "")


@pytest.mark.parametrize(
    ("verdict", "code", "stderr"),
    [
        pytest.param(verdicts.allow(), 0, "", id="exit 0 approves"),
        pytest.param(verdicts.NONE, 1, "", id="no opinion leads to its dialog"),
        pytest.param(verdicts.ask("sure?"), 1, "", id="a question leads to its dialog"),
        pytest.param(verdicts.deny("no"), 2, "no\n", id="exit 2 denies"),
        pytest.param(verdicts.rewrite({"command": "ls"}), 2, "", id="it cannot take another input here"),
    ],
)
def test_a_permission_is_never_given_by_silence(verdict: Verdict, code: int, stderr: str) -> None:
    found = said("junie", payload("PermissionRequest"), verdict)
    assert found[:2] == (code, None)
    assert found[2] == stderr or "call the tool again with" in found[2]


def test_a_prompt_is_refused_with_exit_2() -> None:
    assert said("junie", payload("UserPromptSubmit"), verdicts.block("no secrets")) == (2, None, "no secrets\n")


def test_what_cannot_be_read_is_refused() -> None:
    assert refusal_of_failure("junie") == (2, None, "Fairlead: it broke\n")


@pytest.mark.parametrize(
    ("command", "reply"),
    [
        ("ls", None),
        ("sudo ls", {"decision": "block", "reason": "no sudo here"}),
        ("make clean", {"updatedInput": {"command": "make --dry-run clean"}}),
    ],
)
def test_hooks_of_the_user_judge_its_commands(
    command: str, reply: Json | None, place: Home, fairlead: Callable[..., Ran]
) -> None:
    with_hooks(place)
    ran = fairlead("hook", "--agent", "junie", stdin=payload("PreToolUse", tool_input={"command": command}))
    assert answer(ran) == (0, reply)


def test_the_guard_reads_its_edits(place: Home, fairlead: Callable[..., Ran]) -> None:
    with_hooks(place)
    edit = {"file_path": "/etc/hosts", "old_string": "a", "new_string": "b"}
    ran = fairlead("hook", "--agent", "junie", stdin=payload("PreToolUse", tool_name="Edit", tool_input=edit))
    assert ran.json["decision"] == "block"
    assert "/etc/hosts" in ran.json["reason"]
