"""Call one tool of an MCP server with the official SDK: connect, call, close, all before one deadline."""

from __future__ import annotations

import time

from fairlead._record import Record
from fairlead.errors import plain
from fairlead.hooks import HookFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from contextlib import AbstractAsyncContextManager
    from typing import Any

    from fairlead.mcp_process import Ending, Stdio
    from fairlead.mcp_servers import Server

NO_SDK = 'mcp_tool hooks need the MCP SDK, which is not installed: pip install "fairlead[mcp]"'
ANSWER_LIMIT = 8 << 20
"""Bytes of one answer over HTTP; more is an error."""
_SAID = 1500
_CLOSED = -32000


class Answer:
    """What the tool said."""

    def __init__(self, result: Any, facts: dict[str, str | int | float]) -> None:
        kind = getattr(result, "result_type", "complete")
        if kind != "complete":
            raise HookFailed(f"the tool wants something else first ({kind}), and nobody is there to give it")
        self.text = "\n".join(part.text for part in result.content if part.type == "text")
        camel = hasattr(result, "isError")  # SDK 1
        self.structured = result.structuredContent if camel else result.structured_content
        self.is_error: bool = result.isError if camel else result.is_error
        self.facts = facts


class Question(Record):
    server: Server
    tool: str
    arguments: dict[str, Any]
    seconds: float
    """How long it may take, until the deadline."""
    deadline: float
    """On the monotonic clock."""


def ask(question: Question, ending: Ending) -> Answer:
    """Blocks; for a thread of its own."""
    import asyncio
    import atexit

    started = time.monotonic()
    _import_sdk()
    atexit.register(ending.set)  # a signal that ends us does not reach this thread
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(_Conversation(question, ending, started).hold())
    finally:
        atexit.unregister(ending.set)
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()  # does not wait for a name that cannot be looked up


def _import_sdk() -> None:
    import logging

    try:
        import mcp.client.session  # noqa: F401
    except ImportError:
        raise HookFailed(NO_SDK) from None
    for name in ("mcp", "client"):  # what they complain about is in our error; an agent reads our stderr
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())


class _Conversation:
    def __init__(self, question: Question, ending: Ending, started: float) -> None:
        self._question = question
        self._server = question.server
        self._ending = ending
        self._started = started
        self._ready = 0.0
        self._answered = 0.0
        self._result: Any = None
        self._stdio: Stdio | None = None
        self._talking: Any = None
        self._trouble = ""
        """What went wrong on the wire: the SDK tells of some of it only in its log."""

    async def hold(self) -> Answer:
        import anyio

        try:
            with anyio.fail_after(self._question.deadline - time.monotonic()), anyio.CancelScope() as self._talking:
                await self._talk()
            if self._result is None:
                raise HookFailed(self._trouble)  # noqa: TRY301  # one place explains
        except BaseException as error:  # noqa: BLE001  # whatever it is, it is why there is no answer
            if self._result is None:
                raise HookFailed(self._explained(_first(error))) from None
        return Answer(self._result, self._facts())

    async def _talk(self) -> None:
        from mcp import types
        from mcp.client.session import ClientSession

        from fairlead._version import __version__

        myself = types.Implementation(name="fairlead", version=__version__)
        async with (
            self._transport() as (reading, writing, *_),
            ClientSession(reading, writing, client_info=myself, message_handler=self._hear) as session,
        ):
            await _greet(session)
            self._ready = time.monotonic()
            self._result = await _call(session, self._question.tool, self._question.arguments)
            self._answered = time.monotonic()
            if self._stdio is not None:
                self._stdio.answered = True

    def _transport(self) -> AbstractAsyncContextManager[Any]:
        from contextlib import asynccontextmanager

        if self._server.transport != "stdio":
            return asynccontextmanager(self._over_http)()
        from fairlead.mcp_process import Stdio

        self._stdio = Stdio(self._ending.start(self._server), self._question.deadline)
        return asynccontextmanager(self._stdio.streams)()

    async def _over_http(self) -> AsyncIterator[Any]:
        if self._server.transport == "sse":
            from mcp.client.sse import sse_client

            factory: Any = self._http
            async with sse_client(self._server.url, httpx_client_factory=factory) as streams:
                yield streams
            return
        from mcp.client.streamable_http import streamable_http_client

        async with self._http() as client, streamable_http_client(self._server.url, http_client=client) as streams:
            yield streams

    def _http(self, **options: Any) -> Any:
        library = _http_library()
        return library.AsyncClient(
            headers={**(options.get("headers") or {}), **self._server.headers, "Accept-Encoding": "identity"},
            timeout=options.get("timeout") or library.Timeout(self._question.seconds),
            follow_redirects=False,
            trust_env=not self._server.is_here,  # no proxy between us and this machine
            event_hooks={"request": [], "response": [self._look_at]},
        )

    async def _look_at(self, response: Any) -> None:
        """Every answer, before its body is read."""
        self._note_status(response)
        if response.headers.get("content-encoding", "identity") != "identity":
            raise self._refused("its answer is compressed, and nobody asked for that")
        response.stream = _bounded(response.stream, self._refused)

    def _note_status(self, response: Any) -> None:
        status, asked = response.status_code, response.request.method == "POST"
        if not asked or status < 300 or self._trouble:
            return
        hint = "; Fairlead never logs in by itself: give it a token in `headers`" if status in (401, 403) else ""
        where = " elsewhere, which is not followed" if status < 400 else ""
        self._trouble = f"it answered with HTTP {status}{where}{hint}"

    async def _hear(self, message: Any) -> None:
        if isinstance(message, Exception):
            self._refused(f"it sent what is no message of MCP: {_cut(str(message))}")

    def _refused(self, why: str) -> HookFailed:
        """Nothing more can come: the SDK would wait on, since it does not connect an error with a call."""
        self._trouble = self._trouble or why
        self._talking.cancel()
        return HookFailed(why)

    def _facts(self) -> dict[str, str | int | float]:
        return {
            "server": self._server.name,
            "tool": self._question.tool,
            "start_ms": round((self._ready - self._started) * 1000),
            "call_ms": round((self._answered - self._ready) * 1000),
        }

    # --- what went wrong -----------------------------------------------------------------------------

    def _explained(self, error: BaseException) -> str:
        if self._stdio is None and isinstance(error, HookFailed) and not self._trouble:
            return str(error)  # it was not even started
        where = f"the MCP server {self._server.name!r}"
        parts = [self._what(error), *self._beside()]
        return self._server.without_secrets(f"{where}: {'; '.join(filter(None, parts))}; see {self._server.file}")

    def _what(self, error: BaseException) -> str:
        if isinstance(error, HookFailed):
            return str(error)
        ended = self._stdio.process.exit_code if self._stdio is not None and self._is_closed(error) else None
        if ended is not None:
            how = f"signal {-ended}" if ended < 0 else f"exit code {ended}"
            return f"it ended ({how}) before it {self._state()}"
        if self._trouble:
            return self._trouble
        if isinstance(error, TimeoutError):
            return f"it has not {self._state()} within {plain(self._question.seconds)} s"
        if self._is_protocol(error):
            return f"it {'refused the call' if self._ready else 'cannot be talked to'}: {_cut(str(error))}"
        if isinstance(error, ValueError):
            return f"it answered with what is no answer of MCP: {_cut(str(error))}"
        return f"it cannot be reached: {type(error).__name__}: {_cut(str(error))}"

    def _state(self) -> str:
        return "answered" if self._ready else "got ready"

    @staticmethod
    def _is_protocol(error: BaseException) -> bool:
        return hasattr(error, "error") and hasattr(error.error, "code")

    def _is_closed(self, error: BaseException) -> bool:
        return self._is_protocol(error) and error.error.code == _CLOSED  # type: ignore[attr-defined]

    def _beside(self) -> Iterator[str]:
        if self._stdio is None:
            if self._server.url:
                yield f"at {self._server.address}"
            return
        if self._stdio.garbage:
            yield f"its stdout held what is no message of MCP: {self._stdio.garbage!r}"
        said = self._stdio.stderr.decode("utf-8", "replace").strip()
        if said:
            yield f"its stderr ends with: {said[-_SAID:]}"


async def _greet(session: Any) -> None:
    """The handshake that every server knows; one that knows only the newer protocol says so."""
    try:
        await session.initialize()
    except Exception as error:
        code = getattr(getattr(error, "error", None), "code", _CLOSED)
        if code == _CLOSED or not hasattr(session, "discover"):
            raise
        await session.discover()


async def _call(session: Any, tool: str, arguments: dict[str, Any]) -> Any:
    """Not with `call_tool`: it asks for the list of tools as well, and throws an answer away that does not fit the
    tool's own schema. A refusal counts however it is dressed."""
    from mcp import types

    request = types.CallToolRequest(params=types.CallToolRequestParams(name=tool, arguments=arguments))
    wrapped: Any = types.ClientRequest
    return await session.send_request(wrapped(request) if isinstance(wrapped, type) else request, types.CallToolResult)


def _http_library() -> Any:
    """The one that the SDK is built on: httpx2, before version 2 httpx."""
    from mcp.shared import _httpx_utils

    return getattr(_httpx_utils, "httpx2", None) or _httpx_utils.httpx  # type: ignore[attr-defined,unused-ignore]


def _bounded(stream: Any, refused: Callable[[str], HookFailed]) -> Any:
    base: Any = _http_library().AsyncByteStream

    class Bounded(base):  # type: ignore[misc]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in stream:
                size += len(chunk)
                if size > ANSWER_LIMIT:
                    raise refused(f"its answer is larger than {ANSWER_LIMIT >> 20} MiB")
                yield chunk

        async def aclose(self) -> None:
            await stream.aclose()

    return Bounded()


def _first(error: BaseException) -> BaseException:
    """The error behind groups of them; of several, the one that says most."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    inner = [_first(one) for one in error.exceptions]
    return next((one for one in inner if isinstance(one, HookFailed)), inner[0])


def _cut(text: str) -> str:
    return text if len(text) <= _SAID else f"{text[:_SAID]}…"
