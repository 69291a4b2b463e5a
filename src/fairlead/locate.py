"""Where in a file an entry stands: only for errors, lists and explanations.

Neither `json` nor `tomllib` keep positions, so the text is walked again.
"""

from __future__ import annotations

import re
from functools import lru_cache

from fairlead.documents import LARGEST_FRONT_MATTER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

_NOWHERE = (0, 0)


def position(file: str, path: Sequence[str | int]) -> tuple[int, int]:
    """Line and column, both from 1; zeros when the file cannot be read any more."""
    try:
        with open(file, encoding="utf-8-sig") as stream:
            text = stream.read()
    except (OSError, UnicodeDecodeError):
        return _NOWHERE
    return position_in(text, path, toml=file.endswith(".toml"))


def position_in(text: str, path: Sequence[str | int], *, toml: bool = False) -> tuple[int, int]:
    """The place of the deepest part of `path` that can be found."""
    if text.startswith("---"):
        return _in_front_matter(text, path)
    places, parts = _places(text, toml=toml), tuple(path)
    offset = next((places[parts[:n]] for n in range(len(parts), 0, -1) if parts[:n] in places), 0)
    line = text.count("\n", 0, offset) + 1
    return line, offset - text.rfind("\n", 0, offset)


def _in_front_matter(text: str, path: Sequence[str | int]) -> tuple[int, int]:
    import yaml

    own = text[3:].partition("\n---")[0]
    try:
        node = yaml.compose(own) if len(own) <= LARGEST_FRONT_MATTER else None
    except (yaml.YAMLError, RecursionError):
        return _NOWHERE
    mark: Any = None
    for part in path:
        found = _yaml_child(node, part)
        if found is None:
            break
        mark, node = found
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _yaml_child(node: object, part: str | int) -> tuple[Any, Any] | None:
    import yaml

    if isinstance(node, yaml.MappingNode):
        return next(((key.start_mark, value) for key, value in node.value if key.value == part), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part].start_mark, node.value[part]
    return None


# What never closes reaches to the end: looked for at each place again, it would take for ever.
_JSON_WORD = re.compile(
    r'\s+|//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL
)
_DEEPEST = 200
"""Levels; what is deeper has no place of its own. Nothing that is read is."""


@lru_cache(maxsize=4)  # whoever asks about one hook of a file asks about the others too
def _places(text: str, *, toml: bool) -> dict[tuple[str | int, ...], int]:
    """Where each entry begins, by the path that leads to it; of two with the same path, the first."""
    places: dict[tuple[str | int, ...], int] = {}
    for offset, here in _toml_paths(text) if toml else _json_paths(text):
        places.setdefault(tuple(here), offset)
        if toml:  # [a.b] is where `a` begins, too
            places.setdefault(tuple(here[:1]), offset)
    return places


def json_keys(text: str) -> Iterator[tuple[tuple[str | int, ...], int, int]]:
    """Every key of every object, in order: the path that leads to it, its line and its column."""
    line, counted = 1, 0
    for offset, path in _json_paths(text):
        if isinstance(path[-1], str):
            line, counted = line + text.count("\n", counted, offset), offset
            yield tuple(path), line, offset - text.rfind("\n", 0, offset)


def _json_paths(text: str) -> Iterator[tuple[int, Sequence[str | int]]]:
    """Every key and every list element, with the path that leads to it."""
    stack: list[str | int] = []
    key_comes = False
    for match in _JSON_WORD.finditer(text):
        word = match.group()
        inside = stack[-1] if stack else None
        if word.isspace() or word == ":" or word.startswith(("//", "/*")):
            continue
        if word == ",":
            key_comes = isinstance(inside, str)
            if isinstance(inside, int):
                stack[-1] = inside + 1
        elif word in "}]":
            del stack[-1:]
            key_comes = False
        elif key_comes:
            stack[-1], key_comes = _unquote(word), False
            if len(stack) <= _DEEPEST:
                yield match.start(), list(stack)
        else:
            if isinstance(inside, int) and len(stack) <= _DEEPEST:
                yield match.start(), list(stack)
            key_comes = _open(stack, word)


def _open(stack: list[str | int], word: str) -> bool:
    """Go into an object or a list; whether a key comes next."""
    if word == "{":
        stack.append("")
    elif word == "[":
        stack.append(0)
    return word == "{"


def _unquote(word: str) -> str:
    import json

    try:
        return str(json.loads(word, strict=False))
    except ValueError:
        return word


_TOML_LINE = re.compile(
    r"^[ \t]*(?:\[\[(?P<array>[^\]\n]+)\]\]|\[(?P<table>[^\]\n]+)\]"
    r'|(?P<key>(?![ \t])(?:"[^"\n]*"|\'[^\'\n]*\'|[A-Za-z0-9_. \t-])++)=)',
    re.MULTILINE,
)
_TOML_LONG = re.compile(r'"""(?:[^\\]|\\.)*?(?:"""|\\?\Z)|\'\'\'.*?(?:\'\'\'|\Z)', re.DOTALL)


def _toml_paths(text: str) -> Iterator[tuple[int, Sequence[str | int]]]:
    """Every table and every key, with the path that leads to it."""
    text = _TOML_LONG.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    counts: dict[tuple[str | int, ...], int] = {}
    table: tuple[str | int, ...] = ()
    for match in _TOML_LINE.finditer(text):
        if match["key"]:
            here = (*table, *_toml_key(match["key"]))
        else:
            names = _toml_key(match["array"] or match["table"])
            here = table = _toml_table(names, counts, is_array=bool(match["array"]))
        yield match.start() + match.group().find(match.group().strip()), here


def _toml_table(names: list[str], counts: dict[tuple[str | int, ...], int], *, is_array: bool) -> tuple[str | int, ...]:
    here: tuple[str | int, ...] = ()
    for index, name in enumerate(names):
        here = (*here, name)
        is_last = index == len(names) - 1
        if is_last and is_array:
            counts[here] = counts.get(here, -1) + 1
        if here in counts:
            here = (*here, counts[here])
    return here


def _toml_key(text: str) -> list[str]:
    parts = re.findall(r"\"[^\"]*\"|'[^']*'|[^.\s\"']+", text)
    return [part.strip("\"'") for part in parts[:_DEEPEST]]
