"""OpenCode and Kilo: a plugin asks with one JSON object, and reads another one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead import verdicts
from fairlead.verdicts import Verdict
from tests.conftest import SHARED, Home, Ran, needs_shared
from tests.dialects.halves import Json, answer, fields, read, refusal_of_failure, said, with_hooks

AGENTS = pytest.mark.parametrize("agent", ["opencode", "kilo"])
BASH: Json = {"tool_name": "bash", "tool_use_id": "t1", "tool_input": {"command": "make"}}
CALL: Json = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "make"}}
COMMON: Json = {"session_id": "s1", "cwd": "/work"}


def payload(**more: Any) -> Json:
    return {**COMMON, **more}


@AGENTS
@pytest.mark.parametrize(
    ("own", "more", "name", "expected"),
    [
        ("tool.execute.before", BASH, "PreToolUse", CALL),
        ("PreToolUse", BASH, "PreToolUse", CALL),
        (
            "tool.execute.after",
            {**BASH, "tool_response": "built"},
            "PostToolUse",
            {**CALL, "tool_response": {"stdout": "built", "stderr": "", "interrupted": False}},
        ),
        ("chat.message", {"prompt": "go"}, "UserPromptSubmit", {"prompt": "go"}),
        ("session.created", {}, "SessionStart", {}),
        ("session.idle", {}, "Stop", {}),
        ("experimental.session.compacting", {}, "PreCompact", {}),
    ],
)
def test_each_of_its_events_is_understood(agent: str, own: str, more: Json, name: str, expected: Json) -> None:
    found = read(agent, payload(**more), own)
    assert found.name == name
    assert fields(found, *COMMON, *expected) == {**COMMON, **expected}


@AGENTS
@pytest.mark.parametrize(
    ("own", "tool_input", "name", "meant"),
    [
        ("bash", {"command": "ls", "workdir": "/"}, "Bash", {"command": "ls", "cwd": "/"}),
        ("write", {"filePath": "a", "content": "x"}, "Write", {"file_path": "/work/a", "content": "x"}),
        (
            "edit",
            {"filePath": "/a", "oldString": "x", "newString": "y", "replaceAll": True},
            "Edit",
            {"file_path": "/a", "old_string": "x", "new_string": "y", "replace_all": True},
        ),
        ("read", {"filePath": "/a"}, "Read", {"file_path": "/a"}),
        ("apply_patch", {"patchText": "*** Begin Patch"}, "apply_patch", {"command": "*** Begin Patch"}),
        ("github_search", {"query": "x"}, "github_search", {"query": "x"}),
    ],
)
def test_its_tools_are_known_by_our_names(agent: str, own: str, tool_input: Json, name: str, meant: Json) -> None:
    found = read(agent, payload(tool_name=own, tool_input=tool_input), "tool.execute.before")
    assert fields(found, "tool_name", "tool_input") == {"tool_name": name, "tool_input": meant}


BEFORE = ("tool.execute.before", payload(**BASH))
AFTER = ("tool.execute.after", payload(**BASH, tool_response="x"))


@AGENTS
@pytest.mark.parametrize(
    ("event", "verdict", "reply"),
    [
        (BEFORE, verdicts.NONE, {"decision": "none"}),
        (BEFORE, verdicts.allow(), {"decision": "none"}),
        (BEFORE, verdicts.deny("no"), {"decision": "deny", "reason": "no"}),
        (BEFORE, verdicts.deny(), {"decision": "deny", "reason": "Blocked by hook"}),
        (BEFORE, verdicts.rewrite({"command": "ls"}), {"decision": "none", "input": {"command": "ls"}}),
        (BEFORE, verdicts.rewrite({}), {"decision": "none", "input": {}}),
        (BEFORE, verdicts.context("by the way"), {"decision": "none"}),
        (AFTER, verdicts.block("look again"), {"decision": "deny", "reason": "look again"}),
        (AFTER, verdicts.context("mind"), {"decision": "none", "context": "mind"}),
        (AFTER, Verdict(updated_output="[redacted]"), {"decision": "none", "output": "[redacted]"}),
        (AFTER, Verdict(updated_output={"stdout": "a", "stderr": "b"}), {"decision": "none", "output": "a\nb"}),
        (("chat.message", payload(prompt="x")), verdicts.block("no"), {"decision": "deny", "reason": "no"}),
        (("chat.message", payload(prompt="x")), verdicts.context("mind"), {"decision": "none", "context": "mind"}),
        (("session.idle", payload()), verdicts.keep_going("go on"), {"decision": "none"}),
        (
            ("experimental.session.compacting", payload()),
            verdicts.context("keep this"),
            {"decision": "none", "context": "keep this"},
        ),
    ],
)
def test_a_decision_is_said_in_its_words(agent: str, event: tuple[str, Json], verdict: Verdict, reply: Json) -> None:
    own, given = event
    assert said(agent, given, verdict, own) == (0, reply, "")


@AGENTS
def test_a_question_is_refused(agent: str) -> None:
    _, found, _ = said(agent, payload(**BASH), verdicts.ask("sure?"), "tool.execute.before")
    assert found == {
        "decision": "deny",
        "reason": f"a person has to agree to this, and {agent} cannot ask one here\nsure?",
    }


@AGENTS
def test_what_cannot_be_read_is_refused(agent: str) -> None:
    assert refusal_of_failure(agent) == (0, {"decision": "deny", "reason": "Fairlead: it broke"}, "")


@AGENTS
@pytest.mark.parametrize(
    ("command", "reply"),
    [
        ("ls", {"decision": "none"}),
        ("sudo ls", {"decision": "deny", "reason": "no sudo here"}),
        ("make clean", {"decision": "none", "input": {"command": "make --dry-run clean"}}),
    ],
)
def test_hooks_of_the_user_judge_its_commands(
    agent: str, command: str, reply: Json, place: Home, fairlead: Callable[..., Ran]
) -> None:
    with_hooks(place)
    event = payload(**{**BASH, "tool_input": {"command": command}}, cwd=str(place.project))
    assert answer(fairlead("hook", "--agent", agent, "--event", "tool.execute.before", stdin=event)) == (0, reply)


@pytest.mark.parametrize(
    ("own", "tool_input"),
    [
        pytest.param("write", {"filePath": "/etc/hosts", "content": "x"}, id="a file of the system"),
        pytest.param("bash", {"command": "rm -rf *", "workdir": "/etc"}, id="a command that runs elsewhere"),
    ],
)
def test_the_guard_reads_its_tools(own: str, tool_input: Json, place: Home, fairlead: Callable[..., Ran]) -> None:
    with_hooks(place)
    event = payload(tool_name=own, tool_input=tool_input, cwd=str(place.project))
    ran = fairlead("hook", "--agent", "opencode", "--event", "tool.execute.before", stdin=event)
    assert ran.json["decision"] == "deny"
    assert "/etc" in ran.json["reason"]


def test_a_folder_that_the_tool_does_not_know_deceives_nobody(place: Home, fairlead: Callable[..., Ran]) -> None:
    with_hooks(place)
    event = payload(tool_name="bash", tool_input={"command": "rm -rf *", "cwd": "/tmp/x", "workdir": "/etc"})
    ran = fairlead("hook", "--agent", "opencode", "--event", "tool.execute.before", stdin=event)
    assert ran.json["decision"] == "deny"


@needs_shared("captures", "opencode")
def test_what_the_plugin_gets_becomes_our_event() -> None:
    """The plugin's own arguments, as it puts them together for us."""
    folder: Path = SHARED / "captures" / "opencode"
    after = json.loads((folder / "tool.execute.after-1.json").read_text())["stdin"]
    call = {"tool_name": after["input"]["tool"], "tool_input": after["input"]["args"]}
    found = read("opencode", payload(**call, tool_response=after["output"]["output"]), "tool.execute.after")
    assert fields(found, "name", "tool_name")["tool_name"] == "Bash"
    assert fields(found, "tool_response")["tool_response"]["stdout"] == "hello-from-tool\n"
