"""A real agent through the relay: with a server and nothing else, and with nothing at all."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.installing import install
from tests.agents.isolation import on_loopback_only, run
from tests.agents.model import Model
from tests.agents.playing import Played, play
from tests.agents.programs import PROGRAMS, Program
from tests.conftest import Home

CLAUDE = next(program for program in PROGRAMS if program.name == "claude-code")
pytestmark = [pytest.mark.agents, pytest.mark.skipif(bool(CLAUDE.why_not), reason=CLAUDE.why_not)]
RULES = """
[[hook]]
on = "PreToolUse"
tool = "Bash"
run = "if grep -q deploy-now; then echo 'a person deploys here'; exit 1; fi"

[[hook]]
on = "UserPromptSubmit"
run = "echo mind-the-buoys"
"""


def installed_and_gone(program: Program, place: Home) -> None:
    """In the settings, and then the interpreter that they name goes: whatever is answered comes from the server."""
    place.write("~/.config/fairlead/fairlead.toml", RULES)
    place.write(program.settings, program.own_settings())
    install(program, place)
    settings = place.home / program.settings.removeprefix("~/")
    text = settings.read_text()
    assert "fairlead-relay" in text
    settings.write_text(text.replace(sys.executable, "/gone/bin/python"))


def with_a_server(program: Program, place: Home) -> Played:
    """In the same namespace: the server takes no events from behind a fence."""
    call = [sys.executable, "-m", "fairlead", "serve", "--port", "0", "--json"]
    script = [program.shell("echo deploy-now > deployed"), program.shell("echo fine > made")]
    with subprocess.Popen(call, cwd="/", env=place.environ, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        try:
            while b"link" not in server.stdout.readline():
                assert server.poll() is None
            with Model(script) as model:
                session = run(program.argv(model.url), program.environ(place, model.url), place.project)
            return Played(session, model.told)
        finally:
            server.terminate()


@pytest.fixture
def short_home() -> Iterator[Home]:
    """A socket must fit behind it."""
    with tempfile.TemporaryDirectory(prefix="fl", ignore_cleanup_errors=True) as folder:
        yield Home(Path(folder).resolve())


def test_the_server_answers_a_real_agent_through_the_relay(short_home: Home) -> None:
    installed_and_gone(CLAUDE, short_home)
    played = on_loopback_only(lambda: with_a_server(CLAUDE, short_home))
    assert "a person deploys here" in played.model.results[0], played.story
    assert sorted(os.listdir(short_home.project)) == ["made"]
    assert "mind-the-buoys" in str(played.model.turns)


def test_with_neither_server_nor_fairlead_a_real_agent_is_refused_and_told_why(short_home: Home) -> None:
    installed_and_gone(CLAUDE, short_home)
    played = play(CLAUDE, short_home, [CLAUDE.shell("echo fine > made")])
    assert os.listdir(short_home.project) == []
    assert "cannot start /gone/bin/python" in played.session.out, played.story
