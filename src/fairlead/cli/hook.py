"""fairlead hook [--agent NAME] [--event NAME] [--project DIR] [--trust DIGEST]… [--trust-project]
    [--guard] [--with NAME]…

Be one hook of an agent: its event on stdin, its reply on stdout, with the exit code that it expects.
Runs Fairlead's own hooks and those written for other systems, not those that the agent runs itself.
Without --agent the event must show whose it is; where it can be of several, the answer is a refusal.
"""

from __future__ import annotations

import os
import sys
import time

from fairlead.cli._options import HELP, Options, UsageMistake, parse, request
from fairlead.cli._stdin import read_event
from fairlead.cli._stdout import take_stdout, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fairlead.dialects import AgentHalf, Reply

REFUSED = 2
"""What most agents take for a refusal: a mistake in their settings, or of ours, must not switch a guard off."""
STRANGERS_PATIENCE = 2.5
"""Seconds to read an event of an unknown agent: half of what the most impatient of them gives a tool call."""


def main(words: list[str]) -> int:
    try:
        options = parse(words, needs_agent=False)
    except UsageMistake as mistake:
        print(f"fairlead hook: {mistake}", file=sys.stderr)
        return REFUSED
    if options.help:
        print((__doc__ or "") + HELP, end="")
        return 0
    started = time.monotonic()
    try:
        out = take_stdout()
        reply = _answer(options, started)
    except Exception as error:  # noqa: BLE001  # an agent takes a traceback for "go on": refuse instead
        write(2, f"fairlead: {_sentence(error)}\n".encode("utf-8", "replace"))
        os._exit(REFUSED)
    write(2, reply.stderr.encode("utf-8", "replace"))
    delivered = write(out, reply.stdout)
    # Taking the interpreter down would cost 2 ms, and nothing is left to do.
    os._exit(reply.exit_code if delivered else reply.exit_code or REFUSED)


def _answer(options: Options, started: float) -> Reply:
    from fairlead import dialects
    from fairlead.cli._signals import end_hooks_with_us
    from fairlead.surroundings import Surroundings, enter, forget_coerced_locale

    end_hooks_with_us()
    forget_coerced_locale()
    enter(Surroundings(environ=os.environ, process=os.getpid()))
    if options.agent:
        half = dialects.agent_half(options.agent)
        return _reply(options, half, lambda: _event_for(half), started)
    raw = b"" if sys.stdin is None else read_event(STRANGERS_PATIENCE)
    options.agent, doubt = _whose(raw)
    if doubt:
        return dialects.Reply(stderr=f"fairlead hook: {doubt}\n", exit_code=REFUSED)
    return _reply(options, dialects.agent_half(options.agent), lambda: raw, started)


def _event_for(half: AgentHalf) -> bytes:
    in_variable = half.INPUT_VARIABLE and half.INPUT_VARIABLE in os.environ
    return b"" if in_variable or sys.stdin is None else read_event(half.DEADLINES["*"] / 2)


def _reply(options: Options, half: AgentHalf, event: Callable[[], bytes], started: float) -> Reply:
    from fairlead.answering import as_hook, printed

    try:
        answer = as_hook(request(options, event(), started=started))
    except Exception as error:  # noqa: BLE001  # the same, in the agent's own words
        return half.write_failure(options.event, _sentence(error))
    return answer.reply.but(stderr=printed(answer))


def _sentence(error: Exception) -> str:
    """What it quotes may be a stranger's; should that be the trouble, only what kind of error it is."""
    kind = f"internal error: {type(error).__name__}"
    try:
        from fairlead.said import for_model

        return for_model(f"{kind}: {error}")
    except Exception:  # noqa: BLE001  # whatever is broken, the refusal must be said
        return kind


def _whose(raw: bytes) -> tuple[str, str]:
    """Who has sent an event, or why that cannot be said."""
    from fairlead import wire
    from fairlead.errors import FairleadError
    from fairlead.recognising import recognise

    try:
        found = recognise(wire.decode_object(raw), os.environ)
    except FairleadError as error:
        return "", f"{error}; say whose event it is with --agent NAME"
    if len(found) == 1:
        return found[0], ""
    if found:
        return "", f"this event can be of {', '.join(found)}; say of whom with --agent NAME"
    return "", "nobody whom Fairlead knows sends such an event; say whose it is with --agent NAME"
