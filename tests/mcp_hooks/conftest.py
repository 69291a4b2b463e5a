"""Hooks that call tools of real MCP servers, each in an empty home."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fairlead import Hooks, PreToolUse
from fairlead.handlers.mcp_tool import McpTool
from fairlead.hooks import Hook, Origin, Setting
from fairlead.verdicts import Decision
from tests.conftest import Home

HERE = Path(__file__).resolve().parent
PLAIN = str(HERE / "plain_server.py")
SDK = str(HERE / "sdk_server.py")
PATIENCE = 60.0
"""Seconds for a call that is meant to be answered: nobody waits for them."""


class Desk:
    """An isolated home with MCP servers in it, and hooks that call them."""

    def __init__(self, place: Home) -> None:
        self.place = place
        self.environ: dict[str, str] = {**place.environ}
        self.config = place.home / ".config" / "fairlead" / "fairlead.toml"

    @property
    def setting(self) -> Setting:
        return Setting(project=str(self.place.project), home=str(self.place.home), environ=self.environ)

    def serve(self, name: str = "judge", **fields: Any) -> None:
        """Add a server to the user's fairlead.toml."""
        self.config.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"[mcp_servers.{name}]", *(f"{key} = {_toml(value)}" for key, value in fields.items())]
        before = self.config.read_text() if self.config.exists() else ""
        self.config.write_text(before + "\n".join(lines) + "\n")

    def plain(self, how: str, *words: str, **fields: Any) -> None:
        self.serve(command=sys.executable, args=[PLAIN, how, *words], **fields)

    def hook(self, **fields: Any) -> Hook:
        handler = fields.pop("handler", None) or McpTool(
            server=fields.pop("server", "judge"),
            tool=fields.pop("tool", "look"),
            input=fields.pop("input", {"command": "${tool_input.command}"}),
        )
        origin = Origin(
            dialect=fields.pop("dialect", "fairlead"), layer=fields.pop("layer", "user"), file=fields.pop("file", "")
        )
        timeout = fields.pop("timeout", PATIENCE)
        return Hook(name="h", events=("*",), handler=handler, origin=origin, timeout=timeout, **fields)

    def fire(self, command: str = "ls", **fields: Any) -> Decision:
        event = PreToolUse(session_id="s1", tool_name="Bash", tool_input={"command": command})
        return Hooks([self.hook(**fields)], setting=self.setting).fire_sync(event)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items()) + " }"
    return json.dumps(value)


@pytest.fixture
def desk(place: Home) -> Desk:
    return Desk(place)


@pytest.fixture(scope="module")
def http_server() -> Iterator[Callable[[str], str]]:
    """A server written with the SDK on loopback; gives the address of a path on it."""
    process = subprocess.Popen([sys.executable, SDK, "http"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    port = int(process.stdout.readline())
    try:
        yield lambda path: f"http://127.0.0.1:{port}{path}"
    finally:
        process.kill()
        process.stdout.close()
        process.wait()
