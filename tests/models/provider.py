"""A language model's server on loopback, with a script for what it says.

    provider = Provider(says({"ok": True}))
    reply = asking.ask(provider.profile("anthropic"), question, deadline)
    provider.asked[0].body          # the JSON that arrived

It speaks OpenAI's chat completions, Anthropic's messages and Google's generateContent, each at its own path, so that
one script serves all three. Each request takes the next step; the last one is repeated.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import pytest

from fairlead.models.records import Profile

Json = dict[str, Any]
KEY = "sk-test-Zx81kQ-0123456789-DoNotShowThisKey"
WIRES = ("openai", "anthropic", "google")
PULSE = 0.01
"""Seconds between two bytes of a server that drips."""


class Asked:
    """A request as it arrived."""

    def __init__(self, path: str, headers: dict[str, str], raw: bytes, port: int = 0) -> None:
        self.path = path
        self.port = port
        """Of the one who asks: the same for two requests over one connection."""
        self.headers = headers
        """Names in lower case."""
        self.raw = raw
        self.wire = wire_of(path)

    @property
    def body(self) -> Json:
        found = json.loads(self.raw)
        assert isinstance(found, dict)
        return found

    @property
    def key(self) -> str:
        """The key that came with it."""
        names = ("x-api-key", "x-goog-api-key", "authorization")
        return next((self.headers[name].removeprefix("Bearer ") for name in names if name in self.headers), "")

    @property
    def system(self) -> str:
        """The instructions, wherever this wire format has them."""
        if self.wire == "openai":
            return "".join(message["content"] for message in self.body["messages"] if message["role"] == "system")
        if self.wire == "anthropic":
            return str(self.body.get("system", ""))
        return "".join(part["text"] for part in self.body.get("systemInstruction", {"parts": []})["parts"])

    @property
    def user(self) -> list[str]:
        """The texts of the user's messages, in order."""
        if self.wire == "google":
            turns = [turn for turn in self.body["contents"] if turn["role"] == "user"]
            return [part["text"] for turn in turns for part in turn["parts"] if "text" in part]
        said = [message["content"] for message in self.body["messages"] if message["role"] == "user"]
        return [content for content in said if isinstance(content, str)]

    @property
    def results(self) -> list[str]:
        """What tools have answered, in order."""
        if self.wire == "openai":
            return [message["content"] for message in self.body["messages"] if message["role"] == "tool"]
        if self.wire == "anthropic":
            blocks = [message["content"] for message in self.body["messages"] if isinstance(message["content"], list)]
            return [one["content"] for block in blocks for one in block if one["type"] == "tool_result"]
        parts = [part for turn in self.body["contents"] for part in turn["parts"]]
        return [one["functionResponse"]["response"]["result"] for one in parts if "functionResponse" in one]

    @property
    def schema(self) -> Json | None:
        """The shape that was asked for."""
        if self.wire == "openai":
            return self.body.get("response_format", {}).get("json_schema", {}).get("schema")  # type: ignore[no-any-return]
        if self.wire == "anthropic":
            return self.body.get("output_config", {}).get("format", {}).get("schema")  # type: ignore[no-any-return]
        return self.body["generationConfig"].get("responseSchema")  # type: ignore[no-any-return]


def wire_of(path: str) -> str:
    if path.endswith("/chat/completions"):
        return "openai"
    return "anthropic" if path.endswith("/messages") else "google" if path.endswith(":generateContent") else ""


class Turn:
    """What a step has to work with: the request, and the connection."""

    def __init__(self, handler: BaseHTTPRequestHandler, asked: Asked, over: threading.Event) -> None:
        self._handler = handler
        self.asked = asked
        self.over = over

    def send(self, status: int, content: bytes, kind: str = "application/json", **headers: str) -> None:
        self.head(status, kind, **{"Content-Length": str(len(content)), **headers})
        self.write(content)

    def head(self, status: int, kind: str = "application/json", **headers: str) -> None:
        self._handler.send_response(status)
        self._handler.send_header("Content-Type", kind)
        for name, value in headers.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.end_headers()

    def write(self, content: bytes) -> None:
        self._handler.wfile.write(content)
        self._handler.wfile.flush()

    def hang_up(self) -> None:
        self._handler.close_connection = True

    def wait_until_they_leave(self) -> None:
        self._handler.connection.recv(1)


Step = Callable[[Turn], None]


# --- what a server can say ---------------------------------------------------------------------------


def says(answer: str | Json, *, tokens: tuple[int, int] = (11, 7)) -> Step:
    """A whole answer: text, or a value as JSON."""
    return lambda turn: turn.send(200, encoded(whole(turn.asked.wire, text_of(answer), tokens=tokens)))


def calls(*wanted: tuple[str, Json], text: str = "") -> Step:
    """The model wants to use tools: calls(("read", {"path": "a.py"}))."""
    return lambda turn: turn.send(200, encoded(whole(turn.asked.wire, text, wanted)))


def streams(answer: str | Json, *wanted: tuple[str, Json], ends: bool = True) -> Step:
    """The same as a stream that nobody asked for; it may break off."""

    def step(turn: Turn) -> None:
        events = stream(turn.asked.wire, text_of(answer), wanted)
        turn.send(200, b"".join(events if ends else events[: len(events) // 2]), "text/event-stream")

    return step


def refuses(text: str = "I cannot help with that") -> Step:
    return lambda turn: turn.send(200, encoded(whole(turn.asked.wire, text, end="refusal")))


def cut(answer: str | Json) -> Step:
    """Stopped by the cap on tokens."""
    return lambda turn: turn.send(200, encoded(whole(turn.asked.wire, text_of(answer), end="length")))


def fails(status: int, message: str = "no", *, echo_key: bool = False, **headers: str) -> Step:
    """An error in the provider's own shape; with the key in it, as careless servers do."""

    def step(turn: Turn) -> None:
        key = turn.asked.key
        said = f"{message}: {key} {key[:20]}… {json.dumps(turn.asked.headers)}" if echo_key else message
        turn.send(status, encoded(complaint(turn.asked.wire, status, said)), **headers)

    return step


def rate_limited(after: str = "") -> Step:
    return fails(429, "slow down", Retry_After=after) if after else fails(429, "slow down")


def raw(content: bytes, status: int = 200, kind: str = "application/json", **headers: str) -> Step:
    return lambda turn: turn.send(status, content, kind, **headers)


def garbage() -> Step:
    return raw(b"<html>\x00\xff welcome to the airport</html>", kind="text/html")


def half(answer: str | Json) -> Step:
    """The first half of the JSON, as if it were all."""

    def step(turn: Turn) -> None:
        content = encoded(whole(turn.asked.wire, text_of(answer)))
        turn.send(200, content[: len(content) // 2])

    return step


def closes_mid_body(answer: str | Json) -> Step:
    def step(turn: Turn) -> None:
        content = encoded(whole(turn.asked.wire, text_of(answer)))
        turn.head(200, Content_Length=str(len(content)))
        turn.write(content[: len(content) // 2])
        turn.hang_up()

    return step


def closes() -> Step:
    """Hangs up without a word."""
    return lambda turn: turn.hang_up()


def drips(head: bool = False) -> Step:
    """One byte after the other, for ever; with `head` it does not even come to an end with the headers."""

    def step(turn: Turn) -> None:
        if head:
            turn.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        else:
            turn.head(200, Content_Length="1000000")
        while not turn.over.wait(PULSE):
            turn.write(b" ")

    return step


def never_answers() -> Step:
    return lambda turn: turn.wait_until_they_leave()


def redirects(to: str, status: int = 307) -> Step:
    return raw(b"", status, Location=to)


def floods(size: int) -> Step:
    """A body that is far too long."""

    def step(turn: Turn) -> None:
        turn.head(200, Content_Length=str(size))
        for _ in range(size >> 16):
            turn.write(b" " * (1 << 16))

    return step


# --- the server --------------------------------------------------------------------------------------


class Provider:
    def __init__(self, *steps: Step) -> None:
        self.asked: list[Asked] = []
        self._steps = list(steps)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self.connections: set[socket.socket] = set()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.provider = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def script(self, *steps: Step) -> None:
        """From now on."""
        with self._lock:
            self._steps = list(steps)
            self.asked.clear()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def base_url(self, wire: str) -> str:
        return f"{self.address}/v1" if wire == "openai" else self.address

    def profile(self, wire: str = "openai", **fields: Any) -> Profile:
        about: Json = {"name": "models.fast", "provider": wire, "model": "test-model", "key_from": "the variable KEY"}
        return Profile(**{**about, "base_url": self.base_url(wire), "api_key": KEY, **fields})

    def environ(self, wire: str = "anthropic") -> dict[str, str]:
        """Variables with which Fairlead finds it."""
        if wire == "anthropic":
            return {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": self.base_url(wire)}
        if wire == "openai":
            return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": self.base_url(wire), "OPENAI_MODEL": "test-model"}
        return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": self.base_url(wire)}

    def speak_tls(self, context: ssl.SSLContext) -> None:
        # The handshake is for the thread of the connection: it may fail.
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)

    def next_step(self, asked: Asked) -> Step:
        with self._lock:
            self.asked.append(asked)
            return self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]

    def serve(self, handler: BaseHTTPRequestHandler, asked: Asked) -> None:
        try:
            self.next_step(asked)(Turn(handler, asked, self._over))
        except OSError:  # they have left
            handler.close_connection = True

    def close(self) -> None:
        self._over.set()
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A model's server that says yes, until a test gives it a script."""
    with Provider(says({"ok": True})) as found:
        yield found


class _Server(ThreadingHTTPServer):
    provider: Provider
    daemon_threads = False
    block_on_close = True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.path, headers, content, self.client_address[1])
        self._provider.serve(self, asked)

    def handle(self) -> None:
        self._provider.connections.add(self.connection)
        try:
            super().handle()
        except OSError:  # they have left, or do not trust us
            pass
        finally:
            self._provider.connections.discard(self.connection)

    @property
    def _provider(self) -> Provider:
        assert isinstance(self.server, _Server)
        return self.server.provider

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002  # the name that the base class has
        pass


# --- in the three wire formats -----------------------------------------------------------------------


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


def text_of(answer: str | Json) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer)


def whole(
    wire: str,
    text: str,
    wanted: tuple[tuple[str, Json], ...] = (),
    *,
    end: str = "",
    tokens: tuple[int, int] = (11, 7),
) -> Json:
    """An answer in one piece. `end` is "length" or "refusal" where it is no good one."""
    if wire == "openai":
        return _openai(text, wanted, end, tokens)
    return _anthropic(text, wanted, end, tokens) if wire == "anthropic" else _google(text, wanted, end, tokens)


def _openai(text: str, wanted: tuple[tuple[str, Json], ...], end: str, tokens: tuple[int, int]) -> Json:
    message: Json = {"role": "assistant", "content": text or None, "refusal": None}
    if end == "refusal":
        message |= {"content": None, "refusal": text}
    if wanted:
        message["tool_calls"] = [
            {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for index, (name, arguments) in enumerate(wanted)
        ]
    reason = {"length": "length", "refusal": "stop"}.get(end) or ("tool_calls" if wanted else "stop")
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "test-model-2026",
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)},
    }


def _anthropic(text: str, wanted: tuple[tuple[str, Json], ...], end: str, tokens: tuple[int, int]) -> Json:
    words = [{"type": "text", "text": text}] if text else []
    uses = [
        {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": arguments}
        for index, (name, arguments) in enumerate(wanted)
    ]
    reason = {"length": "max_tokens", "refusal": "refusal"}.get(end) or ("tool_use" if wanted else "end_turn")
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "test-model-2026",
        "content": [*words, *uses],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": tokens[0], "output_tokens": tokens[1]},
    }


def _google(text: str, wanted: tuple[tuple[str, Json], ...], end: str, tokens: tuple[int, int]) -> Json:
    words = [{"text": text}] if text else []
    uses = [
        {"functionCall": {"name": name, "args": arguments}, "thoughtSignature": f"sig-{index}"}
        for index, (name, arguments) in enumerate(wanted)
    ]
    reason = {"length": "MAX_TOKENS", "refusal": "SAFETY"}.get(end, "STOP")
    return {
        "candidates": [{"content": {"role": "model", "parts": [*words, *uses]}, "finishReason": reason, "index": 0}],
        "usageMetadata": {"promptTokenCount": tokens[0], "candidatesTokenCount": tokens[1]},
        "modelVersion": "test-model-2026",
    }


def complaint(wire: str, status: int, message: str) -> Json:
    if wire == "anthropic":
        return {"type": "error", "error": {"type": "some_error", "message": message}, "request_id": "req_1"}
    if wire == "google":
        return {"error": {"code": status, "message": message, "status": "SOME_ERROR"}}
    return {"error": {"message": message, "type": "some_error", "param": None, "code": None}}


def stream(wire: str, text: str, wanted: tuple[tuple[str, Json], ...] = ()) -> list[bytes]:
    """The events of an answer, a few characters at a time."""
    bits = [text[start : start + 5] for start in range(0, len(text), 5)]
    if wire == "openai":
        return _openai_stream(bits, wanted)
    return _anthropic_stream(bits, wanted) if wire == "anthropic" else _google_stream(bits, wanted)


def _event(value: Any, name: str = "") -> bytes:
    return (f"event: {name}\r\n" if name else "").encode() + b"data: " + encoded(value) + b"\r\n\r\n"


def _openai_stream(bits: list[str], wanted: tuple[tuple[str, Json], ...]) -> list[bytes]:
    def chunk(delta: Json, reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return _event({"object": "chat.completion.chunk", "model": "test-model-2026", "choices": [choice]})

    found = [b": a comment that means nothing\r\n\r\n", chunk({"role": "assistant", "content": ""})]
    found += [chunk({"content": bit}) for bit in bits]
    for index, (name, arguments) in enumerate(wanted):
        written = json.dumps(arguments)
        start = {"index": index, "id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": ""}}
        rest = [{"index": index, "function": {"arguments": one}} for one in (written[:3], written[3:])]
        found += [chunk({"tool_calls": [one]}) for one in (start, *rest)]
    usage = {"prompt_tokens": 11, "completion_tokens": 7}
    last = _event({"object": "chat.completion.chunk", "model": "test-model-2026", "choices": [], "usage": usage})
    return [*found, chunk({}, "tool_calls" if wanted else "stop"), last, b"data: [DONE]\r\n\r\n"]


def _anthropic_stream(bits: list[str], wanted: tuple[tuple[str, Json], ...]) -> list[bytes]:
    def part(kind: str, **more: Any) -> bytes:
        return _event({"type": kind, **more}, kind)

    message = {"model": "test-model-2026", "content": [], "usage": {"input_tokens": 11, "output_tokens": 1}}
    found = [part("message_start", message=message), part("ping")]
    if bits:
        found.append(part("content_block_start", index=0, content_block={"type": "text", "text": ""}))
        found += [part("content_block_delta", index=0, delta={"type": "text_delta", "text": bit}) for bit in bits]
        found.append(part("content_block_stop", index=0))
    for index, (name, arguments) in enumerate(wanted, start=1):
        block = {"type": "tool_use", "id": f"toolu_{index - 1}", "name": name, "input": {}}
        found.append(part("content_block_start", index=index, content_block=block))
        for bit in (json.dumps(arguments)[:3], json.dumps(arguments)[3:]):
            delta = {"type": "input_json_delta", "partial_json": bit}
            found.append(part("content_block_delta", index=index, delta=delta))
    reason = {"stop_reason": "tool_use" if wanted else "end_turn"}
    return [*found, part("message_delta", delta=reason, usage={"output_tokens": 7}), part("message_stop")]


def _google_stream(bits: list[str], wanted: tuple[tuple[str, Json], ...]) -> list[bytes]:
    parts = [{"text": bit} for bit in bits]
    uses = [{"functionCall": {"name": name, "args": arguments}} for name, arguments in wanted]
    found = [
        _event({"candidates": [{"content": {"parts": [part]}}], "modelVersion": "test-model-2026"})
        for part in (*parts, *uses)
    ]
    counts = {"promptTokenCount": 11, "candidatesTokenCount": 7}
    last = {"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}], "usageMetadata": counts}
    return [*found, _event(last)]
