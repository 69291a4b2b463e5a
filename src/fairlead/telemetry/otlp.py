"""Records as messages of OTLP: spans, metrics and log records, under the conventions for generative AI."""

from __future__ import annotations

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs, SeverityNumber
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AggregationTemporality,
    Histogram,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from fairlead import wire
from fairlead._version import __version__
from fairlead.telemetry.totals import BOUNDS, METRICS, Totals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    Entry = Mapping[str, Any]

RESPONSES = {
    "traces": ExportTraceServiceResponse,
    "metrics": ExportMetricsServiceResponse,
    "logs": ExportLogsServiceResponse,
}
_SCOPE = InstrumentationScope(name="fairlead", version=__version__)
_REMOTE, _KNOWN_WHETHER_REMOTE = 0x200, 0x100
"""Of a span's flags: whether its parent is in another process."""


def traces(records: Iterable[Entry], resource: Mapping[str, str]) -> bytes:
    """Empty where there is nothing to send, as for the others."""
    spans = [span for record in records if record["flags"] & 1 for span in _spans(record)]
    if not spans:
        return b""
    scope = ScopeSpans(scope=_SCOPE, spans=spans)
    request = ExportTraceServiceRequest(
        resource_spans=[ResourceSpans(resource=_resource(resource), scope_spans=[scope])]
    )
    return bytes(request.SerializeToString())


def metrics(totals: Totals, since: int, until: int, resource: Mapping[str, str], *, delta: bool) -> bytes:
    found: dict[str, Metric] = {}
    kind = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
    if delta:
        kind = AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA
    for name, attributes, value in totals:
        unit, description = METRICS[name]
        metric = found.setdefault(name, Metric(name=name, unit=unit, description=description))
        _add_point(metric, _attributes(attributes), value, (since, until), kind)
    if not found:
        return b""
    scope = ScopeMetrics(scope=_SCOPE, metrics=found.values())
    whole = ResourceMetrics(resource=_resource(resource), scope_metrics=[scope])
    return bytes(ExportMetricsServiceRequest(resource_metrics=[whole]).SerializeToString())


def logs(records: Iterable[Entry], resource: Mapping[str, str]) -> bytes:
    found = [log for record in records for log in _logs(record)]
    if not found:
        return b""
    scope = ScopeLogs(scope=_SCOPE, log_records=found)
    request = ExportLogsServiceRequest(resource_logs=[ResourceLogs(resource=_resource(resource), scope_logs=[scope])])
    return bytes(request.SerializeToString())


# --- spans -------------------------------------------------------------------------------------------


def _spans(record: Entry) -> Iterator[Span]:
    tool = record["tool"]
    parent = _REMOTE if record["parent"] else 0
    yield Span(
        **_ids(record, record["span"], record["parent"]),
        name=_sound(f"execute_tool {tool}" if tool else record["event"]),
        kind=Span.SPAN_KIND_INTERNAL,
        flags=record["flags"] | _KNOWN_WHETHER_REMOTE | parent,
        start_time_unix_nano=record["start"],
        end_time_unix_nano=record["end"],
        attributes=_attributes({**_about_event(record), **_content_of_event(record)}),
        status=_status(record.get("error", ""), record.get("reason", "")),
    )
    for hook in record["hooks"]:
        yield Span(
            **_ids(record, hook["span"], record["span"]),
            name=_sound(f"hook {hook['name']}"),
            kind=Span.SPAN_KIND_CLIENT if hook["handler"] == "http" else Span.SPAN_KIND_INTERNAL,
            flags=record["flags"] | _KNOWN_WHETHER_REMOTE,
            start_time_unix_nano=hook["start"],
            end_time_unix_nano=hook["end"],
            attributes=_attributes({**_about_hook(record, hook), "fairlead.hook.reason": hook.get("reason", "")}),
            status=_status(hook.get("error", ""), hook.get("message", "")),
        )


def _ids(record: Entry, span: str, parent: str) -> dict[str, Any]:
    return {
        "trace_id": bytes.fromhex(record["trace"]),
        "span_id": bytes.fromhex(span),
        "parent_span_id": bytes.fromhex(parent),
        "trace_state": record["state"],
    }


def _about_event(record: Entry) -> dict[str, Any]:
    tool = record["tool"]
    return {
        "gen_ai.operation.name": "execute_tool" if tool else "",  # nothing else that they name happens in a hook
        "gen_ai.agent.name": record["agent"],
        "gen_ai.conversation.id": record["session"],
        "gen_ai.tool.name": tool,
        "gen_ai.tool.call.id": record["call"],
        "fairlead.event": record["event"],
        "fairlead.decision": record["decision"],
        "fairlead.hooks.ran": len(record["hooks"]),
        "fairlead.hooks.failed": sum(1 for hook in record["hooks"] if "error" in hook),
        "error.type": record.get("error", ""),
    }


def _content_of_event(record: Entry) -> dict[str, Any]:
    prompt = record.get("prompt", "")
    message = [{"role": "user", "parts": [{"type": "text", "content": prompt}]}]
    return {
        "gen_ai.tool.call.arguments": record.get("input", ""),
        "gen_ai.tool.call.result": record.get("result", ""),
        "gen_ai.input.messages": wire.encode_text(message) if prompt else "",
        "fairlead.tool.error": record.get("tool_error", ""),
        "fairlead.reason": record.get("reason", ""),
        "fairlead.project": record.get("project", ""),
    }


def _about_hook(record: Entry, hook: Entry) -> dict[str, Any]:
    return {
        "gen_ai.agent.name": record["agent"],
        "gen_ai.conversation.id": record["session"],
        "gen_ai.tool.name": record["tool"],
        "fairlead.event": record["event"],
        "fairlead.hook.name": hook["name"],
        "fairlead.hook.handler": hook["handler"],
        "fairlead.hook.layer": hook["layer"],
        "fairlead.hook.dialect": hook["dialect"],
        "fairlead.hook.verdict": hook["verdict"],
        "code.file.path": hook.get("file", ""),
        "error.type": hook.get("error", ""),
    }


def _status(error: str, message: str) -> Status:
    return Status(code=Status.STATUS_CODE_ERROR, message=_sound(message or error)) if error else Status()


# --- metrics -----------------------------------------------------------------------------------------


def _add_point(metric: Metric, attributes: list[KeyValue], value: Any, times: tuple[int, int], kind: Any) -> None:
    common: dict[str, Any] = {"attributes": attributes, "start_time_unix_nano": times[0], "time_unix_nano": times[1]}
    if isinstance(value, int):
        point = NumberDataPoint(**common, as_int=value)
        metric.sum.MergeFrom(Sum(data_points=[point], aggregation_temporality=kind, is_monotonic=True))
        return
    total, counts = value
    histogram = HistogramDataPoint(**common, count=sum(counts), sum=total, bucket_counts=counts, explicit_bounds=BOUNDS)
    metric.histogram.MergeFrom(Histogram(data_points=[histogram], aggregation_temporality=kind))


# --- logs --------------------------------------------------------------------------------------------


def _logs(record: Entry) -> Iterator[LogRecord]:
    """Refusals and failures: what somebody may want to be woken for."""
    what = f"{record['event']} {record['tool']}".strip()
    if record["decision"] == "deny":
        about = {**_about_event(record), "fairlead.reason": record.get("reason", "")}
        yield _log(record, record["span"], "fairlead.refusal", f"{what} was refused", about)
    for hook in record["hooks"]:
        if "error" in hook:
            about = {**_about_hook(record, hook), "fairlead.hook.error": hook.get("message", "")}
            how = "timed out" if hook["error"] == "timeout" else "failed"
            yield _log(record, hook["span"], "fairlead.hook.failure", f"hook {hook['name']} {how} on {what}", about)


def _log(record: Entry, span: str, name: str, body: str, about: Mapping[str, Any]) -> LogRecord:
    is_failure = name.endswith("failure")
    return LogRecord(
        time_unix_nano=record["end"],
        observed_time_unix_nano=record["end"],
        severity_number=SeverityNumber.SEVERITY_NUMBER_ERROR if is_failure else SeverityNumber.SEVERITY_NUMBER_WARN,
        severity_text="ERROR" if is_failure else "WARN",
        event_name=name,
        body=AnyValue(string_value=_sound(body)),
        attributes=_attributes(about),
        trace_id=bytes.fromhex(record["trace"]),
        span_id=bytes.fromhex(span),
        flags=record["flags"],
    )


# --- what they share ---------------------------------------------------------------------------------


def _resource(attributes: Mapping[str, str]) -> Resource:
    return Resource(attributes=_attributes(attributes))


def _attributes(values: Mapping[str, Any]) -> list[KeyValue]:
    """What is not known is left out."""
    return [KeyValue(key=_sound(key), value=_value(value)) for key, value in values.items() if value != ""]


def _value(value: Any) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    return AnyValue(int_value=value) if isinstance(value, int) else AnyValue(string_value=_sound(str(value)))


def _sound(text: str) -> str:
    """Half characters cannot be encoded."""
    return wire.mended(text)
