"""JSON from strangers, and back.

Bytes come from agents, hooks and files that we do not control. What is not plainly JSON is an
`InputError` with the place, never a crash: deep nesting, huge integers, NaN, a key given twice (two
readers may take different ones), text that is not Unicode.
"""

from __future__ import annotations

import json

from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

LIMIT = 64 << 20
"""Bytes in one event; more is an error."""


def decode(raw: bytes | str) -> Any:
    """The JSON value in `raw`: UTF-8, UTF-16 or UTF-32, with or without a byte-order mark."""
    if len(raw) > LIMIT:
        raise InputError(f"{len(raw):,} bytes of JSON; the limit is {LIMIT:,}")
    try:
        return _decoder().decode(_text(raw))
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}, line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise InputError("not usable JSON: nested too deeply") from None
    except ValueError as error:  # an integer too long to convert, or one of our own below
        raise InputError(f"not usable JSON: {str(error).partition(';')[0]}") from None


def decode_object(raw: bytes | str, what: str = "the event") -> dict[str, Any]:
    if not raw.strip():
        raise InputError(f"{what} is empty; expected a JSON object")
    value = decode(raw)
    if not isinstance(value, dict):
        raise InputError(f"{what} must be a JSON object, not {_kind(value)}")
    return value


def encode(value: object) -> bytes:
    """Compact JSON in ASCII, so that lone surrogates survive."""
    return json.dumps(value, separators=(",", ":")).encode()


def encode_text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _text(raw: bytes | str) -> str:
    if isinstance(raw, str):
        return raw.removeprefix("\ufeff")
    try:
        return raw.decode(json.detect_encoding(raw)).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InputError(f"not Unicode text: byte {error.start} cannot be read as {error.encoding}") from None


def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=_no_duplicates, parse_constant=_no_constants)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        twice = _first_repeated([key for key, _ in pairs])
        raise ValueError(f"the key {twice[:80]!r} is there twice")
    return value


def _first_repeated(keys: list[str]) -> str:
    seen = set()
    for key in keys:
        if key in seen:
            return key
        seen.add(key)
    return ""


def _no_constants(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _kind(value: object) -> str:
    names = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
