"""An MCP server as a process of ours: started for one call, and gone after it.

The SDK can start one too, but waits up to four seconds for it to end, keeps a line of any length in memory, and
hides which process it was. Here it is known by its group, by the mark in its environment and by its place in the
process tree, so that it can be ended at once, from any thread.
"""

from __future__ import annotations

import os
import threading
import time

from fairlead import process
from fairlead.hooks import Cancellation, HookFailed
from fairlead.process import DRAIN_GRACE, MARK, SIGKILL, SIGTERM, Pipes, _exit_fd, _signal_group, _ticks
from fairlead.spawning import spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter
    from collections.abc import AsyncIterator
    from typing import Any

    from fairlead.mcp_servers import Server

LINE_LIMIT = 8 << 20
"""Bytes of one message; more is an error."""
CLOSE_GRACE = 1.0
"""Seconds that a server has to end by itself when its stdin is closed."""
_STDERR = 4096
_GARBAGE = 200


class Ending(Cancellation):
    """Set when nobody waits for the answer any more. It ends the server in the thread that sets it: ours may be too
    slow, or the whole process may be about to end."""

    __slots__ = ("_lock", "_process")

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()  # a signal may strike while it is held
        self._process: Process | None = None

    def start(self, server: Server) -> Process:
        with self._lock:
            if self.is_set():
                raise HookFailed("nobody waits for its answer any more")
            self._process = Process(server)
            return self._process

    def set(self) -> None:
        with self._lock:
            super().set()
            if self._process is not None:
                self._process.kill()


class Process:
    """One started server."""

    def __init__(self, server: Server) -> None:
        self._lock = threading.RLock()
        self._mark = os.urandom(8).hex()
        self._noted = None if process.note_start is None else process.note_start(self._mark)
        self._born = _ticks()
        self._pipes = Pipes()
        self.exit_code: int | None = None
        """Negative for a signal; None while it runs."""
        env = {**server.env, MARK: f"{server.env.get(MARK, '')}/{self._mark}"}
        self._pipes.open()
        try:
            argv = (server.command, *server.args)
            self._pid = spawn(argv, server.command, server.cwd, env, self._pipes.theirs)
            self._pipes.close_theirs()
            self.exit_fd = _exit_fd(self._pid)
        except (OSError, ValueError) as error:
            self._pipes.close_all()
            self._has_ended()
            raise HookFailed(_why_not_started(server, error)) from None

    def take_pipes(self) -> list[int]:
        """stdin, stdout, stderr; whoever takes them closes them."""
        taken, self._pipes.ours = self._pipes.ours, []
        return taken

    def terminate(self) -> None:
        with self._lock:
            if self.exit_code is None:
                _signal_group(self._pid, SIGTERM)

    def kill(self) -> None:
        """Everything that it has started, as far as it can be known."""
        from fairlead.leftovers import below, kill_all

        with self._lock:
            if self.exit_code is None:  # else its number may be another's by now
                found = below(self._pid)
                _signal_group(self._pid, SIGKILL)
                kill_all(self._born, self._mark, [], found)

    def collect(self) -> None:
        """When it has exited: take its exit code, and end what is left of its group."""
        with self._lock:
            if self.exit_code is not None:
                return
            _signal_group(self._pid, SIGKILL)
            try:
                _pid, status = os.waitpid(self._pid, 0)
                self.exit_code = os.waitstatus_to_exitcode(status)
            except ChildProcessError:  # another part of this process collects children
                self.exit_code = 0
            os.close(self.exit_fd)
            self._has_ended()

    def _has_ended(self) -> None:
        if self._noted is not None:
            self._noted()
            self._noted = None


def _why_not_started(server: Server, error: Exception) -> str:
    why = os.strerror(error.errno or 0) if isinstance(error, OSError) else "it holds what no program can be given"
    what = server.command
    if isinstance(error, OSError) and error.filename == server.cwd:
        what = f"anything in {server.cwd}"
    return f"the MCP server {server.name!r} cannot be started: {what}: {why}; see {server.file}"


class Stdio:
    """The SDK's transport over a process: `async with` it for the two streams that a session needs."""

    def __init__(self, process: Process, deadline: float) -> None:
        self.process = process
        self._deadline = deadline
        self.garbage = ""
        """The beginning of what it wrote to its stdout and is no message."""
        self.answered = False
        """Whether it may end by itself: else it is ended at once."""
        self.stderr = b""

    async def streams(self) -> AsyncIterator[Any]:
        import anyio
        from mcp.shared.message import SessionMessage

        with anyio.CancelScope(shield=True):
            wires = await self._connected()
        from_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, to_server = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks, from_server, incoming, outgoing, to_server:
            tasks.start_soon(self._hear, wires.stdout, from_server)
            tasks.start_soon(self._say, to_server, wires.stdin)
            tasks.start_soon(self._overhear, wires.stderr)
            tasks.start_soon(_close_after, wires.exited, from_server)
            try:
                yield incoming, outgoing
            finally:
                with anyio.CancelScope(shield=True):
                    wires.stdin.close()
                    await self._end(wires.exited)
                tasks.cancel_scope.cancel()
                wires.cut()

    async def _connected(self) -> Wires:
        try:
            return await Wires.connected(self.process)
        except BaseException:
            self.process.kill()
            self.process.collect()
            raise

    async def _hear(self, stdout: StreamReader, to: Any) -> None:
        import anyio

        async with to:
            try:
                while (line := await _line(stdout)) is not None:
                    message = self._message(line)
                    if message is not None:
                        await to.send(message)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                pass  # nobody listens any more

    def _message(self, line: bytes) -> Any:
        """None for what is no message: programs write all sorts of things to stdout, and agents overlook them."""
        from mcp import types
        from mcp.shared.message import SessionMessage

        adapter: Any = getattr(types, "jsonrpc_message_adapter", None)  # since SDK 2
        try:
            if adapter is not None:
                return SessionMessage(adapter.validate_json(line, by_name=False))
            return SessionMessage(types.JSONRPCMessage.model_validate_json(line))  # type: ignore[attr-defined]
        except ValueError:
            self.garbage = self.garbage or line.decode("utf-8", "replace").strip()[:_GARBAGE]
            return None

    async def _say(self, messages: Any, stdin: StreamWriter) -> None:
        try:
            async with messages:
                async for message in messages:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    stdin.write(text.encode() + b"\n")
                    await stdin.drain()
        except OSError:  # it does not listen any more; what that means shows on its stdout
            pass

    async def _overhear(self, stderr: StreamReader) -> None:
        while data := await stderr.read(_STDERR):
            self.stderr = (self.stderr + data)[-_STDERR:]

    async def _end(self, exited: Any) -> None:
        if self.answered and not await self._within(CLOSE_GRACE, exited):
            self.process.terminate()
            await self._within(CLOSE_GRACE / 2, exited)
        if not (self.answered and exited.is_set()):
            self.process.kill()
        if await _is_set(exited, CLOSE_GRACE):  # not longer: on a dead network disk even SIGKILL waits
            self.process.collect()

    async def _within(self, seconds: float, exited: Any) -> bool:
        return await _is_set(exited, min(seconds, self._deadline - time.monotonic()))


class Wires:
    """The pipes to a process, and the news of its end, on the running event loop."""

    stdin: StreamWriter
    stdout: StreamReader
    stderr: StreamReader

    def __init__(self, process: Process) -> None:
        import asyncio

        self._loop = asyncio.get_running_loop()
        self._process = process
        self._transports: list[Any] = []
        self.exited = asyncio.Event()

    @classmethod
    async def connected(cls, process: Process) -> Wires:
        wires = cls(process)
        stdin, stdout, stderr = process.take_pipes()
        wires.stdout, wires.stderr = await wires._reader(stdout), await wires._reader(stderr)
        wires.stdin = await wires._writer(stdin)
        wires._loop.add_reader(process.exit_fd, wires._on_exit)
        return wires

    async def _reader(self, pipe: int) -> StreamReader:
        import asyncio

        reader = asyncio.StreamReader(limit=LINE_LIMIT)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await self._loop.connect_read_pipe(lambda: protocol, os.fdopen(pipe, "rb", 0))
        self._transports.append(transport)
        return reader

    async def _writer(self, pipe: int) -> StreamWriter:
        import asyncio

        protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
        transport, _ = await self._loop.connect_write_pipe(lambda: protocol, os.fdopen(pipe, "wb", 0))
        self._transports.append(transport)
        return asyncio.StreamWriter(transport, protocol, None, self._loop)

    def _on_exit(self) -> None:
        self._loop.remove_reader(self._process.exit_fd)
        self.exited.set()

    def cut(self) -> None:
        if not self.exited.is_set():
            self._loop.remove_reader(self._process.exit_fd)
        for transport in self._transports:
            transport.close()


async def _line(stdout: StreamReader) -> bytes | None:
    from asyncio import IncompleteReadError, LimitOverrunError

    try:
        return await stdout.readuntil(b"\n")
    except IncompleteReadError:
        return None
    except LimitOverrunError:
        raise HookFailed(f"its answer is larger than {LINE_LIMIT >> 20} MiB") from None


async def _close_after(exited: Any, to: Any) -> None:
    """A child of the server may keep its stdout open: what has exited has said all that it had to say."""
    import asyncio

    await exited.wait()
    await asyncio.sleep(DRAIN_GRACE)
    await to.aclose()


async def _is_set(event: Any, seconds: float) -> bool:
    """Whether it is, after at most so many seconds."""
    import anyio

    with anyio.move_on_after(seconds):
        await event.wait()
    return bool(event.is_set())
