"""The URL of a server that is not ours: understood in one way only, shown without its secrets, allowed or not.

Without `urllib`: configuration is read in front of every tool call.
"""

from __future__ import annotations

from fairlead._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

PORTS = {"http": 80, "https": 443}
METADATA = ("fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "100.100.100.200", "192.0.0.192")
"""Beside all that is link-local: where clouds hand their keys to whoever asks from inside."""

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_DIGITS = frozenset("0123456789")
_NAME = _LETTERS | _DIGITS | frozenset("._-")
_NUMBERS = frozenset("0123456789abcdef:.")
_PLAIN = _LETTERS | {letter.upper() for letter in _LETTERS} | _DIGITS | frozenset("%/?:@!$&'()*+,;=~-._")
_LONGEST_SHOWN = 200
_TOKEN = 20
"""Characters: a part of a path that is as long as that, with letters and digits, may be a secret."""


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
            found.add(one_spelling(host))
        except ValueError:
            pass
    return frozenset(found)


def one_spelling(text: str) -> str:
    """In its one spelling; an IPv4 address that is wrapped into IPv6 is itself."""
    import ipaddress

    found = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour
        if inner is None and found in ipaddress.ip_network("64:ff9b::/96"):
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        found = inner or found
    return str(found)


def hands_out_keys(where: str) -> bool:
    import ipaddress

    return where in METADATA or ipaddress.ip_address(where).is_link_local
