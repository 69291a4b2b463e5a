"""Code Agent's hooks: in order, the project's first, and any exit but 0 blocks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fairlead.dialects import code_agent
from tests.conftest import Home, Ran
from tests.dialects.conftest import BIG, Agents, Recorder

Json = dict[str, Any]

PAYLOADS: dict[str, Json] = {
    "PreToolUse": {"toolName": "Bash", "input": {"command": "ls"}},
    "PostToolUse": {"toolName": "Write", "input": {"file_path": "/a.ts"}, "output": {"ok": True}},
    "PostToolUseFailure": {"toolName": "Bash", "input": {"command": "false"}, "error": "exit 1"},
    "UserPromptSubmit": {"prompt": "hello"},
    "Stop": {},
    "SubagentStop": {},
    "PreCompact": {},
    "Setup": {},
    "SessionStart": {},
    "SessionEnd": {},
    "Notification": {"message": "done"},
}


def event(name: str, **payload: Any) -> Json:
    return {
        "type": name,
        "timestamp": 1_700_000_000_000,
        "sessionId": "sess_abc123",
        "payload": payload or PAYLOADS[name],
    }


def bash(command: str) -> Json:
    return event("PreToolUse", toolName="Bash", input={"command": command})


def settings(name: str, *commands: str | Json, matcher: str = ".*") -> Json:
    handlers = [{"type": "command", "command": each} if isinstance(each, str) else each for each in commands]
    return {"hooks": {name: [{"matcher": matcher, "hooks": handlers}]}}


def test_it_has_the_events_of_its_document() -> None:
    assert list(code_agent.EVENTS) == list(PAYLOADS)


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_hook_gets_the_hook_event_on_stdin(name: str, place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write("~/.claude/settings.json", settings(name, recorder.script("hook")))

    assert agents.engine("code-agent", event(name)).answer["allowed"] is True

    assert recorder.stdin("hook") == event(name)


@pytest.mark.parametrize(
    ("name", "payload", "variables"),
    [
        pytest.param(
            "PreToolUse",
            {"toolName": "Bash", "input": {"command": "npm test"}},
            {"TOOL_NAME": "Bash", "TOOL_INPUT": '{"command":"npm test"}', "COMMAND": "npm test"},
            id="a shell command",
        ),
        pytest.param(
            "PostToolUse",
            {"toolName": "Edit", "input": {"file_path": "/path/to/file.ts", "n": 1}, "output": "ok"},
            {
                "TOOL_NAME": "Edit",
                "TOOL_INPUT": '{"file_path":"/path/to/file.ts","n":1}',
                "FILE_PATH": "/path/to/file.ts",
            },
            id="a file",
        ),
        pytest.param("PreToolUse", {"toolName": "X"}, {"TOOL_NAME": "X", "TOOL_INPUT": "{}"}, id="no input"),
        pytest.param("UserPromptSubmit", {"prompt": "hi"}, {}, id="a prompt"),
        pytest.param("SessionEnd", {"reason": "x"}, {}, id="the end of a session"),
        pytest.param(
            "PreToolUse",
            {"toolName": "Bash", "input": {"command": "rm \ud800 -rf"}},
            {"TOOL_NAME": "Bash", "TOOL_INPUT": '{"command":"rm \\ud800 -rf"}', "COMMAND": "rm \ufffd -rf"},
            id="half of a surrogate pair",
        ),
    ],
)
def test_a_hook_gets_exactly_these_variables(
    name: str, payload: Json, variables: Json, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write("~/.claude/settings.json", settings(name, recorder.script("hook")))
    stale = dict.fromkeys(("TOOL_NAME", "TOOL_INPUT", "SESSION_ID", "FILE_PATH", "COMMAND"), "of somebody else")

    agents.engine("code-agent", event(name, **payload), env=stale)

    seen = recorder.env("hook")
    assert {key: seen[key] for key in stale if key in seen} == {"SESSION_ID": "sess_abc123", **variables}


@pytest.mark.parametrize("code", [1, 2, 3, 126, 127, 255])
def test_any_exit_but_0_blocks_and_ends_the_row(code: int, place: Home, agents: Agents, recorder: Recorder) -> None:
    first, second = recorder.script("first", f"echo no >&2; exit {code}"), recorder.script("second")
    place.write("~/.claude/settings.json", settings("PreToolUse", first, second))

    answer = agents.engine("code-agent", bash("ls")).answer

    assert answer == {
        "allowed": False,
        "results": [{"hookId": "first", "success": True, "error": "no", "decision": "block"}],
    }
    assert recorder.order == ["first"]


@pytest.mark.parametrize("name", PAYLOADS)
def test_an_exit_but_0_blocks_every_event(name: str, place: Home, agents: Agents) -> None:
    place.write("~/.claude/settings.json", settings(name, "echo reason; exit 1"))

    answer = agents.engine("code-agent", event(name)).answer

    assert answer["allowed"] is False
    assert answer["results"][0] == {
        "hookId": "echo", "success": True, "output": "reason", "error": "reason", "decision": "block",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("command", "said"),
    [
        pytest.param("./missing.sh", "not found", id="no such file"),
        pytest.param("./plain.txt", "denied", id="not executable"),
    ],
)
def test_a_hook_that_cannot_start_blocks(command: str, said: str, place: Home, agents: Agents) -> None:
    place.write("plain.txt", "#!/bin/sh\n")
    place.write("~/.claude/settings.json", settings("PreToolUse", command))

    answer = agents.engine("code-agent", bash("ls")).answer

    assert answer["allowed"] is False
    assert said in answer["results"][0]["error"].lower()


@pytest.mark.parametrize("name", PAYLOADS)
@pytest.mark.parametrize(
    ("command", "error"),
    [
        pytest.param("sleep 60", "timed out after 0.2 s", id="timeout"),
        pytest.param("kill -9 $$", "killed by signal 9", id="crash"),
    ],
)
def test_a_timeout_or_crash_blocks_before_a_tool_or_a_prompt_and_is_reported_elsewhere(
    name: str, command: str, error: str, place: Home, agents: Agents
) -> None:
    handler = {"type": "command", "command": command, "timeout": 200}
    place.write("~/.claude/settings.json", settings(name, handler, "true"))
    blocks = name in ("PreToolUse", "UserPromptSubmit")

    result = agents.engine("code-agent", event(name))

    first, *rest = result.answer["results"]
    assert result.answer["allowed"] is not blocks
    decision = "block" if blocks else "allow"
    assert first == {"hookId": command.partition(" ")[0], "success": False, "error": error, "decision": decision}
    assert [each["decision"] for each in rest] == ([] if blocks else ["allow"])
    assert error in "\n".join(result.notes)


def test_the_project_goes_first_and_identical_hooks_run_once_in_the_order_of_definition(
    place: Home, agents: Agents, recorder: Recorder
) -> None:
    names = ("g1", "both", "g2", "p1", "p2")
    g1, both, g2, p1, p2 = (recorder.script(name) for name in names)
    user = settings("PreToolUse", g1, both)
    user["hooks"]["PreToolUse"].append({"matcher": "Bash", "hooks": [{"type": "command", "command": g2}]})
    user["hooks"]["PreToolUse"].append({"matcher": "Ba.*", "hooks": [{"type": "command", "command": g1}]})
    place.write("~/.claude/settings.json", user)
    place.write(".claude/settings.json", settings("PreToolUse", p1, both, p2, p1))

    answer = agents.engine("code-agent", bash("ls")).answer

    assert recorder.order == ["p1", "both", "p2", "g1", "g2"]
    assert [each["hookId"] for each in answer["results"]] == recorder.order


def test_the_same_command_with_another_timeout_is_another_hook(place: Home, agents: Agents, recorder: Recorder) -> None:
    hook = recorder.script("hook")
    same = {"type": "command", "command": hook, "timeout": 5000}
    place.write("~/.claude/settings.json", settings("PreToolUse", hook, same, {**same, "timeout": 6000}))

    answer = agents.engine("code-agent", bash("ls")).answer

    assert [each["hookId"] for each in answer["results"]] == ["hook", "hook#3"]


def test_a_hook_runs_again_on_the_next_event(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write("~/.claude/settings.json", settings("PreToolUse", recorder.script("hook", "exit 1")))

    answers = [agents.engine("code-agent", bash("ls")).answer["allowed"] for _ in range(2)]

    assert answers == [False, False]
    assert recorder.order == ["hook", "hook"]


@pytest.mark.parametrize(
    ("then", "result"),
    [
        pytest.param("exit 0", {"decision": "allow"}, id="silence allows"),
        pytest.param("echo fine", {"output": "fine", "decision": "allow"}, id="text is kept"),
        pytest.param("echo hm >&2", {"error": "hm", "decision": "allow"}, id="what it complains of is kept"),
        pytest.param(
            """echo '{"decision":"continue"}'""",
            {"output": '{"decision":"continue"}', "decision": "continue"},
            id="continue",
        ),
        pytest.param(
            """echo '{"decision":"block","reason":"no"}'""",
            {"output": '{"decision":"block","reason":"no"}', "error": "no", "decision": "block"},
            id="a block in JSON",
        ),
    ],
)
def test_a_hook_result_holds_what_the_hook_said(
    then: str, result: Json, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write("~/.claude/settings.json", settings("PreToolUse", recorder.script("hook", then)))

    answer = agents.engine("code-agent", bash("ls")).answer

    allowed = result["decision"] != "block"
    assert answer == {"allowed": allowed, "results": [{"hookId": "hook", "success": True, **result}]}


def test_no_hooks_allow(agents: Agents) -> None:
    assert agents.engine("code-agent", bash("ls")).answer == {"allowed": True, "results": []}


@pytest.mark.parametrize(
    ("entry", "seconds"),
    [
        pytest.param({"type": "command", "command": "x"}, 5.0, id="default"),
        pytest.param({"type": "command", "command": "x", "timeout": 5000}, 5.0, id="milliseconds"),
        pytest.param({"type": "command", "command": "x", "timeout": 250.5}, 0.2505, id="a fraction"),
        pytest.param({"type": "prompt", "prompt": "x"}, 10.0, id="default of prompts"),
        pytest.param({"type": "command", "command": "x", "timeout": 10**400}, 1_000_000.0, id="for ever"),
    ],
)
def test_timeouts_are_milliseconds(entry: Json, seconds: float, place: Home, agents: Agents) -> None:
    place.write("~/.claude/settings.json", settings("PreToolUse", entry))

    assert [hook.timeout for hook in agents.load("code-agent")] == [pytest.approx(seconds)]


@pytest.mark.parametrize(
    ("matcher", "tool", "runs"),
    [
        ("Bash", "Bash", True),
        ("Bash", "BashOutput", False),
        ("Bash", "bash", False),
        ("Write|Edit", "Edit", True),
        ("Write|Edit", "MultiEdit", False),
        (".*", "anything", True),
        ("*", "anything", True),
        ("", "anything", True),
        ("mcp__.*", "mcp__x__y", True),
        ("mcp__.*", "mcp", False),
        ("B(ash", "Read", True),
    ],
)
def test_a_matcher_is_for_the_whole_name(matcher: str, tool: str, runs: bool, place: Home, agents: Agents) -> None:
    place.write("~/.claude/settings.json", settings("PreToolUse", "exit 1", matcher=matcher))

    answer = agents.engine("code-agent", event("PreToolUse", toolName=tool, input={})).answer

    assert answer["allowed"] is not runs


@pytest.mark.parametrize("matcher", ["startup", "Bash", None])
def test_a_matcher_says_nothing_where_there_is_no_tool(matcher: str | None, place: Home, agents: Agents) -> None:
    group = {"matcher": matcher, "hooks": [{"type": "command", "command": "exit 1"}]}
    place.write("~/.claude/settings.json", {"hooks": {"SessionStart": [group]}})

    assert agents.engine("code-agent", event("SessionStart")).answer["allowed"] is False


def test_prompt_hooks_never_let_a_call_through_silently(place: Home, agents: Agents) -> None:
    handler = {"type": "prompt", "prompt": "Is $COMMAND safe?", "timeout": 10000}
    place.write("~/.claude/settings.json", settings("PreToolUse", handler))

    result = agents.engine("code-agent", bash("ls"))

    assert result.answer["allowed"] is False
    assert result.answer["results"][0]["success"] is False


# --- more than a variable can hold -------------------------------------------------------------------

CHECK_VARIABLE = ': ; [[ "$TOOL_INPUT$COMMAND" == *"rm -rf"* ]] && exit 1; exit 0'


@pytest.mark.parametrize(
    ("then", "extra", "allowed"),
    [
        pytest.param(CHECK_VARIABLE, {}, False, id="reads only the variable"),
        pytest.param("exit 0", {}, True, id="reads stdin"),
        pytest.param(': ; cat "$FAIRLEAD_INPUT_FILE" > /dev/null', {}, True, id="reads the file"),
        pytest.param(CHECK_VARIABLE, {"reads": "stdin"}, True, id="says that it reads stdin"),
        pytest.param(": ; echo own >&2; exit 1", {}, False, id="blocks by itself"),
    ],
)
def test_a_hook_that_cannot_have_seen_the_call_does_not_let_it_through(
    then: str, extra: Json, allowed: bool, place: Home, agents: Agents, recorder: Recorder
) -> None:
    handler = {"type": "command", "command": recorder.script("hook", then), **extra}
    place.write("~/.claude/settings.json", settings("PreToolUse", handler))

    answer = agents.engine("code-agent", bash("x" * BIG + "; rm -rf /")).answer

    assert answer["allowed"] is allowed, answer
    if then == CHECK_VARIABLE and not allowed:
        assert "131,072 bytes" in answer["results"][0]["error"]
        assert "TOOL_INPUT and COMMAND" in answer["results"][0]["error"]
    if "own" in then:
        assert answer["results"][0]["error"] == "own"


@pytest.mark.parametrize("size", [100, BIG - 100, BIG, 4 * BIG])
def test_stdin_and_the_file_carry_all_of_it(size: int, place: Home, agents: Agents, recorder: Recorder) -> None:
    copy = place.root / "copy"
    then = f'[ -n "$FAIRLEAD_INPUT_FILE" ] && cp "$FAIRLEAD_INPUT_FILE" {copy}; exit 0'
    place.write("~/.claude/settings.json", settings("PreToolUse", recorder.script("hook", then)))

    agents.engine("code-agent", bash("y" * size))

    assert recorder.stdin("hook")["payload"]["input"]["command"] == "y" * size
    seen = recorder.env("hook")
    if "COMMAND" in seen:
        assert seen["COMMAND"] == "y" * size
    else:
        assert json.loads(copy.read_text()) == recorder.stdin("hook")
    left = seen.get("FAIRLEAD_INPUT_FILE")
    assert left is None or not place.root.joinpath(left).exists(), "the private file is gone afterwards"


def test_a_large_prompt_is_on_stdin(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write("~/.claude/settings.json", settings("UserPromptSubmit", recorder.script("hook")))

    answer = agents.engine("code-agent", event("UserPromptSubmit", prompt="z" * 2 * BIG)).answer

    assert answer["allowed"] is True
    assert len(recorder.stdin("hook")["payload"]["prompt"]) == 2 * BIG


@pytest.mark.parametrize(("extra", "allowed"), [({}, False), ({"reads": "stdin"}, True)])
def test_a_nul_in_the_command_does_not_hide_it(
    extra: Json, allowed: bool, place: Home, agents: Agents, recorder: Recorder
) -> None:
    handler = {"type": "command", "command": recorder.script("hook", CHECK_VARIABLE), **extra}
    place.write("~/.claude/settings.json", settings("PreToolUse", handler))

    answer = agents.engine("code-agent", bash("a\0b")).answer

    assert answer["allowed"] is allowed, answer
    assert allowed or "a NUL, which cannot be in COMMAND" in answer["results"][0]["error"]


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "\udfff x", "\N{PILE OF POO}", "\x1b[31m"])
@pytest.mark.parametrize("name", ["UserPromptSubmit", "PostToolUse"])
def test_odd_text_arrives_as_it_was(name: str, text: str, place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write("~/.claude/settings.json", settings(name, recorder.script("hook")))
    payload = {"prompt": text} if name == "UserPromptSubmit" else {"toolName": "T", "input": {"a": text}}

    assert agents.engine("code-agent", event(name, **payload)).answer["allowed"] is True

    assert recorder.stdin("hook")["payload"] == payload


# --- who is asked, and who is trusted ----------------------------------------------------------------


def test_an_untrusted_project_runs_nothing_and_is_named(place: Home, agents: Agents, recorder: Recorder) -> None:
    both = recorder.script("both", "exit 1")
    place.write(".claude/settings.json", settings("PreToolUse", recorder.script("theirs", "exit 1"), both))
    place.write("~/.claude/settings.json", settings("PreToolUse", recorder.script("mine"), both))

    result = agents.engine("code-agent", bash("ls"), trust_project=False)

    assert recorder.order == ["mine", "both"], "what the user has too still runs"
    assert [each["hookId"] for each in result.answer["results"]] == ["mine", "both#2"]
    note = next(note for note in result.notes if "not trusted" in note)
    assert "theirs" in note
    assert str(place.project / ".claude/settings.json") in note


def test_the_program_fires(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(".claude/settings.json", settings("PreToolUse", "exit 1"))

    trusted = fairlead("fire", "--agent", "code-agent", "--trust-project", stdin=bash("ls"))
    untrusted = fairlead("fire", "--agent", "code-agent", stdin=bash("ls"))

    assert (trusted.code, trusted.json["allowed"]) == (0, False)
    assert (untrusted.code, untrusted.json["allowed"]) == (0, True)
    assert "not trusted: exit" in untrusted.err


# --- as one of its hooks -----------------------------------------------------------------------------


@pytest.fixture
def guarded(place: Home) -> None:
    """A hook of another system, which blocks `rm`."""
    handler = {"type": "command", "command": "grep -q '\"rm' && { echo no rm >&2; exit 2; }; exit 0"}
    hooks = {name: [{"hooks": [handler]}] for name in ("PreToolUse", "UserPromptSubmit")}
    profile = {"hooks": hooks}
    place.write("~/.codemie/codemie-cli.config.json", {"activeProfile": "p", "profiles": {"p": profile}})


@pytest.mark.parametrize(
    ("command", "code"), [pytest.param("rm x", 1, id="blocked"), pytest.param("ls", 0, id="allowed")]
)
@pytest.mark.usefixtures("guarded")
def test_it_is_answered_by_exit_code(command: str, code: int, fairlead: Callable[..., Ran]) -> None:
    variables = {"SESSION_ID": "s", "TOOL_NAME": "Bash", "TOOL_INPUT": json.dumps({"command": command})}

    by_variables = fairlead("hook", "--agent", "code-agent", "--event", "PreToolUse", env=variables)
    by_stdin = fairlead("hook", "--agent", "code-agent", stdin=bash(command))

    for ran in (by_variables, by_stdin):
        assert ran.code == code
        assert ran.out == (b"no rm\n" if code else b"")
        assert ("no rm" in ran.err) is bool(code)


@pytest.mark.parametrize(
    ("stdin", "env"),
    [
        pytest.param(b"", {}, id="nothing"),
        pytest.param(b"[]", {}, id="a list"),
        pytest.param(b'{"type":"PreToolUse"}', {}, id="no tool"),
        pytest.param(b'{"payload":{}}', {}, id="no type"),
        pytest.param(b'{"type":"PreToolUse","payload":"x"}', {}, id="no payload"),
        pytest.param(b"", {"SESSION_ID": "s", "TOOL_NAME": "T", "TOOL_INPUT": "{"}, id="half an input"),
    ],
)
def test_an_event_that_cannot_be_read_is_blocked(stdin: bytes, env: Json, fairlead: Callable[..., Ran]) -> None:
    words = ("--event", "PreToolUse") if env else ()
    ran = fairlead("hook", "--agent", "code-agent", *words, stdin=stdin, env=env)
    assert (ran.code, ran.out) == (1, b"")
    assert ran.err.startswith("Fairlead: ")

    fired = fairlead("fire", "--agent", "code-agent", *words, stdin=stdin, env=env)
    assert (fired.code, fired.json["allowed"]) == (0, False)


# --- mistakes ----------------------------------------------------------------------------------------

GOOD = '{"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 1"}]}'


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        pytest.param('"PreTooluse": [],', "3:2 unknown event 'PreTooluse' (did you mean 'PreToolUse'?)", id="event"),
        pytest.param('"Stop": {},', "3:2 Stop must be a list, not an object", id="no list"),
        pytest.param('"Stop": ["x"],', "3:11 each of Stop must be an object, not a string", id="no group"),
        pytest.param('"Stop": [{}],', "3:11 hooks must be a list, not null", id="a group without hooks"),
        pytest.param(
            '"Stop": [{"hooks": [{"type": "comand", "command": "x"}]}],',
            "3:23 unknown type 'comand' (one of: command, prompt)",
            id="type",
        ),
        pytest.param('"Stop": [{"hooks": [{}]}],', "3:22 type is missing (one of: command, prompt)", id="no type"),
        pytest.param(
            '"Stop": [{"hooks": [{"command": "x"}]}],',
            '3:22 type is missing (taken as "type": "command")',
            id="type can be guessed",
        ),
        pytest.param('"Stop": [{"hooks": [{"type": "command"}]}],', "3:22 command is missing", id="no command"),
        pytest.param(
            '"Stop": [{"hooks": [{"type": "command", "command": 5}]}],',
            "3:42 command must be a string, not a number",
            id="command",
        ),
        pytest.param(
            '"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": "5"}]}],',
            "3:58 timeout must be a number, not a string",
            id="timeout",
        ),
        pytest.param(
            '"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": 0}]}],',
            "3:58 timeout must be more than 0 (5 s is used)",
            id="no time",
        ),
        pytest.param(
            '"Stop": [{"matcher": 5, "hooks": [{"type": "command", "command": "x"}]}],',
            "3:12 matcher must be a string, not a number (until then it matches everything)",
            id="matcher",
        ),
        pytest.param(
            '"Stop": [{"macher": "B", "hooks": [{"type": "command", "command": "x"}]}],',
            "3:12 unknown key 'macher' (did you mean 'matcher'?)",
            id="a slip in a group",
        ),
        pytest.param(
            '"Stop": [{"hooks": [{"type": "command", "command": "x", "time_out": 5}]}],',
            "3:58 unknown key 'time_out' (did you mean 'timeout'?)",
            id="a slip in a handler",
        ),
        pytest.param(
            '"Stop": [{"type": "command", "command": "x"}],',
            '3:11 a handler stands where a matcher group is needed (write {"hooks": [ … ]} around it; '
            "until then it is taken as if it were)",
            id="no group around it",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_place_and_the_rest_stays(
    wrong: str, problem: str, agents: Agents, problems: Callable[..., list[str]]
) -> None:
    text = f'{{"hooks":\n{{\n {wrong}\n "PreToolUse": [{GOOD}]\n}}}}\n'

    assert problems("code-agent", "~/.claude/settings.json", text) == [problem]

    assert agents.engine("code-agent", bash("ls")).answer["allowed"] is False
    assert any(problem.split(" ", 1)[1] in note for note in agents.engine("code-agent", bash("ls")).notes)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param('{\n "hooks": {,}\n}', "2:12 not JSON", id="not JSON"),
        pytest.param("[]", "1:1 settings must be an object, not a list", id="a list"),
        pytest.param('{"hooks": 5}', "1:2 hooks must be an object, not a number", id="a number"),
    ],
)
def test_a_file_that_cannot_be_used_is_reported(text: str, problem: str, problems: Callable[..., list[str]]) -> None:
    (found,) = problems("code-agent", "~/.claude/settings.json", text)
    assert found.startswith(problem)


def test_a_handler_without_its_group_keeps_its_matcher(place: Home, agents: Agents) -> None:
    handler = {"matcher": "Bash", "type": "command", "command": "exit 1"}
    place.write("~/.claude/settings.json", {"hooks": {"PreToolUse": [handler]}})

    assert agents.engine("code-agent", bash("ls")).answer["allowed"] is False
    assert agents.engine("code-agent", event("PreToolUse", toolName="Read")).answer["allowed"] is True
