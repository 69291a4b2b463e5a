"""Events over HTTP: what a hook would have printed, in words that stop what has to be stopped."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fairlead.server import hooks_api
from tests.conftest import Home
from tests.dialects import samples
from tests.warm.serving import PATIENCE, Gate, Server, gate_in, has_ended

SCRIPT = r"""
input=$(cat)
case "$input" in
*"say block"*) echo "not on my watch" >&2; exit 1;;
*"say context"*) echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "by the way"}}';;
*"say whose"*) echo "$WHOSE $(pwd) ${CLAUDE_PROJECT_DIR-unset}" >&2; exit 1;;
*"say path"*) echo '{"hookSpecificOutput": {"hookEventName": "WorktreeCreate", "worktreePath": "/w/é"}}';;
*"wait"*) %s;;
esac
"""


class Web:
    """A server whose own user has hooks; and what it says to a body."""

    def __init__(self, root: Path, gate: Gate) -> None:
        self.server = Server(root)
        self.gate = gate
        script = root / "hook.sh"
        script.write_text("#!/bin/sh\n" + SCRIPT % gate.command)
        script.chmod(0o755)
        self.toml = self.server.home / ".config/fairlead/fairlead.toml"
        self.toml.write_text(
            f'[[hook]]\non = "*"\nrun = "{script}"\n[[hook]]\non = "PreToolUse"\nguard = ["filesystem"]\n'
        )
        self.host = self.server.said["address"].partition("//")[2]

    def send(self, path: str, body: bytes, **headers: str) -> tuple[int, bytes]:
        connection = self.begin(path, body, **headers)
        answer = connection.getresponse()
        found = answer.status, answer.read()
        connection.close()
        return found

    def begin(self, path: str, body: bytes, **headers: str) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(self.host, timeout=PATIENCE)
        given = {"Authorization": f"Bearer {self.server.key}", "Content-Type": "application/json"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("POST", path, body, {name: value for name, value in given.items() if value})
        return connection

    def said(self, body: Mapping[str, Any] | bytes, agent: str = "claude-code", query: str = "", **headers: str) -> Any:
        """The answer's JSON; None for an empty one. It is always a 200."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        status, found = self.send(f"/api/hooks/{agent}{query}", raw, **headers)
        assert status == 200
        return json.loads(found) if found else None


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with gate_in(tmp_path_factory.mktemp("gate")) as gate:
        found = Web(tmp_path_factory.mktemp("h"), gate)
        yield found
        found.server.close()


def tool(command: str, agent: str = "claude-code") -> dict[str, Any]:
    return dict(samples.SHELL[agent](command))


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"hook_event_name": kind, "session_id": "s", "cwd": "/", **fields}


def denied(answer: Any) -> str:
    """The reason of a refused tool call."""
    inside = answer["hookSpecificOutput"]
    assert (inside["hookEventName"], inside["permissionDecision"]) == ("PreToolUse", "deny")
    return str(inside["permissionDecisionReason"])


def test_nothing_to_say_is_an_empty_answer(web: Web) -> None:
    assert web.said(tool("ls")) is None


def test_a_hook_and_a_guard_refuse(web: Web) -> None:
    assert "not on my watch" in denied(web.said(tool("say block")))
    assert "[filesystem." in denied(web.said(tool("rm -rf /")))
    assert web.said(tool("say block", "grok"), "grok")["decision"] == "deny"


def test_context_arrives(web: Web) -> None:
    assert web.said(tool("say context"))["hookSpecificOutput"]["additionalContext"] == "by the way"


def test_hooks_find_what_the_server_was_started_with_and_nothing_of_a_session_that_started_it(
    web: Web, tmp_path: Path
) -> None:
    reason = denied(web.said({**tool("say whose"), "cwd": str(tmp_path)}))
    assert f"the server's {tmp_path} unset" in reason


REFUSALS: Mapping[str, tuple[dict[str, Any], Callable[[Any], bool]]] = {
    "a prompt": (event("UserPromptSubmit", prompt="say block"), lambda said: said["decision"] == "block"),
    "a stop": (event("Stop", last_assistant_message="say block"), lambda said: said["decision"] == "block"),
    "a permission": (
        event("PermissionRequest", tool_name="Bash", tool_input={"command": "say block"}),
        lambda said: said["hookSpecificOutput"]["decision"]["behavior"] == "deny",
    ),
    "a task, which only an exit code refuses": (
        event("TaskCompleted", task_id="1", task_subject="say block"),
        lambda said: said["continue"] is False and "not on my watch" in said["stopReason"],
    ),
    "a worktree, which needs a path": (
        event("WorktreeCreate", name="say block"),
        lambda said: "hookSpecificOutput" not in said,
    ),
}


@pytest.mark.parametrize(("body", "refused"), REFUSALS.values(), ids=REFUSALS)
def test_what_a_program_says_with_its_exit_code_is_said_in_json(
    web: Web, body: dict[str, Any], refused: Callable[[Any], bool]
) -> None:
    said = web.said(body)
    assert refused(said), said
    assert "not on my watch" in json.dumps(said)


def test_the_path_of_a_worktree_stands_where_it_is_looked_for(web: Web) -> None:
    said = web.said(event("WorktreeCreate", name="say path"))
    assert said == {"hookSpecificOutput": {"hookEventName": "WorktreeCreate", "worktreePath": "/w/é"}}


BROKEN: Mapping[str, bytes] = {
    "nothing": b"",
    "half": b'{"hook_event_name": "PreTool',
    "a list": b"[]",
    "not text": b"\xff\xfe",
    "no event": b"{}",
    "one key twice": b'{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_name": "Read"}',
    "a name that is none": b'{"hook_event_name": 7}',
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("agent", hooks_api.AGENTS)
def test_what_cannot_be_read_is_refused_whatever_it_was(web: Web, agent: str, body: bytes) -> None:
    said = web.said(body, agent)
    if agent == "grok":
        assert said["decision"] == "deny"
    else:
        assert said["decision"] == "block"
        assert said["continue"] is False
    assert said["reason"]


def test_an_event_that_cannot_be_read_but_has_a_name_is_refused_as_such(web: Web) -> None:
    body = event("PreToolUse", tool_name=7, tool_input="x")
    assert denied(web.said(body))


QUERIES = ("?unknown=1", "?timeout=never", "?event=", "?guard=perhaps", "?trust-project=1", "?agent=m")


@pytest.mark.parametrize("query", QUERIES)
def test_an_address_that_is_not_understood_refuses(web: Web, query: str) -> None:
    assert denied(web.said(tool("ls"), query=query))


def test_an_agent_that_has_no_http_hooks_is_refused(web: Web) -> None:
    for agent in ("codex", "nobody", "%2e%2e", "m"):
        assert web.said(tool("ls"), agent)["continue"] is False


def test_options_stand_in_the_address(web: Web, tmp_path: Path) -> None:
    plain = {key: value for key, value in tool("git push --force").items() if key != "hook_event_name"}
    assert web.said(plain, query="?event=PreToolUse&timeout=30") is None
    assert "[git." in denied(web.said(plain, query="?event=PreToolUse&guard=1"))
    (tmp_path / "fairlead.toml").write_text('[[hook]]\non = "PreToolUse"\nrun = "true"\n')
    for way in ({"query": f"?project={tmp_path}"}, {"X_Fairlead_Project": str(tmp_path)}):
        assert "not trusted" in web.said(tool("ls"), **way)["systemMessage"]
    assert web.said(tool("ls"), X_Fairlead_Project="") is None


def test_a_function_runs_in_a_process_of_its_own(web: Web) -> None:
    before = web.toml.read_text()
    module = web.server.home / "guarding.py"
    module.write_text(
        'import os\n\ndef check(event):\n    return {"decision": "block", "reason": f"pid {os.getpid()}"}\n'
    )
    try:
        web.toml.write_text('[[hook]]\non = "PreToolUse"\npython = "guarding:check"\n')
        said = web.said(tool("ls"))
        while said is None:  # the change has not been seen yet
            said = web.said(tool("ls"))
        assert denied(said) != f"pid {web.server.process.pid}"
    finally:
        web.toml.write_text(before)


def test_a_large_event_is_judged_like_a_small_one(web: Web) -> None:
    body = {**tool("rm -rf /"), "filler": "x" * (hooks_api.IN_PROCESS + 1)}
    assert "[filesystem." in denied(web.said(body))


@pytest.mark.soak
def test_an_event_that_is_too_large_is_refused(web: Web) -> None:
    assert "MiB" in web.said(b"x" * (hooks_api.LARGEST + 1))["reason"]


def test_who_hangs_up_takes_the_event_back(web: Web) -> None:
    connection = web.begin("/api/hooks/claude-code", json.dumps(tool("wait")).encode())
    (pid,) = web.gate.wait_for()
    connection.close()
    while not has_ended(pid):
        time.sleep(0.01)


def test_a_hook_that_is_too_slow_is_refused_in_time(web: Web) -> None:
    assert "timed out" in denied(web.said(tool("wait"), query="?timeout=2"))


def test_where_too_many_are_in_front_of_it_an_event_is_refused_in_time(tmp_path: Path) -> None:
    """Who waits too long lets the call pass."""
    (tmp_path / "h").mkdir()
    with gate_in(tmp_path) as gate:
        web = Web(tmp_path / "h", gate)
        body = json.dumps(tool("wait")).encode()
        before = [web.begin("/api/hooks/claude-code", body) for _ in range(hooks_api.AT_ONCE)]
        gate.wait_for(hooks_api.AT_ONCE)
        assert "not answered in time" in denied(web.said(tool("wait"), query="?timeout=2"))
        assert (
            web.said(tool("rm -rf /"), query="?timeout=2&guard=1")["hookSpecificOutput"]["permissionDecision"] == "deny"
        )
        gate.open()
        assert {connection.getresponse().status for connection in before} == {200}
        for connection in before:
            connection.close()
        web.server.close()


# --- who may ------------------------------------------------------------------------------------------


STRANGERS: Mapping[str, tuple[dict[str, str], int]] = {
    "nobody": ({"Authorization": ""}, 401),
    "a guess": ({"Authorization": f"Bearer {'0' * 64}"}, 401),
    "no bearer": ({"Authorization": "Basic eDp5"}, 401),
    "a page": ({"Origin": "http://127.0.0.1:1"}, 403),
    "our own page": ({"Origin": "own", "Sec_Fetch_Site": "same-origin"}, 403),
    "a page that says less": ({"Sec_Fetch_Site": "none"}, 403),
    "another name of ours": ({"Host": "evil.test"}, 421),
}


@pytest.mark.parametrize(("headers", "status"), STRANGERS.values(), ids=STRANGERS)
def test_nobody_else_may(web: Web, headers: dict[str, str], status: int) -> None:
    if headers.get("Origin") == "own":
        headers = {**headers, "Origin": str(web.server.said["address"])}
    assert web.send("/api/hooks/claude-code", b"{}", **headers)[0] == status


def test_the_key_of_hooks_opens_nothing_else_and_no_other_opens_this(web: Web) -> None:
    users = (web.server.folder / "token").read_text().strip()
    assert web.send("/api/hooks/claude-code", b"{}", Authorization=f"Bearer {users}")[0] == 401
    for path in ("/api/runs", "/api/answers", "/api/login-link"):
        assert web.send(path, b"{}")[0] == 401


def test_the_key_is_for_its_owner_alone(web: Web) -> None:
    assert (web.server.folder / "hook-token").stat().st_mode & 0o777 == 0o600
    assert len(web.server.key) == 64


def test_without_a_key_nobody_may(place: Home) -> None:
    from fairlead.server.records import Refused
    from fairlead.warm.loaded import Loaded

    endpoint = hooks_api.HookEvents("", hooks_api.Home.of(place.environ), Loaded())
    for headers in ({}, {b"authorization": b"Bearer "}, {b"authorization": b"Bearer x"}):
        with pytest.raises(Refused):
            endpoint._check(headers)
