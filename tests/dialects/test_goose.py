"""Goose: exit 2 before a tool and at the end of a turn; everything else only tells."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairlead import verdicts
from fairlead.dialects import Reply
from fairlead.verdicts import NONE, Verdict
from tests.conftest import Home, Ran
from tests.dialects.speaking import GUARD, REWRITE, SILENCE, USER, Json, answer, call, exit_2, read, said


def payload(name: str, **more: object) -> Json:
    return {"event": name, "session_id": "s1", "matcher_context": "x", "working_dir": "/project", **more}


def tool(own: str, /, **tool_input: object) -> Json:
    return payload("PreToolUse", tool_name=own, tool_input=tool_input, tool_call_id="c1")


SHELL = {"tool_name": "developer__shell", "tool_input": {"command": "make"}}
BASH = {"tool_name": "Bash", "tool_input": {"command": "make"}}
DONE = {"stdout": "done\n", "stderr": "", "interrupted": False}


@pytest.mark.parametrize(
    ("sent", "name", "more"),
    [
        pytest.param(
            tool("developer__shell", command="make"), "PreToolUse", {**BASH, "tool_use_id": "c1"}, id="before"
        ),
        pytest.param(payload("BeforeShellExecution", **SHELL), "PreToolUse", BASH, id="before, once more"),
        pytest.param(
            payload("PostToolUse", **SHELL, tool_output="done\n"),
            "PostToolUse",
            {**BASH, "tool_response": DONE},
            id="after",
        ),
        pytest.param(
            payload("PostToolUseFailure", **SHELL, tool_output="exit 2"),
            "PostToolUseFailure",
            {**BASH, "error": "exit 2"},
            id="after a tool that failed",
        ),
        pytest.param(payload("UserPromptSubmit", message="go"), "UserPromptSubmit", {"prompt": "go"}, id="prompt"),
        pytest.param(
            payload("Stop", last_assistant_message="done"), "Stop", {"last_assistant_message": "done"}, id="stop"
        ),
        pytest.param(payload("SessionStart"), "SessionStart", {}, id="start"),
        pytest.param(payload("SessionEnd"), "SessionEnd", {}, id="end"),
    ],
)
def test_an_event_is_read(sent: Json, name: str, more: Json) -> None:
    assert said(read("goose", sent)) == {"hook_event_name": name, "session_id": "s1", "cwd": "/project", **more}


@pytest.mark.parametrize(
    ("sent", "name", "tool_input"),
    [
        pytest.param(
            tool("developer__text_editor", command="write", path="a", file_text="x"),
            "Write",
            {"file_path": "/project/a", "content": "x"},
            id="write",
        ),
        pytest.param(
            tool("developer__text_editor", command="str_replace", path="/a", old_str="x", new_str="y"),
            "Edit",
            {"file_path": "/a", "old_string": "x", "new_string": "y"},
            id="replace",
        ),
        pytest.param(
            tool("developer__text_editor", command="insert", path="/a", insert_line=1, new_str="y"),
            "Edit",
            {"file_path": "/a", "insert_line": 1, "new_string": "y"},
            id="insert",
        ),
        pytest.param(
            tool("developer__text_editor", command="undo_edit", path="/a"), "Edit", {"file_path": "/a"}, id="undo"
        ),
        pytest.param(tool("developer__text_editor", command="view", path="/a"), "Read", {"file_path": "/a"}, id="view"),
        pytest.param(
            tool("developer__text_editor", command="wipe", path="/a"),
            "Edit",
            {"command": "wipe", "file_path": "/a"},
            id="a command that nobody knows",
        ),
        pytest.param(tool("shell", command="ls"), "Bash", {"command": "ls"}, id="shell of today"),
        pytest.param(
            tool("write", path="/a", content="x"), "Write", {"file_path": "/a", "content": "x"}, id="write of today"
        ),
        pytest.param(
            tool("developer__edit", path="/a", before="x", after="y"),
            "Edit",
            {"file_path": "/a", "old_string": "x", "new_string": "y"},
            id="edit of today",
        ),
        pytest.param(tool("github__create_issue", t="x"), "mcp__github__create_issue", {"t": "x"}, id="MCP"),
        pytest.param(tool("todo_write", t="x"), "todo_write", {"t": "x"}, id="what only it knows"),
    ],
)
def test_a_call_is_one_of_ours(sent: Json, name: str, tool_input: Json) -> None:
    assert call("goose", sent) == (name, tool_input)


MAKE = tool("developer__shell", command="make")
WANTED = 'a hook wants another input, and goose cannot change it; call the tool again with: {"command":"ls"}'


@pytest.mark.parametrize(
    ("sent", "verdict", "reply"),
    [
        pytest.param(MAKE, NONE, SILENCE, id="nothing"),
        pytest.param(MAKE, verdicts.deny("no"), exit_2("no"), id="deny"),
        pytest.param(MAKE, verdicts.deny(""), exit_2("Blocked by hook"), id="deny without a reason"),
        pytest.param(
            MAKE,
            verdicts.ask("sure?"),
            exit_2("a person has to agree to this, and goose cannot ask one here\nsure?"),
            id="ask",
        ),
        pytest.param(MAKE, verdicts.allow("fine"), SILENCE, id="allow"),
        pytest.param(MAKE, verdicts.rewrite({"command": "ls"}), exit_2(WANTED), id="another input"),
        pytest.param(MAKE, verdicts.context("c"), SILENCE, id="context: any other word on stdout is a failure to it"),
        pytest.param(MAKE, verdicts.stop("enough"), exit_2("enough"), id="the end of the turn"),
        pytest.param(payload("Stop"), verdicts.keep_going("test first"), exit_2("test first"), id="keep going"),
        pytest.param(
            payload("UserPromptSubmit", message="x"), verdicts.deny("no"), SILENCE, id="what cannot be refused"
        ),
    ],
)
def test_a_decision_is_answered(sent: Json, verdict: Verdict, reply: Reply) -> None:
    assert answer("goose", sent, verdict) == reply


def test_the_program_guards_it(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(USER, GUARD)

    ran = fairlead("hook", "--agent", "goose", stdin=tool("developer__shell", command="rm -rf /"))
    assert (ran.code, ran.out) == (2, b"")
    assert "filesystem.delete-root" in ran.err

    file = f"{place.home}/.bashrc"
    editor = tool("developer__text_editor", command="write", path=file, file_text="x")
    assert fairlead("hook", "--agent", "goose", stdin=editor).code == 2


def test_another_input_becomes_a_refusal_with_that_input(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(USER, REWRITE)
    ran = fairlead("hook", "--agent", "goose", stdin=MAKE)
    assert (ran.code, ran.out) == (2, b"")
    assert '{"command":"ls -l"}' in ran.err
