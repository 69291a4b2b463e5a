"""Text as a person must see it: nothing invisible, nothing that reorders, nothing that looks like something else.

`shown` is injective: two different texts never look the same, so what is approved is what will run.
"""

from __future__ import annotations

import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs", "Mn", "Me"})
"""Categories that are invisible, reorder, combine with what stands before, or have no fixed look."""
_BLANK_RUN = 8
OPEN, CLOSE = "⟨", "⟩"
"""Around a name for what cannot be shown; these two themselves are shown by name."""
_INVISIBLE_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800")


def shown(text: str) -> str:
    """Each character, or its name in ⟨…⟩; line ends and single blanks stay."""
    if text.isascii() and text.isprintable() and "        " not in text:
        return text
    return "\n".join(_line(line) for line in text.split("\n"))


def _line(line: str) -> str:
    inside = line.lstrip("\t")
    parts: list[str] = ["\t" * (len(line) - len(inside))] if inside != line and inside else []
    blanks = 0
    for character in inside if parts else line:
        if character == " ":
            blanks += 1
            continue
        parts.append(_blanks(blanks, at_start=not parts))
        blanks = 0
        parts.append(_character(character))
    if blanks:
        parts.append(f"{OPEN}{blanks} spaces{CLOSE}" if blanks > 1 else f"{OPEN}space{CLOSE}")
    return "".join(parts)


def _blanks(count: int, *, at_start: bool) -> str:
    """Indentation stays; a long run elsewhere, or a very long one, could push text out of sight."""
    if count <= (64 if at_start else _BLANK_RUN):
        return " " * count
    return f"{OPEN}{count} spaces{CLOSE}"


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
