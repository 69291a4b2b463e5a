"""Cursor: what it sends and is told, and hooks written for it under other agents."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import Event, HookFailed, tools
from fairlead.degrade import degrade
from fairlead.dialects import cursor
from fairlead.handlers.command import Command
from fairlead.hooks import Hook, Origin
from fairlead.tools import for_agent
from fairlead.verdicts import Decision
from fairlead.work import Result
from tests.conftest import Home, Ran
from tests.dialects import pages
from tests.dialects.conftest import Agents, Recorder

Json = dict[str, Any]


def payload(event: str, **fields: Any) -> Json:
    return {
        "conversation_id": "c-1",
        "generation_id": "g-2",
        "model": "composer-2",
        "hook_event_name": event,
        "cursor_version": "3.4.1",
        "workspace_roots": ["/w"],
        "user_email": "someone@example.org",
        "transcript_path": None,
        **fields,
    }


def call(own: str, **tool_input: Any) -> Json:
    return payload("preToolUse", tool_name=own, tool_input=tool_input, tool_use_id="u1", cwd="/w")


def read(sent: Json) -> Event:
    return cursor.read_event(json.dumps(sent).encode(), "", {})


# --- what it sends -----------------------------------------------------------------------------------

CALLS: dict[str, tuple[Json, str, str, Json]] = {
    "Shell": (call("Shell", command="make"), "PreToolUse", "Bash", {"command": "make"}),
    "Write": (
        call("Write", path="a.py", contents="x"), "PreToolUse", "Write", {"file_path": "/w/a.py", "content": "x"},
    ),
    "StrReplace": (
        call("StrReplace", path="/w/a.py", old_string="a", new_string="b"),
        "PreToolUse", "Edit", {"file_path": "/w/a.py", "old_string": "a", "new_string": "b"},
    ),
    "Read": (call("Read", path="/w/a.py"), "PreToolUse", "Read", {"file_path": "/w/a.py"}),
    "an MCP tool of an unknown server": (call("MCP:close", id=4), "PreToolUse", "MCP:close", {"id": 4}),
    "beforeShellExecution": (
        payload("beforeShellExecution", command="make", cwd="", sandbox=False),
        "PreToolUse", "Bash", {"command": "make"},
    ),
    "beforeMCPExecution": (
        payload("beforeMCPExecution", tool_name="close", tool_input='{"id": 4}', mcp_server_name="tickets", url="u"),
        "PreToolUse", "mcp__tickets__close", {"id": 4},
    ),
    "beforeMCPExecution with text that is no JSON": (
        payload("beforeMCPExecution", tool_name="close", tool_input="{four", mcp_server_name="tickets"),
        "PreToolUse", "mcp__tickets__close", {"input": "{four"},
    ),
    "beforeReadFile": (
        payload("beforeReadFile", file_path="/w/a.py", content="x", attachments=[]),
        "PreToolUse", "Read", {"file_path": "/w/a.py"},
    ),
    "beforeTabFileRead": (
        payload("beforeTabFileRead", file_path="/w/a.py", content="x"), "PreToolUse", "Read", {"file_path": "/w/a.py"},
    ),
    "postToolUse": (
        payload("postToolUse", tool_name="Shell", tool_input={"command": "ls"}, tool_output='{"output": "a"}'),
        "PostToolUse", "Bash", {"command": "ls"},
    ),
    "afterShellExecution": (
        payload("afterShellExecution", command="ls", output="a", duration=3), "PostToolUse", "Bash", {"command": "ls"},
    ),
    "afterMCPExecution": (
        payload("afterMCPExecution", tool_name="close", tool_input='{"id": 4}', mcp_server_name="t", result_json="[1]"),
        "PostToolUse", "mcp__t__close", {"id": 4},
    ),
    "postToolUseFailure": (
        payload("postToolUseFailure", tool_name="Shell", tool_input={"command": "ls"}, error_message="no",
                failure_type="error", is_interrupt=False, duration=3),
        "PostToolUseFailure", "Bash", {"command": "ls"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CALLS)
def test_a_call_is_read_in_our_words(case: str) -> None:
    sent, name, tool_name, tool_input = CALLS[case]

    event = read(sent)

    assert (event.name, event.matcher_value, event.payload()["tool_input"]) == (name, tool_name, tool_input)
    assert (event.session_id, event.prompt_id, event.cwd) == ("c-1", "g-2", "/w")


def test_results_and_errors_stand_where_hooks_look_for_them() -> None:
    shell = {"stdout": "a", "stderr": "", "interrupted": False}

    assert read(CALLS["postToolUse"][0]).payload()["tool_response"] == shell
    assert read(CALLS["afterShellExecution"][0]).payload()["tool_response"] == shell
    assert read(CALLS["afterMCPExecution"][0]).payload()["tool_response"] == [1]
    assert read(CALLS["postToolUseFailure"][0]).payload()["error"] == "no"


CHANGES: dict[str, tuple[Json, list[tuple[str, Json]]]] = {
    "Delete": (
        call("Delete", path="/w/a.py"),
        [("Edit", {"file_path": "/w/a.py", "old_string": "", "new_string": "", "deleted": True})],
    ),
    "Write that edits": (
        call("Write", path="/w/a.py", old_string="a", new_string="b"),
        [("Edit", {"file_path": "/w/a.py", "old_string": "a", "new_string": "b"})],
    ),
    "ApplyPatch": (
        call("ApplyPatch", patch="*** Begin Patch\n*** Add File: n.py\n+x\n*** End Patch"),
        [("Write", {"file_path": "/w/n.py", "content": "x\n"})],
    ),
    "afterFileEdit": (
        payload("afterFileEdit", file_path="/w/a.py", edits=[{"old_string": "a", "new_string": "b"}]),
        [("Edit", {"file_path": "/w/a.py", "old_string": "a", "new_string": "b"})],
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_changes_of_files_are_seen_by_hooks_for_edit_and_for_write(case: str) -> None:
    sent, seen = CHANGES[case]

    event = read(sent)
    views = [view.payload() for view in tools.views(None, event)]

    assert {"Edit", "Write"} <= set(tools.names(None, event))
    assert [(view["tool_name"], view["tool_input"]) for view in views] == seen


OTHERS: dict[str, tuple[Json, str, Json]] = {
    "sessionStart": (payload("sessionStart", session_id="c-1"), "SessionStart", {"session_id": "c-1"}),
    "sessionEnd": (payload("sessionEnd", reason="user_close"), "SessionEnd", {"reason": "user_close"}),
    "prompt": (payload("beforeSubmitPrompt", prompt="mend it"), "UserPromptSubmit", {"prompt": "mend it"}),
    "subagentStart": (
        payload("subagentStart", subagent_id="a", subagent_type="explore", task="look"),
        "SubagentStart", {"agent_id": "a", "agent_type": "explore", "description": "look"},
    ),
    "subagentStop": (
        payload("subagentStop", subagent_type="explore", status="completed", loop_count=1, summary="found"),
        "SubagentStop", {"agent_type": "explore", "stop_hook_active": True, "last_assistant_message": "found"},
    ),
    "preCompact": (payload("preCompact", trigger="auto"), "PreCompact", {"trigger": "auto"}),
    "stop": (payload("stop", status="completed", loop_count=0), "Stop", {"stop_hook_active": False}),
    "stop again": (payload("stop", status="completed", loop_count=2), "Stop", {"stop_hook_active": True}),
    "stop by the user": (payload("stop", status="aborted", loop_count=0), "Interrupt", {"status": "aborted"}),
    "stop by an error": (payload("stop", status="error", loop_count=0), "StopFailure", {"status": "error"}),
    "response": (payload("afterAgentResponse", text="done"), "afterAgentResponse", {"text": "done"}),
}  # fmt: skip


@pytest.mark.parametrize("case", OTHERS)
def test_other_events_are_read_in_our_words(case: str) -> None:
    sent, name, fields = OTHERS[case]

    event = read(sent)

    assert event.name == name
    assert event.payload().items() >= fields.items()


# --- what it is told ---------------------------------------------------------------------------------

DENY = Decision(decision="deny", reason="no")
ALLOWED = {"permission": "allow"}
WANTED = 'a hook wants another input, and cursor cannot change it; call the tool again with: {"command":"ls -l"}'
ASKED = "a person has to agree to this, and cursor cannot ask one here"
REPLIES: dict[str, tuple[Json, Decision, Json]] = {
    "nothing": (call("Shell", command="ls"), Decision(), ALLOWED),
    "allow": (call("Shell", command="ls"), Decision(decision="allow"), ALLOWED),
    "deny": (
        call("Shell", command="ls"), DENY, {"permission": "deny", "user_message": "no", "agent_message": "no"},
    ),
    "deny without a reason": (
        call("Shell", command="ls"), Decision(decision="deny"),
        {"permission": "deny", "user_message": "Blocked by hook", "agent_message": "Blocked by hook"},
    ),
    "ask": (
        CALLS["beforeShellExecution"][0], Decision(decision="ask"),
        {"permission": "deny", "user_message": ASKED, "agent_message": ASKED},
    ),
    "rewrite": (
        call("Shell", command="ls"), Decision(updated_input={"command": "ls -l"}),
        {**ALLOWED, "updated_input": {"command": "ls -l"}},
    ),
    "rewrite where it takes none": (
        CALLS["beforeShellExecution"][0], Decision(updated_input={"command": "ls -l"}),
        {"permission": "deny", "user_message": WANTED, "agent_message": WANTED},
    ),
    "rewrite that is there already": (
        CALLS["beforeShellExecution"][0], Decision(updated_input={"command": "make"}), ALLOWED,
    ),
    "rewrite of what became a patch": (
        call("Delete", path="/w/a"), Decision(updated_input={"command": "*** another"}),
        {"permission": "deny",
         "user_message": "a hook wants this patch instead, and this tool cannot take one: *** another",
         "agent_message": "a hook wants this patch instead, and this tool cannot take one: *** another"},
    ),
    "message": (call("Shell", command="ls"), Decision(user_message="hi"), {**ALLOWED, "user_message": "hi"}),
    "stop": (
        call("Shell", command="ls"), Decision(stop=True, stop_reason="enough"),
        {"permission": "deny", "user_message": "enough", "agent_message": "enough"},
    ),
    "reading a file": (CALLS["beforeReadFile"][0], DENY, {"permission": "deny", "user_message": "no"}),
    "reading a file, nothing": (CALLS["beforeReadFile"][0], Decision(), ALLOWED),
    "subagent": (OTHERS["subagentStart"][0], DENY, {"permission": "deny", "user_message": "no"}),
    "subagent, nothing": (OTHERS["subagentStart"][0], Decision(), ALLOWED),
    "prompt": (OTHERS["prompt"][0], DENY, {"continue": False, "user_message": "no"}),
    "prompt, nothing": (OTHERS["prompt"][0], Decision(), {"continue": True}),
    "prompt with context": (
        OTHERS["prompt"][0], Decision(context="look"), {"continue": True, "additional_context": "look"},
    ),
    "after": (CALLS["postToolUse"][0], DENY, {"additional_context": "no"}),
    "after, nothing": (CALLS["postToolUse"][0], Decision(), {}),
    "another output": (
        CALLS["postToolUse"][0], Decision(updated_output="***"),
        {"additional_context": "A hook has replaced this output; go by this instead: ***"},
    ),
    "another output of an MCP tool": (
        payload("postToolUse", tool_name="MCP:close", tool_input={}, tool_output="{}"), Decision(updated_output="***"),
        {"updated_mcp_tool_output": "***"},
    ),
    "session": (OTHERS["sessionStart"][0], Decision(context="look"), {"additional_context": "look"}),
    "keep going": (OTHERS["stop"][0], DENY, {"followup_message": "no"}),
    "stop after an abort": (OTHERS["stop by the user"][0], DENY, {}),
    "stop after an error": (OTHERS["stop by an error"][0], DENY, {}),
    "keep a subagent going": (OTHERS["subagentStop"][0], DENY, {"followup_message": "no"}),
    "a subagent that failed": (payload("subagentStop", status="error"), DENY, {}),
    "compact": (OTHERS["preCompact"][0], Decision(user_message="hi"), {"user_message": "hi"}),
}  # fmt: skip


@pytest.mark.parametrize("case", REPLIES)
def test_a_decision_is_said_in_its_words(case: str) -> None:
    sent, decision, expected = REPLIES[case]
    event, decision = for_agent(read(sent), decision)

    reply = cursor.write_reply(event, degrade(event, decision, cursor.CAN, "cursor"))

    assert (json.loads(reply.stdout or b"{}"), reply.exit_code, reply.stderr) == (expected, 0, "")
    assert bool(reply.stdout) is bool(expected)


@pytest.mark.parametrize("raw", [b"", b"{", b"{}", b'{"hook_event_name": "preToolUse", "tool_name": 4}'])
def test_what_cannot_be_read_is_refused(raw: bytes, fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("hook", "--agent", "cursor", stdin=raw)

    assert ran.code == 2
    assert ran.json["permission"] == "deny"
    assert ran.json["continue"] is False


def test_a_hook_for_nobody_in_particular_guards_it(place: Home, fairlead: Callable[..., Ran]) -> None:
    check = place.script("~/check.sh", 'if grep -qE -- "--force|[.]env"; then echo "not that" >&2; exit 1; fi')
    place.write(
        "~/.config/fairlead/fairlead.toml", f'[[hook]]\non = "PreToolUse"\ntool = "Bash|Edit|Write"\nrun = "{check}"\n'
    )

    def permission(sent: Json) -> str:
        return str(fairlead("hook", "--agent", "cursor", stdin=sent).json["permission"])

    assert permission(call("Shell", command="git push --force")) == "deny"
    assert permission(payload("beforeShellExecution", command="git push --force")) == "deny"
    assert permission(call("Write", path="/w/.env", contents="A=1")) == "deny"
    assert permission(call("Delete", path="/w/.env")) == "deny"
    assert permission(call("Shell", command="git status")) == "allow"


# --- hooks written for it ----------------------------------------------------------------------------

USER = "~/.cursor/hooks.json"


def hooks(place: Home, event: str, command: str, **more: Any) -> None:
    place.write(USER, {"version": 1, "hooks": {event: [{"command": command, **more}]}})


def claude(tool_name: str, event: str = "PreToolUse", **tool_input: Any) -> Json:
    return {"hook_event_name": event, "session_id": "s", "cwd": "", "tool_name": tool_name, "tool_input": tool_input}


SEEN: dict[str, tuple[str, Json, Json]] = {
    "preToolUse": (
        "preToolUse", claude("Bash", command="make"), {"tool_name": "Shell", "tool_input": {"command": "make"}},
    ),
    "preToolUse for a new file": (
        "preToolUse", claude("Write", file_path="/w/a", content="x"),
        {"tool_name": "Write", "tool_input": {"path": "/w/a", "contents": "x"}},
    ),
    "preToolUse for an MCP tool": (
        "preToolUse", claude("mcp__tickets__close", id=4), {"tool_name": "MCP:close", "tool_input": {"id": 4}},
    ),
    "beforeShellExecution": (
        "beforeShellExecution", claude("Bash", command="make"), {"command": "make", "sandbox": False},
    ),
    "beforeMCPExecution": (
        "beforeMCPExecution", claude("mcp__tickets__close", id=4),
        {"tool_name": "close", "tool_input": '{"id":4}', "mcp_server_name": "tickets"},
    ),
    "beforeSubmitPrompt": (
        "beforeSubmitPrompt", {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "hi"},
        {"prompt": "hi", "attachments": []},
    ),
    "postToolUse": (
        "postToolUse", {**claude("Bash", "PostToolUse", command="ls"), "tool_response": {"stdout": "a"}},
        {"tool_name": "Shell", "tool_output": '{"stdout":"a"}'},
    ),
    "afterShellExecution": (
        "afterShellExecution", {**claude("Bash", "PostToolUse", command="ls"), "tool_response": {"stdout": "a"}},
        {"command": "ls", "output": "a"},
    ),
    "afterFileEdit": (
        "afterFileEdit", claude("Edit", "PostToolUse", file_path="/w/a", old_string="x", new_string="y"),
        {"file_path": "/w/a", "edits": [{"old_string": "x", "new_string": "y"}]},
    ),
    "afterFileEdit of a new file": (
        "afterFileEdit", claude("Write", "PostToolUse", file_path="/w/a", content="y"),
        {"file_path": "/w/a", "edits": [{"old_string": "", "new_string": "y"}]},
    ),
    "stop": (
        "stop", {"hook_event_name": "Stop", "session_id": "s", "stop_hook_active": True},
        {"status": "completed", "loop_count": 1},
    ),
    "stop after an error": (
        "stop", {"hook_event_name": "StopFailure", "session_id": "s", "error": "e"}, {"status": "error"},
    ),
    "sessionStart": ("sessionStart", {"hook_event_name": "SessionStart", "session_id": "s"}, {"session_id": "s"}),
    "subagentStart": (
        "subagentStart", {"hook_event_name": "SubagentStart", "session_id": "s", "agent_id": "a", "agent_type": "t"},
        {"subagent_id": "a", "subagent_type": "t"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SEEN)
def test_a_hook_sees_its_own_event_under_another_agent(
    case: str, place: Home, agents: Agents, recorder: Recorder
) -> None:
    name, event, expected = SEEN[case]
    hooks(place, name, recorder.script("hook", "echo '{}'"))

    agents.hook("claude-code", event)

    seen = recorder.stdin("hook")
    assert seen.items() >= {**expected, "hook_event_name": name, "conversation_id": "s"}.items()
    assert seen["workspace_roots"] == [str(place.project)]
    assert recorder.env("hook")["CURSOR_PROJECT_DIR"] == str(place.project)


def test_a_hook_before_reading_sees_what_would_be_read(place: Home, agents: Agents, recorder: Recorder) -> None:
    hooks(
        place, "beforeReadFile", recorder.script("hook", """echo '{"permission": "deny", "user_message": "secret"}'""")
    )
    file = place.write("key.pem", "PRIVATE")

    answer = agents.hook("claude-code", claude("Read", file_path=str(file)))

    assert recorder.stdin("hook")["content"] == "PRIVATE"
    assert b'"permissionDecisionReason":"secret"' in answer.reply.stdout


NOT_ABOUT = [
    ("beforeShellExecution", claude("Write", file_path="/w/a", content="x")),
    ("beforeMCPExecution", claude("Bash", command="ls")),
    ("beforeReadFile", claude("Bash", command="ls")),
    ("afterFileEdit", claude("Bash", "PostToolUse", command="ls")),
    ("beforeTabFileRead", claude("Read", file_path="/w/a")),
]


@pytest.mark.parametrize(("name", "event"), NOT_ABOUT, ids=[name for name, _ in NOT_ABOUT])
def test_a_hook_for_one_kind_of_call_leaves_others_alone(
    name: str, event: Json, place: Home, agents: Agents, recorder: Recorder
) -> None:
    hooks(place, name, recorder.script("hook", "exit 2"))

    assert b"deny" not in agents.hook("claude-code", event).reply.stdout
    assert recorder.order == []


MATCHERS = [
    ("preToolUse", "Shell", claude("Bash", command="ls"), True),
    ("preToolUse", "Shell|Write", claude("Edit", file_path="/w/a", old_string="a", new_string="b"), True),
    ("preToolUse", "Write", claude("Bash", command="ls"), False),
    ("preToolUse", "MCP", claude("mcp__t__close"), True),
    ("preToolUse", "MCP:cl.*", claude("mcp__t__close"), True),
    ("preToolUse", "MCP:open", claude("mcp__t__close"), False),
    ("preToolUse", "(", claude("Bash", command="ls"), True),
    ("beforeShellExecution", "curl|wget", claude("Bash", command="curl x"), True),
    ("beforeShellExecution", "curl|wget", claude("Bash", command="ls"), False),
    ("beforeShellExecution", "(", claude("Bash", command="ls"), True),
    ("beforeMCPExecution", "MCP:close", claude("mcp__t__close"), True),
]


@pytest.mark.parametrize(("name", "matcher", "event", "runs"), MATCHERS)
def test_matchers_are_about_its_names_and_about_commands(
    name: str, matcher: str, event: Json, runs: bool, place: Home, agents: Agents, recorder: Recorder
) -> None:
    hooks(place, name, recorder.script("hook", "exit 2"), matcher=matcher)

    answer = agents.hook("claude-code", event)

    assert bool(recorder.order) is runs
    assert (b'"permissionDecision":"deny"' in answer.reply.stdout) is runs


DENIED, SILENT, ASKS = "deny", "none", "ask"
ANSWERS: dict[str, tuple[str, str, str]] = {
    "exit 2": ("preToolUse", "echo no >&2; exit 2", DENIED),
    "exit 2 and allow": ("preToolUse", """echo '{"permission": "allow"}'; exit 2""", DENIED),
    "deny": ("preToolUse", """echo '{"permission": "deny", "agent_message": "no"}'""", DENIED),
    "deny and exit 1": ("preToolUse", """echo '{"permission": "deny"}'; exit 1""", DENIED),
    "deny as it was first written": (
        "beforeShellExecution", """echo '{"permission":"deny","userMessage":"no"}'""", DENIED,
    ),
    "Claude Code's deny": (
        "preToolUse", """echo '{"hookSpecificOutput": {"permissionDecision": "deny"}}'""", DENIED,
    ),
    "a word that nobody knows": ("preToolUse", """echo '{"permission": "perhaps"}'""", DENIED),
    "half an answer": ("preToolUse", """echo '{"permission": "de'""", DENIED),
    "ask": ("beforeShellExecution", """echo '{"permission": "ask"}'""", ASKS),
    "allow": ("preToolUse", """echo '{"permission": "allow"}'""", SILENT),
    "nothing": ("preToolUse", "exit 0", SILENT),
    "an empty object": ("preToolUse", "echo '{}'", SILENT),
    "text": ("preToolUse", "echo fine", SILENT),
    "exit 1": ("preToolUse", "exit 1", SILENT),
    "allow and exit 1": (
        "preToolUse", """echo '{"permission":"allow","updated_input":{"command":"x"}}'; exit 1""", SILENT,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ANSWERS)
def test_an_answer_means_what_it_means_to_cursor_or_less(case: str, place: Home, agents: Agents) -> None:
    name, script, expected = ANSWERS[case]
    hooks(place, name, str(place.script("~/hook.sh", script)))

    stdout = agents.hook("claude-code", claude("Bash", command="ls")).reply.stdout

    said = json.loads(stdout)["hookSpecificOutput"] if stdout else {}
    assert said.get("permissionDecision", SILENT) == expected
    assert "updatedInput" not in said


@pytest.mark.parametrize("script", ["exit 1", "kill -9 $$", "echo fine", "exit 127"])
def test_a_hook_that_fails_closed_refuses(script: str, place: Home, agents: Agents) -> None:
    hooks(place, "beforeShellExecution", str(place.script("~/hook.sh", script)), failClosed=True)

    assert b'"permissionDecision":"deny"' in agents.hook("claude-code", claude("Bash", command="ls")).reply.stdout


def test_a_rewrite_is_put_back_into_the_words_of_the_caller(place: Home, agents: Agents) -> None:
    answer = {"permission": "allow", "updated_input": {"path": "/w/b", "contents": "y"}}
    hooks(place, "preToolUse", str(place.script("~/hook.sh", f"echo '{json.dumps(answer)}'")), matcher="Write")

    told = agents.hook("claude-code", claude("Write", file_path="/w/a", content="x")).reply.stdout
    assert json.loads(told)["hookSpecificOutput"]["updatedInput"] == {"file_path": "/w/b", "content": "y"}

    told = agents.hook("vscode", {**claude("create_file", filePath="/w/a", content="x")}).reply.stdout
    assert json.loads(told)["hookSpecificOutput"]["updatedInput"] == {"filePath": "/w/b", "content": "y"}


def test_a_rewrite_of_an_mcp_call_is_put_back(place: Home, agents: Agents) -> None:
    answer = {"permission": "allow", "updated_input": {"id": 5}}
    hooks(place, "preToolUse", str(place.script("~/hook.sh", f"echo '{json.dumps(answer)}'")), matcher="MCP:close")

    told = agents.hook("claude-code", claude("mcp__tickets__close", id=4)).reply.stdout

    assert json.loads(told)["hookSpecificOutput"]["updatedInput"] == {"id": 5}


def test_codex_is_guarded_file_by_file(place: Home, agents: Agents) -> None:
    hooks(place, "preToolUse", str(place.script("~/hook.sh", "if grep -q /w/.env; then exit 2; fi")), matcher="Write")
    patch = "*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: .env\n@@\n-A=1\n+A=2\n*** End Patch"
    event = {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "turn_id": "t",
        "cwd": "/w",
        "tool_name": "apply_patch",
    }

    told = agents.hook("codex", {**event, "tool_input": {"command": patch}}).reply.stdout

    assert b'"permissionDecision":"deny"' in told


def test_a_followup_keeps_another_agent_going(place: Home, agents: Agents) -> None:
    hooks(place, "stop", str(place.script("~/hook.sh", """echo '{"followup_message": "test it"}'""")))
    event = {"hook_event_name": "Stop", "session_id": "s", "stop_hook_active": False}

    assert agents.hook("claude-code", event).reply.stdout == b'{"decision":"block","reason":"test it"}\n'


@pytest.mark.parametrize(
    ("more", "loops", "goes_on"),
    [({}, 4, True), ({}, 5, False), ({"loop_limit": 1}, 1, False), ({"loop_limit": None}, 50, True)],
)
def test_a_followup_counts_until_its_limit(more: Json, loops: int, goes_on: bool, place: Home, agents: Agents) -> None:
    hooks(place, "stop", str(place.script("~/hook.sh", """echo '{"followup_message": "test it"}'""")), **more)

    answer = agents.engine("cursor", payload("stop", status="completed", loop_count=loops)).answer

    assert answer == ({"followup_message": "test it"} if goes_on else {})


def test_as_its_engine_only_the_hooks_of_the_event_run(place: Home, agents: Agents, recorder: Recorder) -> None:
    entries = {
        name: [{"command": recorder.script(name, "echo '{}'")}] for name in ("preToolUse", "beforeShellExecution")
    }
    place.write(USER, {"version": 1, "hooks": entries})

    agents.engine("cursor", call("Shell", command="ls"))
    assert recorder.order == ["preToolUse"]

    agents.engine("cursor", CALLS["beforeShellExecution"][0])
    assert recorder.order == ["preToolUse", "beforeShellExecution"]
    assert recorder.stdin("beforeShellExecution")["user_email"] == "someone@example.org"


def test_under_another_agent_both_of_them_run_and_the_later_one_sees_the_rewrite(
    place: Home, agents: Agents, recorder: Recorder
) -> None:
    rewrite = json.dumps({"permission": "allow", "updated_input": {"command": "ls -l"}})
    entries = {
        "beforeShellExecution": [{"command": recorder.script("shell", "echo '{}'")}],
        "preToolUse": [{"command": recorder.script("tool", f"echo '{rewrite}'")}],
    }
    place.write(USER, {"version": 1, "hooks": entries})

    agents.hook("claude-code", claude("Bash", command="ls"))

    assert recorder.order == ["tool", "shell"]
    assert recorder.stdin("shell")["command"] == "ls -l"


def test_each_level_runs_where_its_commands_are(place: Home, agents: Agents, recorder: Recorder) -> None:
    managed = place.root / "etc/cursor/hooks.json"
    managed.parent.mkdir(parents=True)
    for name, where in (("user", USER), ("project", ".cursor/hooks.json"), ("managed", "")):
        script = recorder.script(name, "exit 0")
        content = {"version": 1, "hooks": {"preToolUse": [{"command": script}]}}
        managed.write_text(json.dumps(content)) if not where else place.write(where, content)

    agents.hook("claude-code", claude("Bash", command="ls"))

    assert recorder.order == ["managed", "project", "user"]
    assert recorder.env("user")["PWD"] == str(place.home / ".cursor")
    assert recorder.env("project")["PWD"] == str(place.project)
    assert recorder.env("managed")["PWD"] == str(managed.parent)


_FLAT = "write its handlers directly into the list; until then they are taken as if they stood there"
PROBLEMS: dict[str, tuple[str, list[str]]] = {
    "no object": ("[]", ["1:1 hooks.json must be an object, not a list"]),
    "unknown event": (
        '{"hooks": {"PreToolUse": []}}', ["1:12 unknown event 'PreToolUse' (did you mean 'preToolUse'?)"],
    ),
    "unknown type": (
        '{"hooks": {"stop": [{"type": "http"}]}}', ["1:22 unknown type 'http' (one of: command, prompt)"],
    ),
    "no command": ('{"hooks": {"stop": [{}]}}', ["1:21 command is missing"]),
    "a slip": (
        '{"hooks": {"stop": [{"command": "a", "failclosed": true}]}}',
        ["1:38 unknown key 'failclosed' (did you mean 'failClosed'?)"],
    ),
    "a group": (
        '{"hooks": {"stop": [{"hooks": [{"command": "a"}]}]}}',
        [f"1:21 a matcher group stands where a hook is needed ({_FLAT})"],
    ),
    "a timeout that is none": (
        '{"hooks": {"stop": [{"command": "a", "timeout": "5"}]}}', ["1:38 timeout must be a number, not a string"],
    ),
    "failClosed": (
        '{"hooks": {"stop": [{"command": "a", "failClosed": "yes"}]}}',
        ["1:38 failClosed must be true or false (true is used)"],
    ),
    "loop_limit": (
        '{"hooks": {"stop": [{"command": "a", "loop_limit": "5"}]}}',
        ["1:38 loop_limit must be a number or null, not a string"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PROBLEMS)
def test_what_is_wrong_is_reported_with_its_place(case: str, problems: Callable[..., list[str]]) -> None:
    text, expected = PROBLEMS[case]

    assert problems("cursor", USER, text) == expected


def test_a_bad_entry_does_not_disable_the_good_ones(place: Home, agents: Agents) -> None:
    entries = [{"command": 4}, "x", {"hooks": [{"command": str(place.script("~/hook.sh", "exit 2"))}]}]
    place.write(USER, {"hooks": {"nobody": [], "preToolUse": entries}})

    assert b'"permissionDecision":"deny"' in agents.hook("claude-code", claude("Bash", command="ls")).reply.stdout


def test_a_prompt_without_a_model_is_said_to_fail(place: Home, agents: Agents) -> None:
    place.write(USER, {"hooks": {"preToolUse": [{"type": "prompt", "prompt": "is it safe?"}]}})

    answer = agents.hook("claude-code", claude("Bash", command="ls"))

    assert any("language model" in note for note in answer.notes)


LESS = frozenset(
    {"beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "beforeTabFileRead", "afterShellExecution",
     "afterMCPExecution", "afterFileEdit", "afterTabFileEdit"}
)  # fmt: skip
"""Its events for single kinds of call can do less than those for every call."""


def test_the_page_says_what_the_code_does() -> None:
    assert pages.missing("cursor", cursor) == set()
    assert pages.misprinted("cursor", cursor, LESS) == {}


ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["", "allow", "deny", "ask", "completed", "{", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                """
            permission continue user_message agent_message updated_input followup_message additional_context decision
            hookSpecificOutput permissionDecision command
            """.split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(value=ANY, code=st.sampled_from([0, 1, 2, 127]), name=st.sampled_from(sorted(cursor.EVENTS)))
def test_nothing_but_a_refusal_counts_beside_a_bad_exit(value: object, code: int, name: str) -> None:
    origin = Origin(dialect="cursor", layer="user", file="f")
    hook = Hook(name="h", events=("*",), handler=Command(command="true"), origin=origin, options={"event": name})
    event = Event.from_payload({"tool_name": "Shell", "tool_input": {"command": "ls"}}, cursor.EVENTS[name])
    try:
        verdict = cursor.read_verdict(hook, event, Result(stdout=json.dumps(value).encode(), exit_code=code))
    except HookFailed:
        return
    assert verdict.decision in ("none", "ask", "deny")
    assert verdict.denies or not code
