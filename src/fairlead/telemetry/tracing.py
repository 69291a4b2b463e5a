"""Where an event and its hooks stand in a trace: W3C Trace Context, in variables, in headers and in the payload."""

from __future__ import annotations

import os
import time

from fairlead._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from fairlead.events import Event
    from fairlead.hooks import Report, Setting

PARENT = "TRACEPARENT"
STATE = "TRACESTATE"
SAMPLED = 1
_LONGEST_STATE = 512
_HEX = frozenset("0123456789abcdef")


class Trace(Record):
    """The span of one event."""

    trace_id: str
    span_id: str
    parent_id: str = ""
    flags: int = SAMPLED
    state: str = ""
    started: int
    """Nanoseconds since 1970."""
    said: Mapping[str, Any] = {}  # never changed: records are frozen
    """What `[telemetry]` says."""
    setting: Setting
    inside: bool = False
    """Whether a hook has it already: what it leads to belongs to the same span."""

    def entered(self, report: Report, setting: Setting) -> Setting:
        """The surroundings of one hook, with a span of its own."""
        if self.inside:
            return setting
        span_id = _new(8)
        report.span = span_id, time.time_ns()
        carried = _carried(self.trace_id, span_id, self.flags, self.state)
        environ = {name: value for name, value in setting.environ.items() if name not in (PARENT, STATE)}
        return setting.but(environ={**environ, **carried}, trace=self.but(inside=True, span_id=span_id))


def begin(event: Event, said: Mapping[str, Any], setting: Setting) -> Trace | None:
    """None where the standard switch says no."""
    if setting.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    started = time.time_ns()
    for parent, state in _offers(event, setting.environ):
        found = parsed(parent)
        if found is not None:
            trace_id, parent_id, flags = found
            return Trace(
                trace_id=trace_id,
                span_id=_new(8),
                parent_id=parent_id,
                flags=flags,
                state=_usable(state),
                started=started,
                said=said,
                setting=setting,
            )
    return Trace(trace_id=_new(16), span_id=_new(8), started=started, said=said, setting=setting)


def headers(setting: Setting) -> dict[str, bytes]:
    """For a web server that a hook asks; none where nobody traces."""
    if setting.trace is None:
        return {}
    names = {PARENT: "traceparent", STATE: "tracestate"}
    return {name: setting.environ[key].encode() for key, name in names.items() if key in setting.environ}


def _offers(event: Event, environ: Mapping[str, str]) -> Iterator[tuple[Any, Any]]:
    """What the agent says about this very event, before what it says about the whole session."""
    for place in (event.metadata, event.extra.get("_meta"), event.extra):
        if isinstance(place, dict) and "traceparent" in place:
            yield place["traceparent"], place.get("tracestate", "")
    yield environ.get(PARENT, ""), environ.get(STATE, "")


def parsed(text: Any) -> tuple[str, str, int] | None:
    """Trace, span and flags; None for what is not W3C's."""
    parts = text.strip().split("-") if isinstance(text, str) else []
    if len(parts) < 4 or [len(part) for part in parts[:4]] != [2, 32, 16, 2]:
        return None
    version, trace_id, span_id, flags = parts[:4]
    if not _HEX.issuperset("".join(parts[:4])) or version == "ff" or (version == "00" and len(parts) > 4):
        return None
    return (trace_id, span_id, int(flags, 16) & SAMPLED) if trace_id.strip("0") and span_id.strip("0") else None


def _usable(state: Any) -> str:
    """Opaque, and handed on as it is, if it can stand in a header and a variable."""
    is_one = isinstance(state, str) and len(state) <= _LONGEST_STATE and state.isascii() and state.isprintable()
    return str(state) if is_one else ""


def _carried(trace_id: str, span_id: str, flags: int, state: str) -> dict[str, str]:
    carried = {PARENT: f"00-{trace_id}-{span_id}-{flags:02x}"}
    return {**carried, STATE: state} if state else carried


def _new(size: int) -> str:
    return os.urandom(size).hex()
