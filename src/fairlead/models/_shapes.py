"""Reading what providers say, whatever it is; and what of a question can be left out."""

from __future__ import annotations

from fairlead import wire
from fairlead.errors import InputError
from fairlead.models.records import ModelFailed, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

OWN_ID = "fairlead-"
"""Begins the name of a call that its provider gave none."""


def table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def usage(asked: Iterable[Any], said: Iterable[Any]) -> Usage:
    return Usage(input_tokens=_total(asked), output_tokens=_total(said))


def _total(counts: Iterable[Any]) -> int:
    return sum(count for count in counts if type(count) is int and count > 0)


def arguments(value: Any) -> dict[str, Any]:
    """Of a call: an object, or the text of one. Anything else is a call without arguments."""
    if isinstance(value, str):
        try:
            value = wire.decode(value)
        except InputError:
            return {}
    return table(value)


def decoded(value: str) -> Any:
    """What we wrote into a signature; nothing where it is another provider's."""
    try:
        return wire.decode(value) if value else None
    except InputError:
        return None


def no_answer(what: str) -> ModelFailed:
    return ModelFailed(f"its answer holds no {what}; check that `provider` and `base_url` belong together")


def without(body: dict[str, Any], key: str) -> dict[str, Any] | None:
    """None where there is nothing to leave out."""
    return {name: value for name, value in body.items() if name != key} if key in body else None


def names_any(complaint: str, words: tuple[str, ...]) -> bool:
    complaint = complaint.lower()
    return any(word in complaint for word in words)


def closed(schema: Any) -> Any:
    """The same schema with no room for other properties, which providers want said."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    return {"additionalProperties": False} | inner if "properties" in inner else inner


def address(base_url: str, path: str, *, after: tuple[str, ...] = ()) -> str:
    """`path` below a base, which may end with its first part already (`after`), and may have a query."""
    base, mark, query = base_url.partition("?")
    base = base.rstrip("/")
    for part in after:
        if base.endswith(f"/{part}"):
            path = path.removeprefix(f"{part}/")
    return f"{base}/{path}{mark}{query}"
