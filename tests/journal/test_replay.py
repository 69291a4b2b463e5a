"""`fairlead replay`: recorded events under other hooks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fairlead import Hooks, replaying
from fairlead.journal.reading import Log, Wanted
from fairlead.journal.writing import Journal
from tests.conftest import Home, Ran

Fairlead = Callable[..., Ran]
USER = "~/.config/fairlead/fairlead.toml"


def event(command: str = "ls", **fields: Any) -> dict[str, Any]:
    call = {"tool_name": "Bash", "tool_input": {"command": command}}
    return {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": "/", **call, **fields}


@pytest.fixture
def asked(place: Home, fairlead: Fairlead) -> Callable[..., None]:
    def ask(*commands: str, agent: str = "claude-code") -> None:
        for command in commands:
            fairlead("hook", "--agent", agent, "--project", str(place.project), stdin=event(command))

    return ask


def replayed(fairlead: Fairlead, *words: str) -> tuple[int, Any]:
    ran = fairlead("replay", "--json", *words)
    return ran.code, json.loads(ran.out)


def test_the_same_hooks_decide_the_same(place: Home, fairlead: Fairlead, asked: Callable[..., None]) -> None:
    place.write(USER, 'guard = "all"\n')
    asked("ls", "git push --force", "rm -rf /")
    assert replayed(fairlead) == (0, {"judged": 3, "differences": [], "not_judged": {}, "not_asked": {}})
    assert b"3 events: nothing would be decided differently." in fairlead("replay").out


def test_what_would_be_decided_differently_is_shown(
    place: Home, fairlead: Fairlead, asked: Callable[..., None]
) -> None:
    place.write(USER, 'guard = ["filesystem"]\n')
    asked("ls", "git push --force", "rm -rf /")
    place.write(USER, 'guard = "all"\n')
    code, found = replayed(fairlead)
    assert code == 1
    assert [(one["was"], one["now"]) for one in found["differences"]] == [("none", "deny")]
    shown = fairlead("replay").out.decode()
    assert "none → deny" in shown
    assert "git push --force" in shown
    assert "1 of 3 events would now be decided differently." in shown


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini", "droid"])
def test_an_agents_own_words_are_judged_again(
    agent: str, place: Home, fairlead: Fairlead, asked: Callable[..., None]
) -> None:
    names = {"gemini": "BeforeTool"}
    tools = {"gemini": "run_shell_command", "droid": "Execute"}
    place.write(USER, 'guard = "all"\n')
    payload = event("rm -rf /", hook_event_name=names.get(agent, "PreToolUse"), tool_name=tools.get(agent, "Bash"))
    fairlead("hook", "--agent", agent, "--project", str(place.project), stdin=payload)
    assert replayed(fairlead)[1]["judged"] == 1
    assert replayed(fairlead)[0] == 0
    place.write(USER, "")
    assert [one["was"] for one in replayed(fairlead)[1]["differences"]] == ["deny"]


def test_hooks_that_do_something_only_repeat_themselves(
    place: Home, fairlead: Fairlead, asked: Callable[..., None]
) -> None:
    runs = place.root / "runs"
    place.write(USER, f'[[hook]]\non = "PreToolUse"\nname = "no"\nrun = "echo x >> {runs}; echo never; exit 1"\n')
    asked("ls")
    assert replayed(fairlead)[0] == 0
    assert runs.read_text() == "x\n"
    assert replayed(fairlead, "--run-all")[0] == 0
    assert runs.read_text() == "x\nx\n"


def test_a_new_hook_that_does_something_is_named_and_not_run(
    place: Home, fairlead: Fairlead, asked: Callable[..., None]
) -> None:
    runs = place.root / "runs"
    place.write(USER, "")
    asked("ls", "pwd")
    place.write(USER, f'[[hook]]\non = "PreToolUse"\nname = "new"\nrun = "touch {runs}"\n')
    code, found = replayed(fairlead)
    assert (code, found["not_asked"]) == (0, {"new": 2})
    assert not runs.exists()


def test_what_was_not_kept_is_counted(place: Home, fairlead: Fairlead, asked: Callable[..., None]) -> None:
    place.write(USER, 'guard = "all"\n[journal]\nmode = "without-payloads"\n')
    asked("ls")
    assert replayed(fairlead)[1]["not_judged"] == {"its payload was not kept": 1}


def test_who_could_judge_nothing_has_proved_nothing(
    place: Home, fairlead: Fairlead, asked: Callable[..., None]
) -> None:
    place.write(USER, 'guard = "all"\n[journal]\nmode = "without-payloads"\n')
    asked("ls")
    ran = fairlead("replay")
    assert ran.code == 1
    assert b"None of them could be judged again, so this proves nothing." in ran.out
    place.write(USER, 'guard = "all"\n')
    asked("ls")
    assert fairlead("replay").code == 0  # one of two


def test_differences_that_are_not_shown_are_counted(
    place: Home, fairlead: Fairlead, asked: Callable[..., None]
) -> None:
    place.write(USER, 'guard = "all"\n')
    asked("rm -rf /", "ls", "rm -rf ~", "git push --force")
    place.write(USER, "")
    ran = fairlead("replay", "-n", "1")
    assert ran.code == 1
    assert b"and 2 more; -n shows more" in ran.out
    assert b"3 of 4 events would now be decided differently." in ran.out
    assert len(replayed(fairlead, "-n", "1")[1]["differences"]) == 3


def test_filters_narrow_it(place: Home, fairlead: Fairlead, asked: Callable[..., None]) -> None:
    place.write(USER, 'guard = "all"\n')
    asked("ls", "rm -rf /")
    assert replayed(fairlead, "--decision", "deny")[1]["judged"] == 1
    assert b"Nothing in the journal is like that." in fairlead("replay", "--tool", "Write").out


def test_another_input_is_a_difference_too(place: Home, fairlead: Fairlead, asked: Callable[..., None]) -> None:
    output = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "ls -l"}}}
    script = place.script("~/rewrite.sh", f"echo '{json.dumps(output)}'")
    place.write(USER, f'[[hook]]\non = "PreToolUse"\nname = "rewrite"\nrun = "{script}"\n')
    asked("ls")
    assert replayed(fairlead)[0] == 0
    place.write(USER, "")
    (difference,) = replayed(fairlead)[1]["differences"]
    assert (difference["was"], difference["now"], difference["updated_input"]) == ("none", "none", None)


def test_what_was_cut_is_not_judged(place: Home, fairlead: Fairlead, asked: Callable[..., None]) -> None:
    place.write(USER, 'guard = "all"\n')
    asked("echo " + "x" * 300_000 + "; rm -rf /")
    assert replayed(fairlead)[1]["not_judged"] == {"it was too long to be kept whole": 1}


def test_the_end_of_a_turn_is_a_decision(place: Home, fairlead: Fairlead, asked: Callable[..., None]) -> None:
    script = place.script("~/stop.sh", """echo '{"continue": false, "stopReason": "enough"}'""")
    place.write(USER, f'[[hook]]\non = "PreToolUse"\nname = "stop"\nrun = "{script}"\n')
    asked("ls")
    (entry,) = [json.loads(line) for line in fairlead("log", "--json", "--decision", "stop").out.splitlines()]
    assert entry["hooks"] == ["stop"]
    place.write(USER, "")
    assert [(one["was"], one["now"]) for one in replayed(fairlead)[1]["differences"]] == [("stop", "none")]


def test_a_rehearsal_does_not_count_as_a_run(place: Home, fairlead: Fairlead, asked: Callable[..., None]) -> None:
    runs = place.root / "runs"
    place.write(USER, f'[[hook]]\non = "PreToolUse"\nrun = "echo x >> {runs}"\nonce = true\n')
    asked("ls")
    for mark in (place.home / ".local/state/fairlead/once").iterdir():
        mark.unlink()
    fairlead("replay")
    fairlead("explain", "--project", str(place.project), stdin=event())
    asked("ls")
    assert runs.read_text() == "x\nx\nx\n"  # the first, the one explained, and the real one after it


def test_a_project_that_has_gone_is_said(place: Home, fairlead: Fairlead) -> None:
    place.write(USER, 'guard = "all"\n')
    gone = place.root / "gone"
    gone.mkdir()
    fairlead("hook", "--agent", "claude-code", "--project", str(gone), stdin=event())
    gone.rmdir()
    assert replayed(fairlead)[1]["not_judged"] == {"its project is gone": 1}


def test_several_processes_say_the_same_in_the_same_order(place: Home) -> None:
    place.write(USER, 'guard = "all"\n')
    journal = Journal(str(place.root / "journal"))
    commands = ("ls", "git push --force", "rm -rf /", "echo é", "git reset --hard HEAD~3", "cat x")
    for number in range(300):
        command = commands[number % len(commands)]
        about = {"agent": ("claude-code", "codex", "nobody")[number % 3], "session": "s", "event": "PreToolUse"}
        line = {**about, "tool": "Bash", "decision": "none", "hooks": [], "failed": 0, "ms": 1}
        journal.append(line, {"project": str(place.project), "payload": event(f"{command} # {number}")})
    log = Log(str(place.root / "journal"))

    def load(project: str, agent: str) -> Hooks:
        return Hooks.load(project, agent=agent, own=False, environ=place.environ, managed="/nowhere")

    one, three = (list(replaying.replay(log, log.all(Wanted()), load, workers=workers)) for workers in (1, 3))
    assert one == three
    assert [judged.entry["n"] for judged in three] == list(range(2, 302))
    assert {judged.problem for judged in three} == {"", "there is no agent 'nobody'"}
    assert sum(judged.differs for judged in three) > 30


def test_hooks_that_are_really_run_are_run_one_after_the_other(
    place: Home, fairlead: Fairlead, asked: Callable[..., None]
) -> None:
    runs = place.root / "runs"
    place.write(USER, f'[[hook]]\non = "PreToolUse"\nname = "who"\nrun = "echo $PPID >> {runs}"\n')
    asked("one", "two", "three")
    runs.write_text("")
    assert replayed(fairlead, "--run-all")[0] == 0
    assert len(runs.read_text().splitlines()) == 3
