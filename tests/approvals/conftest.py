"""A real server in a home of its own, people who answer, and hooks that wait."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest

from fairlead import approvals
from fairlead.folders import state_folder
from tests.conftest import Home, Ran

Json = dict[str, Any]
Found = TypeVar("Found")
PATIENCE = 60.0
"""Seconds after which something hangs."""
FAIRLEAD = (sys.executable, "-m", "fairlead")


def eventually(look: Callable[[], Found | None], what: str) -> Found:
    """What is there at last; fails when it never comes."""
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what} did not come within {PATIENCE:g} s")


class People:
    """Those who answer, with the key of the home's user."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def call(self, method: str, path: str, fields: Json | None = None) -> Json:
        address = approvals.announced(self._environ)
        key = (Path(state_folder(self._environ)) / "token").read_text()
        status, found = approvals.call(address, method, path, key, fields)
        assert status < 300, (status, found)
        return found

    def waiting(self) -> list[Json]:
        return self._listed("pending")

    def done(self) -> list[Json]:
        return self._listed("done")

    def _listed(self, state: str) -> list[Json]:
        """Each with all of it."""
        rows = self.call("GET", f"/api/interactions?state={state}")["interactions"]
        return [self.call("GET", f"/api/interactions/{row['id']}") for row in rows]

    def question(self, text: str = "") -> Json:
        """The first that waits, with this text in what it shows."""

        def look() -> Json | None:
            try:
                return next((item for item in self.waiting() if text in json.dumps(item["payload"])), None)
            except (OSError, approvals.Trouble, approvals.NoAnswer):
                return None  # the server is not there yet

        return eventually(look, f"a question about {text!r}")

    def answer(self, item: Json, decision: str, **more: Any) -> Json:
        fields = {"decision": decision, "digest": item["digest"], **more}
        return self.call("POST", f"/api/interactions/{item['id']}/answer", fields)


class Server(People):
    """`fairlead serve`, which can go and come back on the same port."""

    def __init__(self, place: Home) -> None:
        super().__init__(place.environ)
        self._place = place
        self._process: subprocess.Popen[bytes] | None = None
        self._was_up = False
        self.port = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        tries = 1 if self._was_up else 10
        assert any(self._starts() for _ in range(tries)), "the server did not start"
        eventually(self._is_up, "the server")
        self._was_up = True

    def _starts(self) -> bool:
        """On the port that it had; for the first time on one that nobody else has."""
        self.port = self.port if self._was_up else _free_port()
        words = [*FAIRLEAD, "serve", "--port", str(self.port), "--json"]
        self._process = subprocess.Popen(
            words, env=self._place.environ, stdout=subprocess.PIPE, cwd=self._place.project
        )
        assert self._process.stdout is not None
        starts = b"{" in self._process.stdout.readline()
        if not starts:
            self.stop()
        return starts

    def _is_up(self) -> bool:
        try:
            return approvals.call(self.address, "GET", "/api/health", "")[0] == 200
        except approvals.Trouble:
            return False

    def stop(self, number: int = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            assert self._process.stdout is not None
            with self._process.stdout:
                self._process.wait(PATIENCE)
        self._process = None

    def waiters(self) -> int:
        """Agents that hold a line to it."""
        key = (Path(state_folder(self._environ)) / "token").read_text()
        request = urllib.request.Request(f"{self.address}/metrics", headers={"Authorization": f"Bearer {key}"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as said:
            lines = said.read().decode().splitlines()
        return next(int(float(line.split()[1])) for line in lines if line.startswith("fairlead_agents_waiting "))

    def new_run(self) -> dict[str, str]:
        """The variables of the document."""
        found = self.call("POST", "/api/runs", {"agent": "claude", "project": "/p", "title": ""})
        return {"M_RUN_ID": found["run"]["id"], "M_API_KEY": found["key"], "M_SERVER_URL": self.address}


def _free_port() -> int:
    """Below those that the system gives away: nobody takes it while the server is down."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)  # not the same in every worker
        with socket.socket() as any_socket, contextlib.suppress(OSError):
            any_socket.bind(("127.0.0.1", port))
            return port


class Waiting:
    """A process that waits for an answer."""

    def __init__(self, words: list[str], stdin: bytes, environ: Mapping[str, str], cwd: Path) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, env=dict(environ), cwd=cwd)
        self._result: list[tuple[bytes, bytes]] = []
        self._thread = threading.Thread(target=lambda: self._result.append(self._process.communicate(stdin)))
        self._thread.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_waiting(self) -> bool:
        return self._thread.is_alive()

    def end(self) -> Ran:
        self._thread.join(PATIENCE)
        hangs = self._thread.is_alive()
        self.kill()
        assert not hangs, "the hook hangs"
        out, err = self._result[0]
        return Ran(subprocess.CompletedProcess(self._process.args, self._process.returncode, out, err))

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._thread.join(PATIENCE)


Start = Callable[..., Waiting]


@pytest.fixture
def place(tmp_path: Path) -> Home:
    """With a state of its own, whatever the machine's variables say."""
    home = Home(tmp_path)
    home.environ["XDG_STATE_HOME"] = str(tmp_path / "state")
    return home


@pytest.fixture
def start(place: Home) -> Iterator[Start]:
    """Begin a hook (or any program) and go on; nothing is left running."""
    begun: list[Waiting] = []

    def begin(*words: str, stdin: Mapping[str, Any] | bytes = b"", env: Mapping[str, str] | None = None) -> Waiting:
        raw = stdin if isinstance(stdin, bytes) else json.dumps(stdin).encode()
        command = [*FAIRLEAD, *words] if not os.path.isabs(words[0]) else list(words)
        begun.append(Waiting(command, raw, {**place.environ, **(env or {})}, place.project))
        return begun[-1]

    yield begin
    for one in begun:
        one.kill()


@pytest.fixture
def server(place: Home) -> Iterator[Server]:
    made = Server(place)
    try:
        made.start()
        yield made
    finally:
        made.stop(signal.SIGKILL)
