"""From an agent's question to a server and back, with the real program."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Home, Ran
from tests.http_hooks.conftest import AUTHORITY, DENY, Server, reply

Serve = Callable[..., Server]
Fairlead = Callable[..., Ran]
EVENT = {"hook_event_name": "PreToolUse", "session_id": "s1", "tool_name": "Bash", "tool_input": {"command": "make"}}
REFUSAL = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not on my watch"}


def claude(url: str, **fields: Any) -> dict[str, Any]:
    return {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "http", "url": url, **fields}]}]}}


def toml(url: str, *lines: str) -> str:
    return "\n".join(['[[hook]]\non = "PreToolUse"\ntool = "Bash"', f'http = "{url}"', *lines, ""])


def test_claude_codes_own_http_hook(serve: Serve, place: Home, fire: Callable[..., Any]) -> None:
    server = serve(reply(body=DENY))
    place.write("~/.claude/settings.json", claude(f"{server.url}/x"))
    assert fire("claude-code", EVENT)["hookSpecificOutput"] == REFUSAL
    assert server.requests[0].json["tool_input"] == {"command": "make"}


@pytest.mark.parametrize("agent", ["codex", "gemini", "cursor", "copilot"])
def test_an_http_hook_of_claude_code_guards_another_agent(
    serve: Serve, place: Home, fairlead: Fairlead, agent: str
) -> None:
    server = serve(reply(body=DENY))
    place.write("~/.claude/settings.json", claude(f"{server.url}/x"))
    events: dict[str, dict[str, Any]] = {
        "codex": EVENT,
        "gemini": {"hook_event_name": "BeforeTool", "session_id": "s1", "tool_name": "run_shell_command",
                   "tool_input": {"command": "make"}},
        "cursor": {"hook_event_name": "beforeShellExecution", "conversation_id": "s1", "command": "make"},
        "copilot": {"sessionId": "s1", "toolName": "bash", "toolArgs": json.dumps({"command": "make"})},
    }  # fmt: skip
    words = ["--event", "preToolUse"] if agent == "copilot" else []
    ran = fairlead("hook", "--agent", agent, *words, stdin=events[agent])
    assert "not on my watch" in ran.out.decode() + ran.err
    (request,) = server.requests
    assert (request.json["hook_event_name"], request.json["tool_name"]) == ("PreToolUse", "Bash")


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_an_http_hook_in_fairlead_toml(serve: Serve, place: Home, fairlead: Fairlead, agent: str) -> None:
    server = serve(reply(body=DENY))
    more = ['headers = { Authorization = "Bearer $TOKEN" }', 'allowed_env = ["TOKEN"]']
    place.write("~/.config/fairlead/fairlead.toml", toml(f"{server.url}/x", *more))
    ran = fairlead("hook", "--agent", agent, stdin=EVENT, env={"TOKEN": "t0ken"})
    assert ran.json["hookSpecificOutput"]["permissionDecisionReason"] == "not on my watch"
    assert server.requests[0].headers["authorization"] == "Bearer t0ken"


def test_a_server_that_is_down_blocks_where_the_hook_guards(serve: Serve, place: Home, fairlead: Fairlead) -> None:
    url = serve(reply("503 Service Unavailable")).url
    place.write("~/.config/fairlead/fairlead.toml", toml(url))
    said = fairlead("hook", "--agent", "claude-code", stdin=EVENT).json["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"
    assert f"POST {url}: 503 Service Unavailable" in said["permissionDecisionReason"]
    place.write("~/.config/fairlead/fairlead.toml", toml(url, 'on_error = "allow"'))
    ran = fairlead("hook", "--agent", "claude-code", stdin=EVENT)
    assert b"deny" not in ran.out
    assert "503 Service Unavailable" in ran.err


@pytest.mark.parametrize(("direction", "denied"), [("block", True), ("continue", False)])
def test_claude_codes_on_failure_decides(
    serve: Serve, place: Home, fire: Callable[..., Any], direction: str, *, denied: bool
) -> None:
    url = serve(reply("500 Internal Server Error")).url
    place.write("~/.claude/settings.json", claude(url, onFailure=direction))
    assert ("deny" in json.dumps(fire("claude-code", EVENT))) is denied


def test_a_list_in_the_settings_keeps_a_hook_from_calling(serve: Serve, place: Home, fairlead: Fairlead) -> None:
    server = serve(reply(body=DENY))
    listed = {"allowedHttpHookUrls": ["https://hooks.example.com/*"]}
    place.write("~/.claude/settings.json", {**claude(server.url, onFailure="block"), **listed})
    ran = fairlead("fire", "--agent", "claude-code", stdin=EVENT)
    assert "not in the list of allowed URLs" in ran.out.decode()
    assert server.connections == 0


def test_a_redirect_does_not_lead_out_of_the_settings_list(serve: Serve, place: Home, fairlead: Fairlead) -> None:
    server = serve(reply("307 Temporary Redirect", Location="/elsewhere"), reply(body=DENY))
    listed = {"allowedHttpHookUrls": [f"{server.url}/here"]}
    place.write("~/.claude/settings.json", {**claude(f"{server.url}/here", onFailure="block"), **listed})
    ran = fairlead("fire", "--agent", "claude-code", stdin=EVENT)
    assert "not in the list of allowed URLs" in ran.out.decode()
    assert server.connections == 1


def test_check_warns_of_headers_that_cannot_be_sent_or_are_left_out(place: Home, fairlead: Fairlead) -> None:
    headers = {"Host": "other", "Bad Name": "1", "X-Broken": "a\nKey: H3aderKey"}
    place.write("~/.claude/settings.json", claude("https://hooks.example.com/x", headers=headers))
    said = " ".join(problem["message"] for problem in fairlead("check", "--json").json)
    assert "the header Host is Fairlead's own and is left out" in said
    assert "'Bad Name' is no name of a header" in said
    assert "the header X-Broken holds a line break" in said
    assert "H3aderKey" not in said


def test_explain_shows_status_and_size(serve: Serve, place: Home, fairlead: Fairlead) -> None:
    server = serve(reply(body=DENY))
    place.write("~/.claude/settings.json", claude(server.url))
    (hook,) = fairlead("explain", "--agent", "claude-code", "--json", stdin=EVENT).json["hooks"]
    assert hook["facts"] == {"status": 200, "bytes": len(json.dumps(DENY))}


def test_check_warns_of_an_unencrypted_url_and_of_a_wrong_one(place: Home, fairlead: Fairlead) -> None:
    place.write("~/.config/fairlead/fairlead.toml", toml("http://hooks.example.com/x") + toml("hooks.example.com"))
    said = " ".join(problem["message"] for problem in fairlead("check", "--json").json)
    assert "goes over the network unencrypted" in said
    assert "begins with http:// or https://" in said


def test_tls_with_the_authorities_of_the_environment(serve: Serve, place: Home, fairlead: Fairlead) -> None:
    server = serve(reply(body=DENY), tls=True)
    place.write("~/.config/fairlead/fairlead.toml", toml(server.url))
    trusted = fairlead("hook", "--agent", "codex", stdin=EVENT, env={"SSL_CERT_FILE": str(AUTHORITY)})
    assert "not on my watch" in trusted.out.decode()
    unknown = fairlead("hook", "--agent", "codex", stdin=EVENT)
    assert "certificate cannot be trusted" in unknown.out.decode()
    assert len(server.requests) == 1


PAGE = Path(__file__).resolve().parents[2] / "docs" / "handlers" / "http.md"


def examples(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_examples_of_the_page_are_good_configuration(place: Home, fairlead: Fairlead) -> None:
    hook, urls = examples("toml")
    settings, _ = examples("json")
    place.write("~/.config/fairlead/fairlead.toml", f"{urls}\n{hook}")
    place.write("~/.claude/settings.json", settings)
    ran = fairlead("check", "--json")
    assert (ran.code, ran.json) == (0, [])
    assert "2 hooks" in fairlead("list").out.decode()


def test_the_examples_answer_of_the_page_refuses(serve: Serve, place: Home, fairlead: Fairlead) -> None:
    _, answer = examples("json")
    server = serve(reply(body=answer.encode()))
    place.write("~/.config/fairlead/fairlead.toml", toml(server.url))
    assert fairlead("hook", "--agent", "claude-code", stdin=EVENT).json == json.loads(answer)
