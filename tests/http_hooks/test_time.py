"""One deadline over all of it, hooks side by side, and nothing left behind."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from fairlead import Hooks
from fairlead.hooks import HookFailed
from fairlead.outgoing import Answer, HangUp, Sending, post
from fairlead.targets import parse
from tests.http_hooks.conftest import (
    AUTHORITY,
    BASH,
    DENY,
    PATIENCE,
    Answering,
    Request,
    Server,
    decide,
    error,
    http_hook,
    reply,
    setting,
)

Serve = Callable[..., Server]
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
DRIPS: dict[str, tuple[bytes, bytes]] = {
    "a status": (b"HTTP/1.1 200 ", b"O"),
    "a header": (HEAD + b"X: ", b"y"),
    "many headers": (HEAD, b"X: y\r\n"),
    "a promised body": (HEAD + b"Content-Length: 1000000\r\n\r\n", b" "),
    "a body without an end": (HEAD + b"\r\n", b" "),
    "a chunk": (CHUNKED + b"fffff\r\n", b" "),
    "the size of a chunk": (CHUNKED, b"0"),
    "what follows the last chunk": (CHUNKED + b"0\r\n", b"X: y\r\n"),
    "one 100 after the other": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
}


def sending(seconds: float, *, body: bytes = b"{}", hang_up: HangUp | None = None, **environ: str) -> Sending:
    ends = time.monotonic() + seconds
    return Sending(headers={}, body=body, environ=environ, ends=ends, hang_up=hang_up or HangUp())


def slow(first: bytes, byte: bytes) -> Answering:
    """A byte from time to time, until the client goes."""

    def answer(connection: socket.socket, _request: Request) -> None:
        connection.sendall(first)
        pause = threading.Event()
        while not pause.wait(0.05):
            connection.sendall(byte)

    return answer


def silent(connection: socket.socket, _request: Request) -> None:
    """Nothing, until the client goes."""
    while connection.recv(65536):
        pass
    raise ConnectionResetError


def assert_nobody_is_connected(server: Server) -> None:
    """Nobody was, or nobody is any more."""
    assert not server.connections or server.left_by_client.wait(PATIENCE)


@pytest.mark.parametrize(("first", "byte"), DRIPS.values(), ids=DRIPS)
def test_a_server_that_drips_does_not_get_more_time(serve: Serve, first: bytes, byte: bytes) -> None:
    """On our own, without an engine that would give it up."""
    server = serve(slow(first, byte))
    try:
        assert "timed out" in post(parse(server.url), sending(0.5)).problem
    except TimeoutError:
        pass
    assert_nobody_is_connected(server)


def test_a_server_that_does_not_read_does_not_get_more_time(serve: Serve) -> None:
    def reads_nothing(connection: socket.socket, _request: Request) -> None:
        left.wait(PATIENCE)
        connection.close()

    left = threading.Event()
    server = serve(reads_nothing, raw=True)
    with pytest.raises(TimeoutError):
        post(parse(server.url), sending(0.5, body=b"x" * (64 << 20)))
    left.set()


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
def test_a_silent_server_does_not_get_more_time(serve: Serve, *, tls: bool) -> None:
    server = serve(silent, tls=tls)
    with pytest.raises(TimeoutError):
        post(parse(server.url), sending(1.0, SSL_CERT_FILE=str(AUTHORITY)))


def test_a_server_that_does_not_shake_hands_does_not_get_more_time(serve: Serve) -> None:
    server = serve(silent, raw=True)
    with pytest.raises(TimeoutError):
        post(parse(server.url.replace("http:", "https:")), sending(0.5))
    assert_nobody_is_connected(server)


def test_a_proxy_that_does_not_answer_does_not_get_more_time(serve: Serve) -> None:
    proxy = serve(slow(b"HTTP/1.1 200 ", b"O"))
    with pytest.raises(TimeoutError):
        post(parse("https://hooks.example.test/"), sending(0.5, https_proxy=proxy.url))
    assert_nobody_is_connected(proxy)


def test_no_time_at_all_is_not_for_ever(serve: Serve) -> None:
    server = serve(silent)
    with pytest.raises(TimeoutError):
        post(parse(server.url), sending(0.0))
    assert not server.requests


def test_a_hook_that_is_too_slow_says_so_with_its_server(serve: Serve) -> None:
    server = serve(silent)
    said = error(http_hook(server.url, timeout=0.5))
    assert "timed out after 0.5 s" in said
    assert decide(http_hook(server.url, timeout=0.5, on_error="deny")).denies


def test_a_refusal_that_came_before_the_time_was_over_counts() -> None:
    """The server forgets to end its answer."""
    hook = http_hook("http://localhost/", on_error="allow")
    said = b'{"decision": "block", "reason": "no"}\n\n'
    verdict = hook.handler.conclude(hook, BASH, None, Answer(status=200, body=said, problem="timed out"))
    assert (verdict.decision, verdict.reason) == ("deny", "no")
    with pytest.raises(HookFailed, match="timed out"):
        hook.handler.conclude(
            hook, BASH, None, Answer(status=200, body=said.replace(b"block", b"approve"), problem="timed out")
        )


def test_the_events_deadline_counts_too(serve: Serve) -> None:
    server = serve(silent)
    hooks = Hooks([http_hook(server.url, timeout=600.0, on_error="deny")], setting=setting())
    decision = hooks.fire_sync(BASH, deadline=time.monotonic() + 1.0)
    assert decision.denies
    assert "timed out" in decision.reports[0].error
    assert_nobody_is_connected(server)


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
def test_hanging_up_ends_a_request_at_once(serve: Serve, *, tls: bool) -> None:
    server = serve(silent, tls=tls)
    hang_up = HangUp()
    ended: list[BaseException] = []

    def ask() -> None:
        try:
            post(parse(server.url), sending(3600.0, hang_up=hang_up, SSL_CERT_FILE=str(AUTHORITY)))
        except Exception as error:  # noqa: BLE001  # whatever it is
            ended.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    assert server.asked.wait(PATIENCE)
    hang_up.set()
    asking.join(PATIENCE)
    assert ended


async def test_a_cancelled_event_leaves_no_connection_behind(serve: Serve) -> None:
    server = serve(silent)
    firing = asyncio.ensure_future(Hooks([http_hook(server.url, timeout=3600.0)], setting=setting()).fire(BASH))
    assert await asyncio.to_thread(server.asked.wait, PATIENCE)
    firing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await firing
    assert await asyncio.to_thread(server.left_by_client.wait, PATIENCE)


def test_slow_hooks_are_asked_side_by_side(serve: Serve) -> None:
    """Each is answered only when all ten have been asked."""
    everyone = threading.Barrier(10)

    def together(connection: socket.socket, _request: Request) -> None:
        everyone.wait(PATIENCE)
        connection.sendall(reply(body=DENY))

    server = serve(together)
    hooks = [http_hook(f"{server.url}/{number}", name=f"h{number}") for number in range(10)]
    decision = Hooks(hooks, setting=setting()).fire_sync(BASH)
    assert [report.error for report in decision.reports] == [""] * 10
    assert [report.verdict.reason for report in decision.reports if report.verdict] == ["not on my watch"] * 10


def test_a_slow_hook_is_named_and_does_not_cost_the_others_their_word(serve: Serve) -> None:
    quick, slow_one = serve(reply(body=DENY)), serve(silent)
    hooks = [http_hook(slow_one.url, name="sleepy", timeout=0.5), http_hook(quick.url, name="brisk")]
    decision = Hooks(hooks, setting=setting()).fire_sync(BASH)
    assert decision.reason == "not on my watch"
    assert [report.hook.name for report in decision.reports if "timed out" in report.error] == ["sleepy"]


def test_every_address_of_a_host_is_tried(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(reply(body=DENY))
    with socket.create_server(("127.0.0.1", 0)) as unused:
        nobody = unused.getsockname()
    places: list[Any] = [nobody, ("127.0.0.1", server.port)]
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", place) for place in places]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_words, **_options: found)
    assert decide(http_hook("http://hooks.example.test/")).denies


IMPORTS = """
import sys
import fairlead.handlers.http as h
h.problem("https://hooks.example.com/x"), h.allowed("http://localhost:1/", ["http://localhost:*"])
h.Http(url="https://x", headers={"A": "$B"}).describe()
print([name for name in ("socket", "ssl", "http.client", "urllib.parse", "ipaddress", "re") if name in sys.modules])
"""


def test_reading_a_configuration_with_http_hooks_imports_no_network() -> None:
    done = subprocess.run([sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{IMPORTS}"],
                          capture_output=True, text=True, timeout=90, check=True)  # fmt: skip
    assert done.stdout.strip() == "[]"
