"""Mistral Vibe: three events, exit 0 and JSON; anything else would pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairlead import verdicts
from fairlead.errors import InputError
from fairlead.verdicts import Verdict
from tests.conftest import Home, Ran
from tests.dialects.halves import Json, answer, fields, read, refusal_of_failure, said, with_hooks

BASH: Json = {"tool_name": "file_system.bash", "tool_call_id": "t1", "tool_input": {"command": "make"}}
CALL: Json = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "t1"}
WELL: Json = {"tool_status": "success", "tool_error": None, "duration_ms": 0}


def payload(name: str, **more: Any) -> Json:
    return {"cwd": "/work", "hook_event_name": name, **more}


def shell(text: str) -> Json:
    return {"stdout": text, "stderr": "", "interrupted": False}


@pytest.mark.parametrize(
    ("event", "name", "expected"),
    [
        (payload("pre_tool", **BASH), "PreToolUse", CALL),
        (
            payload("post_tool", **BASH, **WELL, tool_output={"stdout": "built"}, tool_output_text="stdout: built"),
            "PostToolUse",
            {**CALL, "tool_response": {"stdout": "built"}},
        ),
        (
            payload("post_tool", **BASH, **WELL, tool_output=None, tool_output_text="built"),
            "PostToolUse",
            {"tool_response": shell("built")},
        ),
        (
            payload("post_tool", **BASH, tool_status="failure", tool_error="no make", tool_output=None),
            "PostToolUseFailure",
            {**CALL, "error": "no make"},
        ),
        (payload("post_agent"), "Stop", {}),
    ],
)
def test_each_of_its_events_is_understood(event: Json, name: str, expected: Json) -> None:
    found = read("vibe", event)
    assert found.name == name
    assert fields(found, "cwd", *expected) == {"cwd": "/work", **expected}


@pytest.mark.parametrize(
    ("own", "tool_input", "name", "meant"),
    [
        ("bash", {"command": "ls"}, "Bash", {"command": "ls"}),
        ("process.start", {"command": "ls"}, "Bash", {"command": "ls"}),
        ("file_system.write_file", {"path": "a", "content": "x"}, "Write", {"file_path": "/work/a", "content": "x"}),
        ("file_system.read_file", {"path": "/a"}, "Read", {"file_path": "/a"}),
        (
            "file_system.search_replace",
            {"file_path": "/a", "content": [{"old_str": "x", "new_str": "y"}]},
            "Edit",
            {"file_path": "/a", "edits": [{"old_str": "x", "new_str": "y"}]},
        ),
    ],
)
def test_its_tools_are_known_by_our_names(own: str, tool_input: Json, name: str, meant: Json) -> None:
    found = read("vibe", payload("pre_tool", tool_name=own, tool_input=tool_input))
    assert fields(found, "tool_name", "tool_input") == {"tool_name": name, "tool_input": meant}


def test_a_call_that_names_two_files_is_an_error() -> None:
    two = {"path": "/tmp/decoy", "file_path": "/etc/hosts", "content": "x"}
    with pytest.raises(InputError, match="names two files"):
        read("vibe", payload("pre_tool", tool_name="file_system.write_file", tool_input=two))


PRE = payload("pre_tool", **BASH)
POST = payload("post_tool", **BASH, **WELL, tool_output="x")


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
            {"decision": "deny", "reason": "a person has to agree to this, and vibe cannot ask one here\nsure?"},
        ),
        (PRE, verdicts.rewrite({"command": "ls"}), {"hook_specific_output": {"tool_input": {"command": "ls"}}}),
        (PRE, verdicts.rewrite({}), {"hook_specific_output": {"tool_input": {}}}),
        (PRE, verdicts.context("by the way"), None),
        (POST, verdicts.context("mind"), {"hook_specific_output": {"additional_context": "mind"}}),
        (POST, verdicts.block("look again"), {"decision": "deny", "reason": "look again"}),
        (
            POST,
            Verdict(updated_output="[redacted]"),
            {
                "decision": "deny",
                "reason": "a hook has replaced this output, and vibe cannot; go by this instead: [redacted]",
            },
        ),
        (payload("post_agent"), verdicts.NONE, None),
        (payload("post_agent"), verdicts.keep_going("go on"), {"decision": "deny", "reason": "go on"}),
    ],
)
def test_a_decision_is_said_in_its_words(event: Json, verdict: Verdict, reply: Json | None) -> None:
    assert said("vibe", event, verdict) == (0, reply, "")


def test_what_cannot_be_read_is_refused_without_a_bad_exit_code() -> None:
    assert refusal_of_failure("vibe") == (0, {"decision": "deny", "reason": "Fairlead: it broke"}, "")


@pytest.mark.parametrize(
    ("command", "reply"),
    [
        ("ls", None),
        ("sudo ls", {"decision": "deny", "reason": "no sudo here"}),
        ("make clean", {"hook_specific_output": {"tool_input": {"command": "make --dry-run clean"}}}),
    ],
)
def test_hooks_of_the_user_judge_its_commands(
    command: str, reply: Json | None, place: Home, fairlead: Callable[..., Ran]
) -> None:
    with_hooks(place)
    ran = fairlead("hook", "--agent", "vibe", stdin={**PRE, "tool_input": {"command": command}})
    assert answer(ran) == (0, reply)


@pytest.mark.parametrize(
    ("own", "tool_input"),
    [
        ("file_system.write_file", {"path": "/etc/hosts", "content": "x"}),
        ("file_system.search_replace", {"path": "/etc/hosts", "content": [{"old_str": "a", "new_str": "b"}]}),
        ("search_replace", {"file_path": "/etc/hosts", "content": "<<<<<<< SEARCH"}),
    ],
)
def test_the_guard_reads_its_file_tools(own: str, tool_input: Json, place: Home, fairlead: Callable[..., Ran]) -> None:
    with_hooks(place)
    ran = fairlead("hook", "--agent", "vibe", stdin=payload("pre_tool", tool_name=own, tool_input=tool_input))
    assert ran.json["decision"] == "deny"
    assert "/etc/hosts" in ran.json["reason"]


def test_a_broken_event_is_refused_by_the_program(fairlead: Callable[..., Ran]) -> None:
    code, reply = answer(fairlead("hook", "--agent", "vibe", stdin=b"{"))
    assert code == 0
    assert reply is not None
    assert reply["decision"] == "deny"
