"""Our entries in a YAML file: items of the lists below `hooks`, added and removed as whole lines."""

from __future__ import annotations

import json

from fairlead import documents
from fairlead.documents import BadDocument
from fairlead.installing import commands
from fairlead.installing.edits import Edit, by_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from fairlead.installing.entries import Finder, Wanted
    from fairlead.installing.specs import Install


def parse(text: str) -> Any:
    return documents.parse_yaml(text)


def _hooks(text: str) -> dict[str, list[Any]]:
    data = parse(text)
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise BadDocument("the file must hold a mapping", 1, 1)
    hooks = data.get("hooks") or {}
    if not isinstance(hooks, dict) or any(not isinstance(items or [], list) for items in hooks.values()):
        node = _value(_root(text), "hooks")
        raise BadDocument("hooks must be a mapping of lists", node.start_mark.line + 1, node.start_mark.column + 1)
    return {str(event): items or [] for event, items in hooks.items()}


def known_calls(text: str, wants: Sequence[Wanted], is_mine: Finder) -> dict[str, commands.Call]:
    hooks = _hooks(text)
    found = {}
    for want in wants:
        for item in hooks.get(want.event, []):
            call = commands.known(item)
            if call is not None and is_mine(item):
                found[want.event] = call
    return found


def installed(text: str, wants: Sequence[Wanted], _spec: Install, is_mine: Finder) -> tuple[str, list[Edit]]:
    hooks = _hooks(text)
    rows = {want.event: {key: value for key, value in want.entry.items() if key != "type"} for want in wants}
    mine = {event: [item for item in items if is_mine(item)] for event, items in hooks.items()}
    if {event: items for event, items in mine.items() if items} == {event: [row] for event, row in rows.items()}:
        return text, []
    bare = removed(text, None, is_mine)
    changed = _added(bare, rows)
    _verify(text, changed, rows, is_mine)
    return changed, by_line(text, changed)


# --- nodes -------------------------------------------------------------------------------------------


def _root(text: str) -> Any:
    import yaml

    from fairlead.documents import BadDocument

    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise BadDocument(str(error.problem), mark.line + 1 if mark else 1, mark.column + 1 if mark else 1) from None


def _value(node: Any, key: str) -> Any:
    for name, value in node.value if node is not None and hasattr(node, "value") else ():
        if name.value == key:
            return value
    return None


def _key_column(mapping: Any) -> int:
    return int(mapping.value[0][0].start_mark.column)


def _is_block(node: Any) -> bool:
    return node is not None and isinstance(node.value, list) and bool(node.value) and not node.flow_style


# --- putting in --------------------------------------------------------------------------------------


def _added(text: str, rows: dict[str, dict[str, Any]]) -> str:
    for event, row in rows.items():
        text = _with_row(text, event, row)
    return text


def _with_row(text: str, event: str, row: dict[str, Any]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    root = _root(text)
    hooks = _value(root, "hooks")
    if hooks is None:
        gap = newline if text.strip("\ufeff") and not text.endswith("\n") else ""
        return text + gap + _lines(newline, "hooks:", f"  {event}:", *_item(row, 4))
    if not _is_block(hooks):
        return _into_empty(text, hooks, newline, [f"  {event}:", *_item(row, 4)])
    events, column = _value(hooks, event), _key_column(hooks)
    if events is None:
        return _after(text, hooks, newline, [f"{' ' * column}{event}:", *_item(row, column + 2)])
    if not _is_block(events):
        return _into_empty(text, events, newline, _item(row, column + 2))
    return _after(text, events, newline, _item(row, int(events.start_mark.column)))


def _item(row: dict[str, Any], column: int) -> list[str]:
    pairs = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in row.items()]
    return [f"{' ' * column}- {pairs[0]}", *(f"{' ' * column}  {pair}" for pair in pairs[1:])]


def _lines(newline: str, *lines: str) -> str:
    return "".join(line + newline for line in lines)


def _into_empty(text: str, node: Any, newline: str, lines: list[str]) -> str:
    """In the place of `{}`, `[]`, `null` or nothing."""
    if node.value and isinstance(node.value, list):
        mark = node.start_mark
        raise BadDocument(
            "hooks in {} or [] cannot be added to", mark.line + 1, mark.column + 1, "one per line, please"
        )
    start, end = node.start_mark.index, node.end_mark.index
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    body = newline + _lines(newline, *lines)
    head = text[:start].rstrip(" ") if start < end else text[:start]
    rest = text[end:line_end].rstrip("\r")
    return head + (rest if rest.strip() else "") + body + text[line_end + 1 :]


def _after(text: str, node: Any, newline: str, lines: list[str]) -> str:
    """Behind the last line of a block; comments and blank lines after it stay where they are."""
    end = node.end_mark.index
    taken = text[:end].splitlines(keepends=True)
    if end < len(text) and taken and not taken[-1].endswith("\n"):
        taken.pop()  # the beginning of the line where the next block starts
    while taken and (not taken[-1].strip() or taken[-1].lstrip().startswith("#")):
        taken.pop()
    head = "".join(taken)
    gap = "" if head.endswith("\n") else newline
    return head + gap + _lines(newline, *lines) + text[len(head) :]


# --- taking out --------------------------------------------------------------------------------------


def removed(text: str, original: str | None, is_mine: Finder) -> str:
    before = _hooks(original) if original else {}
    had_hooks = original is not None and isinstance(parse(original), dict) and "hooks" in parse(original)
    while True:
        span = _first_ours(text, is_mine, keep_events=set(before), keep_hooks=had_hooks)
        if span is None:
            return text
        text = text[: span[0]] + text[span[1] :]


def _first_ours(text: str, is_mine: Finder, *, keep_events: set[str], keep_hooks: bool) -> tuple[int, int] | None:
    """The lines of one entry of ours, with the event or the whole of `hooks` where nothing else is in them."""
    hooks = _value(_root(text), "hooks")
    values = _hooks(text)
    if not _is_block(hooks):
        return None
    for name, items in hooks.value:
        for number, value in enumerate(values[str(name.value)]):
            if is_mine(value):
                is_alone = len(items.value) == 1
                if not is_alone or name.value in keep_events:
                    return _span(text, items.value[number])
                if len(hooks.value) > 1 or keep_hooks:
                    return _span(text, items, name)
                key = next(key for key, _ in _root(text).value if key.value == "hooks")
                return _span(text, hooks, key)
    return None


def _span(text: str, node: Any, key: Any = None) -> tuple[int, int]:
    """Whole lines, from the key (or the dash) to the end of the value."""
    start = text.rfind("\n", 0, (key or node).start_mark.index) + 1
    return start, _last_line_end(text, node.end_mark.index)


def _last_line_end(text: str, end: int) -> int:
    taken = text[:end].splitlines(keepends=True)
    if end < len(text) and taken and not taken[-1].endswith("\n"):
        if taken[-1].strip():
            line_end = text.find("\n", end)
            return len(text) if line_end < 0 else line_end + 1
        taken.pop()
    while taken and (not taken[-1].strip() or taken[-1].lstrip().startswith("#")):
        taken.pop()
    return len("".join(taken))


# --- being sure --------------------------------------------------------------------------------------


def _verify(before: str, after: str, rows: dict[str, dict[str, Any]], is_mine: Finder) -> None:
    old, new = (_without(text, is_mine) for text in (before, after))
    mine = {event: [item for item in items if is_mine(item)] for event, items in _hooks(after).items()}
    if old != new or {event: items for event, items in mine.items() if items} != {e: [row] for e, row in rows.items()}:
        raise BadDocument("this file cannot be changed safely", 1, 1, "please report it; nothing was written")


def _without(text: str, is_mine: Finder) -> dict[str, Any]:
    data = dict(parse(text) or {})
    hooks = {event: [item for item in items if not is_mine(item)] for event, items in _hooks(text).items()}
    data.pop("hooks", None)
    return {**data, "hooks": {event: items for event, items in hooks.items() if items}}
