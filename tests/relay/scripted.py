"""The other side of the wire, written a second time: a server that does what a test tells it, also what none should."""

from __future__ import annotations

import os
import queue
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

Script = Callable[["Conversation"], object]


class Request(NamedTuple):
    args: list[bytes]
    environ: dict[bytes, bytes]
    cwd: bytes
    stdin: bytes


class Said(NamedTuple):
    """What a relay says in the end."""

    code: int
    out: bytes
    err: bytes


def ack(failure: Said, deadline_ms: int = 600_000) -> bytes:
    lengths = struct.pack("<IIII", deadline_ms, failure.code, len(failure.out), len(failure.err))
    return b"FLA1" + lengths + failure.out + failure.err


def reply(said: Said) -> bytes:
    lengths = struct.pack("<III", said.code, len(said.out), len(said.err))
    return b"FLR1" + lengths + said.out + said.err + b"DONE"


class Conversation:
    def __init__(self, line: socket.socket) -> None:
        self.line = line
        self.request: Request | None = None

    def read(self) -> Request:
        assert self._exactly(4) == b"FLH1"
        args = [self._text() for _ in range(self._number("<I"))]
        variables = [self._text().partition(b"=") for _ in range(self._number("<I"))]
        cwd = self._text()
        stdin = self._exactly(self._number("<Q"))
        self.request = Request(args, {name: value for name, _, value in variables}, cwd, stdin)
        return self.request

    def send(self, data: bytes) -> None:
        self.line.sendall(data)

    def wait_for_the_end(self) -> bytes:
        """Until the relay has gone."""
        rest = b""
        while part := self._received():
            rest += part
        return rest

    def _received(self) -> bytes:
        try:
            return self.line.recv(1 << 16)
        except ConnectionResetError:
            return b""

    def _number(self, form: str) -> int:
        value: int = struct.unpack(form, self._exactly(struct.calcsize(form)))[0]
        return value

    def _text(self) -> bytes:
        return self._exactly(self._number("<I"))

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self.line.recv(size - len(data))
            if not part:
                raise ConnectionError("the relay has gone in the middle")
            data += part
        return bytes(data)


class Server:
    """One thread; each connection gets the script of the moment, then it is closed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.script: Script = Conversation.wait_for_the_end
        self.requests: queue.Queue[Request | None] = queue.Queue()
        """What each connection has asked; None where it did not come to that."""
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(str(path))
        os.chmod(path, 0o600)
        self.listening.listen(64)
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.listening.shutdown(socket.SHUT_RDWR)
        self._thread.join(60)
        self.listening.close()

    def _serve(self) -> None:
        while True:
            try:
                line, _ = self.listening.accept()
            except OSError:  # shut down
                return
            with line:
                talk = Conversation(line)
                try:
                    self.script(talk)
                except OSError:  # the relay has gone, as it may
                    pass
                self.requests.put(talk.request)
