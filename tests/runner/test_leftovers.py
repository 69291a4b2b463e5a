"""What a hook leaves running: nothing holds its verdict back, and after a timeout nothing of it is left."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time

import pytest

from fairlead import leftovers, process
from tests.runner.conftest import Drive, Token, a_run, processes, until

VERDICT = b'{"decision":"block"}\n'
SAY = 'echo \'{"decision":"block"}\''

STUBBORN = {
    "ignores SIGTERM": "trap '' TERM; {sleep} & wait; {sleep}",
    "ignores all it can": "trap '' HUP INT QUIT TERM USR1 USR2 PIPE; while :; do {sleep}; done",
    "stops itself": "kill -STOP $$; {sleep}",
    "answers SIGTERM with a new session": "trap 'setsid {sleep} & disown; exit 0' TERM; {sleep} & wait",
    "writes without end": "trap '' TERM; {sleep} & yes",
}


HOLDERS = {
    "in the background": "{sleep} &",
    "nohup": "nohup {sleep} &",
    "in its own session": "setsid {sleep} &",
    "with an empty environment": "env -i setsid {sleep} &",
    "behind a double fork": "( setsid bash -c '{sleep} & exec {sleep}' & ) &",
    "three deep": "bash -c \"bash -c '{sleep} & wait' & wait\" &",
    "that ignores SIGTERM and SIGHUP": "( trap '' TERM HUP; exec {sleep} ) &",
    "on stderr only": "{sleep} >/dev/null &",
    "on another descriptor": "{sleep} 5>&1 >/dev/null 2>&1 &",
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_child_on_stdout_does_not_hold_the_verdict_back(drive: Drive, token: Token, holder: str) -> None:
    script = f"{HOLDERS[holder].format(sleep=token.sleep)}\n{SAY}"
    started = time.monotonic()
    result = drive(script, timeout=30)
    assert time.monotonic() - started < 0.5 + 1.5  # half a second, and a busy machine
    assert (result.stdout, result.exit_code, result.timed_out) == (VERDICT, 0, False)
    assert token.is_gone()


def test_a_hundred_verdicts_of_hooks_with_a_child_on_stdout(token: Token) -> None:
    children = [process.Child(a_run(f"{token.sleep} & {SAY}", timeout=60)) for _ in range(100)]
    while waiting := [child for child in children if child.result is None]:
        process.wait_for_any(waiting)
    assert {child.result and child.result.stdout for child in children} == {VERDICT}
    assert token.is_gone()


@pytest.mark.parametrize("habit", STUBBORN)
def test_of_many_hooks_that_do_not_want_to_end_none_is_left(token: Token, habit: str) -> None:
    script = STUBBORN[habit].format(sleep=token.sleep)
    children = [process.Child(a_run(script, timeout=1)) for _ in range(20)]
    while waiting := [child for child in children if child.result is None]:
        process.wait_for_any(waiting)
    assert all(child.result and child.result.timed_out for child in children)
    assert token.is_gone()


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_soak_a_child_on_stdout_costs_at_most_half_a_second(drive: Drive, token: Token) -> None:
    for _ in range(100):
        started = time.monotonic()
        assert drive(f"{token.sleep} & {SAY}", timeout=30).stdout == VERDICT
        assert time.monotonic() - started < 0.5


def test_control_communicate_waits_for_the_child_on_stdout() -> None:
    async def communicate() -> None:
        child = await asyncio.create_subprocess_exec("/bin/sh", "-c", "sleep 3 & echo done", stdout=-1)
        await child.communicate()

    started = time.monotonic()
    asyncio.run(communicate())
    assert time.monotonic() - started > 2.5


def test_a_child_that_was_left_on_purpose_lives_on_after_a_clean_exit(drive: Drive, token: Token) -> None:
    """Also when the hook is faster than its child, which has no session of its own yet."""
    for _ in range(10):
        assert drive(f"setsid {token.sleep} </dev/null >/dev/null 2>&1 & {SAY}").stdout == VERDICT
    assert until(lambda: len(token.pids()) == 10)


def test_a_child_in_the_group_of_the_hook_ends_with_it(drive: Drive, token: Token) -> None:
    assert drive(f"nohup {token.sleep} </dev/null >/dev/null 2>&1 & {SAY}").stdout == VERDICT
    assert token.is_gone()


TREES = {
    **HOLDERS,
    "itself": "",
    "in its own session without our pipes": "setsid {sleep} </dev/null >/dev/null 2>&1 &",
    "behind a double fork without our pipes": "( setsid bash -c '{sleep} & exec {sleep}' >/dev/null 2>&1 & )",
    "stopped": "{sleep} & kill -STOP $!",
    "two hundred": "for i in $(seq 200); do {sleep} & done",
    "two hundred sessions": "for i in $(seq 100); do setsid {sleep} >/dev/null 2>&1 & done",
    "still below, with an empty environment and its own session": "env -i setsid -w {sleep} >/dev/null 2>&1 &",
}


@pytest.mark.parametrize("tree", TREES)
def test_nothing_is_left_after_a_timeout(drive: Drive, token: Token, tree: str) -> None:
    script = f"{TREES[tree].format(sleep=token.sleep)}\n{token.sleep}"
    started = time.monotonic()
    result = drive(script, timeout=0.3)
    assert result.timed_out
    assert time.monotonic() - started < 0.3 + 0.75 + 1.5
    assert token.is_gone()


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("tree", TREES)
def test_soak_nothing_is_left_after_a_timeout(drive: Drive, token: Token, tree: str) -> None:
    for _ in range(40):
        assert drive(f"{TREES[tree].format(sleep=token.sleep)}\n{token.sleep}", timeout=0.6).timed_out
        assert token.is_gone()


def test_control_killing_the_group_alone_leaves_survivors(token: Token) -> None:
    hook = subprocess.Popen(
        ["/bin/bash", "-c", f"setsid {token.sleep} & {token.sleep}"], start_new_session=True, stdout=-3
    )
    assert until(lambda: len({os.getsid(pid) for pid in token.pids()}) == 2)
    os.killpg(hook.pid, signal.SIGKILL)
    hook.wait()
    assert len(token.pids()) == 1


@pytest.mark.parametrize("habit", STUBBORN)
def test_a_hook_that_does_not_want_to_end_is_ended(drive: Drive, token: Token, habit: str) -> None:
    started = time.monotonic()
    result = drive(STUBBORN[habit].format(sleep=token.sleep), timeout=0.4)
    assert time.monotonic() - started < 0.4 + 0.75 + 1.0
    assert result.timed_out
    assert token.is_gone()


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("habit", STUBBORN)
def test_soak_a_hook_that_does_not_want_to_end_is_ended_in_time(drive: Drive, token: Token, habit: str) -> None:
    for _ in range(100):
        started = time.monotonic()
        assert drive(STUBBORN[habit].format(sleep=token.sleep), timeout=0.4).timed_out
        assert time.monotonic() - started < 0.4 + 0.75
        assert token.is_gone()


def test_control_terminating_alone_does_not_end_a_stubborn_hook(token: Token) -> None:
    hook = subprocess.Popen(
        ["/bin/bash", "-c", f"trap '' TERM; echo; {token.sleep}"], start_new_session=True, stdout=-1
    )
    assert hook.stdout is not None
    hook.stdout.readline()
    hook.terminate()
    with pytest.raises(subprocess.TimeoutExpired):
        hook.wait(0.5)
    os.killpg(hook.pid, signal.SIGKILL)
    hook.communicate()


def test_a_hook_gets_a_moment_to_clean_up(drive: Drive) -> None:
    result = drive("trap 'echo cleaned; exit 0' TERM; echo started; sleep 30 & wait", timeout=0.4)
    assert (result.timed_out, result.stdout) == (True, b"started\ncleaned\n")


_HOOK_WITH_HOOKS = """
import os, signal, sys
from fairlead import process
signal.signal(signal.SIGTERM, signal.SIG_IGN)
process.run_blocking(process.Run(argv=("/bin/bash", "-c", sys.argv[1]), cwd="/", env=dict(os.environ)))
"""


def test_hooks_inside_hooks_end_with_the_outer_one(drive: Drive, token: Token) -> None:
    """Not below the outer one any more, and marked by the inner one: each mark keeps those before it."""
    script = f"( setsid {token.sleep} >/dev/null 2>&1 & ) ; {token.sleep}"
    result = drive(argv=(sys.executable, "-c", _HOOK_WITH_HOOKS, script), timeout=1.5)
    assert result.timed_out
    assert token.is_gone()


async def test_a_cancelled_event_leaves_nothing(token: Token) -> None:
    task = asyncio.create_task(process.run(a_run(f"setsid {token.sleep} & {token.sleep}")))
    assert await asyncio.to_thread(lambda: until(lambda: len(token.pids()) == 2))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert token.is_gone()


async def test_an_event_that_is_cancelled_while_its_hook_is_timing_out_leaves_nothing(token: Token) -> None:
    script = f"trap 'echo term >&2' TERM; setsid {token.sleep} & while :; do {token.sleep}; done"
    child = process.Child(a_run(script, timeout=0.3))
    task = asyncio.create_task(process.watch_all([child]))
    assert await asyncio.to_thread(lambda: until(lambda: child._timed_out))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert child.result is not None
    assert (child.result.timed_out, child.result.cancelled) == (True, True)
    assert token.is_gone()


async def test_a_cancelled_event_that_has_just_begun_leaves_nothing(token: Token) -> None:
    for _ in range(20):
        task = asyncio.create_task(process.run(a_run(f"setsid {token.sleep} & {token.sleep}")))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert token.is_gone()


def test_an_exception_while_waiting_leaves_nothing(token: Token) -> None:
    child = process.Child(a_run(f"setsid {token.sleep} & {token.sleep}"))
    assert until(lambda: len(token.pids()) == 2)
    child.cancel()
    child.cancel()
    assert child.result is not None
    assert child.result.cancelled
    assert token.is_gone()


def test_a_stranger_with_a_process_id_that_was_seen_before_is_not_killed(token: Token) -> None:
    """A process id is used again: only together with its start does it name one process."""
    stranger = subprocess.Popen(token.sleep.split())
    mark = os.urandom(8).hex()  # of nobody, also not of a test that runs beside this one
    try:
        leftovers.kill_all(0, mark, [], {stranger.pid: 1, stranger.pid + 10**6: 5})
        assert stranger.poll() is None
        started = leftovers._stat(stranger.pid)[2]
        leftovers.kill_all(started + 1, mark, [], {stranger.pid: started})
        assert stranger.poll() is None
        leftovers.kill_all(started, mark, [], {stranger.pid: started})
        assert stranger.wait(20) == -signal.SIGKILL
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.parametrize("variable", ["TOKEN", f"X_{process.MARK}", process.MARK])
def test_only_the_mark_itself_is_a_mark(token: Token, variable: str) -> None:
    """The same digits in somebody's key are none of our business."""
    mark = os.urandom(8).hex()
    stranger = subprocess.Popen(token.sleep.split(), env={"PATH": os.environ["PATH"], variable: f"key/{mark}"})
    try:
        leftovers.kill_marked([mark.encode()])
        leftovers.kill_all(0, mark, [], {})
        if variable == process.MARK:
            assert stranger.wait(20) == -signal.SIGKILL
        else:
            assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_who_only_reads_from_a_pipe_is_not_killed(token: Token) -> None:
    reading, writing = os.pipe()
    reader = subprocess.Popen(token.sleep.split(), stdin=reading)
    writer = subprocess.Popen(token.sleep.split(), stdout=writing)
    pipe = f"pipe:[{os.fstat(reading).st_ino}]"
    try:
        leftovers.kill_writers(0, [pipe])
        assert writer.wait(20) == -signal.SIGKILL
        assert reader.poll() is None
    finally:
        for one in (reader, writer):
            one.kill()
            one.wait()
        os.close(reading)
        os.close(writing)


def test_our_own_processes_beside_a_hook_are_not_touched(drive: Drive, token: Token) -> None:
    mine = subprocess.Popen(token.sleep.split(), start_new_session=True)
    try:
        before = set(processes())
        assert drive("sleep 30", timeout=0.2).timed_out
        assert mine.poll() is None
        assert mine.pid in before
    finally:
        mine.kill()
        mine.wait()
