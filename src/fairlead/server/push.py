"""Web Push, with no third party but the push service of the browser: which cannot read what it carries.

A message is encrypted for one browser (RFC 8291), signed with a key that was made once for this server (RFC 8292),
and given to the address that this browser has named (RFC 8030).
"""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import os
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fairlead import wire
from fairlead._record import Record
from fairlead.server.records import Refused

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping
    from urllib.parse import SplitResult

    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

LARGEST = 3993
"""Bytes of text in one message; every push service takes 4,096 with the rest of it."""
MOST_OF_ONE_PERSON = 20
"""Browsers; who has more loses the oldest."""
_PATIENCE = 15.0
_LONGEST_ENDPOINT = 2048
_TOKEN_LIVES = 12 * 3600
_POINT = 65
_PADDED = 512
_TABLES = """
    CREATE TABLE IF NOT EXISTS own (one INTEGER PRIMARY KEY CHECK (one = 1), secret BLOB NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS subscriptions (
        endpoint TEXT PRIMARY KEY, person TEXT NOT NULL, login TEXT NOT NULL, p256dh BLOB NOT NULL,
        auth BLOB NOT NULL, created_at REAL NOT NULL
    ) STRICT;
"""


class Subscription(Record):
    """One browser of a person, that wants to hear of questions."""

    endpoint: str
    person: str
    login: str
    """The hash of the session that made it: when that ends, so does this."""
    p256dh: bytes
    auth: bytes
    created_at: float


def is_installed() -> bool:
    try:
        import cryptography.hazmat.primitives.ciphers.aead  # noqa: F401
    except ImportError:
        return False
    return True


def encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


# --- what is kept ----------------------------------------------------------------------------------


class Book:
    """The server's own key and everybody's browsers, in one small file for its owner alone.

    Every call opens it: several processes may use it, and none keeps it locked.
    """

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "push.db")
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        self._do(_TABLES)

    def key(self) -> EllipticCurvePrivateKey:
        """Made when it is first asked for; of two who ask at once, both get the same."""
        from cryptography.hazmat.primitives.asymmetric import ec

        made = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value.to_bytes(32, "big")
        self._do("INSERT OR IGNORE INTO own VALUES (1, ?)", made)
        ((secret,),) = self._do("SELECT secret FROM own")
        return ec.derive_private_key(int.from_bytes(secret, "big"), ec.SECP256R1())

    def add(self, one: Subscription) -> None:
        values = [getattr(one, name) for name in Subscription._fields]
        self._do("INSERT OR REPLACE INTO subscriptions VALUES (?, ?, ?, ?, ?, ?)", *values)
        self._do(
            "DELETE FROM subscriptions WHERE person = ? AND endpoint NOT IN (SELECT endpoint FROM subscriptions"
            " WHERE person = ? ORDER BY created_at DESC, endpoint LIMIT ?)",
            *(one.person, one.person, MOST_OF_ONE_PERSON),
        )

    def remove(self, endpoint: str) -> None:
        self._do("DELETE FROM subscriptions WHERE endpoint = ?", endpoint)

    def all(self) -> list[Subscription]:
        rows = self._do(f"SELECT {', '.join(Subscription._fields)} FROM subscriptions ORDER BY created_at, endpoint")  # noqa: S608
        return [Subscription(**dict(zip(Subscription._fields, row, strict=True))) for row in rows]

    def version(self) -> bytes:
        """Another one after every change: SQLite's own counter, from the head of the file."""
        with open(self._path, "rb") as file:
            return file.read(28)[24:]

    def _do(self, statement: str, *values: object) -> list[Any]:
        with closing(sqlite3.connect(self._path, timeout=10)) as database, database:
            if not values and ";" in statement:
                database.executescript(statement)
                return []
            return database.execute(statement, values).fetchall()


def read_subscription(fields: Mapping[str, Any], *, person: str, login: str, local: bool) -> Subscription:
    """What `PushManager.subscribe` gave the page. Raises Refused for what is none, or leads into our own network."""
    endpoint, keys = fields.get("endpoint"), fields.get("keys")
    if not isinstance(endpoint, str) or not isinstance(keys, dict):
        raise _wrong("a subscription has an endpoint and keys")
    _check_endpoint(endpoint, local=local)
    p256dh, auth = (_bytes(keys.get(name), name) for name in ("p256dh", "auth"))
    if len(auth) != 16 or not _is_point(p256dh):
        raise _wrong("the keys of this subscription are none")
    return Subscription(endpoint=endpoint, person=person, login=login, p256dh=p256dh, auth=auth, created_at=time.time())


def _wrong(message: str) -> Refused:
    return Refused(400, "invalid_input", message)


def _bytes(value: object, name: str) -> bytes:
    try:
        return decoded(value) if isinstance(value, str) else b""
    except ValueError:
        raise _wrong(f"{name} is not base64url") from None


def _is_point(raw: bytes) -> bool:
    from cryptography.hazmat.primitives.asymmetric import ec

    try:
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), raw)
    except ValueError:
        return False
    return len(raw) == _POINT


# --- where it goes ---------------------------------------------------------------------------------


def _check_endpoint(endpoint: str, *, local: bool) -> SplitResult:
    plain = endpoint.isascii() and endpoint.isprintable() and " " not in endpoint and len(endpoint) <= _LONGEST_ENDPOINT
    try:
        parts = urlsplit(endpoint)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise _wrong("the endpoint is no address") from None
    if not plain or not host or parts.username is not None or parts.fragment or "\\" in endpoint:
        raise _wrong("the endpoint is no address of a push service")
    if parts.scheme != "https" and not (local and parts.scheme == "http"):
        raise _wrong("the endpoint of a push service begins with https://")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return parts  # a name: looked at when it is resolved
    if not local and not _is_public(address):
        raise _wrong("the endpoint leads into a private network, and no push service is there")
    return parts


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return address.is_global and not address.is_multicast


async def _addresses(host: str, port: int, *, local: bool) -> list[str]:
    """What the name means now, each of them looked at: we connect to these, and ask no second time."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=1)
    addresses = list(dict.fromkeys(str(place[0]) for *_, place in found))
    if not local and not all(_is_public(ipaddress.ip_address(one.partition("%")[0])) for one in addresses):
        raise Undelivered(f"{host} leads into a private network, and no push service is there", again=False)
    return addresses


# --- one message -----------------------------------------------------------------------------------


class Undelivered(Exception):  # noqa: N818  # a fact about a message
    """The push service did not take it."""

    def __init__(self, message: str, *, again: bool, gone: bool = False, after: float = 0.0) -> None:
        super().__init__(message)
        self.again = again
        """Whether it may take it later."""
        self.gone = gone
        """The browser wants no more: forget it."""
        self.after = after
        """Seconds that the service asks us to wait."""


class Message(Record):
    text: bytes
    lives: int
    """Seconds for which the service keeps it for a browser that is away."""
    urgency: str = "high"
    topic: str = ""
    """Replaces one of the same topic that was not delivered yet."""


class Sender:
    """Gives messages to push services: the signature of this server, and nothing of its network."""

    def __init__(self, key: EllipticCurvePrivateKey, contact: str, *, local: bool = False) -> None:
        """`contact` is where the people of a push service find ours; `local`: for tests, also on this machine."""
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        self._key = key
        self._contact = contact
        self._local = local
        self._tls: ssl.SSLContext | None = None
        self.public_key = encoded(key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))

    async def send(self, to: Subscription, message: Message) -> None:
        """Raises Undelivered."""
        try:
            async with asyncio.timeout(_PATIENCE):
                status, after = await self._post(to, message)
        except Refused as refused:  # it was accepted once, by a server with other settings
            raise Undelivered(str(refused), again=False, gone=True) from None
        except (OSError, TimeoutError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            what = f"{host_of(to.endpoint)} cannot be reached ({type(error).__name__})"
            raise Undelivered(what, again=True) from None
        if not 200 <= status < 300:
            again = status in (0, 408, 425, 429) or status >= 500
            gone = status in (404, 410)
            raise Undelivered(f"{host_of(to.endpoint)} answered {status}", again=again, gone=gone, after=after)

    async def _post(self, to: Subscription, message: Message) -> tuple[int, float]:
        parts = _check_endpoint(to.endpoint, local=self._local)
        secure, host = parts.scheme == "https", parts.hostname or ""
        port = parts.port or (443 if secure else 80)
        addresses = await _addresses(host, port, local=self._local)
        tls = {"ssl": self._context(), "server_hostname": host} if secure else {}
        reader, writer = await _connected(addresses, port, tls)
        try:
            writer.write(self._request(to, parts, message))
            await writer.drain()
            return _outcome(await reader.readuntil(b"\r\n\r\n"))
        finally:
            writer.transport.abort()

    def _context(self) -> ssl.SSLContext:
        import ssl

        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls

    def _request(self, to: Subscription, parts: SplitResult, message: Message) -> bytes:
        body = encrypt(message.text, to.p256dh, to.auth)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {
            "Host": parts.netloc,
            "Authorization": f"vapid t={self.token(f'{parts.scheme}://{parts.netloc}')}, k={self.public_key}",
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "Content-Length": str(len(body)),
            "TTL": str(message.lives),
            "Urgency": message.urgency,
            **({"Topic": message.topic} if message.topic else {}),
            "Connection": "close",
        }
        lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + body

    def token(self, audience: str) -> str:
        """A JSON Web Token that says who sends."""
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        claims = {"aud": audience, "exp": int(time.time()) + _TOKEN_LIVES, "sub": self._contact}
        signed = ".".join(encoded(wire.encode(part)) for part in ({"typ": "JWT", "alg": "ES256"}, claims))
        r, s = decode_dss_signature(self._key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{signed}.{encoded(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def host_of(endpoint: str) -> str:
    """All that may be said of an endpoint: the rest of it is a secret."""
    return urlsplit(endpoint).hostname or "the push service"


async def _connected(addresses: list[str], port: int, tls: dict[str, Any]) -> Any:
    for address in addresses[:-1]:
        try:
            return await asyncio.open_connection(address, port, **tls)
        except OSError:
            continue
    return await asyncio.open_connection(addresses[-1], port, **tls)


def _outcome(head: bytes) -> tuple[int, float]:
    """The status, 0 for nonsense; and the seconds after which it wants to hear of us again."""
    first, *lines = head.decode("latin-1").split("\r\n")
    after = next((line.partition(":")[2].strip() for line in lines if line.lower().startswith("retry-after:")), "")
    status = int(first[9:12]) if first.startswith("HTTP/1.") else 0
    return status, float(after) if after.isdecimal() else 0.0


def encrypt(
    text: bytes, p256dh: bytes, auth: bytes, *, key: EllipticCurvePrivateKey | None = None, salt: bytes = b""
) -> bytes:
    """RFC 8291, in one record. `key` and `salt` are new for each message; given ones are for examples."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = key or ec.generate_private_key(ec.SECP256R1())
    salt = salt or os.urandom(16)
    browser = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), p256dh)
    ours = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    shared = _derived(auth, key.exchange(ec.ECDH(), browser), b"WebPush: info\0" + p256dh + ours, 32)
    secret = _derived(salt, shared, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(salt, shared, b"Content-Encoding: nonce\0", 12)
    sealed: bytes = AESGCM(secret).encrypt(nonce, text + b"\x02", None)
    return salt + (4096).to_bytes(4, "big") + bytes([len(ours)]) + ours + sealed


def _derived(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    found: bytes = HKDF(algorithm=hashes.SHA256(), length=length, salt=salt, info=info).derive(secret)
    return found


def padded(text: bytes) -> bytes:
    """JSON with blanks behind it: its length tells a push service little of what it says."""
    return text + b" " * (-len(text) % _PADDED) if len(text) <= LARGEST - _PADDED else text
