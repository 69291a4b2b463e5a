"""fairlead fire --agent NAME [--event NAME] [--project DIR] [--trust-project] [--with NAME]…

Be an agent's hook engine: one event on stdin in its dialect, all hooks that are configured for it
run, one JSON answer on stdout.
"""

from __future__ import annotations

import os
import sys

from fairlead.cli._options import Options, UsageMistake, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.answering import Result

_HELP = (
    (__doc__ or "")
    + """
  --agent NAME      whose engine to be
  --event NAME      for payloads that do not name their event
  --project DIR     default: the event's cwd, or the working directory
  --trust-project   run the project's hooks too: you vouch for them
  --with NAME       a skill or subagent whose hooks are on
"""
)


def main(words: list[str]) -> int:
    try:
        options = parse(words)
    except UsageMistake as mistake:
        print(f"fairlead fire: {mistake}", file=sys.stderr)
        return 64
    if options.help:
        print(_HELP, end="")
        return 0
    from fairlead import wire
    from fairlead.cli._signals import end_hooks_with_us

    end_hooks_with_us()
    out, sys.stdout = sys.stdout, sys.stderr  # what a hook in this process prints is not our answer
    result = _answer(options)
    for note in result.notes:
        print(f"fairlead: {note}", file=sys.stderr)
    print(wire.encode_text(result.answer), file=out, flush=True)  # nobody else would: it is not sys.stdout now
    return 0


def _answer(options: Options) -> Result:
    from fairlead.answering import Request, as_engine, refused

    try:
        request = Request(
            agent=options.agent,
            raw=sys.stdin.buffer.read(),
            event_name=options.event,
            project=options.project,
            trust_project=options.trust_project,
            active=tuple(options.active),
            environ=os.environ,
        )
        return as_engine(request)
    except Exception as error:  # noqa: BLE001  # an agent takes a traceback for "go on": refuse instead
        return refused(options.agent, f"internal error: {type(error).__name__}: {error}")
