"""The values of a hook in `fairlead.toml`: each as it was meant, or a problem and what is used instead."""

from __future__ import annotations

from fairlead.errors import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.dialects._common import Path, Reader

_LONGEST = 7 * 24 * 3600.0
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def text(reader: Reader, entry: dict[str, Any], key: str, path: Path) -> str:
    value = entry.get(key, "")
    return value if reader.expect(value, str, (*path, key), f"{key} must be a string") else ""


def flag(reader: Reader, entry: dict[str, Any], key: str, path: Path, *, default: bool) -> bool:
    value = entry.get(key, default)
    return value if reader.expect(value, bool, (*path, key), f"{key} must be true or false") else default


def listed(reader: Reader, entry: dict[str, Any], key: str, path: Path) -> tuple[str, ...]:
    value = entry.get(key, [])
    if not is_words(value):
        reader.problem((*path, key), f"{key} must be a list of strings")
        return ()
    return tuple(value)


def reads(reader: Reader, value: Any, path: Path) -> str:
    if value in ("", "stdin"):
        return str(value)
    reader.problem(path, f"reads is {value!r}", 'it can only be "stdin"')
    return ""


def timeout(reader: Reader, value: object, path: Path, default: float) -> float:
    seconds = seconds_in(value)
    if seconds is None:
        hint = f'write "500ms", "5s", "2m" or "1h"; {plain(default)} s are used'
        reader.problem(path, f"{value!r} is not a time", hint)
        return default
    if seconds > _LONGEST:
        reader.warn(path, f"{value!r} is longer than a week", "a week is used")
    return min(seconds, _LONGEST)


def seconds_in(value: object) -> float | None:
    """A number of seconds, or a number and its unit; None for what is no time."""
    unit: float | None = 1.0
    if isinstance(value, str):
        number = value.rstrip("abcdefghijklmnopqrstuvwxyz").rstrip(" ")
        unit = _UNITS.get(value[len(number) :].strip(" "))
        value = float(number) if number.replace(".", "", 1).isdecimal() and number.isascii() and number[0] != "." else 0
    if unit is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value * unit if 0 < value < float("inf") else None


def priority(reader: Reader, value: Any, path: Path) -> int:
    if isinstance(value, float) and value.is_integer():  # a whole number to JSON Schema
        return int(value)
    return value if reader.expect(value, int, path, "priority must be a whole number") else 0


def on_error(reader: Reader, value: object, path: Path) -> str:
    if value in (None, "allow", "deny"):
        return str(value or "")
    reader.problem(path, f"on_error is {value!r}", 'it must be "allow" or "deny"; "deny" is used')
    return "deny"


def is_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)
