"""Metrics and log records: what happened how often, and what somebody may want to be woken for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.logs.v1.logs_pb2 import SeverityNumber
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality

from fairlead.telemetry.totals import BOUNDS, EVENTS, HOOK_DURATION, MOST, Totals
from tests.conftest import Home
from tests.telemetry.conftest import Collector, Hook, Post, attributes, eventually, is_over, toml

GUARD = """
[[hook]]
name = "guard"
on = "PreToolUse"
run = '''read line; case "$line" in *rm*) echo no >&2; exit 2;; *broken*) exit 127;; esac'''
"""


def commands(hook: Hook, *texts: str) -> None:
    for text in texts:
        hook(tool_input={"command": text})


def by_decision(collector: Collector) -> dict[str, int]:
    points = collector.metrics()["fairlead.events"].sum.data_points
    return {attributes(point.attributes)["fairlead.decision"]: point.as_int for point in points}


def test_events_are_counted_by_decision_and_hooks_by_time(traced: Home, collector: Collector, hook: Hook) -> None:
    toml(traced, GUARD)
    commands(hook, "ls", "rm x", "broken", "ls")
    collector.wait_for(lambda: collector.counted() == 4)
    assert by_decision(collector) == {"none": 2, "deny": 2}

    metrics = collector.metrics()
    assert {name: metric.unit for name, metric in metrics.items()} == {
        "fairlead.events": "{event}",
        "fairlead.event.duration": "s",
        "fairlead.hook.duration": "s",
        "fairlead.hook.failures": "{failure}",
    }
    took = metrics["fairlead.hook.duration"].histogram.data_points
    assert sum(point.count for point in took) == 4
    assert all(sum(point.bucket_counts) == point.count and point.sum > 0 for point in took)
    assert all(tuple(point.explicit_bounds) == BOUNDS for point in took)
    (failure,) = metrics["fairlead.hook.failures"].sum.data_points
    assert attributes(failure.attributes) == {
        "fairlead.hook.name": "guard",
        "fairlead.hook.handler": "command",
        "error.type": "failed",
    }


def test_numbers_go_on_where_the_last_exporter_has_stopped(traced: Home, collector: Collector, hook: Hook) -> None:
    toml(traced, GUARD)
    commands(hook, "ls")
    collector.wait_for(lambda: collector.counted() == 1)
    eventually(lambda: is_over(traced))
    commands(hook, "ls")
    collector.wait_for(lambda: collector.counted() == 2)
    totals = collector.metrics()["fairlead.events"].sum
    assert totals.aggregation_temporality == AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
    assert totals.is_monotonic
    assert len({_first(post).start_time_unix_nano for post in _metric_posts(collector)}) == 1


def test_differences_alone_where_they_are_preferred(traced: Home, collector: Collector, hook: Hook) -> None:
    traced.environ["OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"] = "delta"
    commands(hook, "ls")
    collector.wait_for(lambda: collector.counted() == 1)
    eventually(lambda: is_over(traced))
    commands(hook, "ls")
    posts = collector.wait_for(lambda: found if len(found := _metric_posts(collector)) == 2 else None)
    first, second = (_first(post) for post in posts)
    assert (first.as_int, second.as_int) == (1, 1)
    assert first.start_time_unix_nano < first.time_unix_nano <= second.time_unix_nano
    assert first.start_time_unix_nano < second.start_time_unix_nano < second.time_unix_nano


def _metric_posts(collector: Collector) -> list[Post]:
    return [post for post in collector.accepted if post.path == "/v1/metrics"]


def _first(post: Post) -> Any:
    return post.message.resource_metrics[0].scope_metrics[0].metrics[0].sum.data_points[0]


def test_refusals_and_failures_are_log_records_of_their_spans(traced: Home, collector: Collector, hook: Hook) -> None:
    toml(traced, GUARD)
    commands(hook, "ls", "rm x", "broken")
    logs = collector.wait_for(lambda: found if len(found := collector.logs()) == 3 else None)
    refusals = [log for log in logs if log.event_name == "fairlead.refusal"]
    (failure,) = [log for log in logs if log.event_name == "fairlead.hook.failure"]
    assert len(refusals) == 2
    assert {log.severity_number for log in refusals} == {SeverityNumber.SEVERITY_NUMBER_WARN}
    assert failure.severity_number == SeverityNumber.SEVERITY_NUMBER_ERROR
    assert refusals[0].body.string_value == "PreToolUse Bash was refused"
    assert failure.body.string_value == "hook guard failed on PreToolUse Bash"
    spans = {span.span_id: span for span in collector.spans()}
    assert {spans[log.span_id].name for log in refusals} == {"execute_tool Bash"}
    assert spans[failure.span_id].name == "hook guard"
    assert all(spans[log.span_id].trace_id == log.trace_id for log in logs)


@pytest.mark.parametrize("kind", ["traces", "metrics", "logs"])
def test_each_kind_can_be_left_out(traced: Home, collector: Collector, hook: Hook, kind: str) -> None:
    toml(traced, GUARD)
    traced.environ[f"OTEL_{kind.upper()}_EXPORTER"] = "none"
    commands(hook, "rm x")
    wanted = {f"/v1/{other}" for other in ("traces", "metrics", "logs") if other != kind}
    collector.wait_for(lambda: {post.path for post in collector.accepted} >= wanted)
    eventually(lambda: is_over(traced))
    assert {post.path for post in collector.posts} == wanted


@given(st.lists(st.floats(0, 1000)))
def test_every_time_is_in_one_bucket(times: list[float]) -> None:
    totals = Totals()
    for seconds in times:
        totals.measure(HOOK_DURATION, seconds, {"a": "b"})
    for _name, _attributes, (total, counts) in totals:
        assert sum(counts) == len(times)
        assert total == pytest.approx(sum(times))
        within = [sum(1 for seconds in times if seconds <= bound) for bound in BOUNDS]
        assert [sum(counts[: place + 1]) for place in range(len(BOUNDS))] == within


def test_tools_without_end_are_counted_together() -> None:
    totals = Totals()
    for number in range(MOST + 50):
        totals.count(EVENTS, 1, tool=f"t{number}")
    assert len(totals.series) == MOST + 1
    assert sum(value for _name, _attributes, value in totals) == MOST + 50
    assert [value for _n, found, value in totals if "otel.metric.overflow" in found] == [50]
