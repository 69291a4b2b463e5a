"""fairlead hook --agent NAME [--event NAME] [--project DIR] [--trust-project] [--with NAME]…

Be one hook of an agent: its event on stdin, its reply on stdout, with the exit code that it expects.
Runs Fairlead's own hooks and those written for other systems, not those that the agent runs itself.
"""

from __future__ import annotations

import os
import sys

from fairlead.cli._options import Options, UsageMistake, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.dialects import Reply

_HELP = (
    (__doc__ or "")
    + """
  --agent NAME      who is calling
  --event NAME      for payloads that do not name their event
  --project DIR     default: the event's cwd
  --trust-project   run the project's hooks too: you vouch for them
  --with NAME       a skill or subagent whose hooks are on
"""
)


def main(words: list[str]) -> int:
    try:
        options = parse(words)
    except UsageMistake as mistake:
        print(f"fairlead hook: {mistake}", file=sys.stderr)
        return 64
    if options.help:
        print(_HELP, end="")
        return 0
    from fairlead.cli._signals import end_hooks_with_us

    out = _take_stdout()
    end_hooks_with_us()
    reply = _answer(options)
    _write(out, reply.stdout)
    _write(2, reply.stderr.encode("utf-8", "replace"))
    os._exit(reply.exit_code)  # taking the interpreter down costs 2 ms, and nothing is left to do


def _answer(options: Options) -> Reply:
    from fairlead import dialects
    from fairlead.answering import Request, as_hook

    half = dialects.agent_half(options.agent)
    try:
        raw = b"" if half.INPUT_VARIABLE and half.INPUT_VARIABLE in os.environ else sys.stdin.buffer.read()
        request = Request(
            agent=options.agent,
            raw=raw,
            event_name=options.event,
            project=options.project,
            trust_project=options.trust_project,
            active=tuple(options.active),
            environ=os.environ,
        )
        answer = as_hook(request)
    except Exception as error:  # noqa: BLE001  # an agent takes a traceback for "go on": refuse instead
        return half.write_failure(options.event, f"internal error: {type(error).__name__}: {error}")
    for note in answer.notes:
        _write(2, f"fairlead: {note}\n".encode("utf-8", "replace"))
    return answer.reply


def _take_stdout() -> int:
    """Keep stdout for the reply: what a hook in this process prints goes to stderr."""
    out = os.dup(1)
    os.dup2(2, 1)
    return out


def _write(out: int, data: bytes) -> None:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(out, view) :]
    except OSError:  # the agent has gone
        pass
