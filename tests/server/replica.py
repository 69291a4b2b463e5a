"""`fairlead serve` as a process, with agents that wait and people who answer, from any thread."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ASK = "/api/internal/interaction-request"
UNREACHABLE = (OSError, http.client.HTTPException, TimeoutError)
"""What a client sees of a server that is not there, or goes away."""


class Reply(NamedTuple):
    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Replica:
    """Started again, it listens on the same port."""

    def __init__(
        self,
        home: Path,
        *,
        store: str = "",
        port: int = 0,
        before: Callable[[], object] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """`before` runs in the new process, in front of the server, which has `environ` beside its own."""
        self.home = home
        self.store = store
        self.port = port
        self._before = before
        self._more = dict(environ or {})
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def environ(self) -> dict[str, str]:
        own = {"HOME": str(self.home), "XDG_STATE_HOME": str(self.home / "state"), "PATH": os.environ["PATH"]}
        watched = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
        return {**own, **watched, **self._more}

    def start(self) -> None:
        words = ["--port", str(self.port), "--json", *(["--store", self.store] if self.store else [])]
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "fairlead", "serve", *words],
                env=self.environ,
                stdout=subprocess.PIPE,
                stderr=log,
                preexec_fn=self._before,  # noqa: PLW1509  # sets a limit, and nothing else
            )
        self.port = int(self._said()["address"].rpartition(":")[2])
        self.token = (self.home / "state/fairlead/token").read_text()

    def _said(self) -> Any:
        """The JSON that it prints when it is ready, on one line or several."""
        assert self._process is not None
        assert self._process.stdout is not None
        text = b""
        for line in self._process.stdout:
            text += line
            if line.rstrip().endswith(b"}"):
                return json.loads(text)
        self.kill()
        raise AssertionError((self.home / "log").read_text())

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def database(self) -> Path:
        return Path(self.store) if self.store else self.home / "state/fairlead/approvals.db"

    def kill(self, how: int = signal.SIGKILL) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        assert self._process.stdout is not None
        with self._process.stdout:  # also if it does not end: a leak is found by whichever test runs then
            self._process.wait(60)
        self._process = None

    # --- requests --------------------------------------------------------------------------------

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes, timeout: float = 30) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body, dict(headers))
            got = connection.getresponse()
            return Reply(got.status, got.read())
        finally:
            connection.close()

    def call(self, method: str, path: str, fields: object = None, *, key: str = "", timeout: float = 30) -> Reply:
        headers = {"Authorization": f"Bearer {key or self.token}", "Content-Type": "application/json"}
        body = b"" if fields is None else json.dumps(fields).encode()
        return self.send(method, path, headers, body, timeout)

    def new_run(self) -> tuple[str, str]:
        made = self.call("POST", "/api/runs", {"agent": "claude-code", "project": "/p"})
        assert made.status == 201, made.body
        return made.json["run"]["id"], made.json["key"]

    def ask(
        self, run: tuple[str, str], request_id: str, command: str = "ls", timeout: float = 60, **more: Any
    ) -> Reply:
        """Waits for the answer."""
        fields = {"run_id": run[0], "type": "approval", "tool": "Bash", "payload": {"command": command}, **more}
        return self.call("POST", ASK, {**fields, "request_id": request_id}, key=run[1], timeout=timeout)

    def asking(self, run: tuple[str, str], request_id: str, command: str = "ls", **more: Any) -> Waiting:
        return Waiting(self, run, request_id, command, more)

    def pending(self) -> list[dict[str, Any]]:
        got = self.call("GET", "/api/interactions")
        assert got.status == 200, got.body
        return list(got.json["interactions"])

    def answer(self, item: Mapping[str, Any], decision: str = "allow", **more: Any) -> Reply:
        fields = {"decision": decision, "digest": item["digest"], **more}
        return self.call("POST", f"/api/interactions/{item['id']}/answer", fields)


class Waiting:
    """An agent that has asked, and whose question is stored: the first byte has come."""

    def __init__(
        self, replica: Replica, run: tuple[str, str], request_id: str, command: str, more: Mapping[str, Any]
    ) -> None:
        fields = {"run_id": run[0], "type": "approval", "tool": "Bash", "payload": {"command": command}, **more}
        self.connection = http.client.HTTPConnection("127.0.0.1", replica.port, timeout=60)
        headers = {"Authorization": f"Bearer {run[1]}", "Content-Type": "application/json"}
        self.connection.request("POST", ASK, json.dumps({**fields, "request_id": request_id}), headers)
        self._response = self.connection.getresponse()
        self.status = self._response.status
        self._read = self._response.read(1)

    def answer(self) -> Any:
        """When it comes."""
        return json.loads(self._read + self.rest())

    def rest(self) -> bytes:
        """All that comes after the first byte."""
        try:
            return self._response.read()
        finally:
            self.leave()

    def leave(self) -> None:
        self._response.close()
        self.connection.close()
