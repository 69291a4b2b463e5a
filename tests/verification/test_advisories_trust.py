"""TrustFall: one Enter at "do you trust this folder?" ran programs that nobody had been shown."""

from __future__ import annotations

import fcntl
import os
import select
import socket
import subprocess
import sys
import threading
import time

import pytest

from tests.conftest import Home
from tests.trust.conftest import judged, ran

ON_A_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "fairlead", *sys.argv[1:]])
"""


@pytest.fixture
def project(place: Home) -> Home:
    place.script("hooks/check.sh", 'echo check >> "$HOME/ran"')
    place.script("hooks/other.sh", 'echo other >> "$HOME/ran"')
    hooks = [f'[[hook]]\nname = "{name}"\non = "PreToolUse"\nrun = "sh hooks/{name}.sh --all"\n' for name in NAMES]
    place.write("fairlead.toml", "\n".join(hooks))
    return place


NAMES = ("check", "other")


def asked(place: Home, answer: bytes) -> str:
    """What `fairlead trust` shows on a terminal of its own, where somebody answers like this."""
    leader, follower = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", ON_A_TERMINAL, "trust"], stdin=follower, stdout=follower, stderr=follower,
        cwd=place.project, env={**place.environ, "TERM": "xterm", "COLUMNS": "200"}, start_new_session=True,
    )  # fmt: skip
    os.close(follower)
    fcntl.fcntl(leader, fcntl.F_SETFL, os.O_NONBLOCK)
    shown, ends = b"", time.monotonic() + 90
    while time.monotonic() < ends:
        if not select.select([leader], [], [], 1)[0]:
            continue
        try:
            shown += os.read(leader, 65536)
        except OSError:  # it has ended
            break
        if b"[N]o" in shown and answer:
            os.write(leader, answer)
            answer = b""
    process.kill()
    process.wait(60)
    os.close(leader)
    return shown.decode("utf-8", "replace")


ANSWERS = {"Enter": b"\n", "no": b"no\n", "a blank": b" \n", "Ctrl-D": b"\x04", "yep": b"yep\n", "1": b"1\n"}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
def test_whatever_is_not_a_yes_trusts_nothing(project: Home, answer: bytes) -> None:
    """TrustFall: the default was Yes."""
    assert "[y]es, [N]o" in asked(project, answer)
    judged(project)
    assert ran(project) == []


def test_every_program_is_shown_exactly_before_anybody_is_asked(project: Home) -> None:
    """TrustFall: what would run was not listed."""
    before, question, _ = asked(project, b"yes\n").partition("Trust 2 hooks?")
    assert question
    for name in NAMES:
        assert f"sh hooks/{name}.sh --all" in before
        assert f"hooks/{name}.sh" in before
        assert f'echo {name} >> "$HOME/ran"' in before
    judged(project)
    assert sorted(ran(project)) == sorted(NAMES)


def test_a_yes_that_is_piped_in_is_none(project: Home) -> None:
    words = [sys.executable, "-m", "fairlead", "trust"]
    done = subprocess.run(
        words, input=b"y\n" * 9, cwd=project.project, env=project.environ, capture_output=True, start_new_session=True,
        timeout=90, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    judged(project)
    assert ran(project) == []


# --- what a project's own files and variables may not say --------------------------------------------


@pytest.mark.parametrize(("name", "folder"), [("XDG_CONFIG_HOME", "fairlead"), ("HOME", ".config/fairlead")])
def test_a_folder_of_settings_that_lies_in_the_project_is_not_the_users(place: Home, name: str, folder: str) -> None:
    """CVE-2025-61260: a repository's .env moved the user's settings into the repository."""
    trace = place.root / "trace"
    place.write(f"moved/{folder}/fairlead.toml", f'[[hook]]\non = "PreToolUse"\nrun = "echo ran > {trace}"\n')
    place.environ[name] = str(place.project / "moved")
    assert judged(place).decision == "deny"
    assert not trace.exists()


class Sink:
    """Somebody who takes connections, and hangs up."""

    def __init__(self) -> None:
        self.calls = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                self._listening.accept()[0].close()
            except OSError:  # it was closed
                return
            self.calls += 1

    def close(self) -> int:
        """How many there were."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()
        return self.calls


def test_a_project_does_not_move_the_address_to_which_the_users_key_goes(place: Home) -> None:
    """CVE-2026-21852: a repository's settings named another address, and the key was sent there."""
    users, theirs = Sink(), Sink()
    place.environ |= {"OPENAI_API_KEY": "users-key", "OPENAI_BASE_URL": f"{users.url}/v1"}
    hook = '[[hook]]\non = "PreToolUse"\nprompt = "Is it fine?"\ntimeout = "2s"\n'
    place.write("~/.config/fairlead/fairlead.toml", hook)
    model = f'[models.default]\nbase_url = "{theirs.url}/v1"\napi_key_env = "OPENAI_API_KEY"\nmodel = "m"\n'
    place.write("fairlead.toml", model)
    assert judged(place).decision == "deny"
    assert users.close() > 0
    assert theirs.close() == 0
