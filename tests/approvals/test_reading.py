"""`approval` in fairlead.toml: what it may say, and what becomes of slips."""

from __future__ import annotations

import tomllib

import pytest
from jsonschema import Draft202012Validator

from fairlead import Hook, Problem
from fairlead.dialects import Places, Source, native
from fairlead.handlers.approval import Approval
from fairlead.schema import schema


def read(lines: str) -> tuple[Hook, tuple[Problem, ...]]:
    source = Source(path="/project/fairlead.toml", layer="project", owner="project")
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
}


@pytest.mark.parametrize("case", SLIPS)
def test_a_slip_is_reported_and_the_hook_is_there_all_the_same(case: str) -> None:
    hook, problems = read(SLIPS[case])
    assert [problem.level for problem in problems] == ["error"]
    assert hook.handler.kind in ("approval", "command")
    if isinstance(hook.handler, Approval):
        assert 1 <= hook.handler.people <= 10
        assert (hook.on_error, hook.timeout) == ("deny", 600)
