"""Patches: which files they touch, and what they add to each."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy

_FILE = lazy(r"\*\*\* (Add|Update|Delete|Create|Remove|Rename) File: (.+)")
_MOVE = lazy(r"\*\*\* (?:Move to|Rename to|Copy to): (.+)|(?:rename|copy) to (.+)")
_OLD = lazy(r"--- (?:[a-z]/)?([^\t\n]+)")
_NEW = lazy(r"\+\+\+ (?:[a-z]/)?([^\t\n]+)")
_AWAY = lazy(r"rename from (.+)")
_SEARCH = lazy(
    r"^(?:<{3,}|-{3,}) ?(?:SEARCH|ORIGINAL)\b.*?^={3,}\s*$(.*?)^(?:>{3,}|\+{3,}) ?(?:REPLACE|UPDATED)\b",
    re.DOTALL | re.MULTILINE,
)


class Change:
    """What a patch does to one file: ``kind`` is write, delete or move."""

    __slots__ = ("added", "kind", "path")

    def __init__(self, kind: str, path: str) -> None:
        self.kind = kind
        self.path = path.strip().strip('"')
        self.added: list[str] = []

    @property
    def text(self) -> str:
        return "\n".join(self.added)


def changes(patch: str) -> list[Change]:
    """Return the changes of a patch, in the form of Codex or as a unified diff, in their order."""
    found: list[Change] = []
    old = ""
    for line in patch.splitlines():
        file, moved = _FILE.match(line), _MOVE.match(line)
        if file:
            found.append(Change("delete" if file[1] in ("Delete", "Remove") else "write", file[2]))
        elif moved:
            found.append(Change("write", moved[1] or moved[2]))
        elif away := _AWAY.match(line):
            found.append(Change("move", away[1]))
        elif header := _OLD.match(line):
            old = header[1]
        elif (header := _NEW.match(line)) and old:
            gone = header[1].strip() == "/dev/null"
            found.append(Change("delete" if gone else "write", old if gone else header[1]))
            old = ""
        elif line.startswith("+") and found:
            found[-1].added.append(line[1:])
    return found


def replaced_text(diff: str) -> str:
    """Return what SEARCH/REPLACE blocks put in; any other text as it is."""
    blocks = _SEARCH.findall(diff)
    return "\n".join(blocks) if blocks else diff
