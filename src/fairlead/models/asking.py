"""Ask a language model: one deadline for everything, and a few more tries while it lasts.

On an event loop of its own, since only there a deadline ends whatever is under way: the name that is looked up, the
server that sends one byte a minute, the pause before the next try.
"""

from __future__ import annotations

import time

from fairlead import wire
from fairlead.errors import InputError, plain
from fairlead.models.framing import Unclear
from fairlead.models.records import ModelFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl
    from types import ModuleType
    from typing import Any

    import httpx2

    from fairlead.models.records import Profile, Question, Reply, Request

ATTEMPTS = 4
LARGEST_ANSWER = 4 << 20
"""Bytes."""
LONGEST_TEXT = 64 << 10
INSTALL = 'asking a language model needs one more package: pip install "fairlead[models]"'

_CONNECT = 10.0
"""Seconds, after which another try has better chances than more patience."""
_MAY_PASS = frozenset({408, 409, 429})
_MENDABLE = frozenset({400, 422})
_NOT_TAKEN = frozenset({400, 413, 422})
_SIMPLER = 4
"""How often a question may be put in simpler terms."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 8.0
_HEADERS = {"User-Agent": "fairlead", "Content-Type": "application/json", "Accept-Encoding": "identity"}
_QUOTED = 300
"""Characters of a server's own words in an error."""
_PIECE = 8
"""Characters: this much of a key is too much."""


def ask(profile: Profile, question: Question, deadline: float) -> Reply:
    """What the model says. `deadline` is on the monotonic clock. Raises ModelFailed."""
    from fairlead.models._loop import new_loop

    asking = _Asking(profile, question, deadline)
    loop = new_loop()
    try:
        return loop.run_until_complete(asking.answer())
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())  # the rest of an answer that was not read to its end
        loop.close()


class NotTaken(ModelFailed, Unclear):
    """The server does not take the question, perhaps for what is judged in it, such as more than its model can read."""


class _Trouble(Exception):  # noqa: N818  # of the moment
    """Something that may pass."""

    def __init__(self, message: str, wait: float | None = None, *, hint: str = "try again later") -> None:
        super().__init__(message)
        self.wait = wait
        """Seconds that the server asks for."""
        self.hint = hint


class _Asking:
    """One question, until it is answered or the time is over."""

    def __init__(self, profile: Profile, question: Question, deadline: float) -> None:
        self._httpx = _library()
        self._wire = _wire(profile)
        self._profile = profile
        self._deadline = deadline
        self._seconds = max(deadline - time.monotonic(), 0.0)
        self._request: Request = self._wire.request(profile, question)
        self._url = self._checked(self._request.url)
        self._simplified = 0
        self._last = ""

    def _checked(self, address: str) -> Any:
        try:
            return self._httpx.URL(address)
        except (self._httpx.InvalidURL, ValueError):
            raise self._failed("its `base_url` is no address; mend it") from None

    async def answer(self) -> Reply:
        import asyncio

        try:
            async with asyncio.timeout(self._seconds):
                return await self._with_patience()
        except TimeoutError:
            before = f" (before that: {self._last})" if self._last else ""
            raise self._failed(
                f"it did not answer within {plain(round(self._seconds, 1))} s{before}; "
                "give the hook a longer `timeout`, or take a quicker model"
            ) from None

    async def _with_patience(self) -> Reply:
        async with self._client() as client:
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    return (await self._once(client)).but(attempts=attempt + self._simplified)
                except _Trouble as trouble:
                    self._last = str(trouble)
                    if attempt == ATTEMPTS:
                        raise self._failed(f"{trouble}, {ATTEMPTS} times; {trouble.hint}") from None
                    await self._pause(trouble, attempt)
        raise AssertionError("unreachable")

    def _client(self) -> httpx2.AsyncClient:
        from fairlead.approvals import is_loopback

        local = is_loopback(self._profile.base_url)
        # A proxy is for the world outside; to this machine it would only be a listener.
        return self._httpx.AsyncClient(  # type: ignore[no-any-return]  # the module is known at run time
            follow_redirects=False,
            limits=self._httpx.Limits(max_keepalive_connections=0),  # one that is just being closed costs a try
            headers=_HEADERS,
            trust_env=not local,
            verify=_nobody() if local and self._url.scheme == "http" else True,
            timeout=self._httpx.Timeout(None, connect=_CONNECT),
        )

    async def _pause(self, trouble: _Trouble, attempt: int) -> None:
        import asyncio
        import random

        left = max(self._deadline - time.monotonic(), 0.0)
        if trouble.wait is not None and trouble.wait >= left:
            asked = f"it asks to wait {plain(round(trouble.wait, 1))} s, and only {plain(round(left, 1))} s are left"
            raise self._failed(f"{trouble}; {asked}; try again later") from None
        longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (attempt - 1), left / 2)
        pause = random.uniform(0, longest) if trouble.wait is None else trouble.wait  # noqa: S311  # spreads load
        await asyncio.sleep(pause)

    async def _once(self, client: httpx2.AsyncClient) -> Reply:
        while True:
            status, headers, body = await self._sent(client)
            if status == 200:
                return self._reply(headers, body)
            said = self._complaint(body)
            simpler = self._wire.simpler(self._request.body, said) if status in _MENDABLE else None
            if simpler is None or self._simplified == _SIMPLER:
                raise self._refused(status, headers, said)
            self._simplified += 1
            self._request = self._request.but(body=simpler)

    async def _sent(self, client: httpx2.AsyncClient) -> tuple[int, Any, bytes]:
        httpx = self._httpx
        content = wire.encode(self._request.body)
        try:
            async with client.stream("POST", self._url, headers=self._request.headers, content=content) as response:
                return response.status_code, response.headers, await self._body(response)
        except httpx.UnsupportedProtocol:
            raise self._failed("its `base_url` is no address; mend it") from None
        except (httpx.HTTPError, OSError) as error:
            if "CERTIFICATE" in str(error):
                raise self._failed(f"{self._host()} cannot prove who it is: {self._shown(str(error))}") from None
            raise self._unreached(error) from None

    async def _body(self, response: httpx2.Response) -> bytes:
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > LARGEST_ANSWER:
                raise self._failed(f"its answer is longer than {LARGEST_ANSWER:,} bytes; check `base_url`")
        return bytes(body)

    # --- what came back ------------------------------------------------------------------------------

    def _reply(self, headers: Any, body: bytes) -> Reply:
        value = self._value(headers, self._without_key(body))
        if isinstance(value, dict) and value.get("error"):
            raise _Trouble(f"it answers with an error: {self._shown(_message(value))}")
        try:
            reply: Reply = self._wire.read(value)
        except ModelFailed as error:
            raise self._failed(str(error)) from None
        if len(reply.text) > LONGEST_TEXT:
            return reply.but(text=reply.text[:LONGEST_TEXT], finished=False)
        return reply

    def _value(self, headers: Any, body: bytes) -> Any:
        try:
            if _is_stream(headers, body):
                return self._wire.joined(_events(body))
            value = wire.decode(body)
        except InputError as error:
            raise _Trouble(f"its answer cannot be read ({self._shown(str(error))})") from None
        return self._wire.joined(value) if isinstance(value, list) else value

    def _without_key(self, body: bytes) -> bytes:
        """A server knows our key; who reads its answer must not."""
        key = self._profile.api_key.encode()
        return body.replace(key, b"***") if len(key) >= _PIECE else body

    def _complaint(self, body: bytes) -> str:
        try:
            return _message(wire.decode(body))
        except InputError:
            return body[:4096].decode("utf-8", "replace")

    def _refused(self, status: int, headers: Any, said: str) -> Exception:
        shown = self._shown(said)
        http = f"HTTP {status}: {shown}" if shown else f"HTTP {status}"
        if status in _MAY_PASS or status >= 500:
            return _Trouble(f"{self._host()} says {http}", _wished(headers))
        if 300 <= status < 400:
            return self._failed(
                f"{self._host()} leads elsewhere (HTTP {status}), and is not followed; put the final address into "
                "`base_url`"
            )
        failed = f"{http}; {self._advice(status)}"
        return self._not_taken(failed) if status in _NOT_TAKEN else self._failed(failed)

    def _advice(self, status: int) -> str:
        name, host = self._profile.name, self._host()
        where = self._profile.key_from or f"the settings of {name}"
        if status in (401, 403) and not self._profile.api_key:
            return f"{host} wants a key, and {name} has none: write `api_key_env` or `api_key`"
        if status in (401, 403):
            return f"{host} refuses the key of {name}: look at {where}"
        if status == 404:
            return f"{host} does not know this model, or not this address: look at `model` and `base_url` of {name}"
        return f"{host} does not take the question: look at the settings of {name}"

    # --- words ---------------------------------------------------------------------------------------

    def _failed(self, message: str) -> ModelFailed:
        return ModelFailed(self._sentence(message))

    def _not_taken(self, message: str) -> NotTaken:
        return NotTaken(self._sentence(message))

    def _sentence(self, message: str) -> str:
        return f"the model {self._profile.model} ({self._profile.name}) gave no answer: {message}"

    def _unreached(self, error: Exception) -> _Trouble:
        said = self._shown(_cause(error))
        if isinstance(error, (self._httpx.ConnectError, self._httpx.ConnectTimeout, self._httpx.ProxyError)):
            hint = "is it running, and is `base_url` right?"
            return _Trouble(f"{self._host()} cannot be reached ({said})", hint=hint)
        return _Trouble(f"{self._host()} breaks off ({said})")

    def _host(self) -> str:
        return f"{self._url.host}:{self._url.port}" if self._url.port else str(self._url.host)

    def _shown(self, said: str) -> str:
        """A stranger's words in one short line, without any piece of the key."""
        words = "".join(char if char.isprintable() else " " for char in _masked(said[:20_000], self._profile.api_key))
        line = " ".join(words.split())
        return line if len(line) <= _QUOTED else f"{line[:_QUOTED]}…"


def _nobody() -> ssl.SSLContext:
    """Trusts no certificate. Without TLS none is needed, and reading them all takes longer than the whole question."""
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _library() -> ModuleType:
    try:
        import httpx2
    except ImportError:
        raise ModelFailed(INSTALL) from None
    return httpx2


def _wire(profile: Profile) -> ModuleType:
    from importlib import import_module

    if profile.provider not in ("openai", "anthropic", "google"):
        raise ModelFailed(f"{profile.name}: no provider is called {profile.provider!r}; openai, anthropic or google")
    return import_module(f"fairlead.models.{profile.provider}")


def _cause(error: BaseException) -> str:
    """What the system says, where it has said something; libraries wrap it in words of their own."""
    import os

    deeper: BaseException | None = error
    while deeper is not None:
        if isinstance(deeper, OSError) and deeper.strerror and not deeper.strerror.startswith("["):  # as TLS's own
            number = deeper.errno or 0
            return os.strerror(number) if number > 0 else deeper.strerror
        deeper = deeper.__cause__ or deeper.__context__
    return str(error) or type(error).__name__


def _message(value: Any) -> str:
    """What a provider says in an error; all of it, where it has a shape of its own."""
    if isinstance(value, list) and value:
        value = value[0]
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, dict):
        said = error.get("message") or error.get("detail")
        parameter = error.get("param")
        if isinstance(said, str) and said:
            return f"{said} ({parameter})" if isinstance(parameter, str) and parameter not in said else said
    return error if isinstance(error, str) else wire.encode_text(error)


def _wished(headers: Any) -> float | None:
    """Seconds that the server wants us to wait, in either form that HTTP has for it."""
    said = headers.get("retry-after", "").strip()
    try:
        seconds = float(said)
    except ValueError:
        return _until(said)
    return max(seconds, 0.0) if seconds < 1e9 else None


def _until(said: str) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return max(parsedate_to_datetime(said).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None


def _is_stream(headers: Any, body: bytes) -> bool:
    kind = headers.get("content-type", "").lower()
    return kind.startswith("text/event-stream") or body.lstrip().startswith((b"data:", b"event:"))


def _events(body: bytes) -> list[Any]:
    """The values in a stream of server-sent events."""
    text = body.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    found = []
    for block in text.split("\n\n"):
        lines = [line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:")]
        data = "\n".join(lines).strip()
        if data and data != "[DONE]":
            found.append(wire.decode(data))
    return found


def _masked(text: str, key: str) -> str:
    """Without the key, and without longer pieces of it, in whatever case."""
    if len(key) < _PIECE:
        return text.replace(key, "***") if len(key) > 3 else text
    pieces = {key[start : start + _PIECE].lower() for start in range(len(key) - _PIECE + 1)}
    lower = text.lower()
    if len(lower) != len(text):  # a few letters are two in lower case
        lower = text
    hidden = [False] * len(text)
    for start in range(len(text) - _PIECE + 1):
        if lower[start : start + _PIECE] in pieces:
            hidden[start : start + _PIECE] = [True] * _PIECE
    return "".join(_starred(text, hidden))


def _starred(text: str, hidden: list[bool]) -> list[str]:
    return [
        ("" if place and hidden[place - 1] else "***") if hidden[place] else char for place, char in enumerate(text)
    ]
