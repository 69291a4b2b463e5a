"""One zygote, seen from the server: it is asked to fork, and says when a child has started and how it has ended."""

from __future__ import annotations

import marshal
import os
import select
import socket
import sys
import time

from fairlead.spawning import spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program", "importlib_bootstrap.py")
_ROOM = "FAIRLEAD_ROOM"
_MESSAGE = 1 << 17


class Zygote:
    def __init__(self, env: Mapping[str, str], looked_at: dict[str, str]) -> None:
        self.looked_at = looked_at
        self.busy = 0
        """How many of its children are not done."""
        self.was_ready = False
        self.why_not = ""
        self._env = dict(env)
        self._names: list[str] = []
        self._watched: list[tuple[str, Any]] | None = None
        self._started = time.time_ns()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._control.setblocking(False)
            self.pid = _start(theirs, env)

    @property
    def is_ready(self) -> bool:
        return self._watched is not None

    def fits(self, env: Mapping[str, str]) -> bool:
        """Whether what its start has looked at is the same."""
        return all(self._env.get(name) == env.get(name) for name in self._names)

    def listen(self) -> None:
        """To what it says, once, when it is ready."""
        if self._watched is not None or self.why_not:
            return
        said: dict[str, Any]
        try:
            said = _read(self._control.recv(_MESSAGE)) or {"unfit": "it has ended"}
        except BlockingIOError:
            return
        except (OSError, ValueError, EOFError, TypeError) as error:
            said = {"unfit": str(error) or "it does not say what it should"}
        self.why_not = said.get("unfit", "")
        if not self.why_not:
            self._names, self._watched = said["names"], said["watched"]
            if any(seen is not None and seen[0] >= self._started for _path, seen in self._watched or ()):
                self.why_not = "its site configuration was changed while it started"
            self.was_ready = not self.why_not

    def is_fresh(self) -> bool:
        """Whether it lives, and what a new interpreter would find is still as it was."""
        if self.why_not:
            return False
        if self._watched is None:
            return True
        return not _can_be_read(self._control.fileno()) and all(_seen(path) == seen for path, seen in self._watched)

    def fork(
        self, script: bytes, payload: bytes, stdio: Sequence[int], patience: float, give_up: Callable[[Zygote], None]
    ) -> Forked | None:
        forked = Forked(self, patience, give_up)
        try:
            forked.ask(self._control, script, payload, stdio)
        except OSError:  # it has ended, or is so busy that the next question does not fit
            forked.close()
            return None
        return forked

    def close(self) -> None:
        """No more questions: it ends when the last of its children has."""
        self._control.close()

    def end(self) -> None:
        """At once. Whoever watches a child of it sees that its exit code is lost."""
        self.close()
        for _attempt in range(2):
            try:
                if os.waitpid(self.pid, os.WNOHANG)[0]:
                    return
                os.kill(self.pid, 9)
            except OSError:
                return
        from fairlead.process import collect_later

        collect_later(self.pid)


class Forked:
    """A script that a zygote was asked to run."""

    def __init__(self, zygote: Zygote, patience: float, give_up: Callable[[Zygote], None]) -> None:
        self.pid = 0
        self.patience = patience
        """Seconds until it should have started."""
        self.pidfd = -1
        self.is_alone = False
        """Whether it has ended and nobody is left in its group: then its number may be another's."""
        self._zygote = zygote
        self._give_up = give_up
        self._token: tuple[int, ...] = os.pipe()
        self._channel, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.setblocking(False)
        zygote.busy += 1

    @property
    def channel(self) -> int:
        """Can be read when the script has started, and again when it has ended."""
        return self._channel.fileno()

    def ask(self, control: socket.socket, script: bytes, payload: bytes, stdio: Sequence[int]) -> None:
        os.set_blocking(self._token[0], False)
        os.write(self._token[1], b"g")
        memory = os.memfd_create("fairlead")
        try:
            os.write(memory, payload)
            fds = [*stdio, self._theirs.fileno(), self._token[0], memory]
            socket.send_fds(control, [script], fds)
        finally:
            os.close(memory)
            self._theirs.close()

    def has_started(self) -> bool | None:
        """None as long as it is not known; False when it never will."""
        try:
            data, fds, _flags, _address = socket.recv_fds(self._channel, _MESSAGE, 1, socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return None
        except OSError:
            return False
        if not data or not fds:
            return False
        self.pid, self.pidfd = _read(data[1:]), fds[0]
        self._close_token()
        return True

    def take_back(self) -> bool:
        """Whether it does not run and never will: there is one token, which it needs before it runs."""
        try:
            return bool(self._token) and os.read(self._token[0], 1) == b"g"
        except OSError:
            return False
        finally:
            self._close_token()

    def give_up(self) -> None:
        """The zygote has not answered in time."""
        self._give_up(self._zygote)

    def exit_code(self) -> int | None:
        """None where it is lost, since the zygote has died."""
        try:
            said = _read(self._channel.recv(_MESSAGE)[1:])
        except OSError:
            return None
        code: int | None
        code, self.is_alone = said if said is not None else (None, False)
        return code

    def close(self) -> None:
        """A script that still runs is killed by its zygote."""
        if self._channel.fileno() < 0:
            return
        self._close_token()
        self._channel.close()
        self._theirs.close()
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1
        self._zygote.busy -= 1

    def _close_token(self) -> None:
        for fd in self._token:
            os.close(fd)
        self._token = ()


def _start(control: socket.socket, env: Mapping[str, str]) -> int:
    """With pipes that lead nowhere: its streams are made for pipes, and only its children use them."""
    out, err = os.pipe(), os.pipe()
    try:
        room = {_ROOM: "x" * 8192}
        argv = (sys.executable, _PROGRAM)
        return spawn(argv, sys.executable, "/", {**room, **env}, (control.fileno(), out[1], err[1]))
    finally:
        for fd in (*out, *err):
            os.close(fd)


def _read(data: bytes) -> Any:
    return marshal.loads(data) if data else None  # noqa: S302  # from our own child, on a private socket


def _seen(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _can_be_read(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))
