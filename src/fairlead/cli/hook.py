"""fairlead hook --agent NAME [--event NAME] [--project DIR] [--trust-project] [--guard] [--with NAME]…

Be one hook of an agent: its event on stdin, its reply on stdout, with the exit code that it expects.
Runs Fairlead's own hooks and those written for other systems, not those that the agent runs itself.
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
    from fairlead.dialects import Reply

REFUSED = 2
"""What most agents take for a refusal: a mistake in their settings, or of ours, must not switch a guard off."""


def main(words: list[str]) -> int:
    try:
        options = parse(words)
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
        write(2, f"fairlead: internal error: {type(error).__name__}: {error}\n".encode("utf-8", "replace"))
        os._exit(REFUSED)
    write(2, reply.stderr.encode("utf-8", "replace"))
    delivered = write(out, reply.stdout)
    # Taking the interpreter down would cost 2 ms, and nothing is left to do.
    os._exit(reply.exit_code if delivered else reply.exit_code or REFUSED)


def _answer(options: Options, started: float) -> Reply:
    from fairlead import dialects
    from fairlead.answering import as_hook
    from fairlead.cli._signals import end_hooks_with_us

    end_hooks_with_us()
    half = dialects.agent_half(options.agent)
    try:
        in_variable = half.INPUT_VARIABLE and half.INPUT_VARIABLE in os.environ
        raw = b"" if in_variable or sys.stdin is None else read_event(half.DEADLINES["*"] / 2)
        answer = as_hook(request(options, raw, started=started))
    except Exception as error:  # noqa: BLE001  # the same, in the agent's own words
        return half.write_failure(options.event, f"internal error: {type(error).__name__}: {error}")
    for note in answer.notes:
        write(2, f"fairlead: {note}\n".encode("utf-8", "replace"))
    return answer.reply
