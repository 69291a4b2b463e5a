"""A full disk, a crash or a second `init` in the middle: nothing is lost, nothing is half done."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.errors import ConfigError
from fairlead.installing import applying
from tests.conftest import Home
from tests.installing.conftest import Agents, everything_below

SETTINGS = '{\n  "a": "' + "x" * 3000 + '"\n}\n'

DYING = """
import os, sys
from fairlead.cli import main
calls = int(sys.argv[1])
def dying(real):
    def call(*arguments, **options):
        global calls
        calls -= 1
        if calls < 0:
            os._exit(77)
        return real(*arguments, **options)
    return call
for name in ("replace", "fsync", "unlink", "mkdir", "rmdir", "fchmod"):
    setattr(os, name, dying(getattr(os, name)))
sys.exit(main(sys.argv[2:]))
"""
"""Fairlead in a process that ends without warning at its n-th change to the disk."""


def run_dying(place: Home, steps: int, *words: str) -> int:
    command = [sys.executable, "-c", DYING, str(steps), *words]
    done = subprocess.run(command, cwd=place.project, env=place.environ, capture_output=True, timeout=60, check=False)
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done.returncode


@pytest.mark.parametrize("agent", ["claude-code", "augment"])
def test_a_crash_at_any_step_of_init_or_uninstall_can_be_undone(agent: str, agents: Agents, place: Home) -> None:
    agents.write(agent, SETTINGS)
    before = everything_below(place.home)
    for command in ["init", "uninstall"]:
        for steps in range(40):
            if command == "uninstall":
                agents.install(agent)
            code = run_dying(place, steps, command, "--yes", "--agent", agent)
            assert agents.file(agent).read_text().startswith('{\n  "a": "xxx')
            agents.uninstall(agent)
            left = {name: value for name, value in everything_below(place.home).items() if ".fairlead-" not in name}
            assert left == before
            for path in place.home.rglob("*.fairlead-*"):
                path.unlink()  # what a killed process could not tidy up
            if code == 0:
                break
        else:
            pytest.fail("it never came to an end")


def limited(size: int) -> Callable[[], None]:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


@pytest.mark.parametrize("size", [10, 1000, 6000, 12_000])
@pytest.mark.parametrize("agent", ["claude-code", "augment"])
def test_when_no_more_can_be_written_everything_is_as_it_was(
    size: int, agent: str, agents: Agents, place: Home
) -> None:
    agents.write(agent, SETTINGS)
    before = everything_below(place.home)
    done = subprocess.run(
        [sys.executable, "-m", "fairlead", "init", "--yes", "--agent", agent],
        cwd=place.project,
        env=place.environ,
        preexec_fn=limited(size),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode == 0:
        agents.uninstall(agent)
    else:
        assert "File too large" in done.stdout
    assert "Traceback" not in done.stderr
    assert everything_below(place.home) == before


def test_two_at_once_leave_one_installation(agents: Agents, place: Home) -> None:
    file = agents.write("claude-code", SETTINGS)
    command = [sys.executable, "-m", "fairlead", "init", "--yes", "--agent", "claude-code"]
    running = [
        subprocess.Popen(command, cwd=place.project, env=place.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    outputs = [process.communicate(timeout=60) for process in running]
    assert all(b"Traceback" not in err for _, err in outputs)
    assert 0 in {process.returncode for process in running}
    assert {process.returncode for process in running} <= {0, 1}  # 1: "was changed in the meantime"
    assert agents.plan("claude-code").needed == []
    agents.uninstall("claude-code")
    assert file.read_text() == SETTINGS


def test_a_file_that_changed_after_it_was_shown_is_not_written(agents: Agents) -> None:
    file = agents.write("claude-code", "{}")
    plan = agents.plan("claude-code")
    file.write_text('{"new": 1}')
    with pytest.raises(ConfigError, match="was changed in the meantime"):
        applying.install(plan, agents.machine)
    assert file.read_text() == '{"new": 1}'


def test_a_record_that_cannot_be_read_is_reported_and_nothing_is_touched(agents: Agents, place: Home) -> None:
    file = agents.write("claude-code", "{}")
    agents.install("claude-code")
    installed = file.read_bytes()
    Path(agents.machine.record_path("claude-code", "user")).write_text("{")
    assert "cannot be read" in agents.plan("claude-code").problem
    assert file.read_bytes() == installed


def test_no_temporary_file_stays_behind(agents: Agents, place: Home) -> None:
    agents.install("claude-code")
    agents.uninstall("claude-code")
    assert [name for name in os.listdir(place.home) if name != ".local"] == []
