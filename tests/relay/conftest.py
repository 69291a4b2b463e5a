"""Both relays, a server that obeys, and a cold command that says what it was given."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import pytest

from tests.relay.scripted import Said, Server

SOURCES = Path(__file__).resolve().parents[2] / "src" / "fairlead" / "relay"
COLD = """#!/bin/sh
printf 'cold'
for word in "$@"; do printf ' <%s>' "$word"; done
printf '\\n'
cat
exit 7
"""


class Relays:
    """Copies of both, with other times than those that are shipped: a busy machine must not look like a dead server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def words(self, kind: str, ack_seconds: float, silence: float) -> list[str]:
        place = self.folder / f"{kind}-{ack_seconds:g}-{silence:g}"
        if kind == "python":
            if not place.exists():
                place.mkdir()
                shutil.copy(SOURCES / "start.py", place / "fairlead-relay.py")
                text = (SOURCES / "relay.py").read_text()
                text = text.replace("ACK_SECONDS = 1.0", f"ACK_SECONDS = {ack_seconds}")
                text = text.replace("SILENCE = 1.0", f"SILENCE = {silence}")
                (place / "fairlead_relay.py").write_text(text)
            return [sys.executable, "-I", "-S", str(place / "fairlead-relay.py")]
        if shutil.which("cc") is None:
            pytest.skip("there is no C compiler here")
        if not place.exists():
            flags = ("-O2", "-Wall", "-Wextra", "-Werror", f"-DACK_SECONDS={ack_seconds}", f"-DSILENCE={silence}")
            subprocess.run(["cc", *flags, "-o", place, SOURCES / "relay.c"], check=True)
        return [str(place)]


def file_of(event: bytes) -> IO[bytes]:
    file = tempfile.TemporaryFile()  # noqa: SIM115  # whoever asks for it closes it
    file.write(event)
    file.seek(0)
    return file


class Caller:
    """Calls one relay as an agent does."""

    def __init__(self, relays: Relays, kind: str, socket: Path, folder: Path) -> None:
        self.relays = relays
        self.kind = kind
        self.socket = socket
        self.folder = folder
        self.cold = folder / "cold"
        self.cold.write_text(COLD)
        self.cold.chmod(0o755)

    def words(self, *args: str, ack_seconds: float = 60, silence: float = 60) -> list[str]:
        return [*self.relays.words(self.kind, ack_seconds, silence), str(self.socket), str(self.cold), "hook", *args]

    def __call__(self, event: bytes = b"{}", args: Sequence[str] = (), *, ack_seconds: float = 60) -> Said:
        return self.run(self.words(*args, ack_seconds=ack_seconds), event)

    def run(self, words: Sequence[str], event: bytes = b"{}", env: dict[str, str] | None = None) -> Said:
        """The event comes from a file: it is all there, however slow this process is."""
        with file_of(event) as stdin:
            done = subprocess.run(
                words, stdin=stdin, capture_output=True, cwd=self.folder, env=env, timeout=90, check=False
            )
        return Said(done.returncode, done.stdout, done.stderr)

    def cold_answer(self, event: bytes = b"{}", args: Sequence[str] = ()) -> Said:
        words = "".join(f" <{word}>" for word in ("hook", *args))
        return Said(7, f"cold{words}\n".encode() + event, b"")


@pytest.fixture(scope="session")
def relays(tmp_path_factory: pytest.TempPathFactory) -> Relays:
    return Relays(tmp_path_factory.mktemp("relays"))


@pytest.fixture(scope="session")
def own_folder() -> Iterator[Path]:
    """Short, for the sake of the kernel's limit for sockets; private, for the sake of the relay's."""
    with tempfile.TemporaryDirectory(prefix="fl") as folder:
        yield Path(folder).resolve()


@pytest.fixture
def socket_path(own_folder: Path) -> Path:
    return own_folder / f"{os.urandom(4).hex()}.sock"


@pytest.fixture
def server(socket_path: Path) -> Iterator[Server]:
    with Server(socket_path) as server:
        yield server
    socket_path.unlink(missing_ok=True)


@pytest.fixture(params=["compiled", "python"])
def call(request: pytest.FixtureRequest, relays: Relays, socket_path: Path, tmp_path: Path) -> Caller:
    return Caller(relays, request.param, socket_path, tmp_path)
