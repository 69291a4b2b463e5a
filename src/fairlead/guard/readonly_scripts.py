"""Programs that are given a script: which scripts of ``sed`` and ``awk`` only read."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# What sed cannot write or run with: no w, W, e, r, R, no such flag of s. Both read it the same way.
_PATTERN = r"(?:[^/\\\n]|\\.)*"
_ADDRESS = rf"(?:\d+(?:~\d+)?|\$|/{_PATTERN}/[IM]*)"
_RANGE = rf"(?:{_ADDRESS}(?:\s*,\s*(?:{_ADDRESS}|[+~]\d+))?\s*!?)?"
_SUBSTITUTE = (
    r"s(?P<{0}>[/|,#:@%!])(?:(?!(?P={0}))[^\\\n]|\\[^\n])*(?P={0})(?:(?!(?P={0}))[^\\\n]|\\.)*(?P={0})[gpiIM0-9]*"
)
_COMMAND = lazy(
    rf"[\s;]*{_RANGE}\s*(?:[{{}}]|[pdDPnNhHgGxz=lF](?=\s*(?:[;}}\n]|\Z))|[qQ]\d*(?=\s*(?:[;}}\n]|\Z))"
    rf"|{_SUBSTITUTE.format('a')}(?=\s*(?:[;}}\n]|\Z)))[\s;]*",
    re.DOTALL,
)
_SED_FLAGS = lazy(r"-[nErsuz]+\Z|--(?:quiet|silent|regexp-extended|null-data|separate|unbuffered)\Z")
_LONGEST = 2000


def sed_reads(script: str) -> bool:
    """Say whether a sed script has only commands that print, delete and replace text in the stream."""
    at = 0
    while at < len(script):
        found = _COMMAND.match(script, at)
        if found is None or found.end() == at:
            return False
        at = found.end()
    return len(script) <= _LONGEST


def _sed(args: list[str]) -> list[str] | None:
    """Return the files that are read, or None where something may be written."""
    scripts: list[str] = []
    operands: list[str] = []
    words = iter(args)
    for arg in words:
        if arg.startswith("--expression="):
            scripts.append(arg.partition("=")[2])
        elif arg in ("-e", "-ne", "-nEe", "-Ee", "-nre", "-re", "--expression"):
            scripts.append(next(words, "w"))
        elif arg.startswith("-") and len(arg) > 1:
            if not _SED_FLAGS.match(arg):
                return None
        else:
            operands.append(arg)
    if not scripts:
        scripts, operands = operands[:1], operands[1:]
    return operands if scripts and all(sed_reads(script) for script in scripts) else None


# Words that write, run, load, or read what no operand names. A ">" after "print" is a file.
_AWK_FORBIDDEN = lazy(
    r"system|getline|close|fflush|ENVIRON|PROCINFO|SYMTAB|FUNCTAB|ARGV|ARGC|FILENAME\s*=|@|(?<!\|)\|(?!\|)|\|&|print[^\0]*>(?!=)"
)


def awk_reads(program: str) -> bool:
    """Say whether an awk program only prints."""
    return len(program) <= _LONGEST and _AWK_FORBIDDEN.search(program) is None


def _awk(args: list[str]) -> list[str] | None:
    operands: list[str] = []
    words = iter(args)
    for arg in words:
        if operands or not arg.startswith("-"):
            operands.append(arg)
        elif arg in ("-F", "-v"):
            next(words, "")
        elif not re.match(r"-F.+|-v\w+=", arg, re.DOTALL):
            return None
    return operands[1:] if operands and awk_reads(operands[0]) else None


SCRIPTS: dict[str, Callable[[list[str]], list[str] | None]] = {
    "sed": _sed,
    "gsed": _sed,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
}
