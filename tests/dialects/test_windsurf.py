"""Windsurf: the event's name is the tool, and the exit code the answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fairlead import Event
from fairlead.degrade import degrade
from fairlead.dialects import Reply, windsurf
from fairlead.events import PreToolUse
from fairlead.verdicts import Decision
from tests.conftest import Home, Ran
from tests.dialects import pages

Json = dict[str, Any]


def payload(action: str, **info: Any) -> Json:
    ids = {"trajectory_id": "t-1", "execution_id": "e-7", "timestamp": "2026-10-01T10:00:00Z"}
    return {"agent_action_name": action, **ids, "tool_info": info}


def read(sent: Json) -> Event:
    return windsurf.read_event(json.dumps(sent).encode(), "", {})


CALLS: dict[str, tuple[Json, str, str, Json]] = {
    "command": (
        payload("pre_run_command", command_line="npm run build", cwd="/home/me/app"),
        "PreToolUse", "Bash", {"command": "npm run build"},
    ),
    "command ran": (
        payload("post_run_command", command_line="npm run build", cwd="/home/me/app"),
        "PostToolUse", "Bash", {"command": "npm run build"},
    ),
    "read": (payload("pre_read_code", file_path="/w/a.py"), "PreToolUse", "Read", {"file_path": "/w/a.py"}),
    "MCP": (
        payload("pre_mcp_tool_use", mcp_server_name="tickets", mcp_tool_name="close", mcp_tool_arguments={"id": 4}),
        "PreToolUse", "mcp__tickets__close", {"id": 4},
    ),
    "MCP arguments as text": (
        payload("pre_mcp_tool_use", mcp_server_name="tickets", mcp_tool_name="close", mcp_tool_arguments='{"id": 4}'),
        "PreToolUse", "mcp__tickets__close", {"id": 4},
    ),
    "MCP arguments that are no JSON": (
        payload("pre_mcp_tool_use", mcp_server_name="tickets", mcp_tool_name="close", mcp_tool_arguments="{four"),
        "PreToolUse", "mcp__tickets__close", {"input": "{four"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CALLS)
def test_a_call_is_read_in_our_words(case: str) -> None:
    sent, name, tool_name, tool_input = CALLS[case]

    event = read(sent)

    assert (event.name, event.matcher_value, event.payload()["tool_input"]) == (name, tool_name, tool_input)
    assert (event.session_id, event.prompt_id) == ("t-1", "e-7")


def test_a_command_runs_where_it_says() -> None:
    assert read(CALLS["command"][0]).cwd == "/home/me/app"


EDITS: dict[str, tuple[list[Json], list[Json]]] = {
    "a new file": (
        [{"old_string": "", "new_string": "a\nb\n"}],
        [{"file_path": "/w/a.py", "content": "a\nb\n"}],
    ),
    "one place": (
        [{"old_string": "x = 1", "new_string": "x = 2"}],
        [{"file_path": "/w/a.py", "old_string": "x = 1", "new_string": "x = 2"}],
    ),
    "two places": (
        [{"old_string": "x = 1", "new_string": "x = 2"}, {"old_string": "y = 1", "new_string": ""}],
        [{"file_path": "/w/a.py", "old_string": "x = 1\ny = 1", "new_string": "x = 2\n"}],
    ),
}


@pytest.mark.parametrize("case", EDITS)
def test_an_edit_is_a_patch_that_hooks_for_edit_and_write_understand(case: str) -> None:
    from fairlead import tools

    edits, seen = EDITS[case]
    event = read(payload("pre_write_code", file_path="/w/a.py", edits=edits))

    assert event.matcher_value == "apply_patch"
    assert {"Edit", "Write", "write_code"} <= set(tools.names(None, event))
    assert [view.payload()["tool_input"] for view in tools.views(None, event)] == seen


def test_edits_that_make_no_sense_are_still_an_edit_of_that_file() -> None:
    event = read(payload("pre_write_code", file_path="/w/a.py", edits=[{"old_string": 4}]))

    assert isinstance(event, PreToolUse)
    assert (event.tool_name, event.file_path) == ("Edit", "/w/a.py")


OTHERS: dict[str, tuple[Json, str, Json]] = {
    "prompt": (payload("pre_user_prompt", user_prompt="mend it"), "UserPromptSubmit", {"prompt": "mend it"}),
    "response": (payload("post_cascade_response", response="done"), "Stop", {"last_assistant_message": "done"}),
    "transcript": (
        payload("post_cascade_response_with_transcript", transcript_path="/t.jsonl"),
        "post_cascade_response_with_transcript",
        {"transcript_path": "/t.jsonl"},
    ),
    "worktree": (
        payload("post_setup_worktree", worktree_path="/wt", root_workspace_path="/w"),
        "post_setup_worktree",
        {"cwd": "/wt", "root_workspace_path": "/w"},
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_events_are_read_in_our_words(case: str) -> None:
    sent, name, fields = OTHERS[case]

    event = read(sent)

    assert event.name == name
    assert {key: event.payload()[key] for key in fields} == fields


REPLIES: dict[str, tuple[str, Decision, Reply]] = {
    "nothing": ("pre_run_command", Decision(), Reply()),
    "allow": ("pre_run_command", Decision(decision="allow"), Reply()),
    "deny": ("pre_run_command", Decision(decision="deny", reason="no"), Reply(stderr="no\n", exit_code=2)),
    "deny without a reason": (
        "pre_run_command", Decision(decision="deny"), Reply(stderr="Blocked by hook\n", exit_code=2),
    ),
    "deny with context": (
        "pre_run_command",
        Decision(decision="deny", reason="no", context="use make"),
        Reply(stderr="no\nuse make\n", exit_code=2),
    ),
    "ask": (
        "pre_run_command",
        Decision(decision="ask"),
        Reply(stderr="a person has to agree to this, and windsurf cannot ask one here\n", exit_code=2),
    ),
    "rewrite": (
        "pre_run_command",
        Decision(updated_input={"command_line": "ls -l"}),
        Reply(
            stderr="a hook wants another input, and windsurf cannot change it; "
            'call the tool again with: {"command_line":"ls -l"}\n',
            exit_code=2,
        ),
    ),
    "stop": ("pre_run_command", Decision(stop=True, stop_reason="enough"), Reply(stderr="enough\n", exit_code=2)),
    "a prompt": ("pre_user_prompt", Decision(decision="deny", reason="no"), Reply(stderr="no\n", exit_code=2)),
    "too late": ("post_run_command", Decision(decision="deny", reason="no"), Reply()),
    "keep going": ("post_cascade_response", Decision(decision="deny", reason="more"), Reply()),
}  # fmt: skip


@pytest.mark.parametrize("case", REPLIES)
def test_a_decision_is_an_exit_code(case: str) -> None:
    action, decision, reply = REPLIES[case]
    event = read(payload(action, command_line="ls", user_prompt="p", response="r"))

    assert windsurf.write_reply(event, degrade(event, decision, windsurf.CAN, "windsurf")) == reply


def test_what_cannot_be_read_is_refused(fairlead: Callable[..., Ran]) -> None:
    for raw in (b"", b"{", b"[]", b'{"agent_action_name": "pre_run_command", "tool_info": 4}', b"{}"):
        ran = fairlead("hook", "--agent", "windsurf", stdin=raw)
        assert (ran.code, ran.out) == (2, b"")
        assert ran.err.startswith("Fairlead: ")


@pytest.mark.parametrize(
    ("action", "info", "refused"),
    [
        ("pre_run_command", {"command_line": "git push --force"}, True),
        ("pre_run_command", {"command_line": "git status"}, False),
        ("pre_write_code", {"file_path": "/w/.env", "edits": [{"old_string": "a", "new_string": "b"}]}, True),
        ("pre_write_code", {"file_path": "/w/.env", "edits": [{"old_string": "", "new_string": "b"}]}, True),
        ("pre_write_code", {"file_path": "/w/a.py", "edits": [{"old_string": "", "new_string": "b"}]}, False),
    ],
)
def test_a_hook_for_nobody_in_particular_guards_it(
    action: str, info: Json, refused: bool, place: Home, fairlead: Callable[..., Ran]
) -> None:
    check = place.script("~/check.sh", 'if grep -qE "push --force|[.]env"; then echo "not that" >&2; exit 1; fi')
    place.write(
        "~/.config/fairlead/fairlead.toml", f'[[hook]]\non = "PreToolUse"\ntool = "Bash|Edit|Write"\nrun = "{check}"\n'
    )

    ran = fairlead("hook", "--agent", "windsurf", stdin=payload(action, **info))

    assert ran.code == (2 if refused else 0), ran.err
    assert ("not that" in ran.err) is refused


def test_the_page_says_what_the_code_does() -> None:
    assert pages.missing("windsurf", windsurf) == set()
    assert pages.misprinted("windsurf", windsurf) == {}
