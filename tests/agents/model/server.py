"""The HTTP side: one request, the next turn of the script; everything that was asked is kept."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any, Self

from tests.agents.model import anthropic, chat, gemini, responses
from tests.agents.model.script import Answer, Body, Call, Turn, as_json, text_of

Step = Call | Sequence[Call] | str | Callable[[list[str]], Call]
"""A call, several at once, words, or a call that depends on the results so far."""

FORMATS: tuple[ModuleType, ...] = (anthropic, responses, chat, gemini)


@dataclass
class Told:
    """What the model was told."""

    turns: list[Body] = field(default_factory=list)
    """Requests that were part of the conversation."""
    asides: list[Body] = field(default_factory=list)
    """Requests without tools: titles, summaries and the like. They take no turn."""
    unknown: list[str] = field(default_factory=list)
    """Paths that no wire format claims."""
    results: list[str] = field(default_factory=list)
    """What it saw of each tool call, in order."""

    def heard(self, words: str) -> bool:
        """Whether it was told this in any request of the conversation."""
        return any(words in text_of(body) for body in self.turns)


class Model:
    """Each turn of the conversation takes one step of the script. After its end the model says it is done."""

    def __init__(self, script: Sequence[Step] = ()) -> None:
        self.script = list(script)
        self.told = Told()
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, path: str, body: Body) -> Answer | None:
        for format_ in FORMATS:
            if format_.PATH.search(path):
                with self._lock:
                    return self._next(format_, path, body)
        self.told.unknown.append(path)
        return None

    def _next(self, format_: Any, path: str, body: Body) -> Answer:
        if not format_.is_turn(body):
            self.told.asides.append(body)
            return format_.answer(path, body, Turn(0, text="fine"))  # type: ignore[no-any-return]
        self.told.turns.append(body)
        self.told.results = format_.results(body)
        return format_.answer(path, body, self._turn(len(self.told.turns)))  # type: ignore[no-any-return]

    def _turn(self, number: int) -> Turn:
        step = self.script[number - 1] if number <= len(self.script) else f"done, answer {number}"
        if isinstance(step, str):
            return Turn(number, text=step)
        if callable(step):
            return Turn(number, calls=(step(self.told.results),))
        return Turn(number, calls=(step,) if isinstance(step, Call) else tuple(step))


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, model: Model) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = model

    def handle_error(self, request: object, client_address: object) -> None:
        """An agent that has hung up is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = self.server.model.answer(self.path.partition("?")[0], _body(raw, self.headers["Content-Encoding"]))
        self._send(200, answer) if answer else self._send(404, _NOT_FOUND)

    def do_GET(self) -> None:
        self.server.model.told.unknown.append(self.path)
        self._send(404, _NOT_FOUND)

    def _send(self, status: int, answer: Answer) -> None:
        self.send_response(status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name in the standard library
        """Quiet."""


_NOT_FOUND = as_json({"error": {"type": "not_found_error", "message": "nothing here"}})


def _body(raw: bytes, encoding: str | None) -> Body:
    raw = zlib.decompress(raw, wbits=47) if encoding in ("gzip", "deflate") else raw
    try:
        body = json.loads(raw)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
