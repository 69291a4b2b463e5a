"""`fairlead list`: every hook, where it comes from, and whether it runs."""

from __future__ import annotations

from collections.abc import Callable

from tests.conftest import Home, Ran


def test_every_hook_with_everything_about_it(mixed: Home, fairlead: Callable[..., Ran]) -> None:
    found = {hook["name"]: hook for hook in fairlead("list", "--json", "--trust-project").json}
    assert found["no-force.sh"] == {
        "name": "no-force.sh",
        "events": ["PreToolUse"],
        "matcher": "Bash",
        "handler": {"type": "command", "text": "hooks/no-force.sh"},
        "timeout": 5.0,
        "priority": 0,
        "on_error": "deny",
        "origin": {
            "file": str(mixed.project / ".claude/settings.json"),
            "line": 7,
            "layer": "project",
            "dialect": "code-agent",
        },
        "trusted": True,
        "enabled": True,
        "state": "in force",
    }
    assert found["echo"]["origin"]["dialect"] == "codemie"
    assert found["echo"]["timeout"] == 2.5
    assert found["echo"]["on_error"] == "allow"
    assert found["no-sudo"]["origin"]["line"] == 1
    assert found["off"]["state"] == "switched off"


def test_without_trust_the_projects_hooks_are_marked(mixed: Home, fairlead: Callable[..., Ran]) -> None:
    states = {hook["name"]: hook["state"] for hook in fairlead("list", "--json").json}
    assert states == {
        "no-force.sh": "not trusted",
        "echo": "in force",
        "no-sudo": "not trusted",
        "fairlead.toml#2": "not trusted",
        "off": "switched off",
    }


def test_a_person_reads_them_by_event(mixed: Home, fairlead: Callable[..., Ran]) -> None:
    text = fairlead("list").out.decode()
    assert text.index("PreToolUse") < text.index("hooks/no-force.sh") < text.index("Stop")
    assert "code-agent · project · not trusted · 5 s · .claude/settings.json:7" in text
    assert "codemie · user · 2.5 s · ~/.codemie/codemie-cli.config.json:1" in text
    assert "1 hook in force, 3 not trusted, 1 switched off." in text
    assert "`fairlead trust`" in text


def test_problems_in_the_files_are_not_passed_over(mixed: Home, fairlead: Callable[..., Ran]) -> None:
    mixed.write(".amcp/hooks.toml", "[hooks.Nonsense]\n")
    assert "1 problem in the files: `fairlead check` says where." in fairlead("list").out.decode()


def test_hooks_of_a_skill_wait_for_it(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(
        ".claude/skills/deploy/SKILL.md",
        "---\nname: deploy\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n"
        "        - type: command\n          command: 'true'\n---\n",
    )
    assert "only for the skill 'deploy'" in fairlead("list", "--trust-project").out.decode()
    [hook] = fairlead("list", "--trust-project", "--with", "deploy", "--json").json
    assert hook["state"] == "in force"


def test_a_hook_for_several_events_stands_under_each(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(
        "fairlead.toml", '[[hook]]\non = ["Stop", "Newfangled"]\nrun = "true"\n\n[[hook]]\non = "*"\nrun = "id"\n'
    )
    text = fairlead("list").out.decode()
    assert text.index("every event") < text.index("\nStop\n") < text.index("\nNewfangled\n")
    assert text.count("fairlead.toml#1: true") == 2


def test_the_calling_agent_reads_what_it_shares(place: Home, fairlead: Callable[..., Ran]) -> None:
    handler = {"type": "command", "command": "true", "timeout": 7}
    place.write(".claude/settings.json", {"hooks": {"Stop": [{"hooks": [handler]}]}})
    timeouts = [
        fairlead("list", "--json", "--agent", agent).json[0]["timeout"] for agent in ("claude-code", "code-agent")
    ]
    assert timeouts == [7.0, 0.007]


def test_a_reader_that_has_seen_enough_is_no_error(mixed: Home) -> None:
    import subprocess
    import sys

    script = f"{sys.executable} -m fairlead list --json | head -c 1"
    done = subprocess.run(
        ["/bin/sh", "-c", script], capture_output=True, cwd=mixed.project, env=mixed.environ, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == (b"[", b"")
