"""What a server says, and what it means."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable
from http.client import responses
from typing import Any

import pytest

from fairlead import PostToolUse, Stop, UserPromptSubmit
from fairlead.dialects import HOOK_HALVES
from fairlead.events import Event
from fairlead.hooks import Hook
from tests.http_hooks.conftest import BASH, DENY, Request, Server, decide, error, http_hook, reply, report

Serve = Callable[..., Server]
ALLOW = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}
OTHER_INPUT = {"hookSpecificOutput": {**ALLOW["hookSpecificOutput"], "updatedInput": {"command": "ls"}}}
PROMPT = UserPromptSubmit(session_id="s1", prompt="hello")
CONTEXT = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "it rains"}}


def test_the_event_is_posted_as_its_own_system_writes_it(serve: Serve) -> None:
    server = serve()
    decide(http_hook(f"{server.url}/hook?a=1"))
    (request,) = server.requests
    assert (request.method, request.target) == ("POST", "/hook?a=1")
    assert request.headers["content-type"] == "application/json"
    assert request.headers["user-agent"].startswith("fairlead/")
    assert request.headers["host"] == f"127.0.0.1:{server.port}"
    assert request.json["hook_event_name"] == "PreToolUse"
    assert request.json["tool_input"] == {"command": "rm -rf build"}


ANSWERS: list[tuple[str, bytes, Event, dict[str, Any]]] = [
    ("nothing", reply("204 No Content"), BASH, {"decision": "none"}),
    ("an empty body", reply(), BASH, {"decision": "none"}),
    ("blanks", reply(body=b" \r\n "), BASH, {"decision": "none"}),
    ("an empty object", reply(body={}), BASH, {"decision": "none"}),
    ("deny", reply(body=DENY), BASH, {"decision": "deny", "reason": "not on my watch"}),
    ("201 counts as well", reply("201 Created", DENY), BASH, {"decision": "deny"}),
    ("allow", reply(body=ALLOW), BASH, {"decision": "allow"}),
    ("another input", reply(body=OTHER_INPUT), BASH, {"updated_input": {"command": "ls"}}),
    ("context", reply(body=CONTEXT), PROMPT, {"context": "it rains"}),
    ("a block after a tool", reply(body={"decision": "block", "reason": "undo it"}),
     PostToolUse(session_id="s1", tool_name="Bash", tool_input={}, tool_response={}), {"said": "block"}),
    ("keep going", reply(body={"decision": "block", "reason": "not done"}), Stop(session_id="s1"), {"said": "block"}),
    ("the turn's end", reply(body={"continue": False, "stopReason": "enough"}), BASH, {"stop": True}),
    ("in chunks", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
     + b"".join(f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in (b'{"decision":', b'"block"}', b"")),
     BASH, {"decision": "deny"}),
    ("until the connection ends", b"HTTP/1.1 200 OK\r\n\r\n" + json.dumps(DENY).encode(), BASH, {"decision": "deny"}),
    ("as HTTP/1.0", b"HTTP/1.0 200 OK\r\n\r\n" + json.dumps(DENY).encode(), BASH, {"decision": "deny"}),
    ("with a byte-order mark", reply(body=b"\xef\xbb\xbf" + json.dumps(DENY).encode()), BASH, {"decision": "deny"}),
    ("in UTF-16", reply(body=json.dumps(DENY).encode("utf-16")), BASH, {"decision": "deny"}),
    ("with a raw line break in a text", reply(body=b'{"decision": "block", "reason": "a\nb"}'), BASH,
     {"decision": "deny", "reason": "a\nb"}),
    ("after a 100", b"HTTP/1.1 100 Continue\r\n\r\n" + reply(body=DENY), BASH, {"decision": "deny"}),
    ("a refusal beside other text", reply(body=b"log: hi\n" + json.dumps(DENY).encode()), BASH, {"decision": "deny"}),
    ("a refusal beside what is nested without end",
     reply(body=json.dumps(DENY).encode()[:-1] + b',"a":' + b"[" * 5000 + b"]" * 5000 + b"}"),
     BASH, {"decision": "deny"}),
    ("a refusal with another type", reply(body=DENY, Content_Type="text/plain"), BASH, {"decision": "deny"}),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "event", "fields"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS])
def test_a_good_answer_is_a_verdict(serve: Serve, answer: bytes, event: Event, fields: dict[str, Any]) -> None:
    decision = decide(http_hook(serve(answer).url), event)
    assert not decision.reports[0].error
    assert {name: getattr(decision, name) for name in fields} == fields


LONG = b'{"decision": "approve", "reason": "' + b"x" * (1 << 20) + b'"}'
FAILURES: list[tuple[str, bytes, str]] = [
    ("400", reply("400 Bad Request", DENY), "400 Bad Request"),
    ("401", reply("401 Unauthorized"), "401 Unauthorized"),
    ("404", reply("404 Not Found", b"<html>"), "404 Not Found"),
    ("a status that nobody knows", reply("799 Strange"), "799"),
    ("500", reply("500 Internal Server Error", DENY), "500 Internal Server Error"),
    ("503", reply("503 Service Unavailable"), "503 Service Unavailable"),
    ("text", reply(body=b"all is well"), "200 OK, and no JSON object in it"),
    ("a page", reply(body=b"<html><body>Sign in</body></html>"), "no JSON object"),
    ("bad JSON", reply(body=b"{bad json"), "no JSON object"),
    ("a list", reply(body=b"[]"), "no JSON object"),
    ("null", reply(body=b"null"), "no JSON object"),
    ("a string", reply(body=b'"allow"'), "no JSON object"),
    ("compressed", reply(body=b"\x1f\x8b\x08\x00garbage", Content_Encoding="gzip"), "no JSON object"),
    ("nested without end", reply(body=b'{"a":' * 5000 + b"1" + b"}" * 5000), "no JSON object"),
    ("an allow that breaks off", b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n" + json.dumps(ALLOW).encode(),
     "the answer breaks off"),
    ("nothing of what was promised", b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n", "the answer breaks off"),
    ("an allow in half of the chunks", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n",
     "the answer breaks off"),
    ("chunks that are none", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
     "the answer breaks off"),
    ("chunks of less than nothing", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
     "POST "),
    ("an allow of a megabyte", reply(body=LONG), "longer than 1,048,576 bytes"),
    ("a megabyte in chunks", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
     + f"{len(LONG):x}\r\n".encode() + LONG + b"\r\n0\r\n\r\n", "longer than 1,048,576 bytes"),
    ("no answer at all", b"", "closed the connection without an answer"),
    ("HTTP/0.9", b'{"decision": "approve"}', "no HTTP that can be understood"),
    ("garbage", bytes(range(256)) * 8, "no HTTP that can be understood"),
    ("another protocol", b"SSH-2.0-OpenSSH_9.6\r\n", "no HTTP that can be understood"),
    ("half a head", b"HTTP/1.1 200 OK\r\nContent-Le", "the answer breaks off"),
    ("a head without its end", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", "the answer breaks off"),
    ("a status alone", b"HTTP/1.1 200 OK\r\n", "the answer breaks off"),
    ("half a status", b"HTTP/1.1 200", "the answer breaks off"),
    ("a head that is none", b"HTTP/1.1 200 OK\r\nwhat is this\r\nContent-Length: 9\r\n\r\n", "cannot be understood"),
    ("a thousand headers", b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000 + b"\r\n{}", "no HTTP that can be understood"),
    ("a header without end", b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000, "no HTTP that can be understood"),
    ("a status that is no number", b"HTTP/1.1 abc OK\r\n\r\n{}", "no HTTP that can be understood"),
    ("a status of a thousand", b"HTTP/1.1 1000 OK\r\n\r\n{}", "no HTTP that can be understood"),
    ("switching protocols", reply("101 Switching Protocols"), "101 Switching Protocols"),
]  # fmt: skip


@pytest.mark.parametrize("dialect", ["claude-code", "fairlead"])
@pytest.mark.parametrize(("answer", "said"), [row[1:] for row in FAILURES], ids=[row[0] for row in FAILURES])
def test_anything_else_is_a_failure_that_on_error_decides(serve: Serve, answer: bytes, said: str, dialect: str) -> None:
    url = serve(answer).url
    guarding = decide(http_hook(url, dialect=dialect, on_error="deny"))
    assert said in guarding.reports[0].error
    assert f"POST {url}" in guarding.reports[0].error
    assert guarding.denies
    assert "asker failed" in guarding.reason
    open_ = decide(http_hook(url, dialect=dialect, on_error="allow"))
    assert said in open_.reports[0].error
    assert open_.decision == "none"


def test_an_allow_in_the_wrong_form_is_none(serve: Serve) -> None:
    said = {"hookSpecificOutput": {"permissionDecision": "allow"}}
    assert "hookEventName must be" in error(http_hook(serve(reply(body=said)).url))


def test_the_hooks_own_system_decides_where_nobody_says_what_a_failure_means(serve: Serve) -> None:
    url = serve(reply("500 Internal Server Error")).url
    assert decide(http_hook(url, dialect="claude-code")).decision == "none"
    assert decide(http_hook(url, dialect="fairlead")).decision == "deny"


BROKEN_REFUSALS = {
    "shorter than promised": b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n" + json.dumps(DENY).encode(),
    "in chunks without an end": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    + f"{len(json.dumps(DENY)):x}\r\n{json.dumps(DENY)}\r\n".encode()
    + b"zz\r\n",
}


@pytest.mark.parametrize("answer", BROKEN_REFUSALS.values(), ids=BROKEN_REFUSALS)
def test_a_refusal_stays_one_though_the_connection_breaks_behind_it(serve: Serve, answer: bytes) -> None:
    decision = decide(http_hook(serve(answer).url, on_error="allow"))
    assert (decision.decision, decision.reason) == ("deny", "not on my watch")


def test_nobody_listens(serve: Serve) -> None:
    server = serve()
    server.close()
    assert error(http_hook(server.url)) == f"POST {server.url}: Connection refused"
    server._listening = socket.create_server(("127.0.0.1", 0))  # so that it can be closed again


def test_a_host_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_words: Any, **_options: Any) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert (
        error(http_hook("https://hooks.invalid/x"))
        == "POST https://hooks.invalid/x: the host hooks.invalid is not known"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a reset may overtake what was sent before it")
def test_a_server_that_answers_before_it_has_read_everything_is_heard(serve: Serve) -> None:
    """It says that this is too much, and closes."""

    def too_much(connection: socket.socket, _request: Request) -> None:
        connection.recv(1)
        connection.sendall(reply("413 Content Too Large"))

    server = serve(too_much, raw=True)
    large = BASH.but(tool_input={"command": "x" * (32 << 20)})
    assert f"413 {responses[413]}" in error(http_hook(server.url), large)  # Python 3.13 has a new name for it


def test_a_large_event_arrives_whole(serve: Serve) -> None:
    server = serve(reply(body=DENY))
    assert decide(http_hook(server.url), BASH.but(tool_input={"command": "x" * (8 << 20)})).denies
    assert len(server.requests[0].json["tool_input"]["command"]) == 8 << 20


def test_long_texts_are_cut(serve: Serve) -> None:
    said = {"decision": "block", "reason": "r" * 50_000, "systemMessage": "m" * 50_000, "stopReason": "s" * 50_000}
    decision = decide(http_hook(serve(reply(body=said)).url))
    assert decision.denies
    assert (len(decision.reason), len(decision.user_message), len(decision.stop_reason)) == (4000, 4000, 4000)
    much = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "c" * 100_000}}
    assert len(decide(http_hook(serve(reply(body=much)).url), PROMPT).context) == 64 * 1024


@pytest.mark.parametrize(
    ("answer", "facts"),
    [(reply(body=b"{ }"), {"status": 200, "bytes": 3}), (reply("503 Busy", b"x"), {"status": 503, "bytes": 0})],
    ids=["good", "bad"],
)
def test_status_and_size_are_kept_for_people(serve: Serve, answer: bytes, facts: dict[str, int]) -> None:
    assert report(http_hook(serve(answer).url)).facts == facts


class _Once:
    """Stands for `once`, which a hook is told when its run was a good one."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, _event: Event) -> str:
        return ""

    def ran(self, _event: Event) -> None:
        self.runs += 1


@pytest.mark.parametrize(
    ("answer", "runs"),
    [(reply(), 1), (reply(body=b"text"), 0), (reply("500 Oh"), 0)],
    ids=["empty", "text", "500"],
)
def test_only_a_good_answer_counts_as_a_run(serve: Serve, answer: bytes, runs: int) -> None:
    once = _Once()
    hook: Hook = http_hook(serve(answer).url, options={"once": once})
    decide(hook)
    assert once.runs == runs


@pytest.mark.parametrize("dialect", HOOK_HALVES)
def test_an_empty_answer_is_no_opinion_in_every_system(serve: Serve, dialect: str) -> None:
    found = report(http_hook(serve(reply()).url, dialect=dialect))
    assert not found.error
    assert found.verdict is not None
    assert found.verdict.decision == "none"
