"""Antigravity: events without a name, arguments in PascalCase, and a decision that is never left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairlead import verdicts
from fairlead.errors import InputError
from fairlead.verdicts import Verdict
from tests.conftest import Home, Ran
from tests.dialects.halves import Json, answer, fields, read, refusal_of_failure, said, with_hooks


def payload(**more: Any) -> Json:
    common = {"conversationId": "c1", "workspacePaths": ["/work", "/other"], "transcriptPath": "/t.jsonl"}
    return {**common, "artifactDirectoryPath": "/a", "modelName": "gemini", **more}


def call(name: str = "run_command", **args: Any) -> Json:
    return {"toolCall": {"name": name, "args": args}, "stepIdx": 4}


SHELL = call(CommandLine="make", Cwd="/work", WaitMsBeforeAsync=500)
MEANT: Json = {"command": "make", "cwd": "/work", "WaitMsBeforeAsync": 500}


@pytest.mark.parametrize(
    ("own", "event", "name", "expected"),
    [
        ("PreToolUse", SHELL, "PreToolUse", {"tool_name": "Bash", "tool_input": MEANT, "tool_use_id": "4"}),
        ("PostToolUse", {**SHELL, "error": ""}, "PostToolUse", {"tool_name": "Bash", "tool_input": MEANT}),
        ("PostToolUse", {"stepIdx": 4, "error": ""}, "PostToolUse", {"tool_name": "unknown", "tool_input": {}}),
        ("PostToolUse", {**SHELL, "error": "exit 2"}, "PostToolUseFailure", {"error": "exit 2"}),
        ("PreInvocation", {"invocationNum": 0, "initialNumSteps": 1}, "UserPromptSubmit", {}),
        ("PreInvocation", {"invocationNum": 3, "initialNumSteps": 9}, "PreModelRequest", {}),
        ("PostInvocation", {"invocationNum": 0, "initialNumSteps": 1}, "PostModelRequest", {}),
        ("Stop", {"executionNum": 1, "terminationReason": "model_stop", "fullyIdle": True}, "Stop", {}),
    ],
)
def test_each_of_its_events_is_understood(own: str, event: Json, name: str, expected: Json) -> None:
    found = read("antigravity", payload(**event), own)
    common = {"session_id": "c1", "cwd": "/work", "transcript_path": "/t.jsonl"}
    assert found.name == name
    assert fields(found, *common, *expected) == {**common, **expected}
    assert found.extra["modelName"] == "gemini"


def test_its_events_must_be_named() -> None:
    with pytest.raises(InputError, match="not named"):
        read("antigravity", payload(**SHELL))


@pytest.mark.parametrize(
    "event", [{}, {"toolCall": None}, {"toolCall": "rm"}, {"toolCall": {}}, {"toolCall": {"name": "x", "args": "y"}}]
)
def test_a_call_that_cannot_be_understood_is_an_error(event: Json) -> None:
    with pytest.raises(InputError):
        read("antigravity", payload(stepIdx=1, **event), "PreToolUse")


def test_no_folder_is_no_mistake() -> None:
    assert read("antigravity", payload(**SHELL, workspacePaths=[]), "PreToolUse").cwd == ""


@pytest.mark.parametrize(
    ("own", "args", "name", "meant"),
    [
        ("view_file", {"AbsolutePath": "/a"}, "Read", {"file_path": "/a"}),
        ("write_to_file", {"TargetFile": "/a", "CodeContent": "x"}, "Write", {"file_path": "/a", "content": "x"}),
        (
            "replace_file_content",
            {"TargetFile": "/a", "TargetContent": "x", "ReplacementContent": "y"},
            "Edit",
            {"file_path": "/a", "old_string": "x", "new_string": "y"},
        ),
        (
            "multi_replace_file_content",
            {"TargetFile": "/a", "ReplacementChunks": [{"TargetContent": "x", "ReplacementContent": "y"}]},
            "Edit",
            {"file_path": "/a", "edits": [{"TargetContent": "x", "ReplacementContent": "y"}]},
        ),
        (
            "call_mcp_tool",
            {"ServerName": "github", "ToolName": "search", "Arguments": {"query": "x"}},
            "mcp__github__search",
            {"query": "x"},
        ),
        ("call_mcp_tool", {"ServerName": "github"}, "call_mcp_tool", {"ServerName": "github"}),
        ("write_to_file", {"TargetFile": "/a", "file_path": "/decoy"}, "Write", {"file_path": "/a"}),
    ],
)
def test_its_tools_are_known_by_our_names(own: str, args: Json, name: str, meant: Json) -> None:
    found = read("antigravity", payload(**call(own, **args)), "PreToolUse")
    assert fields(found, "tool_name", "tool_input") == {"tool_name": name, "tool_input": meant}


@pytest.mark.parametrize(
    ("own", "event", "verdict", "reply"),
    [
        ("PreToolUse", SHELL, verdicts.NONE, {"decision": "ask"}),
        ("PreToolUse", SHELL, verdicts.context("by the way"), {"decision": "ask"}),
        ("PreToolUse", SHELL, verdicts.allow("fine"), {"decision": "allow", "reason": "fine"}),
        ("PreToolUse", SHELL, verdicts.ask("sure?"), {"decision": "force_ask", "reason": "sure?"}),
        ("PreToolUse", SHELL, verdicts.defer("later"), {"decision": "force_ask", "reason": "later"}),
        ("PreToolUse", SHELL, verdicts.deny("no"), {"decision": "deny", "reason": "no"}),
        ("PreToolUse", SHELL, verdicts.deny(), {"decision": "deny", "reason": "Blocked by hook"}),
        (
            "PreToolUse",
            SHELL,
            verdicts.rewrite({"command": "ls", "cwd": "/work"}),
            {
                "decision": "deny",
                "reason": "a hook wants another input, and antigravity cannot change it; "
                'call the tool again with: {"CommandLine":"ls","Cwd":"/work"}',
            },
        ),
        ("PostToolUse", {**SHELL, "error": ""}, verdicts.NONE, {}),
        ("PostToolUse", {**SHELL, "error": ""}, verdicts.block("no").with_context("x"), {}),
        ("PreInvocation", {"invocationNum": 0}, verdicts.NONE, {}),
        ("PreInvocation", {"invocationNum": 0}, verdicts.block("no"), {}),
        (
            "PreInvocation",
            {"invocationNum": 0},
            verdicts.context("mind"),
            {"injectSteps": [{"ephemeralMessage": "mind"}]},
        ),
        ("Stop", {"executionNum": 1}, verdicts.NONE, {"decision": "stop"}),
        ("Stop", {"executionNum": 1}, verdicts.keep_going("go on"), {"decision": "continue", "reason": "go on"}),
    ],
)
def test_a_decision_is_said_in_its_words(own: str, event: Json, verdict: Verdict, reply: Json) -> None:
    assert said("antigravity", payload(**event), verdict, own) == (0, reply, "")


@pytest.mark.parametrize(
    ("own", "reply"),
    [
        ("PreToolUse", {"decision": "deny", "reason": "Fairlead: it broke"}),
        ("", {"decision": "deny", "reason": "Fairlead: it broke"}),
        ("Stop", {"decision": "stop", "reason": "Fairlead: it broke"}),
        ("PostToolUse", {}),
    ],
)
def test_what_cannot_be_read_is_refused(own: str, reply: Json) -> None:
    code, found, _ = refusal_of_failure("antigravity", own)
    assert (code, found) == (0, reply)


@pytest.mark.parametrize(
    ("command", "decision", "start"),
    [
        ("ls", "ask", ""),
        ("sudo ls", "deny", "no sudo here"),
        ("make clean", "deny", "a hook wants another input"),
    ],
)
def test_hooks_of_the_user_judge_its_commands(
    command: str, decision: str, start: str, place: Home, fairlead: Callable[..., Ran]
) -> None:
    with_hooks(place)
    event = payload(**call(CommandLine=command, Cwd=str(place.project)), workspacePaths=[str(place.project)])
    code, reply = answer(fairlead("hook", "--agent", "antigravity", "--event", "PreToolUse", stdin=event))
    assert code == 0
    assert reply is not None
    assert reply["decision"] == decision
    assert reply.get("reason", "").startswith(start)


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(call("write_to_file", TargetFile="/etc/hosts", CodeContent="x"), id="a file of the system"),
        pytest.param(call(CommandLine="rm -rf *", Cwd="/etc"), id="a command that runs elsewhere"),
    ],
)
def test_the_guard_reads_its_tools(event: Json, place: Home, fairlead: Callable[..., Ran]) -> None:
    with_hooks(place)
    whole = payload(**event, workspacePaths=[str(place.project)])
    ran = fairlead("hook", "--agent", "antigravity", "--event", "PreToolUse", stdin=whole)
    assert ran.json["decision"] == "deny"
    assert "/etc" in ran.json["reason"]
