"""Crush: before its tools only; its own answer, in which an update is laid over the input."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairlead import verdicts
from fairlead.dialects import Reply
from fairlead.verdicts import NONE, Verdict
from tests.conftest import Home, Ran
from tests.dialects.speaking import GUARD, REWRITE, SILENCE, USER, Json, answer, call, printed, read, said

COMMON = {"session_id": "s1", "cwd": "/project"}


def tool(own: str, /, **tool_input: object) -> Json:
    return {"event": "PreToolUse", **COMMON, "tool_name": own, "tool_input": tool_input}


def test_an_event_is_read() -> None:
    assert said(read("crush", tool("bash", command="make", description="build"))) == {
        "hook_event_name": "PreToolUse",
        **COMMON,
        "tool_name": "Bash",
        "tool_input": {"command": "make", "description": "build"},
    }


def test_an_event_that_it_may_have_one_day_is_carried() -> None:
    event = read("crush", {"event": "PreCompact", **COMMON, "tool_name": "compact", "tool_input": {"max_tokens": 9}})
    assert event.name == "PreCompact"


@pytest.mark.parametrize(
    ("sent", "name", "tool_input"),
    [
        pytest.param(
            tool("write", file_path="a", content="x"), "Write", {"file_path": "/project/a", "content": "x"}, id="w"
        ),
        pytest.param(tool("view", file_path="/a"), "Read", {"file_path": "/a"}, id="view"),
        pytest.param(
            tool("multiedit", file_path="/a", edits=[]), "MultiEdit", {"file_path": "/a", "edits": []}, id="edits"
        ),
        pytest.param(
            tool("download", url="https://x", file_path="/a"),
            "Write",
            {"url": "https://x", "file_path": "/a"},
            id="get",
        ),
        pytest.param(tool("mcp_github_create_issue", t="x"), "mcp__github__create_issue", {"t": "x"}, id="MCP"),
        pytest.param(tool("mcp_odd", t="x"), "mcp_odd", {"t": "x"}, id="what is no MCP tool"),
        pytest.param(
            tool("bash", command="rm -rf *", working_dir="/srv"),
            "Bash",
            {"command": "cd /srv && rm -rf *", "working_dir": "/srv"},
            id="in another folder",
        ),
    ],
)
def test_a_call_is_one_of_ours(sent: Json, name: str, tool_input: Json) -> None:
    assert call("crush", sent) == (name, tool_input)


MAKE = tool("bash", command="make", run_in_background=True)


def denied(reason: str, **more: object) -> Reply:
    return printed({"decision": "deny", **more, "reason": reason})


@pytest.mark.parametrize(
    ("sent", "verdict", "reply"),
    [
        pytest.param(MAKE, NONE, SILENCE, id="nothing"),
        pytest.param(MAKE, verdicts.deny("no"), denied("no"), id="deny"),
        pytest.param(MAKE, verdicts.deny(""), denied("Blocked by hook"), id="deny without a reason"),
        pytest.param(
            MAKE,
            verdicts.ask("sure?"),
            denied("a person has to agree to this, and crush cannot ask one here\nsure?"),
            id="ask",
        ),
        pytest.param(MAKE, verdicts.allow("fine"), printed({"decision": "allow"}), id="allow"),
        pytest.param(
            MAKE,
            verdicts.rewrite({"command": "ls", "run_in_background": True}),
            printed({"updated_input": {"command": "ls", "run_in_background": True}}),
            id="another input",
        ),
        pytest.param(
            MAKE,
            verdicts.rewrite({"command": "ls"}),
            printed({"updated_input": {"command": "ls", "run_in_background": None}}),
            id="what the new input leaves out does not stay",
        ),
        pytest.param(MAKE, verdicts.context("c"), printed({"context": "c"}), id="context"),
        pytest.param(MAKE, verdicts.deny("no").with_context("c"), denied("no\nc"), id="deny with context"),
        pytest.param(MAKE, verdicts.stop("enough"), denied("enough", halt=True), id="the end of the turn"),
        pytest.param(MAKE, NONE.with_user_message("m"), SILENCE, id="message"),
    ],
)
def test_a_decision_is_answered(sent: Json, verdict: Verdict, reply: Reply) -> None:
    assert answer("crush", sent, verdict) == reply


def test_the_program_guards_it(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(USER, GUARD)

    ran = fairlead("hook", "--agent", "crush", stdin=tool("bash", command="rm -rf /"))
    assert (ran.code, ran.json["decision"]) == (0, "deny")
    assert "filesystem.delete-root" in ran.json["reason"]

    ran = fairlead("hook", "--agent", "crush", stdin=tool("edit", file_path=f"{place.home}/.bashrc", new_string="x"))
    assert ran.json["decision"] == "deny"


def test_the_program_gives_it_another_input(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(USER, REWRITE)
    ran = fairlead("hook", "--agent", "crush", stdin=tool("bash", command="ls"))
    assert (ran.code, ran.json) == (0, {"updated_input": {"command": "ls -l"}})


def test_what_cannot_be_read_is_refused(fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("hook", "--agent", "crush", stdin=b"{")
    assert ran.code == 2
    assert ran.err.startswith("Fairlead: ")
