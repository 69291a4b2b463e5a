"""Factory Droid: Claude Code's shapes of 2025; exit 2 blocks beside any other hook, its JSON only as the first."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairlead import verdicts
from fairlead.dialects import Reply
from fairlead.verdicts import NONE, Verdict
from tests.conftest import Home, Ran
from tests.dialects.speaking import GUARD, REWRITE, SILENCE, USER, Json, answer, call, exit_2, printed, read, said

COMMON = {"session_id": "s1", "transcript_path": "/t.jsonl", "cwd": "/project", "permission_mode": "auto-low"}


def payload(name: str, **more: object) -> Json:
    return {"hook_event_name": name, **COMMON, **more}


def tool(own: str, /, **tool_input: object) -> Json:
    return payload("PreToolUse", tool_name=own, tool_input=tool_input)


@pytest.mark.parametrize(
    ("sent", "more"),
    [
        pytest.param(
            payload("PreToolUse", tool_name="Execute", tool_input={"command": "make", "summary": "build"}),
            {"tool_name": "Bash", "tool_input": {"command": "make", "description": "build"}},
            id="before a tool",
        ),
        pytest.param(
            payload("PostToolUse", tool_name="Execute", tool_input={"command": "make"}, tool_response="done\n"),
            {
                "tool_name": "Bash",
                "tool_input": {"command": "make"},
                "tool_response": {"stdout": "done\n", "stderr": "", "interrupted": False},
            },
            id="after a tool",
        ),
        pytest.param(payload("Notification", message="waiting"), {"message": "waiting"}, id="notification"),
        pytest.param(payload("UserPromptSubmit", prompt="go"), {"prompt": "go"}, id="prompt"),
        pytest.param(payload("Stop", stop_hook_active=True), {"stop_hook_active": True}, id="stop"),
        pytest.param(payload("SubagentStop", stop_hook_active=False), {"stop_hook_active": False}, id="subagent"),
        pytest.param(payload("PreCompact", trigger="auto"), {"trigger": "auto"}, id="compact"),
        pytest.param(payload("SessionStart", source="resume"), {"source": "resume"}, id="start"),
        pytest.param(payload("SessionEnd", reason="logout"), {"reason": "logout"}, id="end"),
    ],
)
def test_an_event_is_read(sent: Json, more: Json) -> None:
    assert said(read("droid", sent)) == {"hook_event_name": sent["hook_event_name"], **COMMON, **more}


@pytest.mark.parametrize(
    ("sent", "name", "tool_input"),
    [
        pytest.param(
            tool("Create", file_path="a", content="x"), "Write", {"file_path": "/project/a", "content": "x"}, id="new"
        ),
        pytest.param(
            tool("Edit", file_path="/a", old_str="x", new_str="y", change_all=True),
            "Edit",
            {"file_path": "/a", "old_string": "x", "new_string": "y", "replace_all": True},
            id="edit",
        ),
        pytest.param(
            tool("Edit", file_path="/a", old_string="x", new_string="y"),
            "Edit",
            {"file_path": "/a", "old_string": "x", "new_string": "y"},
            id="edit in Claude Code's words",
        ),
        pytest.param(
            tool("ApplyPatch", input="*** Begin Patch"), "apply_patch", {"command": "*** Begin Patch"}, id="patch"
        ),
        pytest.param(tool("FetchUrl", url="https://x"), "WebFetch", {"url": "https://x"}, id="fetch"),
        pytest.param(tool("Task", prompt="x"), "Agent", {"prompt": "x"}, id="subagent"),
        pytest.param(tool("mcp__github__search", q="x"), "mcp__github__search", {"q": "x"}, id="MCP"),
    ],
)
def test_a_call_is_one_of_ours(sent: Json, name: str, tool_input: Json) -> None:
    assert call("droid", sent) == (name, tool_input)


SHELL = tool("Execute", command="make", summary="build")
AFTER = payload("PostToolUse", tool_name="Execute", tool_input={"command": "make"}, tool_response="done")
PROMPT = payload("UserPromptSubmit", prompt="go")
STOP = payload("Stop")


def inside(name: str, **fields: object) -> Json:
    return {"hookSpecificOutput": {"hookEventName": name, **fields}}


@pytest.mark.parametrize(
    ("sent", "verdict", "reply"),
    [
        pytest.param(SHELL, NONE, SILENCE, id="nothing"),
        pytest.param(SHELL, verdicts.deny("no"), exit_2("no"), id="deny"),
        pytest.param(SHELL, verdicts.deny(" "), exit_2("Blocked by hook"), id="deny without a reason"),
        pytest.param(
            SHELL,
            verdicts.ask("sure?"),
            exit_2("a person has to agree to this, and droid cannot ask one here\nsure?"),
            id="ask",
        ),
        pytest.param(SHELL, verdicts.allow("fine"), SILENCE, id="allow: it would outdo another hook's refusal"),
        pytest.param(
            SHELL,
            verdicts.rewrite({"command": "ls", "description": "look"}),
            printed(inside("PreToolUse", updatedInput={"command": "ls", "summary": "look"})),
            id="another input",
        ),
        pytest.param(SHELL, verdicts.context("c"), SILENCE, id="context is ignored here"),
        pytest.param(
            SHELL,
            verdicts.deny("no").with_context("c").with_user_message("m"),
            exit_2("no\nc\nm"),
            id="deny with all the rest",
        ),
        pytest.param(
            SHELL,
            verdicts.stop("enough"),
            printed(
                inside("PreToolUse", permissionDecision="deny", permissionDecisionReason="enough")
                | {"continue": False, "stopReason": "enough"}
            ),
            id="the end of the turn",
        ),
        pytest.param(SHELL, NONE.with_user_message("m"), printed({"systemMessage": "m"}), id="message"),
        pytest.param(AFTER, verdicts.block("wrong"), exit_2("wrong"), id="after: its JSON has no effect there"),
        pytest.param(
            AFTER, verdicts.context("c"), printed(inside("PostToolUse", additionalContext="c")), id="after: context"
        ),
        pytest.param(AFTER, verdicts.stop("x"), printed({"continue": False, "stopReason": "x"}), id="after: the end"),
        pytest.param(PROMPT, verdicts.deny("no"), exit_2("no"), id="prompt"),
        pytest.param(
            PROMPT,
            verdicts.context("c"),
            printed(inside("UserPromptSubmit", additionalContext="c")),
            id="prompt with context",
        ),
        pytest.param(
            STOP, verdicts.keep_going("test"), printed({"decision": "block", "reason": "test"}), id="keep going"
        ),
        pytest.param(
            payload("SessionStart", source="startup"),
            verdicts.context("c"),
            printed(inside("SessionStart", additionalContext="c")),
            id="start with context",
        ),
        pytest.param(
            payload("SessionStart", source="startup"), verdicts.deny("no"), SILENCE, id="what cannot be refused"
        ),
    ],
)
def test_a_decision_is_answered(sent: Json, verdict: Verdict, reply: Reply) -> None:
    assert answer("droid", sent, verdict) == reply


def test_the_program_guards_it(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(USER, GUARD)

    ran = fairlead("hook", "--agent", "droid", stdin=tool("Execute", command="rm -rf /"))
    assert (ran.code, ran.out) == (2, b"")
    assert "filesystem.delete-root" in ran.err

    ran = fairlead("hook", "--agent", "droid", stdin=tool("Create", file_path=f"{place.home}/.bashrc", content="x"))
    assert ran.code == 2


def test_the_program_gives_it_another_input(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(USER, REWRITE)
    ran = fairlead("hook", "--agent", "droid", stdin=SHELL)
    assert (ran.code, ran.json) == (0, inside("PreToolUse", updatedInput={"command": "ls -l"}))


def test_it_is_not_kept_going_for_ever(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(USER, '[[hook]]\non = "Stop"\nrun = "echo not yet; exit 1"\n')
    answers = [fairlead("hook", "--agent", "droid", stdin=STOP).out for _ in range(9)]
    assert all(b"not yet" in out for out in answers[:8])
    assert b"block" not in answers[8]
