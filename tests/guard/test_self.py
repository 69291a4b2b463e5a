"""What guards or drives an agent: its files are protected under every agent, and reading them is free."""

from __future__ import annotations

import pytest

from fairlead.guard import Guard
from fairlead.installing.specs import SPECS, settings_file

HOME = "/home/u"
PROJECT = "/home/u/project"
GUARD = Guard(packs="all", project=PROJECT, home=HOME)
SETTINGS = sorted(
    {
        (name, settings_file(spec, scope, home=HOME, project=PROJECT, environ={}))
        for name, spec in SPECS.items()
        for scope in ("user", "project")
    }
)
FAIRLEAD = (
    "fairlead.toml", ".fairlead/state", "/home/u/.config/fairlead/fairlead.toml", "/home/u/.cache/fairlead/x",
    "/home/u/.local/state/fairlead/x", "/home/u/.local/share/fairlead/x", "/etc/fairlead/fairlead.toml",
)  # fmt: skip


@pytest.mark.parametrize(("agent", "path"), [pair for pair in SETTINGS if pair[1]], ids=lambda value: value)
def test_the_file_that_an_agent_reads_its_hooks_from_is_not_changed_without_a_question(agent: str, path: str) -> None:
    """CVE-2026-26268."""
    assert agent
    assert GUARD.tool("Write", {"file_path": path, "content": "{}"}).rule == "self.settings"
    assert GUARD.command(f"echo x > '{path}'").rule == "self.settings"
    assert GUARD.command(f"rm -f '{path}'").rule == "self.settings"
    assert GUARD.command(f"sed -i s/deny/allow/ '{path}'").rule == "self.settings"
    assert GUARD.tool("Read", {"file_path": path}).decision == "none"
    assert GUARD.command(f"cat '{path}'").decision == "none"


def test_the_folder_of_clines_extension_is_one_of_them() -> None:
    assert GUARD.command("echo x > ~/Documents/Cline/Hooks/PreToolUse").rule == "self.settings"


@pytest.mark.parametrize("path", FAIRLEAD)
def test_the_files_of_fairlead_itself_are_refused(path: str) -> None:
    assert GUARD.tool("Edit", {"file_path": path, "new_string": ""}).decision == "deny"
    assert GUARD.command(f"rm -rf {path}").decision == "deny"
    assert GUARD.command(f"cat {path}").decision == "none"


@pytest.mark.parametrize(
    "command",
    [
        "fairlead uninstall", "fairlead uninstall --yes", "python -m fairlead trust", "python3 -m fairlead init --yes",
        "uvx fairlead trust --all", "fairlead inbox", "pip uninstall -y fairlead", "uv tool uninstall fairlead",
        "kill $(pgrep -f fairlead)", "kill $(pgrep -f 'fairlead serve')", "pkill -f 'python -m fairlead serve'",
        "pgrep -f '[f]airlead serve' | xargs kill -9", "kill $(ps aux | grep fairlead | awk '{print $2}')",
        "systemctl --user stop fairlead", "systemctl --user disable --now fairlead.service",
        "sudo fairlead uninstall", "env X=1 fairlead uninstall", "sh -c 'fairlead trust'",
    ],
)  # fmt: skip
def test_an_agent_does_not_switch_off_what_guards_it(command: str) -> None:
    finding = GUARD.command(command)
    assert (finding.decision, finding.rule) == ("deny", "self.fairlead")


@pytest.mark.parametrize(
    "command",
    [
        "pgrep -f 'fairlead serve'", "ps aux | grep fairlead", "systemctl --user status fairlead", "kill 4711",
        "pkill -f my-fairlead-demo", "kill $(cat build/server.pid)", "cat fairlead.toml; kill 4711",
    ],
)  # fmt: skip
def test_looking_and_ending_something_else_is_free(command: str) -> None:
    assert GUARD.command(command).decision == "none"


@pytest.mark.parametrize(
    "command",
    [
        "fairlead list", "fairlead check", "fairlead explain", "fairlead guard 'rm -rf /'", "fairlead doctor",
        "fairlead uninstall --help", "python -m fairlead list", "pip install fairlead", "pip show fairlead",
        "rm -rf fairlead/build", "echo x > docs/fairlead.md", "git commit -m 'fairlead uninstall'",
    ],
)  # fmt: skip
def test_asking_fairlead_is_free(command: str) -> None:
    assert GUARD.command(command).decision == "none"
