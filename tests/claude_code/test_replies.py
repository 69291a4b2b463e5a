"""What Claude Code is told: for each event and each decision exactly the keys that it knows."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead import Event
from fairlead.degrade import degrade
from fairlead.dialects import Reply, claude_code
from fairlead.verdicts import Decision
from tests.claude_code.conftest import Claude, says
from tests.claude_code.payloads import EVENTS, Json
from tests.claude_code.schema import schema_for
from tests.conftest import Home, Ran

REWRITTEN = {"command": "ls"}
MORE_THAN_KNOWN = {"codemieThing": 1, "feedback": "x", "previous": None}

DECISIONS: dict[str, Json] = {
    "none": {},
    "deny": {"decision": "deny", "reason": "no"},
    "deny without a reason": {"decision": "deny"},
    "ask": {"decision": "ask", "reason": "sure?"},
    "allow": {"decision": "allow", "reason": "fine"},
    "defer": {"decision": "defer", "reason": "later"},
    "rewrite": {"updated_input": REWRITTEN},
    "rewrite and allow": {"decision": "allow", "updated_input": REWRITTEN},
    "rewrite and ask": {"decision": "ask", "reason": "sure?", "updated_input": REWRITTEN},
    "rewrite and deny": {"decision": "deny", "reason": "no", "updated_input": REWRITTEN},
    "context": {"context": "note"},
    "deny with context": {"decision": "deny", "reason": "no", "context": "note"},
    "message": {"user_message": "psst"},
    "stop": {"stop": True, "stop_reason": "enough"},
    "stop and allow": {"decision": "allow", "stop": True},
    "suppress": {"suppress_output": True},
    "new output": {"updated_output": "redacted"},
    "foreign keys": {"extra": MORE_THAN_KNOWN},
}


def answer(event_name: str, fields: Json) -> Reply:
    event = Event.from_payload(EVENTS[event_name])
    return claude_code.write_reply(event, degrade(event, Decision(**fields), claude_code.CAN, "claude-code"))


def specific(event: str, **fields: Any) -> Json:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def tool(word: str, reason: str = "", **more: Any) -> Json:
    given_reason = {"permissionDecisionReason": reason} if reason else {}
    return specific("PreToolUse", permissionDecision=word, **given_reason, **more)


def permission(behavior: str, **more: Any) -> Json:
    return specific("PermissionRequest", decision={"behavior": behavior, **more})


BLOCK = {"decision": "block", "reason": "no"}
NO_REASON = "Blocked by hook"
STOP = {"continue": False, "stopReason": "enough"}
PERSON = "a person has to agree to this, and claude-code cannot ask one here"
WANTED = 'a hook wants another input, and claude-code cannot change it; call the tool again with: {"command":"ls"}'

GOLDEN: dict[str, dict[str, Json | None]] = {
    "PreToolUse": {
        "none": None,
        "deny": tool("deny", "no"),
        "deny without a reason": tool("deny", NO_REASON),
        "ask": tool("ask", "sure?"),
        "allow": tool("allow", "fine"),
        "defer": tool("defer", "later"),
        "rewrite": specific("PreToolUse", updatedInput=REWRITTEN),
        "rewrite and allow": tool("allow", updatedInput=REWRITTEN),
        "rewrite and ask": tool("ask", "sure?", updatedInput=REWRITTEN),
        "rewrite and deny": tool("deny", "no"),
        "context": specific("PreToolUse", additionalContext="note"),
        "deny with context": tool("deny", "no", additionalContext="note"),
        "message": {"systemMessage": "psst"},
        "stop": {**tool("deny", "enough"), **STOP},
        "stop and allow": {**tool("deny", "a hook has ended the turn"), "continue": False},
        "suppress": {"suppressOutput": True},
        "new output": None,
        "foreign keys": None,
    },
    "PermissionRequest": {
        "none": None,
        "deny": permission("deny", message="no"),
        "deny without a reason": permission("deny", message=NO_REASON),
        "ask": None,
        "allow": permission("allow"),
        "defer": None,
        "rewrite": permission("deny", message=WANTED),
        "rewrite and allow": permission("allow", updatedInput=REWRITTEN),
        "rewrite and ask": permission("deny", message=f"{WANTED}\nsure?"),
        "rewrite and deny": permission("deny", message="no"),
        "context": None,
        "deny with context": permission("deny", message="no\nnote"),
        "message": {"systemMessage": "psst"},
        "stop": {**permission("deny", message="enough"), **STOP},
        "stop and allow": {**permission("deny", message="a hook has ended the turn"), "continue": False},
        "suppress": {"suppressOutput": True},
        "foreign keys": None,
    },
    "PostToolUse": {
        "none": None,
        "deny": BLOCK,
        "deny without a reason": {"decision": "block", "reason": NO_REASON},
        "ask": {"decision": "block", "reason": f"{PERSON}\nsure?"},
        "allow": None,
        "context": specific("PostToolUse", additionalContext="note"),
        "deny with context": {**BLOCK, **specific("PostToolUse", additionalContext="note")},
        "message": {"systemMessage": "psst"},
        "stop": STOP,
        "new output": specific(
            "PostToolUse",
            updatedToolOutput={"stdout": "redacted", "stderr": "", "interrupted": False, "isImage": False},
        ),
        "foreign keys": None,
    },
    "UserPromptSubmit": {
        "none": None,
        "deny": BLOCK,
        "ask": {"decision": "block", "reason": f"{PERSON}\nsure?"},
        "allow": None,
        "context": specific("UserPromptSubmit", additionalContext="note"),
        "message": {"systemMessage": "psst"},
        "stop": STOP,
        "suppress": {"suppressOutput": True},
    },
    "SessionStart": {
        "none": None,
        "deny": None,
        "context": specific("SessionStart", additionalContext="note"),
        "message": {"systemMessage": "psst"},
        "stop": None,
    },
    "Stop": {
        "none": None,
        "deny": BLOCK,
        "deny without a reason": {"decision": "block", "reason": NO_REASON},
        "allow": None,
        "context": None,
        "deny with context": {"decision": "block", "reason": "no\nnote"},
        "message": {"systemMessage": "psst"},
        "stop": STOP,
    },
    "PreModelSwitch": {
        "none": None,
        "deny": specific("PreModelSwitch", permissionDecision="deny", permissionDecisionReason="no"),
        "ask": specific("PreModelSwitch", permissionDecision="ask", permissionDecisionReason="sure?"),
        "allow": specific("PreModelSwitch", permissionDecision="allow", permissionDecisionReason="fine"),
        "defer": specific("PreModelSwitch", permissionDecision="ask", permissionDecisionReason="later"),
        "stop": {**specific("PreModelSwitch", permissionDecision="deny", permissionDecisionReason="enough"), **STOP},
    },
    "Elicitation": {
        "none": None,
        "deny": specific("Elicitation", action="decline"),
        "ask": None,
        "allow": None,
        "stop": specific("Elicitation", action="decline"),
        "message": None,
    },
    "ElicitationResult": {"deny": specific("ElicitationResult", action="decline"),
                          "ask": specific("ElicitationResult", action="decline"), "none": None},
    "TaskCreated": {"deny": BLOCK, "stop": {"decision": "block", "reason": "enough"},
                    "message": {"systemMessage": "psst"}},
    "PreCompact": {"deny": BLOCK, "stop": {"decision": "block", "reason": "enough"}, "message": None, "context": None},
    "ConfigChange": {"deny": BLOCK, "allow": None, "message": None},
    "PostToolBatch": {"deny": BLOCK, "context": specific("PostToolBatch", additionalContext="note"), "stop": STOP},
    "PostModelSwitch": {"deny": None, "context": specific("PostModelSwitch", additionalContext="note")},
    "SubagentStart": {"deny": None, "context": specific("SubagentStart", additionalContext="note")},
    "DirectoryAdded": {"context": {"systemMessage": "note"}, "message": None, "deny": None},
    "CwdChanged": {"message": {"systemMessage": "psst"}, "context": None, "stop": None},
    "Notification": {"deny": None, "message": None, "context": None, "stop": None},
    "Setup": {"deny": None, "message": None, "context": None},
    "SessionEnd": {"deny": None, "message": None, "context": None},
}  # fmt: skip
CASES = [(event, name) for event, answers in GOLDEN.items() for name in answers]


@pytest.mark.parametrize(("event", "name"), CASES)
def test_the_reply_is(event: str, name: str) -> None:
    expected = GOLDEN[event][name]
    reply = answer(event, DECISIONS[name])
    assert reply.exit_code == 0
    assert reply.stderr == ""
    assert (json.loads(reply.stdout) if reply.stdout else None) == expected


@pytest.mark.parametrize("event", ["TaskCompleted", "TeammateIdle"])
def test_where_json_cannot_refuse_exit_2_does(event: str) -> None:
    reply = answer(event, DECISIONS["deny"])
    assert (reply.exit_code, reply.stderr) == (2, "no\n")
    assert json.loads(reply.stdout) == BLOCK


@pytest.mark.parametrize("event", ["WorktreeCreate", "WorktreeRemove"])
@pytest.mark.parametrize("name", ["deny", "ask", "defer", "stop"])
def test_a_worktree_is_refused_by_exit_2(event: str, name: str) -> None:
    reply = answer(event, DECISIONS[name])
    assert (reply.exit_code, reply.stdout) == (2, b"")
    assert reply.stderr


def test_a_new_worktree_is_named_in_plain_text() -> None:
    assert answer("WorktreeCreate", {"extra": {"worktreePath": "/trees/x"}}).stdout == b"/trees/x\n"
    assert answer("WorktreeCreate", {}).stdout == b""


OWN: list[tuple[str, Json]] = [
    ("SessionStart", {"initialUserMessage": "hi", "sessionTitle": "t", "watchPaths": ["a"], "reloadSkills": True}),
    ("UserPromptSubmit", {"suppressOriginalPrompt": True, "sessionTitle": "t"}),
    ("PermissionDenied", {"retry": True}),
    ("PostToolUse", {"classifierContext": "k"}),
    ("MessageDisplay", {"displayContent": "hello"}),
    ("CwdChanged", {"watchPaths": ["a"]}),
    ("FileChanged", {"watchPaths": ["a"]}),
]


@pytest.mark.parametrize(("event", "extra"), OWN, ids=[case[0] for case in OWN])
def test_what_only_claude_code_understands_passes_through(event: str, extra: Json) -> None:
    reply = answer(event, {"extra": {**extra, **MORE_THAN_KNOWN}})
    assert json.loads(reply.stdout) == specific(event, **extra)


def test_an_accepted_elicitation_carries_its_content() -> None:
    extra = {"action": "accept", "content": {"which": "a"}}
    reply = answer("Elicitation", {"decision": "allow", "extra": extra})
    assert json.loads(reply.stdout) == specific("Elicitation", **extra)


def test_a_declined_elicitation_is_declined_even_if_another_hook_accepts() -> None:
    extra = {"action": "accept", "content": {"which": "a"}}
    reply = answer("Elicitation", {"decision": "deny", "reason": "no", "extra": extra})
    assert json.loads(reply.stdout) == specific("Elicitation", action="decline")


def test_an_output_in_another_shape_is_left_to_the_tool() -> None:
    reply = answer("PostToolUse", {"updated_output": {"stdout": "x"}})
    assert json.loads(reply.stdout) == specific("PostToolUse", updatedToolOutput={"stdout": "x"})


def test_an_output_of_nothing_is_an_output() -> None:
    output = json.loads(answer("PostToolUse", {"updated_output": ""}).stdout)["hookSpecificOutput"]["updatedToolOutput"]
    assert output["stdout"] == ""


def test_a_rewrite_to_nothing_is_a_rewrite() -> None:
    assert json.loads(answer("PreToolUse", {"updated_input": {}}).stdout) == specific("PreToolUse", updatedInput={})


@functools.cache
def validator(event: str) -> jsonschema.Draft202012Validator:
    schema = schema_for(event)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def check(event: str, fields: Json) -> None:
    reply = answer(event, fields)
    if reply.stdout and not event.startswith("Worktree"):
        validator(event).validate(json.loads(reply.stdout))
        assert reply.stdout.endswith(b"\n")


@pytest.mark.parametrize("event", EVENTS)
def test_every_reply_has_only_keys_that_claude_code_knows(event: str) -> None:
    for fields in DECISIONS.values():
        check(event, fields)
    for one, other in itertools.combinations(DECISIONS.values(), 2):
        check(event, {**one, **other})


@pytest.mark.parametrize(
    "wrong",
    [
        {"hookSpecificOutput": {"permissionDecision": "deny"}},
        {"hookSpecificOutput": {"hookEventName": "PreToolUse"}},
        {"decision": "block", "reason": "no"},
        {"continue": True},
        {"stopReason": "x"},
        {"hookSpecificOutput": {"hookEventName": "PreToolUse", "mood": 1}},
    ],
)
def test_the_schema_would_notice(wrong: Json) -> None:
    with pytest.raises(jsonschema.ValidationError):
        validator("PreToolUse").validate(wrong)


texts = st.text(max_size=6)
decisions = st.fixed_dictionaries(
    {},
    optional={
        "decision": st.sampled_from(["none", "allow", "ask", "defer", "deny"]),
        "reason": texts,
        "context": texts,
        "feedback": texts,
        "system_message": texts,
        "user_message": texts,
        "updated_input": st.none() | st.dictionaries(texts, texts, max_size=2),
        "updated_output": st.none() | texts,
        "stop": st.booleans(),
        "stop_reason": texts,
        "suppress_output": st.booleans(),
        "extra": st.dictionaries(texts, texts, max_size=2),
    },
)


@settings(deadline=None)
@given(event=st.sampled_from(sorted(EVENTS)), fields=decisions)
def test_no_decision_leads_to_a_key_that_claude_code_does_not_know(event: str, fields: Json) -> None:
    check(event, fields)


@settings(deadline=None)
@given(fields=decisions.filter(lambda fields: fields.get("decision") == "deny" or fields.get("stop")))
def test_a_tool_never_runs_after_a_refusal_or_a_stop(fields: Json) -> None:
    said = json.loads(answer("PreToolUse", fields).stdout)["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"
    assert said["permissionDecisionReason"]
    assert "updatedInput" not in said


# --- through the real program ------------------------------------------------------------------------

RULES: list[tuple[str, str, Json | None]] = [
    ("a script that fails", "echo 'not today'; exit 1", tool("deny", "not today")),
    ("a script that is content", "exit 0", None),
    ("an answer in JSON", says(tool("ask", "sure?")), tool("ask", "sure?")),
]


@pytest.mark.parametrize(("command", "expected"), [case[1:] for case in RULES], ids=[case[0] for case in RULES])
def test_fairlead_as_a_hook_replies(
    command: str, expected: Json | None, claude: Claude, place: Home, fairlead: Callable[..., Ran]
) -> None:
    script = place.script("~/bin/rule", command)
    place.write("~/.config/fairlead/fairlead.toml", f'[[hook]]\non = "PreToolUse"\nrun = "{script}"\n')
    ran = fairlead("hook", "--agent", "claude-code", stdin=claude.payload("PreToolUse"))
    assert ran.code == 0, ran.err
    assert (ran.json if ran.out else None) == expected


def test_fairlead_as_a_hook_leaves_claude_codes_own_hooks_to_it(
    claude: Claude, place: Home, fairlead: Callable[..., Ran]
) -> None:
    claude.configure("PreToolUse", f"touch {place.root}/ran; exit 2")
    ran = fairlead("hook", "--agent", "claude-code", "--trust-project", stdin=claude.payload("PreToolUse"))
    assert (ran.code, ran.out) == (0, b"")
    assert not (place.root / "ran").exists()


def test_fairlead_as_the_engine_runs_them(claude: Claude, fire: Callable[..., Any]) -> None:
    claude.configure("PreToolUse", "echo no >&2; exit 2")
    assert fire("claude-code", claude.payload("PreToolUse")) == tool("deny", "no")


def test_a_stop_hook_that_gives_context_is_answered_in_the_same_way(claude: Claude) -> None:
    said = specific("Stop", additionalContext="run the tests")
    claude.configure("Stop", says(said))
    assert claude.engine("Stop").answer == said


def test_a_stop_hook_that_gives_context_beside_one_that_blocks_is_a_block(claude: Claude) -> None:
    claude.configure("Stop", says(specific("Stop", additionalContext="run the tests")), "echo no >&2; exit 2")
    answered = claude.engine("Stop").answer
    assert answered["decision"] == "block"
    assert set(answered["reason"].split("\n")) == {"run the tests", "no"}


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b'{"hook_event_name": "PreToolUse"}', b"\xff\xfe\x00"])
def test_an_event_that_cannot_be_read_is_refused(raw: bytes, fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("hook", "--agent", "claude-code", stdin=raw)
    assert (ran.code, ran.out) == (2, b"")
    assert ran.err.startswith("Fairlead: ")


def test_an_untrusted_projects_hooks_are_named_to_the_person(
    claude: Claude, place: Home, fairlead: Callable[..., Ran]
) -> None:
    claude.configure("PreToolUse", "exit 2", file=".claude/settings.json")
    ran = fairlead("fire", "--agent", "claude-code", stdin=claude.payload("PreToolUse"))
    assert set(ran.json) == {"systemMessage"}
    assert str(place.project / ".claude/settings.json") in ran.json["systemMessage"]
