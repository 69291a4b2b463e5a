"""Devin CLI: Claude Code's payload, a decision at the top of the answer, and no way to change or add anything."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from fairlead import verdicts
from fairlead.dialects import Reply
from fairlead.verdicts import NONE, Verdict
from tests.conftest import Home, Ran
from tests.dialects.speaking import GUARD, REWRITE, SILENCE, USER, Json, answer, call, printed, read, said

COMMON = {"session_id": "s1", "cwd": "/project"}


def payload(name: str, **more: object) -> Json:
    return {"hook_event_name": name, **COMMON, **more}


def tool(own: str, name: str = "PreToolUse", /, **tool_input: object) -> Json:
    return payload(name, tool_name=own, tool_input=tool_input)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        pytest.param(
            payload("PreToolUse", tool_name="exec", tool_input={"command": "make", "shell_id": "main"}),
            payload("PreToolUse", tool_name="Bash", tool_input={"command": "make", "shell_id": "main"}),
            id="before a tool",
        ),
        pytest.param(
            payload(
                "PostToolUse",
                tool_name="exec",
                tool_input={"command": "make"},
                tool_response={"success": True, "output": "done\n", "error": None},
            ),
            payload(
                "PostToolUse",
                tool_name="Bash",
                tool_input={"command": "make"},
                tool_response={"stdout": "done\n", "stderr": "", "interrupted": False},
            ),
            id="after a shell command",
        ),
        pytest.param(
            payload(
                "PostToolUse",
                tool_name="exec",
                tool_input={"command": "make"},
                tool_response={"success": False, "output": "", "error": "exit 2"},
            ),
            payload("PostToolUseFailure", tool_name="Bash", tool_input={"command": "make"}, error="exit 2"),
            id="after a tool that failed",
        ),
        pytest.param(
            payload(
                "PostToolUse",
                tool_name="read",
                tool_input={"file_path": "/a"},
                tool_response={"success": True, "output": "x", "error": None},
            ),
            payload(
                "PostToolUse",
                tool_name="Read",
                tool_input={"file_path": "/a"},
                tool_response={"success": True, "output": "x", "error": None},
            ),
            id="after another tool",
        ),
        pytest.param(
            tool("exec", "PermissionRequest", command="make"),
            payload("PermissionRequest", tool_name="Bash", tool_input={"command": "make"}),
            id="permission",
        ),
        pytest.param(payload("UserPromptSubmit", prompt="go"), payload("UserPromptSubmit", prompt="go"), id="prompt"),
        pytest.param(payload("Stop"), payload("Stop"), id="stop"),
        pytest.param(payload("SessionStart", source="startup"), payload("SessionStart", source="startup"), id="start"),
        pytest.param(payload("SessionEnd", reason="exit"), payload("SessionEnd", reason="exit"), id="end"),
        pytest.param(
            payload("PostCompaction", summary="so far"),
            payload("PostCompact", compact_summary="so far"),
            id="compacted",
        ),
    ],
)
def test_an_event_is_read(sent: Json, expected: Json) -> None:
    assert said(read("devin", sent)) == expected


@pytest.mark.parametrize(
    ("sent", "name", "tool_input"),
    [
        pytest.param(
            tool("write", file_path="/a", content="x"), "Write", {"file_path": "/a", "content": "x"}, id="write"
        ),
        pytest.param(
            tool("edit", path="a", old_string="x", new_string="y"),
            "Edit",
            {"file_path": "/project/a", "old_string": "x", "new_string": "y"},
            id="edit",
        ),
        pytest.param(
            tool("apply_patch", input="*** Begin Patch"), "apply_patch", {"command": "*** Begin Patch"}, id="patch"
        ),
        pytest.param(tool("grep", pattern="x"), "Grep", {"pattern": "x"}, id="grep"),
        pytest.param(tool("mcp__github__search", q="x"), "mcp__github__search", {"q": "x"}, id="MCP"),
        pytest.param(
            tool("exec", command="rm -rf *", exec_dir="/"),
            "Bash",
            {"command": "cd / && rm -rf *", "exec_dir": "/"},
            id="another folder",
        ),
    ],
)
def test_a_call_is_one_of_ours(sent: Json, name: str, tool_input: Json) -> None:
    assert call("devin", sent) == (name, tool_input)


def refused(reason: str) -> Reply:
    return printed({"decision": "block", "reason": reason}).but(stderr=f"{reason}\n", exit_code=2)


SHELL = tool("exec", command="make")
WANTED = 'a hook wants another input, and devin cannot change it; call the tool again with: {"command":"ls"}'


@pytest.mark.parametrize(
    ("sent", "verdict", "reply"),
    [
        pytest.param(SHELL, NONE, SILENCE, id="nothing"),
        pytest.param(SHELL, verdicts.deny("no"), refused("no"), id="deny"),
        pytest.param(SHELL, verdicts.deny(""), refused("Blocked by hook"), id="deny without a reason"),
        pytest.param(
            SHELL,
            verdicts.ask("sure?"),
            refused("a person has to agree to this, and devin cannot ask one here\nsure?"),
            id="ask",
        ),
        pytest.param(SHELL, verdicts.allow("fine"), SILENCE, id="allow"),
        pytest.param(SHELL, verdicts.rewrite({"command": "ls"}), refused(WANTED), id="another input"),
        pytest.param(SHELL, verdicts.context("c"), SILENCE, id="context"),
        pytest.param(SHELL, verdicts.deny("no").with_context("c"), refused("no\nc"), id="deny with context"),
        pytest.param(SHELL, verdicts.stop("enough"), refused("enough"), id="the end of the turn"),
        pytest.param(
            tool("exec", "PermissionRequest", command="make"),
            verdicts.allow("fine"),
            printed({"decision": "approve", "reason": "fine"}),
            id="permission given",
        ),
        pytest.param(
            tool("exec", "PermissionRequest", command="make"), verdicts.ask("?"), SILENCE, id="its own question"
        ),
        pytest.param(
            tool("exec", "PermissionRequest", command="x"), verdicts.deny("no"), refused("no"), id="not given"
        ),
        pytest.param(payload("UserPromptSubmit", prompt="x"), verdicts.deny("no"), refused("no"), id="prompt"),
        pytest.param(payload("Stop"), verdicts.keep_going("test first"), refused("test first"), id="keep going"),
        pytest.param(payload("SessionStart"), verdicts.deny("no"), SILENCE, id="what cannot be refused"),
    ],
)
def test_a_decision_is_answered(sent: Json, verdict: Verdict, reply: Reply) -> None:
    assert answer("devin", sent, verdict) == reply


def test_the_program_guards_it(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(USER, GUARD)

    ran = fairlead("hook", "--agent", "devin", stdin=tool("exec", command="rm -rf /"))
    assert ran.code == 2
    assert ran.json["decision"] == "block"
    assert "filesystem.delete-root" in ran.err

    ran = fairlead("hook", "--agent", "devin", stdin=tool("write", file_path=f"{place.home}/.bashrc", content="x"))
    assert ran.code == 2


def test_another_input_becomes_a_refusal_with_that_input(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(USER, REWRITE)
    ran = fairlead("hook", "--agent", "devin", stdin=SHELL)
    assert (ran.code, json.loads(ran.json["reason"].partition(": ")[2])) == (2, {"command": "ls -l"})
