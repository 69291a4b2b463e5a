"""The command itself: what it lists, and what it says to a wrong word."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from fairlead import __version__
from fairlead.cli import COMMANDS
from tests.conftest import Home, Ran


def test_without_a_command_it_lists_them(fairlead: Callable[..., Ran]) -> None:
    ran = fairlead()
    assert ran.code == 0
    assert all(f"\n  {name}" in ran.out.decode() for name in COMMANDS)


def test_it_says_its_version(fairlead: Callable[..., Ran]) -> None:
    assert fairlead("--version").out.decode() == f"fairlead {__version__}\n"


def test_an_unknown_command_gets_a_suggestion(fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("explan")
    assert ran.code == 64
    assert "did you mean 'explain'?" in ran.err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, fairlead: Callable[..., Ran]) -> None:
    ran = fairlead(name, "--help")
    assert ran.code == 0
    assert f"fairlead {name}" in ran.out.decode()
    assert ran.err == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_option_is_a_sentence_and_not_a_verdict(name: str, fairlead: Callable[..., Ran]) -> None:
    ran = fairlead(name, "--nonsense")
    assert ran.code == (2 if name == "hook" else 64), "an agent's settings with a mistake must not switch its guard off"
    assert "--nonsense" in ran.err
    assert ran.out == b""


@pytest.mark.parametrize(
    "name", [name for name in COMMANDS if name not in ("demo", "guard", "serve", "inbox", "trust")]
)
def test_an_unknown_agent_gets_a_suggestion(name: str, fairlead: Callable[..., Ran]) -> None:
    ran = fairlead(name, "--agent", "claudecode")
    assert ran.code == (2 if name == "hook" else 64)
    assert "unknown agent 'claudecode'; did you mean 'claude-code'?" in ran.err


@pytest.mark.parametrize("name", ["check", "list", "explain"])
class TestCommandsThatLook:
    def test_a_missing_project_is_an_error(self, name: str, fairlead: Callable[..., Ran]) -> None:
        ran = fairlead(name, "--project", "nowhere")
        assert ran.code == 64
        assert "there is no directory 'nowhere'" in ran.err

    def test_nothing_configured_is_no_error(self, name: str, fairlead: Callable[..., Ran], place: Home) -> None:
        ran = fairlead(name, *(["--command", "ls"] if name == "explain" else []))
        assert ran.code == 0
        assert "hook" in ran.out.decode()
        assert ran.err == ""
        assert list(place.project.iterdir()) == []


@pytest.mark.parametrize("words", ["check", "list", "explain --command ls"])
def test_a_directory_that_has_gone_is_a_sentence(words: str, place: Home) -> None:
    script = f'mkdir gone && cd gone && rmdir ../gone && exec "{sys.executable}" -m fairlead {words}'
    done = subprocess.run(
        ["/bin/sh", "-c", script], capture_output=True, cwd=place.root, env=place.environ, timeout=60, check=False
    )
    assert done.returncode == 64
    assert b"the working directory has gone (go to another one, or say --project DIR)" in done.stderr


def test_from_a_directory_that_has_gone_another_project_can_be_looked_at(mixed: Home) -> None:
    script = f'mkdir gone && cd gone && rmdir ../gone && exec "{sys.executable}" -m fairlead list --project "$0"'
    done = subprocess.run(
        ["/bin/sh", "-c", script, mixed.project],
        capture_output=True, cwd=mixed.root, env=mixed.environ, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert f"{mixed.project}/fairlead.toml:1".encode() in done.stdout
