"""`fairlead serve` as a process, in surroundings that are not those of who asks; and a client that says what it saw."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple

from fairlead.warm import framing

_ACK, _REPLY = Struct("<4sIIII"), Struct("<4sIII")
PATIENCE = 60
"""Seconds for what takes milliseconds: more is a hang."""


class Said(NamedTuple):
    """What a program would have said."""

    code: int
    out: bytes
    err: bytes


class Ack(NamedTuple):
    deadline: float
    otherwise: Said


class Server:
    """With a home, a working directory, a umask and variables of its own, each of which would show in an answer."""

    def __init__(self, root: Path) -> None:
        self.home = root / "servers-home"
        self.state = root / "s"
        cwd = root / "servers-cwd"
        for folder in (self.home / ".config/fairlead", cwd, self.state):
            folder.mkdir(parents=True)
        denying = '[[hook]]\non = "*"\nrun = "echo this is the server\'s own; exit 1"\n'
        (self.home / ".config/fairlead/fairlead.toml").write_text(denying)
        (cwd / "fairlead.toml").write_text(denying)
        self.environ = {
            "HOME": str(self.home),
            "XDG_STATE_HOME": str(self.state),
            "PATH": os.environ["PATH"],
            "WHOSE": "the server's",
            "CLAUDE_PROJECT_DIR": str(cwd),
            "FAIRLEAD_JOURNAL": "off",
            "FAIRLEAD_HOOK_RUN": "a/b/c/d/e/f",
            **{name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")},
        }
        self.log = root / "log.txt"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "fairlead", "serve", "--port", "0", "--json"],
                env=self.environ,
                cwd=cwd,
                umask=0o027,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self.said: dict[str, Any] = self._first_words()
        self.socket = self.said["socket"]
        self.folder = self.state / "fairlead"

    def _first_words(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        found = b""
        while not found.endswith(b"}\n"):
            line = self.process.stdout.readline()
            if not line:
                self.close()
                raise AssertionError(f"the server did not start: {self.log.read_text()[-2000:]}")
            found += line
        return dict(json.loads(found))

    @property
    def key(self) -> str:
        return (self.folder / "hook-token").read_text().strip()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()


class Client:
    """One connection; it is closed when the other side has closed it."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE)
        self._data = bytearray()
        try:
            self.socket.connect(path)
        except OSError:
            self.close()
            raise

    def send(self, words: list[str], environ: Mapping[str, str], cwd: str, stdin: bytes) -> Client:
        self.socket.sendall(framing.request(words, environ, cwd, stdin))
        return self

    def raw(self, data: bytes) -> Client:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(data)
        return self

    def _take(self, size: int) -> bytes:
        while len(self._data) < size:
            try:
                part = self.socket.recv(1 << 16)
            except ConnectionResetError:
                part = b""
            if not part:
                self.close()
                raise EOFError(bytes(self._data))
            self._data += part
        found = bytes(self._data[:size])
        del self._data[:size]
        return found

    def ack(self) -> Ack:
        magic, deadline, code, out, err = _ACK.unpack(self._take(_ACK.size))
        assert magic == framing.ACK
        return Ack(deadline / 1000, Said(code, self._take(out), self._take(err)))

    def reply(self) -> Said:
        magic, code, out, err = _REPLY.unpack(self._take(_REPLY.size))
        assert magic == framing.REPLY
        said = Said(code, self._take(out), self._take(err))
        assert self._take(4) == framing.DONE
        assert self.ended() == b""
        return said

    def ended(self) -> bytes:
        """All that comes until the other side hangs up."""
        try:
            while True:
                self._take(1 << 30)
        except EOFError:
            found = bytes(self._data)
            self._data.clear()
            return found

    def close(self) -> None:
        self.socket.close()


def ask(path: str, words: list[str], environ: Mapping[str, str], cwd: str, stdin: bytes) -> Said:
    """An answer over the socket; EOFError if there is none."""
    client = Client(path)
    try:
        client.send(words, environ, cwd, stdin)
        client.ack()
        return client.reply()
    finally:
        client.close()


class Gate:
    """Holds hooks up until it is opened: a named pipe that they open for reading."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "gate"
        self.arrived = folder / "arrived"
        os.mkfifo(self.path)
        os.mkfifo(self.arrived)
        self._notes = os.open(self.arrived, os.O_RDWR | os.O_NONBLOCK)

    @property
    def command(self) -> str:
        """Says its process id, and waits."""
        return f"echo $$ > {self.arrived}; read x < {self.path}; exit 0"

    def wait_for(self, count: int = 1) -> list[int]:
        """The processes of so many hooks that have come to the gate."""
        found: list[int] = []
        rest = b""
        while len(found) < count:
            assert select.select([self._notes], [], [], PATIENCE)[0], f"{len(found)} of {count} hooks have come"
            *lines, rest = (rest + os.read(self._notes, 1 << 16)).split(b"\n")
            found += map(int, lines)
        return found

    def open(self) -> None:
        """Whoever waits goes on, and whoever comes later."""
        self._writer = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
        os.write(self._writer, b"\n" * 4096)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.open()
            os.close(self._writer)
        os.close(self._notes)


@contextlib.contextmanager
def gate_in(folder: Path) -> Iterator[Gate]:
    gate = Gate(folder)
    try:
        yield gate
    finally:
        gate.close()


def has_ended(pid: int) -> bool:
    """A zombie has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
