"""`[telemetry]` in fairlead.toml: whether OpenTelemetry hears of events, and where it listens."""

from __future__ import annotations

from fairlead.dialects._common import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.dialects._common import Reader

_SWITCHES = ("enabled", "content")
_KEYS = (*_SWITCHES, "endpoint", "headers")


def telemetry(reader: Reader, table: Any) -> dict[str, Any]:
    """What it says."""
    if not reader.expect(table, dict, ("telemetry",), "[telemetry] must be a table"):
        return {}
    found = {}
    for key, value in table.items():
        problem, hint = _problem(key, value)
        if problem:
            reader.problem(("telemetry", key), problem, hint)
        else:
            found[key] = value
    return found


def _problem(key: str, value: Any) -> tuple[str, str]:
    if key not in _KEYS:
        return f"unknown key {key!r}", did_you_mean(key, _KEYS)
    if key in _SWITCHES:
        return ("", "") if isinstance(value, bool) else (f"{key} is {value!r}", "true or false")
    if key == "endpoint":
        is_one = isinstance(value, str) and value.startswith(("http://", "https://"))
        return ("", "") if is_one else (f"endpoint is {value!r}", 'an address such as "http://localhost:4318"')
    is_table = isinstance(value, dict) and all(isinstance(text, str) and text.isprintable() for text in value.values())
    return ("", "") if is_table else ("headers must be a table of texts", 'headers = { authorization = "…" }')
