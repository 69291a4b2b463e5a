"""Fairlead's own entry: it must start, be of this version, and know who is calling."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import fairlead as package
from fairlead._version import __version__
from fairlead.cli import main
from tests.conftest import Home
from tests.doctor.conftest import Machine, command, groups

HERE = str(Path(package.__file__).parent / "__main__.py")
CLAUDE = "~/.claude/settings.json"


def entry(program: str = sys.executable, *, file: str = HERE, agent: str = "claude-code", more: str = "") -> str:
    return f"{program} -I {file} hook --agent {agent} {more}".strip()


def put(place: Home, line: str, path: str = CLAUDE, **more: object) -> None:
    place.write(path, groups("PreToolUse", command(line, **more)))


def test_an_entry_that_works_is_fine(machine: Machine, place: Home) -> None:
    put(place, entry(more="--timeout 600"), timeout=600)
    assert machine.findings("claude-code", check="own_entry") == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        pytest.param(entry("/nowhere/python3"), "/nowhere/python3", id="no interpreter"),
        pytest.param(entry(file="/nowhere/fairlead/__main__.py"), "not at /nowhere/fairlead", id="no Fairlead"),
        pytest.param(entry(agent="cloud-code"), "no agent 'cloud-code'", id="an agent that nobody knows"),
        pytest.param(entry(agent="codex"), "(--agent codex)", id="another agent's entry"),
    ],
)
def test_an_entry_that_cannot_work_is_an_error(line: str, said: str, machine: Machine, place: Home) -> None:
    put(place, line)
    found = [one for one in machine.findings("claude-code", check="own_entry") if one.level == "error"]
    assert len(found) == 1
    assert said in found[0].message


def test_an_interpreter_without_fairlead_is_an_error(machine: Machine, place: Home) -> None:
    program = place.script("~/other/python3", "echo 'No module named fairlead' >&2; exit 1")
    put(place, entry(str(program)))
    [found] = machine.findings("claude-code", check="own_entry")
    assert (found.level, "cannot import fairlead: No module named fairlead" in found.message) == ("error", True)


def test_another_version_is_told(machine: Machine, place: Home) -> None:
    program = place.script("~/other/python3", "echo fairlead 0.0.0")
    put(place, entry(str(program)))
    [found] = machine.findings("claude-code", check="own_entry")
    assert (found.level, f"has fairlead 0.0.0, this is {__version__}" in found.message) == ("warning", True)


def test_an_interpreter_that_a_project_or_a_plugin_names_is_never_started(machine: Machine, place: Home) -> None:
    program = place.script("evil/python3", f"touch {place.root}/ran; echo fairlead {__version__}")
    plugins = [f"{base}.claude/plugins/p/hooks/hooks.json" for base in ("", "~/")]
    for path in (".claude/settings.json", ".claude/settings.local.json", *plugins):
        put(place, entry(str(program)), path)
    place.write(".codex/hooks.json", groups("PreToolUse", command(entry(str(program), agent="codex"))))
    machine.examine()
    assert not (place.root / "ran").exists()


def test_the_agent_must_wait_as_long_as_fairlead_is_told(machine: Machine, place: Home) -> None:
    put(place, entry(more="--timeout 600"), timeout=30)
    [found] = machine.findings("claude-code", check="own_entry")
    assert (found.level, "waits 30 s, and Fairlead is told 600 s" in found.message) == ("warning", True)


def test_milliseconds_are_not_taken_for_seconds(machine: Machine, place: Home) -> None:
    line = entry(agent="gemini", more="--timeout 60")
    place.write("~/.gemini/settings.json", groups("BeforeTool", command(line, timeout=60_000)))
    assert machine.findings("gemini", check="own_entry") == []


def test_an_agent_without_fairlead_is_only_noted(machine: Machine, place: Home) -> None:
    place.write(CLAUDE, {})
    [found] = machine.findings("claude-code", check="own_entry")
    assert (found.level, found.fix) == ("note", "`fairlead init --agent claude-code`, if you want it there")


HOMES = (
    ".claude .codex .gemini .qwen .cursor .copilot .factory .kiro .augment .config/goose .config/crush .kimi-code "
    ".junie .grok .openhands .hermes .vibe .codeium/windsurf .config/devin .cline .gemini/antigravity .config/opencode "
    ".config/kilo .config/amp .config/amcp .config/Code"
).split()


def test_what_init_writes_is_healthy_in_every_agent(
    machine: Machine, place: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in place.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(place.project)
    for folder in HOMES:
        (place.home / folder).mkdir(parents=True, exist_ok=True)
    place.write("~/.gemini/settings.json", {})
    assert main(["init", "--yes"]) == 0
    examined = machine.examine()
    assert len(examined.agents) >= 25
    wrong = [one for one in examined.findings if one.check not in ("trust", "duplicates")]
    assert [(one.agent, one.message) for one in wrong] == []


def test_settings_that_are_a_pipe_are_not_waited_for(machine: Machine, place: Home) -> None:
    file = place.home / ".claude/settings.json"
    file.parent.mkdir(parents=True)
    os.mkfifo(file)
    assert any("not a regular file" in one.message for one in machine.findings("claude-code"))
