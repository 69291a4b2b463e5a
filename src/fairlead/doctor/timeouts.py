"""Timeouts in the wrong unit: 600 is ten minutes to most agents, and 0.6 seconds to some."""

from __future__ import annotations

from fairlead.doctor import facts
from fairlead.errors import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.doctor.finding import Finding
    from fairlead.doctor.scene import Entry, Scene

_KEYS = ("timeout", "timeoutSec", "timeout_ms", "timeoutMs")
_TOO_SHORT = 0.05
"""Seconds in which no program can answer."""
_TOO_LONG = 10_000
"""Seconds, nearly three hours: whoever writes more has thought of milliseconds."""


def check(scene: Scene) -> Iterator[Finding]:
    for entry in scene.entries:
        for key in _KEYS:
            value = entry.handler.get(key)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                yield from _wrong(entry, key, value)
            elif value is not None:
                what = f"{key} must be a number, not {value!r}"
                yield entry.found("timeouts", "warning", what, "write a number without quotes", key)


def seconds(entry: Entry, key: str, value: float) -> float:
    """As the agent takes it."""
    if key in ("timeout_ms", "timeoutMs"):
        return value / 1000
    if entry.agent == "qwen":
        return value / 1000 if entry.kind == "command" and value >= 1000 else value
    return value / _unit(entry)


def _unit(entry: Entry) -> float:
    from fairlead.installing.specs import SPECS

    return 1 if entry.agent == "qwen" else SPECS[entry.agent].unit


def _wrong(entry: Entry, key: str, value: float) -> Iterator[Finding]:
    title, real, longest = facts.title(entry.agent), seconds(entry, key, value), facts.of(entry.agent).longest
    if real <= 0 and entry.agent != "kiro":
        what = f"{key}: {plain(value)} leaves the hook no time"
        yield entry.found("timeouts", "error", what, "write how long it may take, or leave it out", key)
    elif _unit(entry) == 1000 and real < 1:
        yield entry.found(
            "timeouts", "error" if real < _TOO_SHORT else "warning",
            f"{title} counts milliseconds: {plain(value)} is {plain(real)} s, "
            "then the hook is ended and counts for nothing",
            f"for {plain(value)} seconds write {plain(value * 1000)}", key,
        )  # fmt: skip
    elif entry.agent == "qwen" and entry.kind == "command" and 1000 <= value < _TOO_LONG and value % 500:
        what = f"{title} takes 1000 and more for milliseconds: {plain(value)} is {plain(real)} s"
        yield entry.found("timeouts", "warning", what, f"for {plain(value)} seconds write {plain(value * 1000)}", key)
    elif entry.agent == "kimi" and not 1 <= real <= longest:
        what = f"{title} takes 1 to {plain(longest)} seconds and rejects its whole configuration for {plain(value)}"
        yield entry.found("timeouts", "error", what, f"write a number from 1 to {plain(longest)}", key)
    elif real >= _TOO_LONG:
        what = (
            f"{title} counts seconds: {plain(value)} is {real / 3600:.1f} hours, "
            "so a hook that hangs holds it up that long"
        )
        hint = f"for {plain(value)} milliseconds write {plain(value / 1000)}"
        yield entry.found("timeouts", "warning", what, hint, key)
    elif longest and real > longest:
        what = f"{title} ends every hook after {plain(longest)} s, whatever is written here"
        yield entry.found("timeouts", "note", what, f"write {plain(longest)} or less", key)
