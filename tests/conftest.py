"""What every test may use: an empty home, a project, and Fairlead as a real process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("patient", deadline=None)  # a busy machine is not a failure
settings.load_profile("patient")


def pytest_configure() -> None:
    """A shell that starts us in the background has its children ignore these; what we test must hear them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


SHARED = Path(__file__).resolve().parents[2] / "shared"


def needs_shared(*parts: str) -> pytest.MarkDecorator:
    place = SHARED.joinpath(*parts)
    return pytest.mark.skipif(not place.exists(), reason=f"{'/'.join(('shared', *parts))} is not beside the project")


class Home:
    """An isolated home and project directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.project = root / "project"
        self.home.mkdir()
        self.project.mkdir()
        self.environ = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            **{name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")},
        }

    def write(self, path: str, content: str | dict[str, Any], *, executable: bool = False) -> Path:
        """`~/x` is in the home, anything else in the project."""
        file = self.home / path[2:] if path.startswith("~/") else self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
        if executable:
            file.chmod(0o755)
        return file

    def script(self, path: str, body: str) -> Path:
        """An executable program; Bash unless it says otherwise."""
        return self.write(path, body if body.startswith("#!") else f"#!/bin/bash\n{body}\n", executable=True)


class Ran:
    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        self.code = done.returncode
        self.out = done.stdout
        self.err = done.stderr.decode("utf-8", "replace")

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def place(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def fairlead(place: Home) -> Callable[..., Ran]:
    """Run the real program: fairlead("fire", "--agent", "amcp", stdin={…})."""

    def run(*words: str, stdin: bytes | str | Mapping[str, Any] = b"", env: Mapping[str, str] | None = None) -> Ran:
        raw = stdin if isinstance(stdin, bytes) else (stdin if isinstance(stdin, str) else json.dumps(stdin)).encode()
        return Ran(
            subprocess.run(
                [sys.executable, "-m", "fairlead", *words],
                input=raw,
                capture_output=True,
                cwd=place.project,
                env={**place.environ, **(env or {})},
                timeout=90,
                check=False,
            )
        )

    return run


@pytest.fixture
def fire(fairlead: Callable[..., Ran], place: Home) -> Callable[..., Any]:
    """Be an agent's engine, with the project trusted; returns the parsed answer."""

    def run(agent: str, event: Mapping[str, Any], *words: str, env: Mapping[str, str] | None = None) -> Any:
        ran = fairlead(
            "fire", "--agent", agent, "--project", str(place.project), "--trust-project", *words, stdin=event, env=env
        )
        assert ran.code == 0, ran.err
        return ran.json

    return run
