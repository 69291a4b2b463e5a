"""Who may do what: hosts, origins, keys, and the headers of every answer."""

from __future__ import annotations

import getpass
import hashlib
import os
import secrets
from functools import cache
from typing import TYPE_CHECKING

from fairlead import people
from fairlead.server.records import Refused
from fairlead.server.visible import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types fairlead-worker"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store, no-transform",
}
OWN_HEADERS = {
    "sw.js": {
        "content-security-policy": "default-src 'none'; connect-src 'self'; img-src 'self'; trusted-types 'none'; "
        "require-trusted-types-for 'script'; frame-ancestors 'none'"
    }
}
"""Of the service worker: it runs nothing but itself, and reaches nobody but this server."""
COOKIE = "fairlead"
KEY_LIVES = 60.0
"""Seconds: a login link opens one session, within this time."""


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


def cookie_name(scheme: str) -> str:
    """With TLS, one that no other host or port's page can set."""
    return f"__Host-{COOKIE}" if scheme == "https" else COOKIE


@cache
def owner() -> str:
    """The name of the person whose server this is."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError):  # a user without an entry, as in containers
        name = f"user{os.getuid()}"
    return people.name_of(name) or name


def person_name(name: str) -> str:
    """As it is compared. Raises Refused for what is none."""
    found = people.name_of(name)
    if not found:
        raise Refused(400, "invalid_input", f"{shown(name[:80])!r} is no name: a name is {people.WHAT} characters")
    return found


def cookie(headers: Mapping[str, str], name: str) -> str:
    for part in headers.get("cookie", "").split(";"):
        key, _, value = part.strip().partition("=")
        if key == name:
            return value
    return ""
