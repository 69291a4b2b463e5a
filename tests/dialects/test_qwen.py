"""Qwen Code: its events and tools, what it carries out, and hooks that were written for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fairlead import Hooks
from fairlead.answering import told
from fairlead.dialects import Reply, agent_half, qwen
from fairlead.events import Event, ToolEvent
from fairlead.verdicts import Decision
from tests.conftest import SHARED, Home, Ran, needs_shared
from tests.dialects.conftest import Agents, Recorder

Json = dict[str, Any]
USER, PROJECT = "~/.qwen/settings.json", ".qwen/settings.json"
OTHER_INPUT = {"command": "echo other"}

BASE = {
    "session_id": "q-1",
    "transcript_path": "/home/me/.qwen/projects/app/chats/q-1.jsonl",
    "cwd": "/home/me/app",
    "timestamp": "2026-03-01T10:00:00.000Z",
    "permission_mode": "yolo",
    "prompt_id": "q-1########0",
}
CALL = {
    "tool_name": "run_shell_command",
    "tool_input": {"command": "ls", "description": "look"},
    "tool_use_id": "toolu_1",
    "tool_call_id": "call_1",
}
PRINTED = {"llmContent": "Command: ls\nOutput: a.txt\nError: (none)\nExit Code: 0", "returnDisplay": "a.txt"}
TODO = {"todo_id": "1", "todo_content": "first", "todo_status": "pending", "all_todos": [], "phase": "validation"}
PAYLOADS: dict[str, Json] = {
    "PreToolUse": CALL,
    "PostToolUse": {**CALL, "tool_response": PRINTED, "duration_ms": 5},
    "PostToolUseFailure": {**CALL, "error": "broken", "is_interrupt": False, "duration_ms": 5},
    "PostToolBatch": {"tool_calls": [{"tool_name": "run_shell_command", "status": "success"}]},
    "PermissionRequest": {"tool_name": "run_shell_command", "tool_input": {"command": "ls"}},
    "PermissionDenied": {"tool_name": "run_shell_command", "tool_input": {"command": "ls"}, "reason": "r"},
    "UserPromptSubmit": {"prompt": "tidy up", "submitted_prompt": "tidy up"},
    "UserPromptExpansion": {"command_name": "foo", "command_args": "bar", "prompt": "do foo"},
    "SessionStart": {"source": "startup", "model": "qwen3-coder-plus"},
    "SessionEnd": {"reason": "other"},
    "SessionDelete": {"reason": "asked"},
    "MessageDisplay": {"message_id": "m", "displayed_text": "done", "is_final": True},
    "Stop": {
        "stop_hook_active": False, "last_assistant_message": "done", "background_tasks": [], "crons": [],
        "context_usage": 0.1,
    },
    "StopFailure": {"error": "rate_limit"},
    "SubagentStart": {"agent_id": "a-1", "agent_type": "general-purpose"},
    "SubagentStop": {
        "agent_id": "a-1", "agent_type": "general-purpose", "agent_transcript_path": "/t", "stop_hook_active": False,
        "last_assistant_message": "done", "background_tasks": [], "crons": [],
    },
    "PreCompact": {"trigger": "manual", "custom_instructions": ""},
    "PostCompact": {"trigger": "manual", "compact_summary": "short"},
    "Notification": {"message": "hello", "notification_type": "auth_success", "title": "t"},
    "InstructionsLoaded": {"file_path": "/home/me/QWEN.md", "memory_type": "user", "load_reason": "session_start"},
    "TodoCreated": TODO,
    "TodoCompleted": {**TODO, "previous_status": "pending"},
}  # fmt: skip


def payload(name: str, **more: Any) -> Json:
    return {"hook_event_name": name, **BASE, **PAYLOADS[name], **more}


def event(name: str, **more: Any) -> Event:
    return qwen.read_event(json.dumps(payload(name, **more)).encode(), "", {})


def reply(name: str, decision: Decision, **more: Any) -> Reply:
    seen, said = told(agent_half("qwen"), Hooks(), event(name, **more), decision)
    return qwen.write_reply(seen, said)


def specific(name: str = "PreToolUse", **fields: Any) -> Json:
    return {"hookSpecificOutput": {"hookEventName": name, **fields}}


def held(reason: str) -> Json:
    return {"continue": False, "stopReason": reason}


def blocked(reason: str) -> Json:
    return {"decision": "block", "reason": reason}


def denied(reason: str) -> Json:
    inside = specific(permissionDecision="deny", permissionDecisionReason=reason)
    return {**inside, **blocked(reason), **held(reason)}


# --- what it sends -----------------------------------------------------------------------------------


def test_it_has_the_events_that_it_sends() -> None:
    assert set(qwen.EVENTS) == set(PAYLOADS)


@pytest.mark.parametrize("name", PAYLOADS)
def test_every_event_is_read(name: str) -> None:
    read = event(name)

    assert (read.name, read.session_id, read.cwd, read.prompt_id) == (name, "q-1", "/home/me/app", "q-1########0")
    assert read.permission_mode == "bypassPermissions"


def test_what_a_shell_printed_becomes_its_output() -> None:
    assert event("PostToolUse").payload()["tool_response"] == {"stdout": "a.txt", "stderr": "", "interrupted": False}


@pytest.mark.parametrize(
    ("own", "ours"),
    [
        ("run_shell_command", "Bash"), ("write_file", "Write"), ("edit", "Edit"), ("read_file", "Read"),
        ("grep_search", "Grep"), ("glob", "Glob"), ("todo_write", "TodoWrite"), ("agent", "Agent"),
        ("web_fetch", "WebFetch"), ("mcp__db__drop", "mcp__db__drop"), ("unheard_of", "unheard_of"),
    ],
)  # fmt: skip
def test_its_tools_have_our_names(own: str, ours: str) -> None:
    read = event("PreToolUse", tool_name=own, tool_input={"file_path": "/a"})

    assert isinstance(read, ToolEvent)
    assert (read.tool_name, read.tool_input) == (ours, {"file_path": "/a"})


@needs_shared("captures", "qwen")
def test_the_recorded_events_are_read() -> None:
    files = sorted((SHARED / "captures" / "qwen").glob("[A-Z]*.json"))
    assert files
    for file in files:
        sent = json.loads(file.read_text())["stdin"]
        read = qwen.read_event(json.dumps(sent).encode(), "", {})
        assert read.name == sent["hook_event_name"], file.name
        assert read.name in qwen.EVENTS


# --- how it is answered ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "decision", "answer"),
    [
        pytest.param("PreToolUse", Decision(), {}, id="nothing to say"),
        pytest.param("PreToolUse", Decision(decision="allow"), {}, id="an allow would mean nothing"),
        pytest.param("PreToolUse", Decision(decision="deny", reason="no"), denied("no"), id="deny"),
        pytest.param("PreToolUse", Decision(decision="deny", reason=" "), denied("Blocked by hook"), id="has a reason"),
        pytest.param(
            "PreToolUse",
            Decision(decision="ask", reason="sure?"),
            {**specific(permissionDecision="ask", permissionDecisionReason="sure?"), **held("sure?")},
            id="ask",
        ),
        pytest.param(
            "PreToolUse",
            Decision(updated_input=OTHER_INPUT),
            denied(
                "a hook wants another input, and qwen cannot change it; call the tool again with: "
                '{"command":"echo other"}'
            ),
            id="it overlooks another input",
        ),
        pytest.param("PreToolUse", Decision(context="look"), {}, id="and context before a tool"),
        pytest.param("PreToolUse", Decision(stop=True, stop_reason="enough"), denied("enough"), id="the turn goes on"),
        pytest.param(
            "PermissionRequest",
            Decision(decision="deny", reason="no"),
            specific("PermissionRequest", decision={"behavior": "deny", "message": "no"}),
            id="deny a permission",
        ),
        pytest.param(
            "PermissionRequest",
            Decision(decision="allow", updated_input=OTHER_INPUT),
            specific("PermissionRequest", decision={"behavior": "allow", "updatedInput": OTHER_INPUT}),
            id="allow another input",
        ),
        pytest.param("PermissionRequest", Decision(decision="ask"), {}, id="its own question stays"),
        pytest.param(
            "PostToolUse",
            Decision(decision="deny", reason="bad"),
            {**blocked("bad"), **held("bad")},
            id="a block alone has no effect after a tool",
        ),
        pytest.param(
            "PostToolUse", Decision(context="look"), specific("PostToolUse", additionalContext="look"), id="context"
        ),
        pytest.param("PostToolUseFailure", Decision(decision="deny", reason="no"), {}, id="a failure stays one"),
        pytest.param("UserPromptSubmit", Decision(decision="deny", reason="no"), blocked("no"), id="a prompt"),
        pytest.param("Stop", Decision(decision="deny", reason="more"), blocked("more"), id="go on"),
        pytest.param("Stop", Decision(stop=True, stop_reason="x"), {}, id="continue false would keep it going"),
        pytest.param("TodoCreated", Decision(decision="deny", reason="no"), blocked("no"), id="a todo"),
        pytest.param(
            "SessionStart", Decision(context="hi"), specific("SessionStart", additionalContext="hi"), id="at the start"
        ),
        pytest.param("Notification", Decision(decision="deny", reason="no"), {}, id="a notification"),
    ],
)
def test_an_answer_is_exactly_what_qwen_understands(name: str, decision: Decision, answer: Json) -> None:
    said = reply(name, decision)

    assert (said.exit_code, said.stderr) == (0, "")
    assert json.loads(said.stdout) == answer


def merged(*outputs: Json) -> Json:
    """As Qwen Code puts the answers of several hooks to PreToolUse together, and what comes of it."""
    inside = {key: value for output in outputs for key, value in output.get("hookSpecificOutput", {}).items()}
    word = inside.get("permissionDecision") or ("deny" if any("decision" in each for each in outputs) else "allow")
    goes_on = all(output.get("continue") is not False for output in outputs)
    return {"runs": word == "allow" and goes_on, "asks": word == "ask"}


@pytest.mark.parametrize("order", [1, -1], ids=["ours first", "ours last"])
@pytest.mark.parametrize("word", ["deny", "ask"])
def test_an_allow_of_another_hook_does_not_lift_ours(word: str, order: int) -> None:
    ours = json.loads(reply("PreToolUse", Decision(decision=word, reason="no")).stdout)
    theirs = specific(permissionDecision="allow")

    assert not merged(*[ours, theirs][::order])["runs"]
    assert merged(ours)["asks"] is (word == "ask")


def test_a_failure_of_ours_is_a_refusal_in_every_event() -> None:
    said = qwen.write_failure("", "broken")

    answer = json.loads(said.stdout)
    assert (said.exit_code, said.stderr) == (0, "Fairlead: broken\n")
    assert (answer["decision"], answer["continue"], answer["stopReason"]) == ("block", False, "Fairlead: broken")
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert answer["hookSpecificOutput"]["decision"] == {"behavior": "deny", "message": "Fairlead: broken"}


# --- the program, with our own hooks -----------------------------------------------------------------


def configure(place: Home, toml: str) -> None:
    place.write("~/.config/fairlead/fairlead.toml", toml)


def test_a_guard_refuses_a_shell_command(place: Home, fairlead: Callable[..., Ran]) -> None:
    configure(place, '[[hook]]\non = "PreToolUse"\ntool = "Bash"\nguard = ["filesystem"]\n')

    ran = fairlead("hook", "--agent", "qwen", stdin=payload("PreToolUse", tool_input={"command": "rm -rf /"}))

    assert (ran.code, ran.json["hookSpecificOutput"]["permissionDecision"]) == (0, "deny")


def test_a_guard_knows_in_which_folder_a_command_runs(place: Home, fairlead: Callable[..., Ran]) -> None:
    configure(place, '[[hook]]\non = "PreToolUse"\nguard = ["filesystem"]\n')
    call = {"command": "rm -rf conf", "directory": "/etc"}

    ran = fairlead("hook", "--agent", "qwen", stdin=payload("PreToolUse", cwd=str(place.project), tool_input=call))

    assert ran.json["decision"] == "block"
    assert "/etc/conf" in ran.json["reason"]


def test_a_guard_knows_its_file_tools(place: Home, fairlead: Callable[..., Ran]) -> None:
    configure(place, '[[hook]]\non = "PreToolUse"\ntool = "write_file"\nguard = ["filesystem"]\n')
    call = {"tool_name": "write_file", "tool_input": {"file_path": "/etc/passwd", "content": "x"}}

    ran = fairlead("hook", "--agent", "qwen", stdin=payload("PreToolUse", cwd=str(place.project), **call))

    assert "/etc/passwd" in ran.json["reason"]


def test_a_rewrite_becomes_a_refusal_that_says_what_is_wanted(place: Home, fairlead: Callable[..., Ran]) -> None:
    configure(
        place, f"[[hook]]\non = \"PreToolUse\"\nrun = '''echo '{json.dumps(specific(updatedInput=OTHER_INPUT))}' '''\n"
    )

    ran = fairlead("hook", "--agent", "qwen", stdin=payload("PreToolUse"))

    assert ran.json["decision"] == "block"
    assert '{"command":"echo other"}' in ran.json["reason"]


def test_what_cannot_be_read_is_refused(fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("hook", "--agent", "qwen", stdin=b"{")

    assert (ran.code, ran.json["decision"]) == (0, "block")


# --- hooks written for Qwen Code: their files --------------------------------------------------------


def groups(name: str, *commands: str | Json, **group: Any) -> Json:
    listed = [{"type": "command", "command": each} if isinstance(each, str) else each for each in commands]
    return {"hooks": {name: [{**group, "hooks": listed}]}}


def command(text: str, **more: Any) -> Json:
    return {"type": "command", "command": text, **more}


def test_hooks_of_every_level_run_the_project_s_first(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, groups("PreToolUse", recorder.script("user"), sequential=True))
    place.write(PROJECT, groups("PreToolUse", recorder.script("project")))

    agents.engine("qwen", payload("PreToolUse"))

    assert recorder.order == ["project", "user"]


def test_qwen_home_moves_the_settings_of_the_user(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write("~/elsewhere/settings.json", groups("PreToolUse", recorder.script("moved")))

    agents.engine("qwen", payload("PreToolUse"), env={"QWEN_HOME": str(place.home / "elsewhere")})

    assert recorder.order == ["moved"]


@pytest.mark.parametrize(
    ("user", "project", "runs"),
    [(True, None, False), (True, False, False), (False, True, True), (None, None, True)],
)
def test_a_project_neither_switches_a_users_hooks_off_nor_on(
    user: bool | None, project: bool | None, runs: bool, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write(USER, {**groups("PreToolUse", recorder.script("hook")), "disableAllHooks": user})
    place.write(PROJECT, {} if project is None else {"disableAllHooks": project})

    agents.engine("qwen", payload("PreToolUse"))

    assert bool(recorder.order) is runs


@pytest.mark.parametrize(
    ("matcher", "tool", "runs"),
    [
        ("run_shell_command", "run_shell_command", True),
        ("Bash", "run_shell_command", True),
        ("Shell", "run_shell_command", True),
        ("shell", "run_shell_command", True),
        ("write_file | edit", "edit", True),
        ("write_file|", "read_file", False),
        ("^edit$", "edit", True),
        ("^edit$", "notebook_edit", False),
        ("a|*", "anything", True),
        ("mcp__db__.*", "mcp__db__drop", True),
    ],
)
def test_a_matcher_is_a_list_or_a_regular_expression(
    matcher: str, tool: str, runs: bool, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write(USER, groups("PreToolUse", recorder.script("hook"), matcher=matcher))

    agents.engine("qwen", payload("PreToolUse", tool_name=tool))

    assert bool(recorder.order) is runs


@pytest.mark.parametrize(("matcher", "runs"), [("QWEN", True), ("session_start", False), ("", True)])
def test_the_matcher_of_instructions_is_about_their_file(
    matcher: str, runs: bool, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write(USER, groups("InstructionsLoaded", recorder.script("hook"), matcher=matcher))

    agents.engine("qwen", payload("InstructionsLoaded"))

    assert bool(recorder.order) is runs


@pytest.mark.parametrize(
    ("entry", "seconds"),
    [
        ({}, 60.0),
        ({"timeout": 5}, 5.0),
        ({"timeout": 999}, 999.0),
        ({"timeout": 5000}, 5.0),
        ({"type": "http", "url": "http://x"}, 600.0),
        ({"type": "http", "url": "http://x", "timeout": 5000}, 5000.0),
        ({"type": "prompt", "prompt": "ok?"}, 30.0),
    ],
)
def test_a_timeout_is_in_seconds_and_was_in_milliseconds_once(
    entry: Json, seconds: float, place: Home, agents: Agents
) -> None:
    place.write(USER, groups("PreToolUse", {"type": "command", "command": "true", **entry}))

    (hook,) = agents.load("qwen")

    assert hook.timeout == seconds


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        (
            '{"type": "command", "command": "x", "timeout": 5000}',
            ["1:65 timeout is in seconds, but from 1000 on it is read as 5000 ms (write 5)"],
        ),
        ('{"type": "function"}', ["1:30 unknown type 'function' (one of: command, http, prompt)"]),
        (
            '{"command": "x"}',
            ["1:29 type is missing (taken as \"type\": \"command\"; Qwen Code leaves the hook out)"],
        ),
        (
            '{"type": "command", "command": "x", "failMode": "shut"}',
            ["1:65 failMode is 'shut' (\"open\" or \"closed\"; \"closed\" is used)"],
        ),
        (
            '{"type": "command", "command": "x", "shell": "zsh"}',
            ["1:65 unknown shell 'zsh' (bash or powershell; sh is used)"],
        ),
    ],
    ids=["timeout", "type", "no type", "failMode", "shell"],
)  # fmt: skip
def test_what_is_wrong_is_reported_with_its_place(
    entry: str, found: list[str], problems: Callable[..., list[str]]
) -> None:
    assert problems("qwen", USER, f'{{"hooks":{{"Stop":[{{"hooks":[{entry}]}}]}}}}') == found


# --- hooks written for Qwen Code: what they get, what they say ---------------------------------------


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_hook_gets_what_qwen_sends(name: str, place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, groups(name, recorder.script("hook")))
    sent = payload(name, cwd=str(place.project))

    agents.engine("qwen", sent)

    assert recorder.stdin("hook") == sent


def test_a_hook_has_its_variables(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, groups("PreToolUse", command(recorder.script("hook"), env={"MINE": "1"})))

    agents.engine("qwen", payload("PreToolUse"))

    env = recorder.env("hook")
    assert {env[f"{name}_PROJECT_DIR"] for name in ("QWEN", "GEMINI", "CLAUDE")} == {str(place.project)}
    assert (env["QWEN_CODE_SESSION_ID"], env["QWEN_CODE_PROMPT_ID"], env["MINE"]) == ("q-1", "q-1########0", "1")


def says(answer: object) -> str:
    return f"echo '{json.dumps(answer)}'"


REFUSED = specific(permissionDecision="deny", permissionDecisionReason="no")


@pytest.mark.parametrize(
    ("name", "then", "word", "reason"),
    [
        pytest.param("PreToolUse", "echo no >&2; exit 2", "deny", "no", id="exit 2"),
        pytest.param("PreToolUse", "exit 2", "deny", "Blocked by hook", id="exit 2 in silence"),
        pytest.param("PreToolUse", "echo out; exit 2", "deny", "Blocked by hook", id="exit 2 with text on stdout"),
        pytest.param("PreToolUse", says({"decision": "allow"}) + "; echo no >&2; exit 2", "deny", "no", id="not allow"),
        pytest.param("PreToolUse", "echo no >&2; exit 3", "none", "", id="any other exit is a failure"),
        pytest.param("PreToolUse", says(REFUSED), "deny", "no", id="deny"),
        pytest.param("PreToolUse", says(REFUSED) + "; exit 1", "deny", "no", id="deny and exit 1"),
        pytest.param("PreToolUse", says({"hookSpecificOutput": {"permissionDecision": "deny"}}), "deny", "",
                     id="without the name of the event"),
        pytest.param("PreToolUse", "echo log; " + says(REFUSED), "deny", "no", id="behind a log line"),
        pytest.param("PreToolUse", says({"decision": "block", "reason": "no"}), "deny", "no", id="block"),
        pytest.param("PreToolUse", says({"decision": "ask", "reason": "sure?"}), "ask", "sure?", id="ask"),
        pytest.param("PreToolUse", says(specific(permissionDecision="allow")), "none", "", id="allow asks as ever"),
        pytest.param("PreToolUse", says(held("enough")), "deny", "enough", id="continue false refuses"),
        pytest.param("PreToolUse", "echo fine", "none", "", id="text"),
        pytest.param("PreToolUse", "echo '{\"decision\": '", "none", "", id="half of JSON"),
        pytest.param("PostToolUse", says(held("bad")), "deny", "bad", id="a result is replaced"),
        pytest.param("Stop", says({"decision": "block", "reason": "more"}), "deny", "more", id="go on"),
        pytest.param("Stop", says(held("more")), "deny", "more", id="continue false goes on, too"),
        pytest.param("UserPromptSubmit", "echo no >&2; exit 2", "deny", "no", id="a prompt"),
        pytest.param("TodoCreated", says({"decision": "block", "reason": "no"}), "deny", "no", id="a todo"),
        pytest.param("SessionStart", "echo no >&2; exit 2", "none", "", id="a session cannot be refused"),
        pytest.param("PermissionRequest", says(specific("PermissionRequest", decision={"behavior": "allow"})), "allow",
                     "", id="a permission"),
    ],
)  # fmt: skip
def test_what_a_hook_says_is_understood(
    name: str, then: str, word: str, reason: str, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write(USER, groups(name, recorder.script("hook", then)))

    decision = agents.load("qwen").fire_sync(event(name))

    assert (decision.decision, decision.reason) == (word, reason)


@pytest.mark.parametrize(
    ("name", "context", "message"), [("SessionStart", "hello", ""), ("PreToolUse", "", "hello")], ids=["start", "tool"]
)
def test_text_is_for_the_model_or_for_the_person(
    name: str, context: str, message: str, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write(USER, groups(name, recorder.script("hook", "echo hello")))

    decision = agents.load("qwen").fire_sync(event(name))

    assert (decision.context, decision.user_message) == (context, message)


def test_fail_mode_closed_refuses_when_the_hook_fails(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, groups("PreToolUse", command(recorder.script("hook", "exit 1"), failMode="closed")))

    assert agents.load("qwen").fire_sync(event("PreToolUse")).denies


# --- hooks written for Qwen Code, under other agents -------------------------------------------------


def test_a_hook_of_qwen_guards_claude_code(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, groups("PreToolUse", recorder.script("hook", "echo no >&2; exit 2"), matcher="^edit$"))
    call = {"tool_name": "Edit", "tool_input": {"file_path": "/a", "old_string": "x", "new_string": "y"}}

    said = json.loads(
        agents.hook("claude-code", {"hook_event_name": "PreToolUse", "session_id": "s", **call}).reply.stdout
    )

    assert said["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert recorder.stdin("hook")["tool_name"] == "edit"


def test_a_rewrite_of_a_hook_of_qwen_reaches_an_agent_that_can(place: Home, agents: Agents, recorder: Recorder) -> None:
    new = {"command": "ls", "is_background": False}
    place.write(USER, groups("PreToolUse", recorder.script("hook", says(specific(updatedInput=new)))))
    call = {"tool_name": "Bash", "tool_input": {"command": "sudo ls"}}

    said = json.loads(
        agents.hook("claude-code", {"hook_event_name": "PreToolUse", "session_id": "s", **call}).reply.stdout
    )

    assert said["hookSpecificOutput"]["updatedInput"] == {"command": "ls", "run_in_background": False}


def test_a_hook_of_qwen_guards_codex(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, groups("PreToolUse", recorder.script("hook", "echo no >&2; exit 2"), matcher="edit"))
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-x\n+y\n*** End Patch"
    call = {"tool_name": "apply_patch", "tool_input": {"command": patch}, "cwd": "/home/me/app"}

    said = json.loads(agents.hook("codex", {"hook_event_name": "PreToolUse", "session_id": "s", **call}).reply.stdout)

    assert said["hookSpecificOutput"]["permissionDecision"] == "deny"
    seen = recorder.stdin("hook")
    assert (seen["tool_name"], seen["tool_input"]["file_path"]) == ("edit", "/home/me/app/a.txt")
