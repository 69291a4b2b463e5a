"""Hooks of fairlead.toml as they run: exits, output, failures, functions and scripts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead import Decision, Event, Hooks, PostToolUse, PreToolUse, SessionStart, Stop, UserPromptSubmit
from tests.conftest import Home, Ran

Fire = Callable[..., Decision]
MINE = "~/.config/fairlead/fairlead.toml"


def bash(command: str = "ls", **more: Any) -> PreToolUse:
    return PreToolUse(session_id="s1", tool_name="Bash", tool_input={"command": command}, **more)


@pytest.fixture
def fire(place: Home) -> Fire:
    """Write hooks, fire an event in the project, return the decision."""

    def run(toml: str, event: Event | None = None, *, file: str = "fairlead.toml") -> Decision:
        place.write(file, toml)
        hooks = Hooks.load(place.project, environ=place.environ, managed=str(place.root / "etc"), trust_project=True)
        assert [problem for problem in hooks.problems if problem.level == "error"] == []
        return hooks.fire_sync((event or bash()).but(cwd=str(place.project)))

    return run


def hook(run: str, on: str = "PreToolUse", **more: Any) -> str:
    tables = {key: more.pop(key) for key in ("env",) if key in more}
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in more.items())
    lines += "".join(
        f"{key}.{name} = {json.dumps(text)}\n" for key, table in tables.items() for name, text in table.items()
    )
    return f"[[hook]]\non = {json.dumps(on)}\nrun = {json.dumps(run)}\n{lines}\n"


EVENTS = {
    "PreToolUse": bash(),
    "UserPromptSubmit": UserPromptSubmit(prompt="hi"),
    "Stop": Stop(),
    "PostToolUse": PostToolUse(tool_name="Bash"),
}


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS.keys())
@pytest.mark.parametrize("code", [1, 2, 3, 42, 125, 255])
def test_any_exit_but_0_blocks_with_the_end_of_the_output(fire: Fire, event: Event, code: int) -> None:
    decision = fire(hook(f"echo out; echo err >&2; exit {code}", event.name), event)
    assert (decision.word, decision.reason) == ("block", "out\nerr")
    assert decision.notes == ()


def test_a_block_without_output_names_the_hook_and_the_code(fire: Fire) -> None:
    assert fire(hook("exit 3", name="check")).reason == "check exited with 3"


def test_a_long_output_ends_up_as_its_end(fire: Fire) -> None:
    reason = fire(hook("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo the point; exit 1")).reason
    assert reason.endswith("x\nthe point")
    assert len(reason) == 2000


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS.keys())
def test_exit_0_without_json_says_nothing(fire: Fire, event: Event) -> None:
    decision = fire(hook("echo all fine >&2", event.name), event)
    assert decision.decision == "none"
    assert decision.for_model == ""


CONTEXT = ["SessionStart", "UserPromptSubmit", "UserPromptExpansion", "PostModelSwitch"]


@pytest.mark.parametrize("name", [*CONTEXT, "PreToolUse", "PostToolUse", "Stop", "Notification"])
def test_plain_text_is_context_for_four_events_only(fire: Fire, name: str) -> None:
    event = Event.from_payload({"hook_event_name": name, "tool_name": "Bash"})
    assert fire(hook("echo remember", name), event).context == ("remember" if name in CONTEXT else "")


DENY = {
    "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "r"}
}
OUTPUTS: dict[str, tuple[str, dict[str, Any]]] = {
    "a permission decision": (json.dumps(DENY), {"decision": "deny", "reason": "r"}),
    "over several lines": (json.dumps(DENY, indent=2), {"decision": "deny", "reason": "r"}),
    "below other lines": (f"checking\n{json.dumps(DENY)}", {"decision": "deny", "reason": "r"}),
    "an old decision": ('{"decision": "block", "reason": "r"}', {"decision": "deny", "reason": "r"}),
    "a message for the user": ('{"systemMessage": "m"}', {"decision": "none", "user_message": "m"}),
    "the end of the turn": ('{"continue": false, "stopReason": "r"}', {"stop": True, "stop_reason": "r"}),
    "JSON about something else": ('{"vulnerabilities": 0}', {"decision": "none"}),
    "a list": ("[1, 2]", {"decision": "none"}),
}


@pytest.mark.parametrize(("text", "expected"), OUTPUTS.values(), ids=OUTPUTS.keys())
def test_json_on_stdout_is_read_as_claude_codes(fire: Fire, place: Home, text: str, expected: dict[str, Any]) -> None:
    place.write("answer", text)
    decision = fire(hook("cat answer"))
    assert {name: getattr(decision, name) for name in expected} == expected
    assert decision.notes == ()


@pytest.mark.parametrize(
    "text",
    ['{"decision": "reject"}', '{"permissionDecision": "deny"}', '{"decision": deny}', '{"decision": "deny",}',
     '{"hookSpecificOutput": {"permissionDecision": "denied"}}'],
)  # fmt: skip
def test_a_verdict_that_cannot_be_understood_is_a_failure(fire: Fire, place: Home, text: str) -> None:
    place.write("answer", text)
    decision = fire(hook("cat answer"))
    assert decision.denies
    assert "failed" in decision.reason


def test_an_exit_that_blocks_cannot_be_undone_by_json(fire: Fire, place: Home) -> None:
    place.write("answer", json.dumps({"decision": "approve", "reason": "fine"}))
    assert fire(hook("cat answer; exit 1")).denies


def test_an_exit_that_blocks_takes_its_words_from_json_that_refuses(fire: Fire, place: Home) -> None:
    place.write("answer", json.dumps(DENY))
    decision = fire(hook("echo noise >&2; cat answer; exit 1"))
    assert (decision.decision, decision.reason) == ("deny", "r")


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS.keys())
def test_an_exit_that_blocks_does_so_also_with_json_without_end(fire: Fire, event: Event) -> None:
    decision = fire(hook("printf '{\"a\": \"'; head -c 2000000 /dev/zero | tr '\\0' x; exit 1", event.name), event)
    assert decision.denies


FAILURES = {
    "not there": ("./missing.sh", "missing"),
    "not there in a shell": ("./missing.sh; exit $?", "127"),
    "not executable": ("./plain.sh", ""),
    "exit 126": ("exit 126", "126"),
    "exit 127": ("exit 127", "127"),
    "killed": ("kill -KILL $$", "signal 9"),
    "ended": ("kill -TERM $$", "signal 15"),
    "too slow": ("sleep 60", "timed out after 0.2 s"),
}


@pytest.mark.parametrize("on_error", ["", "allow", "deny"], ids=["default", "allow", "deny"])
@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS.keys())
@pytest.mark.parametrize(("command", "said"), FAILURES.values(), ids=FAILURES.keys())
def test_a_hook_without_a_verdict_leads_where_on_error_says(
    fire: Fire, place: Home, command: str, said: str, event: Event, on_error: str
) -> None:
    place.write("plain.sh", "#!/bin/sh\nexit 0\n")
    more = {"on_error": on_error} if on_error else {}
    limit = "200ms" if command.startswith("sleep") else "60s"
    decision = fire(hook(command, event.name, timeout=limit, **more), event, file=MINE)
    default = "deny" if event.name in ("PreToolUse", "UserPromptSubmit") else "allow"
    assert decision.decision == {"deny": "deny", "allow": "none"}[on_error or default]
    assert len(decision.notes) == 1
    assert said in decision.notes[0]


def test_permission_requests_are_guarded_too(fire: Fire) -> None:
    event = Event.from_payload({"hook_event_name": "PermissionRequest", "tool_name": "Bash"})
    assert fire(hook("exit 127", "PermissionRequest"), event).denies


def test_a_command_sees_the_event_and_its_variables(fire: Fire, place: Home) -> None:
    place.script("show.sh", "cat > seen.json; env > seen.env; pwd > seen.cwd")
    fire(hook("./show.sh", name="show", env={"LEVEL": "high"}))
    seen = json.loads((place.project / "seen.json").read_text())
    assert seen == {
        "hook_event_name": "PreToolUse",
        "session_id": "s1",
        "cwd": str(place.project),
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
    }
    env = dict(line.split("=", 1) for line in (place.project / "seen.env").read_text().splitlines() if "=" in line)
    assert env["FAIRLEAD_EVENT"] == "PreToolUse"
    assert env["FAIRLEAD_PROJECT_DIR"] == str(place.project)
    assert env["FAIRLEAD_SESSION_ID"] == "s1"
    assert env["FAIRLEAD_TOOL_NAME"] == "Bash"
    assert env["FAIRLEAD_HOOK_NAME"] == "show"
    assert env["LEVEL"] == "high"


def test_a_command_can_work_elsewhere(fire: Fire, place: Home) -> None:
    place.write("sub/file", "")
    fire(hook("pwd > here", cwd="sub"))
    assert (place.project / "sub" / "here").read_text().strip() == str(place.project / "sub")


@pytest.mark.parametrize(
    "lines",
    ['run = ["./show.sh", "a b", "$HOME", ""]', 'run = "./show.sh"\nargs = ["a b", "$HOME", ""]'],
    ids=["list", "args"],
)
def test_words_reach_a_program_as_they_are(fire: Fire, place: Home, lines: str) -> None:
    place.script("show.sh", 'printf "%s\\n" "$#" "$@" > words')
    fire(f'[[hook]]\non = "PreToolUse"\n{lines}\n')
    assert (place.project / "words").read_text() == "3\na b\n$HOME\n\n"


def test_a_tool_input_of_any_size_arrives_whole(fire: Fire, place: Home) -> None:
    decision = fire(hook("wc -c > size"), bash("x" * 1_000_000))
    assert decision.decision == "none"
    assert int((place.project / "size").read_text()) > 1_000_000


# --- when ------------------------------------------------------------------------------------------------------


def test_several_events_have_one_hook(fire: Fire) -> None:
    toml = hook("echo no; exit 1", on=["PreToolUse", "Stop"])  # type: ignore[arg-type]
    assert fire(toml).denies
    assert fire(toml, Stop()).denies
    assert not fire(toml, SessionStart()).denies


@pytest.mark.parametrize(
    ("more", "event", "runs"),
    [
        ({"tool": "Bash"}, bash(), True),
        ({"tool": "Edit"}, bash(), False),
        ({"tool": "Bash"}, SessionStart(source="startup"), True),
        ({"matcher": "startup"}, SessionStart(source="startup"), True),
        ({"matcher": "resume"}, SessionStart(source="startup"), False),
        ({"matcher": "Bash"}, bash(), True),
        ({"tool": "("}, bash(), True),
        ({"enabled": False}, bash(), False),
        ({"if": "Bash(ls *)"}, bash("ls -l"), True),
        ({"if": "Bash(git *)"}, bash("ls -l"), False),
        ({"if": "Bash(git *)"}, Stop(), True),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else getattr(value, "name", str(value)),
)
def test_a_hook_runs_when_it_says_so(fire: Fire, more: dict[str, Any], event: Event, runs: bool) -> None:
    decision = fire(hook("echo no; exit 1", "*", **more), event)
    assert decision.denies == runs
    assert runs or decision.reports[0].why


def test_hooks_before_a_tool_run_one_after_the_other_by_priority(fire: Fire, place: Home) -> None:
    toml = hook("echo a >> log") + hook("echo b >> log", priority=1) + hook("echo c >> log")
    fire(toml)
    assert (place.project / "log").read_text() == "b\na\nc\n"


def test_the_first_refusal_before_a_tool_ends_the_row(fire: Fire, place: Home) -> None:
    decision = fire(hook("echo first; exit 1", name="first") + hook("touch ran"))
    assert decision.reason == "first"
    assert not (place.project / "ran").exists()
    assert decision.reports[1].why == "first has decided already"


@pytest.mark.parametrize(
    ("event", "parallel"),
    [(bash(), True), (PostToolUse(tool_name="Bash"), False)],
    ids=["parallel before a tool", "after a tool"],
)
def test_hooks_that_run_side_by_side_can_meet(fire: Fire, place: Home, event: Event, parallel: bool) -> None:
    place.script("meet.sh", 'touch "$1"; for _ in $(seq 6000); do [ -e "$2" ] && exit 0; sleep 0.01; done; exit 1')
    more = {"parallel": True} if parallel else {}
    toml = hook("./meet.sh one two", event.name, **more) + hook("./meet.sh two one", event.name, **more)
    assert not fire(toml, event).denies


def test_hooks_that_differ_only_in_their_surroundings_all_run(fire: Fire, place: Home) -> None:
    place.write("sub/file", "")
    run = 'echo "$A" >> "$FAIRLEAD_PROJECT_DIR/log"'
    toml = hook(run, env={"A": "1"}) + hook(run, env={"A": "2"}) + hook(run, env={"A": "2"})
    fire(toml + hook(run, env={"A": "2"}, cwd="sub"))
    assert (place.project / "log").read_text() == "1\n2\n2\n"


def test_a_rewrite_is_seen_by_the_next_hook(fire: Fire, place: Home) -> None:
    place.write("answer", json.dumps({"hookSpecificOutput": {"updatedInput": {"command": "ls -l"}}}))
    decision = fire(hook("cat answer", priority=1) + hook("cat > seen.json"))
    assert decision.updated_input == {"command": "ls -l"}
    assert json.loads((place.project / "seen.json").read_text())["tool_input"] == {"command": "ls -l"}


# --- python ----------------------------------------------------------------------------------------------------


def module(place: Home, request: pytest.FixtureRequest, body: str, folder: str = "") -> str:
    """A module beside fairlead.toml, under a name of its own."""
    name = f"hooks_{abs(hash(request.node.name))}"
    place.write(f"{folder}{name}.py", f"from fairlead import deny\nimport asyncio, os, sys\n{body}\n")
    return name


FUNCTIONS = {
    "sync": "def check(event): return deny(f'no {event.command}')",
    "async": "async def check(event):\n    await asyncio.sleep(0)\n    return deny(f'no {event.command}')",
    "with a context": "def check(event, context): return deny(f'no {event.command}') if context.session_id else None",
    "async with a context": "async def check(event, context): return deny(f'no {event.command}')",
    "a dict": "def check(event): return {'decision': 'deny', 'reason': f'no {event.command}'}",
    "an object": "class C:\n    def __call__(self, event): return deny(f'no {event.command}')\ncheck = C()",
}


@pytest.mark.parametrize("body", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_a_function_beside_the_configuration_answers(
    fire: Fire, place: Home, body: str, request: pytest.FixtureRequest
) -> None:
    name = module(place, request, body)
    decision = fire(f'[[hook]]\non = "PreToolUse"\npython = "{name}:check"\n')
    assert (decision.decision, decision.reason, decision.notes) == ("deny", "no ls", ())


BROKEN = {
    "raises": ("def check(event): raise ValueError('boom')", "ValueError: boom"),
    "exits with 0": ("def check(event): sys.exit(0)", "SystemExit"),
    "exits with 0, async": ("async def check(event): sys.exit(0)", "SystemExit"),
    "exits on import": ("sys.exit(0)", "cannot import"),
    "fails on import": ("import no_such_module", "no_such_module"),
    "is not there": ("", "cannot import"),
    "is not callable": ("check = 3", "not a function"),
    "takes too much": ("def check(a, b, c): pass", "cannot be a hook"),
    "returns nonsense": ("def check(event): return False", "bool"),
    "takes too long": ("import time\ndef check(event): time.sleep(0.3)", "timed out"),
    "takes too long, async": ("async def check(event): await asyncio.sleep(60)", "timed out"),
}


@pytest.mark.parametrize(("body", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_a_function_that_fails_leads_where_on_error_says(
    fire: Fire, place: Home, body: str, said: str, request: pytest.FixtureRequest
) -> None:
    name = module(place, request, body, "~/.config/fairlead/")
    toml = f'[[hook]]\non = "PreToolUse"\npython = "{name}:check"\ntimeout = "100ms"\n'
    decision = fire(toml, file=MINE)
    assert decision.denies
    assert said in decision.reason
    assert fire(f'{toml}on_error = "allow"\n', file=MINE).allowed


def test_a_script_is_found_beside_the_configuration_and_answers_like_a_command(fire: Fire, place: Home) -> None:
    place.write("hooks/check.py", "import json, sys\nevent = json.load(sys.stdin)\nsys.exit(event['tool_name'])\n")
    decision = fire('[[hook]]\non = "PreToolUse"\npython = "hooks/check.py"\n')
    assert (decision.word, decision.reason) == ("block", "Bash")


def test_a_missing_script_is_a_failure_and_not_a_refusal_of_its_own(fire: Fire) -> None:
    toml = '[[hook]]\non = "Stop"\npython = "missing.py"\n'
    decision = fire(toml, Stop())
    assert decision.allowed
    assert "no such script" in decision.notes[0]


def test_reading_a_configuration_runs_nothing(place: Home, request: pytest.FixtureRequest) -> None:
    name = module(place, request, "open(os.path.join(os.path.dirname(__file__), 'imported'), 'w').close()")
    place.write("fairlead.toml", f'[[hook]]\non = "PreToolUse"\npython = "{name}:check"\n')
    hooks = Hooks.load(place.project, environ=place.environ, managed="/nowhere", trust_project=True)
    assert [h.handler.describe() for h in hooks] == [f"{name}:check"]
    assert not Path(place.project, "imported").exists()


def test_an_engine_finds_the_project_also_after_its_agent_has_gone_into_a_folder(
    place: Home, fairlead: Callable[..., Ran]
) -> None:
    place.write("fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "exit 1"\n')
    (place.project / "inside").mkdir()
    event = {
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {},
        "cwd": str(place.project / "inside"),
    }
    env = {"CLAUDE_PROJECT_DIR": str(place.project)}
    said = fairlead("fire", "--agent", "claude-code", "--trust-project", stdin=event, env=env)
    assert b"deny" in said.out
