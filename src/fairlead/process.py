"""Start, feed, limit and end a hook's process.

A `Child` is a state machine without a loop of its own: it says which file descriptors and which
moment it waits for, and is told when they come. `watch_all` drives them with asyncio, `wait_for_any` with
poll(2), so that the cold path needs no event loop.

What is promised, whatever the program does:
- stdin, stdout and stderr move at once, under one deadline; an unread stdin is not an error;
- memory is bounded, output beyond the limits is drained and marked as truncated;
- a process that has exited is done: children that keep its pipes open cannot hold its result back;
- after a timeout or a cancellation nothing of it is left, also what changed its session, as long as
  it kept its environment, one of its pipes, or its place in the process tree;
- an exit code that cannot be had is an error, never a 0.
"""

from __future__ import annotations

import os
import select
import time

from fairlead.spawning import spawn
from fairlead.work import Result, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fairlead.zygote.asking import Forked

MARK = "FAIRLEAD_HOOK_RUN"
"""In the environment of every hook: finds what has left its process group. A hook inside a hook has both marks."""

SIGKILL, SIGTERM = 9, 15  # everywhere; the module `signal` costs 3 ms of the cold path
STDOUT_LIMIT = 1 << 20
STDERR_LIMIT = 256 << 10
TAIL = 16 << 10
TERM_GRACE = 0.5
DRAIN_GRACE = 0.25
QUIET = 0.004
"""Seconds in which only its exit is watched: most hooks are done by then, and their output is in the pipes."""
_PULSE = 0.01
_CHUNK = 1 << 16
_LOST = "its exit code was lost: this process ignores SIGCHLD, or another part of it collects child processes"
_LOST_WITH_ZYGOTE = "its exit code was lost: the process that had forked it was killed"

fork_script: Callable[[Run, Mapping[str, str], Sequence[int]], Forked | None] | None = None
"""Another way to start Python scripts, where there is one (`fairlead.zygote`)."""
note_start: Callable[[str], Callable[[], None]] | None = None
"""Told the mark of what is started, and called back when it has ended, in a server (`fairlead.warm.noted`)."""


class _Sink:
    """Keeps the head and the end of a stream, and counts the rest."""

    __slots__ = ("end", "head", "limit", "size")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.head = bytearray()
        self.end = b""
        self.size = 0

    def add(self, data: bytes) -> None:
        self.size += len(data)
        room = self.limit - len(self.head)
        if room > 0:
            self.head += data[:room]
        if len(data) > room:
            self.end = (self.end + data[max(room, 0) :])[-TAIL:]

    @property
    def tail(self) -> bytes:
        return (bytes(self.head[-TAIL:]) + self.end)[-TAIL:]

    @property
    def truncated(self) -> bool:
        return self.size > self.limit


class Child:
    """One started process. `wants` and `wake_at` say what it waits for; `result` is set when it is done."""

    def __init__(self, run: Run) -> None:
        self.result: Result | None = None
        self.wants: dict[int, int] = {}
        self.wake_at: float | None = None
        self._mark = os.urandom(8).hex()
        self._noted = None if note_start is None else note_start(self._mark)
        self._feed = memoryview(run.stdin)
        self._behind_another = run.behind_another
        self._pid = 0
        self._exit_fd = -1
        self._below: dict[int, int] = {}
        self._born = _ticks()
        self._grace_ends = 0.0
        self._code: int | None = None
        self._listening = self._fed = self._exited = self._reaped = self._timed_out = self._cancelled = self._killed = (
            False
        )
        self._run = run
        self._asked = 0.0
        """When a zygote was, if one was."""
        self._forked: Forked | None = None
        self._pipes = Pipes()
        self._try_to(self._start)

    def _try_to(self, start: Callable[[], None]) -> None:
        try:
            start()
        except BaseException as error:
            self._abandon()
            if not isinstance(error, Exception):
                self._sweep()
                self._has_ended()
                raise
            self._has_ended()
            self.wants, self.wake_at = {}, None
            self.result = Result(error=_why_not_started(self._run, error))

    def _start(self) -> None:
        if self._run.script and not self._run.bounded and fork_script is not None:
            self._pipes.open()
            self._fill()
            self._forked = fork_script(self._run, _marked(self._run, self._mark), self._pipes.theirs)
        if self._forked is None:
            self._start_alone()
            return
        self._pipes.close_theirs()
        self._asked = time.monotonic()
        self.wants = {self._forked.channel: select.POLLIN}
        self.wake_at = self._asked + self._forked.patience

    def _fill(self) -> None:
        """What its stdin has room for is there before it is."""
        os.set_blocking(self._pipes.ours[0], False)
        try:
            while self._feed:
                self._feed = self._feed[os.write(self._pipes.ours[0], self._feed[:_CHUNK]) :]
        except BlockingIOError:
            pass

    def _start_alone(self) -> None:
        self._pipes.close_all()
        self._feed = memoryview(self._run.stdin)
        self._pid = _start(self._run, self._mark, self._pipes)
        self._exit_fd = _exit_fd(self._pid)
        self._connect()

    @property
    def _is_starting(self) -> bool:
        return self._forked is not None and not self._pid and self.result is None

    def _hear(self, forked: Forked) -> None:
        """Whether the zygote has started it; None is: not yet."""
        started = forked.has_started()
        if started:
            self._pid, self._exit_fd = forked.pid, forked.channel
            self._connect()
        elif started is False:
            self._start_after_all(forked)

    def _start_after_all(self, forked: Forked) -> None:
        """Without the zygote, unless it runs already: never twice."""
        if not forked.take_back():
            if not self._pid and forked.has_started():
                self._pid, self._exit_fd = forked.pid, forked.channel
                self._connect()
                return
            raise RuntimeError("it is not known whether it has run")
        self._forked = None
        try:
            self._start_alone()
        finally:
            forked.close()  # not before: to who watches us, its number must not become another descriptor's

    def _connect(self) -> None:
        timeout = self._run.timeout
        self._pipes.close_theirs()
        self._stdin, out, err = self._pipes.ours
        self._out, self._err = _Sink(STDOUT_LIMIT), _Sink(STDERR_LIMIT)
        self._sinks = {out: self._out, err: self._err}
        for fd in self._pipes.ours:
            os.set_blocking(fd, False)
        now = time.monotonic()
        self._deadline = None if timeout is None else (self._asked or now) + timeout
        self.wants = {self._exit_fd: select.POLLIN, self._stdin: select.POLLOUT}
        self.wake_at = now + QUIET if self._deadline is None else min(now + QUIET, self._deadline)
        self._write()

    def _listen(self) -> None:
        """Watch its output, too: until now it had room for it in the pipes."""
        self._listening = True
        self.wants |= dict.fromkeys(self._sinks, select.POLLIN)
        self.wake_at = self._deadline

    def _abandon(self) -> None:
        """What was started must not run on without anybody who watches it."""
        if self._forked is not None:
            self._forked.take_back()
            self._forked.close()  # and its zygote ends and collects it
            self._exit_fd = -1
        elif self._pid:
            _signal_group(self._pid, SIGKILL)
            try:
                os.waitpid(self._pid, 0)
            except ChildProcessError:  # this process ignores SIGCHLD
                pass
        self._pipes.close_all()
        if self._exit_fd >= 0:
            os.close(self._exit_fd)

    def _sweep(self) -> None:
        """For a signal that struck between its start and our hearing of it: only its mark finds it then."""
        from fairlead.leftovers import kill_all

        kill_all(self._born, self._mark, [], {})

    def ready(self, fd: int) -> None:
        """One of the descriptors in `wants` can be used."""
        if fd not in self.wants:
            return
        if self._forked is not None and self._is_starting:
            forked = self._forked
            self._try_to(lambda: self._hear(forked))
            return
        if fd in self._sinks:
            self._read(fd, chunks=8)
        elif fd == self._stdin:
            self._write()
        else:
            self._on_exit()
        if self._exited and (self._killed or self._is_alone()):
            self._conclude()

    def tick(self) -> None:
        """The moment `wake_at` has come."""
        if self.result is not None or self.wake_at is None or time.monotonic() < self.wake_at:
            return
        if self._forked is not None and self._is_starting:
            forked = self._forked
            forked.give_up()
            self._try_to(lambda: self._start_after_all(forked))
        elif not self._listening and not self._exited:
            self._listen()
            self.tick()
        elif self._exited and not self._killed:
            self._look_again()
        elif self._killed:
            self._finish()
        elif self._ending:
            self._kill()
        elif _is_ready(self._exit_fd):  # in time, though nobody has looked until now
            self.ready(self._exit_fd)
        else:
            self._timed_out = True
            self._end()

    def cancel(self) -> None:
        """End it now; does not wait."""
        if self._forked is not None and self._is_starting and not self._has_begun(self._forked):
            return
        if self.result is None:
            if not self._listening:
                self._listen()
            self._cancelled = True
            self._kill()
            self._finish()

    def _has_begun(self, forked: Forked) -> bool:
        """At the last moment: what has not, never will."""
        if not forked.take_back() and forked.has_started():
            self._pid, self._exit_fd = forked.pid, forked.channel
            self._connect()
            return True
        self._abandon()
        self.wants, self.wake_at = {}, None
        self.result = Result(cancelled=True, signal=SIGKILL)
        self._has_ended()
        return False

    @property
    def _ending(self) -> bool:
        return self._timed_out or self._cancelled

    def _write(self) -> None:
        try:
            while self._feed:
                self._feed = self._feed[os.write(self._stdin, self._feed[:_CHUNK]) :]
            self._fed = True
        except BlockingIOError:
            return
        except OSError:  # EPIPE: the hook does not want to read it all
            self._feed = self._feed[:0]
        self._close(self._stdin)

    def _read(self, fd: int, chunks: int) -> None:
        try:
            for _ in range(chunks):
                data = os.read(fd, _CHUNK)
                if not data:
                    self._close(fd)
                    return
                self._sinks[fd].add(data)
        except BlockingIOError:
            pass
        except OSError:
            self._close(fd)

    def _on_exit(self) -> None:
        if self._forked is not None and not self._knows_how(self._forked):
            return
        self._exited = True
        if not self._listening:
            self._listen()
        del self.wants[self._exit_fd]
        self._close(self._stdin)
        self._drain()
        if self._ending:
            self._kill()
        else:
            self._grace_ends = time.monotonic() + DRAIN_GRACE
            self.wake_at = time.monotonic()

    def _knows_how(self, forked: Forked) -> bool:
        """Its exit code has come from the zygote; or the zygote has died, and only its end can still be noticed."""
        if self._exit_fd == forked.channel:
            self._code = forked.exit_code()
            if self._code is None and not _is_ready(forked.pidfd):
                del self.wants[self._exit_fd]
                self._exit_fd = forked.pidfd
                self.wants[self._exit_fd] = select.POLLIN
                return False
        return True

    def _look_again(self) -> None:
        now = time.monotonic()
        self.wake_at = min(now + _PULSE, self._grace_ends)
        if now >= self._grace_ends or self._is_alone():
            self._finish()

    def _is_alone(self) -> bool:
        """Whether there is nobody left in its group and on its pipes."""
        if self._open_pipes():
            return False
        self._reap()  # as long as it is not, it counts as a member of its own group
        if self._forked is not None and self._forked.is_alone:
            return True
        try:
            os.killpg(self._pid, 0)
        except OSError:
            return True
        from fairlead.leftovers import is_group_alive

        return not is_group_alive(self._pid)

    def _drain(self) -> None:
        # What the process wrote before it exited is in the pipes already: twice their size is enough.
        for fd in self._open_pipes():
            self._read(fd, chunks=2 * STDOUT_LIMIT // _CHUNK)

    def _open_pipes(self) -> list[int]:
        return [fd for fd in self._sinks if fd in self.wants]

    def _held_pipes(self) -> list[str]:
        return [f"pipe:[{os.fstat(fd).st_ino}]" for fd in self._open_pipes()]

    def _end(self) -> None:
        from fairlead.leftovers import ask_to_end, below

        self._below = below(self._pid)
        if self._behind_another:  # which must not end before the hook has had its say
            ask_to_end(self._below)
        else:
            self._signal_group(SIGTERM)
        self.wake_at = time.monotonic() + TERM_GRACE

    def _kill(self) -> None:
        from fairlead.leftovers import below, kill_all

        self._killed = True
        if not self._reaped:  # until then its process id, and so its group, cannot be another's
            self._below |= below(self._pid)
        self._signal_group(SIGKILL)
        kill_all(self._born, self._mark, self._held_pipes(), self._below)
        self.wake_at = time.monotonic() + DRAIN_GRACE

    def _signal_group(self, number: int) -> None:
        if self._forked is None or not self._forked.is_alone:
            _signal_group(self._pid, number)

    def _finish(self) -> None:
        self._drain()
        if not self._killed and not self._is_alone():
            self._end_the_others()
        self._conclude()

    def _conclude(self) -> None:
        self._reap()
        for fd in list(self.wants):
            self._close(fd)
        if self._forked is None:
            os.close(self._exit_fd)
        else:
            self._forked.close()
        self._has_ended()
        self.wake_at = None
        self.result = Result(
            exit_code=max(self._code or 0, 0),
            signal=max(-(self._code or 0), 0),
            stdout=bytes(self._out.head),
            stderr=bytes(self._err.head),
            tail=self._out.tail,
            truncated=self._out.truncated,
            fed=self._fed,
            timed_out=self._timed_out,
            cancelled=self._cancelled,
            error=self._lost if self._code is None and not self._ending else "",
        )

    def _has_ended(self) -> None:
        if self._run.scratch:
            from fairlead.confining.scratch import drop

            drop(self._run.scratch)
        if self._noted is not None:
            self._noted()
            self._noted = None

    @property
    def _lost(self) -> str:
        return _LOST if self._forked is None else _LOST_WITH_ZYGOTE

    def _end_the_others(self) -> None:
        """What has left for a session of its own and holds no pipe of ours was left behind on purpose."""
        from fairlead.leftovers import kill_writers

        self._signal_group(SIGKILL)
        kill_writers(self._born, self._held_pipes())

    def _reap(self) -> None:
        """Take its exit code, negative for a signal; there is none where somebody else has taken it."""
        if self._reaped:
            return
        self._reaped = True
        if not self._exited:
            _is_ready(self._exit_fd, DRAIN_GRACE)  # not longer: on a dead network disk even SIGKILL waits
        if self._forked is not None:
            self._collect(self._forked)
            return
        try:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
        except ChildProcessError:
            return
        if pid:
            self._code = os.waitstatus_to_exitcode(status)
        else:
            self._code = -SIGKILL
            collect_later(self._pid)

    def _collect(self, forked: Forked) -> None:
        """The zygote has; or it will, when nobody watches any more."""
        if not self._exited and self._exit_fd == forked.channel:
            self._code = forked.exit_code()
        if self._code is None and self._ending:
            self._code = -SIGKILL

    def _close(self, fd: int) -> None:
        if self.wants.pop(fd, None) is not None and fd != self._exit_fd:
            self._pipes.close(fd)


def wait_for_any(children: Iterable[Child]) -> None:
    """Block until at least one of the children has a result."""
    children = list(children)
    while not any(child.result is not None for child in children):
        poll = select.poll()
        owners: dict[int, Child] = {}
        for child in children:
            for fd, events in child.wants.items():
                poll.register(fd, events)
                owners[fd] = child
        moments = [child.wake_at for child in children if child.wake_at is not None]
        timeout = None if not moments else _milliseconds(min(moments) - time.monotonic())
        for fd, _events in poll.poll(timeout):
            owners[fd].ready(fd)
        for child in children:
            child.tick()


def _milliseconds(seconds: float) -> int:
    """One more than asked for, so that the moment has come; at most an hour, since poll(2) counts in 31 bits."""
    return int(min(max(0.0, seconds), 3600.0) * 1000) + 1  # in this order, NaN is 0


def run_blocking(run: Run) -> Result:
    child = Child(run)
    try:
        while child.result is None:
            wait_for_any([child])
    finally:
        child.cancel()
    return child.result


async def run(run: Run) -> Result:
    """Run one process on the running event loop; a cancelled caller ends it."""
    (child,) = start_all([run])
    await watch_all([child])
    assert child.result is not None  # noqa: S101  # for mypy
    return child.result


def start_all(runs: Iterable[Run]) -> list[Child]:
    """Start each as soon as it is there; if one cannot even be asked for, none is left."""
    children: list[Child] = []
    try:
        for one in runs:
            children.append(Child(one))  # noqa: PERF401  # kept when the next one fails
    except BaseException:
        for child in children:
            child.cancel()
        raise
    return children


async def watch_all(children: Sequence[Child], tell: Callable[[Child], None] = lambda _child: None) -> None:
    """Wait on the running event loop; `tell` hears of each child when it is done."""
    from fairlead.watching import Watch

    await Watch(children, tell).wait()


def _why_not_started(run: Run, error: Exception) -> str:
    why = os.strerror(error.errno or 0) if isinstance(error, OSError) else str(error)
    if isinstance(error, OSError) and error.filename == run.cwd:
        return f"cannot start in {run.cwd!r}: {why}"
    return f"cannot start {''.join(run.argv[:1])!r}: {why}"


class Pipes:
    """stdin, stdout and stderr. Plain descriptors: file objects would cost 20 µs for each hook."""

    __slots__ = ("ours", "theirs")

    def __init__(self) -> None:
        self.ours: list[int] = []
        self.theirs: list[int] = []

    def open(self) -> None:
        for name in ("stdin", "stdout", "stderr"):
            reading, writing = os.pipe()
            self.ours.append(writing if name == "stdin" else reading)
            self.theirs.append(reading if name == "stdin" else writing)

    def close(self, fd: int) -> None:
        self.ours.remove(fd)
        os.close(fd)

    def close_theirs(self) -> None:
        while self.theirs:
            os.close(self.theirs.pop())

    def close_all(self) -> None:
        self.close_theirs()
        while self.ours:
            os.close(self.ours.pop())


def _marked(run: Run, mark: str) -> dict[str, str]:
    return {**run.env, MARK: f"{run.env.get(MARK, '')}/{mark}"}


def _start(run: Run, mark: str, pipes: Pipes) -> int:
    pipes.open()
    env = _marked(run, mark)
    if run.bounded:
        from fairlead.confining.starting import start

        return start(run, env, pipes.theirs)
    try:
        return spawn(run.argv, run.program or run.argv[0], run.cwd, env, pipes.theirs)
    except OSError:
        if not run.otherwise:
            raise
        return spawn(run.otherwise, run.otherwise[0], run.cwd, env, pipes.theirs)


def collect_later(pid: int) -> None:
    """For what the kernel does not let die: no zombie, should it do so one day."""
    import threading

    threading.Thread(target=_wait, args=(pid,), daemon=True).start()


def _wait(pid: int) -> None:
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:  # somebody else has, or this process ignores SIGCHLD
        pass


def _exit_fd(pid: int) -> int:
    """A descriptor that becomes readable when the process has exited."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # macOS, old kernels, some sandboxes
        from fairlead.exits import exit_pipe

        return exit_pipe(pid)


def _ticks() -> int:
    """Now, as the kernel notes the start of a process: hundredths of a second since it was booted."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)  # where there is none, there is no /proc to compare with
    return 0 if clock is None else int(time.clock_gettime(clock) * 100) - 1


def _is_ready(fd: int, within: float = 0) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(within * 1000))


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass
