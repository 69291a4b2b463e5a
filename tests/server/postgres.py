"""A PostgreSQL of our own, for as long as the tests run."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import psycopg

_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/pgsql/bin")
_SETTINGS = ("shared_buffers=16MB", "max_connections=60", "logging_collector=off")
_UNSAFE_AND_QUICK = "fsync=off"
"""Without fsync a commit survives the death of every process, though not of the machine: no test here ends that."""


class Missing(Exception):  # noqa: N818  # no error: a reason to skip
    """There is none here, and why."""


def programs() -> Path:
    """The folder with `initdb` and `postgres`."""
    found = shutil.which("postgres")
    folders = [Path(found).resolve().parent] if found else []
    folders += [folder for pattern in _PLACES for folder in sorted(Path("/").glob(pattern[1:]), reverse=True)]
    for folder in folders:
        if (folder / "initdb").exists():
            return folder
    raise Missing("PostgreSQL is not installed: scripts/packages postgresql")


def _as_somebody() -> tuple[list[str], str]:
    """How to start it, and for whom: it refuses to run as root."""
    if os.getuid() != 0:
        return [], ""
    if shutil.which("setpriv") is None:
        raise Missing("PostgreSQL does not run as root, and there is no setpriv to become somebody else")
    return ["setpriv", "--reuid=nobody", "--regid=65534", "--clear-groups", "--pdeathsig=QUIT"], "nobody"


class Postgres:
    """Listens on loopback at a port that stays the same when it is started again."""

    def __init__(self, *, safe: bool = False, environ: Mapping[str, str] | None = None) -> None:
        """`safe` as a database is that people use, for measuring. It runs with `environ` beside ours."""
        self._environ = [f"{name}={value}" for name, value in (environ or {}).items()]
        self._settings = _SETTINGS if safe else (_UNSAFE_AND_QUICK, *_SETTINGS)
        self._programs = programs()
        self._before, user = _as_somebody()
        self._folder = Path(tempfile.mkdtemp(prefix="fairlead-postgres-", dir="/tmp"))
        if user:
            shutil.chown(self._folder, user)
        self._data = self._folder / "data"
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        self._run("initdb", "-D", str(self._data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        self.start()

    def _run(self, name: str, *words: str) -> None:
        command = [*self._before, str(self._programs / name), *words]
        done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            raise Missing(f"{name} failed: {done.stderr.strip()}")

    def start(self) -> None:
        settings = [word for setting in self._settings for word in ("-c", setting)]
        words = ["-D", str(self._data), "-p", str(self.port), "-h", "127.0.0.1", "-k", str(self._folder), *settings]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._before, "env", *self._environ, str(self._programs / "postgres"), *words],
                cwd=self._folder,
                stdout=log,
                stderr=log,
            )
        self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        ends = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=2).close()
            except psycopg.OperationalError as error:
                if time.monotonic() > ends or self._process is None or self._process.poll() is not None:
                    raise Missing(f"PostgreSQL does not start: {error}") from error
                time.sleep(0.05)
            else:
                return

    def stop(self, how: int = signal.SIGINT) -> None:
        """SIGINT ends every connection politely; SIGQUIT is a crash of all its processes."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=60)
        self._process = None

    def end(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """Its address."""
        self._databases += 1
        name = f"test_{os.getpid()}_{self._databases}"
        self.run(f"CREATE DATABASE {name}")
        return self.url(name)

    def run(self, statement: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
