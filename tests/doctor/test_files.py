"""Each thing that keeps a hook from running is found, and its mended twin is not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Home
from tests.doctor.conftest import Machine, command, groups

CLAUDE, CODEX, GEMINI = "~/.claude/settings.json", "~/.codex/hooks.json", "~/.gemini/settings.json"
QWEN, CURSOR, COPILOT = "~/.qwen/settings.json", "~/.cursor/hooks.json", "~/.copilot/hooks/own.json"
KIMI, HERMES, OPENHANDS = "~/.kimi-code/config.toml", "~/.hermes/config.yaml", "~/.openhands/hooks.json"
DEVIN, KIRO, AUGMENT, DROID = (
    ".devin/hooks.v1.json",
    "~/.kiro/hooks/a.json",
    "~/.augment/settings.json",
    "~/.factory/hooks.json",
)

TRUE = command("/bin/true")


def matched(matcher: str, event: str = "PreToolUse") -> dict[str, Any]:
    return groups(event, TRUE, matcher=matcher)


def timed(timeout: object, event: str = "PreToolUse", **more: Any) -> dict[str, Any]:
    return groups(event, command("/bin/true", timeout=timeout, **more))


def flat(event: str, *entries: dict[str, Any]) -> dict[str, Any]:
    return {"version": 1, "hooks": {event: list(entries)}}


def kimi(more: str = "", timeout: int = 30, event: str = "PreToolUse") -> str:
    return f'[[hooks]]\nevent = "{event}"\ncommand = "/bin/true"\ntimeout = {timeout}\n{more}'


def kiro(trigger: str, **more: Any) -> dict[str, Any]:
    hook = {"name": "x", "trigger": trigger, "action": {"type": "command", "command": "/bin/true"}, **more}
    return {"version": "v1", "hooks": [hook]}


CASES: dict[str, tuple[str, str, str, Any, str, str, Any]] = {
    # name: agent, check, file, what is wrong, level, what is said, the mended twin
    # --- syntax
    "a file that is no JSON": (
        "claude-code", "syntax", CLAUDE, '{"hooks": {', "error", "reads nothing in this file", "{}",
    ),
    "comments where the agent reads plain JSON": (
        "claude-code", "syntax", CLAUDE, '{ // mine\n"hooks": {}}', "error", "reads plain JSON", '{"hooks": {}}',
    ),
    "a comma too many": ("codex", "syntax", CODEX, '{"hooks": {},}', "error", "commas before", '{"hooks": {}}'),
    "a trailing comma where comments are fine": (
        "gemini", "syntax", GEMINI, '{ // mine\n"hooks": {},}', "error", "commas before", '{ // mine\n"hooks": {}}',
    ),
    "an event that stands there twice": (
        "claude-code", "syntax", CLAUDE, '{"hooks": {"Stop": [], "Stop": []}}', "error", "sees only this last one",
        '{"hooks": {"Stop": []}}',
    ),
    "a root key that Codex drops the file for": (
        "codex", "syntax", CODEX, {"version": 1, **groups("Stop", TRUE)}, "error", "drops the whole file",
        {"description": "mine", **groups("Stop", TRUE)},
    ),
    "a key that Kimi rejects": ("kimi", "syntax", KIMI, kimi('name = "x"'), "error", "no key 'name'", kimi()),
    "TOML that is none": ("kimi", "syntax", KIMI, "[[hooks]\n", "error", "reads nothing", kimi()),
    "YAML that is none": ("hermes", "syntax", HERMES, "hooks: [", "error", "reads nothing", "hooks: {}\n"),
    # --- shapes
    "a flat entry where a group is needed": (
        "claude-code", "shapes", CLAUDE, {"hooks": {"Stop": [TRUE]}}, "error", "skips the whole file",
        groups("Stop", TRUE),
    ),
    "a group where a flat entry is needed": (
        "cursor", "shapes", CURSOR, {"version": 1, **groups("stop", TRUE)}, "error", "wants a handler",
        flat("stop", TRUE),
    ),
    "a group under Copilot's camelCase": (
        "copilot", "shapes", COPILOT, {"version": 1, **groups("preToolUse", TRUE)}, "error", "wants a handler",
        {"version": 1, **groups("PreToolUse", TRUE)},
    ),
    "events at the top of the file": (
        "claude-code", "shapes", CLAUDE, groups("Stop", TRUE)["hooks"], "error", 'must stand inside "hooks"',
        groups("Stop", TRUE),
    ),
    "events below hooks where they stand at the top": (
        "devin", "shapes", DEVIN, groups("Stop", TRUE), "error", "at the top of this file",
        groups("Stop", TRUE)["hooks"],
    ),
    "hooks in hooks": (
        "codex", "shapes", CODEX, {"hooks": groups("Stop", TRUE)}, "error", '"hooks" stands in "hooks"',
        groups("Stop", TRUE),
    ),
    "an event without a list": (
        "qwen", "shapes", QWEN, {"hooks": {"Stop": {"hooks": [TRUE]}}}, "error", "must be a list", groups("Stop", TRUE),
    ),
    "a hook without its event": (
        "kiro", "shapes", KIRO, {"version": "v1", "hooks": [{"name": "x"}]}, "error", "no 'trigger'", kiro("Stop"),
    ),
    # --- events
    "an event in the wrong case": (
        "claude-code", "events", CLAUDE, groups("preToolUse", TRUE), "error", "write 'PreToolUse'",
        groups("PreToolUse", TRUE),
    ),
    "an event that Copilot drops": (
        "copilot", "events", COPILOT, flat("Pretooluse", TRUE), "error", "drops it without a word",
        flat("PreToolUse", TRUE),
    ),
    "Claude Code's name in Gemini CLI": (
        "gemini", "events", GEMINI, groups("PreToolUse", TRUE), "error", "write 'BeforeTool'",
        groups("BeforeTool", TRUE),
    ),
    "Gemini CLI's name in Codex": (
        "codex", "events", CODEX, groups("AfterAgent", TRUE), "error", "write 'Stop'", groups("Stop", TRUE),
    ),
    "an event that the agent does not have": (
        "codex", "events", CODEX, groups("Notification", TRUE), "error", "nothing like it", groups("Stop", TRUE),
    ),
    "a slip": ("claude-code", "events", CLAUDE, groups("PreToolUze", TRUE), "error", "did you mean 'PreToolUse'?", {}),
    "an event that OpenHands raises for": (
        "openhands", "events", OPENHANDS, groups("SubagentStop", TRUE), "error", "refuses the whole file",
        groups("pre_tool_use", TRUE),
    ),
    "a trigger that Kiro does not have": (
        "kiro", "events", KIRO, kiro("preToolUse"), "error", "write 'PreToolUse'", kiro("Stop"),
    ),
    # --- types
    "a type that disables the whole file": (
        "claude-code", "types", CLAUDE, groups("Stop", {"type": "webhook"}), "error",
        "disables every hook in this file",
        groups("Stop", {"type": "http", "url": "https://x"}),
    ),
    "a type that Codex drops the file for": (
        "codex", "types", CODEX, groups("Stop", {"type": "http", "url": "x"}), "error", "disables every hook",
        groups("Stop", TRUE),
    ),
    "a type that Codex never runs": (
        "codex", "types", CODEX, groups("Stop", {"type": "prompt", "prompt": "?"}), "error", "never runs them",
        groups("Stop", TRUE),
    ),
    "a handler without its type": (
        "claude-code", "types", CLAUDE, groups("Stop", {"command": "/bin/true"}), "error", 'no "type"',
        groups("Stop", TRUE),
    ),
    "an http hook at the start of a session": (
        "claude-code", "types", CLAUDE, groups("SessionStart", {"type": "http", "url": "https://x"}), "error",
        "never calls an http hook", groups("PreToolUse", {"type": "http", "url": "https://x"}),
    ),
    "a condition on an event without tools": (
        "claude-code", "types", CLAUDE, groups("Stop", {**TRUE, "if": "Bash(git *)"}), "error", "never runs for Stop",
        groups("PreToolUse", {**TRUE, "if": "Bash(git *)"}),
    ),
    "an async guard": (
        "claude-code", "types", CLAUDE, groups("PreToolUse", {**TRUE, "async": True}), "warning", "decides nothing",
        groups("SessionEnd", {**TRUE, "async": True}),
    ),
    "a bad item in Copilot's inline settings": (
        "copilot", "types", "~/.copilot/settings.json", flat("PreToolUse", TRUE, {"type": "webhook"}), "error",
        "disables every hook in this file", flat("PreToolUse", TRUE),
    ),
    "a bad item in a file of Copilot's hooks": (
        "copilot", "types", COPILOT, flat("PreToolUse", TRUE, {"type": "webhook"}), "error", "does not run it",
        flat("PreToolUse", TRUE),
    ),
    # --- timeouts
    "seconds in Gemini CLI": (
        "gemini", "timeouts", GEMINI, timed(600, "BeforeTool"), "warning", "600 is 0.6 s",
        timed(600_000, "BeforeTool"),
    ),
    "so few milliseconds that nothing can run": (
        "gemini", "timeouts", GEMINI, timed(5, "BeforeTool"), "error", "0.005 s", timed(5000, "BeforeTool"),
    ),
    "seconds in Augment": ("augment", "timeouts", AUGMENT, timed(60), "warning", "60 is 0.06 s", timed(60_000)),
    "milliseconds in Claude Code": (
        "claude-code", "timeouts", CLAUDE, timed(60_000), "warning", "16.7 hours", timed(60),
    ),
    "seconds above Qwen Code's limit": ("qwen", "timeouts", QWEN, timed(3600), "warning", "3600 is 3.6 s", timed(600)),
    "Qwen Code's http hooks in milliseconds": (
        "qwen", "timeouts", QWEN, groups("Stop", {"type": "http", "url": "x", "timeout": 60_000}), "warning", "hours",
        groups("Stop", {"type": "http", "url": "x", "timeout": 2000}),
    ),
    "more than Kimi takes": (
        "kimi", "timeouts", KIMI, kimi(timeout=900), "error", "rejects its whole configuration", kimi(timeout=600),
    ),
    "no time at all": ("codex", "timeouts", CODEX, timed(0), "error", "no time", timed(1)),
    "a number in quotes": ("droid", "timeouts", DROID, timed("60"), "warning", "must be a number", timed(60)),
    # --- patterns
    "a server's name alone": (
        "claude-code", "patterns", CLAUDE, matched("mcp__memory"), "error", "write 'mcp__memory__.*'",
        matched("mcp__memory__.*"),
    ),
    "a server's name in a list": (
        "codex", "patterns", CODEX, matched("Bash|mcp__memory"), "error", "matches nothing",
        matched("Bash|mcp__memory__read"),
    ),
    "Claude Code's MCP names in Gemini CLI": (
        "gemini", "patterns", GEMINI, matched("mcp__memory", "BeforeTool"), "error", "write 'mcp_memory_.*'",
        matched("mcp_memory_.*", "BeforeTool"),
    ),
    "Python's flags in JavaScript": (
        "claude-code", "patterns", CLAUDE, matched("(?i)bash"), "error", "such a hook never runs",
        matched("[Bb]ash"),
    ),
    "Python's groups in JavaScript": (
        "claude-code", "patterns", CLAUDE, matched("(?P<x>Bash)"), "error", "(?P<name>", matched("(?:Bash)"),
    ),
    "Python's anchors in JavaScript": (
        "claude-code", "patterns", CLAUDE, matched(r"\ABash"), "error", "the letter A", matched("^Bash$"),
    ),
    "a bracket without its partner": (
        "claude-code", "patterns", CLAUDE, matched("(Bash"), "error", "cannot use the matcher", matched("(Bash)"),
    ),
    "look-around in Rust": ("codex", "patterns", CODEX, matched("^(?!Read)"), "error", "no look-around", matched("^B")),
    "a reference in Rust": ("codex", "patterns", CODEX, matched(r"(a)\1"), "error", "no references", matched(r"\d+")),
    "JavaScript's groups in Python": (
        "openhands", "patterns", OPENHANDS, matched("(?<x>a)"), "error", "cannot use the matcher",
        matched("(?P<x>a)"),
    ),
    "look-around that Fairlead does not have": (
        "claude-code", "patterns", CLAUDE, matched("^(?!Read)"), "note", "Fairlead cannot use", matched("^Bash"),
    ),
    # --- switches
    "all hooks off": (
        "claude-code", "switches", CLAUDE, {"disableAllHooks": True}, "error", "no hooks at all",
        {"disableAllHooks": False},
    ),
    "the feature off": (
        "codex", "switches", "~/.codex/config.toml", "[features]\nhooks = false\n", "error",
        "features.hooks is false", "[features]\nhooks = true\n",
    ),
    "Gemini CLI's switch": (
        "gemini", "switches", GEMINI, {"hooksConfig": {"enabled": False}}, "error", "no hooks at all",
        {"hooksConfig": {"enabled": True}},
    ),
    "one of Gemini CLI's hooks": (
        "gemini", "switches", GEMINI, {"hooksConfig": {"disabled": ["lint"]}}, "note", "lint",
        {"hooksConfig": {"disabled": []}},
    ),
    "a file of Copilot's": (
        "copilot", "switches", COPILOT, {**flat("PreToolUse", TRUE), "disableAllHooks": True}, "error",
        "no hooks of this file", flat("PreToolUse", TRUE),
    ),
    "one of Kiro's hooks": (
        "kiro", "switches", KIRO, kiro("Stop", enabled=False), "note", "switched off", kiro("Stop", enabled=True),
    ),
    # --- loops
    "a hook in the place of git": (
        "claude-code", "loops", CLAUDE, groups("WorktreeCreate", TRUE), "warning", "git worktree add",
        groups("WorktreeRemove", TRUE),
    ),
    "a turn that never ends": (
        "codex", "loops", CODEX, groups("Stop", TRUE), "note", "never ends a turn", groups("SessionStart", TRUE),
    ),
    "the same in Gemini CLI": (
        "gemini", "loops", GEMINI, groups("AfterAgent", TRUE), "note", "never ends a turn",
        groups("BeforeTool", TRUE),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_is_found_with_its_place_and_what_to_do(name: str, machine: Machine, place: Home) -> None:
    agent, check, path, wrong, level, said, _ = CASES[name]
    file = place.write(path, wrong)
    found = machine.findings(agent, check=check)
    assert [one.level for one in found] == [level], found
    assert said in f"{found[0].message} → {found[0].fix}"
    assert (found[0].agent, found[0].file) == (agent, str(file))
    assert found[0].line
    assert found[0].fix


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name][6] != {}])
def test_the_mended_twin_is_fine(name: str, machine: Machine, place: Home) -> None:
    agent, check, path, _, _, _, right = CASES[name]
    place.write(path, right)
    assert machine.findings(agent, check=check) == []


def test_one_file_can_have_many_faults_and_each_is_told(machine: Machine, place: Home) -> None:
    place.write(CLAUDE, {"disableAllHooks": True, "hooks": {"Stop": [TRUE], "stop": [{"hooks": [TRUE]}]}})
    checks = {one.check for one in machine.findings("claude-code") if one.level == "error"}
    assert checks == {"switches", "shapes", "events"}


def test_the_nearer_settings_decide_whether_hooks_are_off(machine: Machine, place: Home) -> None:
    place.write(CLAUDE, {"disableAllHooks": True})
    place.write(".claude/settings.json", {"disableAllHooks": False})
    assert machine.findings("claude-code", check="switches") == []


def test_a_managed_rule_that_lets_only_managed_hooks_run_is_told(machine: Machine, place: Home) -> None:
    file = place.root / "etc" / "claude-code" / "managed-settings.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"allowManagedHooksOnly": true}')
    [found] = machine.findings("claude-code", check="switches")
    assert "only the machine's hooks" in found.message


def test_what_only_the_readers_of_the_dialects_see_is_told_too(machine: Machine, place: Home) -> None:
    place.write("fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "true"\ntimout = "5s"\n')
    found = [one for one in machine.findings() if one.check == "configured"]
    assert [(one.agent, one.level, one.line) for one in found] == [("fairlead", "error", 4)]


def test_a_link_that_leads_nowhere_is_told(machine: Machine, place: Home) -> None:
    (place.home / ".claude").mkdir()
    (place.home / ".claude" / "settings.json").symlink_to("/nowhere/settings.json")
    [found] = machine.findings("claude-code", check="syntax")
    assert "leads nowhere" in found.message
