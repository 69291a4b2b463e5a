"""Grok Build: camelCase keys, event names of two kinds, and a deny at the top level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairlead import verdicts
from fairlead.verdicts import Verdict
from tests.conftest import Home, Ran
from tests.dialects.halves import Json, answer, fields, read, refusal_of_failure, said, with_hooks

COMMON: Json = {"sessionId": "s1", "cwd": "/work", "workspaceRoot": "/work", "timestamp": "2026-10-01T08:00:00Z"}
SHELL: Json = {"toolName": "run_terminal_command", "toolInput": {"command": "make"}, "toolUseId": "t1"}
SEEN: Json = {"session_id": "s1", "cwd": "/work"}
CALL: Json = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "t1"}


def payload(name: str, **more: Any) -> Json:
    return {"hookEventName": name, **COMMON, **more}


@pytest.mark.parametrize(
    ("own", "more", "name", "expected"),
    [
        ("pre_tool_use", SHELL, "PreToolUse", CALL),
        ("PreToolUse", SHELL, "PreToolUse", CALL),
        ("session_start", {"source": "startup"}, "SessionStart", {"source": "startup"}),
        ("user_prompt_submit", {"prompt": "go"}, "UserPromptSubmit", {"prompt": "go"}),
        (
            "stop",
            {"stopHookActive": True, "lastAssistantMessage": "Done.", "backgroundTasks": []},
            "Stop",
            {"stop_hook_active": True, "last_assistant_message": "Done.", "background_tasks": []},
        ),
        ("stop_cancelled", {"reason": "user_interrupt"}, "Interrupt", {}),
        ("subagent_stop", {"subagentType": "explore"}, "SubagentStop", {"agent_type": "explore"}),
        ("notification", {"notificationType": "idle_prompt"}, "Notification", {"notification_type": "idle_prompt"}),
        ("post_tool_use_failure", {**SHELL, "error": "gone"}, "PostToolUseFailure", {**CALL, "error": "gone"}),
        ("tomorrows_event", {}, "TomorrowsEvent", {}),
    ],
)
def test_each_of_its_events_is_understood(own: str, more: Json, name: str, expected: Json) -> None:
    event = read("grok", payload(own, **more))
    assert event.name == name
    assert fields(event, *SEEN, *expected) == {**SEEN, **expected}


def test_claude_codes_name_beside_its_own_says_the_same() -> None:
    assert read("grok", payload("pre_tool_use", hook_event_name="PreToolUse", **SHELL)).name == "PreToolUse"


def test_what_nobody_knows_is_kept() -> None:
    event = read("grok", payload("pre_tool_use", **SHELL, toolInputTruncated=False))
    assert event.extra == {"workspaceRoot": "/work", "toolInputTruncated": False}


@pytest.mark.parametrize(
    ("own", "tool_input", "name", "meant"),
    [
        ("run_terminal_cmd", {"command": "ls"}, "Bash", {"command": "ls"}),
        ("read_file", {"target_file": "a.txt"}, "Read", {"file_path": "/work/a.txt"}),
        ("read_file", {"target_file": "a", "file_path": "decoy"}, "Read", {"file_path": "/work/a"}),
        (
            "search_replace",
            {"file_path": "/a", "old_string": "x", "new_string": "y"},
            "Edit",
            {"file_path": "/a", "old_string": "x", "new_string": "y"},
        ),
        ("linear__save_issue", {"title": "x"}, "mcp__linear__save_issue", {"title": "x"}),
        ("list_dir", {"target_directory": "/"}, "list_dir", {"target_directory": "/"}),
    ],
)
def test_its_tools_are_known_by_our_names(own: str, tool_input: Json, name: str, meant: Json) -> None:
    event = read("grok", payload("pre_tool_use", toolName=own, toolInput=tool_input))
    assert fields(event, "tool_name", "tool_input") == {"tool_name": name, "tool_input": meant}


@pytest.mark.parametrize("result", ["built\n", {"type": "Bash", "exit_code": 0, "output_for_prompt": "built\n"}])
def test_the_output_of_a_shell_has_one_shape(result: object) -> None:
    event = read("grok", payload("post_tool_use", **SHELL, toolResult=result, tool_response=result))
    assert fields(event, "tool_response")["tool_response"] == {"stdout": "built\n", "stderr": "", "interrupted": False}


@pytest.mark.parametrize("tool_input", ["{…", ["a"]])
def test_an_input_of_which_only_a_part_has_come_is_an_error(tool_input: object) -> None:
    with pytest.raises(Exception, match="tool_input must be an object"):
        read("grok", payload("pre_tool_use", toolName="run_terminal_command", toolInput=tool_input))


PRE = payload("pre_tool_use", **SHELL)


@pytest.mark.parametrize(
    ("event", "verdict", "reply"),
    [
        (PRE, verdicts.NONE, None),
        (PRE, verdicts.allow("fine"), None),
        (PRE, verdicts.deny("no"), {"decision": "deny", "reason": "no"}),
        (PRE, verdicts.deny(), {"decision": "deny", "reason": "Blocked by hook"}),
        (PRE, verdicts.deny("no").with_context("why"), {"decision": "deny", "reason": "no\nwhy"}),
        (
            PRE,
            verdicts.ask("sure?"),
            {"decision": "deny", "reason": "a person has to agree to this, and grok cannot ask one here\nsure?"},
        ),
        (
            PRE,
            verdicts.rewrite({"command": "ls"}),
            {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "ls"}}},
        ),
        (PRE, verdicts.rewrite({}), {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {}}}),
        (
            payload("post_tool_use", **SHELL, toolResult="x"),
            verdicts.block("look again"),
            {"decision": "block", "reason": "look again"},
        ),
        (payload("stop"), verdicts.keep_going("go on"), {"decision": "block", "reason": "go on"}),
        (payload("stop"), verdicts.context("by the way"), None),
        (payload("user_prompt_submit", prompt="x"), verdicts.block("no"), {"decision": "block", "reason": "no"}),
        (payload("session_end"), verdicts.block("no"), None),
    ],
)
def test_a_decision_is_said_in_its_words(event: Json, verdict: Verdict, reply: Json | None) -> None:
    assert said("grok", event, verdict) == (0, reply, "")


def test_a_rewritten_path_goes_back_under_its_key() -> None:
    event = payload("pre_tool_use", toolName="read_file", toolInput={"target_file": "/a", "limit": 3})
    _, reply, _ = said("grok", event, verdicts.rewrite({"file_path": "/b", "limit": 3}))
    assert reply is not None
    assert reply["hookSpecificOutput"]["updatedInput"] == {"target_file": "/b", "limit": 3}


def test_what_cannot_be_read_is_refused() -> None:
    assert refusal_of_failure("grok") == (2, None, "Fairlead: it broke\n")


@pytest.mark.parametrize(
    ("call", "reply"),
    [
        ({"toolInput": {"command": "ls"}}, None),
        ({"toolInput": {"command": "sudo ls"}}, {"decision": "deny", "reason": "no sudo here"}),
        (
            {"toolInput": {"command": "make clean"}},
            {
                "hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "updatedInput": {"command": "make --dry-run clean"},
                }
            },
        ),
    ],
)
def test_hooks_of_the_user_judge_its_commands(
    call: Json, reply: Json | None, place: Home, fairlead: Callable[..., Ran]
) -> None:
    with_hooks(place)
    ran = fairlead("hook", "--agent", "grok", stdin={**PRE, "cwd": str(place.project), **call})
    assert answer(ran) == (0, reply)


def test_the_guard_reads_its_edits(place: Home, fairlead: Callable[..., Ran]) -> None:
    with_hooks(place)
    edit = {"file_path": "/etc/hosts", "old_string": "a", "new_string": "b"}
    ran = fairlead("hook", "--agent", "grok", stdin=payload("pre_tool_use", toolName="search_replace", toolInput=edit))
    assert ran.json["decision"] == "deny"
    assert "/etc/hosts" in ran.json["reason"]
