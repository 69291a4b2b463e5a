"""What a hook's exit code and output mean: every exit code, every kind of stdout, every event."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead import Event
from fairlead.dialects import claude_code
from fairlead.handlers.command import Command
from fairlead.hooks import Hook, HookFailed, Origin
from fairlead.verdicts import Verdict
from fairlead.work import Result
from tests.claude_code.conftest import Claude, says
from tests.claude_code.payloads import EVENTS, Json

HOOK = Hook(
    name="h", events=("*",), handler=Command(command="h"), origin=Origin(dialect="claude-code", layer="user", file="f")
)
ERR = "from stderr"


def read(event: str, stdout: str | bytes, *, code: int = 0, stderr: str = ERR, truncated: bool = False) -> Verdict:
    data = stdout if isinstance(stdout, bytes) else stdout.encode()
    result = Result(exit_code=code, stdout=data, tail=data, stderr=stderr.encode(), truncated=truncated)
    return claude_code.read_verdict(HOOK, Event.from_payload(EVENTS[event]), result)


def outcome(event: str, stdout: str, code: int) -> str:
    """In one word and its text: `deny: reason`, `failed`, `context: text`, `stop`, `none` …"""
    try:
        verdict = read(event, stdout, code=code)
    except HookFailed:
        return "failed"
    if verdict.stop:
        return "stop"
    if verdict.decision != "none":
        return f"{verdict.decision}: {verdict.reason}"
    if verdict.updated_input is not None:
        return "rewrite"
    for name in ("context", "user_message"):
        if text := getattr(verdict, name):
            return f"{name}: {text}"
    return "none"


def specific(**fields: Any) -> Json:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **fields}}


DENY = specific(permissionDecision="deny", permissionDecisionReason="no")
ALLOW = specific(permissionDecision="allow")
UNNAMED: Json = {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}
MISNAMED: Json = {"hookSpecificOutput": {"hookEventName": "Stop", "permissionDecision": "deny"}}

# kind of stdout, its text, and what it means with exit 0, 1 and 2
PRE_TOOL_USE: list[tuple[str, str, str, str, str]] = [
    ("nothing", "", "none", "failed", f"deny: {ERR}"),
    ("text", "all good", "none", "failed", f"deny: {ERR}"),
    ("an empty object", "{}", "none", "none", f"deny: {ERR}"),
    ("an array", '["deny"]', "none", "failed", f"deny: {ERR}"),
    ("a string", '"deny"', "none", "failed", f"deny: {ERR}"),
    ("a log line before JSON", f"checking\n{json.dumps(DENY)}", "deny: no", "deny: no", "deny: no"),
    ("a log line after JSON", f"{json.dumps(DENY)}\ndone", "deny: no", "deny: no", "deny: no"),
    ("a log line before an allow", f"checking\n{json.dumps(ALLOW)}", "none", "failed", f"deny: {ERR}"),
    ("broken JSON", '{"decision": }', "failed", "failed", f"deny: {ERR}"),
    ("half of JSON", '{"decision": "block"', "failed", "failed", f"deny: {ERR}"),
    ("JSON lines without a field", '{"a": 1}\n{"b": 2}', "none", "failed", f"deny: {ERR}"),
    ("JSON lines with a field", '{"a": 1}\n{"systemMessage": "x"}', "failed", "failed", f"deny: {ERR}"),
    ("JSON lines with a refusal", '{"a": 1}\n{"decision": "block", "reason": "no"}', "deny: no", "deny: no",
     "deny: no"),
    ("deny", json.dumps(DENY), "deny: no", "deny: no", "deny: no"),
    ("deny without a reason", json.dumps(specific(permissionDecision="deny")), "deny: ", "deny: ", f"deny: {ERR}"),
    ("deny over many lines", json.dumps(DENY, indent=4) + "\n\n", "deny: no", "deny: no", "deny: no"),
    ("deny after a byte-order mark", "\ufeff" + json.dumps(DENY), "deny: no", "deny: no", "deny: no"),
    ("deny and unknown keys", json.dumps({**DENY, "mood": "grim"}), "deny: no", "deny: no", "deny: no"),
    ("block", '{"decision": "block", "reason": "no"}', "deny: no", "deny: no", "deny: no"),
    ("approve", '{"decision": "approve", "reason": "ok"}', "allow: ok", "allow: ok", f"deny: {ERR}"),
    ("allow", json.dumps(specific(permissionDecision="allow")), "allow: ", "allow: ", f"deny: {ERR}"),
    ("ask", json.dumps(specific(permissionDecision="ask")), "ask: ", "ask: ", f"deny: {ERR}"),
    ("defer", json.dumps(specific(permissionDecision="defer")), "defer: ", "defer: ", f"deny: {ERR}"),
    ("rewrite", json.dumps(specific(updatedInput={"command": "ls"})), "rewrite", "rewrite", f"deny: {ERR}"),
    ("rewrite to nothing", json.dumps(specific(updatedInput={})), "rewrite", "rewrite", f"deny: {ERR}"),
    ("context", json.dumps(specific(additionalContext="c")), "context: c", "context: c", f"deny: {ERR}"),
    ("context at the top", '{"additionalContext": "c"}', "none", "none", f"deny: {ERR}"),
    ("a message", '{"systemMessage": "m"}', "user_message: m", "user_message: m", f"deny: {ERR}"),
    ("stop", '{"continue": false}', "stop", "stop", "stop"),
    # What restrains counts, however malformed the rest is …
    ("deny without hookEventName", json.dumps(UNNAMED), "deny: no", "deny: no", "deny: no"),
    ("deny with another hookEventName", json.dumps(MISNAMED), "deny: ", "deny: ", f"deny: {ERR}"),
    ("deny and a mistyped field", json.dumps({**DENY, "continue": "yes"}), "deny: no", "deny: no", "deny: no"),
    ("deny with a mistyped reason", '{"decision": "block", "reason": 5}', "deny: ", "deny: ", f"deny: {ERR}"),
    ("deny at the top", '{"decision": "deny", "reason": "no"}', "deny: no", "deny: no", "deny: no"),
    ("ask without hookEventName", '{"hookSpecificOutput": {"permissionDecision": "ask"}}', "ask: ", "ask: ",
     f"deny: {ERR}"),
    ("stop and a mistyped field", '{"continue": false, "reason": 5}', "stop", "stop", "stop"),
    ("allow inside and block outside", json.dumps({**specific(permissionDecision="allow"), "decision": "block"}),
     "deny: ", "deny: ", f"deny: {ERR}"),
    # … and what sets free does not.
    ("allow without hookEventName", '{"hookSpecificOutput": {"permissionDecision": "allow"}}', "failed", "failed",
     f"deny: {ERR}"),
    ("allow and a mistyped field", json.dumps({**specific(permissionDecision="allow"), "continue": "yes"}), "failed",
     "failed", f"deny: {ERR}"),
    ("rewrite without hookEventName", '{"hookSpecificOutput": {"updatedInput": {}}}', "failed", "failed",
     f"deny: {ERR}"),
    ("an unknown word", json.dumps(specific(permissionDecision="maybe")), "failed", "failed", f"deny: {ERR}"),
    ("output that is no object", '{"hookSpecificOutput": "deny"}', "failed", "failed", f"deny: {ERR}"),
]  # fmt: skip


@pytest.mark.parametrize("code", [0, 1, 2])
@pytest.mark.parametrize("row", PRE_TOOL_USE, ids=[row[0] for row in PRE_TOOL_USE])
def test_before_a_tool_exit_code_and_stdout_mean(row: tuple[str, str, str, str, str], code: int) -> None:
    assert outcome("PreToolUse", row[1], code) == row[2 + code]


REFUSABLE = [
    "PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit",
    "UserPromptExpansion", "Stop", "SubagentStop", "TaskCreated", "TaskCompleted", "TeammateIdle", "ConfigChange",
    "PreCompact", "PreModelSwitch", "Elicitation", "ElicitationResult", "WorktreeCreate", "WorktreeRemove",
]  # fmt: skip
TELLS_USER = [
    "SessionStart", "SubagentStart", "PostModelSwitch", "CwdChanged", "FileChanged", "PostCompact", "SessionEnd",
]  # fmt: skip
TEXT_IS_CONTEXT = ["SessionStart", "UserPromptSubmit", "UserPromptExpansion", "PostModelSwitch"]


@pytest.mark.parametrize("event", EVENTS)
def test_exit_2_means(event: str) -> None:
    expected = f"deny: {ERR}" if event in REFUSABLE else f"user_message: {ERR}" if event in TELLS_USER else "none"
    assert outcome(event, "", 2) == expected


@pytest.mark.parametrize("event", EVENTS)
def test_a_block_in_json_means(event: str) -> None:
    expected = "deny: no" if event in REFUSABLE else "none"
    assert outcome(event, '{"decision": "block", "reason": "no"}', 0) == expected


@pytest.mark.parametrize("event", REFUSABLE)
def test_exit_2_without_a_word_still_refuses_with_a_reason(event: str) -> None:
    assert read(event, "", code=2, stderr="").reason


@pytest.mark.parametrize("event", [name for name in EVENTS if name != "WorktreeCreate"])
def test_text_on_stdout_means(event: str) -> None:
    assert outcome(event, "remember", 0) == ("context: remember" if event in TEXT_IS_CONTEXT else "none")


@pytest.mark.parametrize("event", TEXT_IS_CONTEXT)
def test_text_that_only_starts_like_json_is_text(event: str) -> None:
    assert outcome(event, "{curly} words", 0) == "context: {curly} words"


@pytest.mark.parametrize("event", [name for name in EVENTS if not name.startswith("Worktree")])
def test_exit_1_is_a_failure_that_the_user_hears_of(event: str) -> None:
    expected = f"user_message: hook h: exit 1: {ERR}" if event == "PreModelSwitch" else "failed"
    assert outcome(event, "", 1) == expected


@pytest.mark.parametrize("event", ["Stop", "SubagentStop"])
def test_context_at_a_stop_keeps_the_agent_going(event: str) -> None:
    answer = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": "run the tests"}}
    assert outcome(event, json.dumps(answer), 0) == "deny: run the tests"


def test_stopping_beats_context_at_a_stop() -> None:
    answer = {"continue": False, "hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "go on"}}
    verdict = read("Stop", json.dumps(answer))
    assert (verdict.stop, verdict.decision) == (True, "none")


PERMISSION: list[tuple[str, Json, str]] = [
    ("deny", {"decision": {"behavior": "deny", "message": "no"}}, "deny: no"),
    ("allow", {"decision": {"behavior": "allow"}}, "allow: "),
    ("deny in the other event's words", {"permissionDecision": "deny", "permissionDecisionReason": "no"}, "deny: no"),
    ("allow in the other event's words", {"permissionDecision": "allow"}, "none"),
    ("unknown behavior", {"decision": {"behavior": "perhaps"}}, "failed"),
]


@pytest.mark.parametrize(
    ("fields", "expected"), [case[1:] for case in PERMISSION], ids=[case[0] for case in PERMISSION]
)
def test_a_permission_request_is_answered_in_its_own_words(fields: Json, expected: str) -> None:
    answer = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", **fields}}
    assert outcome("PermissionRequest", json.dumps(answer), 0) == expected


def test_a_permission_carries_its_input_and_rules() -> None:
    nested = {"behavior": "allow", "updatedInput": {"command": "ls"}, "updatedPermissions": [{"type": "setMode"}]}
    answer = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": nested}}
    verdict = read("PermissionRequest", json.dumps(answer))
    assert verdict.updated_input == {"command": "ls"}
    assert verdict.extra == {"updatedPermissions": [{"type": "setMode"}]}


@pytest.mark.parametrize("event", ["Elicitation", "ElicitationResult"])
@pytest.mark.parametrize(("action", "word"), [("accept", "allow"), ("decline", "deny"), ("cancel", "deny")])
def test_an_elicitation_is_answered_by_an_action(event: str, action: str, word: str) -> None:
    answer = {"hookSpecificOutput": {"hookEventName": event, "action": action, "content": {"which": "a"}}}
    verdict = read(event, json.dumps(answer))
    assert verdict.decision == word
    assert verdict.extra == {"action": action, "content": {"which": "a"}}
    assert read(event, json.dumps(answer), code=2).extra == {}


def test_a_new_worktree_is_the_last_line_of_stdout() -> None:
    assert read("WorktreeCreate", "making it\n/trees/feature\n\n").extra == {"worktreePath": "/trees/feature"}


@pytest.mark.parametrize("event", ["WorktreeCreate", "WorktreeRemove"])
@pytest.mark.parametrize("code", [1, 2, 127])
def test_any_failure_ends_a_worktree_event(event: str, code: int) -> None:
    assert outcome(event, "/trees/feature", code) == f"deny: {ERR}"


@pytest.mark.parametrize(
    "handler", [{"command": "/no-such-program", "args": []}, {"command": "sleep 60", "timeout": 0.3}]
)
def test_a_worktree_hook_without_an_answer_fails_too(handler: Json, claude: Claude) -> None:
    claude.configure("WorktreeCreate", {"type": "command", **handler})
    assert claude.fire("WorktreeCreate").denies


def test_exit_2_beside_an_answer_keeps_what_else_it_says() -> None:
    answer = {
        "systemMessage": "m",
        "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "suppressOriginalPrompt": True},
    }
    verdict = read("UserPromptSubmit", json.dumps(answer), code=2)
    assert (verdict.reason, verdict.user_message) == (ERR, "m")
    assert verdict.extra == {"suppressOriginalPrompt": True}


@pytest.mark.parametrize("code", [0, 1, 2])
def test_an_answer_too_long_to_be_read_refuses(code: int) -> None:
    assert read("PreToolUse", "{" + "x" * 100, code=code, truncated=True).denies


def test_an_answer_too_long_to_be_read_is_reported_where_nothing_can_be_refused() -> None:
    with pytest.raises(HookFailed):
        read("Notification", "{" + "x" * 100, truncated=True)


def test_a_huge_answer_of_a_real_hook_refuses(claude: Claude) -> None:
    claude.configure("PreToolUse", "printf '{\"reason\": \"'; head -c 2000000 /dev/zero | tr '\\0' x; printf '\"}'")
    assert claude.fire("PreToolUse").denies


def test_output_and_everything_else_is_read() -> None:
    answer = {
        "systemMessage": "m",
        "suppressOutput": True,
        "stopReason": "enough",
        "continue": False,
        "terminalSequence": "\u0007",
        "hookSpecificOutput": {
            "hookEventName": "PostToolUse",
            "updatedToolOutput": "",
            "additionalContext": "c",
            "classifierContext": "k",
        },
    }
    verdict = read("PostToolUse", json.dumps(answer))
    assert (verdict.user_message, verdict.context, verdict.stop_reason) == ("m", "c", "enough")
    assert verdict.stop
    assert verdict.suppress_output
    assert verdict.updated_output == ""
    assert verdict.extra == {"classifierContext": "k", "terminalSequence": "\u0007"}


REAL: list[tuple[str, str, str]] = [
    ("exit 2", "echo no >&2; exit 2", "deny"),
    ("JSON deny, exit 1", says(DENY, code=1), "deny"),
    ("JSON deny, exit 0", says(DENY), "deny"),
    ("JSON allow, exit 2", says(specific(permissionDecision="allow"), code=2), "deny"),
    ("exit 1", "exit 1", "none"),
    ("a missing Python script", "python3 /no/such/script.py", "deny"),
]


@pytest.mark.parametrize(("command", "expected"), [case[1:] for case in REAL], ids=[case[0] for case in REAL])
def test_real_hooks_are_read_the_same_way(command: str, expected: str, claude: Claude) -> None:
    claude.configure("PreToolUse", command)
    assert claude.fire("PreToolUse").decision == expected


def test_the_strongest_of_several_hooks_counts_and_all_contexts_arrive(claude: Claude) -> None:
    words = [specific(permissionDecision=word, permissionDecisionReason=word, additionalContext=word)
             for word in ("allow", "ask", "defer", "deny")]  # fmt: skip
    claude.configure("PreToolUse", *map(says, words))
    decision = claude.fire("PreToolUse")
    assert (decision.decision, decision.reason) == ("deny", "deny")
    assert decision.context.split() == ["allow", "ask", "defer", "deny"]


def test_two_lists_of_watched_paths_become_one(claude: Claude) -> None:
    answers = [
        {"hookSpecificOutput": {"hookEventName": "CwdChanged", "watchPaths": paths}}
        for paths in (["a", "b"], ["b", "c"])
    ]
    claude.configure("CwdChanged", *map(says, answers))
    assert claude.fire("CwdChanged").extra["watchPaths"] == ["a", "b", "c"]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=8), inner, max_size=2),
    max_leaves=6,
)
KEYS = st.sampled_from(
    ["continue", "suppressOutput", "stopReason", "systemMessage", "reason", "decision", "mood", "terminalSequence"]
)
INNER = st.sampled_from(["hookEventName", "permissionDecision", "updatedInput", "additionalContext", "decision", "x"])


@settings(deadline=None)
@given(
    top=st.dictionaries(KEYS, ANYTHING, max_size=4),
    inner=st.dictionaries(INNER, ANYTHING, max_size=4),
    inside=st.booleans(),
    code=st.sampled_from([0, 1, 2, 77]),
)
def test_a_refusal_is_never_lost_in_rubbish(top: Json, inner: Json, code: int, *, inside: bool) -> None:
    if inside:
        answer = {**top, "hookSpecificOutput": {**inner, "permissionDecision": "deny"}}
    else:
        answer = {**top, "hookSpecificOutput": inner, "decision": "block"}
    assert read("PreToolUse", json.dumps(answer), code=code).denies


@settings(deadline=None)
@given(stdout=st.binary(max_size=200), event=st.sampled_from(REFUSABLE))
def test_exit_2_refuses_whatever_is_on_stdout(stdout: bytes, event: str) -> None:
    assert read(event, stdout, code=2).denies


@settings(deadline=None)
@given(stdout=st.binary(max_size=200) | ANYTHING.map(lambda value: json.dumps(value).encode()))
def test_nobody_is_set_free_by_rubbish(stdout: bytes) -> None:
    try:
        verdict = read("PreToolUse", stdout)
    except HookFailed:
        return
    assert verdict.decision in ("none", "deny")


VALUES: list[tuple[str, object, str, str]] = [
    ("nothing", None, "none", ""),
    ("text", "remember", "none", "remember"),
    ("an answer", DENY, "deny", ""),
    ("a malformed refusal", UNNAMED, "deny", ""),
]


@pytest.mark.parametrize(("value", "word", "context"), [case[1:] for case in VALUES], ids=[case[0] for case in VALUES])
def test_what_a_function_returns_is_read_the_same_way(value: object, word: str, context: str) -> None:
    verdict = claude_code.read_value(HOOK, Event.from_payload(EVENTS["PreToolUse"]), value)
    assert (verdict.decision, verdict.context) == (word, context)


def test_a_function_that_sets_free_in_a_malformed_way_has_failed() -> None:
    answer = {"hookSpecificOutput": {"permissionDecision": "allow"}}
    with pytest.raises(HookFailed, match="hookEventName must be 'PreToolUse'; it is missing"):
        claude_code.read_value(HOOK, Event.from_payload(EVENTS["PreToolUse"]), answer)
