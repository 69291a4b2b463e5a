"""What an agent is told, to the word: the reason, the notes, and what is left of the rest."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead import Event, verdicts
from fairlead.degrade import degrade
from fairlead.events import PostToolUse, PreToolUse, SessionStart, Stop, SubagentStop
from fairlead.handlers.refusal import Refusal
from fairlead.hooks import Hook, Origin, Report, Reports
from fairlead.verdicts import Decision, Verdict, merge

CALL = PreToolUse(tool_name="Bash", tool_input={"command": "rm x"})
RESULT = PostToolUse(tool_name="Bash", tool_input={"command": "ls"}, tool_response="secret")
ORIGIN = Origin(dialect="fairlead", layer="user")
HOOK = Hook(name="h", events=("PreToolUse",), handler=Refusal(reason="no"), origin=ORIGIN)

# event, what the agent can, what was decided, what it is told
TOLD: dict[str, tuple[Event, set[str], dict[str, Any], dict[str, Any]]] = {
    "a stop becomes a refusal with its reason": (
        CALL, {"deny"}, {"stop": True, "stop_reason": "enough"},
        {"decision": "deny", "reason": "enough", "stop": False, "notes": ("enough",)},
    ),
    "a stop without a reason says what has happened": (
        CALL, {"deny"}, {"stop": True}, {"decision": "deny", "reason": "a hook has ended the turn", "stop": False},
    ),
    "a reason that is the same is said once": (
        CALL, {"deny"}, {"stop": True, "stop_reason": "enough", "reason": "enough"}, {"reason": "enough"},
    ),
    "another reason is said as well": (
        CALL, {"deny"}, {"stop": True, "stop_reason": "enough", "reason": "too much"}, {"reason": "enough\ntoo much"},
    ),
    "a stop that cannot be said is noted": (
        SessionStart(), set(), {"stop": True, "stop_reason": "enough"},
        {"decision": "none", "stop": False, "notes": ("agent cannot end the turn here: enough",)},
    ),
    "an end that nobody holds up needs no word": (
        Stop(), {"deny"}, {"stop": True, "decision": "deny", "said": "block"},
        {"decision": "none", "said": "", "stop": False, "notes": ()},
    ),
    "the end of a subagent neither": (
        SubagentStop(), {"deny"}, {"stop": True, "decision": "deny"}, {"decision": "none", "stop": False},
    ),
    "a stop that is carried stays one": (CALL, {"deny", "stop"}, {"stop": True}, {"decision": "none", "stop": True}),
    "an input that cannot be changed": (
        CALL, {"deny"}, {"updated_input": {"command": "ls"}},
        {"decision": "deny", "updated_input": None, "reason": "a hook wants another input, and agent cannot change it; "
         'call the tool again with: {"command":"ls"}'},
    ),
    "an input from which nothing can be taken": (
        CALL, {"deny", "rewrite_over"}, {"updated_input": {}},
        {"decision": "deny", "reason": "a hook wants another input, and agent cannot take anything out of it; "
         "call the tool again with: {}"},
    ),
    "an input with the same names is laid over": (
        CALL, {"deny", "rewrite_over"}, {"updated_input": {"command": "ls"}},
        {"decision": "none", "updated_input": {"command": "ls"}},
    ),
    "a refusal needs no other input": (
        CALL, {"deny"}, {"decision": "deny", "reason": "no", "updated_input": {"command": "ls"}},
        {"reason": "no", "updated_input": None, "notes": ()},
    ),
    "words of an output are quoted as they are": (
        RESULT, {"deny"}, {"updated_output": "two\nlines"},
        {"decision": "deny", "updated_output": None,
         "reason": "a hook has replaced this output, and agent cannot; go by this instead: two\nlines"},
    ),
    "an output that no refusal can hold is dropped and noted": (
        CALL, {"deny"}, {"updated_output": "x"},
        {"decision": "none", "updated_output": None, "notes": ("agent cannot take another output here; dropped",)},
    ),
    "a refusal whose reason reaches no model takes no context along": (
        SessionStart(), {"deny"}, {"decision": "deny", "reason": "no", "context": "hint"},
        {"reason": "no", "context": "", "notes": ("agent takes no context here; dropped: hint",)},
    ),
    "nor does what is not refused": (
        CALL, {"deny"}, {"decision": "none", "reason": "fine", "context": "hint"},
        {"reason": "fine", "context": "", "notes": ("agent takes no context here; dropped: hint",)},
    ),
    "a message line by line": (
        CALL, {"deny"}, {"user_message": "one\n\ntwo"},
        {"user_message": "", "notes": ("agent shows no message here: one", "agent shows no message here: two")},
    ),
    "a message that is a note already": (
        CALL, {"deny"}, {"user_message": "one\ntwo", "notes": ("one",)},
        {"user_message": "", "notes": ("one", "agent shows no message here: two")},
    ),
    "a message that is shown": (CALL, {"user_message"}, {"user_message": "one"}, {"user_message": "one", "notes": ()}),
    "what the hook called it is dropped with it": (
        CALL, {"deny"}, {"decision": "allow", "said": "approve"}, {"decision": "none", "said": ""},
    ),
    "who has to be asked, and cannot be": (
        CALL, {"deny"}, {"decision": "ask", "reason": "large"},
        {"decision": "deny", "reason": "a person has to agree to this, and agent cannot ask one here\nlarge"},
    ),
    "who defers is asked": (
        CALL, {"deny", "ask"}, {"decision": "defer"},
        {"decision": "ask", "notes": ("agent cannot defer; asked instead",)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TOLD)
def test_an_agent_is_told_exactly(case: str) -> None:
    event, able, fields, expected = TOLD[case]
    told = degrade(event, Decision(**fields), {event.name: frozenset(able)}, "agent")
    assert {name: getattr(told, name) for name in expected} == expected


def test_an_event_that_an_agent_does_not_name_is_like_its_others() -> None:
    can = {"*": frozenset({"deny"}), "Stop": frozenset[str]()}
    assert degrade(CALL, Decision(decision="deny"), can, "agent").decision == "deny"
    assert degrade(Stop(), Decision(decision="deny"), can, "agent").decision == "none"
    assert degrade(CALL, Decision(decision="deny"), {}, "agent").decision == "none"


def test_the_last_word_stands_of_what_can_be_said_only_once() -> None:
    said = [
        Verdict(stop=True, stop_reason="first", updated_input={"a": 1}, updated_output=1),
        Verdict(stop_reason="second", updated_input={"a": 2}, updated_output=2, suppress_output=True),
        verdicts.allow("fine"),
    ]
    merged = merge(said)
    assert (merged.stop, merged.stop_reason, merged.suppress_output) == (True, "second", True)
    assert (merged.updated_input, merged.updated_output) == ({"a": 2}, 2)
    assert (merged.decision, merged.reason) == ("allow", "fine")


def test_a_word_that_nobody_knows_is_weaker_than_every_other() -> None:
    strange = Verdict(decision="perhaps", reason="?")
    assert merge([strange, verdicts.allow("fine")]).decision == "allow"
    assert merge([verdicts.allow("fine"), strange]).decision == "allow"


def test_a_verdict_says_nothing_that_it_was_not_told_to() -> None:
    assert (verdicts.deny("no").stop, verdicts.deny("no").suppress_output) == (False, False)
    assert verdicts.stop("enough").with_user_message("bye").but(stop=False) == Verdict(
        stop_reason="enough", user_message="bye"
    )


def test_reports_in_a_row_are_those_that_were_met() -> None:
    reports = (Report(HOOK, CALL),)
    assert Decision(reports=reports).met == reports
    assert Decision(reports=Reports(reports, [(HOOK, "another tool", False)], [], CALL)).met == reports


SAID: dict[str, Any] = {
    "decision": "deny", "reason": "no", "context": "c", "feedback": "f", "system_message": "s", "user_message": "u",
    "updated_input": {"a": 1}, "updated_output": 0, "stop": True, "stop_reason": "r", "suppress_output": True,
    "extra": {"a": 1}, "notes": ("n",),
}  # fmt: skip


@pytest.mark.parametrize("field", SAID)
def test_a_decision_that_says_anything_is_not_silent(field: str) -> None:
    assert not Decision(reports=(), **{field: SAID[field]}).is_silent


def test_a_decision_that_says_nothing_is_silent_however_many_hooks_were_asked() -> None:
    assert Decision().is_silent
    assert Decision(reports=(Report(HOOK, CALL),), groups={}, notes=(), trace=None).is_silent
