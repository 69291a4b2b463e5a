"""A server that says what a test wants, byte by byte."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fairlead import Hooks, PreToolUse
from fairlead.events import Event
from fairlead.handlers.http import Http
from fairlead.hooks import Hook, Origin, Report, Setting
from fairlead.verdicts import Decision

FOLDER = Path(__file__).parent
AUTHORITY = FOLDER / "authority.pem"
"""Made for these tests; its key is beside it, and nobody else trusts it."""
PATIENCE = 60.0
"""Seconds after which something hangs."""
DENY = {
    "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not on my watch",
    }
}  # fmt: skip
BASH = PreToolUse(session_id="s1", cwd="/", tool_name="Bash", tool_input={"command": "rm -rf build"})


class Request:
    def __init__(self, head: bytes, body: bytes) -> None:
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = lines[0].split(" ", 2)
        self.lines = [line for line in lines[1:] if line]
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in self.lines)}
        self.body = body

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Answering = bytes | Callable[[socket.socket, Request], None]


def reply(status: str = "200 OK", body: bytes | Mapping[str, Any] = b"", **headers: str) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    fields = {"Content-Length": str(len(content)), **{name.replace("_", "-"): text for name, text in headers.items()}}
    head = "".join(f"{name}: {text}\r\n" for name, text in fields.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + content


class Server:
    """Answers its connections in order; the last answer is for all that follow."""

    def __init__(self, answers: tuple[Answering, ...], *, tls: bool, raw: bool) -> None:
        self.requests: list[Request] = []
        self.asked = threading.Event()
        self.left_by_client = threading.Event()
        self.closing = threading.Event()
        self.connections = 0
        self._answers = answers
        self._raw = raw
        self._context = _context() if tls else None
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listening.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        self.closing.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join(PATIENCE)

    def _accept(self) -> None:
        while not self.closing.is_set():
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            answer = self._answers[min(self.connections, len(self._answers) - 1)]
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(connection, answer))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket, answer: Answering) -> None:
        connection.settimeout(PATIENCE)
        try:
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
            with connection:
                self._answer(connection, answer)
        except OSError:  # the client has gone, or does not trust us
            self.left_by_client.set()
            connection.close()

    def _answer(self, connection: socket.socket, answer: Answering) -> None:
        request = Request(b"RAW / HTTP/1.1", b"") if self._raw else read_request(connection)
        self.requests.append(request)
        self.asked.set()
        if isinstance(answer, bytes):
            connection.sendall(answer)
        else:
            answer(connection, request)


def read_request(connection: socket.socket) -> Request:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536) or _gone()
    head, _, body = data.partition(b"\r\n\r\n")
    request = Request(head, body)
    length = int(request.headers.get("content-length", "0"))
    while len(body) < length:
        body += connection.recv(1 << 20) or _gone()
    request.body = body
    return request


def _gone() -> bytes:
    raise ConnectionResetError


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(FOLDER / "server.pem")
    return context


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    started: list[Server] = []

    def start(*answers: Answering, tls: bool = False, raw: bool = False) -> Server:
        """`raw`: the answer comes without waiting for a request."""
        server = Server(answers or (reply(),), tls=tls, raw=raw)
        started.append(server)
        return server

    yield start
    for server in started:
        server.close()


def http_hook(url: str, *, dialect: str = "claude-code", name: str = "asker", **fields: Any) -> Hook:
    own = {key: fields.pop(key) for key in ("headers", "allowed_env", "allowed_urls") if key in fields}
    fields.setdefault("timeout", PATIENCE)
    return Hook(
        name=name,
        events=("*",),
        handler=Http(url=url, **own),
        origin=Origin(dialect=dialect, layer="user"),
        **fields,
    )


def setting(**environ: str) -> Setting:
    return Setting(project="/", home="/nowhere", environ=environ)


def decide(hook: Hook, event: Event = BASH, /, **environ: str) -> Decision:
    return Hooks([hook], setting=setting(**environ)).fire_sync(event)


def report(hook: Hook, event: Event = BASH, /, **environ: str) -> Report:
    return decide(hook, event, **environ).reports[0]


def error(hook: Hook, event: Event = BASH, /, **environ: str) -> str:
    """Why it failed."""
    found = report(hook, event, **environ).error
    assert found, "it did not fail"
    return found
