"""The guard in fairlead.toml, in the order of hooks, and with --guard alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fairlead import Hooks, PreToolUse
from fairlead.guard import PACKS as REAL_PACKS
from fairlead.handlers.guard import PACKS
from tests.conftest import Home, Ran


def bash(command: str, place: Home) -> PreToolUse:
    return PreToolUse(tool_name="Bash", tool_input={"command": command}, cwd=str(place.project))


def load(place: Home, text: str) -> Hooks:
    place.write("~/.config/fairlead/fairlead.toml", text)
    return Hooks.load(
        place.project, home=place.home, environ=place.environ, managed=str(place.root / "etc"), trust_project=True
    )


def test_the_names_of_the_packs_are_those_of_the_guard() -> None:
    assert tuple(REAL_PACKS) == PACKS


@pytest.mark.parametrize(
    ("command", "decision"),
    [("rm -rf /", "deny"), ("git push --force", "deny"), ("ls -la", "none"), ("npm run build", "none")],
)
def test_one_line_switches_it_on(place: Home, command: str, decision: str) -> None:
    hooks = load(place, 'guard = ["filesystem", "git", "secrets"]\n')
    assert hooks.problems == ()
    assert hooks.fire_sync(bash(command, place)).decision == decision


def test_a_refusal_names_its_rule_and_a_safer_way(place: Home) -> None:
    decision = load(place, 'guard = "all"\n').fire_sync(bash("git push --force", place))
    assert "[git.push-force]" in decision.reason
    assert "--force-with-lease" in decision.reason


def test_packs_that_are_off_say_nothing(place: Home) -> None:
    assert load(place, 'guard = ["secrets"]\n').fire_sync(bash("rm -rf /", place)).decision == "none"


def test_rules_of_the_file_narrow_and_widen(place: Home) -> None:
    hooks = load(
        place,
        """
        guard = "all"
        [[rule]]
        effect = "history"
        rule = "git.push-force"
        decision = "allow"
        [[rule]]
        effect = "write"
        path = "migrations/**"
        decision = "ask"
        reason = "migrations are reviewed"
        """,
    )
    assert hooks.fire_sync(bash("git push --force", place)).decision == "none"
    asked = hooks.fire_sync(bash("echo x > migrations/1.sql", place))
    assert (asked.decision, "migrations are reviewed" in asked.reason) == ("ask", True)


def test_it_answers_allow_only_where_it_was_told_to(place: Home) -> None:
    assert load(place, 'guard = "all"\n').fire_sync(bash("git status", place)).decision == "none"
    told = 'guard = "all"\nauto_allow = ["read-only"]\n'
    assert load(place, told).fire_sync(bash("git status", place)).decision == "allow"
    assert load(place, told).fire_sync(bash("npm install", place)).decision == "none"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('guard = ["filesytem"]\n', 1, "unknown pack 'filesytem'"),
        ("guard = 3\n", 1, "must be a list"),
        ('guard = "all"\nauto_allow = ["everything"]\n', 2, "unknown kind 'everything'"),
        ('guard = "all"\n[[rule]]\neffect = "delete"\ndecision = "alow"\n', 2, "'alow' is none of"),
        ('guard = "all"\n[[rule]]\neffect = "deletes"\ndecision = "ask"\n', 2, "'deletes' is none of"),
        ('auto_allow = ["read-only"]\n', 1, "belongs to a guard"),
    ],
)
def test_a_mistake_is_reported_and_the_guard_stays(place: Home, text: str, line: int, message: str) -> None:
    hooks = load(place, text)
    assert [(problem.line, message in problem.message) for problem in hooks.problems] == [(line, True)]
    if "guard =" in text:
        assert hooks.fire_sync(bash("rm -rf /", place)).decision == "deny"


def test_it_judges_what_other_hooks_have_made_of_the_call(place: Home) -> None:
    place.write(
        "rewrite.py",
        """
        import json
        print(json.dumps({"hookSpecificOutput": {"updatedInput": {"command": "rm -rf /"}}}))
        """.replace("        ", ""),
    )
    hooks = load(
        place,
        'guard = "all"\n[[hook]]\non = "PreToolUse"\ntool = "Bash"\npython = "rewrite.py"\npriority = -5\n',
    )
    assert hooks.fire_sync(bash("ls", place)).decision == "deny"


def test_a_guard_is_last_also_when_a_hook_is_registered_after_it(place: Home) -> None:
    hooks = load(place, 'guard = "all"\n')
    hooks.register("PreToolUse", lambda _event: {"hookSpecificOutput": {"updatedInput": {"command": "rm -rf /"}}})
    assert hooks.fire_sync(bash("ls", place)).decision == "deny"


@pytest.mark.parametrize("agent", ["claude-code", "amcp", "codemie"])
def test_without_any_configuration(agent: str, place: Home, fairlead: Callable[..., Ran]) -> None:
    def ask(command: str) -> Any:
        event = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}}
        return fairlead("hook", "--agent", agent, "--guard", stdin=event)

    assert "filesystem.delete-root" in ask("rm -rf /").out.decode()
    quiet = ask("ls").out.decode()
    assert "deny" not in quiet
    assert "ask" not in quiet


def test_edits_are_judged_like_commands(place: Home) -> None:
    hooks = load(place, 'guard = "all"\n')
    write = PreToolUse(
        tool_name="Write", tool_input={"file_path": "/etc/passwd", "content": "x"}, cwd=str(place.project)
    )
    inside = PreToolUse(tool_name="Write", tool_input={"file_path": "src/a.py", "content": "x"}, cwd=str(place.project))
    assert hooks.fire_sync(write).decision in ("ask", "deny")
    assert hooks.fire_sync(inside).decision == "none"


class TestCommand:
    def test_it_says_what_it_thinks(self, fairlead: Callable[..., Ran]) -> None:
        ran = fairlead("guard", "rm -rf /")
        assert ran.code == 1
        assert ran.out.decode().startswith("deny  `rm -rf /` deletes everything")

    def test_nothing_against_it(self, fairlead: Callable[..., Ran]) -> None:
        ran = fairlead("guard", "ls")
        assert (ran.code, ran.out) == (0, b"nothing against it\n")

    def test_json_has_every_field(self, fairlead: Callable[..., Ran]) -> None:
        answer = fairlead("guard", "--json", "git push --force").json
        assert answer["rule"] == "git.push-force"
        assert set(answer) == {"decision", "rule", "pack", "reason", "words", "suggestion"}

    def test_explain_shows_the_reading(self, fairlead: Callable[..., Ran]) -> None:
        steps = fairlead("guard", "--json", "--explain", "sudo bash -c 'rm -rf /'").json["steps"]
        assert any("rm -rf /" in step for step in steps)

    def test_a_batch_has_a_verdict_for_every_line(self, fairlead: Callable[..., Ran]) -> None:
        lines = [json.dumps("rm -rf /"), json.dumps("ls"), "{", "5", json.dumps("echo \ud800")]
        ran = fairlead("guard", "--batch", "--json", stdin="\n".join(lines) + "\n")
        verdicts = [json.loads(line)["decision"] for line in ran.out.splitlines()]
        assert verdicts[:4] == ["deny", "none", "ask", "ask"]
        assert (len(verdicts), ran.code) == (5, 0)

    def test_a_command_or_a_batch(self, fairlead: Callable[..., Ran]) -> None:
        assert fairlead("guard").code == 64
        assert fairlead("guard", "ls", "--batch").code == 64
