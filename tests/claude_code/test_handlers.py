"""How Claude Code's handlers are run: forms, time limits, failure, background, and what a hook gets."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from fairlead import Hooks
from tests.claude_code.conftest import Claude, says
from tests.claude_code.payloads import EVENTS, Json
from tests.conftest import Home

CONTEXT = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "noted"}}
NOT_INSTALLED = "no-such-program-here"


def only(hooks: Hooks) -> Any:
    [hook] = hooks
    return hook


# --- forms -------------------------------------------------------------------------------------------


def test_the_shell_form_is_a_shell_line(claude: Claude) -> None:
    claude.configure("PreToolUse", 'test "$PWD" = "$CLAUDE_PROJECT_DIR" && echo \'no; really\' >&2 && exit 2')
    assert claude.fire("PreToolUse").reason == "no; really"


def test_the_exec_form_starts_the_program_itself_with_its_placeholders_filled(claude: Claude, place: Home) -> None:
    place.script(".claude/hooks/show", 'printf "%s|" "$@" >&2; exit 2')
    args = ["$HOME", "a b", "${CLAUDE_PROJECT_DIR}/x", "${CLAUDE_PLUGIN_ROOT}", "*"]
    claude.configure(
        "PreToolUse", {"type": "command", "command": "${CLAUDE_PROJECT_DIR}/.claude/hooks/show", "args": args}
    )
    reason = claude.fire("PreToolUse").reason
    assert reason == f"$HOME|a b|{place.project}/x|${{CLAUDE_PLUGIN_ROOT}}|*|"


def test_the_exec_form_of_a_plugin_knows_its_root(claude: Claude, place: Home) -> None:
    root = place.home / ".claude/plugins/kit"
    place.script("~/.claude/plugins/kit/bin/show", 'printf "%s|" "$@" "$CLAUDE_PLUGIN_ROOT" >&2; exit 2')
    handler = {"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/bin/show", "args": ["${CLAUDE_PLUGIN_ROOT}/x"]}
    claude.configure("PreToolUse", handler, file="~/.claude/plugins/kit/hooks/hooks.json")
    assert claude.fire("PreToolUse").reason == f"{root}/x|{root}|"


def test_no_arguments_is_still_the_exec_form(claude: Claude) -> None:
    claude.configure("PreToolUse", {"type": "command", "command": "exit 2", "args": [], "onFailure": "block"})
    decision = claude.fire("PreToolUse")
    assert "failed" in decision.reason


def test_an_argument_that_is_no_text_is_reported_and_the_hook_still_runs(claude: Claude) -> None:
    handler = {"type": "command", "command": "/bin/sh", "args": ["-c", "echo $0 >&2; exit 2", 8080]}
    assert claude.problems(claude.settings("PreToolUse", handler)) == [
        "error: each of args must be a string, not a number"
    ]
    assert claude.fire("PreToolUse").reason == "8080"


def test_the_bash_that_is_asked_for_is_bash(claude: Claude) -> None:
    command = "[[ -n $BASH_VERSION ]] && echo bash >&2 && exit 2"
    claude.configure("PreToolUse", {"type": "command", "command": command, "shell": "bash"})
    assert claude.fire("PreToolUse").reason == "bash"


def test_powershell_gets_the_line_as_it_understands_it(claude: Claude) -> None:
    handler = {"type": "command", "command": "& ${CLAUDE_PROJECT_DIR}/x.ps1", "shell": "powershell"}
    claude.configure("PreToolUse", handler)
    command = only(claude.load()).handler
    assert command.command == "pwsh"
    assert command.args[-1] == "& ${env:CLAUDE_PROJECT_DIR}/x.ps1"


def test_an_unknown_shell_is_reported_and_the_usual_one_used(claude: Claude) -> None:
    handler = {"type": "command", "command": "exit 2", "shell": "fish"}
    assert claude.problems(claude.settings("PreToolUse", handler)) == ["error: unknown shell 'fish'"]
    assert claude.fire("PreToolUse").denies


# --- time --------------------------------------------------------------------------------------------

LIMITS = [
    ("PreToolUse", {}, 600),
    ("PreToolUse", {"timeout": 5}, 5),
    ("PreToolUse", {"timeout": 0.5}, 0.5),
    ("UserPromptSubmit", {}, 30),
    ("UserPromptSubmit", {"timeout": 90}, 90),
    ("PreModelSwitch", {}, 30),
    ("PostModelSwitch", {}, 30),
    ("MessageDisplay", {}, 10),
    ("PreToolUse", {"type": "prompt", "prompt": "?"}, 30),
    ("PreToolUse", {"type": "agent", "prompt": "?"}, 60),
    ("SessionEnd", {}, 1.5),
    ("SessionEnd", {"timeout": 20}, 20),
    ("SessionEnd", {"timeout": 300}, 60),
]


@pytest.mark.parametrize(("event", "fields", "seconds"), LIMITS, ids=str)
def test_time_limits_are_seconds_with_a_default_for_each_event(
    event: str, fields: Json, seconds: float, claude: Claude
) -> None:
    claude.configure(event, {"type": "command", "command": "x", **fields})
    assert only(claude.load()).timeout == seconds


def test_session_end_hooks_share_the_longest_time_of_the_settings_files(claude: Claude) -> None:
    claude.configure("SessionEnd", "one", {"type": "command", "command": "two", "timeout": 9})
    claude.configure(
        "SessionEnd",
        {"type": "command", "command": "three", "timeout": 40},
        file="~/.claude/plugins/kit/hooks/hooks.json",
    )
    assert [hook.timeout for hook in claude.load()] == [9, 9, 9]


def test_a_variable_gives_session_end_hooks_more_time(claude: Claude) -> None:
    claude.configure("SessionEnd", "one")
    hooks = claude.load(env={"CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS": "5000"})
    assert only(hooks).timeout == 5


@pytest.mark.parametrize(
    ("event", "denied"), [("PreToolUse", False), ("UserPromptSubmit", False), ("PreModelSwitch", True)]
)
def test_a_hook_that_takes_too_long_says_nothing_except_before_a_model_switch(
    event: str, claude: Claude, *, denied: bool
) -> None:
    claude.configure(event, {"type": "command", "command": "echo '{}'; sleep 60", "timeout": 0.3})
    decision = claude.fire(event)
    assert decision.denies is denied
    assert any("timed out" in note for note in decision.notes)


# --- failure -----------------------------------------------------------------------------------------

FAILURES: list[tuple[str, Json]] = [
    ("exit 1", {"command": "exit 1"}),
    ("exit 3 with text", {"command": "echo broken >&2; exit 3"}),
    ("not found", {"command": NOT_INSTALLED}),
    ("cannot start", {"command": f"/{NOT_INSTALLED}", "args": []}),
    ("too slow", {"command": "sleep 60", "timeout": 0.3}),
    ("killed", {"command": "kill -9 $$"}),
    ("broken JSON", {"command": "echo '{bad json}'"}),
    ("half of JSON", {"command": """echo '{"decision": "block"'"""}),
    ("wrong hookEventName", {"command": says({"hookSpecificOutput": {"hookEventName": "Stop"}})}),
    ("mistyped field", {"command": says({"continue": "yes"})}),
]


@pytest.mark.parametrize("handler", [case[1] for case in FAILURES], ids=[case[0] for case in FAILURES])
def test_a_hook_that_fails_is_reported_and_lets_go(handler: Json, claude: Claude) -> None:
    claude.configure("PreToolUse", {"type": "command", **handler})
    decision = claude.fire("PreToolUse")
    assert decision.decision == "none"
    assert any("failed" in note for note in decision.notes)


@pytest.mark.parametrize("handler", [case[1] for case in FAILURES], ids=[case[0] for case in FAILURES])
def test_a_hook_that_fails_blocks_where_its_author_says_so(handler: Json, claude: Claude) -> None:
    claude.configure("PreToolUse", {"type": "command", "onFailure": "block", **handler})
    assert claude.fire("PreToolUse").denies


@pytest.mark.parametrize("event", ["Stop", "SubagentStop", "TaskCompleted", "TeammateIdle"])
def test_on_failure_keeps_nobody_working(event: str, claude: Claude) -> None:
    claude.configure(event, {"type": "command", "command": "exit 1", "onFailure": "block"})
    assert not claude.fire(event).denies


@pytest.mark.parametrize("background", ["async", "asyncRewake"])
def test_on_failure_says_nothing_about_what_runs_in_the_background(background: str, claude: Claude) -> None:
    claude.configure("PreToolUse", {"type": "command", "command": "exit 1", "onFailure": "block", background: True})
    assert not claude.fire("PreToolUse").denies


def test_a_wrong_on_failure_is_reported_and_blocks(claude: Claude) -> None:
    handler = {"type": "command", "command": "exit 1", "onFailure": "deny"}
    assert claude.problems(claude.settings("PreToolUse", handler)) == ["error: onFailure is 'deny'"]
    assert claude.fire("PreToolUse").denies


# --- in the background -------------------------------------------------------------------------------


@pytest.mark.parametrize("background", ["async", "asyncRewake"])
@pytest.mark.parametrize(
    "command",
    [
        "exit 2",
        says({"decision": "block", "reason": "no"}),
        says({"continue": False}),
        says({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}),
        says({"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "x"}}}),
    ],
    ids=["exit 2", "block", "stop", "allow", "rewrite"],
)
def test_what_runs_in_the_background_decides_nothing(command: str, background: str, claude: Claude) -> None:
    claude.configure("PreToolUse", {"type": "command", "command": command, background: True})
    decision = claude.fire("PreToolUse")
    assert (decision.decision, decision.stop, decision.updated_input) == ("none", False, None)


# --- what a hook gets --------------------------------------------------------------------------------


def recorder(place: Home, name: str = "record") -> str:
    seen = place.root / name
    return f"cat > {seen}.json; env -0 > {seen}.env; pwd > {seen}.pwd; (: < /dev/tty) 2> {seen}.tty; exit 0"


def given_env(place: Home) -> dict[str, str]:
    pairs = (place.root / "record.env").read_text().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if pair)


@pytest.mark.parametrize("event", EVENTS)
def test_a_hook_gets_the_event_whole_on_stdin(event: str, claude: Claude, place: Home) -> None:
    claude.configure(event, {"type": "command", "command": recorder(place), "timeout": 30})
    claude.fire(event)
    assert json.loads((place.root / "record.json").read_text()) == claude.payload(event)


def test_the_fields_that_every_hook_expects_are_there_for_other_agents_events_too(claude: Claude, place: Home) -> None:
    claude.configure("PreToolUse", recorder(place))
    claude.load().fire_sync(_bare())
    payload = json.loads((place.root / "record.json").read_text())
    assert payload == {
        "session_id": "",
        "transcript_path": "",
        "cwd": str(place.project),
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
    }


def _bare() -> Any:
    from fairlead import PreToolUse

    return PreToolUse(tool_name="Bash", tool_input={"command": "ls"})


def test_the_environment_names_project_session_and_effort(claude: Claude, place: Home) -> None:
    claude.configure("PreToolUse", recorder(place))
    claude.fire("PreToolUse")
    env = given_env(place)
    assert env["CLAUDE_PROJECT_DIR"] == str(place.project)
    assert env["CLAUDE_CODE_SESSION_ID"] == EVENTS["PreToolUse"]["session_id"]
    assert env["CLAUDE_EFFORT"] == "high"


def test_nothing_is_inherited_that_belongs_to_another_hook(claude: Claude, place: Home) -> None:
    claude.configure("PreToolUse", recorder(place))
    foreign = {"CLAUDE_PLUGIN_ROOT": "/else", "CLAUDE_ENV_FILE": "/else", "CLAUDE_CODE_SESSION_ID": "else"}
    claude.fire("PreToolUse", hooks=claude.load(env=foreign))
    env = given_env(place)
    assert "CLAUDE_PLUGIN_ROOT" not in env
    assert "CLAUDE_ENV_FILE" not in env
    assert env["CLAUDE_CODE_SESSION_ID"] != "else"


@pytest.mark.parametrize("event", ["SessionStart", "Setup", "CwdChanged", "FileChanged"])
def test_the_file_for_variables_reaches_the_hooks_that_may_write_it(event: str, claude: Claude, place: Home) -> None:
    claude.configure(event, recorder(place))
    claude.fire(event, hooks=claude.load(env={"CLAUDE_ENV_FILE": "/tmp/env"}))
    assert given_env(place)["CLAUDE_ENV_FILE"] == "/tmp/env"


def test_a_hook_has_no_terminal(claude: Claude, place: Home) -> None:
    claude.configure("PreToolUse", recorder(place))
    claude.fire("PreToolUse")
    assert (place.root / "record.tty").read_text()


def test_a_hook_runs_where_the_agent_works(claude: Claude, place: Home) -> None:
    inside = place.project / "deep" / "er"
    inside.mkdir(parents=True)
    claude.configure("PreToolUse", recorder(place))
    claude.fire("PreToolUse", cwd=str(inside))
    assert (place.root / "record.pwd").read_text().strip() == os.path.realpath(inside)


def test_a_hook_runs_in_the_project_when_the_directory_is_gone(claude: Claude, place: Home) -> None:
    claude.configure("PreToolUse", recorder(place))
    claude.fire("PreToolUse", cwd=str(place.project / "gone"))
    assert (place.root / "record.pwd").read_text().strip() == os.path.realpath(place.project)
    assert json.loads((place.root / "record.json").read_text())["cwd"] == str(place.project / "gone")


def test_a_hook_runs_at_home_when_the_project_is_gone_too(claude: Claude, place: Home) -> None:
    claude.configure("PreToolUse", recorder(place))
    hooks = claude.load()
    place.project.rmdir()
    claude.fire("PreToolUse", hooks=hooks)
    assert (place.root / "record.pwd").read_text().strip() == os.path.realpath(place.home)
