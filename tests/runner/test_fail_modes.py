"""A hook that does not answer: a guard never lets a call through, an observer never stops the work.

Seventeen ways to fail, as a guard (`on_error="deny"`) and as an observer, in every dialect, fired in both ways.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fairlead import Hooks, PreToolUse
from fairlead.dialects import HOOK_HALVES
from fairlead.handlers.command import Command, Script
from fairlead.handlers.function import Named
from fairlead.hooks import Hook, Origin, Setting
from fairlead.verdicts import Decision

if TYPE_CHECKING:
    from fairlead.hooks import Handler

REFUSAL = '{"decision": "block", "continue_execution": false'


def _sh(script: str) -> Command:
    return Command(command="/bin/sh", args=("-c", script))


FAILURES: dict[str, Handler] = {
    "missing program": Command(command="/no/such/program", args=()),
    "not executable": Command(command="./not-executable", args=()),
    "bad interpreter": Command(command="./bad-interpreter", args=()),
    "a directory": Command(command="./folder", args=()),
    "missing script": Script(script="no-such-script.py"),
    "missing function": Named(target="no_such_module:function"),
    "function that raises": Named(target="json:loads.nothing"),
    "exit 126": _sh("exit 126"),
    "exit 127": _sh("exit 127"),
    "killed": _sh("kill -KILL $$"),
    "crashed": _sh("ulimit -c 0; kill -SEGV $$"),
    "stopped by SIGPIPE": _sh("kill -PIPE $$"),
    "timeout": Command(command="/bin/sleep", args=("30",)),
    "timeout with a verdict half said": _sh(f"echo '{REFUSAL}'; sleep 30"),
    "verdict too long": _sh(
        """printf '{"decision": "allow", "x": "'; head -c 1200000 /dev/zero | tr '\\0' x; echo '"}'"""
    ),
    "verdict too deep": _sh(
        """printf '{"decision": "allow", "x": '; printf '[%.0s' $(seq 3000); printf ']%.0s' $(seq 3000); echo '}'"""
    ),
    "half a verdict": _sh(f"echo '{REFUSAL}'"),
}

EXIT_CODES = (1, 3, 125, 255)
"""In the dialects where any exit but 0 blocks, these are answers; elsewhere they are failures."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("fails")
    (root / "not-executable").write_text("#!/bin/sh\n")
    (root / "bad-interpreter").write_text("#!/no/such/interpreter\n")
    (root / "bad-interpreter").chmod(0o755)
    (root / "folder").mkdir()
    return root


def _fire_sync(hooks: Hooks, event: PreToolUse) -> Decision:
    return hooks.fire_sync(event)


def _fire_async(hooks: Hooks, event: PreToolUse) -> Decision:
    return asyncio.run(hooks.fire(event))


Fire = Callable[[Hooks, PreToolUse], Decision]


@pytest.fixture(params=[_fire_sync, _fire_async], ids=["sync", "async"])
def fire_with(request: pytest.FixtureRequest) -> Fire:
    return request.param  # type: ignore[no-any-return]


def _hooks(folder: Path, dialect: str, handlers: dict[str, Handler], on_error: str) -> dict[str, Hooks]:
    """One set of hooks for each way to fail, so that none is decided by another."""
    setting = Setting(project=str(folder), home=str(folder), environ={"PATH": "/usr/bin:/bin"})
    origin = Origin(dialect=dialect, layer="user")
    return {
        name: Hooks(
            [Hook(name=name, events=("*",), handler=handler, origin=origin, on_error=on_error, timeout=0.2)],
            setting=setting,
        )
        for name, handler in handlers.items()
    }


@pytest.mark.parametrize("dialect", HOOK_HALVES)
def test_a_guard_that_fails_never_lets_a_call_through(folder: Path, dialect: str, fire_with: Fire) -> None:
    event = PreToolUse(session_id="s", tool_name="Bash", tool_input={"command": "rm -rf /"})
    decisions = {name: fire_with(hooks, event) for name, hooks in _hooks(folder, dialect, FAILURES, "deny").items()}
    assert {name: decision.decision for name, decision in decisions.items()} == dict.fromkeys(FAILURES, "deny")
    assert all(decision.reason for decision in decisions.values())


@pytest.mark.parametrize("dialect", HOOK_HALVES)
def test_an_observer_that_fails_stops_nothing_and_is_reported(folder: Path, dialect: str, fire_with: Fire) -> None:
    event = PreToolUse(session_id="s", tool_name="Bash", tool_input={"command": "ls"})
    for name, hooks in _hooks(folder, dialect, FAILURES, "allow").items():
        decision = fire_with(hooks, event)
        (report,) = decision.reports
        if not report.error:  # an answer in this dialect, whatever it was meant to be
            assert name in (
                "exit 126",
                "exit 127",
                "half a verdict",
                "verdict too long",
                "timeout with a verdict half said",
            )
            continue
        assert decision.allowed, name
        assert decision.notes == (f"hook {name} failed: {report.error}",)


@pytest.mark.parametrize("code", EXIT_CODES)
@pytest.mark.parametrize("dialect", HOOK_HALVES)
def test_an_exit_code_that_means_nothing_does_not_let_a_call_past_a_guard(
    folder: Path, dialect: str, code: int, fire_with: Fire
) -> None:
    handlers: dict[str, Handler] = {"exits": _sh(f"exit {code}")}
    event = PreToolUse(session_id="s", tool_name="Bash")
    decision = fire_with(_hooks(folder, dialect, handlers, "deny")["exits"], event)
    assert decision.denies


@pytest.mark.parametrize("dialect", HOOK_HALVES)
def test_of_many_hooks_one_that_fails_as_a_guard_is_enough(folder: Path, dialect: str, fire_with: Fire) -> None:
    setting = Setting(project=str(folder), home=str(folder), environ={"PATH": "/usr/bin:/bin"})
    origin = Origin(dialect=dialect, layer="user")
    hooks = [Hook(name=f"fine {n}", events=("*",), handler=_sh(f"exit 0 # {n}"), origin=origin) for n in range(3)]
    guard = Hook(name="guard", events=("*",), handler=FAILURES["killed"], origin=origin, on_error="deny")
    for place in range(4):
        decision = fire_with(Hooks([*hooks[:place], guard, *hooks[place:]], setting=setting), PreToolUse(tool_name="x"))
        assert decision.denies
        assert "guard failed" in decision.reason


def test_a_guard_in_code_that_fails_never_lets_a_call_through(fire_with: Fire) -> None:
    def raises(_event: object) -> None:
        raise RuntimeError("broken")

    def exits(_event: object) -> None:
        sys.exit(0)

    async def raises_later(_event: object) -> None:
        raise RuntimeError("broken")

    def nonsense(_event: object) -> object:
        return 5

    for function in (raises, exits, raises_later, nonsense):
        hooks = Hooks()
        hooks.on("PreToolUse", on_error="deny")(function)
        assert fire_with(hooks, PreToolUse(tool_name="Bash")).denies, function.__name__
