"""Events over HTTP that are answered without a task: the same words, whichever way they come in."""

from __future__ import annotations

import asyncio
import contextlib
import json
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest
import uvicorn

from fairlead.server import doors
from fairlead.server.doors import Door
from fairlead.server.security import HEADERS
from fairlead.warm import listening
from fairlead.warm.listening import Listener
from fairlead.warm.loaded import Loaded
from tests.dialects import samples
from tests.warm.serving import PATIENCE, Server

LS = json.dumps(samples.SHELL["claude-code"]("ls")).encode()
RM = json.dumps(samples.SHELL["claude-code"]("rm -rf /")).encode()


class Guarding:
    """A server with nothing but a guard, which waits for nothing."""

    def __init__(self, root: Path) -> None:
        self.server = Server(root)
        toml = self.server.home / ".config/fairlead/fairlead.toml"
        toml.write_text('[[hook]]\non = "PreToolUse"\nguard = ["filesystem"]\n')
        self.host = self.server.said["address"].partition("//")[2]

    def head(self, body: bytes, path: str = "/api/hooks/claude-code", **more: str) -> bytes:
        given = {
            "Host": self.host,
            "Authorization": f"Bearer {self.server.key}",
            "Content-Length": str(len(body)),
            **{name.replace("_", "-"): value for name, value in more.items()},
        }
        lines = [f"{name}: {value}\r\n" for name, value in given.items() if value]
        return f"POST {path} HTTP/1.1\r\n{''.join(lines)}\r\n".encode()

    def line(self) -> Line:
        host, _, port = self.host.rpartition(":")
        return Line(socket.create_connection((host, int(port)), PATIENCE))

    def said(self, *parts: bytes) -> Answer:
        with self.line() as line:
            for part in parts:
                line.send(part)
            return line.answer()


class Answer:
    def __init__(self, head: bytes, body: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(first.split()[1])
        self.headers = sorted(line for line in lines if not line.startswith(("date:", "connection:")))
        self.body = body

    @property
    def whole(self) -> tuple[int, list[str], bytes]:
        return self.status, self.headers, self.body


class Line:
    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection = connection
        self._data = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._connection.close()

    @property
    def address(self) -> tuple[str, int]:
        """Of the server."""
        host, port = self._connection.getpeername()
        return host, port

    def send(self, data: bytes) -> None:
        self._connection.sendall(data)

    def _more(self) -> None:
        part = self._connection.recv(1 << 16)
        if not part:
            raise EOFError(self._data)
        self._data += part

    def answer(self) -> Answer:
        while True:
            while b"\r\n\r\n" not in self._data:
                self._more()
            head, _, self._data = self._data.partition(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 100"):
                break
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        while len(self._data) < length:
            self._more()
        body, self._data = self._data[:length], self._data[length:]
        return Answer(head, body)


@pytest.fixture(scope="module")
def guarding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarding]:
    found = Guarding(tmp_path_factory.mktemp("g"))
    yield found
    found.server.close()


def chunked(body: bytes) -> bytes:
    parts = [body[start : start + 40] for start in range(0, len(body), 40)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


Sending = Callable[[Guarding, bytes], list[bytes]]
WAYS: dict[str, Sending] = {
    "its head alone, and then the rest": lambda g, raw: [g.head(raw), raw],
    "in small parts": lambda g, raw: [(g.head(raw) + raw)[n : n + 50] for n in range(0, len(g.head(raw) + raw), 50)],
    "who waits to be asked for it": lambda g, raw: [g.head(raw, Expect="100-continue") + raw],
    "in chunks": lambda g, raw: [g.head(raw, Content_Length="", Transfer_Encoding="chunked") + chunked(raw)],
    "for the last time": lambda g, raw: [g.head(raw, Connection="close") + raw],
    "in another version": lambda g, raw: [g.head(raw).replace(b"HTTP/1.1", b"HTTP/1.0", 1) + raw],
    "to an address that is written otherwise": lambda g, raw: [g.head(raw, "/api/hooks/claude%2Dcode") + raw],
    "more than is waited for": lambda g, raw: [g.head(raw + b" " * 100_000) + raw + b" " * 100_000],
    "in capitals": lambda g, raw: [g.head(raw, Authorization="", AUTHORIZATION=f"BEARER {g.server.key}") + raw],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("raw", [LS, RM], ids=["nothing", "a refusal"])
def test_the_same_is_said_whichever_way_it_comes(guarding: Guarding, way: str, raw: bytes) -> None:
    usual = guarding.said(guarding.head(raw) + raw)
    assert usual.status == 200
    assert bool(usual.body) == (raw is RM)
    assert guarding.said(*WAYS[way](guarding, raw)).whole == usual.whole


def test_it_has_the_headers_of_every_answer(guarding: Guarding) -> None:
    headers = guarding.said(guarding.head(LS) + LS).headers
    assert {f"{name}: {value}" for name, value in HEADERS.items()} <= set(headers)


NOT_LET_IN: dict[str, tuple[int, dict[str, str]]] = {
    "no key": (401, {"Authorization": ""}),
    "another key": (401, {"Authorization": "Bearer " + "k" * 43}),
    "another kind of key": (401, {"Authorization": "Basic x"}),
    "a page": (403, {"Origin": "http://127.0.0.1"}),
    "a page of ours": (403, {"Sec_Fetch_Site": "same-origin"}),
    "another host": (421, {"Host": "example.org"}),
    "no host": (421, {"Host": ""}),
    "below an agent": (404, {"path": "/api/hooks/claude-code/more"}),
    "no agent": (404, {"path": "/api/hooks/"}),
}


@pytest.mark.parametrize("name", NOT_LET_IN)
def test_who_may_not_ask_is_told_so(guarding: Guarding, name: str) -> None:
    status, more = NOT_LET_IN[name]
    assert guarding.said(guarding.head(RM, **more) + RM).status == status


@pytest.mark.parametrize("path", ["/api/hooks/nobody", "/api/hooks/claude-code?color=red"])
def test_what_cannot_be_understood_is_refused(guarding: Guarding, path: str) -> None:
    found = guarding.said(guarding.head(LS, path) + LS)
    assert (found.status, bool(found.body)) == (200, True)


def test_what_is_asked_in_one_go_is_answered_in_order_or_has_to_be_asked_again(guarding: Guarding) -> None:
    bodies = [RM, LS] * 40
    with guarding.line() as line:
        found = []
        with contextlib.suppress(EOFError, ConnectionError):  # it hangs up on who sends so much
            line.send(b"".join(guarding.head(raw) + raw for raw in bodies) + guarding.head(RM, Connection="close") + RM)
            while True:
                found.append(bool(line.answer().body))
    assert found == [raw is RM for raw in [*bodies, RM]][: len(found)]
    assert guarding.said(guarding.head(RM) + RM).body


def test_a_connection_is_kept_for_the_next_one(guarding: Guarding) -> None:
    with guarding.line() as line:
        for raw in (LS, RM, LS, RM):
            line.send(guarding.head(raw) + raw)
            assert bool(line.answer().body) == (raw is RM)


# --- a head that was seen before -------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_whoever_has_asked_before_the_same_is_said_whichever_way_it_comes(guarding: Guarding, way: str) -> None:
    usual = guarding.said(guarding.head(RM) + RM)
    with guarding.line() as line:
        for _ in range(3):
            line.send(guarding.head(RM) + RM)
            assert line.answer().whole == usual.whole
        for part in WAYS[way](guarding, RM):
            line.send(part)
        assert line.answer().whole == usual.whole


@pytest.mark.parametrize("name", NOT_LET_IN)
def test_who_may_not_ask_is_told_so_behind_one_who_may(guarding: Guarding, name: str) -> None:
    status, more = NOT_LET_IN[name]
    with guarding.line() as line:
        for _ in range(2):
            line.send(guarding.head(RM) + RM)
            assert line.answer().status == 200
        line.send(guarding.head(RM, **more) + RM)
        assert line.answer().status == status


def test_events_of_any_length_have_their_own_answers(guarding: Guarding) -> None:
    """The length is all in which the heads of two events differ."""
    with guarding.line() as line:
        for count in (0, 1, 9, 90, 900, 9_000, 40_000, 3):
            for command in ("ls", "rm -rf /"):
                raw = json.dumps(samples.SHELL["claude-code"](command + " " * count)).encode()
                line.send(guarding.head(raw) + raw)
                assert bool(line.answer().body) == (command != "ls")


WRONG_LENGTHS: dict[str, Callable[[Guarding], bytes]] = {
    "two of them": lambda g: g.head(RM, CONTENT_LENGTH="1") + RM,
    "and chunks": lambda g: g.head(RM, Transfer_Encoding="chunked") + RM,
    "a sign": lambda g: g.head(RM, Content_Length=f"+{len(RM)}") + RM,
    "no number": lambda g: g.head(RM, Content_Length="x") + RM,
}


@pytest.mark.parametrize("name", WRONG_LENGTHS)
def test_a_length_that_means_nothing_is_refused_each_time(guarding: Guarding, name: str) -> None:
    for _ in range(2):
        with guarding.line() as line:
            line.send(guarding.head(RM) + RM)
            assert line.answer().status == 200
            line.send(WRONG_LENGTHS[name](guarding))
            assert line.answer().status == 400


def test_more_than_one_request_is_not_taken_for_one(guarding: Guarding) -> None:
    """The end of the first is the beginning of the second, also where their heads are known."""
    both = guarding.head(LS) + LS + guarding.head(RM) + RM
    with guarding.line() as line:
        line.send(guarding.head(LS) + LS)
        assert not line.answer().body
        line.send(both)
        assert not line.answer().body
        with contextlib.suppress(EOFError, ConnectionError):  # what follows in the same go may have to be sent again
            assert line.answer().body


@pytest.mark.parametrize("known", [False, True], ids=["a head that is new", "a head that was seen"])
def test_what_follows_half_a_head_belongs_to_it(guarding: Guarding, known: bool) -> None:
    """Also where it looks like a request that was answered before."""
    whole = guarding.head(LS, x_test=str(known)) + LS
    with guarding.line() as line:
        if known:
            line.send(whole)
            assert not line.answer().body
        line.send(guarding.head(RM) + RM + b"POST /api/nothing HTTP/1.1\r\nX: ")
        assert line.answer().body
        line.send(whole)
        assert line.answer().status == 404
        line.send(guarding.head(RM) + RM)
        assert line.answer().body


def test_another_guard_in_the_file_counts_for_a_head_that_was_seen(tmp_path: Path) -> None:
    guarding = Guarding(tmp_path)
    toml = guarding.server.home / ".config/fairlead/fairlead.toml"
    with contextlib.closing(guarding.server), guarding.line() as line:
        line.send(guarding.head(RM) + RM)
        assert line.answer().body
        toml.write_text('[[hook]]\non = "PreToolUse"\nguard = ["git"]\n')
        end = time.monotonic() + PATIENCE
        while True:
            line.send(guarding.head(RM) + RM)
            if not line.answer().body:
                break
            assert time.monotonic() < end


def test_only_so_many_heads_are_remembered() -> None:
    shared = doors.Shared()
    for number in range(1000):
        shared.remember(b"%d" % number, _same)
    shared.remember(b"x" * 100_000, _same)
    assert len(shared.known) <= doors._MOST_HEADS
    assert max(map(len, shared.known)) <= doors._LONGEST_HEAD


# --- beside others ---------------------------------------------------------------------------------------


def _same(body: bytes) -> bytes:
    return b"content-length: %d\r\n\r\n%b" % (len(body), body)


class Slow:
    """Answers some at once, and takes longer for others than a connection is kept for the next request."""

    KEPT = 1
    asked: ClassVar[list[bytes]] = []

    def at_once(self, url: bytes, _headers: object) -> Callable[[bytes], bytes | None] | None:
        if url.endswith(b"never"):
            raise RuntimeError("something that nobody has thought of")
        return _same if url.endswith(b"now") else self._first if url.endswith(b"once") else None

    def _first(self, body: bytes) -> bytes | None:
        self.asked.append(body)
        return _same(body) if len(self.asked) == 1 else None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        await asyncio.sleep(1.5 * self.KEPT)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
        await send({"type": "http.response.body", "body": body})


@pytest.fixture
def site() -> Iterator[Line]:
    with socket.create_server(("127.0.0.1", 0)) as there:
        config = uvicorn.Config(
            Slow(), http=Door, lifespan="off", log_level="critical", access_log=False, timeout_keep_alive=Slow.KEPT
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [there]})
        thread.start()
        Slow.asked.clear()
        with Line(socket.create_connection(there.getsockname(), PATIENCE)) as line:
            yield line
        server.should_exit = True
        thread.join(PATIENCE)


@pytest.mark.parametrize("first", ["now", "never"], ids=["an answer", "a failure"])
def test_what_is_done_at_once_does_not_cost_the_request_behind_it_its_time(site: Line, first: str) -> None:
    request = "POST /api/hooks/{} HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n{}"
    site.send((request.format(first, 1) + request.format("later", 2)).encode())
    assert [site.answer().body, site.answer().body] == [b"1", b"2"]


REQUEST = b"POST /api/hooks/now HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1"


def test_a_connection_is_kept_as_long_as_it_is_used_and_then_closed(site: Line) -> None:
    """Though its timer was set by the first request alone."""
    end = time.monotonic() + 2.5 * Slow.KEPT
    while time.monotonic() < end:
        site.send(REQUEST)
        assert site.answer().body == b"1"
    with pytest.raises(EOFError):
        site.answer()


def test_what_is_not_said_behind_a_head_that_was_seen_is_asked_for_the_ordinary_way(site: Line) -> None:
    request = REQUEST.replace(b"/now", b"/once")
    for asked in (1, 2, 3):
        site.send(request)
        assert site.answer().body == b"1"
        assert len(Slow.asked) == asked  # and not twice for the same


@pytest.mark.parametrize("rest", [b"POST /a HT", b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1"])
def test_who_does_not_finish_what_follows_an_answer_is_turned_away(
    site: Line, rest: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("PATIENCE", 0.2), ("HASTE", 0.1), ("_LOOK", 0.05)):
        monkeypatch.setattr(doors, name, seconds)
    site.send(REQUEST + rest)
    assert site.answer().body == b"1"
    assert site.answer().status == 408


def test_who_was_always_answered_is_never_turned_away(site: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("PATIENCE", 0.2), ("HASTE", 0.1), ("_LOOK", 0.05)):
        monkeypatch.setattr(doors, name, seconds)
    request = REQUEST
    site.send(request)
    assert site.answer().body == b"1"
    with socket.create_connection(site.address, PATIENCE) as silent:  # and so has less patience left than `site`
        while not select.select([silent], [], [], 0)[0]:
            site.send(request)
            assert site.answer().body == b"1"
        assert silent.recv(100).startswith(b"HTTP/1.1 408")
    site.send(request)
    assert site.answer().body == b"1"


# --- on the socket ---------------------------------------------------------------------------------------


async def test_an_answer_that_is_not_taken_at_once_is_given_as_it_is_taken(tmp_path: Path) -> None:
    listener = Listener(str(tmp_path / "hook.sock"), Loaded())
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    ours.setblocking(False)
    whole = bytes(range(256)) * 8000
    listening._Arrival(listener, ours)._give(whole)
    with theirs:
        theirs.settimeout(PATIENCE)
        assert await asyncio.to_thread(_all_of, theirs) == whole
    listener.close()


def _all_of(connection: socket.socket) -> bytes:
    found = bytearray()
    while part := connection.recv(1 << 16):
        found += part
    return bytes(found)
