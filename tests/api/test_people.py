"""A person's word among the hooks': asked last, not about what is refused, and the answer to every question."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from fairlead import verdicts
from fairlead.api import Hooks
from fairlead.events import Event, PreToolUse
from fairlead.hooks import Hook, Origin, Setting
from fairlead.verdicts import Verdict
from fairlead.work import Call

CALL = PreToolUse(tool_name="Bash", tool_input={"command": "git push"})


class Person:
    """An approval whose answer is known."""

    kind: ClassVar[str] = "approval"

    def __init__(self, answer: Verdict) -> None:
        self.answer = answer
        self.asked: list[Event] = []

    def start(self, _hook: Hook, event: Event, _setting: Setting) -> Call:
        return Call(self.asked.append, (event,))

    def conclude(self, _hook: Hook, _event: Event, _work: Call, _outcome: Any, /) -> Verdict:
        return self.answer

    def describe(self) -> str:
        return "a person"

    def identity(self) -> tuple[object, ...]:
        return (id(self),)


class Guarding(Person):
    kind: ClassVar[str] = "guard"


def fire(*handlers: Person) -> verdicts.Decision:
    origin = Origin(dialect="fairlead", layer="user")
    hooks = Hooks([], setting=Setting(project="/p", home="/h", environ={}))
    for number, handler in enumerate(handlers):
        hooks.register(Hook(name=f"h{number}", events=("PreToolUse",), handler=handler, origin=origin))
    return hooks.fire_sync(CALL)


@pytest.mark.parametrize("question", [verdicts.ask("sure?"), verdicts.defer("later")])
def test_a_yes_is_the_answer_to_a_guards_question(question: Verdict) -> None:
    assert fire(Guarding(question), Person(verdicts.allow())).decision == "allow"
    assert fire(Guarding(question), Person(verdicts.NONE)).decision == question.decision
    assert fire(Guarding(question)).decision == question.decision


def test_a_yes_frees_nothing_that_is_refused() -> None:
    assert fire(Guarding(verdicts.deny("no")), Person(verdicts.allow())).denies


def test_nobody_is_asked_about_what_a_guard_refuses() -> None:
    person = Person(verdicts.allow())
    fire(person, Guarding(verdicts.deny("no")))
    assert person.asked == []


def test_of_two_people_both_have_to_agree() -> None:
    answers = Person(verdicts.allow()), Person(verdicts.NONE)
    assert fire(Guarding(verdicts.ask("sure?")), *answers).decision == "ask"


def test_nobody_is_asked_about_what_another_systems_hook_refuses() -> None:
    person = Person(verdicts.allow())
    hooks = Hooks([], setting=Setting(project="/p", home="/h", environ={}))
    for dialect, handler in (("fairlead", person), ("claude-code", Guarding(verdicts.deny("no")))):
        origin = Origin(dialect=dialect, layer="user")
        hooks.register(Hook(name=dialect, events=("PreToolUse",), handler=handler, origin=origin))
    assert hooks.fire_sync(CALL).denies
    assert person.asked == []
