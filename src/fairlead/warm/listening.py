"""The Unix socket: events of this user's agents come in, answers go out, and nobody else gets a word."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import stat
import sys
import time
from contextvars import copy_context
from typing import TYPE_CHECKING

from fairlead import surroundings
from fairlead.errors import UsageError
from fairlead.surroundings import Surroundings
from fairlead.warm import answers
from fairlead.warm.callers import Caller, Elsewhere, OtherFairlead, Stranger, caller_of
from fairlead.warm.framing import Garbage, Reader
from fairlead.warm.loaded import Declined, Loaded

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from fairlead.warm.answers import Begun
    from fairlead.warm.framing import Asked

LONGEST_PATH = 107
"""Bytes of a path that fit into `sun_path`, with its final NUL."""
LARGEST = 1 << 20
"""Bytes of an event. One that is larger takes its time, and others would wait: it gets a process of its own."""
AT_ONCE = 64
"""Events whose hooks run side by side."""
ASKING = 512
"""Events beside those that wait for a person."""
CONNECTIONS = 2048
PATIENCE = 0.8
"""Seconds that an event waits for its turn: a client gives up after one."""
SILENCE = 10.0
"""Seconds for a request to come in whole, and for an answer to be taken."""
GRACE = 2.5
"""Seconds for what runs when the server ends."""
_MOST_LINES = 20
_BACKLOG = 1024
_PIECE = 64 << 10
_PAUSE = 1.0
"""Seconds without newcomers, where there is no room for another open file."""


def listen(path: str) -> socket.socket:
    """Bound for nobody but us before anybody can see it. Raises UsageError where that is not possible."""
    folder = os.path.dirname(path)
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise UsageError(f"{path} is too long for a socket, which has room for {LONGEST_PATH} bytes")
    about = os.stat(folder)
    if about.st_uid != os.getuid() or about.st_mode & 0o022:
        raise UsageError(f"others can write into {folder}")
    draft = os.path.join(folder, f".{secrets.token_hex(4)}")  # as long as `hook.sock`
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        found.bind(draft)
        os.chmod(draft, 0o600)
        found.listen(_BACKLOG)
        os.rename(draft, path)
    except OSError as error:
        found.close()
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise UsageError(f"cannot listen on {path}: {error.strerror}") from None
    return found


class Listener:
    """Answers on one socket, from its start to its end."""

    def __init__(self, path: str, loaded: Loaded) -> None:
        self.path = path
        self._loaded = loaded
        self._socket = listen(path)
        self._socket.setblocking(False)
        self._identity = _identity(path)
        self._connections: set[_Arrival | _Connection] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._asking = 0
        self._ends = False
        self._lines = 0
        self._told: set[str] = set()

    async def start(self) -> None:
        self._listen()

    def _listen(self) -> None:
        if not self._ends:
            asyncio.get_running_loop().add_reader(self._socket, self._accept)

    def _accept(self) -> None:
        try:
            line, _ = self._socket.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError:  # too many open files: those who wait have another way
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._socket)
            loop.call_later(_PAUSE, self._listen)
            return
        line.setblocking(False)
        _Arrival(self, line).enter()

    async def stop(self) -> None:
        """Nobody new; what runs is answered, within its time."""
        self._ends = True
        self.withdraw()
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()
        for connection in list(self._connections):
            connection.leave_unless_promised()
        running = [task for connection in self._connections if (task := connection.task) is not None]
        if running:
            await asyncio.wait(running, timeout=GRACE)
        for connection in list(self._connections):
            connection.finish()

    def withdraw(self) -> None:
        """The socket's file, unless it is another server's by now."""
        if _identity(self.path) == self._identity:
            with contextlib.suppress(OSError):
                os.unlink(self.path)

    def close(self) -> None:
        """For a server that never started."""
        self._socket.close()
        self.withdraw()

    # --- for connections ------------------------------------------------------------------------------

    def admit(self, connection: _Arrival | _Connection) -> bool:
        if self._ends or len(self._connections) >= CONNECTIONS:
            return False
        self._connections.add(connection)
        return True

    def forget(self, connection: _Arrival | _Connection) -> None:
        self._connections.discard(connection)

    def tell(self, line: str) -> None:
        """Somebody may look for it; nobody may fill a disk with it."""
        self._lines += 1
        if self._lines <= _MOST_LINES:
            more = "; nothing more is said about such things" if self._lines == _MOST_LINES else ""
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write(f"fairlead serve: {line}{more}\n")
                sys.stderr.flush()

    def tell_once(self, line: str) -> None:
        if line not in self._told and self._lines < _MOST_LINES:
            self._told.add(line)
            self.tell(line)

    def tell_failure(self, error: Exception) -> None:
        self.tell(f"an event was not answered: {type(error).__name__}: {error}")

    def begin(self, asked: Asked, caller: Caller, started: float) -> Begun:
        """Raises Declined."""
        surroundings.enter(Surroundings(environ=asked.environ, umask=caller.umask, process=caller.pid))
        return answers.begin(answers.call_of(asked, started), self._loaded.find)

    async def answer(self, connection: _Connection, begun: Begun) -> None:
        """Raises TimeoutError where too many others are in front of it."""
        async with asyncio.timeout(PATIENCE):
            await self._slots.acquire()
        freed = False
        try:
            connection.promise(begun.ack())
            if begun.asks_people:
                freed = self._makes_room()
            connection.give(answers.reply(await begun.answer()))
        finally:
            if freed:
                self._asking -= 1
            else:
                self._slots.release()

    def _makes_room(self) -> bool:
        """For others, while a person is asked. Whether it did: at some time, even those are too many."""
        if self._asking >= ASKING:
            return False
        self._asking += 1
        self._slots.release()
        return True


def _identity(path: str) -> tuple[int, int]:
    try:
        found = os.lstat(path)
    except OSError:
        return 0, 0
    return (found.st_dev, found.st_ino) if stat.S_ISSOCK(found.st_mode) else (0, 0)


class _Arrival:
    """An event that comes in, and that most often is answered at once: a transport would cost more than the answer."""

    task = None

    def __init__(self, listener: Listener, line: socket.socket) -> None:
        self._listener = listener
        self._line = line
        self._reader = Reader(LARGEST)
        self._started = time.monotonic()
        self._caller: Caller | None = None
        self._timer: asyncio.TimerHandle | None = None

    def enter(self) -> None:
        try:
            self._caller = caller_of(self._line)
        except Stranger as stranger:
            self._listener.tell(f"hung up on {stranger}")
        except OtherFairlead as other:
            self._listener.tell_once(str(other))
        except Elsewhere:
            pass
        if self._caller is not None and self._listener.admit(self):
            self._read()
        else:
            self._line.close()

    def _read(self) -> None:
        try:
            asked = self._reader.feed(self._piece())
        except BlockingIOError:
            asked = None
        except (OSError, Garbage):
            return self.finish()
        if asked is None:
            return self._wait()
        self._stop_waiting()
        return copy_context().run(self._begin, asked)

    def _piece(self) -> bytes:
        data = self._line.recv(_PIECE)
        if not data:
            raise ConnectionResetError("there is nobody any more")
        return data

    def _wait(self) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            loop.add_reader(self._line, self._read)
            self._timer = loop.call_later(SILENCE, self.finish)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            asyncio.get_running_loop().remove_reader(self._line)
            self._timer.cancel()
            self._timer = None

    def _begin(self, asked: Asked) -> None:
        assert self._caller is not None  # noqa: S101  # for mypy
        try:
            begun = self._listener.begin(asked, self._caller, self._started)
            if begun.is_instant:
                self._give(begun.ack() + answers.reply(begun.answer_now()))
            else:
                self._hand_over(lambda connection: connection.answer(begun))
        except Declined:
            self.finish()
        except Exception as error:  # noqa: BLE001  # whoever asks has another way
            self._listener.tell_failure(error)
            self.finish()

    def _give(self, reply: bytes) -> None:
        try:
            rest = reply[self._line.send(reply) :]
        except BlockingIOError:
            rest = reply
        except OSError:  # there is nobody any more
            rest = b""
        if rest:
            self._hand_over(lambda connection: connection.deliver(rest))
        else:
            self.finish()

    def _hand_over(self, go_on: Callable[[_Connection], Coroutine[Any, Any, None]]) -> None:
        self._listener.forget(self)
        connection = _Connection(self._listener, self._line)
        if self._listener.admit(connection):
            connection.task = asyncio.ensure_future(connection.run(go_on(connection)))
        else:
            self._line.close()

    def leave_unless_promised(self) -> None:
        self.finish()

    def finish(self) -> None:
        self._stop_waiting()
        self._listener.forget(self)
        self._line.close()


class _Connection(asyncio.Protocol):
    """One event for which somebody waits: it is promised an answer, and gets it. Who hangs up takes the event back."""

    def __init__(self, listener: Listener, line: socket.socket) -> None:
        self._listener = listener
        self._line = line
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._promised = False
        self.task: asyncio.Task[None] | None = None

    async def run(self, going_on: Coroutine[Any, Any, None]) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(lambda: self, self._line)
            await going_on
        except TimeoutError:
            self._hang_up()
        except Exception as error:  # noqa: BLE001  # whoever asks has another way
            self._listener.tell_failure(error)
            self._hang_up()
        finally:
            going_on.close()

    async def answer(self, begun: Begun) -> None:
        await self._listener.answer(self, begun)

    async def deliver(self, reply: bytes) -> None:
        self.give(reply)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  # for mypy
        self._transport = transport

    def data_received(self, _data: bytes) -> None:
        self._hang_up()  # more than one request

    def connection_lost(self, _error: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._listener.forget(self)
        if self.task is not None:
            self.task.cancel()

    def promise(self, ack: bytes) -> None:
        self._promised = True
        if self._transport is not None:
            self._transport.write(ack)

    def give(self, reply: bytes) -> None:
        """And go, when it has been taken."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(reply)
            self._transport.close()
            self._timer = asyncio.get_running_loop().call_later(SILENCE, self._hang_up)

    def leave_unless_promised(self) -> None:
        if not self._promised:
            self._hang_up()

    def finish(self) -> None:
        if self.task is not None:
            self.task.cancel()
        self._hang_up()

    def _hang_up(self) -> None:
        if self._transport is not None:
            self._transport.abort()
        else:
            self._line.close()
            self._listener.forget(self)
