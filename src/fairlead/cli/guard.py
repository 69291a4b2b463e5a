"""What a shell command does, and what the guard says to it. Nothing is run.

The exit code is 1 if the guard would ask or deny, and 0 if it has nothing against the command.
With --batch, stdin has a command as a JSON string on each line, and each gets a line of JSON back.
"""

from __future__ import annotations

import sys

from fairlead.cli import _show
from fairlead.handlers.guard import PACKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from fairlead.guard import Finding, Guard

_FIELDS = ("decision", "rule", "pack", "reason", "words", "suggestion")


def main(words: list[str]) -> int:
    return _show.ending(_main, "guard", words)


def _main(words: list[str]) -> int:
    parser = _show.parser("guard", __doc__ or "")
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="one shell command")
    parser.add_argument("--batch", action="store_true", help="judge the commands on stdin")
    parser.add_argument("--explain", action="store_true", help="show step by step how the command was read")
    parser.add_argument(
        "--pack", action="append", choices=PACKS, metavar="NAME", help="only this pack; may be repeated"
    )
    parser.add_argument("--auto-allow", action="append", choices=("read-only",), default=[], metavar="KIND",
                        help="allow what only reads the project: read-only")  # fmt: skip
    parser.add_argument("--project", metavar="DIR", help="default: the working directory")
    options = parser.parse_args(words)
    if options.batch == (options.command is not None):
        parser.error("say either one COMMAND or --batch")
    guard = _guard(options.pack or PACKS, options.auto_allow, options.project)
    if options.batch:
        return _batch(guard, sys.stdin)
    finding, steps = guard.explain(options.command)
    _print(finding, steps if options.explain else (), as_json=options.json)
    return 1 if finding.decision in ("ask", "deny") else 0


def _guard(packs: Sequence[str], auto_allow: Sequence[str], project: str | None) -> Guard:
    import os

    from fairlead.guard import Guard

    folder = os.path.abspath(project or _show.here())
    return Guard(packs=packs, auto_allow=auto_allow, project=folder, home=os.path.expanduser("~"))


def _print(finding: Finding, steps: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        _show.print_json({**_fields(finding), "steps": list(steps)} if steps else _fields(finding))
        return
    page = _show.Page()
    for step in steps:
        page.line([(step, "dim")])
    if finding.decision == "none":
        page.line("nothing against it")
        return
    page.line([(finding.decision, finding.decision), (f"  {finding.reason}", "")])
    rows = [("rule", finding.rule), ("instead", finding.suggestion)]
    page.rows([row for row in rows if row[1]], widths=(7,), indent=2)


def _fields(finding: Finding) -> dict[str, Any]:
    return {name: getattr(finding, name) for name in _FIELDS}


def _batch(guard: Guard, lines: Iterable[str]) -> int:
    from fairlead import wire

    for number, line in enumerate(lines, 1):
        if line.strip():
            print(wire.encode_text(_judged(guard, line, number)), flush=True)
    return 0


def _judged(guard: Guard, line: str, number: int) -> dict[str, Any]:
    from fairlead import wire
    from fairlead.errors import InputError

    try:
        command = wire.decode(line)
        problem = "" if isinstance(command, str) else "expected a JSON string"
    except InputError as error:
        problem = str(error)
    if problem:  # never silence: what cannot be read may be anything
        return {"decision": "ask", "rule": "guard.unreadable", "reason": f"line {number}: {problem}"}
    return _fields(guard.command(command))
