"""Who does not finish their request, sends too much, or sends it all at once: bounded, and nobody else pays for it."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import uvicorn

from fairlead.server import doors
from fairlead.server.doors import Door
from tests.server.replica import Replica

AWHILE = 60.0
"""Seconds; more than anything here takes on a busy machine."""
HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"


class Site:
    """An application of our own behind the door, in a thread; it answers with what it was sent."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.left = threading.Event()
        self.begun = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        config = uvicorn.Config(
            self._app, http=Door, interface="asgi3", lifespan="off", log_level="critical", access_log=False
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listening]})
        self._thread.start()

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        self.begun += 1
        body = b""
        while scope["path"] != "/refused":
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        length = (b"content-length", str(len(body)).encode())
        if scope["path"] == "/wait":
            while (await receive())["type"] != "http.disconnect":
                pass
            self.left.set()
            return
        if scope["path"] == "/held":
            await asyncio.to_thread(self.release.wait, AWHILE)
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": body})

    @contextmanager
    def line(self, *parts: bytes) -> Iterator[socket.socket]:
        with socket.create_connection(("127.0.0.1", self.port), timeout=AWHILE) as found:
            for part in parts:
                found.sendall(part)
            yield found

    def close(self) -> None:
        self.release.set()
        self._server.should_exit = True
        self._thread.join(AWHILE)
        self._listening.close()


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.close()


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("PATIENCE", 0.2), ("HASTE", 0.1), ("_LOOK", 0.05)):
        monkeypatch.setattr(doors, name, seconds)


def all_of(line: socket.socket) -> bytes:
    """Until the other side hangs up."""
    found = b""
    while part := line.recv(65536):
        found += part
    return found


UNFINISHED = {
    "nothing": [],
    "half a head": [HEAD],
    "blank lines": [b"\r\n"],
    "half a body": [b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345"],
}


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("parts", UNFINISHED.values(), ids=UNFINISHED)
def test_who_does_not_finish_is_turned_away(site: Site, parts: list[bytes]) -> None:
    with site.line(*parts) as line:
        assert b"HTTP/1.1 408 Request Timeout" in all_of(line)


@pytest.mark.usefixtures("hasty")
def test_who_does_not_finish_a_second_request_is_turned_away(site: Site) -> None:
    with site.line(HEAD + b"\r\n") as line:
        assert b"\r\n\r\n" in line.recv(1000)
        line.sendall(HEAD)
        assert b"HTTP/1.1 408 Request Timeout" in all_of(line)


@pytest.mark.usefixtures("hasty")
def test_who_sends_byte_by_byte_is_turned_away_though_each_byte_is_in_time(site: Site) -> None:
    with site.line() as line:
        line.settimeout(0.01)
        for byte in HEAD + b"X: " + b"x" * 100_000:
            try:
                line.sendall(bytes([byte]))
                if line.recv(100).startswith(b"HTTP/1.1 408"):
                    return
            except TimeoutError:
                continue
    raise AssertionError


@pytest.mark.usefixtures("hasty")
def test_who_waits_for_an_answer_is_left_in_peace(site: Site) -> None:
    with site.line(b"GET /held HTTP/1.1\r\nHost: x\r\n\r\n") as line, site.line() as other:
        assert b" 408 " in all_of(other)
        site.release.set()
        assert line.recv(100).startswith(b"HTTP/1.1 200")


def test_of_very_many_unfinished_ones_the_oldest_go_first(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "HASTE", 0.0)
    monkeypatch.setattr(doors, "_LOOK", 0.05)
    monkeypatch.setattr(doors, "MOST", 2)
    with site.line(HEAD) as first, site.line(HEAD) as second, site.line(HEAD) as third:
        assert b" 408 " in all_of(first)
        for line in (second, third):
            line.sendall(b"\r\n")
            assert line.recv(100).startswith(b"HTTP/1.1 200")


def test_a_head_without_end_is_refused(site: Site) -> None:
    with site.line(HEAD) as line, suppress(ConnectionError):  # it hangs up while we send
        while True:
            line.sendall(b"X: " + b"x" * 5000 + b"\r\n")
    assert site.begun == 0


def test_a_body_of_any_size_arrives_whole(site: Site) -> None:
    body = bytes(range(256)) * 4096
    with site.line(
        f"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    ) as line:
        sending = threading.Thread(target=line.sendall, args=(body,))
        sending.start()
        assert all_of(line).endswith(body)
        sending.join()


def test_who_was_refused_in_the_middle_of_a_body_gets_the_answer_and_may_ask_again(site: Site) -> None:
    body = b"x" * 500_000
    with site.line(f"POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()) as line:
        assert line.recv(1000).startswith(b"HTTP/1.1 200")
        line.sendall(body)
        line.sendall(HEAD + b"\r\n")
        assert line.recv(1000).startswith(b"HTTP/1.1 200")


def test_of_many_requests_in_one_go_a_few_are_read(site: Site) -> None:
    """And the line is closed after them, so that the client knows which it has to send again."""
    with site.line((HEAD + b"\r\n") * 5000) as line:
        answered = all_of(line).count(b"HTTP/1.1 200")
    assert 1 <= answered == site.begun < 200


def test_who_hangs_up_while_others_wait_behind_it_is_noticed(site: Site) -> None:
    with site.line(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n" + HEAD + b"\r\n"):
        pass
    assert site.left.wait(AWHILE)


def test_nobody_without_a_key_has_its_bytes_kept(start: Callable[..., Replica]) -> None:
    """The answer comes before the body."""
    replica = start()
    with socket.create_connection(("127.0.0.1", replica.port), timeout=AWHILE) as line:
        head = f"POST /api/internal/interaction-request HTTP/1.1\r\nHost: 127.0.0.1:{replica.port}\r\n"
        line.sendall(f"{head}Authorization: Bearer nobody\r\nContent-Length: 1000000\r\n\r\n".encode())
        answer = b""
        while b"unauthorized" not in answer:
            answer += line.recv(4000)
    assert answer.startswith(b"HTTP/1.1 401")
