"""Gemini CLI: its events and tools, what it carries out, and hooks that were written for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import Hooks
from fairlead.answering import told
from fairlead.dialects import Reply, agent_half, gemini
from fairlead.dialects._comments import parse, without_comments
from fairlead.events import Event, PostToolUseFailure, Stop, ToolEvent
from fairlead.verdicts import Decision
from tests.conftest import SHARED, Home, Ran, needs_shared
from tests.dialects.conftest import Agents, Recorder

Json = dict[str, Any]
USER, PROJECT = "~/.gemini/settings.json", ".gemini/settings.json"
OTHER_INPUT = {"command": "echo other"}
REQUEST = {"model": "gemini-2.5-pro", "messages": [{"role": "user", "content": "hi"}]}
RESPONSE = {"text": "", "candidates": [{"content": {"role": "model", "parts": ["hi"]}}]}

BASE = {
    "session_id": "g-1",
    "transcript_path": "/home/me/.gemini/tmp/app/chats/g-1.jsonl",
    "cwd": "/home/me/app",
    "timestamp": "2026-03-01T10:00:00.000Z",
}
CALL = {"tool_name": "run_shell_command", "tool_input": {"command": "ls", "description": "look"}}
PRINTED = {"llmContent": "<untrusted_context>\nOutput: a.txt\n</untrusted_context>", "returnDisplay": "a.txt"}
PAYLOADS: dict[str, Json] = {
    "BeforeTool": CALL,
    "AfterTool": {**CALL, "tool_response": PRINTED},
    "BeforeAgent": {"prompt": "tidy up"},
    "AfterAgent": {"prompt": "tidy up", "prompt_response": "done", "stop_hook_active": False},
    "BeforeModel": {"llm_request": REQUEST},
    "AfterModel": {"llm_request": REQUEST, "llm_response": RESPONSE},
    "BeforeToolSelection": {"llm_request": REQUEST},
    "SessionStart": {"source": "startup"},
    "SessionEnd": {"reason": "exit"},
    "PreCompress": {"trigger": "auto"},
    "Notification": {"notification_type": "ToolPermission", "message": "may it?", "details": {"type": "exec"}},
}


def payload(name: str, **more: Any) -> Json:
    return {"hook_event_name": name, **BASE, **PAYLOADS[name], **more}


def event(name: str, **more: Any) -> Event:
    return gemini.read_event(json.dumps(payload(name, **more)).encode(), "", {})


def reply(name: str, decision: Decision, **more: Any) -> Reply:
    seen, said = told(agent_half("gemini"), Hooks(), event(name, **more), decision)
    return gemini.write_reply(seen, said)


def specific(name: str = "BeforeTool", **fields: Any) -> Json:
    return {"hookSpecificOutput": {"hookEventName": name, **fields}}


# --- what it sends -----------------------------------------------------------------------------------


def test_it_has_the_events_that_it_sends() -> None:
    assert set(gemini.EVENTS) == set(PAYLOADS)


@pytest.mark.parametrize("name", PAYLOADS)
def test_every_event_has_our_name(name: str) -> None:
    read = event(name)

    assert read.name == gemini.EVENTS[name]
    assert (read.session_id, read.cwd, read.timestamp) == ("g-1", "/home/me/app", "2026-03-01T10:00:00.000Z")


def test_the_answer_of_the_model_is_the_last_message() -> None:
    read = event("AfterAgent")

    assert isinstance(read, Stop)
    assert (read.last_assistant_message, read.extra) == ("done", {"prompt": "tidy up"})


def test_what_a_shell_printed_becomes_its_output() -> None:
    assert event("AfterTool").payload()["tool_response"] == {"stdout": "a.txt", "stderr": "", "interrupted": False}


@pytest.mark.parametrize(
    "response",
    [{"llmContent": "all of it", "returnDisplay": {"diff": 1}}, {"llmContent": [{"text": "all of it"}]}],
    ids=["an object is displayed", "parts"],
)
def test_what_the_model_sees_counts_where_nothing_else_is_displayed(response: Json) -> None:
    assert event("AfterTool", tool_response=response).payload()["tool_response"]["stdout"] == "all of it"


@pytest.mark.parametrize("error", [{"message": "broken", "type": "x"}, "broken"])
def test_a_tool_that_failed_is_another_event(error: object) -> None:
    response = {"llmContent": "broken", "error": error}

    read = event("AfterTool", tool_response=response)

    assert isinstance(read, PostToolUseFailure)
    assert (read.error, read.extra["tool_response"]) == ("broken", response)


@pytest.mark.parametrize(
    ("own", "given_input", "ours", "meant"),
    [
        ("write_file", {"file_path": "a", "content": "x"}, "Write", {"file_path": "/home/me/app/a", "content": "x"}),
        (
            "replace",
            {"file_path": "/a", "old_string": "x", "new_string": "y", "instruction": "i", "allow_multiple": True},
            "Edit",
            {"file_path": "/a", "old_string": "x", "new_string": "y", "instruction": "i", "replace_all": True},
        ),
        ("read_file", {"file_path": "/a"}, "Read", {"file_path": "/a"}),
        ("grep_search", {"pattern": "x", "dir_path": "src"}, "Grep", {"pattern": "x", "path": "src"}),
        ("run_shell_command", {"is_background": True}, "Bash", {"run_in_background": True}),
        ("google_web_search", {"query": "x"}, "WebSearch", {"query": "x"}),
        ("save_memory", {"fact": "x"}, "save_memory", {"fact": "x"}),
    ],
)  # fmt: skip
def test_its_tools_have_our_names(own: str, given_input: Json, ours: str, meant: Json) -> None:
    read = event("BeforeTool", tool_name=own, tool_input=given_input)

    assert isinstance(read, ToolEvent)
    assert (read.tool_name, read.tool_input) == (ours, meant)


def test_an_mcp_tool_has_its_server_in_its_name() -> None:
    context = {"server_name": "my_db", "tool_name": "drop_table", "command": "/usr/bin/db"}

    read = event("BeforeTool", tool_name="mcp_my_db_drop_table", tool_input={"t": 1}, mcp_context=context)

    assert isinstance(read, ToolEvent)
    assert read.tool_name == "mcp__my_db__drop_table"
    assert read.extra["mcp_context"] == context


@needs_shared("captures", "gemini")
def test_the_recorded_events_are_read() -> None:
    files = sorted((SHARED / "captures" / "gemini").glob("*.json"))
    assert files
    for file in files:
        sent = json.loads(file.read_text())["stdin"]
        read = gemini.read_event(json.dumps(sent).encode(), "", {})
        failed = bool(sent.get("tool_response", {}).get("error"))
        assert read.name == ("PostToolUseFailure" if failed else gemini.EVENTS[sent["hook_event_name"]]), file.name


# --- how it is answered ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "decision", "answer"),
    [
        pytest.param("BeforeTool", Decision(), {}, id="nothing to say"),
        pytest.param("BeforeTool", Decision(decision="allow"), {}, id="an allow would mean nothing"),
        pytest.param(
            "BeforeTool", Decision(decision="deny", reason="no"), {"decision": "deny", "reason": "no"}, id="deny"
        ),
        pytest.param(
            "BeforeTool",
            Decision(decision="deny", reason=" "),
            {"decision": "deny", "reason": "Blocked by hook"},
            id="a refusal has a reason",
        ),
        pytest.param(
            "BeforeTool",
            Decision(decision="ask", reason="sure?"),
            {
                "decision": "deny",
                "reason": "a person has to agree to this, and gemini cannot ask one here\nsure?",
            },
            id="a question would end the program",
        ),
        pytest.param(
            "BeforeTool", Decision(updated_input=OTHER_INPUT), specific(tool_input=OTHER_INPUT), id="another input"
        ),
        pytest.param(
            "BeforeTool",
            Decision(stop=True, stop_reason="enough"),
            {"continue": False, "stopReason": "enough"},
            id="the end of the turn",
        ),
        pytest.param("BeforeTool", Decision(context="look"), {}, id="context before a tool is overlooked"),
        pytest.param(
            "BeforeTool",
            Decision(decision="deny", reason="no", context="look"),
            {"decision": "deny", "reason": "no\nlook"},
            id="beside a refusal it stands in the reason",
        ),
        pytest.param(
            "AfterTool", Decision(context="look"), specific("AfterTool", additionalContext="look"), id="after a tool"
        ),
        pytest.param(
            "AfterTool", Decision(decision="deny", reason="bad"), {"decision": "deny", "reason": "bad"}, id="bad result"
        ),
        pytest.param(
            "AfterTool",
            Decision(updated_output="clean"),
            {
                "decision": "deny",
                "reason": "a hook has replaced this output, and gemini cannot; go by this instead: clean",
            },
            id="the reason takes the place of the result",
        ),
        pytest.param(
            "AfterAgent", Decision(decision="deny", reason="more"), {"decision": "deny", "reason": "more"}, id="go on"
        ),
        pytest.param(
            "BeforeAgent", Decision(decision="deny", reason="no"), {"decision": "deny", "reason": "no"}, id="a prompt"
        ),
        pytest.param(
            "BeforeModel", Decision(decision="deny", reason="no"), {"decision": "deny", "reason": "no"}, id="a request"
        ),
        pytest.param(
            "AfterModel",
            Decision(decision="deny", reason="no"),
            {"decision": "deny", "reason": "no", "continue": False, "stopReason": "no"},
            id="there a refusal alone has no effect",
        ),
        pytest.param(
            "BeforeToolSelection",
            Decision(extra={"toolConfig": {"mode": "NONE"}, "watchPaths": []}),
            specific("BeforeToolSelection", toolConfig={"mode": "NONE"}),
            id="the choice of tools",
        ),
        pytest.param(
            "BeforeModel",
            Decision(extra={"llm_request": {"model": "m"}}),
            specific("BeforeModel", llm_request={"model": "m"}),
            id="another request",
        ),
        pytest.param("SessionStart", Decision(decision="deny", reason="no"), {}, id="a session cannot be refused"),
        pytest.param("Notification", Decision(user_message="psst"), {"systemMessage": "psst"}, id="a message"),
    ],
)
def test_an_answer_is_exactly_what_gemini_understands(name: str, decision: Decision, answer: Json) -> None:
    said = reply(name, decision)

    assert (said.exit_code, said.stderr) == (0, "")
    assert said.stdout.endswith(b"\n")
    assert json.loads(said.stdout) == answer


def test_a_failed_tool_is_answered_as_after_a_tool() -> None:
    said = reply("AfterTool", Decision(context="try again"), tool_response={"llmContent": "x", "error": "x"})

    assert json.loads(said.stdout) == specific("AfterTool", additionalContext="try again")


def test_a_failure_of_ours_is_a_refusal() -> None:
    assert gemini.write_failure("", "broken") == Reply(stderr="Fairlead: broken\n", exit_code=2)


# --- the program, with our own hooks -----------------------------------------------------------------


def configure(place: Home, toml: str) -> None:
    place.write("~/.config/fairlead/fairlead.toml", toml)


def test_a_guard_refuses_a_shell_command(place: Home, fairlead: Callable[..., Ran]) -> None:
    configure(place, '[[hook]]\non = "PreToolUse"\ntool = "Bash"\nguard = ["filesystem"]\n')

    ran = fairlead("hook", "--agent", "gemini", stdin=payload("BeforeTool", tool_input={"command": "rm -rf /"}))

    assert (ran.code, ran.json["decision"]) == (0, "deny")


def test_a_guard_knows_in_which_folder_a_command_runs(place: Home, fairlead: Callable[..., Ran]) -> None:
    configure(place, '[[hook]]\non = "PreToolUse"\nguard = ["filesystem"]\n')
    call = {"command": "rm -rf conf", "dir_path": "/etc"}

    ran = fairlead("hook", "--agent", "gemini", stdin=payload("BeforeTool", cwd=str(place.project), tool_input=call))

    assert ran.json["decision"] == "deny"
    assert "/etc/conf" in ran.json["reason"]


def test_a_guard_knows_its_file_tools(place: Home, fairlead: Callable[..., Ran]) -> None:
    configure(place, '[[hook]]\non = "PreToolUse"\ntool = "write_file"\nguard = ["filesystem"]\n')
    call = {"tool_name": "write_file", "tool_input": {"file_path": "/etc/passwd", "content": "x"}}

    ran = fairlead("hook", "--agent", "gemini", stdin=payload("BeforeTool", cwd=str(place.project), **call))

    assert "/etc/passwd" in ran.json["reason"]


def test_a_rewrite_arrives_whole_and_in_its_own_keys(place: Home, fairlead: Callable[..., Ran]) -> None:
    new = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"pattern": "y", "path": "lib"}}}
    configure(place, f"[[hook]]\non = \"PreToolUse\"\ntool = \"Grep\"\nrun = '''echo '{json.dumps(new)}' '''\n")
    call = {"tool_name": "grep_search", "tool_input": {"pattern": "x", "dir_path": "src"}}

    ran = fairlead("hook", "--agent", "gemini", stdin=payload("BeforeTool", **call))

    assert ran.json == specific(tool_input={"pattern": "y", "dir_path": "lib"})


def test_our_notes_are_not_its_answer(place: Home, fairlead: Callable[..., Ran]) -> None:
    configure(place, '[[hook]]\non = "Stop"\nrun = "kill -9 $$"\nname = "crashes"\n')

    ran = fairlead("hook", "--agent", "gemini", stdin=payload("AfterAgent"))

    assert "crashes" in ran.err
    assert ran.json == {}


# --- hooks written for Gemini CLI: their files -------------------------------------------------------


def groups(name: str, *commands: str | Json, **group: Any) -> Json:
    listed = [{"type": "command", "command": each} if isinstance(each, str) else each for each in commands]
    return {"hooks": {name: [{**group, "hooks": listed}]}}


def named(name: str, command: str, **more: Any) -> Json:
    return {"type": "command", "name": name, "command": command, **more}


def test_hooks_of_every_level_run(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, groups("BeforeTool", recorder.script("user")))
    place.write(PROJECT, groups("BeforeTool", recorder.script("project")))
    machine = place.root / "etc" / "gemini-cli"
    machine.mkdir(parents=True)
    (machine / "settings.json").write_text(json.dumps(groups("BeforeTool", recorder.script("machine"))))

    agents.engine("gemini", payload("BeforeTool"))

    assert sorted(recorder.order) == ["machine", "project", "user"]


def test_comments_do_not_cost_the_file(place: Home, agents: Agents, recorder: Recorder) -> None:
    text = json.dumps(groups("BeforeTool", recorder.script("hook")), indent=2)
    file = place.write(USER, '// mine: {\n/* "hooks": */\n' + text.replace("\n", " // https://x\n", 1))

    hooks = agents.load("gemini")
    hooks.fire_sync(event("BeforeTool"))

    assert recorder.order == ["hook"]
    assert hooks.problems == ()
    lines = file.read_text().splitlines()
    assert '"type": "command"' in lines[next(iter(hooks)).origin.line]


@given(st.text(st.sampled_from('/*"\\\n a{}'), max_size=30))
def test_a_comment_is_a_blank_and_moves_nothing(text: str) -> None:
    blanked = without_comments(text)

    assert len(blanked) == len(text)
    assert [place for place, letter in enumerate(text) if letter == "\n"] == [
        place for place, letter in enumerate(blanked) if letter == "\n"
    ]


@given(st.text(max_size=30))
def test_what_looks_like_a_comment_in_a_string_is_none(text: str) -> None:
    value = {f"//{text}": f"/* {text} */ // x"}

    assert parse(json.dumps(value)) == value
    assert parse(f"/* {json.dumps(text)[1:-1].replace('*/', '')} */ {json.dumps(value)} // end") == value


@pytest.mark.parametrize(
    ("config", "runs"),
    [
        ({"enabled": False}, []),
        ({"enabled": True}, ["one", "two"]),
        ({"disabled": ["first"]}, ["two"]),
        ({"disabled": ["{two}"]}, ["one"]),
        ({"notifications": False}, ["one", "two"]),
    ],
    ids=["off", "on", "by name", "by command", "something else"],
)
def test_hooks_config_switches_hooks(
    config: Json, runs: list[str], place: Home, agents: Agents, recorder: Recorder
) -> None:
    two = recorder.script("two")
    hooks = groups("BeforeTool", named("first", recorder.script("one")), two)
    config = json.loads(json.dumps(config).replace("{two}", two))
    place.write(USER, {**hooks, "hooksConfig": config})

    agents.engine("gemini", payload("BeforeTool"))

    assert sorted(recorder.order) == runs


def test_the_same_name_and_command_run_once(place: Home, agents: Agents, recorder: Recorder) -> None:
    command = recorder.script("hook")
    place.write(USER, groups("BeforeTool", named("a", command), named("a", command), named("b", command)))
    place.write(PROJECT, groups("BeforeTool", named("a", command)))

    agents.engine("gemini", payload("BeforeTool"))

    assert recorder.order == ["hook", "hook"]


@pytest.mark.parametrize(
    ("name", "matcher", "value", "runs"),
    [
        ("BeforeTool", "run_shell_command", {}, True),
        ("BeforeTool", "shell", {}, True),
        ("BeforeTool", "^shell", {}, False),
        ("BeforeTool", "write_file|replace", {}, False),
        ("BeforeTool", " * ", {}, True),
        ("BeforeTool", "mcp_db_.*", {"tool_name": "mcp_db_drop"}, True),
        ("SessionStart", "startup", {}, True),
        ("SessionStart", "start", {}, False),
        ("SessionStart", "startup|resume", {}, False),
        ("BeforeAgent", "anything", {}, True),
        ("Notification", "anything", {}, True),
    ],
)
def test_a_matcher_is_found_in_a_tool_and_is_all_of_anything_else(
    name: str, matcher: str, value: Json, runs: bool, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write(USER, groups(name, recorder.script("hook"), matcher=matcher))

    agents.engine("gemini", payload(name, **value))

    assert bool(recorder.order) is runs


def test_an_mcp_hook_knows_the_tool_by_its_own_name(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, groups("BeforeTool", recorder.script("hook"), matcher="^mcp_db_drop$"))

    agents.hook("claude-code", {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "mcp__db__drop"})

    assert recorder.stdin("hook")["tool_name"] == "mcp_db_drop"


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (
            '{"hooks": {"PreToolUse": []}}',
            ["1:12 unknown event 'PreToolUse' (Gemini CLI calls it 'BeforeTool')"],
        ),
        ('{"hooks": {"BeforTool": []}}', ["1:12 unknown event 'BeforTool' (did you mean 'BeforeTool'?)"]),
        ('{"hooks": {"enabled": true, "disabled": []}}', []),
        (
            '{"hooks": {"AfterAgent": [{"hooks": [{"type": "command", "command": "x", "timeout": 60}]}]}}',
            ["1:74 timeout is in milliseconds: 60 is 0.06 s (write 60000, if it should be 60 seconds)"],
        ),
        (
            '{"hooks": {"AfterAgent": [{"hooks": [{"type": "http", "url": "x"}]}]}}',
            ["1:39 unknown type 'http' (it must be command)"],
        ),
        (
            '{"hooks": {"AfterAgent": [{"hooks": [{"command": "x"}]}]}}',
            ["1:38 type is missing (taken as \"type\": \"command\"; Gemini CLI leaves the hook out)"],
        ),
        (
            '{"hooks": {"AfterAgent": [{"sequential": 1, "hooks": [{"type": "command", "command": "x"}]}]}}',
            ["1:28 sequential must be true or false, not a number"],
        ),
        (
            '{"hooks": {"AfterAgent": [{"hooks": [{"type": "command", "command": "x", "env": {"A": 1}}]}]}}',
            ["1:82 A must be a string, not a number"],
        ),
        ('{"hooksConfig": {"enabled": "no"}}', ["1:18 enabled must be true or false, not a string"]),
    ],
    ids=["claude's name", "slip", "old switches", "seconds", "http", "no type", "sequential", "env", "switch"],
)  # fmt: skip
def test_what_is_wrong_is_reported_with_its_place(
    content: str, found: list[str], problems: Callable[..., list[str]]
) -> None:
    assert problems("gemini", USER, content) == found


# --- hooks written for Gemini CLI: what they get -----------------------------------------------------


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_hook_gets_what_gemini_sends(name: str, place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, groups(name, recorder.script("hook")))
    sent = payload(name, cwd=str(place.project))

    agents.engine("gemini", sent)

    assert recorder.stdin("hook") == sent


def test_a_hook_sees_a_failure_as_gemini_sends_it(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, groups("AfterTool", recorder.script("hook")))
    response = {"llmContent": "broken", "returnDisplay": "broken", "error": {"message": "broken", "type": "x"}}
    sent = payload("AfterTool", cwd=str(place.project), tool_response=response)

    agents.engine("gemini", sent)

    assert {key: value for key, value in recorder.stdin("hook").items() if key != "error"} == sent


def test_a_hook_has_its_variables(place: Home, agents: Agents, recorder: Recorder) -> None:
    command = recorder.script("hook")
    place.write(USER, groups("BeforeTool", {"type": "command", "command": command, "env": {"MINE": "1"}}))

    agents.engine("gemini", payload("BeforeTool", cwd=str(place.project)))

    env = recorder.env("hook")
    assert {key: env[key] for key in ("GEMINI_PROJECT_DIR", "GEMINI_CWD", "CLAUDE_PROJECT_DIR")} == dict.fromkeys(
        ("GEMINI_PROJECT_DIR", "GEMINI_CWD", "CLAUDE_PROJECT_DIR"), str(place.project)
    )
    assert (env["GEMINI_SESSION_ID"], env["MINE"]) == ("g-1", "1")


def test_a_project_with_a_blank_in_its_path_is_one_word(place: Home, agents: Agents, recorder: Recorder) -> None:
    project = place.root / "my app"
    project.mkdir()
    (project / "guard.sh").write_text("#!/bin/sh\necho no >&2\nexit 2\n")
    (project / "guard.sh").chmod(0o755)
    place.write(USER, groups("BeforeTool", "$GEMINI_PROJECT_DIR/guard.sh"))

    answer = agents.engine("gemini", payload("BeforeTool", cwd=str(project)), project=str(project)).answer

    assert answer == {"decision": "deny", "reason": "no"}


# --- hooks written for Gemini CLI: what they say -----------------------------------------------------


def says(answer: object) -> str:
    return f"echo '{json.dumps(answer)}'"


@pytest.mark.parametrize(
    ("name", "then", "word", "reason"),
    [
        pytest.param("BeforeTool", "echo no >&2; exit 2", "deny", "no", id="exit 2"),
        pytest.param("BeforeTool", "echo out; echo err >&2; exit 2", "deny", "out", id="stdout is the reason"),
        pytest.param("BeforeTool", "exit 2", "deny", "the hook exited with code 2", id="exit 2 in silence"),
        pytest.param("BeforeTool", "echo no >&2; exit 3", "deny", "no", id="any other exit"),
        pytest.param("BeforeTool", "exit 1", "none", "", id="exit 1"),
        pytest.param("BeforeTool", "echo hm >&2; exit 1", "none", "", id="exit 1 warns"),
        pytest.param("BeforeTool", says({"decision": "deny", "reason": "no"}), "deny", "no", id="deny"),
        pytest.param("BeforeTool", says({"decision": "block", "reason": "no"}), "deny", "no", id="block"),
        pytest.param("BeforeTool", says({"decision": "Deny"}), "deny", "", id="in any case of letters"),
        pytest.param("BeforeTool", says({"decision": "deny"}) + "; exit 1", "deny", "", id="and exit 1"),
        pytest.param("BeforeTool", says({"decision": "allow"}), "none", "", id="allow is nothing against it"),
        pytest.param("BeforeTool", says({"decision": "allow"}) + "; exit 2", "deny", "the hook exited with code 2",
                     id="exit 2 counts more than an allow"),
        pytest.param("BeforeTool", says({"decision": "ask", "reason": "sure?"}), "ask", "sure?", id="ask"),
        pytest.param("BeforeTool", says(json.dumps({"decision": "deny", "reason": "no"})), "deny", "no", id="twice"),
        pytest.param("BeforeTool", says({"decision": "deny", "reason": "no"}) + " >&2", "deny", "no", id="on stderr"),
        pytest.param("BeforeTool", "echo log; " + says({"decision": "deny", "reason": "no"}), "deny", "no",
                     id="behind a log line"),
        pytest.param("BeforeTool", says({"hookSpecificOutput": {"permissionDecision": "deny"}}), "deny", "",
                     id="in the words of Claude Code"),
        pytest.param("BeforeTool", "echo fine", "none", "", id="text"),
        pytest.param("AfterAgent", says({"decision": "deny", "reason": "more"}), "deny", "more", id="go on"),
        pytest.param("SessionStart", "echo no >&2; exit 2", "none", "", id="a session cannot be refused"),
        pytest.param("SessionStart", says({"decision": "deny"}), "none", "", id="not in JSON either"),
    ],
)  # fmt: skip
def test_what_a_hook_says_is_understood(
    name: str, then: str, word: str, reason: str, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write(USER, groups(name, recorder.script("hook", then)))

    decision = agents.load("gemini").fire_sync(event(name))

    assert (decision.decision, decision.reason) == (word, reason)


def test_text_is_for_the_person(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, groups("BeforeTool", recorder.script("hook", "echo looks good")))

    assert agents.engine("gemini", payload("BeforeTool")).answer == {"systemMessage": "looks good"}


def test_the_end_of_the_turn_is_understood(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, groups("AfterTool", recorder.script("hook", says({"continue": False, "stopReason": "enough"}))))

    assert agents.engine("gemini", payload("AfterTool")).answer == {"continue": False, "stopReason": "enough"}


@pytest.mark.parametrize(
    ("then", "update"),
    [
        (says(specific(tool_input=OTHER_INPUT)), OTHER_INPUT),
        (says(specific(updatedInput=OTHER_INPUT)), None),
        (says(specific(tool_input=OTHER_INPUT)) + "; exit 1", None),
        (says({**specific(tool_input=OTHER_INPUT), "decision": "deny"}), OTHER_INPUT),
    ],
    ids=["its key", "not Claude Code's", "not with exit 1", "beside a refusal"],
)
def test_another_input_replaces_the_whole(
    then: str, update: Json | None, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write(USER, groups("BeforeTool", recorder.script("hook", then)))

    assert agents.load("gemini").fire_sync(event("BeforeTool")).updated_input == update


def test_in_a_sequence_each_sees_what_the_one_before_has_changed(
    place: Home, agents: Agents, recorder: Recorder
) -> None:
    first = recorder.script("first", says({**specific(tool_input=OTHER_INPUT), "decision": "deny", "reason": "no"}))
    place.write(USER, groups("BeforeTool", first, recorder.script("second"), sequential=True))

    answer = agents.engine("gemini", payload("BeforeTool")).answer

    assert recorder.order == ["first", "second"]
    assert recorder.stdin("second")["tool_input"] == OTHER_INPUT
    assert answer == {"decision": "deny", "reason": "no"}


def test_side_by_side_the_last_in_the_file_wins(place: Home, agents: Agents, recorder: Recorder) -> None:
    slow = recorder.script("slow", "sleep 0.2; " + says(specific(tool_input={"command": "1"})))
    fast = recorder.script("fast", says(specific(tool_input={"command": "2"})))
    place.write(USER, groups("BeforeTool", slow, fast))

    assert agents.engine("gemini", payload("BeforeTool")).answer == specific(tool_input={"command": "2"})


@pytest.mark.parametrize(
    ("configs", "merged"),
    [
        ([{"mode": "AUTO", "allowedFunctionNames": ["b"]}, {"mode": "ANY", "allowedFunctionNames": ["a"]}],
         {"mode": "ANY", "allowedFunctionNames": ["a", "b"]}),
        ([{"mode": "ANY", "allowedFunctionNames": ["a"]}, {"mode": "NONE"}],
         {"mode": "NONE", "allowedFunctionNames": []}),
    ],
    ids=["all that somebody allows", "none"],
)  # fmt: skip
def test_several_choices_of_tools_become_one(
    configs: list[Json], merged: Json, place: Home, agents: Agents, recorder: Recorder
) -> None:
    commands = [
        recorder.script(f"hook{place}", says(specific("BeforeToolSelection", toolConfig=config)))
        for place, config in enumerate(configs)
    ]
    place.write(USER, groups("BeforeToolSelection", *commands))

    answer = agents.engine("gemini", payload("BeforeToolSelection")).answer

    assert answer == specific("BeforeToolSelection", toolConfig=merged)


# --- hooks written for Gemini CLI, under other agents ------------------------------------------------


def test_a_hook_of_gemini_guards_claude_code(place: Home, agents: Agents, recorder: Recorder) -> None:
    deny = says({"decision": "deny", "reason": "no"})
    place.write(USER, groups("BeforeTool", recorder.script("hook", deny), matcher="^run_shell_command$"))
    call = {"tool_name": "Bash", "tool_input": {"command": "ls", "run_in_background": True}}

    said = json.loads(
        agents.hook("claude-code", {"hook_event_name": "PreToolUse", "session_id": "s", **call}).reply.stdout
    )

    assert said["hookSpecificOutput"]["permissionDecision"] == "deny"
    seen = recorder.stdin("hook")
    assert (seen["hook_event_name"], seen["tool_name"]) == ("BeforeTool", "run_shell_command")
    assert seen["tool_input"] == {"command": "ls", "is_background": True}


def test_a_rewrite_comes_back_in_the_words_of_claude_code(place: Home, agents: Agents, recorder: Recorder) -> None:
    new = {"pattern": "y", "dir_path": "lib"}
    place.write(USER, groups("BeforeTool", recorder.script("hook", says(specific(tool_input=new)))))
    call = {"tool_name": "Grep", "tool_input": {"pattern": "x", "path": "src"}}

    said = json.loads(
        agents.hook("claude-code", {"hook_event_name": "PreToolUse", "session_id": "s", **call}).reply.stdout
    )

    assert said["hookSpecificOutput"]["updatedInput"] == {"pattern": "y", "path": "lib"}


def test_a_hook_of_gemini_sees_each_file_of_a_patch_of_codex(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(
        USER, groups("BeforeTool", recorder.script("hook", "echo no >&2; exit 2"), matcher="write_file|replace")
    )
    patch = "*** Begin Patch\n*** Add File: new.txt\n+x\n*** End Patch"
    call = {"tool_name": "apply_patch", "tool_input": {"command": patch}, "cwd": "/home/me/app"}

    said = json.loads(agents.hook("codex", {"hook_event_name": "PreToolUse", "session_id": "s", **call}).reply.stdout)

    assert said["hookSpecificOutput"]["permissionDecision"] == "deny"
    seen = recorder.stdin("hook")
    assert (seen["tool_name"], seen["tool_input"]["file_path"]) == ("write_file", "/home/me/app/new.txt")


def test_a_hook_of_gemini_judges_the_end_of_a_turn_of_codex(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, groups("AfterAgent", recorder.script("hook", says({"decision": "deny", "reason": "test it"}))))
    stop = {"hook_event_name": "Stop", "session_id": "s", "last_assistant_message": "done"}

    said = agents.hook("codex", stop).reply

    assert json.loads(said.stdout) == {"decision": "block", "reason": "test it"}
    assert recorder.stdin("hook")["prompt_response"] == "done"
