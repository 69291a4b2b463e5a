"""Both drivers of the process runner, and looking for what a hook has left behind."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead import process
from fairlead.work import Result, Run

Drive = Callable[..., Result]
"""Runs a Bash script, or `argv=…`; the rest are fields of `Run`."""

PATIENCE = 10.0
"""Seconds until something that must happen counts as never happening."""


def a_run(script: str, cwd: Path | str = "/", **fields: Any) -> Run:
    fields.setdefault("argv", ("/bin/bash", "-c", script))
    fields.setdefault("env", {"PATH": os.environ["PATH"]})
    return Run(cwd=str(cwd), **fields)


def blocking(script: str = "", **fields: Any) -> Result:
    return process.run_blocking(a_run(script, **fields))


def with_asyncio(script: str = "", **fields: Any) -> Result:
    return asyncio.run(process.run(a_run(script, **fields)))


@pytest.fixture(params=[blocking, with_asyncio], ids=["poll", "asyncio"])
def drive(request: pytest.FixtureRequest) -> Drive:
    return request.param  # type: ignore[no-any-return]


class Token:
    """A number of seconds that nobody else sleeps for: finds a process by its command line, whatever it did."""

    def __init__(self) -> None:
        self.sleep = f"sleep 90.{random.SystemRandom().randrange(10**9, 10**10)}"  # ends by itself, should we be killed

    def pids(self) -> list[int]:
        words = self.sleep.replace(" ", "\0").encode() + b"\0"
        return [pid for pid in processes() if _read(pid, "cmdline").endswith(words)]

    def is_gone(self) -> bool:
        return until(lambda: not self.pids())

    def is_running(self) -> bool:
        return until(lambda: bool(self.pids()))


@pytest.fixture
def token() -> Iterator[Token]:
    token = Token()
    yield token
    for pid in token.pids():
        os.kill(pid, 9)


def until(condition: Callable[[], bool], patience: float = PATIENCE) -> bool:
    """Whether it becomes true."""
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def zombies() -> list[int]:
    """Our own children that nobody has collected."""
    found = []
    for pid in processes():
        state, parent, *_ = _read(pid, "stat").rpartition(b")")[2].split() or [b"X", b"0"]
        if state == b"Z" and int(parent) == os.getpid():
            found.append(pid)
    return found


def open_files() -> list[str]:
    return [f"{fd} → {_link(fd)}" for fd in os.listdir("/proc/self/fd") if _link(fd)]


def _link(fd: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return ""
