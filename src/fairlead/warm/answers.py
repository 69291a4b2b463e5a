"""An event as it came in, and the bytes that go back."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING

from fairlead import dialects
from fairlead._record import Record
from fairlead.answering import Answer, Understood, printed, understand
from fairlead.cli._options import UsageMistake, parse, request
from fairlead.warm import framing
from fairlead.warm.loaded import Declined

if TYPE_CHECKING:
    from fairlead.answering import Finding, Request
    from fairlead.cli._options import Options
    from fairlead.dialects import AgentHalf
    from fairlead.warm.framing import Asked

INSTANT = frozenset({"guard"})
"""Kinds of handlers that wait for nothing."""
LATE = "the server of Fairlead has not answered in time"


class Begun(Record):
    """An event of somebody who waits for its answer."""

    request: Request
    half: AgentHalf
    next: Understood | Answer

    @property
    def kinds(self) -> frozenset[str]:
        """Of the hooks that look at it."""
        return frozenset() if isinstance(self.next, Answer) else self.next.kinds

    @property
    def is_instant(self) -> bool:
        """Whether nothing has to be waited for: most events need no process and no network."""
        return self.kinds <= INSTANT

    @property
    def asks_people(self) -> bool:
        """Who may take minutes."""
        return "approval" in self.kinds

    def ack(self) -> bytes:
        """What is to be said if we do not answer: before the agent's own patience ends, and after that of ours."""
        failure = self.half.write_failure(self.request.event_name, LATE)
        stderr = failure.stderr.encode("utf-8", "replace")
        return framing.ack(self.patience(), failure.exit_code, failure.stdout, stderr)

    def patience(self) -> float:
        """Seconds from now, in which we answer or never."""
        now = time.monotonic()
        if isinstance(self.next, Answer):
            return 1.0
        begun = self.request.started or now
        whole = self.request.patience or self.half.DEADLINES.get(self.next.event.name, self.half.DEADLINES["*"])
        return (self.next.deadline + begun + whole) / 2 - now

    async def answer(self) -> Answer:
        if isinstance(self.next, Answer):
            return self.next
        try:
            return await self.next.answer()
        except Exception as error:  # noqa: BLE001  # as `fairlead hook` says it
            return _internal(self.half, self.request, error)

    def answer_now(self) -> Answer:
        """For what is instant; without a task, which would cost as much as the rest."""
        if isinstance(self.next, Answer):
            return self.next
        try:
            return self.next.answer_now()
        except Exception as error:  # noqa: BLE001  # the same
            return _internal(self.half, self.request, error)


def call_of(asked: Asked, started: float) -> Request:
    """The request that `fairlead hook` would have made of it. Raises Declined for what it says itself."""
    try:
        options = _options(asked.words)
    except UsageMistake as mistake:
        raise Declined(str(mistake)) from None
    if options.help:
        raise Declined("--help is for people")
    half = dialects.agent_half(options.agent)
    in_variable = half.INPUT_VARIABLE and half.INPUT_VARIABLE in asked.environ
    return request(options, b"" if in_variable else asked.stdin, asked.environ, cwd=asked.cwd, started=started)


@lru_cache(maxsize=64)
def _options(words: tuple[str, ...]) -> Options:
    """An agent says the same ones with each event."""
    return parse(list(words))


def begin(request: Request, find: Finding) -> Begun:
    """Raises Declined."""
    half = dialects.agent_half(request.agent)
    try:
        first = understand(request, find)
    except Declined:
        raise
    except Exception as error:  # noqa: BLE001  # the same
        first = _internal(half, request, error)
    return Begun(request=request, half=half, next=first)


def _internal(half: AgentHalf, request: Request, error: Exception) -> Answer:
    message = f"internal error: {type(error).__name__}: {error}"
    return Answer(reply=half.write_failure(request.event_name, message))


def reply(answer: Answer) -> bytes:
    stderr = printed(answer).encode("utf-8", "replace")
    return framing.reply(answer.reply.exit_code, answer.reply.stdout, stderr)
