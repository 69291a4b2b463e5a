"""Kimi Code: exit 2 refuses before a tool, a prompt and the end of a turn; a prompt takes plain text as context."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairlead import verdicts
from fairlead.dialects import Reply
from fairlead.verdicts import NONE, Verdict
from tests.conftest import Home, Ran
from tests.dialects.speaking import GUARD, REWRITE, SILENCE, USER, Json, answer, call, exit_2, read, said

COMMON = {"session_id": "s1", "cwd": "/project"}
KIMI = {**COMMON, "session_title": "Fix it", "client_type": "kimi_code_cli"}


def payload(name: str, **more: object) -> Json:
    return {"hook_event_name": name, **KIMI, **more}


def tool(own: str, /, **tool_input: object) -> Json:
    return payload("PreToolUse", tool_name=own, tool_input=tool_input, tool_call_id="c1")


SHELL = {"tool_name": "Bash", "tool_input": {"command": "make"}}


@pytest.mark.parametrize(
    ("sent", "name", "more"),
    [
        pytest.param(tool("Bash", command="make"), "PreToolUse", {**SHELL, "tool_use_id": "c1"}, id="before a tool"),
        pytest.param(
            payload("PostToolUse", **SHELL, tool_call_id="c1", tool_output="done\n"),
            "PostToolUse",
            {
                **SHELL,
                "tool_use_id": "c1",
                "tool_response": {"stdout": "done\n", "stderr": "", "interrupted": False},
            },
            id="after a tool",
        ),
        pytest.param(
            payload("PostToolUseFailure", **SHELL, tool_call_id="c1", error={"name": "Error", "message": "exit 2"}),
            "PostToolUseFailure",
            {**SHELL, "tool_use_id": "c1", "error": "exit 2"},
            id="after a tool that failed",
        ),
        pytest.param(
            payload("UserPromptSubmit", prompt=[{"type": "text", "text": "look at"}, {"type": "image"}, "this"]),
            "UserPromptSubmit",
            {"prompt": "look at\nthis", "session_title": "Fix it"},
            id="a prompt in parts",
        ),
        pytest.param(
            payload("UserPromptSubmit", prompt="go"),
            "UserPromptSubmit",
            {"prompt": "go", "session_title": "Fix it"},
            id="a prompt",
        ),
        pytest.param(payload("Stop", stop_hook_active=False), "Stop", {"stop_hook_active": False}, id="stop"),
        pytest.param(
            payload("SessionStart", source="resume", model="k2", profile="x"),
            "SessionStart",
            {"source": "resume", "model": "k2", "session_title": "Fix it"},
            id="start",
        ),
        pytest.param(payload("SessionEnd", reason="exit"), "SessionEnd", {"reason": "exit"}, id="end"),
        pytest.param(
            payload("SubagentStart", agent_name="coder"), "SubagentStart", {"agent_type": "coder"}, id="agent"
        ),
        pytest.param(payload("Interrupt", turn_id=3, reason="esc"), "Interrupt", {"turn_id": "3"}, id="interrupt"),
        pytest.param(payload("PreCompact", trigger="auto"), "PreCompact", {"trigger": "auto"}, id="compact"),
        pytest.param(payload("PermissionRequest", **SHELL), "PermissionRequest", SHELL, id="permission"),
        pytest.param(payload("SessionHeartbeat", uptime_ms=60000), "SessionHeartbeat", {}, id="what only it knows"),
    ],
)
def test_an_event_is_read(sent: Json, name: str, more: Json) -> None:
    assert said(read("kimi", sent)) == {"hook_event_name": name, **COMMON, **more}


@pytest.mark.parametrize(
    ("sent", "name", "tool_input"),
    [
        pytest.param(
            tool("Write", path="a", content="x"), "Write", {"file_path": "/project/a", "content": "x"}, id="write"
        ),
        pytest.param(
            tool("Edit", path="/a", old_string="x", new_string="y"),
            "Edit",
            {"file_path": "/a", "old_string": "x", "new_string": "y"},
            id="edit",
        ),
        pytest.param(
            tool("Read", path="/a", line_offset=3, n_lines=5),
            "Read",
            {"file_path": "/a", "offset": 3, "limit": 5},
            id="read",
        ),
        pytest.param(tool("ReadMediaFile", path="/a.png"), "Read", {"file_path": "/a.png"}, id="image"),
        pytest.param(tool("FetchURL", url="https://x"), "WebFetch", {"url": "https://x"}, id="fetch"),
        pytest.param(
            tool("Bash", command="ls", cwd="/project/"), "Bash", {"command": "ls", "cwd": "/project/"}, id="here"
        ),
        pytest.param(
            tool("Bash", command="rm -rf *", cwd="/srv/a b"),
            "Bash",
            {"command": "cd '/srv/a b' && rm -rf *", "cwd": "/srv/a b"},
            id="in another folder",
        ),
        pytest.param(
            tool("Bash", command="ls", cwd="sub"),
            "Bash",
            {"command": "cd /project/sub && ls", "cwd": "sub"},
            id="below",
        ),
        pytest.param(tool("Shell", command="ls"), "Bash", {"command": "ls"}, id="the shell of Kimi CLI"),
        pytest.param(
            tool("WriteFile", path="/a", content="x"), "Write", {"file_path": "/a", "content": "x"}, id="its file"
        ),
    ],
)
def test_a_call_is_one_of_ours(sent: Json, name: str, tool_input: Json) -> None:
    assert call("kimi", sent) == (name, tool_input)


MAKE = tool("Bash", command="make")
PROMPT = payload("UserPromptSubmit", prompt=[{"type": "text", "text": "go"}])
WANTED = 'a hook wants another input, and kimi cannot change it; call the tool again with: {"command":"ls"}'


@pytest.mark.parametrize(
    ("sent", "verdict", "reply"),
    [
        pytest.param(MAKE, NONE, SILENCE, id="nothing"),
        pytest.param(MAKE, verdicts.deny("no"), exit_2("no"), id="deny"),
        pytest.param(MAKE, verdicts.deny(""), exit_2("Blocked by hook"), id="deny without a reason"),
        pytest.param(
            MAKE,
            verdicts.ask("sure?"),
            exit_2("a person has to agree to this, and kimi cannot ask one here\nsure?"),
            id="ask",
        ),
        pytest.param(MAKE, verdicts.allow("fine"), SILENCE, id="allow"),
        pytest.param(MAKE, verdicts.rewrite({"command": "ls"}), exit_2(WANTED), id="another input"),
        pytest.param(MAKE, verdicts.context("c"), SILENCE, id="context is ignored here"),
        pytest.param(MAKE, verdicts.deny("no").with_context("c"), exit_2("no\nc"), id="deny with context"),
        pytest.param(MAKE, verdicts.stop("enough"), exit_2("enough"), id="the end of the turn"),
        pytest.param(PROMPT, verdicts.deny("no"), exit_2("no"), id="prompt"),
        pytest.param(PROMPT, verdicts.context("on main"), Reply(stdout=b"on main\n"), id="context is plain text"),
        pytest.param(PROMPT, NONE, SILENCE, id="a prompt gets nothing pasted"),
        pytest.param(payload("Stop"), verdicts.keep_going("test first"), exit_2("test first"), id="keep going"),
        pytest.param(payload("Stop"), NONE, SILENCE, id="stop"),
        pytest.param(payload("PermissionRequest", **SHELL), verdicts.deny("no"), SILENCE, id="what cannot be refused"),
        pytest.param(
            payload("PostToolUse", **SHELL, tool_output="x"), verdicts.context("c"), SILENCE, id="what is not heard"
        ),
    ],
)
def test_a_decision_is_answered(sent: Json, verdict: Verdict, reply: Reply) -> None:
    assert answer("kimi", sent, verdict) == reply


def test_the_program_guards_it(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(USER, GUARD)

    ran = fairlead("hook", "--agent", "kimi", stdin=tool("Bash", command="rm -rf *", cwd="/"))
    assert (ran.code, ran.out) == (2, b"")
    assert "filesystem.delete-root" in ran.err

    ran = fairlead("hook", "--agent", "kimi", stdin=tool("Write", path=f"{place.home}/.bashrc", content="x"))
    assert ran.code == 2

    ran = fairlead("hook", "--agent", "kimi", stdin=tool("Write", path="notes.txt", content="x"))
    assert (ran.code, ran.out, ran.err) == (0, b"", "")


def test_another_input_becomes_a_refusal_with_that_input(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(USER, REWRITE)
    ran = fairlead("hook", "--agent", "kimi", stdin=MAKE)
    assert (ran.code, ran.out) == (2, b"")
    assert ran.err.count('{"command":"ls -l"}') == 1
