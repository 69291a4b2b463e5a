"""A push service on this machine, and a browser's half of the encryption: it reads what it was sent."""

from __future__ import annotations

import json
import os
import threading
from collections import defaultdict
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import http_ece
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from fairlead.server.push import decoded, encoded

LONG = 90.0
"""Seconds after which a test that waits has failed; nothing takes nearly as long."""


class Taken(NamedTuple):
    path: str
    headers: Mapping[str, str]
    body: bytes


class PushService:
    """Takes messages, and answers as it is told."""

    def __init__(self) -> None:
        self.taken: list[Taken] = []
        self.answers: dict[str, list[tuple[int, dict[str, str]]]] = defaultdict(list)
        """By path: what the next requests are answered with; 201 when there is nothing left."""
        self._changed = threading.Condition()
        self._held: dict[str, threading.Event] = {}
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                service._take(Taken(self.path, {k.lower(): v for k, v in self.headers.items()}, body), self)

            def log_message(self, *_: Any) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def _take(self, request: Taken, handler: BaseHTTPRequestHandler) -> None:
        with self._changed:
            self.taken.append(request)
            waiting = self.answers[request.path]
            status, headers = waiting.pop(0) if waiting else (201, {})
            held = self._held.get(request.path)
            self._changed.notify_all()
        if held is not None:
            held.wait(LONG)
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    def hold(self, path: str) -> threading.Event:
        """Requests there are answered when the event is set."""
        self._held[path] = threading.Event()
        return self._held[path]

    def wait(self, count: int, path: str = "") -> list[Taken]:
        """Returns when so many have come."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.at(path)) >= count, LONG), [one.path for one in self.taken]
            return self.at(path)

    def at(self, path: str = "") -> list[Taken]:
        return [one for one in self.taken if path in ("", one.path)]

    def close(self) -> None:
        for event in self._held.values():
            event.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Browser:
    """What a browser keeps for itself of a subscription."""

    def __init__(self, service: PushService, name: str) -> None:
        self.path = f"/push/{name}"
        self.endpoint = service.address + self.path
        self._service = service
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._auth = os.urandom(16)

    @property
    def subscription(self) -> dict[str, Any]:
        point = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return {"endpoint": self.endpoint, "keys": {"p256dh": encoded(point), "auth": encoded(self._auth)}}

    def gets(self, count: int = 1) -> list[dict[str, Any]]:
        """The messages, read by another implementation; waits until there are so many."""
        return [self.reads(one) for one in self._service.wait(count, self.path)]

    def reads(self, request: Taken) -> dict[str, Any]:
        assert request.headers["content-encoding"] == "aes128gcm"
        text = http_ece.decrypt(request.body, private_key=self._key, auth_secret=self._auth, version="aes128gcm")
        found: dict[str, Any] = json.loads(text)
        return found


def signed_by(request: Taken) -> tuple[str, dict[str, Any]]:
    """The public key with which a request is signed, and what it claims; fails if the signature is none."""
    scheme, _, rest = request.headers["authorization"].partition(" ")
    assert scheme == "vapid"
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    head, claims, signature = parts["t"].split(".")
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(parts["k"]))
    raw = decoded(signature)
    numbers = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    try:
        key.verify(numbers, f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        raise AssertionError("the signature is wrong") from None
    assert json.loads(decoded(head)) == {"typ": "JWT", "alg": "ES256"}
    return parts["k"], json.loads(decoded(claims))
