"""Text as a person must see it: nothing invisible, nothing that reorders, nothing that looks like something else.

`shown` is injective: two different texts never look the same, so what is approved is what will run.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs", "Mn", "Me"})
"""Categories that are invisible, reorder, combine with what stands before, or have no fixed look."""
_BLANK_RUN = 8
_DEEPEST, _DEEPEST_BLANKS = 16, 64
"""Tabs and blanks at the start of a line that may be indentation."""
OPEN, CLOSE = "⟨", "⟩"
"""Around a name for what cannot be shown; these two themselves are shown by name."""
_INVISIBLE_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\U0001d159")


def shown(text: str) -> str:
    """Each character, or its name in ⟨…⟩; line ends and single blanks stay."""
    if text.isascii() and text.isprintable() and "        " not in text:
        return text
    return "\n".join(_lines(text.split("\n")))


def _lines(lines: list[str]) -> Iterator[str]:
    """Many empty ones could push the rest out of sight: they become one that says how many."""
    for empty, group in groupby(lines, key=lambda line: not line):
        found = list(group)
        if empty and len(found) > _BLANK_RUN:
            yield f"{OPEN}{len(found)} empty lines{CLOSE}"
        else:
            yield from map(_line, found)


def _line(line: str) -> str:
    inside = line.lstrip("\t")
    tabs = (len(line) - len(inside)) if inside else 0
    text = (inside or line).translate(_names)
    return _tabs(tabs) + _RUNS.sub(lambda run: _blanks(run, indented=tabs > 0), text)


_RUNS = re.compile(rf" {{{_BLANK_RUN + 1},}}| +$")


def _tabs(count: int) -> str:
    return "\t" * count if count <= _DEEPEST else f"{OPEN}{count} tabs{CLOSE}"


def _blanks(run: re.Match[str], *, indented: bool) -> str:
    """Indentation stays; a long run elsewhere, or a very long one, or one at the end, could hide something."""
    count, at_end = len(run[0]), run.end() == len(run.string)
    if not at_end and not indented and run.start() == 0 and count <= _DEEPEST_BLANKS:
        return run[0]
    return f"{OPEN}{count} spaces{CLOSE}" if count > 1 else f"{OPEN}space{CLOSE}"


class _Names(dict[int, str]):
    """What stands for each character; filled as they come."""

    def __missing__(self, code: int) -> str:
        self[code] = found = _character(chr(code))
        return found


_names = _Names()


def _character(character: str) -> str:
    if character in (OPEN, CLOSE) or character in _INVISIBLE_LETTERS:
        return _named(character)
    if character.isascii():
        return character if character.isprintable() else _named(character)
    return _named(character) if unicodedata.category(character) in _HIDDEN else character


def _named(character: str) -> str:
    return f"{OPEN}U+{ord(character):04X}{CLOSE}"


def suspicious(text: str) -> list[str]:
    """Words that mix alphabets, as look-alikes do."""
    found = []
    for word in dict.fromkeys(_words(text)):
        scripts = {_script(character) for character in word if character.isalpha()}
        if len(scripts - {""}) > 1 and scripts & {"LATIN"}:
            found.append(word)
    return found[:20]


def _words(text: str) -> list[str]:
    return [] if text.isascii() else "".join(c if c.isalnum() else " " for c in text).split()


def _script(character: str) -> str:
    if character.isascii():
        return "LATIN"
    return unicodedata.name(character, "").partition(" ")[0]
