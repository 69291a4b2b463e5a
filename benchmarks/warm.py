"""A server of Fairlead for the others to measure, and the floors beside it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from benchmarks import approvals
from benchmarks.measure import processor_time

ROOT = Path(__file__).parent.parent
WORKERS = Path(__file__).parent / "workers"
SOURCES = ROOT / "src" / "fairlead" / "relay"
COLD = [sys.executable, "-I", str(ROOT / "src" / "fairlead" / "__main__.py"), "hook", "--agent", "claude-code"]
"""As `fairlead init` writes it into settings."""
_READY = 60.0


class Server(approvals.Server):
    """`fairlead serve` with the hooks of this home."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        state = home / ".local" / "state" / "fairlead"
        self.socket = str(state / "hook.sock")
        self.hook_key = (state / "hook-token").read_text().strip()

    def post(self, event: bytes, query: str = "") -> bytes:
        """The request of an event, as the bytes that travel."""
        return http_request(self.port, f"/api/hooks/claude-code{query}", event, self.hook_key)

    @property
    def pid(self) -> int:
        return self._process.pid


class Line:
    """A connection that is kept open, as agents keep theirs."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> bytes:
        self._socket.sendall(request)
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._more()
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        while len(body) < length:
            body += self._more()
        assert head.startswith(b"HTTP/1.1 200"), head
        return body

    def _more(self) -> bytes:
        data = self._socket.recv(1 << 16)
        assert data, "the server hung up"
        return data

    def close(self) -> None:
        self._socket.close()


def http_request(port: int, path: str, body: bytes, key: str) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def in_server(line: Line, request: bytes, pid: int, events: int) -> Callable[[], float]:
    """Seconds of the processor that the server spends on one event: what the machine does beside does not count."""

    def turn() -> float:
        before = processor_time(pid)
        for _ in range(events):
            line.ask(request)
        return (processor_time(pid) - before) / events

    return turn


def by_the_clock(line: Line, request: bytes, events: int) -> Callable[[], float]:
    def turn() -> float:
        started = time.perf_counter()
        for _ in range(events):
            line.ask(request)
        return (time.perf_counter() - started) / events

    return turn


def together(lines: list[Line], request: bytes, events: int) -> float:
    """Seconds for each event, where all of them ask at once."""
    each = events // len(lines)

    def ask(line: Line) -> None:
        for _ in range(each):
            line.ask(request)

    with ThreadPoolExecutor(len(lines)) as pool:
        started = time.perf_counter()
        list(pool.map(ask, lines))
        return (time.perf_counter() - started) / (each * len(lines))


@contextmanager
def home_with(config: str, files: Mapping[str, str] | None = None) -> Iterator[Path]:
    """A home with this `fairlead.toml`, and files beside it."""
    with tempfile.TemporaryDirectory(prefix="fl") as folder:
        place = Path(folder) / ".config" / "fairlead"
        place.mkdir(parents=True)
        for name, text in {"fairlead.toml": config, **(files or {})}.items():
            (place / name).write_text(text)
        (Path(folder) / "project").mkdir()
        yield Path(folder)


@contextmanager
def server_in(home: Path) -> Iterator[Server]:
    server = Server(home)
    try:
        yield server
    finally:
        server.close()


@contextmanager
def beside(worker: str, *words: str) -> Iterator[tuple[int, str]]:
    """A server of the benchmark's own that ends with its stdin; its process and the line that it says."""
    argv = [sys.executable, str(WORKERS / worker), *words]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.pid, process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait(_READY)
        process.stdout.close()


@contextmanager
def open_line(port: int) -> Iterator[Line]:
    line = Line(port)
    try:
        yield line
    finally:
        line.close()


def environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


def compiled(folder: Path, source: Path) -> str:
    program = folder / source.stem
    subprocess.run(["cc", "-O2", "-static", "-o", program, source], check=True)
    return str(program)


def python_relay(folder: Path) -> list[str]:
    from fairlead import relay

    shutil.copy(SOURCES / "relay.py", folder / relay.MODULE)
    script = shutil.copy(SOURCES / "start.py", folder / relay.STARTER)
    return [relay.interpreter(), "-I", "-S", str(script)]


def call(tool: str, fields: Mapping[str, object], cwd: Path, **more: object) -> bytes:
    event = {"session_id": "s", "hook_event_name": "PreToolUse", "tool_use_id": "t", **more}
    return json.dumps({**event, "tool_name": tool, "tool_input": fields, "cwd": str(cwd)}).encode()
