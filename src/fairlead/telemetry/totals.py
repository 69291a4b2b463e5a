"""Metrics: what is counted, and what has been counted so far. Kept between exporters, so that numbers only grow."""

from __future__ import annotations

from bisect import bisect_left

from fairlead import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Seconds: from a function to a person."""
EVENTS = "fairlead.events"
EVENT_DURATION = "fairlead.event.duration"
HOOK_DURATION = "fairlead.hook.duration"
HOOK_FAILURES = "fairlead.hook.failures"
LOST = "fairlead.telemetry.dropped"
METRICS = {
    EVENTS: ("{event}", "Events that were judged"),
    EVENT_DURATION: ("s", "How long an agent waited for the answer to an event"),
    HOOK_DURATION: ("s", "How long a hook took"),
    HOOK_FAILURES: ("{failure}", "Hooks that gave no verdict"),
    LOST: ("{record}", "Events that could not be sent"),
}
"""Unit and description."""
MOST = 2000
"""Series of one metric and set of attributes; whatever comes after them is counted together."""
_OVERFLOW = {"otel.metric.overflow": True}


class Totals:
    def __init__(self, series: Mapping[str, Any] | None = None) -> None:
        self.series: dict[str, Any] = dict(series or {})

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any], Any]]:
        """Metric, attributes, and the number or `[sum, counts]`."""
        for key, value in self.series.items():
            name, attributes = wire.decode(key)
            yield name, attributes, value

    def count(self, name: str, by: int, **attributes: Any) -> None:
        key = self._key(name, attributes)
        self.series[key] = self.series.get(key, 0) + by

    def measure(self, name: str, seconds: float, attributes: Mapping[str, Any]) -> None:
        key = self._key(name, attributes)
        total, counts = self.series.get(key) or (0.0, [0] * (len(BOUNDS) + 1))
        place = bisect_left(BOUNDS, seconds)
        counts = [*counts[:place], counts[place] + 1, *counts[place + 1 :]]
        self.series[key] = [total + seconds, counts]

    def _key(self, name: str, attributes: Mapping[str, Any]) -> str:
        key = wire.encode_text([name, {key: attributes[key] for key in sorted(attributes) if attributes[key] != ""}])
        fits = key in self.series or len(self.series) < MOST
        return key if fits else wire.encode_text([name, _OVERFLOW])

    def add(self, records: Iterable[Mapping[str, Any]]) -> None:
        for record in records:
            self._add_event(record)
            for hook in record["hooks"]:
                self._add_hook(record, hook)

    def _add_event(self, record: Mapping[str, Any]) -> None:
        whose = {"gen_ai.agent.name": record["agent"], "fairlead.event": record["event"]}
        tool = {"gen_ai.tool.name": record["tool"], "fairlead.decision": record["decision"]}
        self.count(EVENTS, 1, **whose, **tool)
        self.measure(EVENT_DURATION, _seconds(record), whose)

    def _add_hook(self, record: Mapping[str, Any], hook: Mapping[str, Any]) -> None:
        who = {"fairlead.hook.name": hook["name"], "fairlead.hook.handler": hook["handler"]}
        failed = {"error.type": hook.get("error", "")}
        said = {"fairlead.event": record["event"], "fairlead.hook.verdict": hook["verdict"]}
        self.measure(HOOK_DURATION, _seconds(hook), {**who, **said, **failed})
        if failed["error.type"]:
            self.count(HOOK_FAILURES, 1, **who, **failed)


def _seconds(span: Mapping[str, Any]) -> float:
    return max(0.0, float(span["end"] - span["start"]) / 1e9)
