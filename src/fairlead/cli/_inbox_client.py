"""The inbox's side of the line to the server: one call, and the stream of changes."""

from __future__ import annotations

import http.client
import json
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SILENCE = 40.0
"""The server says something every 15 s."""


class Gone(Exception):  # noqa: N818  # a fact about the server
    """It does not answer."""


class Client:
    def __init__(self, address: str, key: str) -> None:
        self.address = address
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._line: socket.socket | None = None

    def call(self, method: str, path: str, fields: Mapping[str, Any] | None = None) -> tuple[int, Any]:
        connection = self._connection(10)
        try:
            connection.request(method, path, json.dumps(fields) if fields is not None else None, self._headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Gone(f"{self.address} does not answer: {error}") from None
        finally:
            connection.close()

    def changes(self) -> Iterator[None]:
        """One for each change; the first when the line stands."""
        connection = self._connection(_SILENCE)
        try:
            connection.request("GET", "/api/stream", headers=self._headers)
            self._line = connection.sock
            answer = connection.getresponse()
            if answer.status != http.client.OK:
                raise Gone(f"the server refuses: {answer.status}")
            yield None
            while line := answer.readline():
                if line.startswith(b"event: interaction"):
                    yield None
        except (OSError, http.client.HTTPException) as error:
            raise Gone(str(error)) from None
        finally:
            connection.close()

    def hang_up(self) -> None:
        """Ends `changes`, which may be waiting in another thread."""
        if self._line is not None:
            with suppress(OSError):
                self._line.shutdown(socket.SHUT_RDWR)

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        parts = urlsplit(self.address)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        return kind(parts.netloc, timeout=timeout)
