"""relay.c in Python, for machines without a compiler; `start.py` starts it.

Imports only what the interpreter has at hand anyway: starting it is what this costs.
"""

import _signal
import posix
import sys
from posix import _exit as leave
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

REFUSED = 2
ACK_SECONDS = 1.0
SILENCE = 1.0
STRANGERS_PATIENCE = 2.5
MOST_ARGS, LONGEST_ARG, LARGEST_ENVIRON, LARGEST = 64, 4096, 2 << 20, 64 << 20
S_IFMT, S_IFSOCK, WRITABLE_BY_OTHERS = 0o170000, 0o140000, 0o022
MACS_PEER = (0, 1)
"""SOL_LOCAL, LOCAL_PEERCRED. There as on Linux, the user stands in the second four bytes."""


class Cut(Exception):  # noqa: N818  # a fact about the server
    """It has gone, or says something that we do not understand."""


class Late(Exception):  # noqa: N818
    """There is no time left."""


class Answer:
    """An ack, which says what to answer if nothing comes until its deadline; or a reply, which has none."""

    def __init__(self, deadline: float, code: int, out: bytes, err: bytes) -> None:
        self.deadline = deadline
        self.code = code
        self.out = out
        self.err = err


class Relay:
    def __init__(self, socket: str, cold: list[str]) -> None:
        self.began = monotonic()
        self.socket = socket
        self.cold = cold
        self.hook = cold.index("hook", 1) + 1 if "hook" in cold[1:] else 0
        """Where the words for the server begin."""
        self.event = b""

    # --- the cold command ----------------------------------------------------------------------------

    def go_cold(self) -> "NoReturn":
        try:
            if self.event:
                self._keep_event()
        except OSError as error:
            refuse(f"cannot pass the event on to {self.cold[0]}: {error.strerror}")
        self._shorten_timeout()
        for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
            _signal.signal(number, _signal.SIG_DFL)  # Python ignores them, and that would be inherited
        why = "No such file or directory"
        for program in self._programs():
            try:
                posix.execv(program, self.cold)
            except OSError as error:
                why = error.strerror or why
        refuse(f"cannot start {self.cold[0]}: {why}")

    def _programs(self) -> list[str]:
        name = self.cold[0]
        path = posix.environ.get(b"PATH", b"/bin:/usr/bin").decode("utf-8", "surrogateescape")
        return [name] if "/" in name else [f"{folder}/{name}" for folder in path.split(":") if folder]

    def _keep_event(self) -> None:
        if hasattr(posix, "memfd_create"):
            kept = posix.memfd_create("event", 0)
        else:
            path = f"/tmp/fairlead-{posix.urandom(16).hex()}"  # noqa: S108  # private, and unlinked at once
            kept = posix.open(path, posix.O_RDWR | posix.O_CREAT | posix.O_EXCL, 0o600)
            posix.unlink(path)
        if not write_all(kept, self.event):
            raise OSError(28, "no space for it")
        posix.lseek(kept, 0, 0)
        posix.dup2(kept, 0)
        posix.close(kept)

    def _timeout(self) -> tuple[float, int, str]:
        """How long the agent waits, where that stands, and what is before it there."""
        for place in range(self.hook, len(self.cold)):
            word = self.cold[place]
            if word == "--timeout" and place + 1 < len(self.cold):
                return seconds(self.cold[place + 1]), place + 1, ""
            if word.startswith("--timeout="):
                return seconds(word[10:]), place, word[:10]
        return 0.0, 0, ""

    def _shorten_timeout(self) -> None:
        """Who starts late has less time: else a refusal would come after the agent has gone."""
        limit, place, before = self._timeout()
        gone = monotonic() - self.began
        if self.hook and limit and gone > 0.1:
            self.cold[place] = f"{before}{max(limit - gone, 0.1):.3f}"
            self.began += gone

    # --- stdin ---------------------------------------------------------------------------------------

    def read_event(self) -> None:
        import select

        limit = self._timeout()[0]
        ends = self.began + (limit / 2 if limit else STRANGERS_PATIENCE)
        parts: list[bytes] = []
        poll = select.poll()
        poll.register(0, select.POLLIN)
        while (left := ends - monotonic()) > 0:
            if poll.poll(min(left, SILENCE) * 1000 + 1):
                part = self._more()
                if not part:
                    self.event = b"".join(parts)
                    return
                parts.append(part)
                continue
            self.event = b"".join(parts)
            if not parts:
                self.go_cold()  # which may not need one, and knows its agent's patience
            if is_whole(self.event):
                return
        self.event = b"".join(parts)
        self.go_cold()

    def _more(self) -> bytes:
        while True:
            try:
                return posix.read(0, 1 << 20)
            except BlockingIOError:
                continue
            except OSError:
                self.go_cold()

    # --- the server ----------------------------------------------------------------------------------

    def is_our_socket(self) -> bool:
        folder = self.socket.rpartition("/")[0] + "/"
        try:
            socket, above = posix.lstat(self.socket), posix.stat(folder)
        except (OSError, ValueError):
            return False
        user = posix.getuid()
        is_safe = above.st_uid == user and not above.st_mode & WRITABLE_BY_OTHERS
        return socket.st_mode & S_IFMT == S_IFSOCK and socket.st_uid == user and is_safe

    def ask(self) -> "NoReturn":
        self._shorten_timeout()  # the server counts from now on
        limit = self._timeout()[0]
        patience = min(ACK_SECONDS, limit / 3) if limit else ACK_SECONDS
        ends = monotonic() + patience
        try:
            line = Line(self.socket, patience)
            line.send(self._request(), ends)
            line.send(self.event, ends)
            failure = line.answer(b"FLA1", ends)
        except (Cut, Late, OSError, ValueError, MemoryError):
            self.go_cold()
        deadline = monotonic() + failure.deadline
        try:
            reply = line.answer(b"FLR1", deadline)
        except Late:
            say(failure)
        except (Cut, OSError, MemoryError):
            if deadline - monotonic() >= failure.deadline / 3:
                self.go_cold()
            say(failure)
        say(reply)

    def _request(self) -> bytes:
        encoding = sys.getfilesystemencoding()  # as Python has read them
        words = [word.encode(encoding, "surrogateescape") for word in self.cold[self.hook :]]
        variables = [name + b"=" + value for name, value in posix.environ.items()]
        fits = len(words) <= MOST_ARGS and all(len(word) <= LONGEST_ARG for word in words)
        if not fits or sum(map(len, variables)) > LARGEST_ENVIRON or len(self.event) > LARGEST:
            raise Cut
        parts = [b"FLH1"]
        for texts in (words, variables):
            parts.append(number(len(texts)))
            for text in texts:
                parts += (number(len(text)), text)
        folder = posix.getcwdb()
        return b"".join((*parts, number(len(folder)), folder, len(self.event).to_bytes(8, "little")))


class Line:
    """The connection, with a limit for everything."""

    def __init__(self, path: str, patience: float) -> None:
        import _socket

        self._socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self._socket.settimeout(patience)
        self._socket.connect(path)
        level, option = (_socket.SOL_SOCKET, _socket.SO_PEERCRED) if sys.platform == "linux" else MACS_PEER
        credentials = self._socket.getsockopt(level, option, 76)
        if int.from_bytes(credentials[4:8], sys.byteorder) != posix.getuid():
            raise Cut

    def send(self, data: bytes, ends: float) -> None:
        view = memoryview(data)
        while view:
            self._limit(ends)
            view = view[self._socket.send(view) :]

    def answer(self, mark: bytes, ends: float) -> Answer:
        is_ack = mark == b"FLA1"
        head = self._exactly(20 if is_ack else 16, ends)
        numbers = [int.from_bytes(head[place : place + 4], "little") for place in range(4, len(head), 4)]
        code, out, err = numbers[-3:]
        if head[:4] != mark or code > 255 or out > LARGEST or err > LARGEST:
            raise Cut
        texts = self._exactly(out, ends), self._exactly(err, ends)
        if not is_ack and self._exactly(4, ends) != b"DONE":
            raise Cut
        return Answer(numbers[0] / 1e3 if is_ack else 0.0, code, *texts)

    def _exactly(self, size: int, ends: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            self._limit(ends)
            try:
                part = self._socket.recv(min(size - len(data), 1 << 20))
            except TimeoutError:
                raise Late from None
            if not part:
                raise Cut
            data += part
        return bytes(data)

    def _limit(self, ends: float) -> None:
        left = ends - monotonic()
        if left <= 0:
            raise Late
        self._socket.settimeout(left)


def number(value: int) -> bytes:
    return value.to_bytes(4, "little")


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if 0 < value < 1e6 else 0.0


def is_whole(data: bytes) -> bool:
    """Whether it is a whole JSON document, by its brackets."""
    depth, ended, quoted, skipped = 0, False, False, False
    for sign in data:
        if skipped:
            skipped = False
        elif quoted:
            skipped, quoted = sign == 0x5C, sign != 0x22
        elif sign == 0x22 and depth:
            quoted = True
        elif sign in b"{[":
            depth += 1
        elif sign in b"}]" and depth:
            depth -= 1
            ended = not depth
        elif not depth and sign not in b" \t\r\n":
            return False
    return ended and not depth


def write_all(out: int, data: bytes) -> bool:
    view = memoryview(data)
    try:
        while view:
            view = view[posix.write(out, view) :]
    except BlockingIOError:
        posix.set_blocking(out, True)
        return write_all(out, bytes(view))
    except OSError:
        return False
    return True


def say(answer: Answer) -> "NoReturn":
    write_all(2, answer.err)
    delivered = write_all(1, answer.out)
    leave(answer.code if delivered else answer.code or REFUSED)


def refuse(what: str) -> "NoReturn":
    advice = "Install Fairlead again and run `fairlead init`, or take this hook out of the agent's settings."
    write_all(2, f"fairlead: {what}. {advice}\n".encode("utf-8", "surrogateescape"))
    leave(REFUSED)


def _end(signal: int, _frame: object) -> None:
    leave(128 + signal)


def _listen() -> None:
    for signal in (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP):
        if _signal.getsignal(signal) != _signal.SIG_IGN:
            _signal.signal(signal, _end)


def _is_open(descriptor: int) -> bool:
    try:
        posix.fstat(descriptor)
    except OSError:
        return False
    return True


def main(words: list[str]) -> "NoReturn":
    if len(words) < 3:
        refuse("this relay is called without its command")
    relay = Relay(words[0], words[1:])
    if not relay.hook or not _is_open(1) or not _is_open(2) or not relay.is_our_socket():
        relay.go_cold()
    _listen()
    relay.read_event()
    relay.ask()
