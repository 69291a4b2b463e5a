"""For whom the server stands in: programs with the same rights, of the same Fairlead."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead import relay
from fairlead.installing.commands import program
from fairlead.warm import callers, framing
from tests.conftest import Home
from tests.warm.serving import PATIENCE, Said, Server, ask
from tests.warm.test_socket import request_of, sent_by

WORDS = ["--agent", "claude-code"]
PARENT = '[[hook]]\non = "UserPromptSubmit"\nrun = "echo parent $PPID"\n'
PROMPT = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "hi"}).encode()
FENCES = "Uid Gid Groups CapInh CapPrm CapEff CapBnd CapAmb NoNewPrivs Seccomp Seccomp_filters".split()

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the kernel does not say")


@pytest.mark.parametrize("name", FENCES)
def test_whatever_a_program_cannot_take_off_again_is_compared(name: str) -> None:
    lines = [
        line for line in Path("/proc/self/status").read_bytes().splitlines() if line.startswith(f"{name}:".encode())
    ]
    if not lines:
        pytest.skip(f"this kernel does not know {name}")
    assert lines[0] in callers._fence(os.getpid())[0]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can choose its group")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_who_has_another_group_makes_files_of_that_group(server: Server, place: Home) -> None:
    assert sent_by(["setpriv", "--regid=65534", "--keep-groups"], server.socket, request_of(place)) == b""
    assert sent_by(["setpriv", "--keep-groups"], server.socket, request_of(place)).startswith(framing.ACK)


def through_a_relay(server: Server, place: Home, cold: list[str]) -> Said:
    folder = place.root / "relay"
    folder.mkdir()
    for name, content, _mode in relay.parts("python"):
        (folder / name).write_bytes(content)
    words = [sys.executable, "-I", "-S", str(folder / relay.STARTER), server.socket, *cold, "hook", *WORDS]
    done = subprocess.run(
        words, input=PROMPT, capture_output=True, env=place.environ, cwd=place.project, timeout=90, check=False
    )
    return Said(done.returncode, done.stdout, done.stderr)


def test_a_relay_of_this_fairlead_is_answered(server: Server, place: Home) -> None:
    place.write("~/.config/fairlead/fairlead.toml", PARENT)
    said = through_a_relay(server, place, program())
    assert f"parent {server.process.pid}".encode() in said.out


def test_a_relay_of_another_fairlead_is_left_to_that(own_server: Server, place: Home) -> None:
    """It may be newer, and know a danger that this one does not."""
    other = place.write("other/fairlead/__main__.py", "print('the other'); raise SystemExit(7)\n")
    said = through_a_relay(own_server, place, [sys.executable, "-I", str(other)])
    assert (said.code, said.out) == (7, b"the other\n")
    assert f"another Fairlead are left to it: {sys.executable} -I {other}" in own_server.log.read_text()


LOCALES = {
    "none": {},
    "the plain one": {"LANG": "C"},
    "one that is not installed": {"LANG": "xx_XX.UTF-8"},
    "one that the agent chose": {"LC_CTYPE": "C.UTF-8"},
}


@pytest.mark.parametrize("locale", LOCALES.values(), ids=LOCALES)
@pytest.mark.parametrize("hook", ['run = "echo [$LC_CTYPE]"', 'python = "flags.py"'])
def test_hooks_have_the_locale_of_the_agent_and_not_that_of_the_interpreter(
    server: Server, place: Home, locale: dict[str, str], hook: str
) -> None:
    place.write("~/.config/fairlead/flags.py", "import sys\nprint(sys.flags.utf8_mode)\n")
    place.write("~/.config/fairlead/fairlead.toml", f'[[hook]]\non = "UserPromptSubmit"\n{hook}\n')
    environ = {name: value for name, value in place.environ.items() if name != "LANG" and not name.startswith("LC_")}
    environ |= locale
    done = subprocess.run(
        [*program(), "hook", *WORDS],
        input=PROMPT, capture_output=True, env=environ, cwd=place.project, timeout=PATIENCE, check=False,
    )  # fmt: skip
    if "run" in hook:
        assert f"[{locale.get('LC_CTYPE', '')}]".encode() in done.stdout
    said = ask(server.socket, WORDS, environ, str(place.project), PROMPT)
    assert said == Said(done.returncode, done.stdout, done.stderr)
