"""Hooks that stand in two places: told where the agent runs both, and only there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Home
from tests.doctor.conftest import Machine, command, groups

TRUE = command("/bin/true")


def ours(agent: str) -> dict[str, Any]:
    return command(f"/usr/bin/python3 -I /x/fairlead/__main__.py hook --agent {agent}")


@pytest.mark.parametrize(
    ("agent", "one", "other", "event", "runs_twice"),
    [
        ("codex", "~/.codex/hooks.json", ".codex/hooks.json", "Stop", True),
        ("claude-code", "~/.claude/settings.json", ".claude/settings.json", "Stop", False),
        ("claude-code", "~/.claude/settings.json", "~/.claude/plugins/p/hooks/hooks.json", "Stop", True),
        ("gemini", "~/.gemini/settings.json", ".gemini/settings.json", "AfterAgent", False),
        ("droid", "~/.factory/hooks.json", ".factory/hooks.json", "Stop", True),
    ],
)
def test_the_same_command_in_two_files(
    agent: str, one: str, other: str, event: str, runs_twice: bool, machine: Machine, place: Home
) -> None:
    place.write(one, groups(event, TRUE))
    place.write(other, groups(event, TRUE))
    found = machine.findings(agent, check="duplicates")
    assert [finding.level for finding in found] == ["warning"] * runs_twice


@pytest.mark.parametrize("twin", [command("/bin/false"), command("/bin/true", timeout=5)], ids=["other", "same"])
def test_only_the_same_command_counts(twin: dict[str, Any], machine: Machine, place: Home) -> None:
    place.write("~/.codex/hooks.json", groups("Stop", TRUE, twin))
    found = machine.findings("codex", check="duplicates")
    assert len(found) == (twin["command"] == "/bin/true")


def test_other_matchers_are_other_hooks(machine: Machine, place: Home) -> None:
    place.write("~/.codex/hooks.json", groups("PreToolUse", TRUE, matcher="Bash"))
    place.write(".codex/hooks.json", groups("PreToolUse", TRUE, matcher="apply_patch"))
    assert machine.findings("codex", check="duplicates") == []


def test_a_manifest_that_names_what_is_loaded_anyway_is_told(machine: Machine, place: Home) -> None:
    place.write("~/.claude/plugins/p/hooks/hooks.json", groups("Stop", TRUE))
    place.write("~/.claude/plugins/p/.claude-plugin/plugin.json", {"name": "p", "hooks": "./hooks/hooks.json"})
    [found] = machine.findings("claude-code", check="shapes")
    assert (found.level, found.file.endswith("plugin.json")) == ("warning", True)
    place.write("~/.claude/plugins/p/.claude-plugin/plugin.json", {"name": "p"})
    assert machine.findings("claude-code", check="shapes") == []


def test_fairlead_for_the_user_and_for_the_project_is_told(machine: Machine, place: Home) -> None:
    place.write("~/.codex/hooks.json", groups("Stop", ours("codex")))
    place.write(".codex/hooks.json", groups("Stop", ours("codex")))
    [found] = machine.findings("codex", check="duplicates")
    assert found.message.startswith("Fairlead stands in")


@pytest.mark.parametrize("agent", ["cursor", "copilot", "vscode", "grok"])
def test_an_agent_that_reads_the_settings_of_claude_code_as_well_is_told(
    agent: str, machine: Machine, place: Home
) -> None:
    place.write(".claude/settings.json", groups("PreToolUse", ours("claude-code")))
    files: dict[str, tuple[str, dict[str, Any]]] = {
        "cursor": ("~/.cursor/hooks.json", {"version": 1, "hooks": {"preToolUse": [ours("cursor")]}}),
        "copilot": ("~/.copilot/hooks/fairlead.json", {"version": 1, "hooks": {"PreToolUse": [ours("copilot")]}}),
        "vscode": ("~/.copilot/hooks/fairlead-vscode.json", {"hooks": {"PreToolUse": [ours("vscode")]}}),
        "grok": ("~/.grok/hooks/fairlead.json", groups("PreToolUse", ours("grok"))),
    }
    assert machine.findings(agent, check="duplicates") == []
    place.write(*files[agent])
    [found] = machine.findings(agent, check="duplicates")
    assert "it is asked twice" in found.message
