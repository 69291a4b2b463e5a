"""Fairlead on a terminal, and a project with a little of everything."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping

import pytest

from tests.conftest import Home


@pytest.fixture
def on_terminal(place: Home) -> Callable[..., str]:
    """Run the real program with its stdout on a terminal of this width; returns every byte that it wrote."""

    def run(*words: str, width: int = 80, env: Mapping[str, str] | None = None) -> str:
        ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        environ = {**place.environ, "TERM": "xterm-256color", **(env or {})}
        child = subprocess.Popen(
            [sys.executable, "-m", "fairlead", *words],
            stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, cwd=place.project, env=environ,
        )  # fmt: skip
        os.close(theirs)
        written = _all_of(ours)
        os.close(ours)
        child.wait(timeout=60)
        return written.decode("utf-8", "replace").replace("\r\n", "\n")

    return run


def _all_of(terminal: int) -> bytes:
    written = b""
    while True:
        try:
            chunk = os.read(terminal, 1 << 16)
        except OSError:  # Linux says EIO when the last writer has gone
            return written
        if not chunk:
            return written
        written += chunk


@pytest.fixture
def mixed(place: Home) -> Home:
    """Hooks of three systems, in the user's files and in the project's."""
    place.script("hooks/no-force.sh", 'case "$COMMAND" in *--force*) echo "never force" >&2; exit 1;; esac')
    place.write(
        ".claude/settings.json",
        {
            "hooks": {
                "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "hooks/no-force.sh"}]}]
            }
        },
    )
    place.write(
        "~/.codemie/codemie-cli.config.json",
        {
            "activeProfile": "work",
            "profiles": {
                "work": {
                    "hooks": {
                        "PreToolUse": [
                            {
                                "matcher": "Bash",
                                "hooks": [
                                    {
                                        "type": "command",
                                        "command": """echo '{"updatedInput": {"command": "npm ci"}}'""",
                                        "timeout": 2500,
                                    }
                                ],
                            }
                        ]
                    }
                }
            },
        },
    )
    place.write(
        "fairlead.toml",
        """\
[[hook]]
name = "no-sudo"
on = "PreToolUse"
tool = "Bash"
run = "if grep -q sudo; then echo 'no sudo here'; exit 1; fi"

[[hook]]
on = "Stop"
run = "echo 'tests fail'; exit 1"

[[hook]]
name = "off"
on = "PreToolUse"
run = "true"
enabled = false

[files]
".claude/settings.json" = "code-agent"
""",
    )
    return place
