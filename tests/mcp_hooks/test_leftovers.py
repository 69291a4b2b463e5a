"""Nothing of a server is left, however its call ended."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fairlead import Hooks, PreToolUse
from tests.mcp_hooks.conftest import Desk

EVENT = PreToolUse(session_id="s1", tool_name="Bash", tool_input={"command": "ls"})


def lines(notes: Path) -> list[str]:
    return notes.read_text().split() if notes.exists() else []


def pids(notes: Path) -> list[int]:
    """Of its two children and of itself, as soon as it has written them all down."""
    return [int(line) for line in lines(notes) if line.isdecimal()]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def wait_until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + 90
    while not holds():
        assert time.monotonic() < ends, "it never came to that"
        time.sleep(0.01)


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "notes"
    yield path
    for pid in filter(is_alive, pids(path)):
        os.kill(pid, signal.SIGKILL)


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc to look at")


@needs_proc
def test_at_the_deadline_a_server_is_gone_that_ignores_sigterm_with_all_its_children(desk: Desk, notes: Path) -> None:
    desk.plain("stubborn", str(notes))
    for timeout in (2.0, 10.0, 60.0):  # until the machine was fast enough to let it start
        notes.unlink(missing_ok=True)
        said = desk.fire(timeout=timeout)
        assert said.decision == "deny"
        if "tools/call" in lines(notes):
            break
    assert len(pids(notes)) == 3
    wait_until(lambda: not list(filter(is_alive, pids(notes))))  # even SIGKILL takes a moment


@needs_proc
def test_a_server_that_stays_after_its_answer_is_ended_and_its_answer_counts(desk: Desk, notes: Path) -> None:
    desk.plain("stays", str(notes))
    said = desk.fire()
    assert said.reason == "the server says no"
    wait_until(lambda: not list(filter(is_alive, pids(notes))))


@needs_proc
async def test_a_cancelled_event_ends_the_server(desk: Desk, notes: Path) -> None:
    desk.plain("stubborn", str(notes))
    task = asyncio.ensure_future(Hooks([desk.hook(timeout=None)], setting=desk.setting).fire(EVENT))
    await asyncio.to_thread(wait_until, lambda: "tools/call" in lines(notes))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(pids(notes)) == 3
    wait_until(lambda: not list(filter(is_alive, pids(notes))))


FIRING = """
import sys
from fairlead import Hooks, PreToolUse
from fairlead.cli._signals import end_hooks_with_us
from fairlead.handlers.mcp_tool import McpTool
from fairlead.hooks import Hook, Origin, Setting
end_hooks_with_us()
handler = McpTool(server="judge", tool="look")
hook = Hook(name="h", events=("*",), handler=handler, origin=Origin(dialect="fairlead", layer="user"), timeout=100.0)
setting = Setting(project=sys.argv[1], home=sys.argv[2], environ={})
Hooks([hook], setting=setting).fire_sync(PreToolUse(session_id="s", tool_name="Bash", tool_input={}))
"""


@needs_proc
def test_a_signal_that_ends_us_ends_the_server(desk: Desk, notes: Path) -> None:
    desk.plain("stubborn", str(notes))
    words = [sys.executable, "-c", FIRING, str(desk.place.project), str(desk.place.home)]
    with subprocess.Popen(words) as process:
        wait_until(lambda: "tools/call" in lines(notes))
        process.terminate()
    assert process.returncode == 128 + signal.SIGTERM
    assert len(pids(notes)) == 3
    wait_until(lambda: not list(filter(is_alive, pids(notes))))


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def children() -> set[str]:
    """Also the dead ones that nobody has collected."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = stat.read_text().rpartition(")")[2].split()[1]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == str(os.getpid()):
            found.add(stat.parent.name)
    return found


@needs_proc
def test_no_call_leaves_a_zombie_or_an_open_file_behind(desk: Desk) -> None:
    desk.plain("deny")
    desk.fire()  # what is opened once stays open
    files, before = open_files(), children()
    for how in ("deny", "crash", "dies-at-once", "endless", "error"):
        desk.config.unlink()
        desk.plain(how)
        assert desk.fire().decision == "deny"
    wait_until(lambda: open_files() <= files)
    wait_until(lambda: children() <= before)


async def test_several_servers_are_asked_at_once(desk: Desk) -> None:
    """Each waits for the other: none would answer if they were asked in turn."""
    from fairlead.handlers.mcp_tool import McpTool

    for name in ("left", "right"):
        desk.serve(name, command=sys.executable, args=[MEETING, str(desk.place.root), name])
    hooks = [desk.hook(handler=McpTool(server=name, tool="look"), dialect="claude-code") for name in ("left", "right")]
    said = await Hooks(hooks, setting=desk.setting).fire(EVENT)
    assert said.reason == "left has met the other\nright has met the other"


MEETING = str(Path(__file__).resolve().parent / "meeting_server.py")
