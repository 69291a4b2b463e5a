"""JSON with comments, as the settings of several agents may be written."""

from __future__ import annotations

from fairlead import documents, wire
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def parse(text: str) -> Any:
    """The value of a settings file; comments count as blanks, so that places in the file stay right."""
    try:
        return wire.decode(text)
    except InputError:
        return documents.parse_json(without_comments(text))


def without_comments(text: str) -> str:
    import re

    words = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
    return words.sub(lambda match: match.group() if match.group().startswith('"') else _blank(match.group()), text)


def _blank(comment: str) -> str:
    return "".join("\n" if letter == "\n" else " " for letter in comment)
