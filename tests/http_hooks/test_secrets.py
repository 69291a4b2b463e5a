"""Keys reach the server that they are for, and nobody else."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.handlers.http import Http, problem
from fairlead.targets import parse, shown
from tests.conftest import Home, Ran
from tests.http_hooks.conftest import BASH, Request, Server, error, http_hook, reply

Serve = Callable[..., Server]
KEYS = {"user": "Us3rsPassw0rd", "query": "Qu3ryT0ken", "path": "T00000000B00000000XXXX1234", "header": "H3aderKey",
        "variable": "Var1ableKey"}  # fmt: skip

SHOWN = [
    ("https://me:pass@h.example/x", "https://***@h.example/x"),
    ("https://me@h.example/x", "https://***@h.example/x"),
    ("https://h/x?a=1&b=2&c", "https://h/x?a=***&b=***&***"),
    ("https://h?key", "https://h?***"),
    ("https://h/services/T00000000/B00000000/XXXXXXXXXXXX12345678", "https://h/services/T00000000/B00000000/***"),
    ("https://h/hooks/pre-tool-use", "https://h/hooks/pre-tool-use"),
    ("https://h:8443/x#fragment", "https://h:8443/x"),
    ("http://a:b@c:d@h/x", "http://***@h/x"),
    ("ftp://me:pass@h/x", "ftp://***@h/x"),
    ("https://me:pa/ss@h/x", "https://***/***/x"),
    ("https://me:pa?ss@h/x", "https://***?***"),
    ("https://me:12/ss@h/x", "https://me:12/***/x"),
    ("https://[::1]:8080/x", "https://[::1]:8080/x"),
    ("https://[::1]/x", "https://[::1]/x"),
    ("mailto:me:pass@h", "mailto…"),
    ("http:me:pass@h", "http…"),
    ("http://h/\r\nX: y", "http://h/??X: y"),
    ("https://h/" + "a" * 300, "https://h/" + "a" * 189 + "…"),
]


@pytest.mark.parametrize(("url", "text"), SHOWN, ids=[row[0][:60] for row in SHOWN])
def test_a_url_is_shown_without_what_may_be_a_key(url: str, text: str) -> None:
    assert shown(url) == text
    assert Http(url=url).describe() == text


@given(st.text("abcXYZ059~!$&'()*+,;:-._%@", min_size=8, max_size=30), st.sampled_from(["http", "https", "ftp", "x"]))
def test_no_password_and_no_query_value_is_ever_shown(secret: str, scheme: str) -> None:
    secret = f"s3cr{secret}"
    for url in (f"{scheme}://me:{secret}@h/x", f"{scheme}://{secret}@h", f"{scheme}:me:{secret}@h"):
        assert secret not in shown(url) + problem(url)
    url = f"{scheme}://h/x?key={secret.replace('&', '')}"
    assert secret.replace("&", "") not in shown(url) + problem(url)


def test_nothing_prints_a_handlers_keys() -> None:
    hook = http_hook(
        f"https://me:{KEYS['user']}@h/{KEYS['path']}?k={KEYS['query']}",
        headers={"Authorization": f"Bearer {KEYS['header']}"},
    )
    target = parse(f"https://me:{KEYS['user']}@h/{KEYS['path']}?k={KEYS['query']}")
    printed = f"{hook!r} {hook.handler!r} {hook.handler} {hook.handler.describe()} {target!r}"
    assert [name for name, key in KEYS.items() if key in printed] == []
    assert "Authorization" in repr(hook.handler)


def close_at_once(connection: socket.socket, _request: Request) -> None:
    connection.close()


FAILURES = {
    "503": reply("503 Service Unavailable"),
    "redirect": reply("302 Found", Location="https://elsewhere.test/"),
    "another server": reply("307 Temporary Redirect", Location="https://elsewhere.test/?key=Qu3ryT0ken"),
    "text": reply(body=b"what?"),
    "garbage": b"\x00\x01\x02 Var1ableKey\r\n\r\n",
    "gone": close_at_once,
}


@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES)
def test_no_failure_tells_a_key(serve: Serve, answer: bytes) -> None:
    server = serve(answer)
    url = server.url.replace("//", f"//me:{KEYS['user']}@") + f"/{KEYS['path']}?key={KEYS['query']}"
    hook = http_hook(url, headers={"X-Key": f"{KEYS['header']} $KEY"}, allowed_env=("KEY",))
    said = error(hook, BASH, KEY=KEYS["variable"])
    assert [name for name, key in KEYS.items() if key in said] == []


@pytest.mark.parametrize("value", ["\r\nX: H3aderKey", "\ud800H3aderKey"], ids=["a line break", "half a character"])
def test_a_header_that_cannot_be_sent_is_not_shown(value: str) -> None:
    assert "H3aderKey" not in error(http_hook("http://127.0.0.1:1/", headers={"X-Key": value}))


def settings(url: str) -> dict[str, object]:
    hook = {"type": "http", "url": url, "headers": {"X-Key": f"{KEYS['header']} $KEY"}, "allowedEnvVars": ["KEY"]}
    return {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}


@pytest.mark.parametrize("command", ["check", "list", "explain", "hook", "fire"])
@pytest.mark.parametrize("words", [[], ["--json"]], ids=["for people", "as JSON"])
def test_no_command_prints_a_key(
    serve: Serve, place: Home, fairlead: Callable[..., Ran], command: str, words: list[str]
) -> None:
    server = serve(reply("500 Internal Server Error"))
    url = server.url.replace("//", f"//me:{KEYS['user']}@") + f"/{KEYS['path']}?key={KEYS['query']}"
    place.write("~/.claude/settings.json", settings(url))
    asks = command in ("hook", "fire", "explain")
    if command in ("hook", "fire"):
        words = []
    event = {"hook_event_name": "PreToolUse", "session_id": "s1", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    agent = ["--agent", "codex" if command == "hook" else "claude-code"] if asks else []
    ran = fairlead(command, *agent, *words, stdin=event if asks else b"", env={"KEY": KEYS["variable"]})
    printed = ran.out.decode() + ran.err
    assert [name for name, key in KEYS.items() if key in printed] == []
    assert bool(server.requests) is asks, printed
    assert all(request.headers["x-key"] == "H3aderKey Var1ableKey" for request in server.requests)


@pytest.mark.skipif(not os.path.exists("/proc/self/cmdline"), reason="there is no /proc")
def test_nobody_can_see_a_key_in_the_list_of_processes(serve: Serve, place: Home, fairlead: Callable[..., Ran]) -> None:
    """While the server is asked, no process but the one that was given the variable has it."""
    seen: list[str] = []

    def look(connection: socket.socket, _request: Request) -> None:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            seen.extend(str(folder) for key in KEYS.values() if key.encode() in words)
        connection.sendall(reply())

    server = serve(look)
    place.write("~/.claude/settings.json", settings(server.url))
    event = {"hook_event_name": "PreToolUse", "session_id": "s1", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    fairlead("fire", "--agent", "claude-code", stdin=event, env={"KEY": KEYS["variable"]})
    assert server.requests
    assert seen == []
