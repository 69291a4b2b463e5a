"""fairlead fire --agent NAME [--event NAME] [--project DIR] [--trust DIGEST]… [--trust-project]
    [--guard] [--with NAME]…

Be an agent's hook engine: one event on stdin in its dialect, all hooks that are configured for it
run, one JSON answer on stdout.
"""

from __future__ import annotations

import sys

from fairlead.cli._options import HELP, Options, UsageMistake, parse, request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.answering import Result


def main(words: list[str]) -> int:
    try:
        options = parse(words)
    except UsageMistake as mistake:
        print(f"fairlead fire: {mistake}", file=sys.stderr)
        return 64
    if options.help:
        print((__doc__ or "") + HELP, end="")
        return 0
    from fairlead import wire
    from fairlead.cli._signals import end_hooks_with_us
    from fairlead.cli._stdout import take_stdout, write

    end_hooks_with_us()
    try:
        out = take_stdout()
    except OSError:
        return _undelivered()
    result = _answer(options)
    for note in result.notes:
        write(2, f"fairlead: {note}\n".encode("utf-8", "replace"))
    return 0 if write(out, wire.encode(result.answer) + b"\n") else _undelivered()


def _undelivered() -> int:
    print("fairlead fire: the answer could not be written to stdout", file=sys.stderr)
    return 74


def _answer(options: Options) -> Result:
    from fairlead.answering import as_engine, refused

    try:
        return as_engine(request(options, sys.stdin.buffer.read()))
    except Exception as error:  # noqa: BLE001  # an agent takes a traceback for "go on": refuse instead
        from fairlead.said import for_model

        return refused(options.agent, for_model(f"internal error: {type(error).__name__}: {error}"))
