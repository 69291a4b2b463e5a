"""What a model that judges may do to look around: read, list and search, in the project alone.

An answer is always one JSON object, also where it says that something cannot be had.
"""

from __future__ import annotations

import os

from fairlead.models.beneath import Beneath, Refused
from fairlead.models.records import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, Self

    from fairlead.models.beneath import Parts

MOST_BYTES = 256 << 10
"""In one answer, as it is sent."""
USUAL_BYTES = 32 << 10
"""Of a file, where the model does not say how much."""
MOST_ENTRIES = 2_000
_MOST_NAMES = 100_000
"""That are read of one directory, to be put in order."""
_BINARY_HEAD = 8 << 10

_PATH = {"type": "string", "description": "from the project's root"}
_READ = Tool(
    name="read",
    description="Read a text file of the project. A long one comes in parts: go on with the next_offset of the answer.",
    parameters={
        "type": "object",
        "properties": {
            "path": _PATH,
            "offset": {"type": "integer", "description": "the first byte to show; 0 if left out"},
            "limit": {"type": "integer", "description": f"how many bytes; {USUAL_BYTES} if left out"},
        },
        "required": ["path"],
        "additionalProperties": False,
    },
)
_LIST = Tool(
    name="list",
    description="List a directory of the project.",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "from the project's root, which is listed if this is left out"},
            "offset": {"type": "integer", "description": "how many entries to pass over; 0 if left out"},
        },
        "additionalProperties": False,
    },
)
_SEARCH = Tool(
    name="search",
    description="Search the project's text files for a regular expression (RE2), line by line.",
    parameters={
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "path": {"type": "string", "description": "a directory or a file; all of the project if left out"},
            "glob": {"type": "string", "description": "which files, such as *.py or src/**/*.ts; all if left out"},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    },
)
TOOLS = (_READ, _LIST, _SEARCH)


class Looking:
    """The tools at work. To be closed."""

    def __init__(self, project: str, deadline: float, *, secrets: bool = False) -> None:
        self._deadline = deadline
        self._beneath = Beneath(project, secrets=secrets)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._beneath.__exit__(kind, error, trace)

    def answer(self, name: str, arguments: dict[str, Any]) -> str:
        """What the model gets to read; never an exception."""
        try:
            return self._do(_tool(name), arguments)
        except Refused as why:
            return encoded({"error": str(why)[:1000]})
        except (OSError, ValueError, RecursionError, MemoryError) as error:
            return encoded({"error": f"this cannot be had: {error}"[:1000]})

    def _do(self, tool: Tool, arguments: dict[str, Any]) -> str:
        does: dict[str, Callable[..., str]] = {"read": self._read, "list": self._list, "search": self._search}
        return does[tool.name](**_checked(tool, arguments))

    def _read(self, path: str, offset: int = 0, limit: int = USUAL_BYTES) -> str:
        parts = self._beneath.parts(path)
        opened = self._beneath.file(parts)
        try:
            head = os.pread(opened.file, _BINARY_HEAD, 0)
            data = os.pread(opened.file, max(1, min(limit, MOST_BYTES)), offset)
        finally:
            os.close(opened.file)
        about = {"path": "/".join(parts), "size": opened.size}
        if b"\0" in head or b"\0" in data:
            return encoded({**about, "binary": True, "note": "it is not text, and not shown"})
        return _fitting(lambda amount: about | _shown(data[:amount], offset, opened.size), len(data))

    def _list(self, path: str = "", offset: int = 0) -> str:
        parts = self._beneath.parts(path)
        entries, complete = self._entries(parts)
        names = sorted(entries)

        def build(amount: int) -> dict[str, Any]:
            page = names[offset : offset + amount]
            answer: dict[str, Any] = {"path": "/".join(parts) or "."}
            for kind in ("directories", "files", "links", "others"):
                if found := [name for name in page if entries[name] == kind]:
                    answer[kind] = found
            answer["entries"] = len(names) if complete else f"more than {len(names)}"
            if offset + len(page) < len(names):
                answer |= {"next_offset": offset + len(page), "note": "there are more: list with this offset"}
            elif not complete:
                answer["note"] = "not all of them can be listed: search with a glob"
            return answer

        return _fitting(build, MOST_ENTRIES)

    def _entries(self, parts: Parts) -> tuple[dict[str, str], bool]:
        """Names and what they are; and whether these are all."""
        directory = self._beneath.directory(parts)
        try:
            return _scanned(directory)
        finally:
            os.close(directory)

    def _search(self, pattern: str, path: str = "", glob: str = "") -> str:
        from fairlead.models.searching import Search

        search = Search(self._beneath, self._entries, pattern, glob, self._deadline)
        found = search.run(self._beneath.parts(path))
        return _fitting(found.answer, max(len(found.matches), 1))


def encoded(answer: dict[str, Any]) -> str:
    from fairlead.models.framing import as_data

    return as_data(answer)


def _fitting(build: Callable[[int], dict[str, Any]], amount: int) -> str:
    """As much of it as one answer may hold."""
    text = encoded(build(amount))
    while len(text.encode()) > MOST_BYTES and amount > 1:
        amount //= 2
        text = encoded(build(amount))
    return text


def _scanned(directory: int) -> tuple[dict[str, str], bool]:
    found: dict[str, str] = {}
    with os.scandir(directory) as entries:
        for entry in entries:
            if len(found) == _MOST_NAMES:
                return found, False
            found[entry.name] = _kind(entry)
    return found, True


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "links"
    if entry.is_dir(follow_symlinks=False):
        return "directories"
    return "files" if entry.is_file(follow_symlinks=False) else "others"


def _shown(data: bytes, offset: int, size: int) -> dict[str, Any]:
    if offset + len(data) < size:
        data = _whole_characters(data)
    end = offset + len(data)
    shown: dict[str, Any] = {"offset": offset, "text": data.decode("utf-8", "replace")}
    if end < size:
        shown |= {"next_offset": end, "note": "cut: more follows; read on with this offset"}
    return shown


def _whole_characters(data: bytes) -> bytes:
    """Without the beginning of a character whose end was cut off."""
    for back in range(1, min(4, len(data))):
        byte = data[-back]
        if byte >= 0xC0:
            needed = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2
            return data[:-back] if needed > back else data
        if byte < 0x80:
            break
    return data


def _tool(name: str) -> Tool:
    for tool in TOOLS:
        if tool.name == name:
            return tool
    raise Refused(f"there is no such tool; there are {', '.join(tool.name for tool in TOOLS)}")


def _checked(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments as the tool's schema wants them; null is as good as left out."""
    known = tool.parameters["properties"]
    given = {name: value for name, value in arguments.items() if value is not None}
    for name, value in given.items():
        if name not in known:
            raise Refused(f"{tool.name} has no argument {name[:80]!r}; it has {', '.join(known)}")
        _check(name, value, known[name]["type"])
    for name in tool.parameters.get("required", ()):
        if name not in given:
            raise Refused(f"{tool.name} needs the argument {name!r}")
    return given


def _check(name: str, value: object, kind: str) -> None:
    if kind == "string" and not isinstance(value, str):
        raise Refused(f"the argument {name!r} must be a string")
    if kind == "integer" and (not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 62):
        raise Refused(f"the argument {name!r} must be a whole number that is not negative")
