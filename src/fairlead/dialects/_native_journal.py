"""`[journal]` in fairlead.toml: whether events are recorded, and for how long."""

from __future__ import annotations

from fairlead.dialects._common import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.dialects._common import Reader

MODES = ("on", "off", "without-payloads")
_NUMBERS = ("keep_days", "keep_mb")


def journal(reader: Reader, table: Any) -> dict[str, Any]:
    """What it says."""
    if not reader.expect(table, dict, ("journal",), "[journal] must be a table"):
        return {}
    found = {}
    for key, value in table.items():
        path = ("journal", key)
        if key == "mode" and value in MODES:
            found[key] = value
        elif key == "mode":
            reader.problem(path, f"mode is {value!r}", f"one of: {', '.join(MODES)}")
        elif key not in _NUMBERS:
            reader.problem(path, f"unknown key {key!r}", did_you_mean(key, ("mode", *_NUMBERS)))
        elif isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
            reader.problem(path, f"{key} is {value!r}", "a number above 0")
        else:
            found[key] = value
    return found
