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
        self._socket: socket.socket | None = listen(path)
        self._identity = _identity(path)
        self._server: asyncio.Server | None = None
        self._connections: set[_Connection] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._asking = 0
        self._ends = False
        self._lines = 0
        self._told: set[str] = set()

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        assert self._socket is not None  # noqa: S101  # for mypy
        self._server = await loop.create_unix_server(lambda: _Connection(self), sock=self._socket, backlog=_BACKLOG)

    async def stop(self) -> None:
        """Nobody new; what runs is answered, within its time."""
        self._ends = True
        self.withdraw()
        if self._server is not None:
            self._server.close()
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
        if self._socket is not None and self._server is None:
            self._socket.close()
        self.withdraw()

    # --- for connections ------------------------------------------------------------------------------

    def admit(self, connection: _Connection) -> bool:
        if self._ends or len(self._connections) >= CONNECTIONS:
            return False
        self._connections.add(connection)
        return True

    def forget(self, connection: _Connection) -> None:
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

    def begin(self, asked: Asked, caller: Caller, started: float) -> Begun:
        """Raises Declined."""
        surroundings.enter(Surroundings(environ=asked.environ, umask=caller.umask))
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


class _Connection(asyncio.Protocol):
    """One event: it comes in, is promised an answer, gets it. Who hangs up takes the event back."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._reader = Reader(LARGEST)
        self._started = time.monotonic()
        self._caller: Caller | None = None
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._promised = False
        self.task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  # for mypy
        self._transport = transport
        try:
            self._caller = caller_of(transport.get_extra_info("socket"))
        except Stranger as stranger:
            self._listener.tell(f"hung up on {stranger}")
            return self._hang_up()
        except OtherFairlead as other:
            self._listener.tell_once(str(other))
            return self._hang_up()
        except Elsewhere:
            return self._hang_up()
        if not self._listener.admit(self):
            return self._hang_up()
        self._limit()
        return None

    def data_received(self, data: bytes) -> None:
        if self.task is not None or self._caller is None:
            return self._hang_up()
        try:
            asked = self._reader.feed(data)
            if asked is not None:
                self._unlimit()
                copy_context().run(self._begin, asked, self._caller)
        except (Garbage, Declined):
            self._hang_up()
        except Exception as error:  # noqa: BLE001  # whoever asks has another way
            self._failed(error)
        return None

    def _begin(self, asked: Asked, caller: Caller) -> None:
        begun = self._listener.begin(asked, caller, self._started)
        if begun.is_instant:
            self.give(begun.ack() + answers.reply(begun.answer_now()))
        else:
            self.task = asyncio.ensure_future(self._answer(begun))

    def connection_lost(self, _error: Exception | None) -> None:
        self._unlimit()
        self._listener.forget(self)
        if self.task is not None:
            self.task.cancel()

    async def _answer(self, begun: Begun) -> None:
        try:
            await self._listener.answer(self, begun)
        except TimeoutError:
            self._hang_up()
        except Exception as error:  # noqa: BLE001  # the same
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        self._listener.tell(f"an event was not answered: {type(error).__name__}: {error}")
        self._hang_up()

    def promise(self, ack: bytes) -> None:
        self._promised = True
        if self._transport is not None:
            self._transport.write(ack)

    def give(self, reply: bytes) -> None:
        """And go, when it has been taken."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(reply)
            self._transport.close()
            self._limit()

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

    def _limit(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(SILENCE, self._hang_up)

    def _unlimit(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
