"""Signals to Fairlead itself: its hooks end with it, and an agent's habits do not cost it a verdict."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.conftest import Home
from tests.runner.conftest import Token, until

CALL = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}


def _start(place: Home, command: str, *before: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "fairlead", command, "--agent", "claude-code", "--project", str(place.project)]
    process = subprocess.Popen([*before, *words], cwd=place.project, env=place.environ, stdin=-1, stdout=-1, stderr=-1)
    assert process.stdin is not None
    process.stdin.write(json.dumps(CALL).encode())
    process.stdin.close()
    process.stdin = None
    return process


@pytest.mark.parametrize("command", ["fire", "hook"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_hooks_end_with_the_program_that_started_them(place: Home, token: Token, command: str, number: int) -> None:
    script = place.script("~/hook.sh", f"setsid {token.sleep} & {token.sleep}")
    place.write("~/.config/fairlead/fairlead.toml", f'[[hook]]\non = "PreToolUse"\nrun = "{script}"\n')
    process = _start(place, command)
    assert until(lambda: len(token.pids()) == 2)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (128 + number, b"", b"")
    assert token.is_gone()


@pytest.mark.parametrize("command", ["fire", "hook"])
def test_an_agent_that_ignores_sigchld_gets_the_verdict_all_the_same(place: Home, command: str) -> None:
    place.write("~/.config/fairlead/fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "echo no >&2; exit 2"\n')
    ignoring = "import os, signal, sys; signal.signal(17, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    process = _start(place, command, sys.executable, "-c", ignoring)
    out, _err = process.communicate(timeout=30)
    assert json.loads(out)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert b"exit code was lost" not in out


@pytest.mark.parametrize("command", ["fire", "hook"])
def test_a_closed_stdin_is_refused(place: Home, command: str) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f"exec {sys.executable} -m fairlead {command} --agent m <&-"],
        cwd=place.project, env=place.environ, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert json.loads(done.stdout)["decision"] == "block"
    assert b"Traceback" not in done.stderr


def test_an_agent_that_has_gone_is_no_crash(place: Home) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "fairlead", "hook", "--agent", "m"],
        cwd=place.project, env=place.environ, input=b"{", stdout=writing, stderr=-1, timeout=60, check=False,
    )  # fmt: skip
    os.close(writing)
    assert b"Traceback" not in done.stderr
