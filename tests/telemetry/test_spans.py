"""A span for each event and each hook, with the right ids, names, times and words, at a real collector."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from fairlead import Hooks, PreToolUse
from fairlead.telemetry.tracing import parsed
from tests.conftest import Home
from tests.telemetry.conftest import Collector, Hook, attributes, eventually, toml

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"


def command(run: str, name: str = "mine", more: str = "") -> str:
    return f"[[hook]]\nname = {name!r}\non = 'PreToolUse'\nrun = '''{run}'''\n{more}\n"


def named(collector: Collector, name: str) -> Span:
    found: Span = collector.wait_for(lambda: next((span for span in collector.spans() if span.name == name), None))
    return found


def test_an_event_and_its_hooks_are_spans_of_one_trace(traced: Home, collector: Collector, hook: Hook) -> None:
    toml(traced, command("true", "first") + command("exit 0", "second"))
    before = time.time_ns()
    assert hook().code == 0
    event = named(collector, "execute_tool Bash")
    after = time.time_ns()
    hooks = [named(collector, f"hook {name}") for name in ("first", "second")]
    assert len(collector.spans()) == 3

    assert len(event.trace_id) == 16
    assert any(event.trace_id)
    assert event.parent_span_id == b""
    assert {span.trace_id for span in hooks} == {event.trace_id}
    assert {span.parent_span_id for span in hooks} == {event.span_id}
    assert len({event.span_id, *(span.span_id for span in hooks)}) == 3
    assert {len(span.span_id) for span in (event, *hooks)} == {8}
    for span in hooks:
        assert event.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.end_time_unix_nano <= event.end_time_unix_nano
    assert before <= event.start_time_unix_nano < event.end_time_unix_nano <= after
    assert {span.kind for span in (event, *hooks)} == {Span.SPAN_KIND_INTERNAL}
    assert {span.status.code for span in (event, *hooks)} == {Status.STATUS_CODE_UNSET}


def test_they_say_what_the_conventions_call_for(traced: Home, collector: Collector, hook: Hook) -> None:
    toml(traced, command("echo no >&2; exit 2"))
    assert hook().code in (0, 2)
    event, mine = named(collector, "execute_tool Bash"), named(collector, "hook mine")
    assert attributes(event.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.agent.name": "claude-code",
        "gen_ai.conversation.id": "s1",
        "gen_ai.tool.name": "Bash",
        "gen_ai.tool.call.id": "toolu_1",
        "fairlead.event": "PreToolUse",
        "fairlead.decision": "deny",
        "fairlead.hooks.ran": 1,
        "fairlead.hooks.failed": 0,
    }
    assert attributes(mine.attributes) == {
        "gen_ai.agent.name": "claude-code",
        "gen_ai.conversation.id": "s1",
        "gen_ai.tool.name": "Bash",
        "fairlead.event": "PreToolUse",
        "fairlead.hook.name": "mine",
        "fairlead.hook.handler": "command",
        "fairlead.hook.layer": "user",
        "fairlead.hook.dialect": "fairlead",
        "fairlead.hook.verdict": "deny",
    }
    assert event.status.code == mine.status.code == Status.STATUS_CODE_UNSET  # a refusal is no error


def test_what_is_not_about_a_tool_goes_by_the_name_of_its_event(traced: Home, collector: Collector, hook: Hook) -> None:
    hook("UserPromptSubmit", prompt="hello")
    found = attributes(named(collector, "UserPromptSubmit").attributes)
    assert found["fairlead.event"] == "UserPromptSubmit"
    assert "gen_ai.operation.name" not in found  # who counts how often an agent was invoked does not count this
    assert "gen_ai.tool.name" not in found


def test_who_sends_is_in_the_resource(traced: Home, collector: Collector, hook: Hook) -> None:
    hook(env={"OTEL_RESOURCE_ATTRIBUTES": "team=blue%20sky,service.name=other", "OTEL_SERVICE_NAME": "ours"})
    collector.wait_for(collector.spans)
    post = next(post for post in collector.accepted if post.path == "/v1/traces")
    found = attributes(post.message.resource_spans[0].resource.attributes)
    assert (found["service.name"], found["team"]) == ("ours", "blue sky")
    assert found["service.instance.id"]
    assert post.message.resource_spans[0].scope_spans[0].scope.name == "fairlead"


@pytest.mark.parametrize(
    ("run", "more", "error"),
    [("no-such-program-anywhere", "", "failed"), ("sleep 600", "timeout = 0.2", "timeout")],
    ids=["cannot be run", "hangs"],
)
def test_a_hook_that_fails_has_the_status_of_an_error(
    traced: Home, collector: Collector, hook: Hook, run: str, more: str, error: str
) -> None:
    toml(traced, command(run, more=more))
    hook()
    mine, event = named(collector, "hook mine"), named(collector, "execute_tool Bash")
    assert (mine.status.code, mine.status.message) == (Status.STATUS_CODE_ERROR, error)
    assert attributes(mine.attributes)["error.type"] == error
    assert attributes(event.attributes)["fairlead.hooks.failed"] == 1


def test_an_event_that_cannot_be_read_is_a_refusal_with_an_error(
    traced: Home, collector: Collector, fairlead: Any
) -> None:
    fairlead("hook", "--agent", "claude-code", "--event", "PreToolUse", stdin=b'{"session_id": 3')
    event = named(collector, "PreToolUse")
    assert event.status.code == Status.STATUS_CODE_ERROR
    assert attributes(event.attributes)["fairlead.decision"] == "deny"


# --- trace context -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "fields"),
    [
        ({"TRACEPARENT": TRACEPARENT}, {}),
        ({}, {"metadata": {"traceparent": TRACEPARENT}}),
        ({}, {"_meta": {"traceparent": TRACEPARENT}}),
        ({}, {"traceparent": TRACEPARENT}),
        ({"TRACEPARENT": f"00-{'1' * 32}-{'2' * 16}-01"}, {"metadata": {"traceparent": TRACEPARENT}}),
        ({"TRACEPARENT": TRACEPARENT}, {"metadata": {"traceparent": "nonsense"}}),
    ],
    ids=["variable", "metadata", "meta", "payload", "payload over variable", "variable where the payload is nonsense"],
)
def test_the_event_joins_the_trace_of_the_agent(
    traced: Home, collector: Collector, hook: Hook, env: dict[str, str], fields: dict[str, Any]
) -> None:
    hook(env=env, **fields)
    event = named(collector, "execute_tool Bash")
    assert (event.trace_id.hex(), event.parent_span_id.hex()) == (TRACE, PARENT)


def test_what_is_no_trace_context_begins_a_trace_of_its_own(traced: Home, collector: Collector, hook: Hook) -> None:
    hook(env={"TRACEPARENT": f"00-{'0' * 32}-{PARENT}-01"})
    event = named(collector, "execute_tool Bash")
    assert any(event.trace_id)
    assert event.parent_span_id == b""


def test_a_command_hook_gets_its_own_span(traced: Home, collector: Collector, hook: Hook) -> None:
    out = traced.root / "out"
    toml(traced, command(f'printf "%s %s" "$TRACEPARENT" "$TRACESTATE" > {out}'))
    hook(env={"TRACEPARENT": TRACEPARENT, "TRACESTATE": "a=b,c=d"})
    mine, event = named(collector, "hook mine"), named(collector, "execute_tool Bash")
    assert out.read_text() == f"00-{TRACE}-{mine.span_id.hex()}-01 a=b,c=d"
    assert mine.trace_state == event.trace_state == "a=b,c=d"


def test_a_hook_in_the_background_gets_its_own_span(traced: Home, collector: Collector, hook: Hook) -> None:
    out = traced.root / "out"
    toml(traced, command(f'printf "%s" "$TRACEPARENT" > {out}.new; mv {out}.new {out}', more="async = true"))
    hook(env={"TRACEPARENT": TRACEPARENT})
    mine = named(collector, "hook mine")
    eventually(out.exists)
    assert out.read_text() == f"00-{TRACE}-{mine.span_id.hex()}-01"


def test_who_is_not_sampled_sends_no_spans_and_hooks_know_it(traced: Home, collector: Collector, hook: Hook) -> None:
    out = traced.root / "out"
    toml(traced, command(f'printf "%s" "$TRACEPARENT" > {out}'))
    hook(env={"TRACEPARENT": f"00-{TRACE}-{PARENT}-00"})
    collector.wait_for(collector.counted)
    assert out.read_text().startswith(f"00-{TRACE}-")
    assert out.read_text().endswith("-00")
    assert collector.spans() == []


class Web(ThreadingHTTPServer):
    seen: list[dict[str, str]]


@pytest.fixture
def web() -> Iterator[Web]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            server.seen.append({name.lower(): value for name, value in self.headers.items()})
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_words: Any) -> None:
            pass

    server = Web(("127.0.0.1", 0), Handler)
    server.seen = []
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def http_hook(web: Web) -> str:
    url = f"http://127.0.0.1:{web.server_address[1]}/judge"
    return f"[[hook]]\nname = 'asks'\non = 'PreToolUse'\nhttp = {url!r}\n"


def test_an_http_hook_sends_its_own_span(traced: Home, collector: Collector, hook: Hook, web: Web) -> None:
    toml(traced, http_hook(web))
    hook(env={"TRACEPARENT": TRACEPARENT, "TRACESTATE": "a=b"})
    asks = named(collector, "hook asks")
    (headers,) = web.seen
    assert headers["traceparent"] == f"00-{TRACE}-{asks.span_id.hex()}-01"
    assert headers["tracestate"] == "a=b"
    assert asks.kind == Span.SPAN_KIND_CLIENT


def test_without_telemetry_hooks_get_what_they_always_got(place: Home, hook: Hook, web: Web) -> None:
    out = place.root / "out"
    toml(place, http_hook(web) + command(f'printf "%s" "$TRACEPARENT" > {out}'))
    hook(env={"TRACEPARENT": TRACEPARENT})
    (headers,) = web.seen
    assert "traceparent" not in headers
    assert out.read_text() == TRACEPARENT


HEX = "0123456789abcdef"
WORD = st.text(HEX + "fg0", max_size=34)


@given(st.lists(st.one_of(WORD, st.just(TRACE), st.just(PARENT), st.just("00"), st.just("01")), max_size=6))
def test_whatever_is_taken_for_a_trace_context_is_one(parts: list[str]) -> None:
    found = parsed("-".join(parts))
    if found is not None:
        trace, span, flags = found
        assert (len(trace), len(span)) == (32, 16)
        assert int(trace, 16)
        assert int(span, 16)
        assert flags in (0, 1)
        assert set(trace + span) <= set(HEX)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (TRACEPARENT, True),
        (f"00-{TRACE}-{PARENT}-00", True),
        (f"01-{TRACE}-{PARENT}-01-later", True),
        (f"00-{TRACE}-{PARENT}-01-later", False),
        (f"ff-{TRACE}-{PARENT}-01", False),
        (f"00-{TRACE.upper()}-{PARENT}-01", False),
        (f"00-{TRACE}-{'0' * 16}-01", False),
        (f"00-{'0' * 32}-{PARENT}-01", False),
        (f"00-{TRACE[1:]}-{PARENT}-01", False),
        ("", False),
        (None, False),
        (7, False),
    ],
)
def test_what_a_trace_context_is(text: Any, is_one: bool) -> None:
    assert (parsed(text) is not None) == is_one


# --- as a library ------------------------------------------------------------------------------------


async def test_a_program_that_records_its_events_sends_them_too(traced: Home, collector: Collector) -> None:
    hooks = Hooks.load(traced.project, environ=traced.environ, managed=str(traced.root), record=True, agent="own")
    seen: list[str] = []

    @hooks.on("PreToolUse", name="mine")
    def mine(_event: Any, context: Any) -> None:
        seen.append(context.env["TRACEPARENT"])

    await hooks.fire(PreToolUse(session_id="s1", tool_name="Bash", tool_input={"command": "ls"}))
    span = named(collector, "hook mine")
    assert [span.span_id.hex()] == [text.split("-")[2] for text in seen]
    assert attributes(span.attributes)["gen_ai.agent.name"] == "own"


def test_a_program_that_records_nothing_sends_nothing(traced: Home, collector: Collector) -> None:
    hooks = Hooks.load(traced.project, environ=traced.environ, managed=str(traced.root))
    decision = hooks.fire_sync(PreToolUse(session_id="s1", tool_name="Bash", tool_input={"command": "ls"}))
    assert decision.trace is None
    assert not (traced.home / ".local/state/fairlead/telemetry").exists()


def test_the_journal_may_be_off(traced: Home, collector: Collector, hook: Hook) -> None:
    toml(traced, "[journal]\nmode = 'off'\n")
    hook()
    assert named(collector, "execute_tool Bash").span_id
    assert [path.name for path in (traced.home / ".local/state/fairlead").iterdir()] == ["telemetry"]
