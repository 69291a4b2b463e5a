"""One POST to a server that is not ours: where it may go, and one deadline over all of it.

Nothing is imported before something is sent: configuration is read in front of every tool call.
"""

from __future__ import annotations

import io
import os
import time

from fairlead._record import Record
from fairlead.hooks import Cancellation

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from http.client import HTTPConnection, HTTPResponse
    from typing import Any

    from _typeshed import WriteableBuffer

LARGEST_ANSWER = 1 << 20
PORTS = {"http": 80, "https": 443}
METADATA = ("fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "100.100.100.200", "192.0.0.192")
"""Beside all that is link-local: where clouds hand their keys to whoever asks from inside."""

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_DIGITS = frozenset("0123456789")
_NAME = _LETTERS | _DIGITS | frozenset("._-")
_NUMBERS = frozenset("0123456789abcdef:.")
_PLAIN = _LETTERS | {letter.upper() for letter in _LETTERS} | _DIGITS | frozenset("%/?:@!$&'()*+,;=~-._")
_BROKEN = "the answer breaks off"
_LONGEST_SHOWN = 200
_TOKEN = 20
"""Characters: a part of a path that is as long as that, with letters and digits, may be a secret."""


class NoAnswer(Exception):  # noqa: N818  # a fact about a server
    """What happened instead, in words for people; never with a secret."""


# --- where -------------------------------------------------------------------------------------------


class Target(Record):
    """A URL, understood in one way only."""

    scheme: str
    host: str
    """Lower case, ASCII, without the final dot and without brackets."""
    port: int
    path: str
    """With its query."""
    user: str = ""
    """`name:password`, if there is one."""

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def authorities(self) -> tuple[str, ...]:
        """How host and port can be written, the shortest first."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        full = f"{host}:{self.port}"
        return (host, full) if self.port == PORTS[self.scheme] else (full,)

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.host)

    def __repr__(self) -> str:
        return f"Target({self.scheme}://{self.authorities[0]}{_masked(self.path)})"


def parse(url: str) -> Target:
    """Raises ValueError with what is wrong, in words that do not repeat the URL."""
    if any(sign <= " " or sign in "\x7f\\" for sign in url):
        raise ValueError("a URL has no blanks, control characters or backslashes")
    scheme, found, rest = url.partition("://")
    scheme = scheme.lower()
    if not found or scheme not in PORTS:
        raise ValueError("a URL begins with http:// or https://")
    rest = rest.partition("#")[0]
    cut = min((rest.index(sign) for sign in "/?" if sign in rest), default=len(rest))
    user, _, authority = rest[:cut].rpartition("@")
    host, port = _host_and_port(authority)
    path = rest[cut:] if rest[cut:].startswith("/") else f"/{rest[cut:]}"
    return Target(scheme=scheme, host=_ascii(host), port=_port(port, scheme), path=_quoted(path), user=user)


def _host_and_port(authority: str) -> tuple[str, str]:
    if authority.startswith("["):
        host, end, rest = authority[1:].partition("]")
        if not end or (rest and not rest.startswith(":")) or not host or not _NUMBERS.issuperset(host.lower()):
            raise ValueError("the address in [ ] is none")
        return host, rest[1:]
    host, _, port = authority.partition(":")
    return host, port


def _port(text: str, scheme: str) -> int:
    if not text:
        return PORTS[scheme]
    if len(text) > 5 or not _DIGITS.issuperset(text) or not 0 < int(text) < 65536:
        raise ValueError("the port is not a number from 1 to 65535")
    return int(text)


def _ascii(host: str) -> str:
    try:
        name = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        raise ValueError("the host's name cannot be written in ASCII") from None
    name = name.lower().removesuffix(".")
    if not name or not (_NAME.issuperset(name) or ":" in name):
        raise ValueError("the host is missing, or no name of one")
    return name


def _quoted(path: str) -> str:
    if _PLAIN.issuperset(path):
        return path
    return "".join(sign if sign in _PLAIN else _percent(sign) for sign in path)


def _percent(sign: str) -> str:
    return "".join(f"%{byte:02X}" for byte in sign.encode("utf-8", "replace"))


def is_loopback(host: str) -> bool:
    if host in ("localhost", "::1") or host.endswith(".localhost"):
        return True
    numbers = host.split(".")
    return numbers[0] == "127" and len(numbers) == 4 and all(_DIGITS.issuperset(number) for number in numbers)


def shown(url: str) -> str:
    """A URL for people: without user, password, the values of a query, and what else looks like a key."""
    scheme, found, rest = url.partition("://")
    if not found:
        return f"{_printable(url.partition(':')[0])[:20]}…" if ":" in url else _printable(url)[:20]
    rest = rest.partition("#")[0]
    cut = min((rest.index(sign) for sign in "/?" if sign in rest), default=len(rest))
    user, at, authority = rest[:cut].rpartition("@")
    if ":" in authority and not _DIGITS.issuperset(authority.rpartition("]")[2].rpartition(":")[2]):
        authority = "***"  # the beginning of a password with a slash in it
    text = f"{scheme}://{'***@' if user or at else ''}{authority}{_masked(rest[cut:])}"
    text = _printable(text)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


def _masked(path: str) -> str:
    path, question, query = path.partition("?")
    parts = "/".join("***" if _may_be_a_key(part) else part for part in path.split("/"))
    if not question:
        return parts
    return f"{parts}?{'&'.join(_without_value(pair) for pair in query.split('&'))}"


def _without_value(pair: str) -> str:
    name, equals, _ = pair.partition("=")
    return f"{name}=***" if equals and not _may_be_a_key(name) else "***"


def _may_be_a_key(part: str) -> bool:
    lower = part.lower()
    if "@" in part:
        return True
    return len(part) >= _TOKEN and not _LETTERS.isdisjoint(lower) and not _DIGITS.isdisjoint(lower)


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in text)


# --- may it ------------------------------------------------------------------------------------------


def is_listed(target: Target, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns is about this target. `*` stands for anything, though never for the end of a host
    and the beginning of a path: `https://*.example.com/*` is not `https://elsewhere/.example.com/`."""
    return not _climbs(target.path) and any(_matches(pattern, target) for pattern in patterns)


def _matches(pattern: str, target: Target) -> bool:
    scheme, authority, path = _parts(pattern)
    return (
        _glob(scheme.lower(), target.scheme)
        and any(_glob(authority, written) for written in target.authorities)
        and _glob(path, target.path)
    )


def _parts(pattern: str) -> tuple[str, str, str]:
    """A pattern that ends with `*` before any path is about every path."""
    scheme, found, rest = pattern.partition("://")
    if not found:
        scheme, rest = "*" if pattern.startswith("*") else "", pattern
    authority, slash, path = rest.partition("/")
    authority = authority.lower().removesuffix(".").replace(".:", ":")
    if not slash:
        return scheme, authority, "*" if authority.endswith("*") else "/"
    return scheme, authority, f"/{path}"


def _glob(pattern: str, text: str) -> bool:
    """In linear time: a project may write the pattern."""
    first, *others = pattern.split("*")
    if not others:
        return text == pattern
    if not text.startswith(first):
        return False
    place = len(first)
    for part in others[:-1]:
        found = text.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return len(text) - len(others[-1]) >= place and text.endswith(others[-1])


def _climbs(path: str) -> bool:
    """Whether a server may take another path than the one that is written."""
    plain = path.partition("?")[0].lower().replace("%2e", ".").replace("%2f", "/").replace("%5c", "/")
    return any(part in (".", "..") for part in plain.split("/"))


def addresses_in(patterns: Iterable[str]) -> frozenset[str]:
    """The addresses that patterns name in so many words."""
    found = set()
    for pattern in patterns:
        try:
            host, _ = _host_and_port(_parts(pattern)[1])
            found.add(_address(host))
        except ValueError:
            pass
    return frozenset(found)


def _address(text: str) -> str:
    """In its one spelling; an IPv4 address that is wrapped into IPv6 is itself."""
    import ipaddress

    found = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour
        if inner is None and found in ipaddress.ip_network("64:ff9b::/96"):
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        found = inner or found
    return str(found)


def _hands_out_keys(address: str) -> bool:
    import ipaddress

    return address in METADATA or ipaddress.ip_address(address).is_link_local


# --- how ---------------------------------------------------------------------------------------------


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
    for address in map(_address, map(str, addresses)):
        if address not in sending.named and _hands_out_keys(address):
            raise NoAnswer(
                f"{address} is a metadata address, where clouds hand out their keys; it is called only if the list of "
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
