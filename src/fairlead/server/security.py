"""Who may do what: hosts, origins, keys, and the headers of every answer."""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import TYPE_CHECKING

from fairlead.server.records import Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store, no-transform",
}
COOKIE = "fairlead"
_KEY_LIVES = 60.0


def new_secret() -> str:
    return secrets.token_hex(32)


def hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def check_host(host: str, allowed: Iterable[str]) -> None:
    """A page of another name that resolves to us must not read anything."""
    if host.lower() not in allowed:
        raise Refused(421, "wrong_host", f"this server does not answer for {host!r}; it knows {', '.join(allowed)}")


def check_same_origin(headers: Mapping[str, str], host: str, scheme: str) -> None:
    """For changes that carry a cookie: only our own page may make them, not another port of the same machine."""
    if headers.get("sec-fetch-site", "") != "same-origin" or headers.get("origin", "") != f"{scheme}://{host}":
        raise Refused(403, "wrong_origin", "only the inbox page itself may do this; programs use a key")


def check_own_page(headers: Mapping[str, str]) -> None:
    """For reads that carry a cookie: a page of another port is the same site, and gets the cookie sent along."""
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise Refused(403, "wrong_origin", "only the inbox page itself may read this; programs use a key")


def bearer(headers: Mapping[str, str]) -> str:
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def cookie(headers: Mapping[str, str], name: str) -> str:
    for part in headers.get("cookie", "").split(";"):
        key, _, value = part.strip().partition("=")
        if key == name:
            return value
    return ""


class OneTimeKeys:
    """Keys of login links: each opens one session, within a minute."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, str]] = {}

    def new(self, name: str) -> str:
        now = time.monotonic()
        self._known = {key: entry for key, entry in self._known.items() if entry[0] > now}
        secret = new_secret()
        self._known[hashed(secret)] = (now + _KEY_LIVES, name)
        return secret

    def use(self, secret: str) -> str:
        """Whose session it opens; empty if it is unknown, used or too old."""
        ends, name = self._known.pop(hashed(secret), (0.0, ""))
        return name if ends > time.monotonic() else ""
