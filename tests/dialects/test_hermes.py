"""Hermes Agent: its own names, most of an event under `extra`, and rewrites that are laid over the arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairlead import verdicts
from fairlead.verdicts import Verdict
from tests.conftest import Home, Ran
from tests.dialects.halves import Json, answer, fields, read, refusal_of_failure, said, with_hooks

TERMINAL: Json = {"tool_name": "terminal", "tool_input": {"command": "make"}}
CALL: Json = {"tool_name": "Bash", "tool_input": {"command": "make"}}


def payload(name: str, extra: Json | None = None, **more: Any) -> Json:
    common = {"tool_name": None, "tool_input": None, "session_id": "s1", "cwd": "/work", "profile": "default"}
    return {"hook_event_name": name, **common, "extra": extra or {}, **more}


@pytest.mark.parametrize(
    ("event", "name", "expected"),
    [
        (payload("pre_tool_call", {"tool_call_id": "t1"}, **TERMINAL), "PreToolUse", {**CALL, "tool_use_id": "t1"}),
        (
            payload("post_tool_call", {"result": '{"output": "built", "exit_code": 0}', "duration_ms": 7}, **TERMINAL),
            "PostToolUse",
            {"tool_response": {"stdout": "built", "stderr": "", "interrupted": False}, "duration_ms": 7},
        ),
        (
            payload("post_tool_call", {"result": "built"}, **TERMINAL),
            "PostToolUse",
            {"tool_response": {"stdout": "built", "stderr": "", "interrupted": False}},
        ),
        (
            payload("post_tool_call", {"result": "{}", "status": "error", "error_message": "no make"}, **TERMINAL),
            "PostToolUseFailure",
            {**CALL, "error": "no make"},
        ),
        (
            payload("post_tool_call", {"result": '{"error": "no make"}'}, **TERMINAL),
            "PostToolUseFailure",
            {**CALL, "error": "no make"},
        ),
        (
            payload("post_tool_call", {"result": '{"output": "x", "error": null}', "status": "ok"}, **TERMINAL),
            "PostToolUse",
            {"tool_response": {"stdout": "x", "stderr": "", "interrupted": False}},
        ),
        (payload("pre_llm_call", {"user_message": "go", "is_first_turn": True}), "UserPromptSubmit", {"prompt": "go"}),
        (
            payload("pre_llm_call", {"user_message": [{"type": "text", "text": "go"}]}),
            "UserPromptSubmit",
            {"prompt": "go"},
        ),
        (payload("on_session_start", {"model": "hermes-5"}), "SessionStart", {"model": "hermes-5"}),
        (payload("on_session_end", {"completed": True}), "SessionEnd", {}),
        (
            payload("pre_verify", {"final_response": "Done.", "attempt": 0}),
            "Stop",
            {"last_assistant_message": "Done.", "stop_hook_active": False},
        ),
        (payload("pre_verify", {"final_response": "Done.", "attempt": 1}), "Stop", {"stop_hook_active": True}),
        (
            payload("subagent_stop", {"child_role": "explorer", "child_summary": "found"}),
            "SubagentStop",
            {"agent_type": "explorer", "last_assistant_message": "found"},
        ),
        (payload("kanban_task_claimed", {"task_id": "k"}), "kanban_task_claimed", {}),
    ],
)
def test_each_of_its_events_is_understood(event: Json, name: str, expected: Json) -> None:
    found = read("hermes", event)
    assert found.name == name
    assert fields(found, "session_id", "cwd", *expected) == {"session_id": "s1", "cwd": "/work", **expected}


def test_what_nobody_knows_is_kept() -> None:
    found = read("hermes", payload("pre_llm_call", {"user_message": "go", "platform": "cli"}))
    assert found.extra["profile"] == "default"
    assert found.extra["platform"] == "cli"


def test_nothing_under_extra_takes_the_place_of_the_call() -> None:
    deceiving = {"tool_name": "todo", "tool_input": {"command": "ls"}, "cwd": "/elsewhere"}
    found = read("hermes", payload("pre_tool_call", deceiving, **TERMINAL))
    assert fields(found, "cwd", *CALL) == {"cwd": "/work", **CALL}


@pytest.mark.parametrize(
    ("own", "tool_input", "name", "meant"),
    [
        ("terminal", {"command": "ls", "workdir": "/"}, "Bash", {"command": "ls", "cwd": "/"}),
        ("write_file", {"path": "a", "content": "x"}, "Write", {"file_path": "/work/a", "content": "x"}),
        ("read_file", {"path": "/a"}, "Read", {"file_path": "/a"}),
        (
            "patch",
            {"mode": "replace", "path": "/a", "old_string": "x", "new_string": "y"},
            "Edit",
            {"mode": "replace", "file_path": "/a", "old_string": "x", "new_string": "y"},
        ),
        (
            "patch",
            {"mode": "patch", "patch": "*** Begin Patch\n*** Delete File: a\n*** End Patch"},
            "apply_patch",
            {"command": "*** Begin Patch\n*** Delete File: a\n*** End Patch"},
        ),
    ],
)
def test_its_tools_are_known_by_our_names(own: str, tool_input: Json, name: str, meant: Json) -> None:
    found = read("hermes", payload("pre_tool_call", tool_name=own, tool_input=tool_input))
    assert fields(found, "tool_name", "tool_input") == {"tool_name": name, "tool_input": meant}


PRE = payload("pre_tool_call", **TERMINAL)
IN_BACKGROUND = payload("pre_tool_call", tool_name="terminal", tool_input={"command": "make", "background": True})


@pytest.mark.parametrize(
    ("event", "verdict", "reply"),
    [
        (PRE, verdicts.NONE, None),
        (PRE, verdicts.allow(), None),
        (PRE, verdicts.deny("no"), {"action": "block", "message": "no"}),
        (PRE, verdicts.deny(), {"action": "block", "message": "Blocked by hook"}),
        (
            PRE,
            verdicts.ask("sure?"),
            {"action": "block", "message": "a person has to agree to this, and hermes cannot ask one here\nsure?"},
        ),
        (PRE, verdicts.rewrite({"command": "ls"}), {"action": "modify", "args": {"command": "ls"}}),
        (
            IN_BACKGROUND,
            verdicts.rewrite({"command": "ls"}),
            {
                "action": "block",
                "message": "a hook wants another input, and hermes cannot take anything out of it; "
                'call the tool again with: {"command":"ls"}',
            },
        ),
        (PRE, verdicts.context("by the way"), None),
        (payload("pre_llm_call", {"user_message": "x"}), verdicts.context("mind"), {"context": "mind"}),
        (payload("pre_llm_call", {"user_message": "x"}), verdicts.block("no"), None),
        (payload("pre_verify"), verdicts.keep_going("go on"), {"action": "continue", "message": "go on"}),
        (payload("post_tool_call", {"result": "x"}, **TERMINAL), verdicts.block("no"), None),
    ],
)
def test_a_decision_is_said_in_its_words(event: Json, verdict: Verdict, reply: Json | None) -> None:
    assert said("hermes", event, verdict) == (0, reply, "")


def test_what_cannot_be_read_is_refused() -> None:
    assert refusal_of_failure("hermes") == (2, None, "Fairlead: it broke\n")


@pytest.mark.parametrize(
    ("command", "reply"),
    [
        ("ls", None),
        ("sudo ls", {"action": "block", "message": "no sudo here"}),
        ("make clean", {"action": "modify", "args": {"command": "make --dry-run clean"}}),
    ],
)
def test_hooks_of_the_user_judge_its_commands(
    command: str, reply: Json | None, place: Home, fairlead: Callable[..., Ran]
) -> None:
    with_hooks(place)
    ran = fairlead("hook", "--agent", "hermes", stdin={**PRE, "tool_input": {"command": command}})
    assert answer(ran) == (0, reply)


@pytest.mark.parametrize(
    ("own", "tool_input"),
    [
        pytest.param("write_file", {"path": "/etc/hosts", "content": "x"}, id="a file of the system"),
        pytest.param("terminal", {"command": "rm -rf *", "workdir": "/etc"}, id="a command that runs elsewhere"),
        pytest.param(
            "patch",
            {"mode": "patch", "patch": "*** Begin Patch\n*** Delete File: /etc/hosts\n*** End Patch"},
            id="a patch",
        ),
    ],
)
def test_the_guard_reads_its_tools(own: str, tool_input: Json, place: Home, fairlead: Callable[..., Ran]) -> None:
    with_hooks(place)
    event = payload("pre_tool_call", tool_name=own, tool_input=tool_input, cwd=str(place.project))
    ran = fairlead("hook", "--agent", "hermes", stdin=event)
    assert ran.json["action"] == "block"
    assert "/etc" in ran.json["message"]
