"""Hooks that wait for trust: found, and not found once it was given."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Home
from tests.doctor.conftest import Machine, command, groups

TRUE = command("/bin/true")


def codex_state(file: Path, event: str, identity: dict[str, Any]) -> str:
    """As Codex writes it, put together apart from our own reader."""
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    trusted = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    return f'[hooks.state."{file}:{event}:0:0"]\ntrusted_hash = "{trusted}"\n'


IDENTITY = {
    "event_name": "pre_tool_use",
    "hooks": [{"async": False, "command": "/bin/true", "timeout": 600, "type": "command"}],
    "matcher": "Bash",
}


def test_a_hook_that_codex_does_not_trust_is_told(machine: Machine, place: Home) -> None:
    file = place.write("~/.codex/hooks.json", groups("PreToolUse", TRUE, matcher="Bash"))
    [found] = machine.findings("codex", check="trust")
    assert (found.level, found.file) == ("error", str(file))
    assert "a hook is not trusted: Codex skips such hooks without a word (PreToolUse)" in found.message


def test_a_hook_that_codex_trusts_is_fine(machine: Machine, place: Home) -> None:
    file = place.write("~/.codex/hooks.json", groups("PreToolUse", TRUE, matcher="Bash"))
    place.write("~/.codex/config.toml", codex_state(file, "pre_tool_use", IDENTITY))
    assert machine.findings("codex", check="trust") == []


def test_a_hook_that_has_changed_since_is_told(machine: Machine, place: Home) -> None:
    file = place.write("~/.codex/hooks.json", groups("PreToolUse", TRUE, matcher="Edit"))
    place.write("~/.codex/config.toml", codex_state(file, "pre_tool_use", IDENTITY))
    [found] = machine.findings("codex", check="trust")
    assert "not as you have trusted it" in found.message


def test_a_hook_that_is_switched_off_in_codex_is_only_noted(machine: Machine, place: Home) -> None:
    file = place.write("~/.codex/hooks.json", groups("PreToolUse", TRUE, matcher="Bash"))
    place.write("~/.codex/config.toml", codex_state(file, "pre_tool_use", IDENTITY) + "enabled = false\n")
    assert [one.level for one in machine.findings("codex", check="trust")] == ["note"]


def test_a_project_that_codex_does_not_trust_is_told_once(machine: Machine, place: Home) -> None:
    file = place.write(".codex/hooks.json", groups("PreToolUse", TRUE, matcher="Bash"))
    trusted = codex_state(file, "pre_tool_use", IDENTITY)
    place.write("~/.codex/config.toml", trusted)
    [found] = machine.findings("codex", check="trust")
    assert "reads none of the hooks in it" in found.message
    place.write("~/.codex/config.toml", f'{trusted}[projects."{place.project}"]\ntrust_level = "trusted"\n')
    assert machine.findings("codex", check="trust") == []


@pytest.mark.parametrize("trusted", ["project", "parent"])
def test_a_folder_that_claude_code_does_not_trust_is_told(trusted: str, machine: Machine, place: Home) -> None:
    place.write("~/.claude/settings.json", groups("Stop", TRUE))
    assert [one.level for one in machine.findings("claude-code", check="trust")] == ["warning"]
    folder = place.project if trusted == "project" else place.root
    place.write("~/.claude.json", {"projects": {str(folder): {"hasTrustDialogAccepted": True}}})
    assert machine.findings("claude-code", check="trust") == []


@pytest.mark.parametrize(
    ("folders", "levels"),
    [
        pytest.param({}, ["warning"], id="nothing said"),
        pytest.param({"project": "DO_NOT_TRUST"}, ["error"], id="refused"),
        pytest.param({"project": "TRUST_FOLDER"}, [], id="trusted"),
        pytest.param({".": "TRUST_FOLDER"}, [], id="a parent trusted"),
        pytest.param({"sibling": "TRUST_PARENT"}, [], id="trusted by a sibling"),
        pytest.param({"project": "DO_NOT_TRUST", ".": "TRUST_FOLDER"}, ["error"], id="the nearer counts"),
    ],
)
def test_a_folder_that_gemini_does_not_trust_is_told(
    folders: dict[str, str], levels: list[str], machine: Machine, place: Home
) -> None:
    place.write("~/.gemini/settings.json", groups("BeforeTool", TRUE))
    said = {str((place.root / name).resolve()): word for name, word in folders.items()}
    place.write("~/.gemini/trustedFolders.json", said)
    assert [one.level for one in machine.findings("gemini", check="trust")] == levels


def test_who_has_switched_the_trust_of_folders_off_hears_nothing(machine: Machine, place: Home) -> None:
    off = {"security": {"folderTrust": {"enabled": False}}}
    place.write("~/.gemini/settings.json", {**groups("BeforeTool", TRUE), **off})
    assert machine.findings("gemini", check="trust") == []


def test_qwen_asks_for_trust_only_where_it_is_told_to(machine: Machine, place: Home) -> None:
    place.write(".qwen/settings.json", groups("Stop", TRUE))
    assert machine.findings("qwen", check="trust") == []
    place.write("~/.qwen/settings.json", {"security": {"folderTrust": {"enabled": True}}})
    assert [one.level for one in machine.findings("qwen", check="trust")] == ["warning"]


def test_a_project_that_grok_does_not_trust_is_told(machine: Machine, place: Home) -> None:
    place.write(".grok/hooks/own.json", groups("Stop", TRUE))
    assert [one.level for one in machine.findings("grok", check="trust")] == ["error"]
    place.write("~/.grok/trusted_folders.toml", f'folders = ["{place.project}"]\n')
    assert machine.findings("grok", check="trust") == []


def test_hooks_of_the_project_that_fairlead_does_not_run_are_told(machine: Machine, place: Home) -> None:
    line = "/usr/bin/python3 -I /x/fairlead/__main__.py hook --agent codex"
    place.write("~/.codex/hooks.json", groups("Stop", command(line)))
    place.write("fairlead.toml", '[[hook]]\non = "Stop"\nrun = "true"\n')
    [found] = [one for one in machine.findings("codex", check="trust") if one.agent == "fairlead"]
    assert (found.level, "fairlead trust" in found.fix) == ("warning", True)
    place.write("~/.codex/hooks.json", groups("Stop", command(f"{line} --trust-project")))
    assert not [one for one in machine.findings("codex", check="trust") if one.agent == "fairlead"]


@pytest.mark.parametrize(
    ("profile", "levels"),
    [
        pytest.param("echo Welcome home\n", ["error"], id="prints"),
        pytest.param("echo Welcome home >&2\nexport A=1\n", [], id="prints where it does no harm"),
        pytest.param('read answer\necho "$answer" | grep .\n', [], id="asks"),
        pytest.param("case $- in *i*) echo hello ;; esac\n", [], id="prints to people alone"),
    ],
)
def test_a_profile_that_prints_is_told(profile: str, levels: list[str], machine: Machine, place: Home) -> None:
    place.write("~/.codex/hooks.json", groups("Stop", TRUE))
    place.write("~/.profile", profile)
    found = machine.findings("codex", check="profile")
    assert [one.level for one in found] == levels
    assert all("'Welcome home'" in one.message for one in found)


def test_a_profile_is_nobodys_business_without_codex(machine: Machine, place: Home) -> None:
    place.write("~/.claude/settings.json", groups("Stop", TRUE))
    place.write("~/.profile", f"echo hello; touch {place.root}/ran\n")
    assert machine.findings("claude-code", check="profile") == []
    assert not (place.root / "ran").exists()


def test_a_profile_that_hangs_is_ended_and_told(machine: Machine, place: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.doctor.profile._PATIENCE", 0.5)
    place.write("~/.codex/hooks.json", groups("Stop", TRUE))
    place.write("~/.profile", "sleep 100\n")
    [found] = machine.findings("codex", check="profile")
    assert (found.level, "takes longer" in found.message) == ("warning", True)
