"""What the process runner promises holds for scripts from a zygote; and a zygote may die at any moment."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead import process, zygote
from fairlead.work import Result
from tests.zygote.conftest import ENVIRON, LONG, Warm, a_run, until

VERDICT = b'{"decision":"block"}\n'
SAY = 'print(\'{"decision":"block"}\', flush=True)\n'


class Sleepers:
    """Processes that nobody else has: `{sleep}` is a list of words, `{daemon}` forks without starting a program."""

    def __init__(self, folder: Path) -> None:
        seconds = f"90.{random.SystemRandom().randrange(10**9, 10**10)}"
        self.words = ["sleep", seconds]
        self.file = folder / "pids"

    def pids(self) -> list[int]:
        end = "\0".join([*self.words, ""]).encode()
        found = [pid for pid in _processes() if _read(pid, "cmdline").endswith(end)]
        noted = self.file.read_text().split() if self.file.exists() else []
        return found + [int(pid) for pid in noted if _state(int(pid)) not in (b"", b"Z", b"X")]

    def are_gone(self) -> bool:
        until(lambda: not self.pids(), "the end of what a script has left")
        return True


@pytest.fixture
def sleepers(tmp_path: Path) -> Iterator[Sleepers]:
    sleepers = Sleepers(tmp_path)
    yield sleepers
    for pid in sleepers.pids():
        os.kill(pid, 9)


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def _state(pid: int) -> bytes:
    return b"".join(_read(pid, "stat").rpartition(b")")[2].split()[:1])


def _parent(pid: int) -> int:
    return int((_read(pid, "stat").rpartition(b")")[2].split() or [b"X", b"0"])[1])


def _script(folder: Path, text: str, sleepers: Sleepers | None = None) -> Path:
    script = folder / "hook.py"
    head = ""
    if sleepers is not None:
        head = (
            f"sleep, noted = {sleepers.words!r}, {str(sleepers.file)!r}\nimport os, subprocess, signal, time\n{_DAEMON}"
        )
    script.write_text(head + text)
    return script


_DAEMON = """
def daemon(pipes=False):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            if not pipes:
                for fd in range(3): os.close(fd)
            with open(noted, 'a') as file: file.write(f'{os.getpid()} ')
            time.sleep(90)
        os._exit(0)
    os.wait()
    while not os.path.exists(noted) or not open(noted).read(): time.sleep(0.01)
"""

HOLDERS = {
    "in the background": "subprocess.Popen(sleep)",
    "in its own session": "subprocess.Popen(sleep, start_new_session=True)",
    "with an empty environment": "subprocess.Popen(sleep, start_new_session=True, env={})",
    "on stderr only": "subprocess.Popen(sleep, stdout=-3, stdin=-3)",
    "that is a fork of it": "daemon(pipes=True)",
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_child_on_stdout_does_not_hold_the_verdict_back(
    warm: Warm, tmp_path: Path, sleepers: Sleepers, holder: str
) -> None:
    result = warm.run(_script(tmp_path, f"{HOLDERS[holder]}\n{SAY}", sleepers))
    assert (result.stdout, result.exit_code, result.timed_out) == (VERDICT, 0, False)
    assert sleepers.are_gone()


TREES = {
    **HOLDERS,
    "itself": "",
    "in its own session without our pipes": "a = {'stdin': -3, 'stdout': -3, 'stderr': -3}\n"
    "subprocess.Popen(sleep, start_new_session=True, **a)",
    "a fork of it without our pipes, below nobody": "daemon()",
    "that ignores SIGTERM": "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    "stopped": "os.kill(subprocess.Popen(sleep).pid, signal.SIGSTOP)",
}


@pytest.mark.parametrize("tree", TREES)
def test_nothing_is_left_after_a_timeout(warm: Warm, tmp_path: Path, sleepers: Sleepers, tree: str) -> None:
    text = f"{TREES[tree]}\n{SAY}subprocess.Popen(sleep).wait()\ntime.sleep(90)\n"
    child = process.Child(a_run(_script(tmp_path, text, sleepers), timeout=LONG))
    _drive_until(child, lambda: child._listening and bytes(child._out.head) == VERDICT)
    assert child._forked is not None
    child._deadline = child.wake_at = time.monotonic()  # its time is over, as soon as all of it is there
    _drive(child)
    assert child.result is not None
    assert (child.result.timed_out, child.result.stdout) == (True, VERDICT)
    assert sleepers.are_gone()


def _drive(child: process.Child) -> None:
    while child.result is None:
        process.wait_for_any([child])


def _drive_until(child: process.Child, condition: Any) -> None:
    """As `wait_for_any`, as far as needed."""
    import select

    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end
        assert child.result is None, child.result
        poll = select.poll()
        for fd, events in child.wants.items():
            poll.register(fd, events)
        for fd, _events in poll.poll(20):
            child.ready(fd)
        child.tick()


def test_a_flood_is_cut_and_does_not_stop_the_script(warm: Warm, tmp_path: Path) -> None:
    text = "import sys\nfor _ in range(16):\n    sys.stdout.write('x' * (1 << 20))\n"
    text += "    sys.stderr.write('y' * (1 << 20))\nprint('end')\n"
    result = warm.run(_script(tmp_path, text))
    assert (len(result.stdout), len(result.stderr), result.truncated) == (1 << 20, 256 << 10, True)
    assert (result.tail[-5:], result.exit_code) == (b"xend\n", 0)


@pytest.mark.parametrize("text", ["", "import os; os.close(0)\n"], ids=["unread", "closed"])
def test_a_payload_that_nobody_reads_is_no_error(warm: Warm, tmp_path: Path, text: str) -> None:
    result = warm.run(_script(tmp_path, f"{text}{SAY}"), stdin=b"x" * (8 << 20))
    assert (result.stdout, result.exit_code, result.fed) == (VERDICT, 0, False)


def test_a_script_that_never_reads_is_ended_in_time(warm: Warm, tmp_path: Path) -> None:
    result = warm.run(_script(tmp_path, "import time; time.sleep(90)"), stdin=b"x" * (8 << 20), timeout=0.5)
    assert (result.timed_out, result.fed) == (True, False)


@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 131_071, 131_072, 16 << 20])
def test_a_payload_arrives_whole(warm: Warm, tmp_path: Path, size: int) -> None:
    text = "import sys, zlib; data = sys.stdin.buffer.read(); print(len(data), zlib.crc32(data))"
    import zlib

    stdin = os.urandom(size)
    result = warm.run(_script(tmp_path, text), stdin=stdin)
    assert (result.stdout, result.fed) == (b"%d %d\n" % (size, zlib.crc32(stdin)), True)


def test_two_hundred_scripts_leave_no_process_and_no_descriptor(warm: Warm, tmp_path: Path) -> None:
    script = _script(tmp_path, "import sys; print(sys.stdin.read()); sys.exit(3)")
    warm.run(script)
    (pid,) = warm.zygotes.pids()
    until(lambda: len(_children(pid)) == 1, "the end of the first, and a spare for the next")
    ours, its = len(os.listdir("/proc/self/fd")), _descriptors(pid)
    memory = _memory(pid)
    for start in range(0, 200, 20):
        children = [process.Child(a_run(script, stdin=b"%d" % n)) for n in range(start, start + 20)]
        while waiting := [child for child in children if child.result is None]:
            process.wait_for_any(waiting)
        found = [(child.result.stdout, child.result.exit_code) for child in children if child.result is not None]
        assert found == [(b"%d\n" % n, 3) for n in range(start, start + 20)]
    assert len(os.listdir("/proc/self/fd")) == ours
    if warm.zygotes.pids() == [pid]:  # and no other took its place
        until(lambda: len(_children(pid)) == 1, "the end of its children but for a spare")
        until(lambda: _descriptors(pid) <= its, "the zygote's own descriptors")
        assert _memory(pid) - memory < 2 << 10


# --- a child that is there before it is asked for -----------------------------------------------------------

PID = "import os; print(os.getpid())"


def _spare(own: Warm) -> int:
    (zygote_,) = own.zygotes.pids()
    until(lambda: len(_children(zygote_)) == 1, "a spare")
    return _children(zygote_)[0]


def test_each_script_runs_in_a_child_that_was_ready_for_it(own: Warm, tmp_path: Path) -> None:
    script = _script(tmp_path, PID)
    own.run(script)
    seen = set()
    for _ in range(5):
        spare = _spare(own)
        seen.add(spare)
        assert own.run(script).stdout == b"%d\n" % spare
    assert len(seen) == 5


def test_a_spare_runs_a_script_as_it_stands_now(own: Warm, tmp_path: Path) -> None:
    for number in range(4):
        script = _script(tmp_path, f"print({number})")
        _spare(own)
        assert own.run(script).stdout == b"%d\n" % number


def test_without_its_spare_a_zygote_forks_when_it_is_asked(own: Warm, tmp_path: Path) -> None:
    """Somebody has ended it; then there is no other, and scripts run all the same."""
    script = _script(tmp_path, PID)
    spare = _spare(own)
    os.kill(spare, 9)
    until(lambda: not _read(spare, "stat"), "that the zygote has seen it")
    found = {own.run(script).stdout for _ in range(3)}
    assert len(found) == 3
    assert b"%d\n" % spare not in found
    assert not _children(own.zygotes.pids()[0])


def test_a_spare_that_is_killed_with_the_question_in_its_hands_has_not_run(own: Warm, tmp_path: Path) -> None:
    script, count = _counting(tmp_path)
    spare = _spare(own)
    os.kill(spare, signal.SIGSTOP)
    child = process.Child(a_run(script))
    os.kill(spare, 9)
    _drive(child)
    assert child.result is not None
    assert child.result.stdout == b"ran\n"
    assert count.read_text() == "x"


def test_a_spare_ends_with_its_zygote(own: Warm) -> None:
    spare = _spare(own)
    os.kill(own.zygotes.pids()[0], 9)
    until(lambda: _state(spare) in (b"", b"Z"), "the end of the spare")


def test_a_spare_holds_nothing_of_those_that_run(own: Warm) -> None:
    spare = _spare(own)  # which may just have been born
    until(lambda: sorted(os.listdir(f"/proc/{spare}/fd")) == ["0", "1", "2", "3"], "that it closes all the rest")


def _children(pid: int) -> list[int]:
    return [other for other in _processes() if _parent(other) == pid]


def _descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def _memory(pid: int) -> int:
    return int(_read(pid, "status").partition(b"VmRSS:")[2].split()[0])


async def test_sixty_four_at_once_on_an_event_loop_each_get_their_own_answer(warm: Warm, tmp_path: Path) -> None:
    script = _script(tmp_path, "import sys; n = sys.stdin.read(); print(n); sys.exit(int(n))")
    warm.wait()
    before = len(warm.taken)
    runs = [process.run(a_run(script, stdin=b"%d" % n)) for n in range(64)]
    results = await asyncio.gather(*runs)
    assert [(result.stdout, result.exit_code) for result in results] == [(b"%d\n" % n, n) for n in range(64)]
    assert len(warm.taken) > before


async def test_a_cancelled_event_leaves_nothing(warm: Warm, tmp_path: Path, sleepers: Sleepers) -> None:
    script = _script(tmp_path, "subprocess.Popen(sleep, start_new_session=True).wait()", sleepers)
    warm.wait()
    task = asyncio.create_task(process.run(a_run(script)))
    await asyncio.to_thread(until, lambda: bool(sleepers.pids()))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sleepers.are_gone()


async def test_an_event_that_is_cancelled_at_once_leaves_nothing(
    warm: Warm, tmp_path: Path, sleepers: Sleepers
) -> None:
    script = _script(tmp_path, "subprocess.Popen(sleep, start_new_session=True).wait()", sleepers)
    warm.wait()
    for turns in range(20):
        task = asyncio.create_task(process.run(a_run(script)))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert sleepers.are_gone()


# --- zygotes that die, hang, or are not wanted --------------------------------------------------------------


def _until_there(gate: Path) -> str:
    return f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\n"


def _counting(folder: Path, text: str = "") -> tuple[Path, Path]:
    """A script that says how often it has run."""
    count = folder / "count"
    return _script(
        folder, f"with open({str(count)!r}, 'a') as file: file.write('x')\nprint('ran', flush=True)\n{text}"
    ), count


def test_a_script_whose_zygote_was_killed_before_runs_once_and_the_next_has_a_new_one(
    own: Warm, tmp_path: Path
) -> None:
    script, count = _counting(tmp_path)
    own.run(script)
    (old,) = own.zygotes.pids()
    os.kill(old, 9)
    result = process.run_blocking(a_run(script))
    assert (result.stdout, result.error, count.read_text()) == (b"ran\n", "", "xx")
    assert own.run(script).stdout == b"ran\n"
    assert old not in own.zygotes.pids()
    assert _state(old) in (b"", b"Z")


def test_a_script_whose_zygote_is_killed_while_it_runs_has_no_exit_code_and_does_not_run_again(
    own: Warm, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    script, count = _counting(tmp_path, _until_there(gate))
    child = process.Child(a_run(script))
    _drive_until(child, lambda: child._listening and bytes(child._out.head) == b"ran\n" and child._pid)
    assert child._forked is not None
    os.kill(own.zygotes.pids()[0], 9)
    gate.touch()
    _drive(child)
    assert child.result is not None
    assert "exit code was lost" in child.result.error
    assert count.read_text() == "x"


def test_a_script_that_times_out_after_its_zygote_was_killed_is_ended(
    own: Warm, tmp_path: Path, sleepers: Sleepers
) -> None:
    script = _script(tmp_path, f"{SAY}subprocess.Popen(sleep, start_new_session=True).wait()", sleepers)
    child = process.Child(a_run(script))
    _drive_until(child, lambda: child._listening and bytes(child._out.head) == VERDICT and bool(sleepers.pids()))
    os.kill(own.zygotes.pids()[0], 9)
    child._deadline = child.wake_at = time.monotonic()
    _drive(child)
    assert child.result is not None
    assert child.result.timed_out
    assert sleepers.are_gone()


def test_a_zygote_that_hangs_is_passed_over_and_what_it_was_asked_never_runs(own: Warm, tmp_path: Path) -> None:
    script, count = _counting(tmp_path)
    own.zygotes.patience = 0.05
    (hung,) = own.zygotes.pids()
    os.kill(hung, signal.SIGSTOP)
    result = process.run_blocking(a_run(script))
    assert (result.stdout, result.exit_code, result.error) == (b"ran\n", 0, "")
    assert hung not in own.zygotes.pids()
    own.zygotes.patience = LONG
    assert own.run(script).stdout == b"ran\n"
    until(lambda: _state(hung) in (b"", b"Z"), "the end of the zygote that hung")
    assert count.read_text() == "xx"


async def test_a_zygote_that_hangs_is_passed_over_on_an_event_loop_too(own: Warm, tmp_path: Path) -> None:
    script, count = _counting(tmp_path)
    own.zygotes.patience = 0.05
    os.kill(own.zygotes.pids()[0], signal.SIGSTOP)
    results = await asyncio.gather(*(process.run(a_run(script, stdin=b"x" * size)) for size in (0, 1, 100_000)))
    assert [(result.stdout, result.exit_code, result.error) for result in results] == [(b"ran\n", 0, "")] * 3
    assert count.read_text() == "xxx"


def test_a_zygote_that_wakes_up_late_does_not_run_the_script_again(own: Warm, tmp_path: Path) -> None:
    script, count = _counting(tmp_path)
    (tmp_path / "slow").mkdir()
    gate = tmp_path / "gate"
    slow, _ = _counting(tmp_path / "slow", _until_there(gate))
    busy = process.Child(a_run(slow))  # keeps it alive when it is given up
    _drive_until(busy, lambda: busy._listening and bytes(busy._out.head) == b"ran\n" and busy._pid)
    own.zygotes.patience = 0.05
    (hung,) = own.zygotes.pids()
    os.kill(hung, signal.SIGSTOP)
    assert process.run_blocking(a_run(script)).stdout == b"ran\n"
    os.kill(hung, signal.SIGCONT)
    gate.touch()
    _drive(busy)
    assert busy.result is not None
    assert (busy.result.stdout, busy.result.exit_code, busy.result.error) == (b"ran\n", 0, "")
    own.zygotes.prepare(ENVIRON)  # which lets go what is not needed any more
    until(lambda: _state(hung) in (b"", b"Z"), "the end of the zygote that hung")
    assert count.read_text() == "x"


def test_a_child_whose_token_was_taken_back_ends_without_running_anything(own: Warm, tmp_path: Path) -> None:
    """Also while its zygote still believes that somebody watches it."""
    script, count = _counting(tmp_path)
    (hung,) = own.zygotes.pids()
    os.kill(hung, signal.SIGSTOP)
    pipes = process.Pipes()
    pipes.open()
    try:
        forked = own.zygotes.fork(a_run(script), {**ENVIRON, process.MARK: "/x"}, pipes.theirs)
        assert forked is not None
        assert forked.take_back()
        os.kill(hung, signal.SIGCONT)
        until(lambda: bool(forked.has_started()), "its start")
        until(lambda: process._is_ready(forked.channel), "its end")
        assert forked.exit_code() == 0
        forked.close()
    finally:
        pipes.close_all()
    assert not count.exists()


def test_an_event_that_is_cancelled_while_a_zygote_hangs_never_runs(own: Warm, tmp_path: Path) -> None:
    script, count = _counting(tmp_path)
    (hung,) = own.zygotes.pids()
    os.kill(hung, signal.SIGSTOP)
    child = process.Child(a_run(script))
    child.cancel()
    assert child.result is not None
    assert (child.result.cancelled, child.wants, child.wake_at) == (True, {}, None)
    os.kill(hung, signal.SIGCONT)
    own.zygotes.patience = LONG
    other = tmp_path / "other.py"
    other.write_text("print('after it')")
    assert own.run(other).stdout == b"after it\n"
    assert not count.exists()


def test_a_script_that_a_zygote_cannot_start_is_started_without(own: Warm, tmp_path: Path) -> None:
    script, count = _counting(tmp_path)
    result = process.run_blocking(a_run(script, cwd="/no/such/folder"))
    assert result.error == "cannot start in '/no/such/folder': No such file or directory"
    assert not count.exists()


_SERVER = """
import os, sys, time
from fairlead import process, zygote
from fairlead.work import Run
environ = dict(os.environ)
zygotes = zygote.start(environ)
zygotes.patience = 60
while not zygotes.is_ready(environ): time.sleep(0.01)
run = Run(argv=(sys.executable, sys.argv[1]), cwd="/", env=environ, script=sys.argv[1])
child = process.Child(run)
while not child._pid: [child.ready(fd) for fd in list(child.wants)]
print(*zygotes.pids(), child._pid, flush=True)
time.sleep(90)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_with_the_server_end_its_zygote_and_its_scripts(tmp_path: Path, sleepers: Sleepers, number: int) -> None:
    script = _script(tmp_path, "subprocess.Popen(sleep).wait()", sleepers)
    server = subprocess.Popen([sys.executable, "-c", _SERVER, script], env=ENVIRON, stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        pids = [int(pid) for pid in server.stdout.readline().split()]
        until(lambda: bool(sleepers.pids()), "the script")
        assert [_state(pid) in (b"S", b"R", b"D") for pid in pids] == [True, True]
    finally:
        server.send_signal(number)
        server.communicate()
    until(lambda: all(_state(pid) in (b"", b"Z") for pid in pids), "the end of all of them")
    assert sleepers.are_gone()


def test_stopping_leaves_no_process(tmp_path: Path) -> None:
    zygotes = zygote.start(ENVIRON)
    until(lambda: zygotes.is_ready(ENVIRON), "a zygote")
    pids = zygotes.pids()
    assert zygote.current() is zygotes
    assert process.run_blocking(a_run(_script(tmp_path, SAY))).stdout == VERDICT
    zygote.stop()
    assert zygote.current() is None
    assert process.fork_script is None
    until(lambda: not any(_read(pid, "stat") for pid in pids), "the end of the zygote")


def test_without_a_zygote_scripts_are_started_as_before(tmp_path: Path) -> None:
    result = process.run_blocking(a_run(_script(tmp_path, SAY)))
    assert result == Result(stdout=VERDICT, tail=VERDICT)
