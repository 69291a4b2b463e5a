"""What becomes of the things that a server says, or does instead of saying something."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from mcp.client.session import ClientSession

from tests.mcp_hooks.conftest import SDK, Desk

Address = Callable[[str], str]


@pytest.mark.parametrize(
    ("how", "decision", "reason"),
    [
        pytest.param("deny", "deny", "the server says no", id="deny"),
        pytest.param("allow", "allow", "", id="allow"),
        pytest.param("plain", "none", "", id="words"),
        pytest.param("nothing", "none", "", id="nothing"),
        pytest.param("two", "deny", "in two parts", id="text-in-two-parts"),
        pytest.param("picture", "deny", "the server says no", id="a-picture-beside-it"),
        pytest.param("structured", "deny", "by structure", id="structured-content-alone"),
        pytest.param("chatty", "deny", "the server says no", id="between-other-output"),
    ],
)
@pytest.mark.parametrize("dialect", ["fairlead", "claude-code"])
def test_the_text_of_a_tool_is_read_like_the_stdout_of_a_command(
    desk: Desk, how: str, decision: str, reason: str, dialect: str
) -> None:
    desk.plain(how)
    said = desk.fire(dialect=dialect)
    assert (said.decision, said.reason, said.notes) == (decision, reason, ())


@pytest.mark.parametrize(
    ("how", "words"),
    [
        pytest.param("error", ("reports an error", "the scanner is out of order"), id="is-error"),
        pytest.param("crash", ("ended (exit code 3) before it answered", "it hurts"), id="crash"),
        pytest.param("killed", ("ended (signal 9) before it answered",), id="killed"),
        pytest.param("garbage", ("ended (exit code 0)", "no message of MCP", "Starting up"), id="garbage"),
        pytest.param("orphan", ("ended (exit code 4) before it answered",), id="a-child-holds-its-stdout"),
        pytest.param("refuses", ("refused the call", "Unknown tool: look"), id="unknown-tool"),
        pytest.param("no-result", ("no answer of MCP",), id="not-a-result"),
        pytest.param("endless", ("larger than 8 MiB",), id="endless"),
        pytest.param("dies-at-once", ("exit code 1", "before it got ready", "no database"), id="dies-at-once"),
    ],
)
def test_a_server_without_an_answer_is_a_failure_that_says_what_happened(
    desk: Desk, how: str, words: tuple[str, ...]
) -> None:
    desk.plain(how)
    said = desk.fire()
    assert said.decision == "deny"
    assert all(word in said.reason for word in ("hook h failed", *words)), said.reason
    if how != "error":
        assert str(desk.config) in said.reason


def test_who_fails_open_goes_on_and_says_why(desk: Desk) -> None:
    desk.plain("error")
    said = desk.fire(dialect="claude-code")
    assert said.decision == "none"
    assert "the scanner is out of order" in said.notes[0]


@pytest.mark.parametrize("how", ["silent", "slow"])
def test_a_server_that_takes_too_long_is_a_failure(desk: Desk, how: str) -> None:
    desk.plain(how)
    said = desk.fire(timeout=2.0)
    assert said.decision == "deny"
    assert "within 1.6 s" in said.reason or "timed out after 2 s" in said.reason


@pytest.mark.parametrize(
    ("dialect", "how"),
    [("fairlead", "huge"), ("claude-code", "huge"), ("codex", "huge"), ("fairlead", "deny-then-more")],
)
def test_an_answer_that_cannot_be_read_whole_never_lets_a_call_through(desk: Desk, dialect: str, how: str) -> None:
    desk.plain(how)
    said = desk.fire(dialect=dialect)
    assert said.decision == "deny"
    assert len(said.reason) < 4100


def test_a_refusal_among_several_answers_counts(desk: Desk) -> None:
    desk.plain("deny-then-more")
    said = desk.fire(dialect="claude-code")
    assert (said.decision, said.reason) == ("deny", "the first of two")


def test_the_facts_name_the_server_and_the_tool_and_their_times(desk: Desk) -> None:
    desk.plain("deny")
    facts: dict[str, Any] = desk.fire().reports[0].outcome.facts
    assert facts.keys() == {"server", "tool", "start_ms", "call_ms"}
    assert (facts["server"], facts["tool"]) == ("judge", "look")
    assert facts["start_ms"] >= 0
    assert facts["call_ms"] >= 0


@pytest.mark.skipif(not hasattr(ClientSession, "discover"), reason="this SDK does not know the newer protocol")
def test_a_server_that_knows_only_the_newer_protocol_is_understood(desk: Desk) -> None:
    desk.plain("modern")
    assert desk.fire().reason == "the server says no"


def test_no_proxy_stands_between_us_and_this_machine(
    desk: Desk, http_server: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    desk.serve(url=http_server("/mcp"))
    assert desk.fire("rm x", tool="judge").reason == "nobody does not remove things"


def test_a_server_written_with_the_sdk_answers_over_stdio(desk: Desk) -> None:
    desk.serve(command=sys.executable, args=[SDK, "stdio"], env={"WHO": "Ada"})
    said = desk.fire("rm -rf build", tool="judge")
    assert (said.decision, said.reason) == ("deny", "Ada does not remove things")


@pytest.mark.parametrize(("path", "kind"), [("/mcp", "http"), ("/sse", "sse")])
def test_a_server_answers_over_http(desk: Desk, http_server: Address, path: str, kind: str) -> None:
    desk.serve(url=http_server(path), type=kind)
    assert desk.fire("rm x", tool="judge").decision == "deny"
    assert desk.fire("ls", tool="judge").decision == "allow"


def test_a_tool_that_raises_is_a_failure(desk: Desk, http_server: Address) -> None:
    desk.serve(url=http_server("/mcp"))
    said = desk.fire(tool="fail")
    assert said.decision == "deny"
    assert "reports an error: Error executing tool fail" in said.reason


def test_headers_are_sent_with_the_variables_that_are_allowed(desk: Desk, http_server: Address) -> None:
    desk.environ["TOKEN"] = "s3cret-token"
    desk.serve(url=http_server("/mcp"), headers={"Authorization": "Bearer ${TOKEN}"}, allowed_env=["TOKEN"])
    said = desk.fire(tool="tell")
    assert json.loads(said.reason) == ["Bearer s3cret-token"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        pytest.param("/locked", ("HTTP 401", "never logs in", "headers"), id="needs-a-login"),
        pytest.param("/moved", ("HTTP 307", "not followed"), id="sends-us-elsewhere"),
        pytest.param("/huge", ("larger than 8 MiB",), id="huge"),
        pytest.param("/squeezed", ("compressed",), id="compressed"),
        pytest.param("/broken", ("HTTP 500",), id="broken"),
        pytest.param("/page", ("the MCP server 'judge'",), id="a-page-for-people"),
    ],
)
def test_an_http_server_without_an_answer_is_a_failure(
    desk: Desk, http_server: Address, path: str, words: tuple[str, ...]
) -> None:
    desk.environ["TOKEN"] = "s3cret-token"
    address = http_server(path)
    desk.serve(url=f"{address}?key=${{TOKEN}}", headers={"X-Key": "another-secret"}, allowed_env=["TOKEN"])
    said = desk.fire()
    assert said.decision == "deny"
    assert all(word in said.reason for word in (*words, f"at {address}")), said.reason
    assert "s3cret" not in said.reason
    assert "another-secret" not in said.reason


def test_a_port_where_nobody_listens_is_a_failure(desk: Desk) -> None:
    desk.serve(url="http://127.0.0.1:9/mcp")
    said = desk.fire()
    assert said.decision == "deny"
    assert "at http://127.0.0.1:9/mcp" in said.reason


def test_an_http_server_that_takes_too_long_is_a_failure(desk: Desk, http_server: Address) -> None:
    desk.serve(url=http_server("/silent"))
    said = desk.fire(timeout=2.0)
    assert said.decision == "deny"
    assert "within 1.6 s" in said.reason or "timed out after 2 s" in said.reason
