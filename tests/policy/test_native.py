"""What a project's fairlead.toml can and cannot say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairlead import Hooks, Stop, UserPromptSubmit
from fairlead.dialects import native
from fairlead.dialects._native_policy import WHY
from tests.policy.conftest import MINE, World

Said = Callable[[Hooks], list[str]]

TABLES = {
    "models": '[models.default]\nprovider = "openai"\nmodel = "x"\nbase_url = "http://[::1]:9"\napi_key_env = "K"\n',
    "mcp_servers": '[mcp_servers.x]\ncommand = "touch"\nargs = ["canary"]\n',
    "allowed_http_urls": 'allowed_http_urls = ["*"]\n',
    "approvers": 'approvers = ["mallory"]\n',
    "notify": 'notify = ["json://127.0.0.1:9"]\n',
    "notify_after": 'notify_after = "1s"\n',
    "journal": '[journal]\nmode = "off"\n',
    "telemetry": '[telemetry]\nenabled = true\nendpoint = "http://127.0.0.1:9"\n',
    "trust": f'[trust]\npins = ["sha256:{"0" * 64}"]\npass_env = ["AWS_SECRET_ACCESS_KEY"]\n',
    "auto_allow": 'auto_allow = ["read-only"]\n',
    "policy": "[policy]\nonly_managed_hooks = true\n",
}
"""Every key that is not for projects, with a value that would count for something."""


def test_each_key_of_the_file_is_for_everybody_or_in_the_table() -> None:
    assert set(TABLES) == native._TOP - native._FOR_EVERYBODY
    assert set(WHY) == set(TABLES) - {"policy"}


@pytest.mark.parametrize("trust", [True, False], ids=["trusted", "untrusted"])
@pytest.mark.parametrize("file", ["fairlead.toml", "fairlead.local.toml"])
@pytest.mark.parametrize("key", TABLES)
def test_a_key_that_is_not_a_projects_is_reported_with_its_place_and_ignored(
    key: str, file: str, trust: bool, world: World, said: Said
) -> None:
    before = world.load(trust=trust)
    world.project(f"# what a repository brings along\n{TABLES[key]}", file)
    hooks = world.load(trust=trust)
    [problem] = hooks.problems
    assert (problem.level, problem.line, problem.column) == ("warning", 2, 1)
    assert problem.message.endswith(f"{key}] of a project is ignored" if "[" in problem.message else "is ignored")
    assert "fairlead.toml" in problem.hint
    assert (hooks.journal, hooks.telemetry) == (before.journal, before.telemetry)
    assert (list(hooks), hooks.setting) == (list(before), before.setting)


@pytest.mark.parametrize("key", [key for key in TABLES if key != "policy"])
def test_the_same_key_in_the_users_own_file_is_fine(key: str, world: World, said: Said) -> None:
    world.mine(f"guard = []\n{TABLES[key]}")
    assert [line for line in said(world.load()) if "ignored" in line] == []


def test_a_policy_of_a_user_is_ignored_too(world: World, said: Said) -> None:
    world.mine(TABLES["policy"] + world.leaves("mine"))
    assert said(world.load())[0].startswith("warning 1:1 [policy] of a user is ignored (it belongs into ")
    world.fire()
    assert world.ran() == ["mine"]


# --- the guard: a project can only tighten -----------------------------------------------------------

DELETES = "rm -rf /"
EXCEPTION = '[[rule]]\nrule = "filesystem"\ndecision = "allow"\n'


@pytest.mark.parametrize("trust", [True, False], ids=["trusted", "untrusted"])
def test_a_projects_guard_applies_without_trust_and_only_refuses_or_asks(trust: bool, world: World) -> None:
    world.project('guard = "all"\nauto_allow = ["read-only"]\n')
    hooks = world.load(trust=trust)
    assert world.fire(DELETES, hooks=hooks).decision == "deny"
    assert world.fire("git status", hooks=hooks).decision == "none"


@pytest.mark.parametrize("trust", [True, False], ids=["trusted", "untrusted"])
def test_an_exception_of_a_project_counts_for_no_guard(trust: bool, world: World, said: Said) -> None:
    world.project(f'guard = "all"\n{EXCEPTION}[[hook]]\non = "PreToolUse"\nguard = ["git"]\n')
    hooks = world.load(trust=trust)
    assert world.fire(DELETES, hooks=hooks).decision == "deny"
    [warning] = said(hooks)
    assert warning.startswith("warning 2:1 an allow of a project is ignored")
    world.mine('guard = "all"\n')
    assert world.fire(DELETES, trust=trust).decision == "deny"


@pytest.mark.parametrize("guard", ['guard = "all"\n', ""], ids=["with a guard", "without one"])
def test_an_exception_of_the_user_counts_for_a_projects_guard(guard: str, world: World, said: Said) -> None:
    world.project('guard = "all"\n')
    assert world.fire(DELETES).decision == "deny"
    world.mine(guard + EXCEPTION)
    assert said(world.load()) == []
    assert world.fire(DELETES).decision == "none"


def test_an_exception_of_the_user_does_not_reach_the_organisations_guard(world: World) -> None:
    world.managed('guard = "all"\n')
    world.mine(EXCEPTION)
    assert world.fire(DELETES).decision == "deny"


@pytest.mark.parametrize("decision", ["deny", "ask"])
def test_a_rule_of_an_untrusted_project_tightens(decision: str, world: World) -> None:
    world.project(f'guard = []\n[[rule]]\neffect = "write"\npath = "db/**"\ndecision = "{decision}"\n')
    assert world.fire("echo x > db/schema").decision == decision


def test_a_guard_with_a_matcher_of_its_own_tightens_too(world: World) -> None:
    world.project('[[hook]]\non = "PreToolUse"\ntool = "Bash"\nguard = ["filesystem"]\n')
    hooks = world.load()
    assert world.fire(DELETES, hooks=hooks).decision == "deny"
    assert [hook.options["tightens"] for hook in hooks] == [True]


def test_nothing_else_of_an_untrusted_project_runs(world: World) -> None:
    world.project('guard = "all"\n' + world.leaves("theirs"))
    world.fire()
    assert world.ran() == []


# --- a failure lets nothing through ------------------------------------------------------------------


@pytest.mark.parametrize("event", ['"PreToolUse"', '["Stop", "PreToolUse"]', '"*"'])
def test_a_projects_failure_cannot_be_made_to_let_calls_through(event: str, world: World, said: Said) -> None:
    world.project(f'[[hook]]\non = {event}\nrun = "exit 127"\non_error = "allow"\n')
    hooks = world.load(trust=True)
    assert said(hooks)[0].startswith('warning 4:1 on_error = "allow" of a project is ignored where a failure denies')
    assert world.fire(hooks=hooks).denies
    assert world.fire(UserPromptSubmit(prompt="hi"), hooks=hooks).denies is (event == '"*"')


def test_where_a_failure_does_not_deny_a_project_may_say_so(world: World, said: Said) -> None:
    world.project('[[hook]]\non = "Stop"\nrun = "exit 127"\non_error = "allow"\n')
    hooks = world.load(trust=True)
    assert said(hooks) == []
    assert not world.fire(Stop(), hooks=hooks).denies


def test_an_approval_of_a_project_cannot_fail_open(world: World, said: Said) -> None:
    world.project('[[hook]]\non = "Stop"\napproval = "look"\non_error = "allow"\n')
    hooks = world.load(trust=True)
    assert [hook.on_error for hook in hooks] == ["deny"]
    assert "is ignored" in said(hooks)[0]


def test_the_user_may_let_a_failure_pass(world: World, said: Said) -> None:
    world.mine('[[hook]]\non = "PreToolUse"\nrun = "exit 127"\non_error = "allow"\n')
    assert said(world.load()) == []
    assert not world.fire().denies


# --- [files] -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "file", ["~/.claude/settings.json", "../home/.claude/settings.json", "{home}/.claude/settings.json"]
)
def test_a_project_does_not_say_who_reads_the_users_files(file: str, world: World, said: Said) -> None:
    command = {"type": "command", "command": world.command("user")}
    world.mine({"hooks": {"PreToolUse": [{"hooks": [command]}]}}, "~/.claude/settings.json")
    world.project(f'[files]\n"{file.format(home=world.place.home)}" = "code-agent"\n')
    hooks = world.load(trust=True)
    assert [hook.origin.dialect for hook in hooks] == ["claude-code"]
    assert said(hooks)[0].startswith("warning 2:1 [files] of a project is ignored for ")


# --- required ----------------------------------------------------------------------------------------

BROKEN = {
    "a slip in its handler": "runn = 'true'\n",
    "two handlers": "run = 'true'\npython = 'a:b'\n",
    "an empty command": "run = ''\n",
}


@pytest.mark.parametrize("lines", BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.parametrize("layer", ["mine", "project"])
def test_a_required_hook_that_is_broken_refuses(lines: str, layer: str, world: World) -> None:
    getattr(world, layer)(f'[[hook]]\nname = "scan"\non = "PreToolUse"\nrequired = true\n{lines}')
    hooks = world.load(trust=True)
    decision = world.fire(hooks=hooks)
    assert decision.denies
    assert "the required hook scan is broken" in decision.reason
    assert "`fairlead check`" in decision.reason
    assert not world.fire(Stop(), hooks=hooks).denies


def test_one_without_an_event_refuses_what_can_be_guarded(world: World) -> None:
    world.mine('[[hook]]\nname = "scan"\nrun = "true"\nrequired = true\n')
    hooks = world.load()
    assert world.fire(hooks=hooks).denies
    assert world.fire(UserPromptSubmit(prompt="hi"), hooks=hooks).denies


def test_a_required_hook_that_is_not_trusted_refuses_and_says_what_to_do(world: World) -> None:
    world.project(world.leaves("scan", required=True))
    decision = world.fire()
    assert decision.denies
    assert "scan" in decision.reason
    assert "fairlead trust" in decision.reason
    assert world.ran() == []


@pytest.mark.parametrize("program", ["./missing.sh", "exit 127", "kill -9 $$"])
def test_a_required_hook_that_cannot_run_refuses_at_every_event_that_can_be(program: str, world: World) -> None:
    world.mine(f'[[hook]]\non = ["PreToolUse", "Stop"]\nrun = "{program}"\nrequired = true\n')
    hooks = world.load()
    assert world.fire(hooks=hooks).denies
    assert world.fire(Stop(), hooks=hooks).denies


CONTRADICTIONS = {"enabled": "enabled = false\n", "async": "async = true\n", "on_error": 'on_error = "allow"\n'}


@pytest.mark.parametrize("key", CONTRADICTIONS)
def test_nothing_beside_it_makes_a_required_hook_optional(key: str, world: World, said: Said) -> None:
    world.mine(f'[[hook]]\non = "PreToolUse"\nrun = "exit 127"\nrequired = true\n{CONTRADICTIONS[key]}')
    hooks = world.load()
    assert said(hooks)[0].startswith("warning 5:1 a required hook has ")
    assert world.fire(hooks=hooks).denies


def test_a_required_hook_that_runs_is_like_any_other(world: World, said: Said) -> None:
    world.mine(world.leaves("scan", required=True))
    assert said(world.load()) == []
    assert not world.fire().denies
    assert world.ran() == ["scan"]


def test_the_users_file_is_where_these_tests_think_it_is(world: World) -> None:
    assert world.mine("") == str(world.place.home / MINE[2:])
