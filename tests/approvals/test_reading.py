"""`approval` in fairlead.toml: what it may say, and what becomes of slips."""

from __future__ import annotations

import tomllib

import pytest
from jsonschema import Draft202012Validator

from fairlead import Hook, Problem
from fairlead.dialects import Places, Source, native
from fairlead.dialects._native_approval import NOBODY
from fairlead.handlers.approval import Approval
from fairlead.schema import schema


def read(lines: str) -> tuple[Hook, tuple[Problem, ...]]:
    source = Source(path="/home/user/.config/fairlead/fairlead.toml", layer="user", owner="user")
    text = f'[[hook]]\non = "PreToolUse"\n{lines}\n'
    reading = native.read(source, text, Places(home="/home/user", project="/project", environ={}))
    accepted = Draft202012Validator(schema()).is_valid(tomllib.loads(text))
    assert accepted == (not reading.problems), "the schema says the same"
    (hook,) = reading.hooks
    return hook, reading.problems


def test_an_approval_waits_ten_minutes_and_then_refuses() -> None:
    hook, problems = read('approval = "Let someone look at it"')
    assert problems == ()
    assert hook.handler == Approval(text="Let someone look at it")
    assert (hook.timeout, hook.on_error) == (600, "deny")


def test_everything_can_be_said() -> None:
    hook, problems = read('approval = "x"\npeople = 2\ntools = ["Edit", "Write"]\ntimeout = "1h"\non_error = "allow"')
    assert problems == ()
    assert hook.handler == Approval(text="x", people=2)
    assert (hook.timeout, hook.on_error, hook.matcher.text) == (3600, "allow", "Edit|Write")
    assert [hook.matcher(name) for name in ("Edit", "Write", "Bash")] == [True, True, False]


def test_who_may_decide_and_who_after_a_time_can_be_said() -> None:
    hook, problems = read('approval = "x"\napprovers = ["Anna", "ben"]\nescalate = { after = "5m", to = ["Chris"] }')
    assert problems == ()
    expected = Approval(text="x", approvers=("anna", "ben"), escalate_after=300.0, escalate_to=("chris",))
    assert hook.handler == expected
    assert hook.identity() != hook.but(handler=expected.but(approvers=("anna",))).identity()
    assert hook.handler.describe() == "approval by anna or ben: x"


SLIPS = {
    "no text": "approval = 1",
    "an empty text": 'approval = " "',
    "nobody": 'approval = "x"\npeople = 0',
    "a crowd": 'approval = "x"\npeople = 11',
    "half a person": 'approval = "x"\npeople = 1.5',
    "no number": 'approval = "x"\npeople = "two"',
    "no list": 'approval = "x"\ntools = "Edit"',
    "an empty list": 'approval = "x"\ntools = []',
    "no names": 'approval = "x"\ntools = [1]',
    "tool and tools": 'approval = "x"\ntool = "Bash"\ntools = ["Edit"]',
    "people for a command": 'run = "x"\npeople = 2',
    "no time": 'approval = "x"\ntimeout = "soon"',
    "a name for names": 'approval = "x"\napprovers = "anna"',
    "nobody may": 'approval = "x"\napprovers = []',
    "a name with a blank": 'approval = "x"\napprovers = ["a b"]',
    "a number for a name": 'approval = "x"\napprovers = [1]',
    "approvers for a command": 'run = "x"\napprovers = ["anna"]',
    "escalate without a table": 'approval = "x"\nescalate = "5m"',
    "escalate to nobody": 'approval = "x"\nescalate = { after = "5m", to = [] }',
    "escalate some time": 'approval = "x"\nescalate = { after = "soon", to = ["anna"] }',
    "escalate with more": 'approval = "x"\nescalate = { after = 5, to = ["anna"], by = "x" }',
}


@pytest.mark.parametrize("case", SLIPS)
def test_a_slip_is_reported_and_the_hook_is_there_all_the_same(case: str) -> None:
    hook, problems = read(SLIPS[case])
    assert [problem.level for problem in problems] == ["error"]
    assert hook.handler.kind in ("approval", "command")
    if isinstance(hook.handler, Approval):
        assert 1 <= hook.handler.people <= 10
        assert (hook.on_error, hook.timeout) == ("deny", 600)


@pytest.mark.parametrize("case", ["a name for names", "nobody may", "a name with a blank", "a number for a name"])
def test_where_the_names_cannot_be_understood_nobody_may_decide(case: str) -> None:
    hook, _ = read(SLIPS[case])
    assert isinstance(hook.handler, Approval)
    assert hook.handler.approvers == (NOBODY,)


def test_fewer_who_may_decide_than_have_to_agree_is_pointed_out() -> None:
    source = Source(path="/project/fairlead.toml", layer="project", owner="project")
    text = '[[hook]]\non = "PreToolUse"\napproval = "x"\npeople = 2\napprovers = ["anna", "Anna"]\n'
    (problem,) = native.read(source, text, Places(home="/h", project="/project", environ={})).problems
    assert (problem.level, problem.line) == ("warning", 5)
    assert "2 people have to agree, and 1 may" in problem.message


@pytest.mark.parametrize(("owner", "level"), [("project", "warning"), ("user", None), ("managed", None)])
def test_a_project_does_not_say_who_decides_for_its_user(owner: str, level: str | None) -> None:
    source = Source(path="/x/fairlead.toml", layer=owner, owner=owner)
    found = native.read(source, 'approvers = ["anna"]\n', Places(home="/h", project="/x", environ={})).problems
    assert [problem.level for problem in found] == ([level] if level else [])


@pytest.mark.parametrize("value", ['"anna"', "[]", "[1]", '["a b"]'])
def test_ones_own_approvers_that_cannot_be_understood_are_an_error(value: str) -> None:
    source = Source(path="/x/fairlead.toml", layer="user", owner="user")
    (problem,) = native.read(source, f"approvers = {value}\n", Places(home="/h", project="/x", environ={})).problems
    assert problem.level == "error"
