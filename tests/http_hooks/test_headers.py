"""The headers of a hook: what stands in them, and that nothing else does."""

from __future__ import annotations

import base64
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.handlers.http import OURS, _value, expanded, header_problems
from fairlead.hooks import HookFailed
from tests.http_hooks.conftest import BASH, Server, decide, error, http_hook

Serve = Callable[..., Server]
ENVIRON = {"TOKEN": "t0ken", "OTHER": "hidden", "EMPTY": "", "NESTED": "$TOKEN ${OTHER}", "A_1": "one"}

EXPANDED = [
    ("Bearer $TOKEN", "Bearer t0ken"),
    ("Bearer ${TOKEN}", "Bearer t0ken"),
    ("$TOKEN$TOKEN", "t0kent0ken"),
    ("${TOKEN}x$A_1-", "t0kenxone-"),
    ("$TOKENX", ""),
    ("a$OTHER", "a"),
    ("a${OTHER}b", "ab"),
    ("a${MISSING}b", "ab"),
    ("[$EMPTY]", "[]"),
    ("$NESTED", "$TOKEN ${OTHER}"),
    ("cost: $5 or $$", "cost: $5 or $$"),
    ("$", "$"),
    ("${", "${"),
    ("${}", "${}"),
    ("${TOKEN", "${TOKEN"),
    ("${TO KEN}", "${TO KEN}"),
    ("${1}", "${1}"),
    ("$(id)", "$(id)"),
    ("`id`", "`id`"),
    ("", ""),
    ("plain", "plain"),
]


@pytest.mark.parametrize(("text", "value"), EXPANDED, ids=[row[0] or "nothing" for row in EXPANDED])
def test_allowed_variables_are_put_in_and_others_are_empty(text: str, value: str) -> None:
    assert expanded(text, ("TOKEN", "EMPTY", "NESTED", "A_1", "MISSING"), ENVIRON) == value


@given(st.text("$ {}TOKEN_OTHERx", max_size=40))
def test_no_text_gets_at_another_variable(text: str) -> None:
    assert "hidden" not in expanded(text, ("TOKEN", "NESTED"), ENVIRON)


def test_headers_arrive_as_they_are_written(serve: Serve) -> None:
    server = serve()
    hook = http_hook(
        server.url,
        headers={"Authorization": "Bearer $TOKEN", "X-Other": "<$OTHER>", "X-Name": "Zoë", "content-type": "text/json"},
        allowed_env=("TOKEN",),
    )
    assert not decide(hook, BASH, **ENVIRON).reports[0].error
    headers = server.requests[0].headers
    assert headers["authorization"] == "Bearer t0ken"
    assert headers["x-other"] == "<>"
    assert headers["x-name"].encode("latin-1").decode() == "Zoë"
    assert headers["content-type"] == "text/json"
    assert [line for line in server.requests[0].lines if line.lower().startswith("content-type")] == [
        "content-type: text/json"
    ]


@pytest.mark.parametrize("name", [*sorted(OURS), "Host", "CONTENT-LENGTH"])
def test_a_hook_cannot_change_how_a_request_is_sent(serve: Serve, name: str) -> None:
    server = serve()
    assert not decide(http_hook(server.url, headers={name: "5"})).reports[0].error
    (request,) = server.requests
    assert request.headers["host"] == f"127.0.0.1:{server.port}"
    assert request.headers["content-length"] == str(len(request.body))
    assert "5" not in request.headers.values()
    assert header_problems({name: "5"}) == [f"the header {name} is Fairlead's own and is left out"]


BAD_VALUES = ["a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\rb", "a\r\n folded", "a\x00b", "a\x1bb", "a\x7fb", "a\ud800b"]


@pytest.mark.parametrize("value", BAD_VALUES, ids=ascii)
def test_a_value_cannot_begin_another_header(serve: Serve, value: str) -> None:
    server = serve()
    for hook in (
        http_hook(server.url, headers={"X-Key": value}),
        http_hook(server.url, headers={"X-Key": "$TOKEN"}, allowed_env=("TOKEN",)),
    ):
        said = error(hook, BASH, TOKEN=value)
        assert "the header X-Key holds" in said
        assert "Evil" not in said
    assert server.connections == 0
    assert header_problems({"X-Key": value})


@pytest.mark.parametrize("name", ["", "X Key", "X:Key", "X\r\nKey", "Xä", "X(Key)", '"X"'], ids=ascii)
def test_a_name_that_is_none_is_a_failure(serve: Serve, name: str) -> None:
    server = serve()
    assert "is no name of a header" in error(http_hook(server.url, headers={name: "1"}))
    assert server.connections == 0
    assert header_problems({name: "1"})


def test_blanks_and_the_line_break_of_a_file_around_a_value_do_not_count(serve: Serve) -> None:
    server = serve()
    decide(http_hook(server.url, headers={"X-Key": " $TOKEN "}, allowed_env=("TOKEN",)), BASH, TOKEN="abc\n")
    assert server.requests[0].headers["x-key"] == "abc"


@given(st.text())
def test_any_value_is_one_line_or_a_failure(text: str) -> None:
    try:
        value = _value("X-Key", text)
    except HookFailed:
        return
    assert not set(value) & {0, 10, 13}


def test_the_user_in_a_url_is_sent_as_a_header(serve: Serve) -> None:
    server = serve()
    decide(http_hook(server.url.replace("//", "//me:p%40ss@")))
    decide(http_hook(server.url.replace("//", "//me:pass@"), headers={"authorization": "own"}))
    sent = [request.headers["authorization"] for request in server.requests]
    assert sent == [f"Basic {base64.b64encode(b'me:p@ss').decode()}", "own"]
    assert "@" not in server.requests[0].headers["host"]


def test_good_headers_have_no_problem() -> None:
    assert not header_problems({"Authorization": "Bearer $TOKEN", "X-A": "b"})
