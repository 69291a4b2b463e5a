"""Our entries in a TOML file: one block of `[[hooks]]` tables between two comments, which is ours alone."""

from __future__ import annotations

from fairlead import documents
from fairlead.documents import BadDocument
from fairlead.installing import commands
from fairlead.installing.edits import Edit, apply, place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from fairlead.installing.entries import Finder, Wanted
    from fairlead.installing.specs import Install

_NO_CACHE: Mapping[str, str] = {}
BEGIN = "# >>> fairlead: written by `fairlead init`, taken out by `fairlead uninstall`"
END = "# <<< fairlead"


def parse(text: str) -> dict[str, Any]:
    return documents.parse_toml(text.removeprefix("\ufeff"), _NO_CACHE)


def known_calls(text: str, wants: Sequence[Wanted], is_mine: Finder) -> dict[str, commands.Call]:
    events = {want.event for want in wants}
    calls = {}
    for table in _tables(parse(text)):
        call = commands.known(table)
        event = table.get("event", table.get("type"))
        if call is not None and is_mine(table) and event in events:
            calls[str(event)] = call
    return calls


def _tables(data: dict[str, Any]) -> list[dict[str, Any]]:
    hooks = data.get("hooks", [])
    return [table for table in hooks if isinstance(table, dict)] if isinstance(hooks, list) else []


def installed(text: str, wants: Sequence[Wanted], spec: Install, is_mine: Finder) -> tuple[str, list[Edit]]:
    data = parse(text)
    if not isinstance(data.get("hooks", []), list):
        raise BadDocument("hooks must be an array of tables", *_place_of_hooks(text))
    rows = [_table(spec, want) for want in wants]
    edit = _edit(text, data, rows)
    changed = text if edit is None else apply(text, [edit])
    _verify(data, changed, rows, is_mine)
    return changed, [] if edit is None else [edit]


def _table(spec: Install, want: Wanted) -> dict[str, Any]:
    if spec.shape == "named":
        return {"name": f"fairlead-{want.event}", "type": want.event, **want.entry}
    entry = {key: value for key, value in want.entry.items() if key != "type"}
    return {"event": want.event, **entry}


def _edit(text: str, data: dict[str, Any], rows: list[dict[str, Any]]) -> Edit | None:
    newline = "\r\n" if "\r\n" in text else "\n"
    block = _block_span(text)
    inline = _inline_array(text)
    body = _inline(rows, newline) if inline is not None else _block(rows, newline)
    if block is not None:
        start, end = block
        return None if text[start:end] == body else Edit(start=start, end=end, new=body)
    if inline is not None and isinstance(data.get("hooks"), list):
        return Edit(start=inline, end=inline, new=newline + body)
    gap = "" if not text.strip("\ufeff") else newline if text.endswith("\n") else newline * 2
    return Edit(start=len(text), end=len(text), new=gap + body)


def _block(rows: list[dict[str, Any]], newline: str) -> str:
    tables = [["[[hooks]]", *(f"{key} = {_toml(value)}" for key, value in row.items())] for row in rows]
    lines = [BEGIN, *(line for table in tables for line in (*table, ""))][:-1]
    return newline.join((*lines, END, ""))


def _inline(rows: list[dict[str, Any]], newline: str) -> str:
    tables = ["  {" + ", ".join(f"{key} = {_toml(value)}" for key, value in row.items()) + "}," for row in rows]
    return newline.join((f"  {BEGIN}", *tables, f"  {END}", ""))


def _toml(value: object) -> str:
    """JSON's strings, numbers and booleans are TOML's, but for one control character."""
    import json

    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _block_span(text: str) -> tuple[int, int] | None:
    begin, end = text.find(BEGIN), text.find(END)
    if begin < 0 or end < begin:
        return None
    begin = text.rfind("\n", 0, begin) + 1
    stop = text.find("\n", end)
    return begin, len(text) if stop < 0 else stop + 1


def _inline_array(text: str) -> int | None:
    """Behind the bracket of `hooks = [`, before the first table of the file."""
    import re

    head = re.search(r"^[ \t]*\[", text, re.MULTILINE)
    found = re.search(r"^\ufeff?[ \t]*hooks[ \t]*=[ \t]*\[", text, re.MULTILINE)
    return found.end() if found and (head is None or found.start() < head.start()) else None


def _place_of_hooks(text: str) -> tuple[int, int]:
    import re

    found = re.search(r"^[ \t]*\[?\[?[ \t]*hooks\b", text, re.MULTILINE)
    return place(text, found.start()) if found else (1, 1)


def removed(text: str, _original: str | None, _is_mine: Finder) -> str:
    span = _block_span(text)
    if span is None:
        return text
    start, end = span
    before = text[:start]
    if before.endswith(("\n\n", "\r\n\r\n")) and not text[end:].strip():
        before = before[: -2 if before.endswith("\r\n") else -1]
    return before + text[end:]


def _verify(before: dict[str, Any], changed: str, rows: list[dict[str, Any]], is_mine: Finder) -> None:
    """Whatever the text looks like: what is not ours is what it was, and what is ours is what was wanted."""
    try:
        after = parse(changed)
    except BadDocument as error:
        raise BadDocument(f"our hooks do not fit in here ({error})", error.line, error.column) from None
    theirs = [[table for table in _tables(data) if not is_mine(table)] for data in (before, after)]
    rest = [{key: value for key, value in data.items() if key != "hooks"} for data in (before, after)]
    mine = [table for table in _tables(after) if is_mine(table)]
    if theirs[0] != theirs[1] or rest[0] != rest[1]:
        raise BadDocument("this file cannot be changed safely", 1, 1, "please report it; nothing was written")
    if mine != rows:
        hint = "take those out first, then run `fairlead init` again"
        raise BadDocument(
            "Fairlead is called here by entries that were written by hand", *_place_of_hooks(changed), hint
        )
