"""The library side: whatever stands in a file, looking at it neither fails nor runs it."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import Hook, Hooks, Origin, PreToolUse, deny, explaining
from fairlead.events import EVENTS
from fairlead.handlers.command import Command
from fairlead.matchers import Matcher, everything, name_list, whole_name

EVERYTHING = everything()
FROM_A_FILE = Origin(dialect="claude-code", layer="user", file=os.devnull)


def hook(command: str = "true", pattern: Matcher = EVERYTHING) -> Hook:
    handler = Command(command=command)
    return Hook(name="h", events=("PreToolUse",), handler=handler, origin=FROM_A_FILE, matcher=pattern)


@given(st.text(max_size=60) | st.text(alphabet="sh $~/'\"`\\{}[]()|&;=#\n\0.-", max_size=30))
def test_any_command_can_be_checked(command: str) -> None:
    assert {problem.level for problem in explaining.check(Hooks([hook(command)]))} <= {"warning"}


@given(st.text(max_size=40) | st.text(alphabet="BashEdit|,()*. [", max_size=20))
def test_any_matcher_can_be_checked(pattern: str) -> None:
    for build in (whole_name, name_list):
        problems = explaining.check(Hooks([hook(pattern=build(pattern))]))
        assert len(problems) <= max(1, len(pattern))


@pytest.mark.parametrize("name", [*EVENTS, "Newfangled", "*"])
def test_there_is_a_sample_of_every_event(name: str) -> None:
    assert explaining.sample(name).name == name


def test_hooks_in_code_are_described_and_explained_too() -> None:
    hooks = Hooks()

    @hooks.on("PreToolUse", tool="Bash")
    def no(event: PreToolUse) -> object:
        return deny("no")

    event = PreToolUse(tool_name="Bash", tool_input={"command": "ls"})
    [described] = [explaining.described(each) for each in hooks]
    assert (described["origin"]["layer"], described["state"]) == ("code", "in force")
    found = explaining.explain(hooks, event)
    assert (found["decision"], found["reason"]) == ("deny", "no")
    assert explaining.check(hooks) == []
    json.dumps(found)


def test_a_decision_can_be_told_to_every_agent() -> None:
    hooks = Hooks()
    hooks.on("PreToolUse")(lambda event: deny("no"))
    event = PreToolUse(tool_name="Bash", tool_input={})
    decision = hooks.fire_sync(event)
    replies = {agent: explaining.heard(hooks, event, decision, agent)["reply"] for agent in ("m", "codemie")}
    assert replies == {
        "m": {"decision": "block", "message": "no"},
        "codemie": {"decision": "deny", "reason": "no"},
    }
