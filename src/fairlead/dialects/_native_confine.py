"""What a hook in fairlead.toml says about its process: `env`, `set`, `limits` and `sandbox`."""

from __future__ import annotations

from fairlead.confining import Bounds, Limits, Sandbox
from fairlead.confining.ways import WAYS
from fairlead.dialects._common import did_you_mean
from fairlead.dialects._native_values import seconds_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.dialects._common import Path, Reader

KEYS = frozenset({"env", "set", "limits", "sandbox"})
_SIZES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_MOST = (1 << 62) - 2
_SANDBOX_KEYS = ("network", "write", "by")


def bounds(reader: Reader, entry: dict[str, Any], path: Path) -> Bounds:
    """What can be understood of it. What cannot is reported, and never makes the process freer."""
    names = _names(reader, entry["env"], (*path, "env")) if isinstance(entry.get("env"), list) else None
    if "set" in entry and names is None:
        reader.problem((*path, "set"), "set goes with a list of names in env", "a table in env sets variables itself")
    key = "env" if names is None else "set"
    return Bounds(
        names=names,
        sets={} if names is None and "run" in entry else _variables(reader, entry.get(key, {}), (*path, key)),
        limits=_limits(reader, entry["limits"], (*path, "limits")) if "limits" in entry else None,
        sandbox=_sandbox(reader, entry["sandbox"], (*path, "sandbox")) if "sandbox" in entry else None,
    )


def _names(reader: Reader, values: list[Any], path: Path) -> tuple[str, ...]:
    found = []
    for index, name in enumerate(values):
        if isinstance(name, str) and name and not set("=\0 ") & set(name):
            found.append(name)
        else:
            hint = 'write "PATH", or "LC_*" for several'
            reader.problem((*path, index), f"{name!r} is not the name of a variable", hint)
    return tuple(found)


def _variables(reader: Reader, value: Any, path: Path) -> dict[str, str]:
    if not reader.expect(value, dict, path, f"{path[-1]} must be a table"):
        return {}
    return {
        name: text
        for name, text in value.items()
        if reader.expect(text, str, (*path, name), f"{name} must be a string")
    }


def _limits(reader: Reader, table: Any, path: Path) -> Limits:
    if not reader.expect(table, dict, path, "limits must be a table"):
        return Limits()
    found: dict[str, int] = {}
    for key, value in table.items():
        amount = _whole(seconds_in(value)) if key == "cpu" else bytes_in(value) if key in _IN_BYTES else _count(value)
        if key not in Limits._fields:
            reader.problem((*path, key), f"unknown limit {key!r}", did_you_mean(key, Limits._fields))
        elif amount is None:
            reader.problem((*path, key), f"{key} is {value!r}", _EXAMPLES[key])
        else:
            found[key] = amount
    return Limits(**found)


_IN_BYTES = ("memory", "file_size")
_EXAMPLES = {
    "cpu": 'write a time, such as "10s"',
    "memory": 'write a size, such as "512MB"',
    "file_size": 'write a size, such as "100MB"',
    "processes": "a whole number above 0",
    "open_files": "a whole number above 0",
}


def _whole(seconds: float | None) -> int | None:
    """The kernel counts in seconds."""
    return None if seconds is None else min(-int(-seconds // 1), _MOST)


def _count(value: object) -> int | None:
    if isinstance(value, float) and value.is_integer():  # a whole number to JSON Schema
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST else None


def bytes_in(value: object) -> int | None:
    """A number of bytes, or a number and its unit; None for what is no size."""
    if not isinstance(value, str):
        return _count(value)
    number = value.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    unit = _SIZES.get(value[len(number) :].lower())
    number = number.rstrip(" ")
    if unit is None or not (number.isascii() and number.isdecimal() and len(number) < 20):
        return None
    return min(int(number) * unit, _MOST) or None


def _sandbox(reader: Reader, value: Any, path: Path) -> Sandbox | None:
    if isinstance(value, bool):
        return Sandbox() if value else None
    if not reader.expect(value, dict, path, "sandbox must be true, false or a table"):
        return Sandbox()
    reader.only(value, _SANDBOX_KEYS, path)
    network = value.get("network", False)
    if not reader.expect(network, bool, (*path, "network"), "network must be true or false"):
        network = False
    write = _folders(reader, value.get("write", []), (*path, "write"))
    return Sandbox(network=network, write=write, by=_by(reader, value, path))


def _folders(reader: Reader, value: Any, path: Path) -> tuple[str, ...]:
    if not reader.expect(value, list, path, "write must be a list of folders"):
        return ()
    found = [(folder, (*path, index)) for index, folder in enumerate(value) if folder != ""]
    return tuple(folder for folder, at in found if reader.expect(folder, str, at, "a folder must be a string"))


def _by(reader: Reader, table: dict[str, Any], path: Path) -> str:
    by = table.get("by", "")
    if by in ("", *WAYS):
        return str(by)
    reader.problem((*path, "by"), f"by is {by!r}", f"one of: {', '.join(WAYS)}; the best that is there is used")
    return ""
