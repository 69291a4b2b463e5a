"""Hooks that nobody waits for, and hooks that run once."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead import Hooks, PreToolUse
from fairlead.background import MOST, leave
from tests.conftest import Home, Ran

RunHook = Callable[[str, dict[str, Any]], Ran]

CALL = {"tool_name": "Bash", "tool_input": {"command": "ls"}}


def event(session: str = "s1", name: str = "PreToolUse", **fields: Any) -> dict[str, Any]:
    return {"hook_event_name": name, "session_id": session, "cwd": "/", **CALL, **fields}


def eventually(look: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def answers(place: Home) -> list[Path]:
    return list((place.home / ".local/state/fairlead/background").rglob("*.json"))


def background(place: Home, command: str, **fields: Any) -> None:
    """A hook of Gemini's neighbour Codex, so that Claude Code does not run it itself."""
    entry = {"type": "command", "command": command, "async": True, **fields}
    place.write("~/.codex/hooks.json", {"hooks": {"PreToolUse": [{"hooks": [entry]}]}})


@pytest.fixture
def run_hook(fairlead: Callable[..., Ran]) -> RunHook:
    return lambda agent, payload: fairlead("hook", "--agent", agent, stdin=payload)


TALKS = """echo '{"systemMessage": "done"}'"""
SAYS = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "two tests fail"}}


def context_of(reply: bytes) -> str:
    return str(json.loads(reply or b"{}").get("hookSpecificOutput", {}).get("additionalContext", ""))


def test_nobody_waits_for_it_and_its_words_come_with_the_next_event(place: Home, run_hook: RunHook) -> None:
    gate = place.root / "gate"
    os.mkfifo(gate)
    background(place, f"read line < {gate}; echo '{json.dumps(SAYS)}'")

    first = run_hook("claude-code", event())
    assert (first.code, context_of(first.out)) == (0, "")
    with gate.open("w") as opened:  # it waits until the hook has come so far
        opened.write("go\n")
    eventually(lambda: answers(place))

    background(place, "true")
    other = run_hook("claude-code", event("s2"))
    assert context_of(other.out) == ""
    second = run_hook("claude-code", event())
    assert "two tests fail" in context_of(second.out)
    assert "in the background after PreToolUse" in context_of(second.out)
    third = run_hook("claude-code", event())
    assert "two tests fail" not in context_of(third.out)


def test_it_decides_nothing(place: Home, run_hook: RunHook) -> None:
    background(place, "echo never >&2; exit 2")
    reply = run_hook("claude-code", event())
    assert (reply.code, reply.out.strip()) == (0, b"")
    eventually(lambda: answers(place))


def test_it_is_left_alone_where_the_event_cannot_tell_it(place: Home, run_hook: RunHook) -> None:
    background(place, f"echo '{json.dumps(SAYS)}'")
    run_hook("claude-code", event())
    eventually(lambda: answers(place))
    run_hook("claude-code", event(name="Stop"))
    assert len(answers(place)) == 1
    background(place, "true")
    assert "two tests fail" in context_of(run_hook("claude-code", event()).out)


def test_what_failed_is_told_too(place: Home, run_hook: RunHook) -> None:
    background(place, "exec /nowhere/program")
    run_hook("claude-code", event())
    eventually(lambda: answers(place))
    background(place, "true")
    reply = run_hook("claude-code", event())
    assert reply.code == 0
    assert "failed" in reply.err


def test_what_is_kept_is_private_and_has_an_end(place: Home) -> None:
    place.write("fairlead.toml", f'[[hook]]\non = "PreToolUse"\nrun = """{TALKS}"""\nasync = true\n')
    hooks = Hooks.load(place.project, environ=place.environ, managed="/nowhere", trust_project=True)
    hooks.hears = frozenset()
    for _ in range(3):
        assert hooks.fire_sync(PreToolUse(session_id="s", tool_name="Bash", tool_input={})).decision == "none"
    eventually(lambda: len(answers(place)) == 3)
    (folder,) = {path.parent for path in answers(place)}
    assert [path.stat().st_mode & 0o077 for path in (folder, folder.parent, *answers(place))] == [0] * 5
    for number in range(MOST):
        (folder / f"{number:03}.json").write_text("{}")
    leave({"hook": "the last"}, str(folder))
    assert len(answers(place)) == MOST
    assert any(b"the last" in path.read_bytes() for path in answers(place))


def test_the_same_holds_in_the_library(place: Home) -> None:
    place.write("fairlead.toml", f'[[hook]]\non = "PreToolUse"\nrun = """{TALKS}"""\nasync = true\nname = "quiet"\n')
    hooks = Hooks.load(place.project, environ=place.environ, managed="/nowhere", trust_project=True)
    decision = hooks.fire_sync(PreToolUse(session_id="s", tool_name="Bash", tool_input={}))
    assert [(report.hook.name, report.verdict) for report in decision.reports if report.verdict] != []
    eventually(lambda: answers(place))


@pytest.mark.parametrize("what", ['approval = "look"', 'guard = "all"'])
def test_what_decides_cannot_be_left_running(what: str, place: Home) -> None:
    place.write("fairlead.toml", f'[[hook]]\non = "PreToolUse"\n{what}\nasync = true\n')
    hooks = Hooks.load(place.project, environ=place.environ, managed="/nowhere", trust_project=True)
    assert [hook.handler.kind for hook in hooks] != ["background"]
    assert any("cannot be left running" in problem.message for problem in hooks.problems)


def test_an_answer_that_is_broken_is_passed_over(place: Home, run_hook: RunHook) -> None:
    background(place, f"echo '{json.dumps(SAYS)}'")
    run_hook("claude-code", event())
    eventually(lambda: answers(place))
    (good,) = answers(place)
    (good.parent / "0.json").write_bytes(b'{"hook": "half')
    background(place, "true")
    assert "two tests fail" in context_of(run_hook("claude-code", event()).out)


# --- once --------------------------------------------------------------------------------------------


def once(place: Home, command: str) -> None:
    text = f'[[hook]]\non = "PreToolUse"\nrun = "{command}"\nonce = true\n'
    place.write("~/.config/fairlead/fairlead.toml", text)


def test_once_holds_for_a_session_across_processes(place: Home, run_hook: RunHook) -> None:
    count = place.root / "count"
    once(place, f"echo x >> {count}")
    for session in ("a", "a", "b", "a"):
        run_hook("claude-code", event(session))
    assert count.read_text() == "x\nx\n"


def test_once_counts_only_what_went_well(place: Home, run_hook: RunHook) -> None:
    flag = place.root / "flag"
    once(place, f"test -e {flag}")
    assert b"deny" in run_hook("claude-code", event()).out
    assert b"deny" in run_hook("claude-code", event()).out
    flag.touch()
    assert b"deny" not in run_hook("claude-code", event()).out
    flag.unlink()
    assert b"deny" not in run_hook("claude-code", event()).out
