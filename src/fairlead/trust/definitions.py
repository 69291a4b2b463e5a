"""What a hook is, as bytes that can be compared: everything about it that can change what it does."""

from __future__ import annotations

import os

from fairlead import wire
from fairlead._record import Record
from fairlead.journal.writing import sha256
from fairlead.matchers import Matcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.hooks import Hook

_LEFT_OUT = frozenset({"origin", "condition", "matcher_path", "trusted", "name", "options"})
"""Where it stands in its file, and what is built from the text beside it."""


def definition(hook: Hook, project: str) -> dict[str, Any]:
    """The same on every machine: paths are seen from the project."""
    own = {name: value for name, value in _fields(hook).items() if name not in _LEFT_OUT}
    own["origin"] = {
        "dialect": hook.origin.dialect,
        "layer": hook.origin.layer,
        "file": os.path.relpath(hook.origin.file, project),
    }
    own["name"] = "" if _is_given_by_place(hook) else hook.name
    own["options"] = {name: value for name, value in hook.options.items() if value not in (None, "", False)}
    found: dict[str, Any] = _plain(own, project)
    return found


def _is_given_by_place(hook: Hook) -> bool:
    """`fairlead.toml#2`: it would be another hook when one is put in front of it."""
    start, mark, number = hook.name.rpartition("#")
    return bool(mark) and number.isdecimal() and start == os.path.basename(hook.origin.file)


def digest_of(value: object) -> str:
    return sha256(wire.encode(_in_order(value)))


def _in_order(value: Any) -> Any:
    """The same bytes whoever has written the value, and in which order."""
    if isinstance(value, dict):
        return {name: _in_order(value[name]) for name in sorted(value)}
    return [_in_order(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _plain(value: Any, project: str) -> Any:  # noqa: PLR0911  # one line for each kind of value
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return _seen_from(project, value)
    if isinstance(value, dict):
        return {str(name): _plain(inner, project) for name, inner in sorted(value.items(), key=lambda one: str(one[0]))}
    if isinstance(value, (list, tuple)):
        return [_plain(inner, project) for inner in value]
    if isinstance(value, (set, frozenset)):
        return sorted(str(_plain(inner, project)) for inner in value)
    if isinstance(value, Matcher):
        return {"matcher": value.text, "names": sorted(value.names or ())}
    if isinstance(value, Record):
        return {"is": type(value).__name__, **_plain(_fields(value), project)}
    fields = getattr(value, "__dict__", None)
    if fields is None or callable(value):  # such as the mark of `once`: that it is there is all there is to say
        return type(value).__name__
    public = {name: inner for name, inner in fields.items() if not name.startswith("_")}
    return {"is": type(value).__name__, **_plain(public, project)}


def _fields(record: Record) -> dict[str, Any]:
    """What is not as it usually is: a later version may know more fields, and what was trusted stays the same."""
    kind = type(record)
    found = {name: getattr(record, name) for name in record._fields}
    return {name: value for name, value in found.items() if not hasattr(kind, name) or value != getattr(kind, name)}


def _seen_from(project: str, text: str) -> str:
    if text == project:
        return "."
    return f".{text[len(project) :]}" if text.startswith(f"{project}/") else text
