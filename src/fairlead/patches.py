"""Patches of the form `*** Begin Patch`: which files they touch, and the single calls that they amount to."""

from __future__ import annotations

import os

from fairlead._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Call = tuple[str, dict[str, Any]]

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_MARKS = {"*** Add File: ": "add", "*** Update File: ": "update", "*** Delete File: ": "delete"}
_MOVE = "*** Move to: "
_END_OF_FILE = "*** End of File"


class Section(Record):
    """What a patch does to one file."""

    kind: str
    """add, update or delete"""
    path: str
    moved_to: str = ""
    lines: tuple[str, ...] = ()

    @property
    def hunks(self) -> list[list[str]]:
        found: list[list[str]] = [[]]
        for line in self.lines:
            if line.startswith("@@"):
                found.append([])
            elif line != _END_OF_FILE:
                found[-1].append(line)
        return [hunk for hunk in found if hunk]

    def text(self, leave_out: str) -> str:
        """The old text is all but the added lines; the new one all but the removed ones."""
        return "\n".join("\n".join(line[1:] for line in hunk if not line.startswith(leave_out)) for hunk in self.hunks)


def sections(text: str) -> list[Section]:
    """In order. Readers of patches overlook blanks before a heading, so we do."""
    found: list[Section] = []
    for line in text.replace("\r\n", "\n").rstrip("\n").split("\n"):
        unchanged = line[:1] == " " and bool(found) and found[-1].kind == "update"
        heading = "" if unchanged else line.strip()  # a line of the file may say anything
        mark = next((mark for mark in _MARKS if heading.startswith(mark)), "")
        if mark:
            found.append(Section(kind=_MARKS[mark], path=heading[len(mark) :].strip()))
        elif found and heading.startswith(_MOVE):
            found[-1] = found[-1].but(moved_to=heading[len(_MOVE) :].strip())
        elif found and (heading not in (_BEGIN, _END)):
            found[-1] = found[-1].but(lines=(*found[-1].lines, line))
    return found


def calls(text: str, cwd: str = "") -> list[Call]:
    """One call for each file that is touched: `Write` for a new one, `Edit` for a change; a move is both."""
    return [_call(section, path, cwd) for _, section, path in _places(text)]


def _places(text: str) -> list[tuple[int, Section, str]]:
    found = []
    for index, section in enumerate(sections(text)):
        found.append((index, section, section.path))
        if section.moved_to:
            found.append((index, section, section.moved_to))
    return found


def _call(section: Section, path: str, cwd: str) -> Call:
    whole = os.path.join(cwd, path) if cwd else path
    if section.kind == "add" or (section.moved_to and path == section.moved_to):
        return "Write", {"file_path": whole, "content": _ended(section.text("-"))}
    if section.kind == "delete":
        return "Edit", {"file_path": whole, "old_string": "", "new_string": "", "deleted": True}
    return "Edit", {"file_path": whole, "old_string": section.text("+"), "new_string": section.text("-")}


def _ended(text: str) -> str:
    return f"{text}\n" if text and not text.endswith("\n") else text


def with_call(text: str, place: int, wanted: dict[str, Any], cwd: str) -> str:
    """The patch with one of its calls changed; empty where a patch cannot say that."""
    places = _places(text)
    if place >= len(places):
        return ""
    index, section, path = places[place]
    if section.moved_to or section.kind == "delete" or (section.kind == "update" and len(section.hunks) != 1):
        return ""
    name, shown = _call(section, path, cwd)
    target = path if wanted.get("file_path") == shown["file_path"] else wanted.get("file_path")
    changed = _section(name, {**wanted, "file_path": target})
    if changed is None:
        return ""
    parts = sections(text)
    parts[index] = changed
    return _render(parts)


def of_call(name: str, tool_input: dict[str, Any]) -> str:
    """A patch that does what one call does; empty where the call does not say it."""
    section = _section(name, tool_input)
    return "" if section is None else _render([section])


def _section(name: str, tool_input: dict[str, Any]) -> Section | None:
    path = tool_input.get("file_path")
    texts = [tool_input.get(key) for key in (("content",) if name == "Write" else ("old_string", "new_string"))]
    if not isinstance(path, str) or not path or "\n" in path or not all(isinstance(text, str) for text in texts):
        return None
    if name == "Write":
        return Section(kind="add", path=path, lines=_marked("+", str(texts[0])))
    lines = ("@@", *_marked("-", str(texts[0])), *_marked("+", str(texts[1])))
    return Section(kind="update", path=path, lines=lines)


def _marked(mark: str, text: str) -> tuple[str, ...]:
    return tuple(mark + line for line in text.removesuffix("\n").split("\n")) if text else ()


def call_of(text: str, name: str, tool_input: dict[str, Any]) -> dict[str, Any] | None:
    """The input of one call that a patch amounts to; None where it is more than that, or another kind of call."""
    found = calls(text)
    if len(found) != 1 or found[0][0] != name or found[0][1].get("deleted"):
        return None
    return {**tool_input, **found[0][1]}


def _render(parts: list[Section]) -> str:
    lines = [_BEGIN]
    marks = {kind: mark for mark, kind in _MARKS.items()}
    for part in parts:
        lines.append(marks[part.kind] + part.path)
        if part.moved_to:
            lines.append(_MOVE + part.moved_to)
        lines += part.lines
    return "\n".join([*lines, _END])
