"""[policy] in the organisation's file: what it requires, forbids and keeps for itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead import Hooks, PostToolUse, PreToolUse, Stop, UserPromptSubmit
from fairlead.answering import Request, as_hook
from fairlead.dialects import Places
from fairlead.hooks import Hook, HookFailed, Origin, Setting
from fairlead.locks import LOCKABLE
from tests.policy.conftest import World
from tests.policy.test_native import TABLES

Said = Callable[[Hooks], list[str]]
SCAN = '[policy]\nrequire = ["scan"]\n'


# --- require -----------------------------------------------------------------------------------------


def test_a_required_hook_that_is_in_force_is_enough(world: World, said: Said) -> None:
    world.managed(SCAN)
    world.mine(world.leaves("scan"))
    hooks = world.load()
    assert said(hooks) == []
    assert not world.fire(hooks=hooks).denies


UNMET = {
    "nobody has it": (lambda _world: None, "is not there: write it into a fairlead.toml"),
    "it is switched off": (lambda w: w.mine(w.leaves("scan", enabled=False)), "is switched off"),
    "it is the project's and not trusted": (lambda w: w.project(w.leaves("scan")), "`fairlead trust`"),
    "another system has one of that name": (
        lambda w: w.mine(
            {"hooks": {"PreToolUse": {"scan": {"command": "true"}}}}, "~/.claude/settings.json"
        ),
        "is not there",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("prepare", "why"), UNMET.values(), ids=UNMET.keys())
def test_without_it_what_is_guarded_is_refused(
    prepare: Callable[[World], object], why: str, world: World, said: Said
) -> None:
    file = world.managed(SCAN)
    prepare(world)
    hooks = world.load()
    for event in (PreToolUse(tool_name="Bash", tool_input={"command": "ls"}), UserPromptSubmit(prompt="hi")):
        decision = world.fire(event, hooks=hooks)
        assert decision.denies
        assert f"{file} requires the hook 'scan', which " in decision.reason
        assert why in decision.reason
    for other in (Stop(), PostToolUse(tool_name="Bash")):
        assert not world.fire(other, hooks=hooks).denies
    assert any(line.startswith("error 2:1 requires the hook 'scan'") for line in said(hooks))


def test_a_trusted_projects_hook_meets_it(world: World) -> None:
    world.managed(SCAN)
    world.project(world.leaves("scan"))
    assert not world.fire(trust=True).denies
    assert world.ran() == ["scan"]


def test_a_projects_guard_meets_it_without_trust(world: World) -> None:
    world.managed('[policy]\nrequire = ["guard"]\n')
    assert world.fire().denies
    world.project('guard = "all"\n')
    assert not world.fire().denies


def test_nobody_is_asked_about_what_the_policy_refuses(world: World) -> None:
    world.managed(SCAN)
    world.mine('[[hook]]\non = "PreToolUse"\napproval = "look"\n')
    decision = world.fire()
    assert decision.denies
    assert [report.hook.name for report in decision.reports if report.ran] == ["policy"]


def test_the_agent_is_told_in_its_own_words(world: World) -> None:
    world.managed(SCAN)
    event = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "session_id": "s"}
    asked = Request(
        agent="claude-code", raw=json.dumps(event).encode(), project=str(world.place.project), environ=world.environ,
        managed=str(world.etc),
    )  # fmt: skip
    answer = json.loads(as_hook(asked).reply.stdout)
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert "requires the hook 'scan'" in answer["hookSpecificOutput"]["permissionDecisionReason"]


BAD = {
    "no table": ("policy = 1\n", "[policy] must be a table"),
    "an unknown key": ('[policy]\nrequired = ["scan"]\n', "unknown key 'required'"),
    "no list": ('[policy]\nrequire = "scan"\n', "require must be a list of names"),
    "an empty name": ('[policy]\nrequire = [""]\n', "'' is no name"),
    "an unknown kind": ('[policy]\nforbid = ["htp"]\n', "'htp' is no name"),
    "an unknown lock": ('[policy]\nlock = ["journals"]\n', "'journals' is no name"),
    "a word for true": ('[policy]\nonly_managed_hooks = "yes"\n', "only_managed_hooks must be true or false"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD.keys())
def test_a_policy_that_cannot_be_understood_refuses(text: str, message: str, world: World, said: Said) -> None:
    world.managed(text)
    hooks = world.load()
    assert any(line.startswith("error") and message in line for line in said(hooks))
    decision = world.fire(hooks=hooks)
    assert decision.denies
    assert message in decision.reason


# --- forbid and only_managed_hooks -------------------------------------------------------------------


def every_layer(world: World, policy: str) -> Hooks:
    world.managed(policy + world.leaves("managed"))
    world.mine(world.leaves("user"))
    world.project(world.leaves("project"))
    world.project(world.leaves("local"), "fairlead.local.toml")
    claude = {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": world.command("claude")}]}]}}
    world.mine(claude, "~/.claude/settings.json")
    world.mine(
        json.loads(json.dumps(claude).replace("echo claude", "echo plugin")), "~/.claude/plugins/p/hooks/hooks.json"
    )
    return world.load(trust=True)


ALL = {"managed", "user", "project", "local", "claude", "plugin"}
FORBIDDEN = {
    "nothing": ("", ALL),
    "only managed hooks": ("[policy]\nonly_managed_hooks = true\n", {"managed"}),
    "a layer": ('[policy]\nforbid = ["user"]\n', ALL - {"user", "claude", "plugin"}),
    "the project": ('[policy]\nforbid = ["project"]\n', ALL - {"project", "local"}),
    "plugins": ('[policy]\nforbid = ["plugin"]\n', ALL - {"plugin"}),
    "a system": ('[policy]\nforbid = ["claude-code"]\n', ALL - {"claude", "plugin"}),
    "a kind of handler": ('[policy]\nforbid = ["command"]\n', {"managed"}),
    "another kind": ('[policy]\nforbid = ["http", "prompt"]\n', ALL),
}


@pytest.mark.parametrize(("policy", "run"), FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_what_is_forbidden_does_not_run_and_that_is_said(policy: str, run: set[str], world: World) -> None:
    hooks = every_layer(world, policy)
    decision = world.fire(hooks=hooks)
    assert set(world.ran()) == run
    left_out = [report for report in decision.reports if not report.ran]
    assert len(left_out) == len(ALL - run)
    assert all(report.why.startswith(f"is switched off by {world.etc}") for report in left_out)


def test_a_hook_in_the_background_is_known_by_what_it_does(world: World) -> None:
    world.managed('[policy]\nforbid = ["command"]\n')
    world.mine('[[hook]]\non = "Stop"\nrun = "true"\nasync = true\n')
    assert [hook.enabled for hook in world.load()] == [False]


def test_hooks_in_code_are_the_programs_own(world: World) -> None:
    world.managed("[policy]\nonly_managed_hooks = true\n")
    hooks = world.load()
    hooks.register("PreToolUse", lambda _event: {"decision": "deny", "reason": "mine"})
    assert world.fire(hooks=hooks).denies


# --- lock --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [key for key in TABLES if key != "policy"])
def test_what_is_locked_is_not_the_users(key: str, world: World, said: Said) -> None:
    assert key in LOCKABLE
    world.managed(f'[policy]\nlock = ["{key}"]\n')
    file = world.mine("guard = []\n" + TABLES[key])
    hooks = world.load()
    [problem] = [one for one in hooks.problems if one.file == file]
    assert (problem.level, problem.line) == ("warning", 2)
    assert "of a user is ignored" in problem.message
    assert "keeps it for the organisation" in problem.hint
    assert (hooks.journal, hooks.telemetry) == ({}, {})


def test_what_the_organisation_says_itself_counts(world: World) -> None:
    world.managed('[policy]\nlock = ["journal"]\n[journal]\nkeep_days = 90\n')
    world.mine('[journal]\nmode = "off"\nkeep_days = 1\n')
    assert world.load().journal == {"keep_days": 90}


def test_a_locked_model_is_not_looked_for_in_the_users_file(world: World) -> None:
    from fairlead.models import profiles

    world.mine('[models.default]\nprovider = "ollama"\nmodel = "mine"\n')
    setting = Setting(project=str(world.place.project), home=str(world.place.home), environ=world.environ)
    search = profiles._Search("fairlead", setting, str(world.etc))
    assert search.find("").model == "mine"
    world.managed('[policy]\nlock = ["models"]\n[models.default]\nprovider = "ollama"\nmodel = "theirs"\n')
    assert search.find("").model == "theirs"
    world.managed('[policy]\nlock = ["models"]\n')
    with pytest.raises(HookFailed, match="no language model is set up"):
        search.find("")


def test_a_locked_server_is_not_looked_for_in_the_users_file(world: World) -> None:
    from fairlead import mcp_servers

    world.mine('[mcp_servers.x]\ncommand = "true"\n')
    setting = Setting(project=str(world.place.project), home=str(world.place.home), environ=world.environ)
    hook = Hook(name="h", events=("Stop",), handler=None, origin=Origin(dialect="fairlead", layer="user"))  # type: ignore[arg-type]
    files = [place.file for place in mcp_servers._places("x", hook, setting, str(world.etc))]
    assert str(world.place.home / ".config/fairlead/fairlead.toml") in files
    world.managed('[policy]\nlock = ["mcp_servers"]\n')
    files = [place.file for place in mcp_servers._places("x", hook, setting, str(world.etc))]
    assert files == [str(world.etc / "fairlead/fairlead.toml")]


def test_locked_people_and_chats_are_the_organisations(world: World) -> None:
    from fairlead.server import approvers, notify

    places = Places(home=str(world.place.home), project="/", environ=world.environ, managed=str(world.etc))
    world.mine('approvers = ["anna"]\nnotify = ["json://127.0.0.1:9/mine"]\n')
    assert approvers.configured(places) == ("anna",)
    assert notify.configured(places).urls == ("json://127.0.0.1:9/mine",)
    world.managed('approvers = ["anna", "ben"]\n[policy]\nlock = ["approvers", "notify"]\n')
    assert approvers.configured(places) == ("anna", "ben")
    assert notify.configured(places).urls == ()


def test_while_the_organisations_file_cannot_be_read_everything_is_locked(world: World) -> None:
    world.managed("[policy\nlock = 1")
    world.mine('[journal]\nmode = "off"\n')
    hooks = world.load()
    assert hooks.journal == {}
    assert world.fire(hooks=hooks).denies


# --- nothing of a lower layer takes the organisation's place -----------------------------------------


@pytest.mark.parametrize("priority", [-1000, 0, 1000])
@pytest.mark.parametrize("layer", ["user", "project"])
def test_the_organisations_hook_judges_what_really_runs(
    layer: str, priority: int, world: World, tmp_path: Path
) -> None:
    """Whatever priority a lower layer gives itself: its rewrite comes before, not after."""
    seen = tmp_path / "seen"
    world.managed(f'[[hook]]\non = "PreToolUse"\nrun = "cat > {seen}"\n')
    answer = json.dumps({"hookSpecificOutput": {"updatedInput": {"command": "rewritten"}}})
    script = world.place.script("rewrite.sh", f"echo '{answer}'")
    text = f'[[hook]]\non = "PreToolUse"\nrun = "{script}"\npriority = {priority}\n'
    world.mine(text) if layer == "user" else world.project(text)
    assert world.fire(trust=True).updated_input == {"command": "rewritten"}
    assert json.loads(seen.read_text())["tool_input"] == {"command": "rewritten"}


COPIES = {
    "that never applies": 'if = "Bash(never *)"\n',
    "once a session": "once = true\n",
    "under the same name": "",
}


@pytest.mark.parametrize("more", COPIES.values(), ids=COPIES.keys())
def test_a_copy_in_a_lower_layer_does_not_silence_the_organisations_hook(more: str, world: World) -> None:
    deny = '[[hook]]\nname = "no"\non = "PreToolUse"\nrun = "exit 1"\n'
    world.managed(deny)
    world.project(f"{deny}priority = 9\n{more}")
    hooks = world.load(trust=True)
    for _ in range(2):
        assert world.fire(hooks=hooks).denies


def test_a_script_of_the_same_name_does_not_take_the_organisations_place(world: World) -> None:
    toml = '[[hook]]\non = "PreToolUse"\npython = "check.py"\n'
    world.managed(toml)
    world.managed("raise SystemExit('no')\n", "fairlead/check.py")
    world.project(f"{toml}priority = 9\n")
    world.project("", "check.py")
    assert world.fire(trust=True).denies


def test_a_name_of_claude_agent_does_not_replace_a_managed_one(world: World) -> None:
    def named(word: str) -> dict[str, object]:
        return {"hooks": {"PreToolUse": {"audit": {"command": world.command(word)}}}}

    world.managed(named("managed"), "claude-code/managed-settings.json")
    world.mine(named("user"), "~/.claude/settings.json")
    world.project(named("project"), ".claude/settings.json")
    world.fire(trust=True)
    assert set(world.ran()) == {"managed", "project"}


def test_the_same_hook_word_for_word_still_runs_once(world: World) -> None:
    text = world.leaves("same")
    world.mine(text)
    world.project(text)
    world.fire(trust=True)
    assert world.ran() == ["same"]
