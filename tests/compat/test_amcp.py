"""AMCP's programming interface: its names and signatures, its documented example, and whom it trusts."""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.compat import amcp
from fairlead.compat.amcp import (
    HookDecision,
    HookEvent,
    HookInput,
    HookOutput,
    HooksManager,
    get_hooks_manager,
    reset_hooks_manager,
    run_post_tool_use_hooks,
    run_pre_compact_hooks,
    run_pre_tool_use_hooks,
    run_session_end_hooks,
    run_session_start_hooks,
    run_stop_hooks,
    run_user_prompt_hooks,
)
from tests.conftest import SHARED, Home, needs_shared


@pytest.fixture(autouse=True)
def at_home(place: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", place.environ["HOME"])
    monkeypatch.chdir(place.project)
    reset_hooks_manager()
    yield
    reset_hooks_manager()


def user(place: Home, event: str, command: str, **more: Any) -> None:
    handler = {"matcher": "*", "type": "command", "command": command, **more}
    place.write("~/.config/amcp/hooks.json", {"hooks": {event: {"handlers": [handler]}}})


def project(place: Home, event: str, command: str, **more: Any) -> None:
    handler = {"matcher": "*", "type": "command", "command": command, **more}
    place.write(".amcp/hooks.json", {"hooks": {event: {"handlers": [handler]}}})


def answer(place: Home, **fields: Any) -> str:
    path = place.home / "answer.json"
    path.write_text(json.dumps(fields))
    return f"cat '{path}'"


async def write_file(**more: Any) -> HookOutput:
    return await run_pre_tool_use_hooks(
        session_id="my-session", tool_name="write_file", tool_input={"path": "/test.py", "content": "x"}, **more
    )


async def test_without_hooks_everything_goes_on() -> None:
    assert await write_file() == HookOutput()


async def test_a_denied_call_says_why(place: Home) -> None:
    user(place, "PreToolUse", "echo 'not here' >&2; exit 2")
    output = await write_file()
    assert output.decision == HookDecision.DENY
    assert output.decision_reason == "not here"
    assert (output.exit_code, output.stderr, output.stdout) == (2, "not here\n", "")
    assert output.success


async def test_changed_input_is_laid_over_the_old_one(place: Home) -> None:
    specific = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"path": "/other.py"}}
    user(place, "PreToolUse", answer(place, hookSpecificOutput=specific))
    output = await write_file()
    assert output.decision == HookDecision.ALLOW
    assert output.updated_input == {"path": "/other.py"}


async def test_everything_that_a_hook_can_say_arrives(place: Home) -> None:
    user(
        place,
        "PreToolUse",
        answer(place, **{"continue": False}, stopReason="enough", feedback="f", systemMessage="m", suppressOutput=True),
    )
    output = await write_file()
    assert (output.continue_execution, output.stop_reason) == (False, "enough")
    assert (output.feedback, output.system_message, output.suppress_output) == ("f", "m", True)
    assert output.decision == HookDecision.CONTINUE


async def test_a_changed_response_arrives(place: Home) -> None:
    specific = {"hookEventName": "PostToolUse", "updatedResponse": {"text": "b"}}
    user(place, "PostToolUse", f"cat > '{place.home}/seen.json'; " + answer(place, hookSpecificOutput=specific))
    output = await run_post_tool_use_hooks("s", "read_file", {"path": "x"}, {"text": "a"}, tool_use_id="t1")
    assert output.updated_response == {"text": "b"}
    seen = json.loads((place.home / "seen.json").read_text())
    assert (seen["tool_response"], seen["tool_input"], seen["tool_use_id"]) == ({"text": "a"}, {"path": "x"}, "t1")


async def test_a_refused_prompt_does_not_go_on(place: Home) -> None:
    user(place, "UserPromptSubmit", "echo no >&2; exit 2")
    output = await run_user_prompt_hooks("s", "hi")
    assert (output.continue_execution, output.decision, output.decision_reason) == (False, HookDecision.DENY, "no")


async def test_a_hook_that_fails_is_no_success_and_does_not_block(place: Home) -> None:
    user(place, "PreToolUse", "echo oops >&2; exit 3")
    output = await write_file()
    assert (output.success, output.decision, output.exit_code) == (False, HookDecision.CONTINUE, 3)


@pytest.mark.parametrize(
    ("event", "run"),
    [
        ("SessionStart", run_session_start_hooks),
        ("SessionEnd", run_session_end_hooks),
        ("Stop", run_stop_hooks),
        ("PreCompact", run_pre_compact_hooks),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_every_event_has_a_function(place: Home, event: str, run: Any) -> None:
    user(place, event, f"cat > '{place.home}/seen.json'")
    assert (await run("my-session")).success
    seen = json.loads((place.home / "seen.json").read_text())
    assert (seen["hook_event_name"], seen["session_id"], seen["cwd"]) == (event, "my-session", str(place.project))
    assert seen.get("metadata") == ({"compact_type": "auto"} if event == "PreCompact" else None)


async def test_text_is_feedback(place: Home) -> None:
    user(place, "PostToolUse", "echo looks good")
    assert (await run_post_tool_use_hooks("s", "t", {}, {})).feedback == "looks good"


@pytest.mark.parametrize(("can_ask", "word"), [(False, "deny"), (True, "ask")], ids=["cannot ask", "can ask"])
async def test_a_question_is_a_refusal_for_who_cannot_ask(place: Home, can_ask: bool, word: str) -> None:
    specific = {"hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "sure?"}
    user(place, "PreToolUse", answer(place, hookSpecificOutput=specific))
    get_hooks_manager(can_ask=can_ask)
    output = await write_file()
    assert output.decision == HookDecision(word)
    assert "sure?" in (output.decision_reason or "")


# --- trust -------------------------------------------------------------------------------------------------


async def test_a_project_that_nobody_vouched_for_runs_nothing_and_lets_nothing_past_its_hooks(place: Home) -> None:
    project(place, "PreToolUse", "touch ran")
    output = await write_file()
    assert output.decision == HookDecision.DENY
    assert "trust_project=True" in (output.decision_reason or "")
    assert not (place.project / "ran").exists()


async def test_other_tools_and_events_of_such_a_project_go_on(place: Home) -> None:
    project(place, "PreToolUse", "touch ran", matcher="bash")
    assert (await write_file()).decision == HookDecision.CONTINUE
    project(place, "SessionStart", "touch ran")
    reset_hooks_manager()
    output = await run_session_start_hooks("s")
    assert output.decision == HookDecision.CONTINUE
    assert "not run" in (output.system_message or "")
    assert not (place.project / "ran").exists()


@pytest.mark.parametrize("how", ["in the call", "once before", "with its directory"])
async def test_who_vouches_gets_the_projects_hooks(place: Home, how: str) -> None:
    project(place, "PreToolUse", "echo project >&2; exit 2")
    if how == "once before":
        get_hooks_manager(trust_project=True)
        output = await write_file()
    elif how == "with its directory":
        output = await write_file(project_dir=Path(place.project), trust_project=True)
    else:
        assert (await write_file()).decision_reason != "project"
        output = await write_file(trust_project=True)
    assert (output.decision, output.decision_reason) == (HookDecision.DENY, "project")


async def test_the_users_refusal_stands_beside_the_missing_trust(place: Home) -> None:
    project(place, "PreToolUse", "touch ran")
    user(place, "PreToolUse", "echo mine >&2; exit 2")
    output = await write_file()
    assert (output.decision_reason or "").startswith("mine\n")


# --- the manager ---------------------------------------------------------------------------------------------


async def test_a_manager_reads_once_and_again_when_told(place: Home) -> None:
    manager = get_hooks_manager()
    assert manager is get_hooks_manager(place.project)
    user(place, "PreToolUse", "exit 2")
    assert (await write_file()).decision == HookDecision.CONTINUE
    manager.load_config()
    assert (await write_file()).decision == HookDecision.DENY


async def test_a_manager_knows_its_handlers(place: Home) -> None:
    place.write(
        "~/.config/amcp/hooks.toml",
        """
[[hooks.PreToolUse.handlers]]
matcher = "write_file"
command = "x"
timeout = 5
[[hooks.PreToolUse.handlers]]
type = "python"
script = "a.py"
[[hooks.Stop.handlers]]
type = "python"
function = "a.b"
[[hooks.Stop.handlers]]
command = "off"
enabled = false
""",
    )
    manager = HooksManager(place.project)
    first, second = manager.get_handlers(HookEvent.PRE_TOOL_USE)
    assert (first.matcher, first.type, first.command, first.timeout) == ("write_file", "command", "x", 5)
    assert (second.type, second.script) == ("python", "a.py")
    assert manager.get_handlers(HookEvent.PRE_TOOL_USE, "bash") == [second]
    (stop,) = manager.get_handlers(HookEvent.STOP)
    assert (stop.type, stop.function) == ("python", "a.b")
    assert set(manager.configs) == {HookEvent.PRE_TOOL_USE, HookEvent.STOP}


async def test_a_manager_runs_an_input_of_its_own(place: Home) -> None:
    user(place, "Notification", f"cat > '{place.home}/seen.json'")
    given = HookInput("s", "Notification", "/x", message="hi", notification_type="idle", metadata={"a": 1})
    await get_hooks_manager().execute_hooks(HookEvent.NOTIFICATION, given)
    assert json.loads((place.home / "seen.json").read_text()) == json.loads(given.to_json())


# --- names and signatures of the package, as it was published -------------------------------------------------

SIGNATURES = {
    "get_hooks_manager": ["project_dir"],
    "reset_hooks_manager": [],
    "run_pre_tool_use_hooks": ["session_id", "tool_name", "tool_input", "tool_use_id", "project_dir"],
    "run_post_tool_use_hooks": ["session_id", "tool_name", "tool_input", "tool_response", "tool_use_id", "project_dir"],
    "run_user_prompt_hooks": ["session_id", "prompt", "project_dir"],
    "run_session_start_hooks": ["session_id", "project_dir"],
    "run_session_end_hooks": ["session_id", "project_dir"],
    "run_stop_hooks": ["session_id", "project_dir"],
    "run_pre_compact_hooks": ["session_id", "compact_type", "project_dir"],
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_functions_take_the_arguments_of_the_original(name: str) -> None:
    parameters = inspect.signature(getattr(amcp, name)).parameters.values()
    assert [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD] == SIGNATURES[name]
    assert all(p.default is not p.empty for p in parameters if p.kind is p.KEYWORD_ONLY)


def test_the_module_offers_the_names_of_the_original() -> None:
    names = {"HookEvent", "HookDecision", "HookInput", "HookOutput", "HookHandler", "HookConfig", "HooksManager"}
    assert names | set(SIGNATURES) == set(amcp.__all__)
    assert [event.value for event in HookEvent] == [
        "PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart", "SessionEnd", "Stop", "PreCompact",
        "Notification",
    ]  # fmt: skip


@needs_shared("seeds", "003_0e19d91edd7efdef.txt")
async def test_the_documented_program_works_with_one_import_changed(
    place: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (SHARED / "seeds" / "003_0e19d91edd7efdef.txt").read_text()
    program = text.partition("## Programmatic Usage")[2].partition("```python\n")[2].partition("```")[0]
    program = program.replace("from amcp.hooks import", "from fairlead.compat.amcp import")
    program = "async def main(tool_input):\n" + textwrap.indent(f"{program}\nreturn tool_input", "    ")
    names: dict[str, Any] = {}
    exec(program, names)
    user(place, "PreToolUse", "echo 'not here' >&2; exit 2")
    await names["main"]({})
    assert capsys.readouterr().out == "Blocked: not here\n"
    specific = {"hookEventName": "PreToolUse", "updatedInput": {"content": "y"}}
    user(place, "PreToolUse", answer(place, hookSpecificOutput=specific))
    reset_hooks_manager()
    assert await names["main"]({"path": "/test.py", "content": "x"}) == {"path": "/test.py", "content": "y"}
