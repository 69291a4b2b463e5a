"""Our entries in a JSON settings file: put in, brought up to date, taken out."""

from __future__ import annotations

from fairlead.documents import BadDocument
from fairlead.installing import commands, jsonc
from fairlead.installing.edits import Edit, apply, place
from fairlead.installing.entries import MANAGED, Wanted, core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from fairlead.installing.entries import Finder
    from fairlead.installing.jsonc import Node, Path
    from fairlead.installing.specs import Install


# --- looking -----------------------------------------------------------------------------------------


def document(text: str) -> Node:
    root = jsonc.parse(text)
    if root.kind != "object":
        raise BadDocument("the file must hold an object", *place(text, root.start))
    return root


def ours(root: Node, is_mine: Finder) -> list[tuple[Path, Node]]:
    """Our handlers, outermost first."""
    found: list[tuple[Path, Node]] = []

    def look(path: Path, node: Node) -> None:
        if is_mine(node.value):
            found.append((path, node))
            return
        for number, member in enumerate(node.members):
            look((*path, member.key if node.kind == "object" else number), member.node)

    for member in root.members:
        look((member.key,), member.node)
    return found


def known_calls(text: str, wants: Sequence[Wanted], is_mine: Finder) -> dict[str, commands.Call]:
    """What our entries say today, by event."""
    if jsonc.is_blank(text):
        return {}
    root = document(text)
    calls = {}
    for path, node in ours(root, is_mine):
        want = _wanted_at(path, node, wants)
        call = commands.known(node.value)
        if want is not None and call is not None:
            calls[want.event] = call
    return calls


def _wanted_at(path: Path, node: Node, wants: Sequence[Wanted]) -> Wanted | None:
    for want in wants:
        inside = path[: len(want.path)] == want.path
        if inside and _label(node.value) == _label(core(want.entry)):
            return want
    return None


def _label(value: object) -> object:
    return value.get("trigger") if isinstance(value, dict) else None


# --- putting in --------------------------------------------------------------------------------------


def installed(text: str, wants: Sequence[Wanted], spec: Install, is_mine: Finder) -> tuple[str, list[Edit]]:
    """The text with exactly the wanted entries, and the edits that make it."""
    if jsonc.is_blank(text):
        made = _new_document(text, wants, spec)
        return made, [Edit(start=0, end=len(text), new=made)]
    root = document(text)
    edits, missing = _updated(text, root, list(wants), is_mine)
    edits += added(text, root, missing, spec)
    changed = apply(text, edits)
    _verify(text, changed, wants, spec, is_mine)
    return changed, edits


def _new_document(text: str, wants: Sequence[Wanted], spec: Install) -> str:
    value: dict[str, Any] = dict(spec.root)
    for want in wants:
        _put(value, want.path, want)
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    depth = 1 + max(_depth(inner) for inner in value.values())
    return mark + jsonc.render(value, jsonc.Style(), "", depth) + "\n"


def _put(value: dict[str, Any], path: tuple[str, ...], want: Wanted) -> None:
    for step in path[:-1]:
        value = value.setdefault(step, {})
    if want.key:
        value.setdefault(path[-1], {})[want.key] = want.entry
    else:
        value.setdefault(path[-1], []).append(want.entry)


def _updated(text: str, root: Node, wants: list[Wanted], is_mine: Finder) -> tuple[list[Edit], list[Wanted]]:
    """Entries that are there already: the first of each event is brought up to date, others go."""
    edits: list[Edit] = []
    superfluous: list[Path] = []
    for path, node in ours(root, is_mine):
        want = _wanted_at(path, node, wants)
        if want is None:
            superfluous.append(path)
            continue
        wants.remove(want)
        value = _renewed(node.value, core(want.entry))
        if value != node.value:
            edits.append(Edit(start=node.start, end=node.end, new=jsonc.render(value, jsonc.Style(), "", 0)))
    return [*edits, *pruned(text, root, superfluous, frozenset())], wants


def _renewed(before: Any, wanted: Any) -> Any:
    if not isinstance(before, dict) or not isinstance(wanted, dict):
        return wanted
    return {**wanted, **{key: value for key, value in before.items() if key not in MANAGED}}


def added(text: str, root: Node, wants: Sequence[Wanted], spec: Install) -> list[Edit]:
    style = jsonc.style_of(text, root)
    pending: dict[Path, list[tuple[str, object]]] = {}
    for want in wants:
        where, key, value = _missing_part(text, root, want)
        _merge(pending.setdefault(where, []), key, value)
    missing_root = [(key, value) for key, value in spec.root.items() if jsonc.at(text, root, (key,)) is None]
    if missing_root and wants:
        pending.setdefault((), [])[:0] = missing_root
    return [edit for where, entries in pending.items() for edit in _insert(text, root, where, entries, style)]


def _merge(entries: list[tuple[str, object]], key: str, value: object) -> None:
    """Two events below one new key are one entry."""
    for number, (before, known) in enumerate(entries):
        if key and before == key:
            entries[number] = (key, _joined(known, value))
            return
    entries.append((key, value))


def _joined(one: Any, other: Any) -> Any:
    if isinstance(one, dict):
        return {key: _joined(one[key], other[key]) if key in one and key in other else value
                for key, value in {**one, **other}.items()}  # fmt: skip
    return [*one, *other]


def _missing_part(text: str, root: Node, want: Wanted) -> tuple[Path, str, object]:
    """The deepest container that exists (or the null in its place), the key in it, and what has to go there."""
    for length in range(1, len(want.path) + 1):
        path = want.path[:length]
        node = jsonc.at(text, root, path)
        if node is None:
            return path[:-1], path[-1], _below(want, length)
        if node.value is None:
            return path, "", _below(want, length)
        _expect_container(text, node, want, length)
        if length == len(want.path) and node.kind == "object":
            return path, want.key, want.entry
    return want.path, "", want.entry


def _below(want: Wanted, length: int) -> object:
    """The value at the first steps of a path, with the rest of the path inside."""
    value: object = {want.key: want.entry} if want.key else [want.entry]
    for step in reversed(want.path[length:]):
        value = {step: value}
    return value


def _expect_container(text: str, node: Node, want: Wanted, length: int) -> None:
    is_last = length == len(want.path)
    kinds = ("object", "array") if is_last and want.key else ("array",) if is_last else ("object",)
    if node.kind not in kinds:
        what = "a list" if kinds == ("array",) else "an object"
        raise BadDocument(f"{'.'.join(want.path[:length])} must be {what}", *place(text, node.start))


def _insert(text: str, root: Node, where: Path, entries: list[tuple[str, object]], style: jsonc.Style) -> list[Edit]:
    node = jsonc.at(text, root, where)
    assert node is not None  # noqa: S101  # `_missing_part` has seen it
    if node.value is None:
        merged: Any = entries[0][1]
        for _, value in entries[1:]:
            merged = _joined(merged, value)
        margin = jsonc.line_indent(text, node.start)
        return [Edit(start=node.start, end=node.end, new=jsonc.render(merged, style, margin, _depth(merged)))]
    depth = max(_depth(value) for _, value in entries)
    return jsonc.insertion(text, node, entries, depth=depth, style=style)


def _depth(value: object) -> int:
    """How many levels get lines of their own: each event one line, and each entry where an event has several."""
    if isinstance(value, dict) and value and not commands.known(core(value)):
        return 1 + max(_depth(inner) for inner in value.values())
    return int(isinstance(value, list) and len(value) > 1)


# --- taking out --------------------------------------------------------------------------------------


def removed(text: str, original: str | None, is_mine: Finder) -> str:
    """The text without our entries. Containers that we have emptied go too, unless they were there before."""
    if jsonc.is_blank(text):
        return text
    root = document(text)
    changed = apply(text, pruned(text, root, [path for path, _ in ours(root, is_mine)], _empty_in(original)))
    left = document(changed)
    if ours(left, is_mine) or _cleaned(left.value, is_mine) != _cleaned(root.value, is_mine):
        raise BadDocument("this file cannot be changed safely", 1, 1, "please report it; nothing was written")
    return changed


def _empty_in(text: str | None) -> frozenset[Path]:
    if text is None or jsonc.is_blank(text):
        return frozenset()
    return frozenset(path for path, node in jsonc.walk(document(text)) if node.kind != "scalar" and not node.members)


def pruned(text: str, root: Node, paths: Sequence[Path], keep: frozenset[Path]) -> list[Edit]:
    """Edits that take values out, and the containers that would be empty without them."""
    gone = set(paths)
    for path in paths:
        parent = path[:-1]
        while parent and parent not in keep and _is_hollow(text, root, parent, gone):
            gone.add(parent)
            parent = parent[:-1]
    highest = [path for path in gone if not any(path[:length] in gone for length in range(len(path)))]
    edits = []
    for parent in {path[:-1] for path in highest}:
        node = jsonc.at(text, root, parent)
        assert node is not None  # noqa: S101  # we came from there
        numbers = {_number(node, path[-1]) for path in highest if path[:-1] == parent}
        edits += jsonc.removal(text, node, numbers)
    return edits


def _is_hollow(text: str, root: Node, path: Path, gone: set[Path]) -> bool:
    """Nothing is left in it; a group without its hooks is nothing."""
    node = jsonc.at(text, root, path)
    assert node is not None  # noqa: S101  # we came from there
    if node.kind == "array":
        return all((*path, number) in gone for number in range(len(node.members)))
    if (*path, "hooks") in gone and isinstance(path[-1], int):
        return True
    return all((*path, member.key) in gone for member in node.members)


def _number(node: Node, step: str | int) -> int:
    if isinstance(step, int):
        return step
    return next(number for number, member in enumerate(node.members) if member.key == step)


# --- being sure --------------------------------------------------------------------------------------


def _verify(before: str, after: str, wants: Sequence[Wanted], spec: Install, is_mine: Finder) -> None:
    """Whatever happened above: what is not ours is what it was, and what is ours is what was wanted."""
    old, new = document(before), document(after)
    same = without(old.value, is_mine, spec.root) == without(new.value, is_mine, spec.root)
    if not same or len(ours(new, is_mine)) != len(wants):
        raise BadDocument("this file cannot be changed safely", 1, 1, "please report it; nothing was written")


def without(value: Any, is_mine: Finder, root: Mapping[str, Any]) -> Any:
    """A value without our entries, and without what holds nothing."""
    cleaned = _cleaned(value, is_mine)
    if isinstance(cleaned, dict):
        return {key: inner for key, inner in cleaned.items() if key not in root}
    return cleaned


def _cleaned(value: Any, is_mine: Finder) -> Any:
    if is_mine(value):
        return None
    if isinstance(value, dict):
        return _only_present({key: _cleaned(item, is_mine) for key, item in value.items()})
    if isinstance(value, list):
        left = [(item, _cleaned(item, is_mine)) for item in value]
        return [cleaned for item, cleaned in left if _present(cleaned) and not _is_empty_group(item, cleaned)]
    return value


def _is_empty_group(before: Any, cleaned: Any) -> bool:
    """All that its list held was ours."""
    return isinstance(before, dict) and bool(before.get("hooks")) and "hooks" not in cleaned


def _only_present(value: dict[str, Any]) -> dict[str, Any]:
    return {key: inner for key, inner in value.items() if _present(inner)}


def _present(value: object) -> bool:
    return value is not None and value not in ({}, [])
