"""Agent hooks in files, and Fairlead as a real process."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Home, Ran
from tests.models.provider import KEY, WIRES, Provider, calls, says

Run = Callable[..., Ran]
NO = says({"ok": False, "reason": "deploy does not depend on test"})
LOOKS = calls(("read", {"path": "Makefile"}), ("search", {"pattern": "^test:"}))
OF_CLAUDE = {
    "hooks": {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "agent", "prompt": "Is what this deploys tested? $ARGUMENTS"}]}
        ]
    }
}
OF_FAIRLEAD = '[[hook]]\non = "PreToolUse"\ntool = "Bash"\nagent = "Is what $COMMAND deploys tested?"\nturns = 5\n'


@pytest.fixture
def event(place: Home) -> Mapping[str, Any]:
    place.write("Makefile", "deploy:\n\tscp -r . server:\n")
    return {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "cwd": str(place.project),
        "tool_name": "Bash",
        "tool_input": {"command": "make deploy"},
    }


def refused(ran: Ran) -> str:
    said = ran.json["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny", ran.out
    return str(said["permissionDecisionReason"])


@pytest.mark.parametrize("wire", WIRES)
def test_an_agent_hook_of_claude_code_looks_and_refuses(
    place: Home, fairlead: Run, provider: Provider, event: Mapping[str, Any], wire: str
) -> None:
    place.write("~/.claude/settings.json", OF_CLAUDE)
    provider.script(LOOKS, NO)
    ran = fairlead("fire", "--agent", "claude-code", stdin=event, env=provider.environ(wire))
    assert refused(ran) == "deploy does not depend on test"
    read, searched = (json.loads(result) for result in provider.asked[-1].results)
    assert read["text"].startswith("deploy:")
    assert searched["matches"] == []
    assert KEY not in ran.err + ran.out.decode()


def test_an_agent_hook_of_claude_code_guards_another_agent(
    place: Home, fairlead: Run, provider: Provider, event: Mapping[str, Any]
) -> None:
    place.write("~/.claude/settings.json", OF_CLAUDE)
    provider.script(LOOKS, NO)
    ran = fairlead("hook", "--agent", "codex", stdin=event, env=provider.environ())
    assert refused(ran) == "deploy does not depend on test"


def test_an_agent_hook_of_ours_looks_and_lets_pass(
    place: Home, fairlead: Run, provider: Provider, event: Mapping[str, Any]
) -> None:
    place.write("~/.config/fairlead/fairlead.toml", OF_FAIRLEAD)
    provider.script(LOOKS, says({"ok": True, "reason": ""}))
    ran = fairlead("hook", "--agent", "claude-code", stdin=event, env=provider.environ())
    assert ran.code == 0
    assert ran.out.strip() in (b"", b"{}")
    assert "make deploy" not in provider.asked[0].system
    assert json.loads(provider.asked[0].user[0])["COMMAND"] == "make deploy"
    assert len(provider.asked) == 2


@pytest.mark.parametrize("steps", [(calls(("list", {})),), (says("perhaps"),)], ids=["loops", "talks"])
@pytest.mark.parametrize("file", ["claude", "fairlead"])
def test_without_a_judgement_the_call_is_not_let_through(
    place: Home, fairlead: Run, provider: Provider, event: Mapping[str, Any], steps: tuple[Any, ...], file: str
) -> None:
    if file == "claude":
        place.write("~/.claude/settings.json", OF_CLAUDE)
    else:
        place.write("~/.config/fairlead/fairlead.toml", OF_FAIRLEAD)
    provider.script(*steps)
    refused(fairlead("fire", "--agent", "claude-code", stdin=event, env=provider.environ()))


def test_explain_says_what_it_took(place: Home, fairlead: Run, provider: Provider, event: Mapping[str, Any]) -> None:
    place.write("~/.config/fairlead/fairlead.toml", OF_FAIRLEAD)
    provider.script(LOOKS, NO)
    ran = fairlead("explain", "--agent", "claude-code", "--json", stdin=event, env=provider.environ())
    (hook,) = [hook for hook in ran.json["hooks"] if hook["matched"]]
    assert hook["facts"] == {
        "model": "test-model-2026", "turns": 2, "calls": 2, "input_tokens": 22, "output_tokens": 14,
    }  # fmt: skip
    assert KEY not in ran.err + ran.out.decode()


def test_what_it_costs_is_told_where_the_prices_are_known(
    place: Home, fairlead: Run, provider: Provider, event: Mapping[str, Any]
) -> None:
    place.write(
        "~/.config/fairlead/fairlead.toml",
        f'{OF_FAIRLEAD}model = "fast"\n\n[models.fast]\nprovider = "openai"\nmodel = "m"\nbase_url = '
        f'"{provider.base_url("openai")}"\napi_key_env = "MY_KEY"\ninput_price = 1.0\noutput_price = 2.0\n',
    )
    provider.script(LOOKS, NO)
    ran = fairlead("explain", "--agent", "claude-code", "--json", stdin=event, env={"MY_KEY": KEY})
    (hook,) = [hook for hook in ran.json["hooks"] if hook["matched"]]
    assert hook["facts"]["cost"] == pytest.approx((22 * 1.0 + 14 * 2.0) / 1_000_000)


def test_the_example_in_the_documentation_is_right(place: Home, fairlead: Run) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "handlers" / "agent.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    place.write("~/.config/fairlead/fairlead.toml", example)
    ran = fairlead("check", "--json", env={"ANTHROPIC_API_KEY": "sk-of-the-test"})
    assert ran.json == []
    assert "agent with fast: Read the Makefile." in fairlead("list").out.decode()
