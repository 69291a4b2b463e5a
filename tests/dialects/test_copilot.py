"""GitHub Copilot CLI: both of its forms, as an agent and as a system of hooks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fairlead import Event
from fairlead.degrade import degrade
from fairlead.dialects import copilot
from fairlead.tools import for_agent
from fairlead.verdicts import Decision
from tests.conftest import Home, Ran
from tests.dialects import pages
from tests.dialects.conftest import Agents, Recorder

Json = dict[str, Any]


def camel(**fields: Any) -> Json:
    return {"sessionId": "s", "timestamp": 1_760_000_000_000, "cwd": "/w", **fields}


def pascal(event: str, **fields: Any) -> Json:
    return {"hook_event_name": event, "session_id": "s", "timestamp": "2026-10-09T08:53:20.000Z", "cwd": "/w", **fields}


def read(sent: Json, name: str = "") -> Event:
    return copilot.read_event(json.dumps(sent).encode(), name, {})


# --- what it sends -----------------------------------------------------------------------------------

BASH: Json = {"command": "make"}
PATCH = "*** Begin Patch\n*** Delete File: a\n*** End Patch"
CALLS: dict[str, tuple[str, Json, str, str, Json]] = {
    "bash": ("preToolUse", camel(toolName="bash", toolArgs=BASH), "PreToolUse", "Bash", BASH),
    "arguments as text": (
        "preToolUse", camel(toolName="bash", toolArgs=json.dumps(BASH)), "PreToolUse", "Bash", BASH,
    ),
    "powershell": ("preToolUse", camel(toolName="powershell", toolArgs=BASH), "PreToolUse", "Bash", BASH),
    "text for a running shell": (
        "preToolUse", camel(toolName="write_bash", toolArgs={"sessionId": "1", "input": "rm x{enter}"}),
        "PreToolUse", "Bash", {"sessionId": "1", "command": "rm x{enter}"},
    ),
    "create": (
        "preToolUse", camel(toolName="create", toolArgs={"path": "a.py", "file_text": "x"}),
        "PreToolUse", "Write", {"file_path": "/w/a.py", "content": "x"},
    ),
    "edit": (
        "preToolUse", camel(toolName="edit", toolArgs={"path": "/w/a.py", "old_str": "a", "new_str": "b"}),
        "PreToolUse", "Edit", {"file_path": "/w/a.py", "old_string": "a", "new_string": "b"},
    ),
    "the old editor": (
        "preToolUse",
        camel(toolName="str_replace_editor", toolArgs={"command": "create", "path": "/a", "file_text": "x"}),
        "PreToolUse", "Write", {"file_path": "/a", "content": "x"},
    ),
    "view": ("preToolUse", camel(toolName="view", toolArgs={"path": "/a"}), "PreToolUse", "Read", {"file_path": "/a"}),
    "a patch": (
        "preToolUse", camel(toolName="apply_patch", toolArgs=PATCH), "PreToolUse", "apply_patch", {"command": PATCH},
    ),
    "an MCP tool whose server is said": (
        "preMcpToolCall", camel(serverName="tickets", toolName="tickets-close", toolArgs={"id": 4}),
        "PreToolUse", "mcp__tickets__close", {"id": 4},
    ),
    "an MCP tool": (
        "preToolUse", camel(toolName="tickets-close", toolArgs={"id": 4}), "PreToolUse", "tickets-close", {"id": 4},
    ),
    "permission": (
        "permissionRequest", camel(toolName="bash", toolInput=BASH), "PermissionRequest", "Bash", BASH,
    ),
    "permission, which names itself": (
        "", camel(hookName="permissionRequest", toolName="bash", toolInput=BASH, permissionSuggestions=[]),
        "PermissionRequest", "Bash", BASH,
    ),
    "Claude Code's form": ("", pascal("PreToolUse", tool_name="Bash", tool_input=BASH), "PreToolUse", "Bash", BASH),
    "Claude Code's form, a new file": (
        "", pascal("PreToolUse", tool_name="Write", tool_input={"path": "/a", "file_text": "x"}),
        "PreToolUse", "Write", {"file_path": "/a", "content": "x"},
    ),
    "ran": (
        "postToolUse",
        camel(toolName="bash", toolArgs=BASH, toolResult={"resultType": "success", "textResultForLlm": "ok"}),
        "PostToolUse", "Bash", BASH,
    ),
    "ran, Claude Code's form": (
        "",
        pascal("PostToolUse", tool_name="Bash", tool_input=BASH,
               tool_result={"result_type": "success", "text_result_for_llm": "ok"}),
        "PostToolUse", "Bash", BASH,
    ),
    "failed": (
        "postToolUse",
        camel(toolName="bash", toolArgs=BASH, toolResult={"resultType": "failure", "textResultForLlm": "bad"}),
        "PostToolUseFailure", "Bash", BASH,
    ),
    "failed, by its own event": (
        "postToolUseFailure", camel(toolName="bash", toolArgs=BASH, error="bad"), "PostToolUseFailure", "Bash", BASH,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CALLS)
def test_a_call_is_read_in_our_words(case: str) -> None:
    asked_as, sent, name, tool_name, tool_input = CALLS[case]

    event = read(sent, asked_as)

    assert (event.name, event.matcher_value, event.payload()["tool_input"]) == (name, tool_name, tool_input)
    assert (event.session_id, event.cwd) == ("s", "/w")


@pytest.mark.parametrize("case", ["ran", "ran, Claude Code's form"])
def test_what_a_shell_printed_stands_under_stdout(case: str) -> None:
    event = read(CALLS[case][1], CALLS[case][0])

    assert event.payload()["tool_response"] == {"stdout": "ok", "stderr": "", "interrupted": False}


@pytest.mark.parametrize("case", ["failed", "failed, by its own event"])
def test_a_failure_says_why(case: str) -> None:
    assert read(CALLS[case][1], CALLS[case][0]).payload()["error"] == "bad"


OTHERS: dict[str, tuple[str, Json, str, Json]] = {
    "sessionStart": ("sessionStart", camel(source="new", initialPrompt="hi"), "SessionStart", {"source": "new"}),
    "SessionStart": ("", pascal("SessionStart", source="resume"), "SessionStart", {"source": "resume"}),
    "sessionEnd": ("sessionEnd", camel(reason="complete"), "SessionEnd", {"reason": "complete"}),
    "prompt": ("userPromptSubmitted", camel(prompt="hi"), "UserPromptSubmit", {"prompt": "hi"}),
    "UserPromptSubmit": ("", pascal("UserPromptSubmit", prompt="hi"), "UserPromptSubmit", {"prompt": "hi"}),
    "agentStop": (
        "agentStop", camel(transcriptPath="/t", stopReason="end_turn", stop_hook_active=True),
        "Stop", {"transcript_path": "/t", "stop_hook_active": True},
    ),
    "Stop": ("", pascal("Stop", transcript_path="/t", stop_reason="end_turn"), "Stop", {"transcript_path": "/t"}),
    "subagentStart": (
        "subagentStart", camel(agentName="explore", agentDescription="looks"),
        "SubagentStart", {"description": "looks"},
    ),
    "subagentStop": (
        "subagentStop", camel(agentId="a", agentType="explore", response="found"),
        "SubagentStop", {"agent_id": "a", "agent_type": "explore", "last_assistant_message": "found"},
    ),
    "errorOccurred": (
        "errorOccurred", camel(error={"message": "bad", "name": "E"}, errorContext="model_call", recoverable=True),
        "StopFailure", {"error": "bad", "error_context": "model_call"},
    ),
    "preCompact": (
        "preCompact", camel(trigger="auto", customInstructions=""), "PreCompact", {"trigger": "auto"},
    ),
    "notification": (
        "", camel(hook_event_name="Notification", message="m", notification_type="agent_idle"),
        "Notification", {"message": "m", "notification_type": "agent_idle"},
    ),
    "transformed": (
        "userPromptTransformed", camel(prompt="a", transformedPrompt="b"),
        "userPromptTransformed", {"transformedPrompt": "b"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", OTHERS)
def test_other_events_are_read_in_our_words(case: str) -> None:
    asked_as, sent, name, fields = OTHERS[case]

    event = read(sent, asked_as)

    assert event.name == name
    assert event.payload().items() >= fields.items()


# --- what it is told ---------------------------------------------------------------------------------

DENY = Decision(decision="deny", reason="no")
ASKED = "a person has to agree to this, and copilot cannot ask one here"


def both(name: str, **fields: Any) -> tuple[tuple[str, Json], tuple[str, Json]]:
    """The same event in either form."""
    of_camel = {"PreToolUse": "preToolUse", "PermissionRequest": "permissionRequest", "PostToolUse": "postToolUse",
                "UserPromptSubmit": "userPromptSubmitted", "Stop": "agentStop", "SessionStart": "sessionStart",
                "PostToolUseFailure": "postToolUseFailure"}[name]  # fmt: skip
    if "Tool" in name or name == "PermissionRequest":
        words = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
        return (of_camel, camel(toolName="bash", toolArgs={"command": "ls"}, **fields)), ("", pascal(name, **words))
    return (of_camel, camel(**fields)), ("", pascal(name, **fields))


def specific(name: str = "PreToolUse", **fields: Any) -> Json:
    return {"hookSpecificOutput": {"hookEventName": name, **fields}}


REFUSED: Json = {"permissionDecision": "deny", "permissionDecisionReason": "no"}
MODIFIED = {"modifiedResult": {"resultType": "success", "textResultForLlm": "***"}}
BLOCKED = {"decision": "block", "reason": "no"}
REPLIES: dict[str, tuple[str, Decision, Json]] = {
    "nothing": ("PreToolUse", Decision(), {}),
    "deny": ("PreToolUse", DENY, REFUSED),
    "deny without a reason": (
        "PreToolUse", Decision(decision="deny"), {**REFUSED, "permissionDecisionReason": "Blocked by hook"},
    ),
    "allow": ("PreToolUse", Decision(decision="allow"), {"permissionDecision": "allow"}),
    "ask": ("PreToolUse", Decision(decision="ask"), {**REFUSED, "permissionDecisionReason": ASKED}),
    "rewrite": ("PreToolUse", Decision(updated_input={"command": "ls -l"}), {"modifiedArgs": {"command": "ls -l"}}),
    "context": ("PreToolUse", Decision(context="look"), {"additionalContext": "look"}),
    "deny and context": ("PreToolUse", DENY.but(context="look"), {**REFUSED, "additionalContext": "look"}),
    "message": ("PreToolUse", Decision(user_message="hi"), {}),
    "stop": ("PreToolUse", Decision(stop=True, stop_reason="no"), REFUSED),
    "permission, nothing": ("PermissionRequest", Decision(), {}),
    "permission, deny": ("PermissionRequest", DENY, {"behavior": "deny", "message": "no"}),
    "permission, allow": ("PermissionRequest", Decision(decision="allow"), {"behavior": "allow"}),
    "permission, ask": ("PermissionRequest", Decision(decision="ask"), {"behavior": "deny", "message": ASKED}),
    "after": ("PostToolUse", DENY, BLOCKED),
    "after, another output": ("PostToolUse", Decision(updated_output="***"), MODIFIED),
    "after, another output of a shell": (
        "PostToolUse", Decision(updated_output={"stdout": "***", "stderr": ""}), MODIFIED,
    ),
    "after, context": ("PostToolUse", Decision(context="look"), {"additionalContext": "look"}),
    "failed, context": ("PostToolUseFailure", Decision(context="look"), {"additionalContext": "look"}),
    "prompt": ("UserPromptSubmit", DENY, BLOCKED),
    "prompt, context": ("UserPromptSubmit", Decision(context="look"), {"additionalContext": "look"}),
    "keep going": ("Stop", DENY, BLOCKED),
    "let it stop": ("Stop", Decision(), {}),
    "session": ("SessionStart", Decision(context="look"), {"additionalContext": "look"}),
}  # fmt: skip


@pytest.mark.parametrize("case", REPLIES)
def test_a_decision_is_said_at_the_top_in_either_form(case: str) -> None:
    name, decision, expected = REPLIES[case]

    for asked_as, sent in both(name):
        event, told = for_agent(read(sent, asked_as), decision)
        reply = copilot.write_reply(event, degrade(event, told, copilot.CAN, "copilot"))

        assert (json.loads(reply.stdout or b"{}"), reply.exit_code, reply.stderr) == (expected, 0, "")
        assert bool(reply.stdout) is bool(expected)


def test_a_rewrite_comes_back_in_its_keys() -> None:
    sent = camel(toolName="create", toolArgs={"path": "/w/a", "file_text": "x"})
    event, told = for_agent(read(sent, "preToolUse"), Decision(updated_input={"file_path": "/w/b", "content": "y"}))

    assert copilot.write_result(event, told) == {"modifiedArgs": {"path": "/w/b", "file_text": "y"}}


def test_a_patch_that_came_as_text_goes_back_as_text() -> None:
    sent = camel(toolName="apply_patch", toolArgs=PATCH)
    event, told = for_agent(read(sent, "preToolUse"), Decision(updated_input={"command": "*** another"}))

    assert copilot.write_result(event, told) == {"modifiedArgs": "*** another"}


@pytest.mark.parametrize("raw", [b"", b"{", b"{}", b'{"toolName": 4, "toolArgs": {}}'])
def test_what_cannot_be_read_is_refused_with_the_reason(raw: bytes, fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("hook", "--agent", "copilot", "--event", "preToolUse", stdin=raw)

    assert ran.code == 0
    assert ran.json["permissionDecision"] == ran.json["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert ran.json["permissionDecisionReason"].startswith("Fairlead: ")


def test_an_event_without_a_name_is_refused_by_the_exit_code(fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("hook", "--agent", "copilot", stdin=camel(toolName="bash", toolArgs=BASH))

    assert ran.code == 2
    assert "--event preToolUse" in ran.err


@pytest.mark.parametrize(
    ("tool_name", "tool_input", "refused"),
    [
        ("bash", {"command": "git push --force"}, True),
        ("bash", {"command": "git status"}, False),
        ("create", {"path": "/w/.env", "file_text": "A=1"}, True),
        ("edit", {"path": "/w/.env", "old_str": "a", "new_str": "b"}, True),
        ("apply_patch", "*** Begin Patch\n*** Add File: /w/.env\n+A=1\n*** End Patch", True),
    ],
)
def test_a_hook_for_nobody_in_particular_guards_it(
    tool_name: str, tool_input: object, refused: bool, place: Home, fairlead: Callable[..., Ran]
) -> None:
    check = place.script("~/check.sh", 'if grep -qE -- "--force|[.]env"; then echo "not that" >&2; exit 1; fi')
    place.write(
        "~/.config/fairlead/fairlead.toml", f'[[hook]]\non = "PreToolUse"\ntool = "Bash|Edit|Write"\nrun = "{check}"\n'
    )

    ran = fairlead(
        "hook", "--agent", "copilot", "--event", "preToolUse", stdin=camel(toolName=tool_name, toolArgs=tool_input)
    )

    assert ran.code == 0, ran.err
    if refused:
        assert ran.json["permissionDecision"] == "deny"
        assert "not that" in ran.json["permissionDecisionReason"]
    else:
        assert ran.out == b""


# --- hooks written for it ----------------------------------------------------------------------------

USER = "~/.copilot/hooks/mine.json"


def hooks(place: Home, event: str, command: str, **more: Any) -> None:
    place.write(USER, {"version": 1, "hooks": {event: [{"type": "command", "bash": command, **more}]}})


def claude(tool_name: str, event: str = "PreToolUse", **tool_input: Any) -> Json:
    return {"hook_event_name": event, "session_id": "s", "cwd": "", "tool_name": tool_name, "tool_input": tool_input}


def result(kind: str, text: str) -> Json:
    return {kind: "success", text: "a"}


RAN = {**claude("Bash", "PostToolUse", command="ls"), "tool_response": {"stdout": "a"}}
SEEN: dict[str, tuple[str, Json, Json]] = {
    "preToolUse": ("preToolUse", claude("Bash", command="ls"), {"toolName": "bash", "toolArgs": {"command": "ls"}}),
    "preToolUse for a new file": (
        "preToolUse", claude("Write", file_path="/w/a", content="x"),
        {"toolName": "create", "toolArgs": {"path": "/w/a", "file_text": "x"}},
    ),
    "preToolUse for an MCP tool": (
        "preToolUse", claude("mcp__tickets__close", id=4), {"toolName": "tickets-close", "toolArgs": {"id": 4}},
    ),
    "PreToolUse": (
        "PreToolUse", claude("Bash", command="ls"), {"tool_name": "Bash", "tool_input": {"command": "ls"}},
    ),
    "PreToolUse for a new file": (
        "PreToolUse", claude("Write", file_path="/w/a", content="x"),
        {"tool_name": "Write",
         "tool_input": {"path": "/w/a", "file_text": "x", "file_path": "/w/a", "content": "x"}},
    ),
    "postToolUse": ("postToolUse", RAN, {"toolResult": result("resultType", "textResultForLlm")}),
    "PostToolUse": ("PostToolUse", RAN, {"tool_result": result("result_type", "text_result_for_llm")}),
    "permissionRequest": (
        "permissionRequest", claude("Bash", "PermissionRequest", command="ls"),
        {"hookName": "permissionRequest", "toolName": "bash", "toolInput": {"command": "ls"}},
    ),
    "userPromptSubmitted": (
        "userPromptSubmitted", {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "hi"},
        {"prompt": "hi"},
    ),
    "agentStop": (
        "agentStop", {"hook_event_name": "Stop", "session_id": "s", "transcript_path": "/t"},
        {"stopReason": "end_turn", "transcriptPath": "/t", "stop_hook_active": False},
    ),
    "Stop": (
        "Stop", {"hook_event_name": "Stop", "session_id": "s", "transcript_path": "/t"},
        {"stop_reason": "end_turn", "transcript_path": "/t"},
    ),
    "subagentStop": (
        "subagentStop",
        {"hook_event_name": "SubagentStop", "session_id": "s", "agent_id": "a", "last_assistant_message": "found"},
        {"agentId": "a", "response": "found"},
    ),
    "errorOccurred": (
        "errorOccurred", {"hook_event_name": "StopFailure", "session_id": "s", "error": "bad"},
        {"error": {"message": "bad", "name": "Error"}},
    ),
    "notification": (
        "notification", {"hook_event_name": "Notification", "session_id": "s", "message": "m"},
        {"hook_event_name": "Notification", "message": "m"},
    ),
    "sessionStart": (
        "sessionStart", {"hook_event_name": "SessionStart", "session_id": "s", "source": "resume"},
        {"source": "resume"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SEEN)
def test_a_hook_sees_its_own_event_under_another_agent(
    case: str, place: Home, agents: Agents, recorder: Recorder
) -> None:
    name, event, expected = SEEN[case]
    hooks(place, name, recorder.script("hook"))

    agents.hook("claude-code", event)

    seen = recorder.stdin("hook")
    assert seen.items() >= expected.items()
    if name[0].islower():
        assert (seen["sessionId"], type(seen["timestamp"])) == ("s", int)
        assert "hook_event_name" not in seen or name == "notification"
    else:
        assert (seen["session_id"], seen["hook_event_name"], seen["timestamp"][-1]) == ("s", name, "Z")
    env = recorder.env("hook")
    assert env["COPILOT_PROJECT_DIR"] == env["CLAUDE_PROJECT_DIR"] == str(place.project)
    assert env["COPILOT_HOOK_DIR"] == str(place.home / ".copilot/hooks")


MATCHERS = [
    ("preToolUse", "bash", "Bash", True),
    ("preToolUse", "bash|create", "Write", True),
    ("preToolUse", "bas", "Bash", False),
    ("preToolUse", "(", "Bash", True),
    ("PreToolUse", "Bash", "Bash", True),
    ("PreToolUse", "bash", "Bash", True),
    ("PreToolUse", "Write|Edit", "Bash", False),
    ("preToolUse", "tickets-.*", "mcp__tickets__close", True),
    ("preMcpToolCall", "", "mcp__tickets__close", True),
    ("preMcpToolCall", "", "Bash", False),
]


@pytest.mark.parametrize(("name", "matcher", "tool_name", "runs"), MATCHERS)
def test_matchers_know_both_names(
    name: str, matcher: str, tool_name: str, runs: bool, place: Home, agents: Agents, recorder: Recorder
) -> None:
    hooks(place, name, recorder.script("hook", "exit 1"), matcher=matcher)

    answer = agents.hook("claude-code", claude(tool_name, command="ls"))

    assert bool(recorder.order) is runs
    assert (b'"permissionDecision":"deny"' in answer.reply.stdout) is runs


def says(**fields: Any) -> str:
    return f"echo '{json.dumps(fields)}'"


DENIED, SILENT, ASKS, ALLOWED = "deny", "none", "ask", "allow"
ANSWERS: dict[str, tuple[str, str, str]] = {
    "deny": ("preToolUse", says(permissionDecision="deny", permissionDecisionReason="no"), DENIED),
    "allow": ("preToolUse", says(permissionDecision="allow"), ALLOWED),
    "ask": ("preToolUse", says(permissionDecision="ask", permissionDecisionReason="sure?"), ASKS),
    "a reason alone": ("preToolUse", says(permissionDecisionReason="sure?"), ASKS),
    "an unknown word": ("preToolUse", says(permissionDecision="perhaps"), DENIED),
    "Claude Code's block": ("preToolUse", says(decision="block", reason="no"), DENIED),
    "Claude Code's deny in the other form": ("preToolUse", says(**specific(permissionDecision="deny")), DENIED),
    "nothing": ("preToolUse", "exit 0", SILENT),
    "text": ("preToolUse", "echo fine", SILENT),
    "half an answer": ("preToolUse", """echo '{"permissionDecision": "de'""", DENIED),
    "exit 1": ("preToolUse", "exit 1", DENIED),
    "exit 2": ("preToolUse", "echo no >&2; exit 2", DENIED),
    "allow and exit 1": ("preToolUse", says(permissionDecision="allow") + "; exit 1", DENIED),
    "not there": ("preToolUse", "exec /nowhere/at/all", DENIED),
    "killed": ("preToolUse", "kill -9 $$", DENIED),
    "progress before": (
        "preToolUse", says(type="progress", message="looking") + "\n" + says(permissionDecision="deny"), DENIED,
    ),
    "progress alone": ("preToolUse", says(type="progress", message="looking"), SILENT),
    "deny, Claude Code's form": (
        "PreToolUse", says(**specific(permissionDecision="deny", permissionDecisionReason="no")), DENIED,
    ),
    "allow, Claude Code's form": ("PreToolUse", says(**specific(permissionDecision="allow")), ALLOWED),
    "deny at the top, Claude Code's form": ("PreToolUse", says(permissionDecision="deny"), DENIED),
    "exit 1, Claude Code's form": ("PreToolUse", "exit 1", DENIED),
}  # fmt: skip


@pytest.mark.parametrize("case", ANSWERS)
def test_an_answer_means_what_it_means_to_copilot_or_less(case: str, place: Home, agents: Agents) -> None:
    name, script, expected = ANSWERS[case]
    hooks(place, name, str(place.script("~/hook.sh", script)))

    stdout = agents.hook("claude-code", claude("Bash", command="ls")).reply.stdout

    said = json.loads(stdout)["hookSpecificOutput"] if stdout else {}
    assert said.get("permissionDecision", SILENT) == expected


ELSEWHERE: dict[str, tuple[str, str, Json, Json]] = {
    "permission, deny": (
        "permissionRequest", says(behavior="deny", message="no"), claude("Bash", "PermissionRequest", command="ls"),
        specific("PermissionRequest", decision={"behavior": "deny", "message": "no"}),
    ),
    "permission, allow": (
        "permissionRequest", says(behavior="allow"), claude("Bash", "PermissionRequest", command="ls"),
        specific("PermissionRequest", decision={"behavior": "allow"}),
    ),
    "permission, exit 2": (
        "permissionRequest", "echo no >&2; exit 2", claude("Bash", "PermissionRequest", command="ls"),
        specific("PermissionRequest", decision={"behavior": "deny", "message": "no"}),
    ),
    "keep going": (
        "agentStop", says(decision="block", reason="test it"), {"hook_event_name": "Stop", "session_id": "s"},
        {"decision": "block", "reason": "test it"},
    ),
    "stop, exit 2 says nothing": (
        "agentStop", "echo no >&2; exit 2", {"hook_event_name": "Stop", "session_id": "s"}, {},
    ),
    "Stop, exit 2": (
        "Stop", "echo no >&2; exit 2", {"hook_event_name": "Stop", "session_id": "s"},
        {"decision": "block", "reason": "no"},
    ),
    "another result": (
        "postToolUse", says(modifiedResult={"resultType": "success", "textResultForLlm": "***"}), RAN,
        specific("PostToolUse", updatedToolOutput={"stdout": "***", "stderr": ""}),
    ),
    "context after": (
        "postToolUse", says(additionalContext="look"), RAN, specific("PostToolUse", additionalContext="look"),
    ),
    "context at the start": (
        "sessionStart", says(additionalContext="look"), {"hook_event_name": "SessionStart", "session_id": "s"},
        specific("SessionStart", additionalContext="look"),
    ),
    "context after a failure": (
        "postToolUseFailure", "echo look; exit 2", {**claude("Bash", "PostToolUseFailure", command="ls"), "error": "e"},
        specific("PostToolUseFailure", additionalContext="look"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ELSEWHERE)
def test_answers_to_other_events_reach_another_agent(case: str, place: Home, agents: Agents) -> None:
    name, script, event, expected = ELSEWHERE[case]
    hooks(place, name, str(place.script("~/hook.sh", script)))

    assert json.loads(agents.hook("claude-code", event).reply.stdout or b"{}") == expected


REWRITES: dict[str, tuple[str, Json]] = {
    "modifiedArgs": ("preToolUse", {"modifiedArgs": {"path": "/w/b", "file_text": "y"}}),
    "updatedInput in its own keys": ("PreToolUse", specific(updatedInput={"path": "/w/b", "file_text": "y"})),
    "updatedInput in Claude Code's keys": ("PreToolUse", specific(updatedInput={"file_path": "/w/b", "content": "y"})),
    "updatedInput with all that it was shown": (
        "PreToolUse",
        specific(updatedInput={"path": "/w/a", "file_text": "x", "file_path": "/w/b", "content": "y"}),
    ),
}


@pytest.mark.parametrize("case", REWRITES)
def test_a_rewrite_is_put_back_into_the_words_of_the_caller(case: str, place: Home, agents: Agents) -> None:
    name, answer = REWRITES[case]
    hooks(place, name, str(place.script("~/hook.sh", says(**answer))), matcher="create")

    told = agents.hook("claude-code", claude("Write", file_path="/w/a", content="x")).reply.stdout
    assert json.loads(told)["hookSpecificOutput"]["updatedInput"] == {"file_path": "/w/b", "content": "y"}

    told = agents.hook("cursor", {"hook_event_name": "preToolUse", "tool_name": "Write",
                                  "tool_input": {"path": "/w/a", "contents": "x"}}).reply.stdout  # fmt: skip
    assert json.loads(told)["updated_input"] == {"path": "/w/b", "contents": "y"}


def test_hooks_run_one_after_the_other_and_see_what_is_left(place: Home, agents: Agents, recorder: Recorder) -> None:
    first = recorder.script("first", says(modifiedArgs={"command": "ls -l"}))
    entries = [{"bash": first}, {"bash": recorder.script("second")}]
    place.write(USER, {"version": 1, "hooks": {"preToolUse": entries}})

    agents.hook("claude-code", claude("Bash", command="ls"))

    assert recorder.order == ["first", "second"]
    assert recorder.stdin("second")["toolArgs"] == {"command": "ls -l"}


def test_every_file_adds_its_hooks(place: Home, agents: Agents, recorder: Recorder) -> None:
    policy = place.root / "etc/github-copilot/policy.d/all.json"
    policy.parent.mkdir(parents=True)
    files = {
        "policy": None, "user": USER, "settings": "~/.copilot/settings.json", "repository": ".github/hooks/r.json",
        "shared": ".github/copilot/settings.json", "local": ".github/copilot/settings.local.json",
    }  # fmt: skip
    for name, file in files.items():
        content = {"hooks": {"preToolUse": [{"command": recorder.script(name)}]}}
        policy.write_text(json.dumps(content)) if file is None else place.write(file, content)

    agents.hook("claude-code", claude("Bash", command="ls"))

    assert recorder.order == list(files)


def test_its_home_may_be_elsewhere(place: Home, agents: Agents, recorder: Recorder) -> None:
    moved = place.home / "elsewhere"
    place.write("~/elsewhere/hooks/h.json", {"hooks": {"preToolUse": [{"bash": recorder.script("hook")}]}})

    agents.hook("claude-code", claude("Bash", command="ls"), env={"COPILOT_HOME": str(moved)})

    assert recorder.order == ["hook"]


def test_a_switch_in_the_repository_is_about_the_repositorys_hooks(
    place: Home, agents: Agents, recorder: Recorder
) -> None:
    policy = place.root / "etc/github-copilot/policy.d/all.json"
    policy.parent.mkdir(parents=True)
    policy.write_text(json.dumps({"hooks": {"preToolUse": [{"bash": recorder.script("policy")}]}}))
    hooks(place, "preToolUse", recorder.script("user"))
    place.write(".github/hooks/own.json", {"hooks": {"preToolUse": [{"bash": recorder.script("project")}]}})
    place.write(".github/copilot/settings.json", {"disableAllHooks": True})

    agents.hook("claude-code", claude("Bash", command="ls"))

    assert recorder.order == ["policy", "user"]


def test_a_switch_in_a_file_of_hooks_is_about_that_file(place: Home, agents: Agents, recorder: Recorder) -> None:
    hooks(place, "preToolUse", recorder.script("user"))
    off = {"disableAllHooks": True, "hooks": {"preToolUse": [{"bash": recorder.script("off")}]}}
    place.write(".github/hooks/off.json", off)

    agents.hook("claude-code", claude("Bash", command="ls"))

    assert recorder.order == ["user"]


def test_a_project_that_is_not_trusted_switches_nothing_off(place: Home, agents: Agents, recorder: Recorder) -> None:
    hooks(place, "preToolUse", recorder.script("user"))
    place.write(".github/copilot/settings.json", {"disableAllHooks": True})

    agents.hook("claude-code", claude("Bash", command="ls"), trust_project=False)

    assert recorder.order == ["user"]


def test_entries_say_where_and_with_what_they_run(place: Home, agents: Agents, recorder: Recorder) -> None:
    (place.project / "sub").mkdir()
    script = recorder.script("hook")
    entry = {"exec": "/bin/bash", "args": [script], "cwd": "sub", "env": {"LEVEL": "high", "WHO": "${HOME}/x"}}
    group = {"matcher": "bash", "hooks": [entry]}
    place.write(USER, {"hooks": {"preToolUse": [group]}})

    agents.hook("claude-code", claude("Bash", command="ls"))

    env = recorder.env("hook")
    assert (env["LEVEL"], env["WHO"]) == ("high", f"{place.home}/x")
    assert env["PWD"] == str(place.project / "sub")


PROBLEMS: dict[str, tuple[str, list[str]]] = {
    "no object": ("[]", ["1:1 the file must be an object, not a list"]),
    "unknown event": (
        '{"hooks": {"pretooluse": []}}', ["1:12 unknown event 'pretooluse' (did you mean 'PreToolUse'?)"],
    ),
    "unknown type": (
        '{"hooks": {"agentStop": [{"type": "mcp"}]}}', ["1:27 unknown type 'mcp' (one of: command, http, prompt)"],
    ),
    "no command": (
        '{"hooks": {"agentStop": [{"cwd": "."}]}}', ["1:26 command is missing (one of: bash, command, exec)"],
    ),
    "for Windows": (
        '{"hooks": {"agentStop": [{"powershell": "x"}]}}',
        ["1:26 a hook for PowerShell alone: it is not run here (give it a `bash` or `command`, too)"],
    ),
    "for VS Code": ('{"hooks": {"Stop": [{"type": "command", "linux": "x"}]}}', []),
    "a slip": (
        '{"hooks": {"agentStop": [{"bash": "x", "timeoutsec": 3}]}}',
        ["1:40 unknown key 'timeoutsec' (did you mean 'timeoutSec'?)"],
    ),
    "args": ('{"hooks": {"agentStop": [{"exec": "x", "args": "y"}]}}', ["1:40 args must be a list, not a string"]),
    "disableAllHooks": ('{"disableAllHooks": 1}', ["1:2 disableAllHooks must be true or false, not a number"]),
}  # fmt: skip


@pytest.mark.parametrize("case", PROBLEMS)
def test_what_is_wrong_is_reported_with_its_place(case: str, problems: Callable[..., list[str]]) -> None:
    text, expected = PROBLEMS[case]

    assert problems("copilot", USER, text) == expected


def test_a_bad_entry_does_not_disable_the_good_ones(place: Home, agents: Agents) -> None:
    entries = [{"bash": 4}, "x", {"type": "nobody"}, {"bash": "exit 1"}]
    place.write("~/.copilot/settings.json", {"hooks": {"nobody": [], "preToolUse": entries}})

    assert b'"permissionDecision":"deny"' in agents.hook("claude-code", claude("Bash", command="ls")).reply.stdout


def test_an_http_hook_that_nobody_answers_holds_nothing_up_and_is_named(place: Home, agents: Agents) -> None:
    place.write(USER, {"hooks": {"preToolUse": [{"type": "http", "url": "https://127.0.0.1:1/hook"}]}})

    answer = agents.hook("claude-code", claude("Bash", command="ls"))

    assert answer.reply.stdout == b""
    assert any("https://127.0.0.1:1/hook" in note for note in answer.notes)


def test_its_own_engine_runs_both_forms(place: Home, agents: Agents, recorder: Recorder) -> None:
    entries = {name: [{"bash": recorder.script(name)}] for name in ("preToolUse", "PreToolUse")}
    place.write(USER, {"hooks": entries})

    agents.engine(
        "copilot", camel(toolName="create", toolArgs={"path": "/w/a", "file_text": "x"}), event_name="preToolUse"
    )

    assert recorder.order == ["preToolUse", "PreToolUse"]
    assert recorder.stdin("preToolUse")["toolName"] == "create"
    assert recorder.stdin("PreToolUse")["tool_name"] == "Write"


def test_the_page_says_what_the_code_does() -> None:
    assert pages.missing("copilot", copilot) == set()
    assert pages.misprinted("copilot", copilot) == {}
