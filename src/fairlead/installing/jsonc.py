"""JSON with comments and trailing commas, edited as text: what is not ours keeps every byte."""

from __future__ import annotations

import json

from fairlead._record import Record
from fairlead.documents import BadDocument
from fairlead.installing.edits import Edit, place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

    Path = tuple[str | int, ...]

_SPACE = " \t\r\n"
_DEEPEST = 200


class Node(Record):
    """A value and where it stands."""

    kind: str
    """`object`, `array` or `scalar`."""
    start: int
    end: int
    value: Any
    members: tuple[Member, ...] = ()


class Member(Record):
    """One entry of an object or array; an array's has no key, and starts where its value does."""

    start: int
    node: Node
    key: str = ""


# --- reading -----------------------------------------------------------------------------------------


def parse(text: str) -> Node:
    """Raises BadDocument. An empty text is no document; see `is_blank`."""
    reader = _Reader(text)
    index = reader.skip(1 if text.startswith("\ufeff") else 0)
    node = reader.value(index, 0)
    end = reader.skip(node.end)
    if end < len(text):
        reader.fail("something follows the end of the document", end)
    return node


def is_blank(text: str) -> bool:
    return not text.lstrip("\ufeff").strip()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.decoder = json.JSONDecoder()

    def fail(self, message: str, index: int) -> NoReturn:
        raise BadDocument(f"not JSON: {message}", *place(self.text, index))

    def skip(self, index: int) -> int:
        """Past white space and comments."""
        for start, end in self.comments(index):
            index = self.skip_space(index)
            if start == index:
                index = end
        return self.skip_space(index)

    def skip_space(self, index: int) -> int:
        while index < len(self.text) and self.text[index] in _SPACE:
            index += 1
        return index

    def comments(self, index: int) -> Iterator[tuple[int, int]]:
        """The comments that come next, with nothing but space between them."""
        while True:
            index = self.skip_space(index)
            if self.text.startswith("//", index):
                end = self.text.find("\n", index)
                end = len(self.text) if end < 0 else end
            elif self.text.startswith("/*", index):
                end = self.text.find("*/", index + 2) + 2
                if end < 2:
                    self.fail("a comment has no end", index)
            else:
                return
            yield index, end
            index = end

    def value(self, index: int, depth: int) -> Node:
        if depth > _DEEPEST:
            self.fail("nested too deeply", index)
        if index >= len(self.text):
            self.fail("the document ends too early", index)
        if self.text[index] == "{":
            return self.container(index, "}", depth)
        if self.text[index] == "[":
            return self.container(index, "]", depth)
        return self.scalar(index)

    def scalar(self, index: int) -> Node:
        try:
            value, end = self.decoder.raw_decode(self.text, index)
        except json.JSONDecodeError as error:
            self.fail(error.msg[0].lower() + error.msg[1:], error.pos)
        except (ValueError, RecursionError):
            self.fail("a value that cannot be read", index)
        return Node(kind="scalar", start=index, end=end, value=value)

    def container(self, start: int, close: str, depth: int) -> Node:
        members: list[Member] = []
        index = self.skip(start + 1)
        while not self.text.startswith(close, index):
            member = self.member(index, depth) if close == "}" else self.item(index, depth)
            members.append(member)
            index = self.skip(member.node.end)
            if self.text.startswith(",", index):
                index = self.skip(index + 1)
            elif not self.text.startswith(close, index):
                self.fail(f"expected ',' or '{close}'", index)
        made: Any = {m.key: m.node.value for m in members} if close == "}" else [m.node.value for m in members]
        kind = "object" if close == "}" else "array"
        return Node(kind=kind, start=start, end=index + 1, value=made, members=tuple(members))

    def item(self, index: int, depth: int) -> Member:
        return Member(start=index, node=self.value(index, depth + 1))

    def member(self, index: int, depth: int) -> Member:
        if not self.text.startswith('"', index):
            self.fail("expected a key in double quotes", index)
        key = self.scalar(index)
        colon = self.skip(key.end)
        if not self.text.startswith(":", colon):
            self.fail("expected ':'", colon)
        return Member(start=index, key=key.value, node=self.value(self.skip(colon + 1), depth + 1))


# --- looking around ----------------------------------------------------------------------------------


def at(text: str, root: Node, path: Path) -> Node | None:
    """The value at a path; None where there is none. A key that stands there twice is nobody's to edit."""
    node = root
    for step in path:
        if node.kind == "object":
            found = [member for member in node.members if member.key == step]
        else:
            found = [member for number, member in enumerate(node.members) if number == step]
        if len(found) > 1:
            line, column = place(text, found[1].start)
            raise BadDocument(f"the key {step!r} is there twice", line, column, "keep one of them")
        if not found:
            return None
        node = found[0].node
    return node


def walk(node: Node, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    yield path, node
    for number, member in enumerate(node.members):
        yield from walk(member.node, (*path, member.key if node.kind == "object" else number))


# --- writing -----------------------------------------------------------------------------------------


class Style(Record):
    indent: str = "  "
    newline: str = "\n"


def style_of(text: str, root: Node) -> Style:
    newline = "\r\n" if "\r\n" in text else "\n"
    for _, node in walk(root):
        for member in node.members:
            outer, inner = line_indent(text, node.start), line_indent(text, member.start)
            if _opens_line(text, member.start) and inner.startswith(outer) and inner != outer:
                return Style(indent=inner[len(outer) :], newline=newline)
    return Style(newline=newline)


def render(value: object, style: Style, margin: str, depth: int = 1) -> str:
    """JSON as this file writes it: `depth` levels over several lines, what is deeper on one."""
    if depth <= 0 or not isinstance(value, (dict, list)) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = margin + style.indent
    if isinstance(value, dict):
        entries = [
            f"{json.dumps(k, ensure_ascii=False)}: {render(v, style, inner, depth - 1)}" for k, v in value.items()
        ]
        opening, closing = "{", "}"
    else:
        entries = [render(item, style, inner, depth - 1) for item in value]
        opening, closing = "[", "]"
    joined = f",{style.newline}{inner}".join(entries)
    return f"{opening}{style.newline}{inner}{joined}{style.newline}{margin}{closing}"


def insertion(text: str, node: Node, entries: list[tuple[str, object]], *, depth: int, style: Style) -> list[Edit]:
    """Edits that put entries at the end of an object or array (whose entries have no key)."""
    if not entries:
        return []
    reader = _Reader(text)
    close = node.end - 1
    is_spread = not node.members or "\n" in text[node.start : close]
    margin = _margin(text, node, style) if is_spread else ""
    shown = [_entry(key, value, style, margin, depth if is_spread else 0) for key, value in entries]
    between = f"{style.newline}{margin}" if is_spread else " "
    if not node.members:
        return _into_empty(text, reader, node, shown, between, style)
    last = node.members[-1].node.end
    comma = reader.skip(last)
    has_comma = text.startswith(",", comma)
    position = _after_comments(reader, comma + 1 if has_comma else last)
    added = "".join(f"{between}{one}," for one in shown)
    if has_comma:
        return [Edit(start=position, end=position, new=added)]
    return _joined(last, position, added[:-1])


def _joined(last: int, position: int, added: str) -> list[Edit]:
    if position == last:
        return [Edit(start=last, end=last, new=f",{added}")]
    return [Edit(start=last, end=last, new=","), Edit(start=position, end=position, new=added)]


def _into_empty(text: str, reader: _Reader, node: Node, shown: list[str], between: str, style: Style) -> list[Edit]:
    """White space in an empty container has no meaning, a comment has."""
    position = _after_comments(reader, node.start + 1)
    closing = style.newline + line_indent(text, node.start)
    added = between + f",{between}".join(shown) + closing
    return [Edit(start=position, end=node.end - 1, new=added)]


def _entry(key: str, value: object, style: Style, margin: str, depth: int) -> str:
    shown = render(value, style, margin, depth)
    return f"{json.dumps(key, ensure_ascii=False)}: {shown}" if key else shown


def _after_comments(reader: _Reader, index: int) -> int:
    for _, end in reader.comments(index):
        index = end
    return index - 1 if reader.text[index - 1] == "\r" else index


def _margin(text: str, node: Node, style: Style) -> str:
    for member in node.members:
        if _opens_line(text, member.start):
            return line_indent(text, member.start)
    return line_indent(text, node.start) + style.indent


def line_indent(text: str, index: int) -> str:
    start = text.rfind("\n", 0, index) + 1
    start += text.startswith("\ufeff", start)
    end = start
    while end < index and text[end] in " \t":
        end += 1
    return text[start:end]


def _opens_line(text: str, index: int) -> bool:
    line = text[text.rfind("\n", 0, index) + 1 : index]
    return not line.strip(" \t")


def removal(text: str, node: Node, numbers: set[int]) -> list[Edit]:
    """Edits that take entries out of an object or array. Comments stay: they are not ours."""
    reader = _Reader(text)
    members = node.members
    kept = [number for number in range(len(members)) if number not in numbers]
    edits = [edit for number in sorted(numbers) for edit in _without(text, reader, node, number, number + 1 in numbers)]
    if kept and kept[-1] < len(members) - 1 and _comma(text, reader, members[-1]) is None:
        comma = _comma(text, reader, members[kept[-1]])  # towards those that go
        edits += [] if comma is None else [Edit(start=comma, end=comma + 1, new="")]
    return edits


def _without(text: str, reader: _Reader, node: Node, number: int, next_goes: bool) -> list[Edit]:
    """From the end of what stands before an entry to its own end, and its comma."""
    member = node.members[number]
    start, end = _behind_what_precedes(text, member), member.node.end
    comma, others = _comma(text, reader, member), []
    if comma is not None and text[end:comma].strip(_SPACE):
        others = [Edit(start=comma, end=comma + 1, new="")]
    elif comma is not None:
        end = comma + 1
    follows = next_goes or text[end:].partition("\n")[0].strip(_SPACE)
    if follows and _ends_line_comment(text, reader, node, number, start):
        start = text.index("\n", start) + 1  # or what follows would become part of that comment
    return [Edit(start=start, end=end, new=""), *others]


def _behind_what_precedes(text: str, member: Member) -> int:
    """Right behind the bracket, comma or comment before an entry."""
    start = member.start
    while text[start - 1] in _SPACE:
        start -= 1
    return start


def _ends_line_comment(text: str, reader: _Reader, node: Node, number: int, index: int) -> bool:
    before = node.members[number - 1] if number else None
    boundary = node.start if before is None else _comma(text, reader, before)
    assert boundary is not None  # noqa: S101  # entries have commas between them
    return any(text.startswith("//", begin) and begin < index <= end for begin, end in reader.comments(boundary + 1))


def _comma(text: str, reader: _Reader, member: Member) -> int | None:
    index = reader.skip(member.node.end)
    return index if text.startswith(",", index) else None
