"""A real server as a process, and requests with exactly the headers that a test wants."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fairlead.server import security

KEPT_OPEN = 10.0
"""Seconds after which a connection that nobody used is not used again: the server may hang up."""


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Service:
    """`fairlead serve` on a free port of the loopback, with a home of its own."""

    def __init__(self, home: Path, *options: str, environ: Mapping[str, str] | None = None) -> None:
        self.folder = home / "state" / "fairlead"
        self.environ = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "PATH": os.environ["PATH"]}
        self.environ.update(environ or {})
        self.log = home / "log.txt"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "fairlead", "serve", "--port", "0", "--json", *options],
                env=self.environ,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self._connection: http.client.HTTPConnection | None = None
        self._used = 0.0
        said = self._first_words()
        self.address: str = said["address"]
        self.link: str = said["link"]
        self.host = self.address.partition("//")[2]
        self.token = (self.folder / "token").read_text()

    def _first_words(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        said = b""
        while not said.endswith(b"}\n"):
            line = self._process.stdout.readline()
            if not line:
                self.close()
                raise AssertionError(f"the server did not start: {self.log.read_text()[-2000:]}")
            said += line
        return dict(json.loads(said))

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._process.terminate()
        assert self._process.stdout is not None
        with self._process.stdout:  # also if it does not end: a leak is found by whichever test runs then
            self._process.wait(60)

    def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"", *, whole: bool = True
    ) -> Reply:
        """With these headers and no others; `whole` waits for the end of the answer, which a stream has not."""
        connection = self._connection
        if connection is not None and time.monotonic() - self._used > KEPT_OPEN:
            connection.close()
            connection = None
        connection = connection or http.client.HTTPConnection(self.host, timeout=30)
        self._connection = None
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        found = Reply(answer.status, dict(answer.getheaders()), answer.read() if whole else b"")
        if whole:
            self._connection, self._used = connection, time.monotonic()
        else:
            answer.close()
            connection.close()
        return found

    def call(self, method: str, path: str, fields: object = None, *, key: str = "") -> Reply:
        """As a program of this user, or with another key."""
        headers = {
            "Host": self.host,
            "Authorization": f"Bearer {key or self.token}",
            "Content-Type": "application/json",
        }
        return self.send(method, path, headers, b"" if fields is None else json.dumps(fields).encode())

    def new_run(self, **fields: str) -> tuple[str, str]:
        made = self.call("POST", "/api/runs", {"agent": "claude-code", "project": "/p", **fields}).json
        return made["run"]["id"], made["key"]

    def new_session(self, name: str = "") -> str:
        """A cookie, as the page gets it with a one-time key."""
        key = self.call("POST", "/api/login-link", {"name": name}).json["key"]
        headers = {**self.as_page(), "Content-Type": "application/json"}
        answer = self.send("POST", "/api/login", headers, json.dumps({"key": key}).encode())
        assert answer.status == 200, answer.body
        return answer.headers["set-cookie"].partition(";")[0]

    def as_page(self) -> dict[str, str]:
        return {"Host": self.host, "Origin": self.address, "Sec-Fetch-Site": "same-origin"}

    def ask(
        self, run: str, key: str, request: str, tool: str, payload: Mapping[str, Any], **more: Any
    ) -> http.client.HTTPConnection:
        """An agent that waits; close the connection, or read the answer with `getresponse()`."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        body = {"run_id": run, "type": "approval", "tool": tool, "request_id": request, "payload": payload, **more}
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        connection.request("POST", "/api/internal/interaction-request", json.dumps(body), headers)
        return connection

    def waiting(
        self, run: str, key: str, request: str, tool: str, payload: Mapping[str, Any], **more: Any
    ) -> dict[str, Any]:
        """The item of a question that an agent has asked; the agent does not wait for the answer."""
        connection = self.ask(run, key, request, tool, payload, **more)
        connection.sock.recv(1)  # the answer begins when the question is stored
        connection.close()
        return next(item for item in self.whole(run) if item["payload"] == payload)

    def whole(self, run: str = "", state: str = "pending") -> list[dict[str, Any]]:
        """All that waits (or is done), each with all of it."""
        listed = self.call("GET", f"/api/interactions?run={run}&state={state}").json["interactions"]
        return [self.call("GET", f"/api/interactions/{row['id']}").json for row in listed]


COOKIE = security.COOKIE
