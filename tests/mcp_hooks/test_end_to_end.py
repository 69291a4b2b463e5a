"""As agents and people meet it: through the real program."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Home, Ran
from tests.mcp_hooks.conftest import PLAIN, Desk

Run = Callable[..., Ran]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "handlers" / "mcp_tool.md"


def event(place: Home, command: str = "rm -rf build") -> dict[str, Any]:
    return {
        "session_id": "s1",
        "transcript_path": None,
        "cwd": str(place.project),
        "hook_event_name": "PreToolUse",
        "model": "m",
        "permission_mode": "default",
        "turn_id": "t1",
        "tool_use_id": "u1",
        "tool_name": "Bash",
        "tool_input": {"command": command},
    }


def settings(server: str = "judge", **fields: Any) -> dict[str, Any]:
    handler = {"type": "mcp_tool", "server": server, "tool": "look", "timeout": 60, **fields}
    return {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [handler]}]}}


def servers(*words: str) -> dict[str, Any]:
    return {"mcpServers": {"judge": {"command": sys.executable, "args": [PLAIN, *words]}}}


def test_a_hook_of_fairlead_toml_guards_claude_code(desk: Desk, fairlead: Run) -> None:
    desk.plain("echo")
    hook = '[[hook]]\non = "PreToolUse"\ntool = "Bash"\nmcp_tool = "judge/look"\ninput = { all = "${tool_input}" }\n'
    desk.config.write_text(hook + desk.config.read_text())
    ran = fairlead("hook", "--agent", "claude-code", stdin=event(desk.place))
    said = ran.json["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"
    assert json.loads(said["permissionDecisionReason"]) == {"all": {"command": "rm -rf build"}}


def test_hooks_of_claude_code_guard_other_agents(place: Home, fairlead: Run) -> None:
    place.write("~/.claude/settings.json", settings())
    place.write("~/.claude.json", servers("deny"))
    ran = fairlead("hook", "--agent", "codex", stdin=event(place))
    assert ran.json["hookSpecificOutput"]["permissionDecisionReason"] == "the server says no"


def test_a_trusted_project_brings_its_own_server(place: Home, fire: Callable[..., Any]) -> None:
    place.write(".claude/settings.json", settings())
    place.write(".mcp.json", servers("deny"))
    assert "the server says no" in json.dumps(fire("claude-code", event(place)))


@pytest.mark.parametrize(
    ("file", "words"),
    [
        pytest.param(".claude/settings.json", "not trusted", id="the-projects-hook"),
        pytest.param("~/.claude/settings.json", "defined only by the project", id="the-users-hook"),
    ],
)
def test_the_server_of_an_untrusted_project_is_never_started(place: Home, fairlead: Run, file: str, words: str) -> None:
    notes = place.root / "notes"
    place.write(file, settings())
    place.write(".mcp.json", servers("stubborn", str(notes)))
    ran = fairlead("hook", "--agent", "codex", stdin=event(place))
    assert words in ran.err + ran.out.decode()
    assert not notes.exists()


def test_the_list_shows_server_and_tool_and_no_input(place: Home, fairlead: Run) -> None:
    place.write("~/.claude/settings.json", settings(input={"key": "s3cret"}))
    ran = fairlead("list", "--json")
    assert "judge/look" in ran.out.decode()
    assert "s3cret" not in ran.out.decode()


def test_the_example_of_the_page_is_right(desk: Desk, fairlead: Run) -> None:
    example = PAGE.read_text().partition("```toml\n")[2].partition("```")[0]
    assert "[mcp_servers.policy]" in example
    desk.config.parent.mkdir(parents=True)
    desk.config.write_text(example)
    ran = fairlead("check", "--json", env={"POLICY_TOKEN": "of-the-test"})
    assert (ran.code, ran.json) == (0, []), ran.err
