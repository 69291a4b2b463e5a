"""`--adopt`: hooks that were in an agent's settings run under Fairlead, and go back."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from fairlead.installing import commands
from tests.conftest import Home
from tests.installing.conftest import Agents, everything_below, plain_json

CLAUDE = """{
    // my settings
    "model": "opus",
    "hooks": {
        "PreToolUse": [
            { // the shell
                "matcher": "Bash",
                "hooks": [
                    {"type": "command", "command": "./one.sh"},
                    {"type": "http", "url": "http://localhost/x"},
                    {"type": "command", "command": "./two.sh", "timeout": 5}
                ]
            },
            {"hooks": [{"type": "command", "command": "./slow.sh", "async": true}]}
        ],
        "Stop": [{"hooks": [{"type": "command", "command": "./stop.sh"}]}],
        "MessageDisplay": [{"hooks": [{"type": "command", "command": "./show.sh"}]}],
        "Notification": []
    }
}
"""


def adopted(place: Home, name: str = "claude-code.json") -> Any:
    return json.loads((place.home / ".config/fairlead/adopted" / name).read_text())


def test_what_fairlead_can_run_moves_and_the_rest_stays(agents: Agents, place: Home) -> None:
    file = agents.write("claude-code", CLAUDE)
    plan = agents.install("claude-code", adopt=True)
    assert adopted(place) == {
        "hooks": {
            "PreToolUse": [
                {
                    "matcher": "Bash",
                    "hooks": [
                        {"type": "command", "command": "./one.sh"},
                        {"type": "command", "command": "./two.sh", "timeout": 5},
                    ],
                }
            ],
            "Stop": [{"hooks": [{"type": "command", "command": "./stop.sh"}]}],
        }
    }
    left = plain_json(file.read_text())["hooks"]
    theirs = [
        handler
        for groups in left.values()
        for group in groups
        for handler in group["hooks"]
        if commands.known(handler) is None
    ]
    assert theirs == [
        {"type": "http", "url": "http://localhost/x"},
        {"type": "command", "command": "./slow.sh", "async": True},
        {"type": "command", "command": "./show.sh"},
    ]
    assert plan.notes == (
        "a hook of PreToolUse stays where it is: Fairlead does not run the type 'http' yet",
        "a hook of PreToolUse stays where it is: Fairlead does not know 'async'",
        "hooks of MessageDisplay stay where they are: Fairlead is not called for it",
    )
    assert "// my settings" in file.read_text()


def test_they_go_back_to_the_byte(agents: Agents, place: Home) -> None:
    agents.write("claude-code", CLAUDE)
    before = everything_below(place.home)
    agents.install("claude-code", adopt=True)
    assert agents.plan("claude-code").needed == []
    agents.uninstall("claude-code")
    assert everything_below(place.home) == before


def test_they_go_back_with_no_adopt_while_fairlead_stays(agents: Agents, place: Home) -> None:
    file = agents.write("claude-code", CLAUDE)
    agents.install("claude-code")
    plain = file.read_bytes()
    agents.install("claude-code", adopt=True)
    assert file.read_bytes() != plain
    agents.install("claude-code", adopt=False)
    assert file.read_bytes() == plain
    assert not (place.home / ".config/fairlead/adopted/claude-code.json").exists()
    agents.uninstall("claude-code")
    assert file.read_text() == CLAUDE


EDITS = {
    "elsewhere": ('"model": "opus"', '"model": "sonnet"'),
    "in the middle of ours": ('"SessionEnd": [', '"Mine": [],\n        "SessionEnd": ['),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_no_hook_is_lost_when_the_settings_were_edited_meanwhile(
    edit: tuple[str, str], agents: Agents, place: Home
) -> None:
    file = agents.write("claude-code", CLAUDE)
    agents.install("claude-code", adopt=True)
    file.write_text(file.read_text().replace(*edit))
    agents.uninstall("claude-code")
    text = file.read_text()
    assert all(name in text for name in ("./one.sh", "./two.sh", "./stop.sh", "./slow.sh", "./show.sh", "localhost/x"))
    assert "fairlead" not in text
    if edit[0] in CLAUDE:
        assert text == CLAUDE.replace(*edit)
    assert plain_json(text)["hooks"]["Stop"] == [{"hooks": [{"type": "command", "command": "./stop.sh"}]}]


def test_adopted_hooks_that_were_changed_go_back_changed(agents: Agents, place: Home) -> None:
    file = agents.write("claude-code", CLAUDE)
    agents.install("claude-code", adopt=True)
    kept = place.home / ".config/fairlead/adopted/claude-code.json"
    kept.write_text(kept.read_text().replace("./stop.sh", "./other.sh"))
    agents.uninstall("claude-code")
    assert plain_json(file.read_text())["hooks"]["Stop"] == [{"hooks": [{"type": "command", "command": "./other.sh"}]}]
    assert "./one.sh" in file.read_text()
    assert not kept.exists()


def test_an_adopted_file_that_is_there_already_is_not_overwritten(agents: Agents, place: Home) -> None:
    agents.write("claude-code", CLAUDE)
    kept = place.write("~/.config/fairlead/adopted/claude-code.json", "{}")
    plan = agents.plan("claude-code", adopt=True)
    assert plan.problem == f"{kept} is there already"
    assert kept.read_text() == "{}"


def test_hooks_that_were_added_later_are_not_touched(agents: Agents) -> None:
    file = agents.write("claude-code", CLAUDE)
    agents.install("claude-code", adopt=True)
    file.write_text(
        file.read_text().replace('"SessionEnd": [', '"Other": [{"hooks": [{"command": "x"}]}], "SessionEnd": [')
    )
    assert agents.plan("claude-code").needed == []


FLAT = '{\n  "version": 1,\n  "hooks": {\n    "%s": [\n      {"command": "./mine.sh", "timeout": 3}\n    ]\n  }\n}\n'
GROUPS = '{"hooks": {"%s": [{"matcher": "x", "hooks": [{"type": "command", "command": "./mine.sh"}]}]}}'
OTHERS = {
    "codex": GROUPS % "PreToolUse",
    "gemini": GROUPS % "BeforeTool",
    "qwen": GROUPS % "PreToolUse",
    "cursor": FLAT % "preToolUse",
    "code-agent": GROUPS % "PreToolUse",
    "codemie": '{"activeProfile": "w", "profiles": {"w": {"k": 1, ' + (GROUPS % "Stop")[1:] + "}}",
    "claude-agent": '{"hooks": {"preToolUse": {"mine": {"command": "./mine.sh"}}, "stop": ["./other.sh"]}}',
}


@pytest.mark.parametrize(("agent", "text"), OTHERS.items(), ids=OTHERS)
def test_each_agents_hooks_move_in_its_own_format_and_back(agent: str, text: str, agents: Agents, place: Home) -> None:
    file = agents.write(agent, text)
    before = everything_below(place.home)
    agents.install(agent, adopt=True)
    assert "mine.sh" not in file.read_text()
    kept = adopted(place, f"{agent}.json")
    original = plain_json(text)
    if agent == "codemie":
        assert kept == {"activeProfile": "w", "profiles": {"w": {"hooks": original["profiles"]["w"]["hooks"]}}}
    else:
        assert kept == original
    agents.uninstall(agent)
    assert everything_below(place.home) == before


def test_amcps_toml_moves_as_it_is(agents: Agents, place: Home) -> None:
    text = '# mine\n[[hooks.PreToolUse.handlers]]\ntype = "command"\ncommand = "./x.sh"\n'
    source = place.write("~/.config/amcp/hooks.toml", text)
    before = everything_below(place.home)
    agents.install("amcp", adopt=True)
    assert not source.exists()
    assert (place.home / ".config/fairlead/adopted/amcp.toml").read_text() == text
    assert agents.plan("amcp").needed == []
    agents.uninstall("amcp")
    assert everything_below(place.home) == before


def test_a_script_that_is_looked_for_beside_its_file_keeps_it_there(agents: Agents, place: Home) -> None:
    text = '[[hooks.PreToolUse.handlers]]\ntype = "python"\nscript = "./x.py"\n'
    source = place.write("~/.config/amcp/hooks.toml", text)
    plan = agents.install("amcp", adopt=True)
    assert plan.notes == ("hooks.toml stays where it is: './x.py' is looked for beside it",)
    assert source.read_text() == text


def test_who_cannot_be_relieved_is_named(place: Home, fairlead: Any) -> None:
    ran = fairlead("init", "--adopt", "--dry-run", "--agent", "grok", "--agent", "kimi", "--agent", "codex")
    text = ran.out.decode()
    assert "Fairlead does not run hooks that were written for Grok Build, Kimi Code; they stay where they are" in text


def test_a_project_is_told_that_its_hooks_need_trust(agents: Agents, place: Home) -> None:
    agents.write("claude-code", CLAUDE, "project")
    before = everything_below(place.project)
    plan = agents.install("claude-code", "project", adopt=True)
    assert (place.project / ".fairlead/adopted/claude-code.json").exists()
    assert "--trust-project" in plan.notes[-1]
    agents.uninstall("claude-code", "project")
    assert everything_below(place.project) == before


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_an_adopted_hook_still_refuses(agents: Agents, place: Home, fairlead: Any) -> None:
    """The whole way: a hook that refused in the agent's settings refuses from its new place."""
    script = place.script("~/no.sh", "echo 'not today' >&2\nexit 2")
    hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": str(script)}]}]}
    agents.write("claude-code", json.dumps({"hooks": hooks}))
    event = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    assert fairlead("hook", "--agent", "claude-code", stdin=event).out == b""
    agents.install("claude-code", adopt=True)
    ran = fairlead("hook", "--agent", "claude-code", stdin=event)
    assert ran.json["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert "not today" in ran.out.decode()


@pytest.mark.parametrize(
    ("agent", "settings", "event"),
    [
        pytest.param(
            "claude-code",
            {"hooks": {"PreToolUse": [{"matcher": "Write,Bash", "hooks": [{"type": "command", "command": "{hook}"}]}]}},
            {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}},
            id="claude-code",
        ),
        pytest.param(
            "gemini",
            {"hooks": {"BeforeTool": [{"matcher": "run_.*", "hooks": [{"type": "command", "command": "{hook}"}]}]}},
            {"hook_event_name": "BeforeTool", "session_id": "s", "tool_name": "run_shell_command",
             "tool_input": {"command": "ls"}},
            id="gemini",
        ),
        pytest.param(
            "cursor",
            {"version": 1, "hooks": {"preToolUse": [{"matcher": "Shell", "command": "{hook}"}]}},
            {"hook_event_name": "preToolUse", "conversation_id": "c", "generation_id": "g", "cursor_version": "2",
             "workspace_roots": ["/"], "tool_name": "Shell", "tool_input": {"command": "ls"}},
            id="cursor",
        ),
    ],
)  # fmt: skip
def test_an_adopted_hook_is_read_in_its_own_dialect(
    agent: str, settings: dict[str, Any], event: dict[str, Any], agents: Agents, place: Home, fairlead: Any
) -> None:
    """Its matchers, its events and its JSON answers mean under Fairlead what they meant to the agent."""
    answers = {
        "claude-code": {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
                                               "permissionDecisionReason": "not today"}},
        "gemini": {"decision": "deny", "reason": "not today"},
        "cursor": {"permission": "deny", "agent_message": "not today"},
    }  # fmt: skip
    script = place.script("~/no.sh", f"echo '{json.dumps(answers[agent])}'")
    agents.write(agent, json.dumps(settings).replace("{hook}", str(script)))
    agents.install(agent, adopt=True)
    ran = fairlead("hook", "--agent", agent, stdin=event)
    assert "not today" in ran.out.decode()
    assert ran.err == ""
