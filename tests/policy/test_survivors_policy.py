"""What the organisation's policy says about hooks that are off, in the background, or there more than once."""

from __future__ import annotations

from collections.abc import Callable

from fairlead import Hooks
from tests.policy.conftest import World

Said = Callable[[Hooks], list[str]]
SCAN = '[policy]\nrequire = ["scan"]\n'


def test_a_hook_that_its_owner_has_switched_off_is_not_said_to_be_forbidden(world: World) -> None:
    world.managed('[policy]\nforbid = ["command"]\n')
    world.mine(world.leaves("mine", enabled=False) + world.leaves("other"))
    off, forbidden = world.fire().reports
    assert "switched off by" not in off.why
    assert forbidden.why.endswith("which forbids command")


def test_whoever_may_run_nothing_hears_of_that_first(world: World) -> None:
    world.managed('[policy]\nonly_managed_hooks = true\nforbid = ["command"]\n')
    world.mine(world.leaves("mine"))
    (only,) = world.fire().reports
    assert only.why.endswith("which lets only managed hooks run")


def test_of_several_of_that_name_one_in_force_is_enough(world: World, said: Said) -> None:
    world.managed(SCAN)
    world.mine(world.leaves("scan"))
    world.project(world.leaves("scan", enabled=False, run="true"))
    hooks = world.load(trust=True)
    assert said(hooks) == []
    assert not world.fire(hooks=hooks).denies


def test_of_several_that_are_not_the_one_is_named_that_only_needs_trust(world: World) -> None:
    world.managed(SCAN)
    world.mine(world.leaves("scan", enabled=False))
    file = world.project(world.leaves("scan", run="true"))
    reason = world.fire().reason
    assert f"is not trusted ({file}" in reason
    assert "look at it with `fairlead trust`" in reason


def test_a_hook_that_the_policy_itself_forbids_is_said_to_be(world: World) -> None:
    file = world.managed('[policy]\nrequire = ["scan"]\nforbid = ["command"]\n')
    mine = world.mine(world.leaves("scan"))
    reason = world.fire().reason
    assert f"is switched off by {file}, which forbids command ({mine}" in reason
    assert reason.endswith("switch it on")


def test_a_hook_that_is_required_says_where_it_is_off(world: World, said: Said) -> None:
    world.managed(SCAN)
    mine = world.mine(world.leaves("scan", enabled=False))
    hooks = world.load()
    assert f"is switched off ({mine}" in world.fire(hooks=hooks).reason
    (problem,) = [line for line in said(hooks) if "scan" in line]
    assert problem.startswith("error 2:1 requires the hook 'scan', which is switched off")
    assert problem.endswith("(until then tool calls, permissions and prompts are refused)")


def test_other_systems_hooks_come_before_what_the_policy_refuses(world: World) -> None:
    world.managed(SCAN)
    claude = {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": world.command("claude")}]}]}}
    world.mine(claude, "~/.claude/settings.json")
    world.mine(world.leaves("mine"))
    decision = world.fire()
    assert [report.hook.name for report in decision.reports][1] == "policy"
    assert (decision.denies, "claude" in world.ran()) == (True, True)
