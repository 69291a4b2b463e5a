"""A home with secrets in it, and hooks of fairlead.toml that run for real."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from fairlead import Hooks, PreToolUse
from fairlead.confining import ways
from fairlead.hooks import HookFailed, Report
from tests.conftest import Home


def toml(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)


class Confined(Home):
    """Hooks of the user's own file, or of a project's as somebody who has looked at them has trusted them."""

    def hook(self, run: object, **keys: object) -> None:
        keys = {"on": "PreToolUse", "run": run, **keys}
        lines = [f"{key} = {toml(value)}" for key, value in keys.items()]
        self.write("~/.config/fairlead/fairlead.toml", "[[hook]]\n" + "\n".join(lines) + "\n")

    def load(self, *, confined: bool = False, **changes: Any) -> Hooks:
        hooks = Hooks.load(self.project, home=self.home, environ=self.environ, managed=str(self.root / "etc"))
        assert list(hooks.problems) == []
        made = [hook.but(options={**hook.options, "confined": True}) if confined else hook for hook in hooks]
        return Hooks(made, setting=hooks.setting.but(**changes))

    def fire(self, *, confined: bool = False, tool_input: Mapping[str, Any] | None = None, **changes: Any) -> Report:
        event = PreToolUse(
            session_id="s", cwd=str(self.project), tool_name="Bash", tool_input=dict(tool_input or {"command": "ls"})
        )
        decision = self.load(confined=confined, **changes).fire_sync(event)
        (report,) = decision.reports
        return report

    def run(self, run: object, *, confined: bool = False, **keys: object) -> Report:
        self.hook(run, **keys)
        return self.fire(confined=confined)


def output(report: Report) -> str:
    """What it printed, where it ended well."""
    outcome = report.outcome
    assert not isinstance(outcome, BaseException), outcome
    assert (outcome.exit_code, outcome.signal, outcome.error) == (0, 0, ""), outcome
    return str(outcome.stdout.decode())


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Confined:
    return Confined(tmp_path_factory.mktemp("confined"))


def missing(way: str) -> str:
    """Why this machine has no such sandbox; empty where it has."""
    try:
        ways.find(way, {"XDG_STATE_HOME": "/proc/nowhere"}, "/proc/nowhere")  # where not even root can make a folder
    except HookFailed as why:
        return str(why)
    return ""


@pytest.fixture(scope="session", params=ways.WAYS)
def way(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    why = missing(name)
    if why:
        pytest.skip(why)
    return name


Run = Callable[..., Report]
