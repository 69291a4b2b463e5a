"""`fairlead doctor` as people and programs see it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead import doctor
from fairlead.doctor.finding import LEVELS
from tests.conftest import Home, Ran
from tests.doctor.conftest import Machine, command, groups

Run = Callable[..., Ran]


@pytest.fixture
def bare() -> dict[str, str]:
    """No agent's program on PATH."""
    return {"PATH": "/usr/bin:/bin", "SHELL": "/bin/sh"}


def test_an_error_is_shown_by_agent_with_place_and_fix(place: Home, fairlead: Run, bare: dict[str, str]) -> None:
    place.write(".claude/settings.json", groups("PreToolUse", command("/nowhere/guard")))
    ran = fairlead("doctor", "--agent", "claude-code", env=bare)
    assert ran.code == 1
    lines = ran.out.decode().splitlines()
    assert lines[:4] == [
        "Claude Code",
        "  error    .claude/settings.json:8:13",
        "           there is no file /nowhere/guard; every PreToolUse goes through unchecked",
        "           → put it there, or correct the path",
    ]
    assert lines[-1] == "1 error, 1 warning, 1 note. Looked at 1 hook in 1 file of Claude Code."


def test_warnings_and_notes_are_no_failure(place: Home, fairlead: Run, bare: dict[str, str]) -> None:
    place.write("~/.claude/settings.json", groups("PreToolUse", command("/bin/true")))
    ran = fairlead("doctor", env=bare)
    assert ran.code == 0
    assert "1 warning, 1 note" in ran.out.decode()


def test_nobody_is_ill_where_nobody_is(fairlead: Run, bare: dict[str, str]) -> None:
    ran = fairlead("doctor", env=bare)
    assert ran.code == 0
    assert "No agent was found" in ran.out.decode()


def test_all_well_says_what_was_looked_at(place: Home, fairlead: Run, bare: dict[str, str]) -> None:
    place.write("~/.junie/config.json", {})
    fairlead("init", "--yes", "--agent", "junie", env=bare)
    ran = fairlead("doctor", env=bare)
    assert ran.code == 0
    assert ran.out.decode().splitlines() == [
        "Nothing found that keeps a hook from running.",
        "Looked at 6 hooks in 1 file of Junie CLI.",
    ]


def test_programs_get_everything_as_json(place: Home, fairlead: Run, bare: dict[str, str]) -> None:
    file = place.write("~/.codex/hooks.json", groups("PreTooluse", command("/bin/true")))
    ran = fairlead("doctor", "--json", env=bare)
    assert ran.code == 1
    assert (ran.json["agents"], ran.json["files"], ran.json["hooks"]) == (["codex"], [str(file)], 1)
    [event] = [one for one in ran.json["findings"] if one["check"] == "events"]
    assert event == {
        "level": "error",
        "agent": "codex",
        "check": "events",
        "message": "Codex has no event 'PreTooluse' and ignores it",
        "fix": "write 'PreToolUse'",
        "file": str(file),
        "line": 3,
        "column": 5,
    }


def test_only_the_named_agents_are_looked_at(place: Home, fairlead: Run, bare: dict[str, str]) -> None:
    place.write("~/.codex/hooks.json", "{")
    place.write("~/.cursor/hooks.json", "{")
    ran = fairlead("doctor", "--json", "--agent", "cursor", env=bare)
    assert {one["agent"] for one in ran.json["findings"]} == {"cursor"}


def test_an_unknown_agent_is_refused(fairlead: Run) -> None:
    ran = fairlead("doctor", "--agent", "cursr")
    assert (ran.code, "did you mean 'cursor'?" in ran.err) == (64, True)


def test_findings_come_in_the_same_order_each_time(machine: Machine, place: Home) -> None:
    place.write("~/.claude/settings.json", {"disableAllHooks": True, **groups("preToolUse", command("/nowhere/x"))})
    place.write("~/.codex/hooks.json", {"version": 1, **groups("Stop", command("/nowhere/x"), command("/nowhere/x"))})
    first, again = machine.examine().findings, machine.examine().findings
    assert first == again
    for agent in ("claude-code", "codex"):
        ranks = [LEVELS.index(one.level) for one in first if one.agent == agent]
        assert ranks == sorted(ranks)


def test_a_check_that_breaks_is_a_note_and_costs_no_other(
    machine: Machine, place: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write("~/.codex/hooks.json", "{")
    monkeypatch.setattr("fairlead.doctor.events.check", lambda scene: 1 // 0)
    found = machine.examine("codex").findings
    assert [one.level for one in found if one.check == "events"] == ["note"]
    assert [one.level for one in found if one.check == "syntax"] == ["error"]


@pytest.mark.parametrize(
    "content",
    ["", "null", "[]", "1", '{"hooks": 1}', '{"hooks": []}',
     '{"hooks": {"Stop": 1, "": [], "PreToolUse": [1, [], {}]}}',
     '{"hooks": {"PreToolUse": [{"hooks": [1, null, {"command": 5, "type": []}], "matcher": {}}]}}',
     '{"hooks": {"PreToolUse": [{"hooks": {}}, {"hooks": [{"type": "command", "command": "", "args": 1}]}]}}',
     '{"hooksConfig": 1, "security": [], "features": 3, "projects": 1}', "\ufeff{}", "{" * 5000],
)  # fmt: skip
def test_no_content_breaks_a_check(content: str, machine: Machine, place: Home) -> None:
    json_files = [
        "~/.claude/settings.json", ".claude/settings.json", "~/.claude.json", "~/.codex/hooks.json",
        "~/.gemini/settings.json", "~/.gemini/trustedFolders.json", "~/.qwen/settings.json", "~/.cursor/hooks.json",
        "~/.copilot/hooks/a.json", "~/.copilot/settings.json", "~/.kiro/hooks/a.json", "~/.augment/settings.json",
        ".devin/hooks.v1.json", "~/.gemini/config/hooks.json", ".grok/hooks/a.json", "~/.factory/hooks.json",
    ]  # fmt: skip
    for path in json_files:
        place.write(path, content)
    for path in ("~/.codex/config.toml", "~/.kimi-code/config.toml", "~/.hermes/config.yaml", "~/.vibe/hooks.toml"):
        place.write(path, content)
    machine.findings()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 70_000) | st.sampled_from(["", "*", "(", "mcp__x", "$A/b", "'", "a b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["hooks", "PreToolUse", "Stop", "matcher", "type", "command", "args", "timeout", "env", "cwd", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=VALUES)
def test_no_shape_breaks_a_check(content: object, machine: Machine, place: Home) -> None:
    for path in ("~/.claude/settings.json", "~/.codex/hooks.json", "~/.cursor/hooks.json", "~/.kiro/hooks/a.json"):
        place.write(path, json.dumps({"hooks": content}))
    machine.findings("claude-code", "codex", "cursor", "kiro")


def test_every_check_is_a_module_and_every_module_with_a_check_is_made() -> None:
    import pkgutil

    helpers = {"facts", "finding", "scene", "commands", "hints"}
    assert {module.name for module in pkgutil.iter_modules(doctor.__path__)} - helpers == set(doctor.CHECKS)
