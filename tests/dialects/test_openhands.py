"""OpenHands: `event_type`, one editor for everything, answers at the top level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairlead import verdicts
from fairlead.verdicts import Verdict
from tests.conftest import Home, Ran
from tests.dialects.halves import Json, answer, fields, read, refusal_of_failure, said, with_hooks

NOTHING: Json = {"tool_name": None, "tool_input": None, "tool_output": None, "message": None, "metadata": {}}
TERMINAL: Json = {"tool_name": "terminal", "tool_input": {"command": "make", "is_input": False}}


def payload(name: str, **more: Any) -> Json:
    return {"event_type": name, **NOTHING, "session_id": "s1", "working_dir": "/work", **more}


@pytest.mark.parametrize(
    ("own", "more", "name", "expected"),
    [
        ("PreToolUse", TERMINAL, "PreToolUse", {"tool_name": "Bash", "tool_input": TERMINAL["tool_input"]}),
        ("pre_tool_use", TERMINAL, "PreToolUse", {"tool_name": "Bash"}),
        ("UserPromptSubmit", {"message": "go"}, "UserPromptSubmit", {"prompt": "go"}),
        ("Stop", {"metadata": {"reason": "finished"}}, "Stop", {"metadata": {"reason": "finished"}}),
        ("SessionStart", {}, "SessionStart", {}),
        ("SessionEnd", {}, "SessionEnd", {}),
        (
            "PostToolUse",
            {**TERMINAL, "tool_output": "built"},
            "PostToolUse",
            {"tool_response": {"stdout": "built", "stderr": "", "interrupted": False}},
        ),
        (
            "PostToolUse",
            {**TERMINAL, "tool_response": {"content": [{"type": "text", "text": "built"}], "is_error": False}},
            "PostToolUse",
            {"tool_response": {"stdout": "built", "stderr": "", "interrupted": False}},
        ),
        (
            "PostToolUse",
            {**TERMINAL, "tool_response": {"content": [{"type": "text", "text": "no make"}], "is_error": True}},
            "PostToolUseFailure",
            {"error": "no make"},
        ),
    ],
)
def test_each_of_its_events_is_understood(own: str, more: Json, name: str, expected: Json) -> None:
    event = read("openhands", payload(own, **more))
    assert event.name == name
    assert fields(event, "session_id", "cwd", *expected) == {"session_id": "s1", "cwd": "/work", **expected}


EDITS: list[tuple[Json, str, Json]] = [
    ({"command": "view", "path": "/a"}, "Read", {"file_path": "/a"}),
    ({"command": "create", "path": "a", "file_text": "x"}, "Write", {"file_path": "/work/a", "content": "x"}),
    (
        {"command": "str_replace", "path": "/a", "old_str": "x", "new_str": "y"},
        "Edit",
        {"file_path": "/a", "old_string": "x", "new_string": "y"},
    ),
    (
        {"command": "insert", "path": "/a", "insert_line": 1, "new_str": "y"},
        "Edit",
        {"file_path": "/a", "insert_line": 1, "new_string": "y"},
    ),
    ({"command": "undo_edit", "path": "/a"}, "Edit", {"file_path": "/a"}),
    ({"command": "dance", "path": "/a"}, "file_editor", {"command": "dance", "path": "/a"}),
]


@pytest.mark.parametrize(("tool_input", "name", "meant"), EDITS, ids=[str(case[0]["command"]) for case in EDITS])
def test_its_editor_is_several_tools(tool_input: Json, name: str, meant: Json) -> None:
    event = read("openhands", payload("PreToolUse", tool_name="file_editor", tool_input=tool_input))
    assert fields(event, "tool_name", "tool_input") == {"tool_name": name, "tool_input": meant}


PRE = payload("PreToolUse", **TERMINAL)


@pytest.mark.parametrize(
    ("event", "verdict", "reply"),
    [
        (PRE, verdicts.NONE, None),
        (PRE, verdicts.allow(), None),
        (PRE, verdicts.deny("no"), {"decision": "deny", "reason": "no"}),
        (PRE, verdicts.deny(), {"decision": "deny", "reason": "Blocked by hook"}),
        (
            PRE,
            verdicts.ask("sure?"),
            {"decision": "deny", "reason": "a person has to agree to this, and openhands cannot ask one here\nsure?"},
        ),
        (
            PRE,
            verdicts.rewrite({"command": "ls"}),
            {
                "decision": "deny",
                "reason": "a hook wants another input, and openhands cannot change it; "
                'call the tool again with: {"command":"ls"}',
            },
        ),
        (PRE, verdicts.context("by the way"), None),
        (payload("UserPromptSubmit", message="x"), verdicts.context("mind"), {"additionalContext": "mind"}),
        (payload("UserPromptSubmit", message="x"), verdicts.block("no"), {"decision": "deny", "reason": "no"}),
        (payload("Stop"), verdicts.keep_going("go on"), {"decision": "deny", "reason": "go on"}),
        (payload("PostToolUse", **TERMINAL), verdicts.block("no"), None),
    ],
)
def test_a_decision_is_said_in_its_words(event: Json, verdict: Verdict, reply: Json | None) -> None:
    assert said("openhands", event, verdict) == (0, reply, "")


def test_what_cannot_be_read_is_refused() -> None:
    assert refusal_of_failure("openhands") == (2, None, "Fairlead: it broke\n")


@pytest.mark.parametrize(
    ("command", "start"),
    [("ls", ""), ("sudo ls", "no sudo here"), ("make clean", "a hook wants another input")],
)
def test_hooks_of_the_user_judge_its_commands(
    command: str, start: str, place: Home, fairlead: Callable[..., Ran]
) -> None:
    with_hooks(place)
    code, reply = answer(fairlead("hook", "--agent", "openhands", stdin={**PRE, "tool_input": {"command": command}}))
    assert code == 0
    assert (reply is None) if not start else (reply is not None and reply["reason"].startswith(start))


def test_the_guard_reads_its_editor(place: Home, fairlead: Callable[..., Ran]) -> None:
    with_hooks(place)
    call = {"tool_name": "file_editor", "tool_input": {"command": "create", "path": "/etc/hosts", "file_text": "x"}}
    ran = fairlead("hook", "--agent", "openhands", stdin=payload("PreToolUse", **call))
    assert ran.json["decision"] == "deny"
    assert "/etc/hosts" in ran.json["reason"]
