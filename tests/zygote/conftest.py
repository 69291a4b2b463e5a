"""A zygote that is ready, and scripts that are run with and without it."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fairlead import process
from fairlead.work import Result, Run
from fairlead.zygote.asking import Forked
from fairlead.zygote.keeping import Zygotes

LONG = 60.0
"""Seconds until something that must happen counts as never happening."""
ENVIRON = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}


class Warm:
    """Zygotes that have all the time they need; knows which runs they have taken."""

    def __init__(self) -> None:
        self.zygotes = Zygotes()
        self.zygotes.patience, self.zygotes.pause = LONG, 0.0
        self.taken: list[Forked] = []
        self.wait()

    @contextlib.contextmanager
    def in_use(self) -> Iterator[Warm]:
        process.fork_script = self._fork
        try:
            yield self
        finally:
            process.fork_script = None

    def _fork(self, *arguments: Any) -> Forked | None:
        forked = self.zygotes.fork(*arguments)
        self.taken += [forked] if forked is not None else []
        return forked

    def wait(self, environ: Mapping[str, str] | None = None) -> None:
        """Until one is ready for this environment."""
        until(lambda: self._is_ready(environ or ENVIRON), f"a zygote ({self.zygotes.why_not})")

    def _is_ready(self, environ: Mapping[str, str]) -> bool:
        self.zygotes.prepare(environ)
        return self.zygotes.is_ready(environ)

    def run(self, script: Path | str, **fields: Any) -> Result:
        """In a zygote, if need be in the next: somebody may install a package for our interpreter at this moment."""
        for _attempt in range(10):
            self.wait(fields.get("env"))
            before = len(self.taken)
            result = process.run_blocking(a_run(script, **fields))
            if len(self.taken) > before:
                return result
        raise AssertionError(f"no zygote has taken it: {self.zygotes.why_not}")


def a_run(script: Path | str, *, cold: bool = False, **fields: Any) -> Run:
    fields.setdefault("cwd", str(Path(script).parent))
    fields.setdefault("env", ENVIRON)
    fields.setdefault("timeout", 3 * LONG)
    fields.setdefault("argv", (sys.executable, str(script)))
    return Run(script="" if cold else str(script), **fields)


def until(condition: Callable[[], bool], what: str = "it") -> None:
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end, f"waited too long for {what}"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def shared() -> Iterator[Warm]:
    warm = Warm()
    yield warm
    warm.zygotes.close()


@pytest.fixture
def warm(shared: Warm) -> Iterator[Warm]:
    with shared.in_use():
        yield shared


@pytest.fixture
def own() -> Iterator[Warm]:
    """Zygotes of one test alone."""
    warm = Warm()
    with warm.in_use():
        yield warm
    warm.zygotes.close()
