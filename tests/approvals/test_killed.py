"""The server that answers for a relay is killed while somebody is asked: they have one question all the same."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead import relay
from fairlead.folders import hook_socket
from fairlead.installing.commands import program
from tests.approvals.conftest import Server, Start, Waiting, eventually
from tests.conftest import Home

ASKING = '[[hook]]\non = "PreToolUse"\napproval = "look"\n'
EVENT = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "make pie"}}
Relay = Callable[..., Waiting]


@pytest.fixture
def through_a_relay(place: Home, start: Start, server: Server) -> Relay:
    """As an agent starts it: it asks the server, and becomes `fairlead hook` where that does not answer."""
    place.write("~/.config/fairlead/fairlead.toml", ASKING)
    folder = place.root / "relay"
    folder.mkdir()
    for name, content, _mode in relay.parts("python"):
        (folder / name).write_bytes(content)
    words = [sys.executable, "-I", "-S", str(folder / relay.STARTER), hook_socket(place.environ), *program(), "hook"]

    def begin(event: dict[str, Any]) -> Waiting:
        return start(*words, "--agent", "claude-code", stdin={**event, "cwd": str(place.project)})

    return begin


def _answered_for(place: Home, process: Waiting) -> bool:
    """Whether it is still the relay: the server speaks to the person for it."""
    return str(place.root / "relay") in Path(f"/proc/{process.pid}/cmdline").read_text()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system does not say when a process began")
@pytest.mark.parametrize("more", [{"tool_use_id": "toolu_1"}, {}], ids=["a call with a name", "a call without a name"])
def test_who_asks_again_joins_the_question(
    place: Home, server: Server, through_a_relay: Relay, more: dict[str, str]
) -> None:
    process = through_a_relay({**EVENT, **more})
    first = server.question("make pie")
    assert _answered_for(place, process)
    server.stop(signal.SIGKILL)
    eventually(lambda: not _answered_for(place, process), "`fairlead hook` in place of the relay")
    server.start()
    eventually(lambda: server.waiters() == 1, "the one who waits")
    (question,) = server.waiting()
    assert question["id"] == first["id"]
    server.answer(question, "allow")
    said = process.end()
    assert said.json["hookSpecificOutput"]["permissionDecision"] == "allow"


def test_two_calls_that_look_alike_are_two_questions(server: Server, through_a_relay: Relay) -> None:
    """The control: what joins is the process, not the words."""
    processes = [through_a_relay(EVENT) for _ in range(2)]
    eventually(lambda: len(server.waiting()) == 2, "two questions")
    for question in server.waiting():
        server.answer(question, "block")
    for process in processes:
        assert process.end().json["hookSpecificOutput"]["permissionDecision"] == "deny"
