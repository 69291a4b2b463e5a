"""Off unless the user says so; and when it is off, it costs nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fairlead
from tests.conftest import Home
from tests.telemetry.conftest import Collector, Hook, spools, toml

MAIN = Path(fairlead.__file__).parent / "__main__.py"
EVENT = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}
TOO_HEAVY = {"opentelemetry", "google", "urllib", "http", "ssl", "json", "logging", "subprocess", "asyncio", "socket"}


@pytest.mark.parametrize(
    ("switch", "settings", "is_on"),
    [
        ({}, "", False),
        ({"FAIRLEAD_OTEL": "0"}, "", False),
        ({"FAIRLEAD_OTEL": "1"}, "", True),
        ({}, "enabled = true", True),
        ({"FAIRLEAD_OTEL": "1"}, "enabled = false", False),
        ({"FAIRLEAD_OTEL": "1"}, "enabled = 'yes'", True),
        ({"FAIRLEAD_OTEL": "1", "OTEL_SDK_DISABLED": "true"}, "", False),
        ({"OTEL_SDK_DISABLED": "TRUE"}, "enabled = true", False),
    ],
    ids=["address alone", "0", "1", "file", "the file over the variable", "nonsense", "standard switch", "the same"],
)
def test_who_switches_it_on(
    traced: Home, collector: Collector, hook: Hook, switch: dict[str, str], settings: str, is_on: bool
) -> None:
    del traced.environ["FAIRLEAD_OTEL"]
    toml(traced, f"[telemetry]\n{settings}\n" if settings else "")
    hook(env=switch)
    assert bool(spools(traced)) == is_on
    if is_on:
        collector.wait_for(collector.spans)


def test_the_organisation_has_the_last_word(traced: Home, collector: Collector) -> None:
    managed = traced.root / "managed"
    (managed / "fairlead").mkdir(parents=True)
    (managed / "fairlead/fairlead.toml").write_text("[telemetry]\nenabled = false\n")
    toml(traced, "[telemetry]\nenabled = true\n")
    hooks = fairlead.Hooks.load(traced.project, environ=traced.environ, managed=str(managed), record=True)
    hooks.fire_sync(fairlead.PreToolUse(session_id="s", tool_name="Bash", tool_input={"command": "ls"}))
    assert spools(traced) == []


def test_an_agent_that_keeps_the_standard_variables_to_itself_is_no_obstacle(
    traced: Home, collector: Collector, hook: Hook
) -> None:
    del traced.environ["OTEL_EXPORTER_OTLP_ENDPOINT"]
    header = "headers = { x-key = 'a, b=c' }"
    toml(traced, f"[telemetry]\nenabled = true\nendpoint = '{collector.url}/'\n{header}\n")
    hook()
    collector.wait_for(collector.spans)
    assert collector.posts[0].headers["x-key"] == "a, b=c"


def test_headers_and_compression_by_the_standard_variables(traced: Home, collector: Collector, hook: Hook) -> None:
    traced.environ |= {
        "OTEL_EXPORTER_OTLP_HEADERS": "x-one=1%202,x-two=2",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "x-three=3",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"{collector.url}/v1/metrics",
    }
    hook()
    collector.wait_for(lambda: {"/v1/traces", "/v1/metrics"} <= {post.path for post in collector.accepted})
    posts = {post.path: post.headers for post in collector.accepted}
    assert posts["/v1/traces"]["x-three"] == "3"
    assert "x-one" not in posts["/v1/traces"]
    assert (posts["/v1/metrics"]["x-one"], posts["/v1/metrics"]["x-two"]) == ("1 2", "2")
    assert posts["/v1/traces"]["content-encoding"] == "gzip"
    assert posts["/v1/traces"]["content-type"] == "application/x-protobuf"


LOOKS = [("explain", "--command", "ls"), ("list",), ("check",)]


@pytest.mark.parametrize("words", LOOKS, ids=lambda words: words[0])
def test_what_only_looks_sends_nothing(traced: Home, collector: Collector, fairlead: Any, words: Any) -> None:
    assert fairlead(*words).code == 0
    assert spools(traced) == []


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("enabeld = true", "did you mean"),
        ("enabled = 1", "true or false"),
        ("endpoint = 'localhost:4317'", "an address such as"),
        ("headers = 'a=b'", "headers must be a table"),
    ],
)
def test_mistakes_are_named(traced: Home, fairlead: Any, line: str, what: str) -> None:
    toml(traced, f"[telemetry]\n{line}\n")
    assert what in fairlead("check").out.decode()


def imported(place: Home) -> set[str]:
    program = [sys.executable, "-I", "-X", "importtime", str(MAIN), "hook", "--agent", "claude-code"]
    done = subprocess.run(
        program, input=json.dumps(EVENT).encode(), capture_output=True, env=place.environ, cwd=place.project, check=True
    )
    lines = [
        line.rpartition(b"|")[2].strip().decode() for line in done.stderr.splitlines() if line.startswith(b"import")
    ]
    return set(lines[next(index for index, name in enumerate(lines) if name.startswith("fairlead")) :])


def test_off_it_imports_nothing(traced: Home) -> None:
    del traced.environ["FAIRLEAD_OTEL"]
    found = imported(traced)
    assert not {name for name in found if "telemetry" in name or name.startswith("google")}


def test_on_it_imports_little(traced: Home) -> None:
    found = imported(traced)
    ours = {name for name in found if name.startswith("fairlead.telemetry")}
    assert ours == {f"fairlead.telemetry{name}" for name in ("", ".handing", ".spool", ".tracing")}
    assert {name.partition(".")[0] for name in found} & TOO_HEAVY == set()
