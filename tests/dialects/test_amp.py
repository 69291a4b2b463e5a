"""Amp: a plugin asks before a tool; what comes after is only told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairlead import verdicts
from fairlead.verdicts import Verdict
from tests.conftest import Home, Ran
from tests.dialects.halves import Json, answer, fields, read, refusal_of_failure, said, with_hooks

SHELL: Json = {"tool_name": "shell_command", "tool_use_id": "t1", "tool_input": {"command": "make"}}
CALL: Json = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "make"}}
COMMON: Json = {"session_id": "T-1", "cwd": "/work"}


def payload(**more: Any) -> Json:
    return {**COMMON, **more}


@pytest.mark.parametrize(
    ("own", "more", "name", "expected"),
    [
        ("tool.call", SHELL, "PreToolUse", CALL),
        (
            "tool.result",
            {**SHELL, "tool_response": {"output": "built", "exitCode": 0}},
            "PostToolUse",
            {**CALL, "tool_response": {"stdout": "built", "stderr": "", "interrupted": False}},
        ),
        ("agent.start", {"prompt": "go"}, "UserPromptSubmit", {"prompt": "go"}),
        ("agent.start", {"prompt": None}, "UserPromptSubmit", {"prompt": ""}),
        ("agent.end", {"prompt": "go"}, "Stop", {}),
        ("session.start", {}, "SessionStart", {}),
    ],
)
def test_each_of_its_events_is_understood(own: str, more: Json, name: str, expected: Json) -> None:
    found = read("amp", payload(**more), own)
    assert found.name == name
    assert fields(found, *COMMON, *expected) == {**COMMON, **expected}


@pytest.mark.parametrize(
    ("own", "tool_input", "name", "meant"),
    [
        ("Bash", {"cmd": "ls", "cwd": "/"}, "Bash", {"command": "ls", "cwd": "/"}),
        ("shell_command", {"command": "ls", "workdir": "/"}, "Bash", {"command": "ls", "cwd": "/"}),
        ("Bash", {"cmd": "rm -rf /", "command": "decoy"}, "Bash", {"command": "rm -rf /"}),
        ("create_file", {"path": "/a", "content": "x"}, "Write", {"file_path": "/a", "content": "x"}),
        (
            "edit_file",
            {"path": "/a", "old_str": "x", "new_str": "y"},
            "Edit",
            {"file_path": "/a", "old_string": "x", "new_string": "y"},
        ),
        ("Read", {"path": "/a"}, "Read", {"file_path": "/a"}),
        ("mcp__github__search", {"query": "x"}, "mcp__github__search", {"query": "x"}),
    ],
)
def test_its_tools_are_known_by_our_names(own: str, tool_input: Json, name: str, meant: Json) -> None:
    found = read("amp", payload(tool_name=own, tool_input=tool_input), "tool.call")
    assert fields(found, "tool_name", "tool_input") == {"tool_name": name, "tool_input": meant}


@pytest.mark.parametrize(
    ("own", "more", "verdict", "reply"),
    [
        ("tool.call", SHELL, verdicts.NONE, {"decision": "none"}),
        ("tool.call", SHELL, verdicts.allow("fine"), {"decision": "none"}),
        ("tool.call", SHELL, verdicts.deny("no"), {"decision": "deny", "reason": "no"}),
        ("tool.call", SHELL, verdicts.deny(), {"decision": "deny", "reason": "Blocked by hook"}),
        ("tool.call", SHELL, verdicts.rewrite({"command": "ls"}), {"decision": "none", "input": {"command": "ls"}}),
        ("agent.start", {"prompt": "x"}, verdicts.context("mind"), {"decision": "none"}),
        ("agent.end", {}, verdicts.keep_going("go on"), {"decision": "none"}),
    ],
)
def test_a_decision_is_said_in_the_plugins_words(own: str, more: Json, verdict: Verdict, reply: Json) -> None:
    assert said("amp", payload(**more), verdict, own) == (0, reply, "")


def test_a_rewritten_command_goes_back_under_its_key() -> None:
    event = payload(tool_name="Bash", tool_input={"cmd": "make", "cwd": "/work"})
    _, reply, _ = said("amp", event, verdicts.rewrite({"command": "ls", "cwd": "/work"}), "tool.call")
    assert reply == {"decision": "none", "input": {"cmd": "ls", "cwd": "/work"}}


def test_what_cannot_be_read_is_refused() -> None:
    assert refusal_of_failure("amp") == (0, {"decision": "deny", "reason": "Fairlead: it broke"}, "")


@pytest.mark.parametrize(
    ("command", "reply"),
    [
        ("ls", {"decision": "none"}),
        ("sudo ls", {"decision": "deny", "reason": "no sudo here"}),
        ("make clean", {"decision": "none", "input": {"command": "make --dry-run clean"}}),
    ],
)
def test_hooks_of_the_user_judge_its_commands(
    command: str, reply: Json, place: Home, fairlead: Callable[..., Ran]
) -> None:
    with_hooks(place)
    event = payload(**{**SHELL, "tool_input": {"command": command}, "cwd": str(place.project)})
    assert answer(fairlead("hook", "--agent", "amp", "--event", "tool.call", stdin=event)) == (0, reply)


def test_the_guard_reads_its_file_tools(place: Home, fairlead: Callable[..., Ran]) -> None:
    with_hooks(place)
    event = payload(tool_name="create_file", tool_input={"path": "/etc/hosts", "content": "x"})
    ran = fairlead("hook", "--agent", "amp", "--event", "tool.call", stdin=event)
    assert ran.json["decision"] == "deny"
    assert "/etc/hosts" in ran.json["reason"]
