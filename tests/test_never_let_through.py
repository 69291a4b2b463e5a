"""Ways in which a refusal, or a hook that never ran, could have turned into a "go on"."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from fairlead import Event, Hooks, PreToolUse, driving, process
from fairlead.hooks import Setting
from fairlead.wire import DEPTH
from fairlead.work import Run
from tests.conftest import Home, Ran

EVENT = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "rm -rf /"}}
REFUSE = '[[hook]]\non = "PreToolUse"\nrun = "echo no; exit 1"\n'


class Strange(BaseException):
    pass


@pytest.mark.parametrize("error", [Strange, KeyboardInterrupt], ids=lambda error: error.__name__)
def test_a_function_that_dies_of_anything_has_not_agreed(error: type[BaseException]) -> None:
    hooks = Hooks()

    @hooks.on("PreToolUse", timeout=5)
    async def dies(_event: Event) -> None:
        raise error

    decision = hooks.fire_sync(PreToolUse(tool_name="Bash", tool_input={}))
    assert decision.decision == "deny"
    assert decision.notes


def test_a_call_that_was_never_made_has_not_agreed(monkeypatch: pytest.MonkeyPatch) -> None:
    hooks = Hooks()

    @hooks.on("PreToolUse", timeout=5)
    async def agrees(_event: Event) -> None:
        return None

    monkeypatch.setattr(driving, "_with_loop", lambda _calls: None)
    assert hooks.fire_sync(PreToolUse(tool_name="Bash", tool_input={})).decision == "deny"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_refusal_that_cannot_be_delivered_is_an_exit_code(place: Home) -> None:
    place.write("fairlead.toml", REFUSE)
    words = [sys.executable, "-m", "fairlead", "hook", "--agent", "claude-code", "--trust-project"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            words, input=str(EVENT).replace("'", '"').encode(), stdout=full, stderr=subprocess.PIPE,
            cwd=place.project, env=place.environ, check=False, timeout=60,
        )  # fmt: skip
    assert done.returncode == 2


def test_without_a_stdout_it_refuses(place: Home) -> None:
    place.write("fairlead.toml", REFUSE)
    command = f"exec {sys.executable} -m fairlead hook --agent claude-code --trust-project >&-"
    done = subprocess.run(
        ["/bin/sh", "-c", command], input=str(EVENT).replace("'", '"').encode(), stderr=subprocess.PIPE,
        cwd=place.project, env=place.environ, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("words", [("hok", "--agent", "claude-code"), ("hook", "--agnt", "claude-code")])
def test_a_slip_in_an_agents_settings_refuses(words: tuple[str, ...], fairlead: Callable[..., Ran]) -> None:
    assert fairlead(*words, stdin=EVENT).code == 2


@pytest.mark.parametrize("end", ["kill -9 $$", "sleep 60"], ids=["killed", "timed out"])
def test_what_was_refused_stays_refused_however_the_hook_ends(place: Home, end: str) -> None:
    place.write(
        "~/.claude/settings.json",
        {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "timeout": 1, "command": f"""
            echo '{{"hookSpecificOutput": {{"permissionDecision": "deny", "permissionDecisionReason": "no"}}}}'; {end}
        """}]}]}},
    )  # fmt: skip
    hooks = Hooks.load(place.project, home=place.home, environ=place.environ, managed=str(place.root))
    decision = hooks.fire_sync(PreToolUse(tool_name="Bash", tool_input={"command": "ls"}))
    assert (decision.decision, decision.reason) == ("deny", "no")


async def test_a_hook_that_has_closed_its_stdout_can_be_cancelled() -> None:
    run = Run(argv=("/bin/sh", "-c", "exec 1>&- 2>&-; sleep 100"), cwd="/", env=dict(os.environ), timeout=60)
    child = process.Child(run)
    task = asyncio.create_task(process.watch_all([child]))
    while not child._listening:  # noqa: ASYNC110  # a child tells nobody that it listens now
        await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert child.result is not None
    assert child.result.cancelled


async def test_an_error_while_watching_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_self: Any) -> None:
        raise OSError(24, "too many open files")

    monkeypatch.setattr(process.Child, "_end", broken)
    run = Run(argv=("/bin/sleep", "100"), cwd="/", env=dict(os.environ), timeout=0.05)
    with pytest.raises(OSError, match="too many open files"):
        await process.run(run)


def test_a_hook_may_take_its_input_file_away(place: Home) -> None:
    script = place.script("eat.sh", 'rm -f "$FAIRLEAD_INPUT_FILE"; exit 0')
    place.write(
        "~/.codemie/codemie-cli.config.json",
        {"activeProfile": "p", "profiles": {"p": {"hooks": {"PreToolUse": [
            {"matcher": "*", "hooks": [{"type": "command", "command": str(script)}]}]}}}},
    )  # fmt: skip
    hooks = Hooks.load(place.project, home=place.home, environ=place.environ, managed=str(place.root))
    event = PreToolUse(tool_name="Bash", tool_input={"command": "x" * 200_000})
    assert hooks.fire_sync(event).decision == "deny"


@pytest.mark.parametrize(
    ("file", "text"),
    [("fairlead.toml", f"a = {'9' * 5000}\n"), (".claude/skills/s/SKILL.md", "---\na: 2024-99-99\n---\n")],
    ids=["toml", "yaml"],
)
def test_a_value_that_no_parser_can_take_spoils_its_own_file_only(place: Home, file: str, text: str) -> None:
    place.write(file, text)
    place.write("~/.config/fairlead/fairlead.toml", REFUSE)
    hooks = Hooks.load(place.project, home=place.home, environ=place.environ, managed=str(place.root))
    assert [problem.file for problem in hooks.problems] == [str(place.project / file)]
    assert hooks.fire_sync(PreToolUse(tool_name="Bash", tool_input={})).decision == "deny"


def test_the_cache_of_parsed_files_never_changes_a_value(place: Home) -> None:
    from fairlead.documents import parse_toml

    first = parse_toml("a = inf\nb = 2024-01-01\n", place.environ)
    assert parse_toml("a = inf\nb = 2024-01-01\n", place.environ) == first
    plain = parse_toml("a = 1\n", place.environ)
    assert parse_toml("a = 1\n", place.environ) == plain == {"a": 1}


def test_a_deadline_is_named_as_what_it_is(place: Home) -> None:
    hooks = Hooks(setting=Setting(project=str(place.project), home=str(place.home), environ=place.environ))

    @hooks.on("PreToolUse")
    async def slow(_event: Event) -> None:
        await asyncio.sleep(60)

    import time

    decision = hooks.fire_sync(PreToolUse(tool_name="Bash", tool_input={}), deadline=time.monotonic() + 0.2)
    assert decision.decision == "deny"
    assert "timed out after 0 s" not in decision.reason


@pytest.mark.parametrize("agent", ["claude-code", "code-agent"])
def test_a_key_given_twice_does_not_switch_the_hooks_of_its_file_off(place: Home, agent: str) -> None:
    hook = '{"hooks": [{"type": "command", "command": "echo no >&2; exit 2"}]}'
    place.write(
        "~/.claude/settings.json",
        f'{{"model": "a",\n"model": "b",\n"hooks": {{"PreToolUse": [{hook}],\n"PreToolUse": []}}}}',
    )
    hooks = Hooks.load(place.project, home=place.home, environ=place.environ, managed=str(place.root), agent=agent)
    assert [(problem.line, problem.message) for problem in hooks.problems] == [
        (2, "the key 'model' is there twice"),
        (4, "the key 'PreToolUse' is there twice"),
    ]
    assert hooks.fire_sync(PreToolUse(tool_name="Bash", tool_input={"command": "ls"})).decision == "deny"


@pytest.mark.parametrize("name", ["preToolUse", "pre_tool_use", "PRETOOLUSE"])
def test_a_slip_in_the_name_of_an_event_does_not_pass_a_hook_by(
    name: str, place: Home, fairlead: Callable[..., Ran]
) -> None:
    place.write("fairlead.toml", REFUSE)
    ran = fairlead("hook", "--agent", "claude-code", "--trust-project", stdin={**EVENT, "hook_event_name": name})
    assert ran.json["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_what_functions_print_by_themselves_is_not_the_answer(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write("noisy.py", "import os\ndef check(event):\n    os.system('echo stray'); os.write(1, b'stray')\n")
    place.write("fairlead.toml", '[[hook]]\non = "PreToolUse"\npython = "noisy:check"\n')
    for command in ("fire", "hook"):
        ran = fairlead(command, "--agent", "amcp", "--trust-project", stdin=EVENT)
        assert ran.json == {"continue": True}
        assert "stray" in ran.err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_an_engine_that_cannot_answer_says_so(place: Home) -> None:
    words = [sys.executable, "-m", "fairlead", "fire", "--agent", "amcp"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            words, input=str(EVENT).replace("'", '"').encode(), stdout=full, stderr=subprocess.PIPE,
            cwd=place.project, env=place.environ, check=False, timeout=60,
        )  # fmt: skip
    assert done.returncode == 74
    assert b"Traceback" not in done.stderr


def test_a_stop_is_counted_also_where_the_state_directory_cannot_be(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write("fairlead.toml", '[[hook]]\non = "Stop"\nrun = "echo more; exit 1"\n')
    place.write("~/.local/state", "a file")
    temporary = place.root / "tmp"
    temporary.mkdir()
    ran = fairlead(
        "hook", "--agent", "amcp", "--trust-project", env={"TMPDIR": str(temporary)},
        stdin={"hook_event_name": "Stop", "session_id": "s"},
    )  # fmt: skip
    assert ran.json["decision"] == "block"


def test_a_file_of_ours_that_cannot_be_read_refuses_what_it_may_have_guarded(place: Home) -> None:
    place.write("~/.config/fairlead/fairlead.toml", "guard = \n")
    hooks = Hooks.load(place.project, home=place.home, environ=place.environ, managed=str(place.root))
    decision = hooks.fire_sync(PreToolUse(tool_name="Bash", tool_input={"command": "ls"}))
    assert decision.decision == "deny"
    assert "fairlead.toml:1:9: not TOML" in decision.reason


def test_a_project_that_is_not_trusted_cannot_refuse_by_being_broken(place: Home) -> None:
    place.write("fairlead.toml", "guard = \n")
    hooks = Hooks.load(place.project, home=place.home, environ=place.environ, managed=str(place.root))
    assert hooks.fire_sync(PreToolUse(tool_name="Bash", tool_input={"command": "ls"})).decision == "none"


def test_fairlead_in_two_agents_does_not_ask_itself(place: Home, fairlead: Callable[..., Ran]) -> None:
    """Each agent's settings hold our own call: as a hook of that agent it would lead back to us, and round again."""
    ours = [
        f"{sys.executable} -I {place.root}/lib/fairlead/__main__.py hook --agent cursor",
        "fairlead hook --agent cursor --timeout 30",
        "'/opt/my tools/fairlead' hook --agent cursor",
        "python3 -m fairlead hook --agent=cursor",
    ]
    place.write("~/.cursor/hooks.json", {"version": 1, "hooks": {"preToolUse": [{"command": line} for line in ours]}})
    ran = fairlead("list", "--json")
    assert ran.json == []


def test_a_circle_of_hooks_ends_with_a_refusal(place: Home, fairlead: Callable[..., Ran]) -> None:
    event = '{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"ls"}}'
    place.script(
        "~/round.sh", f"echo x >> ~/rounds; echo '{event}' | {sys.executable} -m fairlead hook --agent codemie"
    )
    hook = {"matcher": "Bash", "hooks": [{"type": "command", "command": f"{place.home}/round.sh"}]}
    place.write("~/.claude/settings.json", {"hooks": {"PreToolUse": [hook]}})
    ran = fairlead("hook", "--agent", "codex", stdin=event)
    assert ran.json["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert (place.home / "rounds").read_text().count("x") <= 5


@pytest.mark.parametrize(
    ("agent", "variable"), [("claude-code", "CLAUDE_PROJECT_DIR"), ("qwen", "QWEN_PROJECT_DIR"), ("codex", "")]
)
def test_changing_the_folder_does_not_lead_out_of_the_projects_hooks(
    agent: str, variable: str, place: Home, fairlead: Callable[..., Ran]
) -> None:
    """The event's cwd follows each `cd`; the project is where the agent was started."""
    place.write("fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "echo no; exit 1"\n')
    (place.project / "sub").mkdir()
    event = {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "cwd": str(place.project / "sub"),
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
    }
    env = {variable: str(place.project)} if variable else {}
    ran = fairlead("hook", "--agent", agent, "--trust-project", stdin=event, env=env)
    assert ran.json["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.parametrize("depth", [DEPTH, 900, 1400, 9000, 100_000])
def test_a_setting_that_is_nested_too_deeply_turns_no_hook_off(
    depth: int, place: Home, fairlead: Callable[..., Ran]
) -> None:
    hook = '{"hooks": [{"type": "command", "command": "echo no >&2; exit 2"}]}'
    deep = '{"a":' * depth + "1" + "}" * depth
    place.write("~/.claude/settings.json", f'{{"x": {deep}, "hooks": {{"PreToolUse": [{hook}]}}}}')
    event = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    ran = fairlead("hook", "--agent", "codex", stdin=event)
    assert ran.json["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert ("settings.json:1:" in ran.err and "is left out" in ran.err) == (depth >= DEPTH)
    checked = fairlead("check", "--json").json
    assert [(one["line"], one["column"]) for one in checked if "is left out" in one["message"]] == (
        [(1, 7 + 5 * (DEPTH - 1))] if depth >= DEPTH else []
    )
