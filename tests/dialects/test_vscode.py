"""VS Code's agent hooks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fairlead import Event, tools
from fairlead.degrade import degrade
from fairlead.dialects import vscode
from fairlead.tools import for_agent
from fairlead.verdicts import Decision
from tests.conftest import Home, Ran
from tests.dialects import pages

Json = dict[str, Any]


def payload(event: str, **fields: Any) -> Json:
    return {"hook_event_name": event, "session_id": "s", "cwd": "/w", "timestamp": "2026-10-01T10:00:00Z", **fields}


def call(own: str, **tool_input: Any) -> Json:
    return payload("PreToolUse", tool_name=own, tool_input=tool_input, tool_use_id="c1")


def read(sent: Json) -> Event:
    return vscode.read_event(json.dumps(sent).encode(), "", {})


CALLS: dict[str, tuple[Json, str, Json]] = {
    "terminal": (
        call("run_in_terminal", command="make", explanation="build", isBackground=False),
        "Bash", {"command": "make", "explanation": "build", "isBackground": False},
    ),
    "terminal, as its manual calls it": (call("runTerminalCommand", command="make"), "Bash", {"command": "make"}),
    "new file": (
        call("create_file", filePath="/w/a.py", content="x"), "Write", {"file_path": "/w/a.py", "content": "x"},
    ),
    "new file with a relative path": (
        call("createFile", filePath="a.py", content="x"), "Write", {"file_path": "/w/a.py", "content": "x"},
    ),
    "replace": (
        call("replace_string_in_file", filePath="/w/a.py", oldString="a", newString="b"),
        "Edit", {"file_path": "/w/a.py", "old_string": "a", "new_string": "b"},
    ),
    "read": (call("read_file", filePath="/w/a.py"), "Read", {"file_path": "/w/a.py"}),
    "patch": (call("apply_patch", input="*** Begin Patch"), "apply_patch", {"command": "*** Begin Patch"}),
    "unknown": (call("mcp_tickets_close", id=4), "mcp_tickets_close", {"id": 4}),
}  # fmt: skip


@pytest.mark.parametrize("case", CALLS)
def test_a_call_is_read_in_our_words(case: str) -> None:
    sent, name, tool_input = CALLS[case]

    event = read(sent)

    assert (event.name, event.matcher_value, event.payload()["tool_input"]) == ("PreToolUse", name, tool_input)


SEVERAL: dict[str, tuple[Json, list[str]]] = {
    "replacements": (
        call(
            "multi_replace_string_in_file",
            explanation="rename",
            replacements=[
                {"filePath": "/w/a.py", "oldString": "a", "newString": "b"},
                {"filePath": "/w/.env", "oldString": "a", "newString": "b"},
            ],
        ),
        ["/w/a.py", "/w/.env"],
    ),
    "files": (call("editFiles", files=["/w/a.py", "/w/.env"]), ["/w/a.py", "/w/.env"]),
}


@pytest.mark.parametrize("case", SEVERAL)
def test_a_call_that_changes_several_files_shows_each_of_them(case: str) -> None:
    sent, paths = SEVERAL[case]

    event = read(sent)

    assert {"Edit", "Write"} <= set(tools.names(None, event))
    assert [view.payload()["tool_input"]["file_path"] for view in tools.views(None, event)] == paths


@pytest.mark.parametrize("case", SEVERAL)
def test_a_rewrite_of_such_a_call_is_refused_with_what_is_wanted(case: str) -> None:
    event, decision = for_agent(read(SEVERAL[case][0]), Decision(updated_input={"command": "*** another"}))

    said = vscode.write_result(event, decision)["hookSpecificOutput"]

    assert said["permissionDecision"] == "deny"
    assert "*** another" in said["permissionDecisionReason"]


def test_older_versions_write_their_keys_in_another_way() -> None:
    event = read(
        {
            "hookEventName": "PreToolUse",
            "sessionId": "s",
            "cwd": "/w",
            "toolName": "run_in_terminal",
            "toolInput": '{"command": "make"}',
        }
    )

    assert (event.session_id, event.matcher_value, event.payload()["tool_input"]) == ("s", "Bash", {"command": "make"})


def test_what_a_terminal_printed_stands_under_stdout() -> None:
    event = read(
        payload("PostToolUse", tool_name="run_in_terminal", tool_input={"command": "ls"}, tool_response="a.py")
    )

    assert event.payload()["tool_response"] == {"stdout": "a.py", "stderr": "", "interrupted": False}


OTHERS: dict[str, Json] = {
    "SessionStart": {"source": "new"},
    "UserPromptSubmit": {"prompt": "mend it"},
    "PreCompact": {"trigger": "auto"},
    "SubagentStart": {"agent_id": "a", "agent_type": "Plan"},
    "SubagentStop": {"agent_id": "a", "agent_type": "Plan", "stop_hook_active": True},
    "Stop": {"stop_hook_active": False},
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_events_keep_their_names(name: str) -> None:
    event = read(payload(name, **OTHERS[name]))

    assert event.name == name
    assert event.payload().items() >= OTHERS[name].items()
    assert name in vscode.EVENTS


def specific(**fields: Any) -> Json:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **fields}}


DENY = Decision(decision="deny", reason="no")
REPLIES: dict[str, tuple[str, Decision, Json]] = {
    "nothing": ("PreToolUse", Decision(), {}),
    "deny": ("PreToolUse", DENY, specific(permissionDecision="deny", permissionDecisionReason="no")),
    "deny without a reason": (
        "PreToolUse",
        Decision(decision="deny"),
        specific(permissionDecision="deny", permissionDecisionReason="Blocked by hook"),
    ),
    "ask": (
        "PreToolUse",
        Decision(decision="ask", reason="sure?"),
        specific(permissionDecision="ask", permissionDecisionReason="sure?"),
    ),
    "allow": ("PreToolUse", Decision(decision="allow"), specific(permissionDecision="allow")),
    "rewrite": (
        "PreToolUse", Decision(updated_input={"command": "ls -l"}), specific(updatedInput={"command": "ls -l"}),
    ),
    "context": ("PreToolUse", Decision(context="look"), specific(additionalContext="look")),
    "stop": (
        "PreToolUse",
        Decision(stop=True, stop_reason="enough"),
        {**specific(permissionDecision="deny", permissionDecisionReason="enough"), "continue": False,
         "stopReason": "enough"},
    ),
    "message": ("PreToolUse", Decision(user_message="hi"), {"systemMessage": "hi"}),
    "after": ("PostToolUse", DENY, {"decision": "block", "reason": "no"}),
    "prompt": (
        "UserPromptSubmit", DENY, {"decision": "block", "reason": "no", "continue": False, "stopReason": "no"},
    ),
    "keep going": (
        "Stop", DENY, {"hookSpecificOutput": {"hookEventName": "Stop", "decision": "block", "reason": "no"}},
    ),
    "keep going and stop": (
        "Stop", DENY.but(stop=True, stop_reason="enough"), {"continue": False, "stopReason": "enough"},
    ),
    "keep a subagent going": (
        "SubagentStop",
        DENY,
        {"decision": "block", "reason": "no",
         "hookSpecificOutput": {"hookEventName": "SubagentStop", "decision": "block", "reason": "no"}},
    ),
    "another output": (
        "PostToolUse",
        Decision(updated_output="***"),
        {"decision": "block",
         "reason": "a hook has replaced this output, and vscode cannot; go by this instead: ***"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REPLIES)
def test_a_decision_is_said_in_its_words(case: str) -> None:
    name, decision, expected = REPLIES[case]
    event = read(payload(name, tool_name="run_in_terminal", tool_input={"command": "ls"}))

    reply = vscode.write_reply(event, degrade(event, decision, vscode.CAN, "vscode"))

    assert (json.loads(reply.stdout or b"{}"), reply.exit_code, reply.stderr) == (expected, 0, "")
    assert bool(reply.stdout) is bool(expected)


RULES = """
[[hook]]
on = "PreToolUse"
tool = "Bash"
run = "{check}"

[[hook]]
on = "PreToolUse"
guard = ["secrets"]
"""


@pytest.mark.parametrize(
    ("sent", "refused"),
    [
        (call("run_in_terminal", command="git push --force"), True),
        (call("run_in_terminal", command="git status"), False),
        (call("create_file", filePath="a.py", content="x"), False),
    ],
)
def test_a_hook_for_nobody_in_particular_guards_it(
    sent: Json, refused: bool, place: Home, fairlead: Callable[..., Ran]
) -> None:
    check = place.script("~/check.sh", 'if grep -q -- "--force"; then echo "not that" >&2; exit 1; fi')
    place.write("~/.config/fairlead/fairlead.toml", RULES.format(check=check))

    ran = fairlead("hook", "--agent", "vscode", stdin=sent)

    assert ran.code == 0, ran.err
    assert (b'"permissionDecision":"deny"' in ran.out and b"not that" in ran.out) is refused


def test_a_rewrite_comes_back_in_its_keys(place: Home, fairlead: Callable[..., Ran]) -> None:
    wanted = {"hookSpecificOutput": {"hookEventName": "PreToolUse",
                                     "updatedInput": {"file_path": "/w/b.py", "content": "x"}}}  # fmt: skip
    script = place.script("~/rewrite.sh", f"echo '{json.dumps(wanted)}'")
    place.write("~/.config/fairlead/fairlead.toml", f'[[hook]]\non = "PreToolUse"\ntool = "Write"\nrun = "{script}"\n')

    ran = fairlead("hook", "--agent", "vscode", stdin=call("create_file", filePath="/w/a.py", content="x"))

    assert ran.json["hookSpecificOutput"]["updatedInput"] == {"filePath": "/w/b.py", "content": "x"}


def test_what_cannot_be_read_is_refused(fairlead: Callable[..., Ran]) -> None:
    for raw in (b"", b"{", b"{}"):
        ran = fairlead("hook", "--agent", "vscode", stdin=raw)
        assert (ran.code, ran.out) == (2, b"")
        assert ran.err.startswith("Fairlead: ")


def test_the_page_says_what_the_code_does() -> None:
    assert pages.missing("vscode", vscode) == set()
    assert pages.misprinted("vscode", vscode) == {}
