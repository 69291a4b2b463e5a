"""Events straight over HTTP, for agents that have `http` hooks: the answer is what a hook would have printed.

Such agents take anything but a 2xx for "go on". So who may ask at all is always answered with 200, and what failed
with a refusal.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import time
from contextvars import copy_context
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from fairlead import dialects, surroundings, wire
from fairlead._record import Record
from fairlead.answering import Answer, Request, understand
from fairlead.cli._options import UsageMistake, parse
from fairlead.cli._options import request as requested
from fairlead.errors import InputError
from fairlead.events import OtherEvent
from fairlead.process import MARK, run
from fairlead.server import protocol
from fairlead.server.records import Refused
from fairlead.surroundings import Surroundings
from fairlead.verdicts import Decision
from fairlead.warm import answers
from fairlead.warm.loaded import Declined, Loaded
from fairlead.work import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fairlead.events import Event
    from fairlead.warm.answers import Begun

PATH = "/api/hooks/{agent}"
_BELOW = PATH.removesuffix("{agent}")
AGENTS = ("claude-code", "grok")
"""Who can send events so."""
LARGEST = 64 << 20
IN_PROCESS = 1 << 20
"""Bytes; others would have to wait while a larger event is read."""
AT_ONCE = 64
_MOST_KNOWN = 64
"""Addresses whose options are kept."""
_OPTIONS = ("event", "project", "timeout")
_ONLY_BY_EXIT_CODE = frozenset({"TaskCompleted", "TeammateIdle", "WorktreeCreate", "WorktreeRemove"})
"""Where Claude Code reads no refusal in JSON: there it can only be told to stop, and why."""
_JSON = (b"content-type", b"application/json")


class Home(Record):
    """What hooks find when they run for somebody of whom we know nothing but the event."""

    environ: Mapping[str, str]
    cwd: str

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Home:
        """As the server was started; without what belonged to a session of some agent that has started it."""
        theirs = {MARK, *dialects.PROJECTS.values()}
        return cls(environ={name: value for name, value in environ.items() if name not in theirs}, cwd=os.getcwd())


class HookEvents:
    """The endpoint."""

    def __init__(self, key: str, home: Home, loaded: Loaded) -> None:
        """Without a key nobody may ask."""
        self._key = key.encode()
        self._home = home
        self._surroundings = Surroundings(environ=home.environ)
        self._find = loaded.find
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._known: dict[tuple[str, bytes, bytes], tuple[list[str], Request]] = {}

    def at_once(self, url: bytes, headers: Mapping[bytes, bytes]) -> Callable[[bytes], bytes | None] | None:
        """The body of the answer to an event, where nothing has to be waited for. What is wrong is not said here."""
        path, _, query = url.partition(b"?")
        agent = path[len(_BELOW) :].decode("latin-1")
        try:
            self._check(headers)
            _, known = self._known_as(agent, query, headers.get(b"x-fairlead-project", b""))
        except (Refused, UsageMistake):
            return None

        def answering(raw: bytes) -> bytes | None:
            return copy_context().run(self._said_now, known.but(raw=raw, started=time.monotonic()))

        return answering if agent in AGENTS else None

    def _said_now(self, asked: Request) -> bytes | None:
        surroundings.enter(self._surroundings)
        try:
            found = understand(asked, self._find)
        except Declined:
            return None
        if isinstance(found, Answer):
            return body_of(asked.agent, _event_in(asked.raw), found)
        return body_of(asked.agent, found.event, found.answer_now()) if found.kinds <= answers.INSTANT else None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        started = time.monotonic()
        headers = dict(scope["headers"])
        try:
            self._check(headers)
        except Refused as refused:
            await _send(send, wire.encode(protocol.error(refused)) + b"\n", refused.status)
            return
        agent = scope["path"].removeprefix(_BELOW)
        try:
            body = await self._body_of_answer(agent, scope, headers, receive, started)
        except Exception as error:  # noqa: BLE001  # whatever it is: it must not be taken for a yes
            body = refusal(agent, None, f"internal error: {type(error).__name__}: {error}")
        if body is not None:
            await _send(send, body)

    def _check(self, headers: Mapping[bytes, bytes]) -> None:
        if b"origin" in headers or b"sec-fetch-site" in headers:
            raise Refused(403, "wrong_origin", "no page may send events; agents do, with their key")
        kind, _, key = headers.get(b"authorization", b"").partition(b" ")
        if not self._key or kind.lower() != b"bearer" or not hmac.compare_digest(key.strip(), self._key):
            raise Refused(401, "unauthorized", "send the key of hooks: Authorization: Bearer …")

    async def _body_of_answer(
        self, agent: str, scope: Any, headers: Mapping[bytes, bytes], receive: Any, started: float
    ) -> bytes | None:
        """None where nobody waits for it any more."""
        raw = await _read(receive)
        if raw is None:
            return None
        if agent not in AGENTS:
            return refusal("claude-code", None, f"no http hooks of {agent!r} are known, but {' and '.join(AGENTS)}")
        if len(raw) > LARGEST:
            return refusal(agent, None, f"the event is larger than {LARGEST >> 20} MiB")
        try:
            words, known = self._known_as(agent, scope["query_string"], headers.get(b"x-fairlead-project", b""))
        except UsageMistake as mistake:
            return refusal(agent, _event_in(raw), str(mistake))
        asked = known.but(raw=raw, started=started)
        surroundings.enter(self._surroundings)
        begun = self._begun(asked)
        if begun is not None and begun.is_instant:  # larger than what is answered at once
            return body_of(agent, _event_of(begun), begun.answer_now())
        return await _unless_gone(self._answer(asked, words, begun), receive)

    def _known_as(self, agent: str, query: bytes, project: bytes) -> tuple[list[str], Request]:
        """What the address asks for, which is the same with each event of an agent. Raises UsageMistake."""
        found = self._known.get((agent, query, project))
        if found is None:
            words = _words(agent, query.decode("latin-1"), project.decode("utf-8", "surrogateescape"))
            found = words, requested(parse(words), b"", self._home.environ, cwd=self._home.cwd)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[agent, query, project] = found
        return found

    def _begun(self, asked: Request) -> Begun | None:
        """None for what needs a process of its own."""
        if len(asked.raw) > IN_PROCESS:
            return None
        try:
            return answers.begin(asked, self._find)
        except Declined:
            return None

    async def _answer(self, asked: Request, words: list[str], begun: Begun | None) -> bytes:
        """In time, also where too many others are in front of it: who gives us up takes that for a yes."""
        event = _event_in(asked.raw) if begun is None else _event_of(begun)
        try:
            async with asyncio.timeout(_patience(asked) if begun is None else begun.patience()):
                if begun is not None and begun.asks_people:
                    return body_of(asked.agent, event, await begun.answer())
                async with self._slots:
                    answer = await (self._in_a_process(asked, words) if begun is None else begun.answer())
                return body_of(asked.agent, event, answer)
        except TimeoutError:
            return refusal(asked.agent, event, answers.LATE)

    async def _in_a_process(self, asked: Request, words: list[str]) -> Answer:
        from fairlead.installing.commands import program

        half = dialects.agent_half(asked.agent)
        result = await run(
            Run(
                argv=(*program(), "hook", *words),
                cwd=self._home.cwd,
                env=dict(self._home.environ),
                stdin=asked.raw,
                timeout=_patience(asked),
            )
        )
        whole = not (result.error or result.timed_out or result.signal or result.truncated or result.cancelled)
        if not whole:
            why = result.error or ("timed out" if result.timed_out else "was cut short")
            return Answer(reply=half.write_failure("", f"`fairlead hook` {why}"))
        stderr = result.stderr.decode("utf-8", "replace")
        return Answer(reply=dialects.Reply(stdout=result.stdout, stderr=stderr, exit_code=result.exit_code))


def sends_event(scope: Any) -> bool:
    """Whether a request is for `HookEvents`."""
    path: str = scope["path"]
    return path.startswith(_BELOW) and scope["method"] == "POST" and "/" not in path[len(_BELOW) :] and path != _BELOW


def _patience(asked: Request) -> float:
    """Seconds, where it is not known which event it is."""
    deadlines = dialects.agent_half(asked.agent).DEADLINES
    return (asked.patience or min(deadlines["*"], deadlines.get("PreToolUse", deadlines["*"]))) * 0.95


def _words(agent: str, query: str, project: str) -> list[str]:
    """As `fairlead hook` takes them. Raises UsageMistake."""
    words = ["--agent", agent]
    if project:  # empty where the variable that it was to hold is not set
        words += ["--project", project]
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name == "guard" and value in ("", "1", "true"):
            words.append("--guard")
        elif name in _OPTIONS and value:
            words.append(f"--{name}={value}")
        else:
            raise UsageMistake(f"the address asks for {name}={value!r}, which is no option")
    return words


async def _read(receive: Any) -> bytes | None:
    """As much as may be there, and a byte more; None if it never ended."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        if size <= LARGEST:
            parts.append(message.get("body", b""))
            size += len(parts[-1])
        if not message.get("more_body"):
            return b"".join(parts)[: LARGEST + 1]


async def _unless_gone(answering: Any, receive: Any) -> bytes | None:
    """Who hangs up takes the event back: its hooks are ended."""
    task = asyncio.ensure_future(answering)
    gone = asyncio.ensure_future(receive())
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        gone.cancel()
        task.cancel()


async def _send(send: Any, body: bytes, status: int = 200) -> None:
    headers = [_JSON, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _event_in(raw: bytes) -> Event | None:
    """What an event that could not be judged says of itself."""
    try:
        fields = wire.decode_object(raw)
    except InputError:
        return None
    name = fields.get("hook_event_name") or fields.get("hookEventName")
    return OtherEvent(event_name=name) if isinstance(name, str) and name else None


def _event_of(begun: Begun) -> Event | None:
    return _event_in(begun.request.raw) if isinstance(begun.next, Answer) else begun.next.event


def body_of(agent: str, event: Event | None, answer: Answer) -> bytes:
    """What a program would have said with its output, its exit code and its stderr, in JSON alone."""
    reply = answer.reply
    if reply.exit_code:
        return refusal(agent, event, reply.stderr.strip())
    if not reply.stdout.strip() or reply.stdout.lstrip().startswith(b"{"):
        return reply.stdout
    path = reply.stdout.decode("utf-8", "surrogateescape").strip()  # nothing else is printed so: where a worktree is
    name = event.name if event is not None else "WorktreeCreate"
    return _json({"hookSpecificOutput": {"hookEventName": name, "worktreePath": path}})


def refusal(agent: str, event: Event | None, reason: str) -> bytes:
    """In words that stop whatever it may have been, where that is not known."""
    reason = reason or "Blocked by hook"
    if agent == "grok" and (event is None or event.name.lower().replace("_", "") == "pretooluse"):
        return _json({"decision": "deny", "reason": reason})
    if event is None:
        return _json({"continue": False, "stopReason": reason, "decision": "block", "reason": reason})
    if event.name in _ONLY_BY_EXIT_CODE:
        return _json({"continue": False, "stopReason": reason, "systemMessage": reason})
    half = dialects.agent_half(agent)
    return _json(half.write_result(event, Decision(decision="deny", said="block", reason=reason)))


def _json(fields: dict[str, Any]) -> bytes:
    return wire.encode(fields) + b"\n"
