"""A real agent that sends its events to the server itself, one after the other over the connections that it keeps."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fairlead.journal import settings
from fairlead.journal.reading import Log, Wanted
from fairlead.journal.verifying import verify
from tests.agents.isolation import on_loopback_only, run
from tests.agents.model import Model
from tests.agents.playing import Played
from tests.agents.programs import PROGRAMS
from tests.conftest import Home

CLAUDE = next(program for program in PROGRAMS if program.name == "claude-code")
pytestmark = [pytest.mark.agents, pytest.mark.skipif(bool(CLAUDE.why_not), reason=CLAUDE.why_not)]
RULES = """
guard = ["filesystem"]

[[hook]]
on = "PreToolUse"
tool = "Bash"
if = "Bash(deploy*)"
run = "echo 'a person deploys here'; exit 1"
"""
COMMANDS = ["echo 1 > one", "rm -rf ~", "echo 2 > two", "deploy", "echo 3 > three", "rm -rf ~/."]


def fairlead(*words: str) -> list[str]:
    return [sys.executable, "-m", "fairlead", *words]


def played(place: Home) -> Played:
    init = fairlead("init", "--yes", "--agent", "claude-code", "--via", "http")
    serve = fairlead("serve", "--port", "0", "--json")
    with subprocess.Popen(serve, cwd="/", env=place.environ, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        try:
            while b"link" not in server.stdout.readline():
                assert server.poll() is None
            subprocess.run(init, cwd=place.project, env=place.environ, check=True, capture_output=True, timeout=60)
            with Model([CLAUDE.shell(command) for command in COMMANDS]) as model:
                session = run(CLAUDE.argv(model.url), CLAUDE.environ(place, model.url), place.project)
            return Played(session, model.told)
        finally:
            server.terminate()


def test_each_call_of_a_real_agent_is_judged_over_http(place: Home) -> None:
    place.write("~/.config/fairlead/fairlead.toml", RULES)
    place.write(CLAUDE.settings, CLAUDE.own_settings())
    place.write("~/kept.txt", "")
    found = on_loopback_only(lambda: played(place))
    assert sorted(os.listdir(place.project)) == ["one", "three", "two"], found.story
    assert (place.home / "kept.txt").exists()
    assert ["filesystem" in said for said in found.model.results] == [False, True, False, False, False, True]
    assert "a person deploys here" in found.model.results[3]
    log = Log(settings.folder(place.environ))
    calls = [entry["decision"] for entry in log.all(Wanted(event="PreToolUse"))]
    assert [decision == "deny" for decision in calls] == [False, True, False, True, False, True]
    assert verify(log).problems == ()
