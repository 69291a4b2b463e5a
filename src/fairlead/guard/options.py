"""Command-line options as programs read them."""

from __future__ import annotations

from fairlead.guard.shell.nodes import UNKNOWN

_MINIMUM = 3


class Options:
    """The flags and operands of one call."""

    __slots__ = ("flags", "operands", "unknown")

    def __init__(self) -> None:
        self.flags: list[tuple[str, str]] = []
        self.operands: list[str] = []
        self.unknown = False

    def has(self, *names: str) -> bool:
        """Say whether one of these is set: ``-x`` as "x", ``--long`` as "long" or shortened."""
        return any(_same(given, name) for given, _ in self.flags for name in names)

    def value(self, *names: str) -> str:
        """Return the last value of these options, or ""."""
        found = self.values(*names)
        return found[-1] if found else ""

    def values(self, *names: str) -> list[str]:
        return [value for given, value in self.flags if any(_same(given, name) for name in names)]


def _same(given: str, name: str) -> bool:
    if given == name:
        return True
    return len(given) >= _MINIMUM and len(name) > len(given) and name.startswith(given)


def options(
    args: list[str],
    short: str = "",
    long: tuple[str, ...] = (),
    *,
    posix: bool = False,
    words: bool = False,
) -> Options:
    """Read options. ``short`` and ``long`` take a value; ``posix`` stops at the first operand.

    With ``words`` a single dash starts a whole word (``-name``), as terraform and go have it.
    """
    found = Options()
    index = 0
    while index < len(args):
        arg = args[index]
        index += 1
        if arg == "--":
            found.operands += args[index:]
            break
        if arg[:1] != "-" or len(arg) < 2:
            found.operands.append(arg)
            if posix:
                found.operands += args[index:]
                break
        elif arg.startswith("--") or words:
            index = _long(found, arg.lstrip("-"), args, index, long)
        else:
            index = _short(found, arg[1:], args, index, short)
    return found


def _long(found: Options, text: str, args: list[str], index: int, long: tuple[str, ...]) -> int:
    name, equals, value = text.partition("=")
    if UNKNOWN in name:
        found.unknown = True
    if not equals and any(_same(name, option) for option in long) and index < len(args):
        value = args[index]
        index += 1
    found.flags.append((name, value))
    return index


def _short(found: Options, letters: str, args: list[str], index: int, short: str) -> int:
    for position, letter in enumerate(letters):
        if letter == UNKNOWN:
            found.unknown = True
        if letter in short:
            value = letters[position + 1 :]
            if not value and index < len(args):
                value = args[index]
                index += 1
            found.flags.append((letter, value))
            return index
        found.flags.append((letter, ""))
    return index
