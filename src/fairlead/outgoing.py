"""One POST to a server that is not ours: where it may go, and one deadline over all of it.

Nothing is imported before something is sent: configuration is read in front of every tool call.
"""

from __future__ import annotations

import io
import os
import time

from fairlead._record import Record
from fairlead.hooks import Cancellation
from fairlead.targets import hands_out_keys, one_spelling, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from http.client import HTTPConnection, HTTPResponse
    from typing import Any

    from _typeshed import WriteableBuffer

    from fairlead.targets import Target

LARGEST_ANSWER = 1 << 20
_BROKEN = "the answer breaks off"


class NoAnswer(Exception):  # noqa: N818  # a fact about a server
    """What happened instead, in words for people; never with a secret."""


class Answer(Record):
    status: int
    body: bytes = b""
    location: str = ""
    problem: str = ""
    """Why the body is not all of it."""

    @property
    def facts(self) -> dict[str, str | int | float]:
        return {"status": self.status, "bytes": len(self.body)}


class Sending(Record):
    """What all requests of one hook have in common."""

    headers: Mapping[str, bytes]
    body: bytes
    environ: Mapping[str, str]
    ends: float
    """On the monotonic clock."""
    hang_up: HangUp
    named: frozenset[str] = frozenset()
    """Addresses that may be called although they hand out keys."""

    def left(self) -> float:
        seconds = self.ends - time.monotonic()
        if seconds <= 0 or self.hang_up.is_set():
            raise TimeoutError
        return seconds

    def __repr__(self) -> str:
        return f"Sending({len(self.body)} bytes)"


class HangUp(Cancellation):
    """Ends a request from another thread, when nobody waits for it any more."""

    __slots__ = ("_socket",)

    def __init__(self) -> None:
        super().__init__()
        self._socket: socket.socket | None = None

    def watch(self, connected: socket.socket) -> None:
        self._socket = connected
        if self.is_set():
            self.set()

    def set(self) -> None:
        super().set()
        connected = self._socket
        if connected is None:
            return
        import socket

        try:
            # As a plain socket: TLS would forget its keys, and the other thread send in clear text.
            socket.socket.shutdown(connected, socket.SHUT_RDWR)
        except OSError:
            pass


def post(target: Target, sending: Sending) -> Answer:
    """Whatever the server says. Raises NoAnswer, and TimeoutError where the time is over."""
    from http.client import HTTPException

    line = None
    try:
        line = _Line(target, sending)
        return line.exchange()
    except TimeoutError:
        if sending.hang_up.is_set() or sending.ends <= time.monotonic():
            raise TimeoutError from None
        raise NoAnswer("the connection timed out") from None  # the kernel has given up before us
    except (OSError, HTTPException, ValueError) as error:
        raise NoAnswer(_what(error)) from None
    finally:
        if line is not None:
            line.hang_up()


class _Line:
    """One connection. `http.client` sees it as its socket, and so cannot wait for longer than there is time."""

    def __init__(self, target: Target, sending: Sending) -> None:
        self._target = target
        self._sending = sending
        self._absolute = False
        self._ended = False
        self._proxy = _proxy(target, sending.environ)
        self._socket = self._connect()

    # what `http.client` calls

    def sendall(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            self._socket.settimeout(self._sending.left())
            view = view[self._socket.send(view[: 1 << 16]) :]

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Incoming(self))

    def close(self) -> None:
        """Not yet: the body is still to be read."""

    def receive(self, buffer: WriteableBuffer) -> int:
        self._socket.settimeout(self._sending.left())
        count = self._socket.recv_into(buffer)
        self._ended = self._ended or not count
        return count

    # what we do

    def hang_up(self) -> None:
        self._socket.close()

    def exchange(self) -> Answer:
        connection = self._as_connection()
        broken = self._send(connection)
        try:
            response = connection.getresponse()
        except OSError as error:
            raise broken or error from None
        try:
            if self._ended:  # half a head looks like a whole one to `http.client`, and no body like no opinion
                raise NoAnswer(_BROKEN)
            return self._read(response)
        finally:
            response.close()

    def _as_connection(self) -> HTTPConnection:
        from http.client import HTTPConnection

        connection = HTTPConnection(self._target.host, self._target.port)
        connection.sock = self
        return connection

    def _send(self, connection: HTTPConnection) -> OSError | None:
        """A server may answer and close before it has taken everything; what it said can still be read."""
        target, sending = self._target, self._sending
        authority = target.authorities[0]
        path = f"http://{authority}{target.path}" if self._absolute else target.path
        connection.putrequest("POST", path, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", authority)
        connection.putheader("Connection", "close")
        connection.putheader("Content-Length", str(len(sending.body)))
        for name, value in {**self._for_proxy(), **sending.headers}.items():
            connection.putheader(name, value)
        try:
            connection.endheaders(sending.body)
        except (BrokenPipeError, ConnectionResetError) as error:
            return error
        return None

    def _read(self, response: HTTPResponse) -> Answer:
        from http.client import HTTPException

        answer = Answer(status=response.status, location=response.getheader("Location") or "")
        if not 200 <= response.status < 300:
            return answer
        data, problem = bytearray(), ""
        promised = response.length
        try:
            while len(data) <= LARGEST_ANSWER and (promised is None or len(data) < promised):
                part = response.read1(1 << 16)
                if not part:
                    break
                data += part
        except TimeoutError:
            problem = "timed out before the answer was complete"
        except (OSError, HTTPException, ValueError):
            problem = _BROKEN
        if len(data) > LARGEST_ANSWER:
            problem = f"the answer is longer than {LARGEST_ANSWER:,} bytes"
        elif promised is not None and len(data) < promised:
            problem = problem or _BROKEN
        elif not data and response.headers.defects:
            problem = problem or "the head of the answer cannot be understood"
        return answer.but(body=bytes(data[:LARGEST_ANSWER]), problem=problem)

    def _for_proxy(self) -> dict[str, bytes]:
        if not self._absolute or self._proxy is None or not self._proxy.user:
            return {}
        return {"Proxy-Authorization": basic(self._proxy.user)}

    def _connect(self) -> socket.socket:
        if self._proxy is None:
            plain = self._open(_resolved(self._target, self._sending))
        else:
            _refuse_numbers(self._target, self._sending)
            plain = self._open(_resolved(self._proxy, self._sending, is_proxy=True))
        try:
            return self._prepared(plain)
        except BaseException:
            plain.close()
            raise

    def _prepared(self, plain: socket.socket) -> socket.socket:
        self._socket = plain
        if self._target.scheme == "http":
            self._absolute = self._proxy is not None
            return plain
        if self._proxy is not None:
            self._tunnel(self._proxy)
        context = _tls(self._sending.environ)
        plain.settimeout(self._sending.left())
        secure = context.wrap_socket(plain, server_hostname=self._target.host, do_handshake_on_connect=False)
        try:
            self._sending.hang_up.watch(secure)
            secure.settimeout(self._sending.left())
            secure.do_handshake()
        except BaseException:
            secure.close()
            raise
        return secure

    def _tunnel(self, proxy: Target) -> None:
        from http.client import HTTPResponse

        place = self._target.authorities[-1]
        key = f"Proxy-Authorization: {basic(proxy.user).decode('ascii')}\r\n" if proxy.user else ""
        self.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{key}\r\n".encode("ascii"))
        response = HTTPResponse(self, method="CONNECT")  # type: ignore[arg-type]  # all that it needs of a socket
        response.begin()
        if response.status != 200:
            raise NoAnswer(f"the proxy {proxy.authorities[0]} refuses the connection ({response.status})")

    def _open(self, addresses: Sequence[tuple[Any, ...]]) -> socket.socket:
        """The first that answers; none may use up the time of those after it."""
        import socket

        problem: OSError | None = None
        for count, (family, kind, protocol, _, address) in enumerate(addresses):
            opened = socket.socket(family, kind, protocol)
            try:
                self._sending.hang_up.watch(opened)
                opened.settimeout(self._sending.left() / (len(addresses) - count))
                opened.connect(address)
                opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError as error:
                opened.close()
                problem = error
            except BaseException:
                opened.close()
                raise
            else:
                return opened
        raise problem or NoAnswer("the host has no address")


class _Incoming(io.RawIOBase):
    """What arrives on a line."""

    def __init__(self, line: _Line) -> None:
        super().__init__()
        self._line = line

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        return self._line.receive(buffer)


def basic(user: str) -> bytes:
    """The header's value for `name:password` from a URL."""
    from base64 import b64encode
    from urllib.parse import unquote

    return b"Basic " + b64encode(unquote(user).encode("utf-8", "replace"))


def _resolved(target: Target, sending: Sending, *, is_proxy: bool = False) -> Sequence[tuple[Any, ...]]:
    """Its addresses, looked at here and then connected to: nobody can change them in between."""
    import socket

    sending.left()
    try:
        found = socket.getaddrinfo(target.host.encode(), target.port, type=socket.SOCK_STREAM)
    except OSError:
        whose = "the proxy" if is_proxy else "the host"
        raise NoAnswer(f"{whose} {target.host} is not known") from None
    if not is_proxy:
        _refuse_keys((entry[4][0] for entry in found), sending)
    return found


def _refuse_numbers(target: Target, sending: Sending) -> None:
    """Names are the proxy's to resolve; an address can be seen here, however it is written."""
    import socket

    try:
        found = socket.getaddrinfo(
            target.host.encode(), target.port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
        )
    except OSError:
        return
    _refuse_keys((entry[4][0] for entry in found), sending)


def _refuse_keys(addresses: Iterable[Any], sending: Sending) -> None:
    for found in map(one_spelling, map(str, addresses)):
        if found not in sending.named and hands_out_keys(found):
            raise NoAnswer(
                f"{found} is a metadata address, where clouds hand out their keys; it is called only if the list of "
                "allowed URLs names it"
            )


def _tls(environ: Mapping[str, str]) -> ssl.SSLContext:
    import ssl

    name, value = next(((n, environ[n]) for n in ("SSL_CERT_FILE", "SSL_CERT_DIR") if environ.get(n)), ("", ""))
    file, folder = environ.get("SSL_CERT_FILE") or None, environ.get("SSL_CERT_DIR") or None
    try:
        context = ssl.create_default_context(cafile=file, capath=folder)
        more = environ.get("NODE_EXTRA_CA_CERTS")
        if more:
            name, value = "NODE_EXTRA_CA_CERTS", more
            context.load_verify_locations(more)
    except (OSError, ValueError):
        if not name:
            raise
        raise NoAnswer(f"{name} names {value}, which holds no certificates that can be read") from None
    return context


# --- proxies -----------------------------------------------------------------------------------------


def _proxy(target: Target, environ: Mapping[str, str]) -> Target | None:
    name, url = _from_environment((f"{target.scheme}_proxy", "all_proxy"), environ)
    if not url or target.is_loopback or _goes_directly(target, environ):
        return None
    url = url if "://" in url else f"http://{url}"
    try:
        proxy = parse(url)
    except ValueError as error:
        raise NoAnswer(f"{name} holds no proxy that can be used: {error}") from None
    if proxy.scheme != "http":
        raise NoAnswer(f"{name} names a proxy that speaks {proxy.scheme}; only http:// is supported")
    return proxy


def _from_environment(names: Sequence[str], environ: Mapping[str, str]) -> tuple[str, str]:
    for name in names:
        for spelling in (name, name.upper()):
            # A web server's own variable: whoever sends it a request with a header `Proxy` sets it.
            if environ.get(spelling) and not (spelling == "HTTP_PROXY" and "REQUEST_METHOD" in environ):
                return spelling, environ[spelling]
    return "", ""


def _goes_directly(target: Target, environ: Mapping[str, str]) -> bool:
    _, listed = _from_environment(("no_proxy",), environ)
    return any(_is_covered(target, entry) for entry in _entries(listed))


def _entries(listed: str) -> Iterator[str]:
    for entry in listed.replace(",", " ").split():
        yield entry.lower()


def _is_covered(target: Target, entry: str) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        return _is_in_network(target.host, entry)
    name = entry.removeprefix("*").removeprefix(".").removesuffix(".")
    names = (target.host, f"{target.host}:{target.port}", *target.authorities)
    return bool(name) and any(one == name or one.endswith(f".{name}") for one in names)


def _is_in_network(host: str, network: str) -> bool:
    import ipaddress

    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


# --- what happened -----------------------------------------------------------------------------------


def _what(error: Exception) -> str:
    """In our words: what an exception says may hold what was sent."""
    import socket
    from http.client import HTTPException, RemoteDisconnected

    if isinstance(error, RemoteDisconnected):
        return "the server closed the connection without an answer"
    if isinstance(error, HTTPException):
        return f"the answer is no HTTP that can be understood ({type(error).__name__})"
    if isinstance(error, socket.gaierror):
        return "the host is not known"
    if getattr(error, "library", None) is not None or type(error).__module__ == "ssl":
        return _what_tls(error)
    if isinstance(error, OSError):
        return os.strerror(error.errno) if error.errno else "the connection broke"
    return f"it cannot be sent ({type(error).__name__})"


def _what_tls(error: Exception) -> str:
    why = getattr(error, "verify_message", "")
    if why:
        return f"its certificate cannot be trusted: {why}; SSL_CERT_FILE can name the authorities to trust"
    reason = getattr(error, "reason", "") or "the connection broke"
    return f"TLS failed: {str(reason).lower().replace('_', ' ')}"
