"""A collector: it listens on loopback, decodes what OTLP sends with the official messages, and can misbehave."""

from __future__ import annotations

import fcntl
import gzip
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.conftest import Home, Ran

LONG = 90.0
"""Seconds: only to find out that something hangs."""
REQUESTS: dict[str, Any] = {
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
    "/v1/logs": ExportLogsServiceRequest,
}


class Post:
    """One request."""

    def __init__(self, path: str, headers: dict[str, str], raw: bytes) -> None:
        self.path = path
        self.headers = headers
        self.raw = gzip.decompress(raw) if headers.get("content-encoding") == "gzip" else raw
        self.message = REQUESTS[path].FromString(self.raw)
        self.at = time.monotonic()


class Answer:
    def __init__(self, status: int = 200, body: bytes = b"", kind: str = "application/x-protobuf", **more: str) -> None:
        self.status = status
        self.body = body
        self.headers = {"Content-Type": kind, **{name.replace("_", "-"): value for name, value in more.items()}}


Behaviour = Callable[[Post], Answer | None]


class Collector:
    """`behave` decides about each request; None hangs up without a word. 200 without a body means that it counts."""

    def __init__(self, port: int = 0) -> None:
        self.posts: list[Post] = []
        self.accepted: list[Post] = []
        self.visits: list[str] = []
        """Without anything to deliver."""
        self.behave: Behaviour = lambda _post: Answer()
        self.most_at_once = 0
        self._now = 0
        self.changed = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def wait_for(self, look: Callable[[], Any]) -> Any:
        with self.changed:
            assert self.changed.wait_for(look, LONG), f"it did not happen; there were {[p.path for p in self.posts]}"
            return look()

    def take(self, post: Post) -> Answer | None:
        with self.changed:
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            self.posts.append(post)
            self.changed.notify_all()
        answer = self.behave(post)
        with self.changed:
            self._now -= 1
            if answer is not None and (answer.status, answer.body) == (200, b""):
                self.accepted.append(post)
            self.changed.notify_all()
        return answer

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                raw = self.rfile.read(int(headers["content-length"]))
                answer = collector.take(Post(self.path, headers, raw))
                if answer is None:
                    self.close_connection = True
                    return
                try:
                    self.send_response(answer.status)
                    for name, value in {**answer.headers, "Content-Length": str(len(answer.body))}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(answer.body)
                except OSError:  # whoever asked has gone
                    pass

            def do_GET(self) -> None:
                collector.visits.append(self.path)
                self.send_error(404)

            def log_message(self, *_words: Any) -> None:
                pass

        return Handler

    # --- what came -------------------------------------------------------------------------------------

    def spans(self) -> list[Span]:
        return [
            span
            for post in list(self.accepted)
            if post.path == "/v1/traces"
            for whole in post.message.resource_spans
            for scope in whole.scope_spans
            for span in scope.spans
        ]

    def metrics(self) -> dict[str, Metric]:
        """The last of each."""
        return {
            metric.name: metric
            for post in list(self.accepted)
            if post.path == "/v1/metrics"
            for whole in post.message.resource_metrics
            for scope in whole.scope_metrics
            for metric in scope.metrics
        }

    def logs(self) -> list[LogRecord]:
        return [
            log
            for post in list(self.accepted)
            if post.path == "/v1/logs"
            for whole in post.message.resource_logs
            for scope in whole.scope_logs
            for log in scope.log_records
        ]

    def counted(self, name: str = "fairlead.events") -> int:
        metric = self.metrics().get(name)
        return 0 if metric is None else sum(point.as_int for point in metric.sum.data_points)


def attributes(values: Any) -> dict[str, Any]:
    return {pair.key: _plain(pair) for pair in values}


def _plain(pair: KeyValue) -> Any:
    return getattr(pair.value, pair.value.WhichOneof("value") or "string_value")


@pytest.fixture
def collector() -> Iterator[Collector]:
    running = Collector()
    yield running
    running.close()


def spools(place: Home) -> list[Path]:
    return sorted((place.home / ".local/state/fairlead/telemetry").glob("*"))


def exporter_of(folder: Path) -> int:
    """The process id of the one at work; 0 where there is none."""
    try:
        with (folder / "exporter").open("rb+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(file.read() or b"0") or -1
    except FileNotFoundError:
        pass
    return 0


def eventually(look: Callable[[], Any]) -> Any:
    end = time.monotonic() + LONG
    while not (found := look()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
    return found


def is_over(place: Home) -> bool:
    return not any(exporter_of(folder) for folder in spools(place))


@pytest.fixture
def traced(place: Home, collector: Collector) -> Iterator[Home]:
    """Telemetry is on. Exporters look fifty times a second, and are gone soon after."""
    place.environ |= {
        "FAIRLEAD_OTEL": "1",
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_EXPORTER_OTLP_TIMEOUT": "85000",
        "OTEL_BSP_SCHEDULE_DELAY": "20",
    }
    yield place
    for folder in spools(place):
        end_exporter(folder)


def end_exporter(folder: Path, number: int = signal.SIGTERM) -> None:
    """Also one that has not yet said who it is."""
    while pid := exporter_of(folder):
        if pid > 0:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        time.sleep(0.01)


Hook = Callable[..., Ran]


@pytest.fixture
def hook(fairlead: Callable[..., Ran]) -> Hook:
    """One event of Claude Code."""

    def run(event: str = "PreToolUse", env: dict[str, str] | None = None, **fields: Any) -> Ran:
        tool = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "toolu_1"}
        payload = {"hook_event_name": event, "session_id": "s1", "cwd": "/", **(tool if "Tool" in event else {})}
        return fairlead("hook", "--agent", "claude-code", stdin={**payload, **fields}, env=env)

    return run


def toml(place: Home, text: str) -> None:
    place.write("~/.config/fairlead/fairlead.toml", text)
