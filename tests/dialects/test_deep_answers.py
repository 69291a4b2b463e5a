"""An answer that is nested too deeply: a refusal in it is one, and anything else a failure, on every Python."""

from __future__ import annotations

import json

import pytest

from fairlead import HookFailed, PreToolUse, Verdict
from fairlead.dialects import HOOK_HALVES, hook_half, read_verdict
from fairlead.handlers.command import Command
from fairlead.hooks import Hook, Origin
from fairlead.wire import DEPTH
from fairlead.work import Result

BASH = PreToolUse(session_id="s", tool_name="Bash", tool_input={"command": "ls"})
DEPTHS = (DEPTH, 900, 1400, 9000, 100_000)
"""What Python 3.11, 3.12 and 3.13 can read at most is between them."""
REFUSAL = {
    "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"},
    "decision": "deny", "permission": "deny", "continue_execution": False,
}  # fmt: skip
NEW_INPUT = {"command": "rm -rf /"}
FREEDOM = {
    "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": NEW_INPUT,
    },
    "decision": "allow", "permission": "allow", "updatedInput": NEW_INPUT, "updated_input": NEW_INPUT,
}  # fmt: skip


def beside_depth(answer: dict[str, object], depth: int) -> str:
    return json.dumps(answer | {"x": "HERE"}).replace('"HERE"', '{"a":' * depth + "1" + "}" * depth)


def hook_of(dialect: str) -> Hook:
    return Hook(name="h", events=("*",), handler=Command(command="x"), origin=Origin(dialect=dialect, layer="user"))


def said(dialect: str, **outcome: bytes) -> Verdict:
    return read_verdict(hook_of(dialect), BASH, Result(**outcome))  # type: ignore[arg-type]


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("dialect", HOOK_HALVES)
def test_a_refusal_beside_it_is_a_refusal(dialect: str, depth: int) -> None:
    assert said(dialect, stdout=beside_depth(REFUSAL, depth).encode()).denies


@pytest.mark.parametrize("dialect", ["gemini", "codemie", "amcp", "claude-agent"])
def test_control_read_by_its_system_alone_such_a_refusal_is_lost(dialect: str) -> None:
    answer = Result(stdout=beside_depth(REFUSAL, 100_000).encode())
    assert not hook_half(dialect).read_verdict(hook_of(dialect), BASH, answer).denies


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("answer", [FREEDOM, {}], ids=["an allow", "nothing"])
@pytest.mark.parametrize("dialect", HOOK_HALVES)
def test_anything_else_beside_it_is_a_failure(dialect: str, answer: dict[str, object], depth: int) -> None:
    with pytest.raises(HookFailed):
        said(dialect, stdout=beside_depth(answer, depth).encode())


@pytest.mark.parametrize("depth", DEPTHS)
def test_where_stderr_is_the_answer_it_is_the_same(depth: int) -> None:
    assert said("gemini", stdout=b"\n", stderr=beside_depth(REFUSAL, depth).encode()).denies
    with pytest.raises(HookFailed, match="nested too deeply"):
        said("gemini", stderr=beside_depth({}, depth).encode())


@pytest.mark.parametrize("depth", [DEPTH, 900])
@pytest.mark.parametrize("dialect", ["claude-code", "codex", "gemini", "qwen"])
def test_a_refusal_behind_other_text_is_found(dialect: str, depth: int) -> None:
    assert said(dialect, stdout=f"log: hi\n{beside_depth(REFUSAL, depth)}".encode()).denies


@pytest.mark.parametrize("dialect", HOOK_HALVES)
def test_brackets_in_text_are_not_nesting(dialect: str) -> None:
    answer = json.dumps(REFUSAL | {"reason": "[{" * 1000})
    assert said(dialect, stdout=answer.encode()).denies
    colours = b"\x1b[31mred\x1b[0m " * 300
    assert not said(dialect, stdout=b"" if dialect == "cursor" else colours, stderr=colours).denies
