"""Many hooks, hostile ones among them: nothing is used up."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fairlead import process
from fairlead.work import Result, Run
from tests.runner.conftest import Drive, Token, a_run, open_files, until, zombies

MIXED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("echo fine", {}),
    ("exit 2", {}),
    ("kill -9 $$", {}),
    ("cat >/dev/null; echo read", {"stdin": b"x" * 200_000}),
    ("exec <&-; echo unread", {"stdin": b"x" * 200_000}),
    ("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2", {}),
    ("sleep 30", {"timeout": 0.05}),
    ("trap '' TERM; sleep 30 & wait; sleep 30", {"timeout": 0.05}),
    ("sleep 30 & echo left", {}),
    ("setsid sleep 30 & echo left", {}),
    ("", {"argv": ("/no/such/program",)}),
    ("exec >&- 2>&-; exit 3", {}),
)


def _mixed(count: int) -> list[Run]:
    return [a_run(script, **fields) for script, fields in (MIXED[i % len(MIXED)] for i in range(count))]


def _poll_all(runs: list[Run], at_once: int) -> list[Result]:
    todo, running, done = list(runs), list[process.Child](), list[Result]()
    while todo or running:
        while todo and len(running) < at_once:
            running.append(process.Child(todo.pop()))
        process.wait_for_any(running)
        done += [child.result for child in running if child.result is not None]
        running = [child for child in running if child.result is None]
    return done


def _asyncio_all(runs: list[Run], at_once: int) -> list[Result]:
    async def main() -> list[Result]:
        gate = asyncio.Semaphore(at_once)

        async def one(run: Run) -> Result:
            async with gate:
                return await process.run(run)

        return list(await asyncio.gather(*map(one, runs)))

    return asyncio.run(main())


@pytest.mark.parametrize("run_all", [_poll_all, _asyncio_all], ids=["poll", "asyncio"])
def test_mixed_hostile_hooks_leave_no_descriptor_and_no_zombie(run_all: object) -> None:
    assert callable(run_all)
    run_all(_mixed(12), 12)
    before = open_files()
    assert len(run_all(_mixed(252), 64)) == 252
    assert open_files() == before
    assert zombies() == []


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("run_all", [_poll_all, _asyncio_all], ids=["poll", "asyncio"])
def test_soak_ten_thousand_mixed_hooks_leave_nothing(run_all: object) -> None:
    assert callable(run_all)
    run_all(_mixed(500), 16)
    before, memory = open_files(), _memory()
    for _ in range(10):
        run_all(_mixed(1000), 16)
    assert open_files() == before
    assert zombies() == []
    assert _memory() - memory < 5 << 10


def _memory() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


@pytest.mark.parametrize("run_all", [_poll_all, _asyncio_all], ids=["poll", "asyncio"])
def test_sixty_four_at_once_each_get_their_own_answer(run_all: object) -> None:
    assert callable(run_all)
    runs = [a_run("cat; exit $CODE", stdin=b"%d" % n, env={"CODE": str(n), "PATH": "/bin:/usr/bin"}) for n in range(64)]
    found = {(result.stdout, result.exit_code) for result in run_all(runs, 64)}
    assert found == {(b"%d" % n, n) for n in range(64)}


@pytest.fixture
def no_pidfd(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS and in some sandboxes."""
    monkeypatch.delattr(os, "pidfd_open")


@pytest.mark.usefixtures("no_pidfd")
@pytest.mark.parametrize(
    ("script", "fields", "expected"),
    [
        ("echo said; exit 7", {}, {"stdout": b"said\n", "exit_code": 7}),
        ("kill -9 $$", {}, {"signal": 9}),
        ("sleep 30 & echo said", {}, {"stdout": b"said\n"}),
        ("trap '' TERM; sleep 30 & wait; sleep 30", {"timeout": 0.2}, {"timed_out": True, "signal": 9}),
        ("exec <&-; exit 4", {"stdin": b"x" * 200_000}, {"exit_code": 4, "fed": False}),
    ],
    ids=["exit", "signal", "orphan", "timeout", "unread"],
)
def test_all_of_it_works_without_pidfd(
    drive: Drive, script: str, fields: dict[str, object], expected: dict[str, object]
) -> None:
    result = drive(script, **fields)
    assert {name: getattr(result, name) for name in expected} == expected
    assert zombies() == []


@pytest.mark.usefixtures("no_pidfd")
async def test_a_hook_can_be_cancelled_without_pidfd_too(token: Token) -> None:
    for _ in range(20):
        task = asyncio.create_task(process.run(a_run(f"setsid {token.sleep} & {token.sleep}")))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert token.is_gone()


@pytest.mark.usefixtures("no_pidfd")
def test_no_descriptor_is_left_without_pidfd() -> None:
    before = len(open_files())
    _poll_all(_mixed(48), 16)
    assert until(lambda: len(open_files()) == before)


@pytest.mark.parametrize("seconds", [1e7, 1e300, float("inf")])
def test_a_timeout_may_be_longer_than_the_kernel_can_count(drive: Drive, seconds: float) -> None:
    assert drive("echo fine", timeout=seconds).stdout == b"fine\n"


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_timeout_that_is_over_ends_the_hook_at_once(drive: Drive, seconds: float) -> None:
    assert drive("sleep 30", timeout=seconds).timed_out


def test_a_host_that_forks_in_threads_disturbs_nobody(token: Token) -> None:
    """Each process must get its own descriptors only, or an end of file would never come."""
    program = """
import subprocess, sys, threading
from fairlead import process

def fork_on(stop):
    while not stop.is_set():
        subprocess.run(["/bin/true"])

stop = threading.Event()
threads = [threading.Thread(target=fork_on, args=(stop,)) for _ in range(2)]
for thread in threads: thread.start()
for number in range(60):
    run = process.Run(argv=("/bin/sh", "-c", "cat; exit 5"), cwd="/", env={}, stdin=b"%d" % number, timeout=20)
    result = process.run_blocking(run)
    assert (result.stdout, result.exit_code) == (b"%d" % number, 5), result
stop.set()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=90, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_waiting_for_any_says_who_is_first(token: Token) -> None:
    slow, quick = process.Child(a_run(token.sleep)), process.Child(a_run("exit 1"))
    children = random.sample([slow, quick], 2)
    process.wait_for_any(children)
    assert (slow.result, quick.result and quick.result.exit_code) == (None, 1)
    slow.cancel()
