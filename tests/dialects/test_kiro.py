"""Kiro and Amazon Q CLI: exit 2 refuses, stdout becomes context, and reading and AWS are tools of their own kind."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairlead import InputError, verdicts
from fairlead.dialects import Reply
from fairlead.verdicts import NONE, Verdict
from tests.conftest import Home, Ran
from tests.dialects.speaking import (
    GUARD,
    REWRITE,
    SILENCE,
    USER,
    Json,
    answer,
    call,
    exit_2,
    parts,
    printed,
    read,
    said,
)

COMMON = {"session_id": "s1", "cwd": "/project"}


def payload(name: str, **more: object) -> Json:
    return {"hook_event_name": name, **COMMON, **more}


def tool(own: str, /, **tool_input: object) -> Json:
    return payload("preToolUse", tool_name=own, tool_input=tool_input)


SHELL = {"tool_name": "execute_bash", "tool_input": {"command": "make"}}
BASH = {"tool_name": "Bash", "tool_input": {"command": "make"}}
DELETED = "*** Begin Patch\n*** Delete File: a\n*** End Patch"
RAN = {"exit_status": "0", "stdout": "done\n", "stderr": "warning"}


@pytest.mark.parametrize(
    ("sent", "name", "more"),
    [
        pytest.param(payload("preToolUse", **SHELL), "PreToolUse", BASH, id="before a tool"),
        pytest.param(
            payload("postToolUse", **SHELL, tool_response={"success": True, "result": [RAN]}),
            "PostToolUse",
            {**BASH, "tool_response": {"stdout": "done\n", "stderr": "warning", "interrupted": False}},
            id="after a shell command",
        ),
        pytest.param(
            payload("postToolUse", **SHELL, tool_response={"success": True, "result": ["done"]}),
            "PostToolUse",
            {**BASH, "tool_response": {"success": True, "result": ["done"]}},
            id="after a tool",
        ),
        pytest.param(
            payload("postToolUse", **SHELL, tool_response={"success": False, "result": ["exit 2"]}),
            "PostToolUseFailure",
            {**BASH, "error": "exit 2"},
            id="after a tool that failed",
        ),
        pytest.param(
            payload("postToolUse", hook_events=[{"tool_name": "fs_write"}]),
            "PostToolBatch",
            {"tool_calls": [{"tool_name": "fs_write"}]},
            id="after all tools of a turn",
        ),
        pytest.param(payload("userPromptSubmit", prompt="go"), "UserPromptSubmit", {"prompt": "go"}, id="prompt"),
        pytest.param(payload("stop", assistant_response="done"), "Stop", {"last_assistant_message": "done"}, id="stop"),
        pytest.param(payload("agentSpawn"), "SessionStart", {}, id="start"),
        pytest.param(payload("sessionStart"), "SessionStart", {}, id="start under its new name"),
        pytest.param(payload("sessionEnd"), "SessionEnd", {}, id="end"),
        pytest.param(payload("preTaskExec"), "PreTaskExec", {}, id="what only it knows"),
    ],
)
def test_an_event_is_read(sent: Json, name: str, more: Json) -> None:
    assert said(read("kiro", sent)) == {"hook_event_name": name, **COMMON, **more}


def test_a_prompt_that_stands_only_in_a_variable_is_found() -> None:
    expected = {"hook_event_name": "UserPromptSubmit", "prompt": "go"}
    assert said(read("kiro", {}, USER_PROMPT="go")) == expected
    assert said(read("kiro", {}, "UserPromptSubmit", USER_PROMPT="go")) == expected


def test_an_empty_payload_without_that_variable_is_an_error() -> None:
    with pytest.raises(InputError):
        read("kiro", {})


@pytest.mark.parametrize(
    ("sent", "name", "tool_input"),
    [
        pytest.param(
            tool("fs_write", command="create", path="a", file_text="x"),
            "Write",
            {"file_path": "/project/a", "content": "x"},
            id="create",
        ),
        pytest.param(
            tool("fs_write", command="str_replace", path="/a", old_str="x", new_str="y"),
            "Edit",
            {"file_path": "/a", "old_string": "x", "new_string": "y"},
            id="replace",
        ),
        pytest.param(
            tool("write", command="strReplace", path="/a", oldStr="x", newStr="y", replaceAll=True),
            "Edit",
            {"file_path": "/a", "old_string": "x", "new_string": "y", "replaceAll": True},
            id="replace in the words of today",
        ),
        pytest.param(
            tool("fs_write", command="append", path="/a", new_str="y"),
            "Edit",
            {"file_path": "/a", "new_string": "y"},
            id="append",
        ),
        pytest.param(
            tool("fs_write", command="wipe", path="/a"),
            "Write",
            {"command": "wipe", "file_path": "/a"},
            id="a command that nobody knows",
        ),
        pytest.param(tool("fs_read", mode="Line", path="/a"), "Read", {"mode": "Line", "file_path": "/a"}, id="read"),
        pytest.param(
            tool("fs_read", operations=[{"mode": "Line", "path": "a"}]),
            "Read",
            {"file_path": "/project/a"},
            id="read with one operation",
        ),
        pytest.param(tool("deleteFile", path="a"), "apply_patch", {"command": DELETED}, id="delete"),
        pytest.param(tool("@github/create_issue", t="x"), "mcp__github__create_issue", {"t": "x"}, id="MCP"),
        pytest.param(
            tool(
                "use_aws",
                service_name="s3api",
                operation_name="delete-bucket",
                parameters={"bucket": "my data", "tags": [1]},
                region="eu-west-1",
            ),
            "Bash",
            {"command": "aws s3api delete-bucket --bucket 'my data' --tags '[1]' --region eu-west-1"},
            id="AWS is a command line",
        ),
        pytest.param(
            tool("shell", command="rm -rf *", working_dir="/"),
            "Bash",
            {"command": "cd / && rm -rf *", "working_dir": "/"},
            id="in another folder",
        ),
    ],
)
def test_a_call_is_one_of_ours(sent: Json, name: str, tool_input: Json) -> None:
    assert call("kiro", sent) == (name, tool_input)


def test_each_file_of_a_reading_is_seen() -> None:
    operations = [{"mode": "Line", "path": "a"}, {"mode": "Image", "image_paths": ["/b.png", "/c.png"]}]
    assert parts("kiro", tool("fs_read", operations=operations)) == [
        {"file_path": "/project/a"},
        {"file_path": "/b.png"},
        {"file_path": "/c.png"},
    ]


MAKE = payload("preToolUse", **SHELL)
PROMPT = payload("userPromptSubmit", prompt="go")
WANTED = 'a hook wants another input, and kiro cannot change it; call the tool again with: {"command":"ls"}'


@pytest.mark.parametrize(
    ("sent", "verdict", "reply"),
    [
        pytest.param(MAKE, NONE, SILENCE, id="nothing"),
        pytest.param(MAKE, verdicts.deny("no"), exit_2("no"), id="deny"),
        pytest.param(MAKE, verdicts.deny(""), exit_2("Blocked by hook"), id="deny without a reason"),
        pytest.param(
            MAKE,
            verdicts.ask("sure?"),
            exit_2("a person has to agree to this, and kiro cannot ask one here\nsure?"),
            id="ask",
        ),
        pytest.param(MAKE, verdicts.allow("fine"), SILENCE, id="allow"),
        pytest.param(MAKE, verdicts.rewrite({"command": "ls"}), exit_2(WANTED), id="another input"),
        pytest.param(MAKE, verdicts.context("c"), Reply(stdout=b"c\n"), id="context"),
        pytest.param(MAKE, verdicts.deny("no").with_context("c"), exit_2("no\nc"), id="deny with context"),
        pytest.param(MAKE, verdicts.stop("enough"), exit_2("enough"), id="the end of the turn"),
        pytest.param(PROMPT, verdicts.deny("no"), exit_2("no"), id="prompt"),
        pytest.param(PROMPT, verdicts.context("on main"), Reply(stdout=b"on main\n"), id="prompt with context"),
        pytest.param(
            payload("stop"),
            verdicts.keep_going("test first"),
            printed({"decision": "block", "reason": "test first"}),
            id="keep going",
        ),
        pytest.param(payload("stop"), verdicts.context("c"), SILENCE, id="stop: nothing else on stdout"),
        pytest.param(payload("preTaskExec"), verdicts.deny("no"), exit_2("no"), id="a task of a specification"),
        pytest.param(payload("agentSpawn"), verdicts.context("c"), Reply(stdout=b"c\n"), id="start with context"),
    ],
)
def test_a_decision_is_answered(sent: Json, verdict: Verdict, reply: Reply) -> None:
    assert answer("kiro", sent, verdict) == reply


def test_the_program_guards_it(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(USER, GUARD)

    ran = fairlead("hook", "--agent", "kiro", stdin=tool("execute_bash", command="rm -rf /"))
    assert (ran.code, ran.out) == (2, b"")
    assert "filesystem.delete-root" in ran.err

    write = tool("fs_write", command="create", path=f"{place.home}/.bashrc", file_text="x")
    assert fairlead("hook", "--agent", "kiro", stdin=write).code == 2


def test_the_program_guards_every_file_of_a_reading(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(USER, GUARD)
    secret = {"mode": "Line", "path": f"{place.home}/.ssh/id_ed25519"}
    harmless = {"mode": "Line", "path": "README.md"}

    ran = fairlead("hook", "--agent", "kiro", stdin=tool("fs_read", operations=[harmless, secret]))
    assert ran.code == 2
    assert "secrets.read" in ran.err

    ran = fairlead("hook", "--agent", "kiro", stdin=tool("fs_read", operations=[harmless, harmless]))
    assert (ran.code, ran.out, ran.err) == (0, b"", "")


def test_another_input_becomes_a_refusal_with_that_input(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(USER, REWRITE)
    ran = fairlead("hook", "--agent", "kiro", stdin=MAKE)
    assert (ran.code, ran.out) == (2, b"")
    assert '{"command":"ls -l"}' in ran.err
