"""Whose event it is, where nobody says so: one name only where no other agent could have sent it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.dialects import AGENT_HALVES
from fairlead.recognising import recognise
from tests.conftest import SHARED, Home, Ran, needs_shared

Json = dict[str, Any]
CALL: Json = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
ISO = "2026-11-01T10:00:00Z"


def claude(name: str = "PreToolUse", **more: Any) -> Json:
    """What half of the agents send."""
    return {"hook_event_name": name, "session_id": "s1", "cwd": "/work", **(CALL if "Tool" in name else {}), **more}


SAMPLES: list[tuple[str, Json, dict[str, str], str]] = [
    ("claude-code", claude(transcript_path="/home/u/.claude/projects/p/s.jsonl", permission_mode="default"), {}, "one"),
    ("claude-code", claude("SessionStart", transcript_path="/home/u/.claude/projects/p/s.jsonl"), {}, "one"),
    ("claude-code", claude(transcript_path="/moved/s.jsonl"), {"CLAUDE_PROJECT_DIR": "/work"}, "several"),
    ("codex", claude(turn_id="u1", transcript_path=None, model="gpt"), {}, "one"),
    ("codex", claude("SessionStart", transcript_path="/home/u/.codex/sessions/s.jsonl", model="gpt"), {}, "one"),
    ("codex", claude("SessionStart", transcript_path=None, model="gpt"), {}, "several"),
    ("gemini", claude("BeforeTool", timestamp=ISO), {}, "one"),
    ("gemini", claude("SessionStart", timestamp=ISO, transcript_path="/h/.gemini/tmp/x.json"), {}, "one"),
    ("gemini", claude("SessionEnd", timestamp=ISO, transcript_path=""), {"GEMINI_SESSION_ID": "s1"}, "one"),
    ("qwen", claude(timestamp=ISO, transcript_path="/h/.qwen/projects/x.jsonl"), {"GEMINI_PROJECT_DIR": "/w"}, "one"),
    ("qwen", claude(timestamp=ISO, permission_mode="yolo", transcript_path=""), {}, "one"),
    ("qwen", claude("TodoCreated", timestamp=ISO), {}, "one"),
    ("cursor", {"hook_event_name": "preToolUse", "conversation_id": "c", "generation_id": "g", **CALL}, {}, "one"),
    ("cursor", {"hook_event_name": "workspaceOpen", "cursor_version": "2.0", "workspace_roots": ["/w"]}, {}, "one"),
    ("copilot", {"sessionId": "s1", "timestamp": 1, "cwd": "/w", "toolName": "bash", "toolArgs": "{}"}, {}, "one"),
    ("copilot", {"sessionId": "s1", "timestamp": 1, "cwd": "/w", "source": "new"}, {}, "one"),
    ("copilot", claude(timestamp=ISO), {}, "several"),
    ("copilot", claude("PostToolUse", timestamp=ISO, tool_result={"result_type": "success"}), {}, "one"),
    ("vscode", claude(timestamp=ISO, transcript_path="/t", tool_use_id="t"), {}, "several"),
    ("vscode", {"hookEventName": "PreToolUse", "sessionId": "s1", "timestamp": ISO, "cwd": "/w", **CALL}, {}, "one"),
    ("windsurf", {"agent_action_name": "pre_run_command", "trajectory_id": "t", "tool_info": {}}, {}, "one"),
    ("devin", claude(), {"DEVIN_PROJECT_DIR": "/work"}, "several"),
    ("devin", claude("PostCompaction", summary="x"), {}, "one"),
    ("devin", {"hook_event_name": "PreToolUse", **CALL}, {"DEVIN_PROJECT_DIR": "/work"}, "several"),
    ("cline", {"clineVersion": "3", "hookName": "PreToolUse", "taskId": "k", "preToolUse": {}}, {}, "one"),
    ("cline", {"hookName": "tool_call", "tool_call": {"name": "x"}}, {}, "one"),
    ("droid", claude(permission_mode="auto-low", transcript_path="/t"), {"CLAUDE_PROJECT_DIR": "/w"}, "one"),
    ("droid", claude(permission_mode="spec"), {}, "one"),
    ("droid", claude(transcript_path="/home/u/.factory/sessions/s.jsonl"), {}, "one"),
    ("kiro", {"hook_event_name": "preToolUse", "cwd": "/w", "session_id": "s1", **CALL}, {}, "one"),
    ("kiro", {"hook_event_name": "stop", "cwd": "/w", "session_id": "s1"}, {}, "one"),
    ("augment", {"hook_event_name": "PreToolUse", "conversation_id": "c", "workspace_roots": [], **CALL}, {}, "one"),
    ("goose", {"event": "PreToolUse", "session_id": "s1", "matcher_context": "x", "working_dir": "/w"}, {}, "one"),
    ("crush", {"event": "PreToolUse", "session_id": "s1", "cwd": "/w", **CALL}, {"CRUSH_EVENT": "PreToolUse"}, "one"),
    ("crush", {"event": "PreToolUse", "session_id": "s1", "cwd": "/w", **CALL}, {}, "several"),
    ("kimi", claude(client_type="kimi_code", tool_call_id="c"), {}, "one"),
    ("kimi", claude("Interrupt", client_type="kimi_code", turn_id="u"), {}, "one"),
    ("junie", {"hook_event_name": "PreToolUse", **CALL}, {}, "one"),
    ("junie", {"hook_event_name": "SessionStart", "source": "startup"}, {}, "one"),
    ("junie", {"hook_event_name": "PermissionRequest", **CALL}, {}, "one"),
    ("grok", {"hookEventName": "pre_tool_use", "sessionId": "s1", "cwd": "/w", "toolName": "x"}, {}, "one"),
    ("grok", {"hookEventName": "PreToolUse", "sessionId": "s1", "workspaceRoot": "/w", "toolName": "x"}, {}, "one"),
    ("grok", claude(hookEventName="pre_tool_use", sessionId="s1", workspaceRoot="/w"), {}, "one"),
    ("openhands", {"event_type": "PreToolUse", "tool_name": "terminal", "session_id": "s1"}, {}, "one"),
    ("hermes", claude("pre_tool_call", profile="default", extra={}), {}, "one"),
    ("hermes", claude("kanban_task_claimed", profile="default", extra={}), {}, "one"),
    ("vibe", {"hook_event_name": "pre_tool", "cwd": "/w", "tool_call_id": "c", **CALL}, {}, "one"),
    ("vibe", {"hook_event_name": "post_agent", "cwd": "/w"}, {}, "one"),
    ("antigravity", {"conversationId": "c", "workspacePaths": [], "stepIdx": 1, "toolCall": {}}, {}, "one"),
    ("antigravity", {"conversationId": "c", "invocationNum": 0}, {}, "one"),
    ("opencode", {"session_id": "s1", "cwd": "/w", **CALL}, {}, "several"),
    ("kilo", {"session_id": "s1", "cwd": "/w", "prompt": "x"}, {}, "several"),
    ("amp", {"session_id": "T-1", "cwd": "/w", **CALL}, {}, "several"),
    ("m", {"tool": "Bash", "input": {"command": "ls"}}, {}, "one"),
    ("m", claude(transcript_path="/home/u/.claude/projects/p/s.jsonl"), {"M_RUN_ID": "r"}, "several"),
    ("code-agent", {"type": "PreToolUse", "timestamp": 1, "sessionId": "s1", "payload": {}}, {}, "one"),
    ("codemie", claude(permission_mode="auto"), {"CODEMIE_SESSION_ID": "s1"}, "one"),
    ("codemie", claude(permission_mode="auto"), {}, "several"),
    ("amcp", claude(tool_use_id="t"), {"AMCP_SESSION_ID": "s1"}, "one"),
    ("amcp", claude(tool_use_id="t"), {"AMCP_SESSION_ID": "of another session"}, "several"),
    ("claude-agent", {"event": "pre_tool_use", "session_id": "s1", **CALL}, {}, "one"),
]


def test_there_are_samples_of_every_agent() -> None:
    assert {agent for agent, *_ in SAMPLES} == set(AGENT_HALVES)


@pytest.mark.parametrize(("agent", "payload", "environ", "how_many"), SAMPLES)
def test_a_sample_is_recognised_or_in_doubt_and_never_somebody_elses(
    agent: str, payload: Json, environ: dict[str, str], how_many: str
) -> None:
    found = recognise(payload, environ)
    assert agent in found
    assert len(found) == 1 if how_many == "one" else len(found) > 1


@pytest.mark.parametrize(
    "payload", [{}, {"a": 1}, {"hook_event_name": ""}, {"hook_event_name": 3}, {"session_id": "s"}]
)
def test_what_nobody_sends_is_nobodys(payload: Json) -> None:
    assert recognise(payload, {}) == ()


@pytest.mark.parametrize("payload", [claude(), claude("Stop"), {"tool": "Bash", "input": {}}], ids=str)
def test_claude_codes_variables_decide_nothing(payload: Json) -> None:
    environ = {"CLAUDE_PROJECT_DIR": "/work", "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s1", "CLAUDE_PID": "7"}
    assert recognise(payload, environ) == recognise(payload, {})


KEYS = sorted({key for _, payload, _, _ in SAMPLES for key in payload})
VALUES: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just([]) | st.just({})
)


@given(st.dictionaries(st.sampled_from(KEYS), VALUES))
def test_whatever_comes_the_names_are_agents(payload: Json) -> None:
    found = recognise(payload, {})
    assert set(found) <= set(AGENT_HALVES)
    assert len(set(found)) == len(found)


# --- real recordings ---------------------------------------------------------------------------------

_AGENTS = {"claude": "claude-code", "claude-interactive": "claude-code"}


def captures() -> Iterator[Any]:
    """Those that are an event on stdin; a plugin's arguments are none."""
    for file in sorted((SHARED / "captures").glob("*/*.json")):
        recorded = json.loads(file.read_text())
        stdin = recorded.get("stdin")
        if isinstance(stdin, dict) and file.parent.name != "opencode":
            yield pytest.param(_of(file), stdin, recorded.get("env") or {}, id=f"{file.parent.name}-{file.stem}")


def _of(file: Path) -> str:
    return _AGENTS.get(file.parent.name, file.parent.name)


CAPTURES = list(captures())


@needs_shared("captures")
@pytest.mark.parametrize(("agent", "payload", "environ"), CAPTURES)
def test_a_recording_is_recognised_as_its_agents(agent: str, payload: Json, environ: dict[str, str]) -> None:
    assert recognise(payload, environ) == (agent,)


@needs_shared("captures")
@pytest.mark.parametrize(("agent", "payload", "environ"), CAPTURES)
def test_a_recording_without_its_environment_is_never_somebody_elses(
    agent: str, payload: Json, environ: dict[str, str]
) -> None:
    del environ
    assert agent in recognise(payload, {})


# --- the command -------------------------------------------------------------------------------------

NO_SUDO = """
[[hook]]
on = "PreToolUse"
tool = "Bash"
run = "if grep -q sudo; then echo 'no sudo here'; exit 1; fi"
"""
SUDO = {"tool_input": {"command": "sudo ls"}}


def test_without_a_name_the_event_shows_whose_it_is(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write("~/.config/fairlead/fairlead.toml", NO_SUDO)
    event = {"hook_event_name": "pre_tool", "cwd": str(place.project), "tool_name": "file_system.bash", **SUDO}
    ran = fairlead("hook", stdin=event)
    assert (ran.code, ran.json) == (0, {"decision": "deny", "reason": "no sudo here"})


@pytest.mark.parametrize(
    ("stdin", "says"),
    [
        pytest.param(claude(), "can be of amcp, codemie, devin", id="several"),
        pytest.param({"a": 1}, "nobody whom Fairlead knows", id="nobody"),
        pytest.param(b"{", "not JSON", id="half of an event"),
        pytest.param(b"", "the event is empty", id="nothing"),
        pytest.param(b"[]", "must be a JSON object", id="a list"),
    ],
)
def test_in_doubt_the_answer_is_a_refusal_that_says_what_to_do(
    stdin: Any, says: str, fairlead: Callable[..., Ran]
) -> None:
    ran = fairlead("hook", stdin=stdin)
    assert (ran.code, ran.out) == (2, b"")
    assert says in ran.err
    assert "--agent NAME" in ran.err


def test_an_engine_must_be_told_whose_it_is(fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("fire", stdin={"tool": "Bash", "input": {}})
    assert ran.code == 64
    assert "--agent is missing" in ran.err


def test_who_calls_us_by_claude_codes_name_is_answered_in_its_own_words() -> None:
    """Grok reads Claude Code's settings too, and finds our call there."""
    from fairlead.answering import Request, as_hook

    about = b'"hookEventName": "PreToolUse", "sessionId": "s", "cwd": "/", "workspaceRoot": "/"'
    raw = b"{" + about + b', "toolName": "Bash", "toolInput": {"command": "rm -rf /"}}'
    request = Request(agent="claude-code", raw=raw, guard=True, environ={"HOME": "/nowhere"}, managed="/nowhere")
    assert as_hook(request).reply.stdout.startswith(b'{"decision":"deny"')
    harmless = request.but(raw=raw.replace(b"rm -rf /", b"ls"))
    assert as_hook(harmless).reply == as_hook(harmless.but(agent="grok")).reply
