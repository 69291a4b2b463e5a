"""Codex: its events, its strict answers, and hooks that were written for it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead import Hooks
from fairlead.answering import told
from fairlead.dialects import Reply, agent_half, codex
from fairlead.events import Event, PostToolUse, ToolEvent
from fairlead.verdicts import Decision
from tests.conftest import SHARED, Home, Ran, needs_shared
from tests.dialects import codex_schema, goldens
from tests.dialects.conftest import Agents, Recorder

Json = dict[str, Any]
USER, PROJECT, TOML = "~/.codex/hooks.json", ".codex/hooks.json", "~/.codex/config.toml"
PATCH = "*** Begin Patch\n*** Update File: notes.txt\n@@\n-one\n+two\n*** End Patch"
OTHER_INPUT = {"command": "echo other"}

BASE = {"session_id": "s-1", "transcript_path": "/home/me/.codex/sessions/s-1.jsonl", "cwd": "/home/me/app"}
TURN = {**BASE, "turn_id": "t-1", "model": "gpt-5.5"}
IN_MODE = {**TURN, "permission_mode": "default"}
PAYLOADS: dict[str, Json] = {
    "SessionStart": {**BASE, "model": "gpt-5.5", "permission_mode": "default", "source": "startup"},
    "SessionEnd": {**BASE, "reason": "other"},
    "UserPromptSubmit": {**IN_MODE, "prompt": "tidy up"},
    "PreToolUse": {**IN_MODE, "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "call_1"},
    "PermissionRequest": {**IN_MODE, "tool_name": "Bash", "tool_input": {"command": "ls", "description": "look"}},
    "PostToolUse": {
        **IN_MODE, "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": "a\n",
        "tool_use_id": "call_1",
    },
    "PreCompact": {**TURN, "trigger": "auto"},
    "PostCompact": {**TURN, "trigger": "auto"},
    "SubagentStart": {**IN_MODE, "agent_id": "a-1", "agent_type": "default"},
    "SubagentStop": {
        **IN_MODE, "agent_id": "a-1", "agent_type": "default", "agent_transcript_path": "/t", "stop_hook_active": False,
        "last_assistant_message": "done",
    },
    "Stop": {**IN_MODE, "stop_hook_active": False, "last_assistant_message": None},
    "Interrupt": IN_MODE,
    "PreModelRequest": TURN,
    "PostModelRequest": {**TURN, "status": "completed", "error": None, "token_usage": {"input_tokens": 1}},
}  # fmt: skip


def payload(name: str, **more: Any) -> Json:
    return {"hook_event_name": name, **PAYLOADS[name], **more}


def event(name: str, **more: Any) -> Event:
    return codex.read_event(json.dumps(payload(name, **more)).encode(), "", {})


def reply(name: str, decision: Decision, **more: Any) -> Reply:
    """As the program would answer: degraded, and in Codex's words."""
    seen, said = told(agent_half("codex"), Hooks(), event(name, **more), decision)
    return codex.write_reply(seen, said)


def specific(name: str = "PreToolUse", **fields: Any) -> Json:
    return {"hookSpecificOutput": {"hookEventName": name, **fields}}


# --- what it sends -----------------------------------------------------------------------------------


def test_it_has_the_events_that_it_sends() -> None:
    assert set(codex.EVENTS) == set(PAYLOADS)


@pytest.mark.parametrize("name", PAYLOADS)
def test_every_event_is_read_and_nothing_is_lost(name: str) -> None:
    read = event(name)

    assert (read.name, read.session_id, read.cwd) == (name, "s-1", "/home/me/app")
    sent = payload(name)
    again = read.payload() | ({"tool_response": sent["tool_response"]} if name == "PostToolUse" else {})
    assert {key: value for key, value in sent.items() if value is not None} == {
        key: value for key, value in again.items() if value is not None
    }


def test_the_text_of_a_shell_becomes_its_output() -> None:
    read = event("PostToolUse")

    assert isinstance(read, PostToolUse)
    assert read.tool_response == {"stdout": "a\n", "stderr": "", "interrupted": False}


@pytest.mark.parametrize(
    ("own", "given_input", "ours", "meant"),
    [
        ("apply_patch", {"command": PATCH}, "apply_patch", {"command": PATCH}),
        ("mcp__db__drop", {"table": "t"}, "mcp__db__drop", {"table": "t"}),
        ("view_image", {"path": "a.png"}, "Read", {"file_path": "/home/me/app/a.png"}),
        (
            "collaborationspawn_agent",
            {"task_name": "t", "message": "go"},
            "Agent",
            {"description": "t", "prompt": "go"},
        ),
        ("create_goal", {"objective": "x"}, "create_goal", {"objective": "x"}),
    ],
)
def test_its_tools_have_our_names(own: str, given_input: Json, ours: str, meant: Json) -> None:
    read = event("PreToolUse", tool_name=own, tool_input=given_input)

    assert isinstance(read, ToolEvent)
    assert (read.tool_name, read.tool_input) == (ours, meant)


@needs_shared("captures", "codex")
def test_the_recorded_events_are_read() -> None:
    files = sorted((SHARED / "captures" / "codex").glob("*.json"))
    assert files
    for file in files:
        sent = json.loads(file.read_text())["stdin"]
        read = codex.read_event(json.dumps(sent).encode(), "", {})
        assert read.name == sent["hook_event_name"], file.name
        assert read.name in codex.EVENTS
        assert read.cwd == sent["cwd"]


# --- how it is answered ------------------------------------------------------------------------------

SILENCE: Json | None = None
DENIED = {"permissionDecision": "deny", "permissionDecisionReason": "no"}
ANSWERS: list[Any] = [
    pytest.param("PreToolUse", Decision(), SILENCE, id="nothing to say"),
    pytest.param("PreToolUse", Decision(decision="allow", reason="fine"), SILENCE, id="a bare allow is a mistake"),
    pytest.param("PreToolUse", Decision(decision="deny", reason="no"), specific(**DENIED), id="deny"),
    pytest.param(
        "PreToolUse",
        Decision(decision="deny", reason=" \n"),
        specific(permissionDecision="deny", permissionDecisionReason="Blocked by hook"),
        id="on a blank reason it would run the tool",
    ),
    pytest.param(
        "PreToolUse",
        Decision(decision="deny", reason="no \ud800"),
        specific(permissionDecision="deny", permissionDecisionReason="no \ufffd"),
        id="on half a character it would run the tool",
    ),
    pytest.param(
        "PreToolUse",
        Decision(decision="ask", reason="sure?"),
        specific(
            permissionDecision="deny",
            permissionDecisionReason="a person has to agree to this, and codex cannot ask one here\nsure?",
        ),
        id="ask becomes a refusal",
    ),
    pytest.param(
        "PreToolUse",
        Decision(updated_input=OTHER_INPUT),
        specific(permissionDecision="allow", updatedInput=OTHER_INPUT),
        id="another input needs an allow",
    ),
    pytest.param(
        "PreToolUse", Decision(context="look"), specific(additionalContext="look"), id="context before a tool"
    ),
    pytest.param(
        "PreToolUse",
        Decision(stop=True, stop_reason="enough"),
        specific(permissionDecision="deny", permissionDecisionReason="enough"),
        id="the turn cannot be ended before a tool, the call can be refused",
    ),
    pytest.param(
        "PreToolUse", Decision(user_message="psst"), {"systemMessage": "psst"}, id="a message for the person"
    ),
    pytest.param(
        "PermissionRequest",
        Decision(decision="deny", reason="no"),
        specific("PermissionRequest", decision={"behavior": "deny", "message": "no"}),
        id="deny a permission",
    ),
    pytest.param(
        "PermissionRequest",
        Decision(decision="allow"),
        specific("PermissionRequest", decision={"behavior": "allow"}),
        id="allow a permission",
    ),
    pytest.param("PermissionRequest", Decision(decision="ask"), SILENCE, id="its own question stays"),
    pytest.param(
        "PostToolUse", Decision(decision="deny", reason="bad"), {"decision": "block", "reason": "bad"}, id="after"
    ),
    pytest.param(
        "PostToolUse",
        Decision(updated_output="clean"),
        {
            "decision": "block",
            "reason": "a hook has replaced this output, and codex cannot; go by this instead: clean",
        },
        id="another output takes the place of the result as a reason",
    ),
    pytest.param(
        "UserPromptSubmit",
        Decision(decision="deny", reason="no"),
        {"decision": "block", "reason": "no"},
        id="block a prompt",
    ),
    pytest.param(
        "SessionStart", Decision(context="hi"), specific("SessionStart", additionalContext="hi"), id="context at start"
    ),
    pytest.param(
        "SessionStart",
        Decision(stop=True, stop_reason="closed"),
        {"continue": False, "stopReason": "closed"},
        id="a session can be ended before it begins",
    ),
    pytest.param("Stop", Decision(decision="deny", reason="go on"), {"decision": "block", "reason": "go on"}, id="on"),
    pytest.param("Stop", Decision(context="look"), SILENCE, id="context at the end would make the hook fail"),
    pytest.param("PreCompact", Decision(decision="deny", reason="no"), SILENCE, id="compaction cannot be blocked"),
    pytest.param("SessionEnd", Decision(user_message="bye"), SILENCE, id="nobody reads an answer at the end"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "decision", "answer"), ANSWERS)
def test_an_answer_is_exactly_what_codex_understands(name: str, decision: Decision, answer: Json | None) -> None:
    said = reply(name, decision)

    assert (said.exit_code, said.stderr) == (0, "")
    assert (json.loads(said.stdout) if said.stdout else SILENCE) == answer
    assert codex_schema.problems(name, said.stdout) == []


def test_a_failure_of_ours_is_a_refusal() -> None:
    assert codex.write_failure("", "broken") == Reply(stderr="Fairlead: broken\n", exit_code=2)


texts = st.sampled_from(["", " ", "no", "\ud800", "a\nb", "ü"]) | st.text(max_size=20)
inputs = st.none() | st.dictionaries(texts, st.none() | st.integers() | texts | st.lists(texts, max_size=2), max_size=3)
decisions = st.builds(
    Decision,
    decision=st.sampled_from(["none", "allow", "ask", "defer", "deny"]),
    reason=texts,
    context=texts,
    feedback=texts,
    user_message=texts,
    updated_input=inputs,
    updated_output=st.none() | texts,
    stop=st.booleans(),
    stop_reason=texts,
    suppress_output=st.booleans(),
    extra=st.just({"interrupt": True, "watchPaths": ["/"], "permissionDecision": "allow"}),
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(name=st.sampled_from(sorted(PAYLOADS)), decision=decisions)
def test_whatever_is_decided_codex_can_read_the_answer(name: str, decision: Decision) -> None:
    said = reply(name, decision)

    assert codex_schema.problems(name, said.stdout) == []
    if name == "PreToolUse" and (decision.decision in ("deny", "ask", "defer") or decision.stop):
        assert json.loads(said.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_an_input_that_is_too_deep_for_its_reader_is_refused() -> None:
    deep: Any = 1
    for _ in range(150):
        deep = [deep]

    said = json.loads(reply("PreToolUse", Decision(updated_input={"command": deep})).stdout)

    assert said["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.skipif(codex_schema.program() is None, reason="codex is not installed in .agents (make test-agents)")
def test_the_answers_are_valid_under_the_schemas_that_codex_ships() -> None:
    program = codex_schema.program()
    assert program is not None
    schemas = codex_schema.shipped(program)
    assert set(schemas) == set(codex_schema.ANSWERS)
    for name, decision, _ in (param.values for param in ANSWERS):
        said = reply(name, decision)
        if said.stdout:
            assert list(codex_schema.violations(schemas[name], json.loads(said.stdout), schemas[name])) == []


def test_every_golden_answer_is_one_that_codex_takes() -> None:
    for name, answers in goldens.golden("codex").items():
        for said, answer in answers.items():
            stdout = json.dumps(answer).encode() if answer else b""
            assert codex_schema.problems(name, stdout) == [], (name, said)


def test_our_checker_knows_what_the_program_does_not_take() -> None:
    denied = specific(**DENIED)
    for extra in ({"suppressOutput": True}, {"foo": 1}, {"continue": "yes"}):
        assert codex_schema.problems("PreToolUse", json.dumps({**denied, **extra}).encode())
    mistakes: list[Json] = [
        {"permissionDecision": "ask"},
        {"permissionDecision": "allow"},
        {"updatedInput": {}},
        {"x": 1},
    ]
    for wrong in mistakes:
        assert codex_schema.problems("PreToolUse", json.dumps(specific(**wrong)).encode())
    assert codex_schema.problems("Stop", json.dumps(specific("Stop", additionalContext="x")).encode())


# --- the program, with our own hooks -----------------------------------------------------------------


def configure(place: Home, toml: str) -> None:
    place.write("~/.config/fairlead/fairlead.toml", toml)


def test_a_guard_refuses_a_shell_command(place: Home, fairlead: Callable[..., Ran]) -> None:
    configure(place, '[[hook]]\non = "PreToolUse"\ntool = "Bash"\nguard = ["filesystem"]\n')

    ran = fairlead("hook", "--agent", "codex", stdin=payload("PreToolUse", tool_input={"command": "rm -rf /"}))

    assert ran.code == 0
    assert ran.json["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert codex_schema.problems("PreToolUse", ran.out) == []


def test_a_guard_reads_the_paths_of_a_patch(place: Home, fairlead: Callable[..., Ran]) -> None:
    configure(place, '[[hook]]\non = "PreToolUse"\ntool = "Edit|Write"\nguard = ["filesystem"]\n')
    patch = PATCH.replace("notes.txt", "/etc/passwd")

    call = {"tool_name": "apply_patch", "tool_input": {"command": patch}}
    ran = fairlead("hook", "--agent", "codex", stdin=payload("PreToolUse", cwd=str(place.project), **call))

    assert "/etc/passwd" in ran.json["hookSpecificOutput"]["permissionDecisionReason"]


def test_a_rewrite_arrives_with_the_allow_that_it_needs(place: Home, fairlead: Callable[..., Ran]) -> None:
    said = json.dumps(specific(updatedInput=OTHER_INPUT))
    configure(place, f"[[hook]]\non = \"PreToolUse\"\nrun = '''echo '{said}' '''\n")

    ran = fairlead("hook", "--agent", "codex", stdin=payload("PreToolUse"))

    assert ran.json == specific(permissionDecision="allow", updatedInput=OTHER_INPUT)


def test_what_cannot_be_read_is_refused(fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("hook", "--agent", "codex", stdin=b"{")

    assert (ran.code, ran.out) == (2, b"")
    assert ran.err.strip()


# --- hooks written for Codex: their files ------------------------------------------------------------


def groups(name: str, *commands: str | Json, matcher: str | None = None) -> Json:
    listed = [{"type": "command", "command": each} if isinstance(each, str) else each for each in commands]
    return {"hooks": {name: [{**({"matcher": matcher} if matcher is not None else {}), "hooks": listed}]}}


def test_hooks_of_every_file_run(place: Home, agents: Agents, recorder: Recorder) -> None:
    toml = '[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = "command"\ncommand = "{}"\n'
    place.write(USER, groups("PreToolUse", recorder.script("user")))
    place.write(TOML, toml.format(recorder.script("user-toml")))
    place.write(PROJECT, groups("PreToolUse", recorder.script("project")))
    place.write(".codex/config.toml", toml.format(recorder.script("project-toml")))

    agents.engine("codex", payload("PreToolUse"))

    assert sorted(recorder.order) == ["project", "project-toml", "user", "user-toml"]


def test_codex_home_moves_the_files_of_the_user(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write("~/elsewhere/hooks.json", groups("PreToolUse", recorder.script("moved")))
    place.write(USER, groups("PreToolUse", recorder.script("left")))

    agents.engine("codex", payload("PreToolUse"), env={"CODEX_HOME": str(place.home / "elsewhere")})

    assert recorder.order == ["moved"]


def test_hooks_that_stand_there_twice_run_twice(place: Home, agents: Agents, recorder: Recorder) -> None:
    command = recorder.script("hook")
    place.write(USER, groups("PreToolUse", command, command))

    agents.engine("codex", payload("PreToolUse"))

    assert recorder.order == ["hook", "hook"]


@pytest.mark.parametrize(
    ("toml", "runs"),
    [
        ("[features]\nhooks = false\n", []),
        ("[features]\ncodex_hooks = false\n", []),
        ("[features]\nhooks = true\n", ["one", "two"]),
        ('[hooks.state."{file}:pre_tool_use:0:1"]\nenabled = false\n', ["one"]),
        ('[hooks.state."{file}:pre_tool_use:0:1"]\nenabled = true\ntrusted_hash = "x"\n', ["one", "two"]),
    ],
    ids=["off", "off by its old name", "on", "one of them off", "trusted"],
)
def test_config_toml_switches_hooks(
    toml: str, runs: list[str], place: Home, agents: Agents, recorder: Recorder
) -> None:
    file = place.write(USER, groups("PreToolUse", recorder.script("one"), recorder.script("two")))
    place.write(TOML, toml.format(file=file))

    agents.engine("codex", payload("PreToolUse"))

    assert sorted(recorder.order) == runs


@pytest.mark.parametrize(
    ("matcher", "tool", "runs"),
    [
        ("Bash", "Bash", True),
        ("Bash", "BashOutput", False),
        ("^Bash", "BashOutput", True),
        ("Edit|Write", "apply_patch", True),
        ("apply_patch", "apply_patch", True),
        ("mcp__db", "mcp__db__drop", False),
        ("mcp__db__.*", "mcp__db__drop", True),
        ("*", "anything", True),
        ("", "anything", True),
        ("Bash, Edit", "Bash", False),
    ],
)
def test_a_matcher_is_a_list_of_names_or_a_regular_expression(
    matcher: str, tool: str, runs: bool, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write(USER, groups("PreToolUse", recorder.script("hook"), matcher=matcher))

    agents.engine("codex", payload("PreToolUse", tool_name=tool, tool_input={"command": PATCH}))

    assert bool(recorder.order) is runs


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (
            '{"hooks": {"PreTolUse": []}}',
            ["1:12 unknown event 'PreTolUse' (did you mean 'PreToolUse'?)"],
        ),
        (
            '{"version": 1, "hooks": {}}',
            ["1:2 unknown key 'version' (Codex drops the whole file for it; here the hooks count)"],
        ),
        (
            '{"hooks": {"Stop": [{"hooks": [{"type": "http", "command": "x"}]}]}}',
            ["1:33 unknown type 'http' (one of: command, mcp_tool, prompt, agent; Codex drops the whole file for it)"],
        ),
        (
            '{"hooks": {"Stop": [{"matcher": "x", "hooks": [{"type": "command", "command": "x", "timout": 3}]}]}}',
            [
                "1:84 unknown key 'timout' (did you mean 'timeout'?)",
                "1:22 Stop has nothing to match: 'x' is ignored and the hook always runs",
            ],
        ),
        (
            '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": "1"}]}]}}',
            ["1:68 timeout must be a number, not a string"],
        ),
    ],
    ids=["event", "file key", "type", "slip and matcher", "timeout"],
)
def test_what_is_wrong_is_reported_with_its_place(
    content: str, found: list[str], problems: Callable[..., list[str]]
) -> None:
    assert problems("codex", USER, content) == found


def test_one_bad_entry_does_not_cost_the_others(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, groups("PreToolUse", {"type": "nonsense"}, {"type": "command"}, recorder.script("good")))

    agents.engine("codex", payload("PreToolUse"))

    assert recorder.order == ["good"]


# --- hooks written for Codex: what they get, what they say -------------------------------------------


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_hook_gets_what_codex_sends(name: str, place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, groups(name, recorder.script("hook")))
    sent = payload(name, cwd=str(place.project))

    agents.engine("codex", sent)

    assert recorder.stdin("hook") == sent


@pytest.mark.parametrize(
    ("name", "then", "word", "reason"),
    [
        pytest.param("PreToolUse", "echo no >&2; exit 2", "deny", "no", id="exit 2"),
        pytest.param("PreToolUse", "exit 2", "deny", "Blocked by hook", id="exit 2 in silence"),
        pytest.param("PreToolUse", "echo no; exit 2", "deny", "no", id="exit 2 with the reason on stdout"),
        pytest.param("PreToolUse", "exit 1", "none", "", id="exit 1 is a failure"),
        pytest.param("PreToolUse", f"echo '{json.dumps(specific(**DENIED))}'", "deny", "no", id="deny"),
        pytest.param("PreToolUse", f"echo '{json.dumps(specific(**DENIED))}'; exit 1", "deny", "no", id="with exit 1"),
        pytest.param(
            "PreToolUse", f"echo hi; echo '{json.dumps(specific(**DENIED))}'", "deny", "no", id="behind a log line"
        ),
        pytest.param(
            "PreToolUse",
            f"echo '{json.dumps({**specific(**DENIED), 'colour': 'red'})}'",
            "deny",
            "no",
            id="a key that Codex does not know does not lift a refusal",
        ),
        pytest.param(
            "PreToolUse", f"echo '{json.dumps(specific(permissionDecision='deny'))}'", "deny", "", id="without a reason"
        ),
        pytest.param(
            "PreToolUse", f"echo '{json.dumps(specific(permissionDecision='ask'))}'", "ask", "", id="a question"
        ),
        pytest.param(
            "PreToolUse", f"echo '{json.dumps(specific(permissionDecision='allow'))}'", "none", "", id="a bare allow"
        ),
        pytest.param("PreToolUse", "echo '{\"decision\": \"block\", \"reason\": \"no\"}'", "deny", "no", id="block"),
        pytest.param("PreToolUse", "echo '{\"decision\": \"approve\"}'", "none", "", id="approve"),
        pytest.param("PreToolUse", "echo just text", "none", "", id="text"),
        pytest.param("Stop", "echo '{\"decision\": \"block\", \"reason\": \"more\"}'", "deny", "more", id="go on"),
        pytest.param("Stop", "echo text", "none", "", id="text at the end is a failure"),
        pytest.param("UserPromptSubmit", "echo no >&2; exit 2", "deny", "no", id="a prompt"),
        pytest.param("SessionStart", "echo no >&2; exit 2", "none", "", id="a session cannot be refused"),
        pytest.param(
            "PermissionRequest",
            f"echo '{json.dumps(specific('PermissionRequest', decision={'behavior': 'allow'}))}'",
            "allow",
            "",
            id="a permission",
        ),
    ],
)  # fmt: skip
def test_what_a_hook_says_is_understood(
    name: str, then: str, word: str, reason: str, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write(USER, groups(name, recorder.script("hook", then)))

    decision = agents.load("codex").fire_sync(event(name))

    assert (decision.decision, decision.reason) == (word, reason)


@pytest.mark.parametrize(
    ("fields", "update"),
    [
        ({"permissionDecision": "allow", "updatedInput": OTHER_INPUT}, OTHER_INPUT),
        ({"updatedInput": OTHER_INPUT}, None),
        ({"permissionDecision": "allow", "updatedInput": OTHER_INPUT, "more": 1}, None),
        ({"permissionDecision": "deny", "permissionDecisionReason": "x", "updatedInput": OTHER_INPUT}, None),
    ],
    ids=["with an allow", "without one", "with a foreign key", "with a deny"],
)
def test_a_rewrite_counts_only_where_codex_would_take_it(
    fields: Json, update: Json | None, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write(USER, groups("PreToolUse", recorder.script("hook", f"echo '{json.dumps(specific(**fields))}'")))

    assert agents.load("codex").fire_sync(event("PreToolUse")).updated_input == update


# --- hooks written for Codex, under other agents -----------------------------------------------------

CLAUDE_EDIT = {
    "hook_event_name": "PreToolUse",
    "session_id": "s",
    "tool_name": "Edit",
    "tool_input": {"file_path": "/home/me/app/notes.txt", "old_string": "one", "new_string": "two"},
}


def test_a_hook_of_codex_guards_claude_code_and_sees_a_patch(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, groups("PreToolUse", recorder.script("hook", "echo no >&2; exit 2"), matcher="apply_patch"))

    said = json.loads(agents.hook("claude-code", CLAUDE_EDIT).reply.stdout)

    assert said["hookSpecificOutput"]["permissionDecision"] == "deny"
    seen = recorder.stdin("hook")
    assert seen["tool_name"] == "apply_patch"
    assert "*** Update File: /home/me/app/notes.txt" in seen["tool_input"]["command"]


def test_a_rewritten_patch_comes_back_as_an_edit(place: Home, agents: Agents, recorder: Recorder) -> None:
    change = 'jq -c \'{hookSpecificOutput: {hookEventName: "PreToolUse", permissionDecision: "allow", updatedInput: {command: (.tool_input.command | sub("two"; "three"))}}}\''  # noqa: E501
    place.write(USER, groups("PreToolUse", {"type": "command", "command": change}))

    said = json.loads(agents.hook("claude-code", CLAUDE_EDIT).reply.stdout)["hookSpecificOutput"]

    assert said["updatedInput"] == {**CLAUDE_EDIT["tool_input"], "new_string": "three"}  # type: ignore[dict-item]


def test_a_hook_of_codex_guards_gemini(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, groups("PreToolUse", recorder.script("hook", "echo no >&2; exit 2"), matcher="Bash"))
    call = {"tool_name": "run_shell_command", "tool_input": {"command": "ls"}}

    said = agents.hook("gemini", {"hook_event_name": "BeforeTool", "session_id": "s", **call}).reply

    assert json.loads(said.stdout) == {"decision": "deny", "reason": "no"}
    assert recorder.stdin("hook")["tool_name"] == "Bash"


def test_a_failed_tool_of_another_agent_is_a_tool_that_ran(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, groups("PostToolUse", recorder.script("hook"), matcher="Bash"))
    failed = {"hook_event_name": "PostToolUseFailure", "session_id": "s", "tool_name": "Bash", "error": "Exit code 3"}

    agents.hook("claude-code", {**failed, "tool_input": {"command": "x"}})

    seen = recorder.stdin("hook")
    assert (seen["hook_event_name"], seen["tool_response"]) == ("PostToolUse", "Exit code 3")


def test_its_own_hooks_are_left_to_codex(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, groups("PreToolUse", recorder.script("hook")))

    agents.hook("codex", payload("PreToolUse"))

    assert recorder.order == []


def test_jq_reads_what_the_hook_gets(place: Home, agents: Agents) -> None:
    assert subprocess.run(["jq", "--version"], capture_output=True, check=True).stdout
    place.write(USER, groups("PreToolUse", "jq -e '.turn_id == \"t-1\" and .transcript_path' >&2 && exit 2"))

    assert agents.load("codex").fire_sync(event("PreToolUse")).denies
