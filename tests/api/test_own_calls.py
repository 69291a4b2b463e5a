"""Entries by which agents call Fairlead are no hooks for Fairlead itself; what stands beside them must not vanish."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairlead import Hooks
from tests.conftest import Home, Ran

Run = Callable[..., Ran]
CALL = "/opt/venv/bin/python -I /opt/venv/fairlead/__main__.py hook --agent codex --timeout 600"


def loaded(place: Home, command: str) -> Hooks:
    place.write(
        "~/.codex/hooks.json", {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}}
    )
    return Hooks.load(place.project, home=str(place.home), environ=place.environ)


ALONE = {
    "the file": CALL,
    "the program": "fairlead hook --agent codex",
    "quoted": "'/opt/my venv/bin/fairlead' hook --agent codex",
    "redirected": f"{CALL} 2>&1",
    "that fails closed": f"{CALL} || exit 2",
    "that never fails": f"cd /tmp && {CALL}; true",
}


@pytest.mark.parametrize("command", ALONE.values(), ids=ALONE.keys())
def test_a_call_of_fairlead_is_left_out_without_a_word(command: str, place: Home) -> None:
    hooks = loaded(place, command)
    assert list(hooks) == []
    assert list(hooks.problems) == []


OTHERS = {"before": f"./audit.sh && {CALL}", "after": f"{CALL}; ./audit.sh", "in a pipe": f"tee log | {CALL}"}


@pytest.mark.parametrize("command", OTHERS.values(), ids=OTHERS.keys())
def test_a_command_that_is_left_out_together_with_a_call_of_fairlead_is_reported(command: str, place: Home) -> None:
    (problem,) = loaded(place, command).problems
    assert (problem.level, problem.file) == ("warning", str(place.home / ".codex/hooks.json"))
    assert problem.line > 1
    assert "a hook of its own" in problem.hint


@pytest.mark.parametrize("command", ["./fairlead-hook.py", "echo fairlead", "cat fairlead/hook"])
def test_a_hook_that_only_sounds_like_it_stays(command: str, place: Home) -> None:
    (hook,) = loaded(place, command)
    assert hook.handler.describe() == command


def test_check_shows_it(place: Home, fairlead: Run) -> None:
    loaded(place, OTHERS["before"])
    (problem,) = fairlead("check", "--json").json
    assert "calls Fairlead" in problem["message"]
