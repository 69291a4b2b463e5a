"""Augment: a payload without session and folder, answers inside hookSpecificOutput, and exit 2 before a tool."""

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
    judged,
    parts,
    printed,
    read,
    said,
)


def payload(name: str, **more: object) -> Json:
    return {"hook_event_name": name, "conversation_id": "c1", "workspace_roots": ["/project"], **more}


def tool(own: str, /, **tool_input: object) -> Json:
    return payload("PreToolUse", tool_name=own, tool_input=tool_input)


SHELL = {"tool_name": "launch-process", "tool_input": {"command": "make"}}
BASH = {"tool_name": "Bash", "tool_input": {"command": "make"}}


@pytest.mark.parametrize(
    ("sent", "name", "more"),
    [
        pytest.param(payload("PreToolUse", **SHELL), "PreToolUse", BASH, id="before a tool"),
        pytest.param(
            payload("PostToolUse", **SHELL, tool_output="done\n"),
            "PostToolUse",
            {**BASH, "tool_response": {"stdout": "done\n", "stderr": "", "interrupted": False}},
            id="after a tool",
        ),
        pytest.param(
            payload("PostToolUse", **SHELL, tool_error="exit 2"),
            "PostToolUseFailure",
            {**BASH, "error": "exit 2"},
            id="after a tool that failed",
        ),
        pytest.param(
            payload("Stop", agent_stop_cause="end_turn", conversation={"agentTextResponse": "done"}),
            "Stop",
            {"last_assistant_message": "done"},
            id="stop",
        ),
        pytest.param(payload("Stop", agent_stop_cause="interrupted"), "Interrupt", {}, id="whoever was interrupted"),
        pytest.param(payload("SessionStart"), "SessionStart", {}, id="start"),
        pytest.param(payload("SessionEnd"), "SessionEnd", {}, id="end"),
        pytest.param(payload("Notification", message="m"), "Notification", {"message": "m"}, id="notification"),
        pytest.param(payload("PromptSubmit", prompt="go"), "UserPromptSubmit", {"prompt": "go"}, id="prompt"),
    ],
)
def test_an_event_is_read(sent: Json, name: str, more: Json) -> None:
    assert said(read("augment", sent)) == {"hook_event_name": name, "session_id": "c1", "cwd": "/project", **more}


@pytest.mark.parametrize(
    ("sent", "name", "tool_input"),
    [
        pytest.param(
            tool("save-file", path="a", file_content="x"),
            "Write",
            {"file_path": "/project/a", "content": "x"},
            id="save",
        ),
        pytest.param(
            tool("str-replace-editor", command="str_replace", path="/a", old_str_1="x", new_str_1="y"),
            "Edit",
            {"command": "str_replace", "file_path": "/a", "old_string": "x", "new_string": "y"},
            id="edit",
        ),
        pytest.param(tool("view", path="/a", type="file"), "Read", {"file_path": "/a", "type": "file"}, id="view"),
        pytest.param(
            tool("remove-files", file_paths=["a", "b"]),
            "apply_patch",
            {"command": "*** Begin Patch\n*** Delete File: a\n*** Delete File: b\n*** End Patch"},
            id="remove",
        ),
        pytest.param(
            tool("launch-process", command="rm -rf *", cwd="/"),
            "Bash",
            {"command": "cd / && rm -rf *", "cwd": "/"},
            id="in another folder",
        ),
        pytest.param(
            tool("write-process", terminal_id=1, input_text="rm -rf ~"),
            "Bash",
            {"terminal_id": 1, "command": "rm -rf ~"},
            id="typed into a shell",
        ),
        pytest.param(tool("mcp:create_issue_my-server", t="x"), "mcp__my-server__create_issue", {"t": "x"}, id="MCP"),
    ],
)
def test_a_call_is_one_of_ours(sent: Json, name: str, tool_input: Json) -> None:
    assert call("augment", sent) == (name, tool_input)


def test_each_of_several_replacements_is_seen() -> None:
    sent = tool("str-replace-editor", path="/a", old_str_1="1", new_str_1="one", old_str_2="2", new_str_2="two")
    assert parts("augment", sent) == [
        {"file_path": "/a", "old_string": "1", "new_string": "one"},
        {"file_path": "/a", "old_string": "2", "new_string": "two"},
    ]


@pytest.mark.parametrize("path", ["a\n*** Add File: b", "", 5, None])
def test_a_removal_that_cannot_be_read_is_an_error(path: object) -> None:
    with pytest.raises(InputError):
        read("augment", tool("remove-files", file_paths=["ok", path]))


MAKE = payload("PreToolUse", **SHELL)
WANTED = (
    'a hook wants another input, and augment cannot take anything out of it; call the tool again with: {"command":"ls"}'
)
AFTER = payload("PostToolUse", **SHELL, tool_output="x")


def inside(name: str, **fields: object) -> Json:
    return {"hookSpecificOutput": {"hookEventName": name, **fields}}


@pytest.mark.parametrize(
    ("sent", "verdict", "reply"),
    [
        pytest.param(MAKE, NONE, SILENCE, id="nothing"),
        pytest.param(MAKE, verdicts.deny("no"), exit_2("no"), id="deny"),
        pytest.param(MAKE, verdicts.deny(""), exit_2("Blocked by hook"), id="deny without a reason"),
        pytest.param(
            MAKE,
            verdicts.ask("sure?"),
            exit_2("a person has to agree to this, and augment cannot ask one here\nsure?"),
            id="ask",
        ),
        pytest.param(MAKE, verdicts.allow("fine"), SILENCE, id="allow"),
        pytest.param(
            MAKE,
            verdicts.rewrite({"command": "ls"}),
            printed(inside("PreToolUse", permissionDecision="allow", updatedInput={"command": "ls"})),
            id="another input",
        ),
        pytest.param(
            tool("launch-process", command="make", wait=True),
            verdicts.rewrite({"command": "ls"}),
            exit_2(WANTED),
            id="another input without a key of the old one",
        ),
        pytest.param(MAKE, verdicts.context("c"), SILENCE, id="context is not heard here"),
        pytest.param(MAKE, verdicts.stop("enough"), exit_2("enough"), id="the end of the turn"),
        pytest.param(MAKE, NONE.with_user_message("m"), printed({"systemMessage": "m"}), id="message"),
        pytest.param(
            AFTER, verdicts.context("c"), printed(inside("PostToolUse", additionalContext="c")), id="after: context"
        ),
        pytest.param(
            AFTER, verdicts.block("wrong"), printed(inside("PostToolUse", additionalContext="wrong")), id="after: told"
        ),
        pytest.param(
            payload("PostToolUse", **SHELL, tool_error="exit 2"),
            verdicts.context("c"),
            printed(inside("PostToolUse", additionalContext="c")),
            id="after a failure, under its own name",
        ),
        pytest.param(
            payload("Stop", agent_stop_cause="end_turn"),
            verdicts.keep_going("test first"),
            printed(inside("Stop", decision="block", reason="test first")),
            id="keep going",
        ),
        pytest.param(
            payload("SessionStart"),
            verdicts.context("c"),
            printed(inside("SessionStart", additionalContext="c")),
            id="start with context",
        ),
        pytest.param(payload("PromptSubmit", prompt="x"), verdicts.deny("no"), SILENCE, id="what cannot be refused"),
    ],
)
def test_a_decision_is_answered(sent: Json, verdict: Verdict, reply: Reply) -> None:
    assert answer("augment", sent, verdict) == reply


def test_a_removal_cannot_be_changed_into_another() -> None:
    sent = tool("remove-files", file_paths=["a"])
    for reply in (
        judged("augment", sent, verdicts.rewrite({"file_path": "/project/b", "deleted": True})),
        answer("augment", sent, verdicts.rewrite({"command": "*** Begin Patch\n*** End Patch"})),
    ):
        assert reply.exit_code == 2
        assert reply.stdout == b""


def test_the_program_guards_it(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(USER, GUARD)

    ran = fairlead("hook", "--agent", "augment", stdin=tool("launch-process", command="rm -rf *", cwd="/"))
    assert (ran.code, ran.out) == (2, b"")
    assert "filesystem.delete-root" in ran.err

    ran = fairlead("hook", "--agent", "augment", stdin=tool("remove-files", file_paths=["a", "/etc/passwd"]))
    assert ran.code == 2
    assert "/etc/passwd" in ran.err

    save = tool("save-file", path=f"{place.home}/.bashrc", file_content="x")
    assert fairlead("hook", "--agent", "augment", stdin=save).code == 2


def test_the_program_gives_it_another_input(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(USER, REWRITE)
    ran = fairlead("hook", "--agent", "augment", stdin=MAKE)
    expected = inside("PreToolUse", permissionDecision="allow", updatedInput={"command": "ls -l"})
    assert (ran.code, ran.json) == (0, expected)
