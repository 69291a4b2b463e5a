"""Start, feed, limit and end a hook's process.

A `Child` is a state machine without a loop of its own: it says which file descriptors and which
moment it waits for, and is told when they come. `run` drives one with asyncio, `wait_for_any` drives
many with poll(2), so that the cold path needs no event loop.

What is promised, whatever the program does:
- stdin, stdout and stderr move at once, under one deadline; an unread stdin is not an error;
- memory is bounded, output beyond the limits is drained and marked as truncated;
- a process that has exited is done: children that keep its pipes open cannot hold its result back;
- after a timeout or a cancellation nothing of it is left, also what changed its session, as long as
  it kept its environment or its place in the process tree.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import subprocess
import time
from contextlib import suppress

from fairlead._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MARK = "FAIRLEAD_HOOK_RUN"
"""In the environment of every hook: finds what has left the process group."""

STDOUT_LIMIT = 1 << 20
STDERR_LIMIT = 256 << 10
TAIL = 16 << 10
TERM_GRACE = 0.5
DRAIN_GRACE = 0.25
_CHUNK = 1 << 16


class Run(Record):
    """What to start."""

    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    stdin: bytes = b""
    timeout: float | None = None
    input_file: str = ""
    """A private file with the same bytes as stdin, for what did not fit into the environment."""
    left_out: tuple[str, ...] = ()
    """Variables that did not fit."""


class Result(Record):
    """How it ended. `error` says why it could not be started at all."""

    exit_code: int = 0
    signal: int = 0
    stdout: bytes = b""
    stderr: bytes = b""
    tail: bytes = b""
    """The end of stdout, also where stdout itself was cut."""
    truncated: bool = False
    fed: bool = True
    """Whether all of stdin was taken: beyond the 64 KiB of a pipe, somebody has read it."""
    timed_out: bool = False
    cancelled: bool = False
    error: str = ""


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

    def __init__(self, run: Run, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.result: Result | None = None
        self.wants: dict[int, int] = {}
        self.wake_at: float | None = None
        self._clock = clock
        self._mark = os.urandom(8).hex()
        self._feed = memoryview(run.stdin)
        self._sinks: dict[int, _Sink] = {}
        self._fed = False
        self._exited = self._timed_out = self._cancelled = self._killed = False
        try:
            self._start(run)
        except (OSError, ValueError) as error:
            self.result = Result(error=_why_not_started(run, error))

    def _start(self, run: Run) -> None:
        self._process = subprocess.Popen(
            run.argv,
            cwd=run.cwd,
            env={**run.env, MARK: self._mark},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self._exit_fd = _exit_fd(self._process.pid)
        self._streams = [s for s in (self._process.stdin, self._process.stdout, self._process.stderr) if s]
        self._stdin, out, err = (stream.fileno() for stream in self._streams)
        self._sinks = {out: _Sink(STDOUT_LIMIT), err: _Sink(STDERR_LIMIT)}
        self._out, self._err = self._sinks[out], self._sinks[err]
        for fd in (self._stdin, out, err):
            os.set_blocking(fd, False)
        self.wants = {out: select.POLLIN, err: select.POLLIN, self._exit_fd: select.POLLIN}
        self.wake_at = None if run.timeout is None else self._clock() + run.timeout
        self.wants[self._stdin] = select.POLLOUT
        self._write()

    def ready(self, fd: int) -> None:
        """One of the descriptors in `wants` can be used."""
        if fd not in self.wants:
            return
        if fd in self._sinks:
            self._read(fd, chunks=8)
        elif fd == self._stdin:
            self._write()
        elif not self._exited:
            self._on_exit()
        self._finish_if_done()

    def tick(self) -> None:
        """The moment `wake_at` has come."""
        if self.result is not None or self.wake_at is None or self._clock() < self.wake_at:
            return
        if self._killed or (self._exited and not self._ending):
            self._finish()
        elif self._ending:
            self._kill()
        else:
            self._timed_out = True
            self._end()

    def cancel(self) -> None:
        """End it now; does not wait."""
        if self.result is None:
            self._cancelled = True
            self._kill()
            self._finish()

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
            pass
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
        self._exited = True
        self.wants.pop(self._exit_fd, None)
        self._close(self._stdin)
        self._drain()
        if self._ending:
            self._kill()
        elif self._open_pipes():
            self.wake_at = self._clock() + DRAIN_GRACE

    def _drain(self) -> None:
        # What the process wrote before it exited is in the pipes already: twice their size is enough.
        for fd in self._open_pipes():
            self._read(fd, chunks=2 * STDOUT_LIMIT // _CHUNK)

    def _open_pipes(self) -> list[int]:
        return [fd for fd in self._sinks if fd in self.wants]

    def _end(self) -> None:
        self._left = _descendants(self._process.pid)
        _signal_group(self._process.pid, signal.SIGTERM)
        self.wake_at = self._clock() + TERM_GRACE

    def _kill(self) -> None:
        self._killed = True
        _signal_group(self._process.pid, signal.SIGKILL)
        _sweep(self._mark, getattr(self, "_left", None) or _descendants(self._process.pid))
        self.wake_at = self._clock() + DRAIN_GRACE

    def _finish_if_done(self) -> None:
        if self.result is None and self._exited and (self._killed or not self._open_pipes()):
            self._finish()

    def _finish(self) -> None:
        self._drain()
        held = {os.fstat(fd).st_ino for fd in self._open_pipes()}
        # Before it is reaped: until then its process id, and so its group, cannot be another's.
        _signal_group(self._process.pid, signal.SIGKILL)
        if held and not self._killed:
            _sweep(self._mark, holding=held)
        for fd in list(self.wants):
            self._close(fd)
        os.close(self._exit_fd)
        self.wake_at = None
        code = self._process.wait()
        self.result = Result(
            exit_code=max(code, 0),
            signal=max(-code, 0),
            stdout=bytes(self._out.head),
            stderr=bytes(self._err.head),
            tail=self._out.tail,
            truncated=self._out.truncated,
            fed=self._fed,
            timed_out=self._timed_out,
            cancelled=self._cancelled,
        )

    def _close(self, fd: int) -> None:
        if self.wants.pop(fd, None) is None or fd == self._exit_fd:
            return
        for stream in self._streams:
            if not stream.closed and stream.fileno() == fd:
                stream.close()


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
        timeout = None if not moments else max(0.0, min(moments) - time.monotonic()) * 1000 + 1
        for fd, _events in poll.poll(timeout):
            owners[fd].ready(fd)
        for child in children:
            child.tick()


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
    child = Child(run)
    if child.result is None:
        await _Watch(child).wait()
    assert child.result is not None  # noqa: S101  # for mypy
    return child.result


class _Watch:
    """Connects a child to the running asyncio loop."""

    def __init__(self, child: Child) -> None:
        import asyncio

        self._child = child
        self._loop = asyncio.get_running_loop()
        self._done = self._loop.create_future()
        self._readers: set[int] = set()
        self._writers: set[int] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_for: float | None = None

    async def wait(self) -> None:
        self._update()
        try:
            await self._done
        finally:
            self._unwatch(set())
            self._child.cancel()
            if self._timer is not None:
                self._timer.cancel()

    def _on_ready(self, fd: int) -> None:
        before = set(self._child.wants)
        self._child.ready(fd)
        self._unwatch(before & set(self._child.wants))
        self._update()

    def _on_time(self) -> None:
        self._timer_for = None
        self._unwatch(set())
        self._child.tick()
        self._update()

    def _update(self) -> None:
        if self._child.result is not None:
            self._unwatch(set())
            if not self._done.done():
                self._done.set_result(None)
            return
        for fd, events in self._child.wants.items():
            if events == select.POLLIN and fd not in self._readers:
                self._loop.add_reader(fd, self._on_ready, fd)
                self._readers.add(fd)
            elif events == select.POLLOUT and fd not in self._writers:
                self._loop.add_writer(fd, self._on_ready, fd)
                self._writers.add(fd)
        self._arm()

    def _arm(self) -> None:
        if self._child.wake_at == self._timer_for:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_for = self._child.wake_at
        if self._timer_for is not None:
            delay = max(0.0, self._timer_for - time.monotonic()) + 0.001
            self._timer = self._loop.call_later(delay, self._on_time)

    def _unwatch(self, keep: set[int]) -> None:
        for fd in self._readers - keep:
            self._loop.remove_reader(fd)
        for fd in self._writers - keep:
            self._loop.remove_writer(fd)
        self._readers &= keep
        self._writers &= keep


def _why_not_started(run: Run, error: OSError | ValueError) -> str:
    if isinstance(error, ValueError):
        return f"cannot start {run.argv[0]!r}: {error}"
    if error.filename == run.cwd and error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EACCES):
        return f"cannot start in {run.cwd!r}: {os.strerror(error.errno)}"
    return f"cannot start {run.argv[0]!r}: {os.strerror(error.errno or 0)}"


def _exit_fd(pid: int) -> int:
    """A descriptor that becomes readable when the process has exited."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # macOS, old kernels, some sandboxes
        return _exit_pipe(pid)


def _exit_pipe(pid: int) -> int:
    import threading

    reading, writing = os.pipe()

    def wait() -> None:
        try:
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        finally:
            os.close(writing)

    threading.Thread(target=wait, daemon=True).start()
    return reading


def _signal_group(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _sweep(mark: str, known: Iterable[int] = (), *, holding: set[int] | None = None) -> None:
    """Kill what has left the process group: by its mark, or as a descendant seen before."""
    for pid in known:
        _signal(pid, signal.SIGKILL)
    needle = f"{MARK}={mark}".encode()
    for _ in range(10):  # a process may fork while we look
        found = [pid for pid in _processes() if _is_marked(pid, needle)]
        if holding is not None:
            found = [pid for pid in found if _holds(pid, holding)]
        for pid in found:
            _signal(pid, signal.SIGKILL)
        if not found:
            return


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != os.getpid()]
    except OSError:  # no /proc: the group is all that can be found
        return []


def _is_marked(pid: int, needle: bytes) -> bool:
    return needle in _read_proc(pid, "environ").split(b"\0") and b"\nState:\tZ" not in _read_proc(pid, "status")


def _holds(pid: int, inodes: set[int]) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        return any(os.stat(f"{folder}/{name}").st_ino in inodes for name in os.listdir(folder))
    except OSError:
        return False


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for other in _processes():
        # The name in brackets may hold spaces and brackets; the parent is the second field behind it.
        fields = _read_proc(other, "stat").rpartition(b")")[2].split()
        if len(fields) > 1:
            children.setdefault(int(fields[1]), []).append(other)
    found, todo = [], [pid]
    while todo:
        todo += (below := children.get(todo.pop(), []))
        found += below
    return found


def _read_proc(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""
