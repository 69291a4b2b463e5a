"""Brace expansion, which the shell does on the text of a word before anything else."""

from __future__ import annotations

import itertools
import re

from fairlead.guard._lazy import lazy

LIMIT = 256
_TRIES = 32
_LENGTH = 1000
_DEPTH = 20

_RANGE = lazy(r"(-?\d{1,9}|[A-Za-z])\.\.(-?\d{1,9}|[A-Za-z])(?:\.\.(-?\d{1,9}))?\Z")
_STEP = lazy(r"\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\"|\$\{[^}]*\}|[{},]|[^\\'\"${},]+|.", re.DOTALL)


class TooManyError(Exception):
    """More words than anyone writes; the caller asks instead of counting."""


def expand(text: str) -> list[str]:
    """Return the words that brace expansion makes of one unquoted word."""
    if len(text) > _LENGTH:
        raise TooManyError
    found = _first_group(text)
    if found is None:
        return [text]
    start, end, pieces = found
    results: list[str] = []
    tails = expand(text[end:])
    for piece in pieces:
        for middle in expand(piece):
            results += [text[:start] + middle + tail for tail in tails]
            if len(results) > LIMIT:
                raise TooManyError
    return results


def _first_group(text: str) -> tuple[int, int, list[str]] | None:
    """Return where the first real group starts and ends, and its alternatives."""
    for tries, match in enumerate(re.finditer(r"(?<![\\$])\{", text)):
        if tries > _TRIES:
            raise TooManyError
        end, commas = _close(text, match.start())
        if end < 0:
            continue
        pieces = _pieces(text, match.start(), end, commas)
        if pieces:
            return match.start(), end + 1, pieces
    return None


def _close(text: str, start: int) -> tuple[int, list[int]]:
    depth = 0
    commas: list[int] = []
    for step in _STEP.finditer(text, start):
        mark = step[0]
        if mark == "{":
            depth += 1
            if depth > _DEPTH:
                raise TooManyError
        elif mark == "}":
            depth -= 1
            if depth == 0:
                return step.start(), commas
        elif mark == "," and depth == 1:
            commas.append(step.start())
    return -1, commas


def _pieces(text: str, start: int, end: int, commas: list[int]) -> list[str]:
    if commas:
        edges = [start, *commas, end]
        return [text[a + 1 : b] for a, b in itertools.pairwise(edges)]
    match = _RANGE.match(text[start + 1 : end])
    return _range(match) if match else []


def _range(match: re.Match[str]) -> list[str]:
    low, high, step = match.groups()
    if low.lstrip("-").isdigit() != high.lstrip("-").isdigit():
        return []
    numeric = low.lstrip("-").isdigit()
    first, last = (int(low), int(high)) if numeric else (ord(low), ord(high))
    stride = abs(int(step or 1)) or 1
    if abs(last - first) // stride > LIMIT:
        raise TooManyError
    numbers = range(first, last + 1, stride) if first <= last else range(first, last - 1, -stride)
    return [str(n) if numeric else chr(n) for n in numbers]
