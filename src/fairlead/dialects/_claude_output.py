"""What a hook written for Claude Code says: its exit code, its stdout, its JSON.

One rule stands above the format: what restrains counts as soon as it can be understood, also where the
rest of the answer is wrong; what sets free (`allow`, another input) counts only where all of it is right.
"""

from __future__ import annotations

from fairlead import verdicts, wire
from fairlead.dialects._answers import buried
from fairlead.dialects._common import json_output, text_in, text_of, updated_input
from fairlead.errors import InputError
from fairlead.events import EVENTS
from fairlead.hooks import HookFailed
from fairlead.verdicts import NONE, RANK, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from fairlead.events import Event
    from fairlead.work import Result

STOPS = frozenset({"Stop", "SubagentStop"})
BY_CONTEXT = "additionalContext"
"""In `extra`: the text that keeps an agent going at Stop, where it was said as context and not as a block."""

TEXT_IS_CONTEXT = frozenset({"SessionStart", "UserPromptSubmit", "UserPromptExpansion", "PostModelSwitch"})
REFUSABLE = frozenset(
    {
        "PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit",
        "UserPromptExpansion", "Stop", "SubagentStop", "TaskCreated", "TaskCompleted", "TeammateIdle", "ConfigChange",
        "PreCompact", "PreModelSwitch", "Elicitation", "ElicitationResult", "WorktreeCreate", "WorktreeRemove",
    }
)  # fmt: skip
"""Where exit 2 and `block` mean something."""
_TELLS_USER = frozenset(
    {"SessionStart", "SubagentStart", "PostModelSwitch", "CwdChanged", "FileChanged", "PostCompact", "SessionEnd"}
)
"""Where the stderr of exit 2 is a notice for the person; on the remaining events it is nothing."""


def read_result(event: Event, result: Result) -> Verdict:
    if event.name.startswith("Worktree"):
        return _worktree(event, result)
    said, problem = _answer(event, result)
    if result.exit_code == 2:
        return _exit_2(event, said or NONE, text_of(result.stderr))
    if said is not None:
        return said
    if problem:
        raise HookFailed(problem)
    if result.exit_code:
        raise HookFailed(failure(result))
    return _plain(event, text_of(result.stdout))


def failure(result: Result) -> str:
    first_line = text_of(result.stderr).partition("\n")[0]
    return f"exit {result.exit_code}" + (f": {first_line}" if first_line else "")


def _plain(event: Event, text: str) -> Verdict:
    if event.name in TEXT_IS_CONTEXT:
        return verdicts.context(text) if text else NONE
    if text.startswith("{") and not text.endswith("}"):
        raise HookFailed("its output starts like JSON and does not end like it, so it says nothing")
    return NONE


def _exit_2(event: Event, said: Verdict, stderr: str) -> Verdict:
    if event.name in REFUSABLE or event.name not in EVENTS:
        reason = (said.reason if said.denies else "") or stderr or "Blocked by hook"
        extra = {} if event.name.startswith("Elicitation") else said.extra
        return said.but(decision="deny", said="block", reason=reason, updated_input=None, extra=extra)
    if event.name in _TELLS_USER:
        return said.but(user_message=verdicts.join_lines((said.user_message, stderr)))
    return said


def _worktree(event: Event, result: Result) -> Verdict:
    """Any exit but 0 makes it fail. The last line that a WorktreeCreate hook prints is the new directory."""
    if result.exit_code:
        return verdicts.block(text_of(result.stderr) or f"hook failed with exit {result.exit_code}")
    output = json_output(result)
    if output is not None:
        return judged(event, output)
    path = text_of(result.tail or result.stdout).rpartition("\n")[2]
    return Verdict(extra={"worktreePath": path}) if path and event.name == "WorktreeCreate" else NONE


def _answer(event: Event, result: Result) -> tuple[Verdict | None, str]:
    """What stdout says as JSON, and what is wrong with it; neither where it is just text."""
    text = text_of(result.stdout)
    if not text.startswith("{"):
        return _behind_text(event, text), ""
    if result.truncated:
        problem = "its output is too long to be read as a verdict"
        return (verdicts.block(problem) if event.name in REFUSABLE else None), problem
    if not text.endswith("}"):
        return _behind_text(event, text), ""
    value = json_output(result)
    return _lines(event, text) if value is None else _fitting(event, value)


def _behind_text(event: Event, text: str) -> Verdict | None:
    """A refusal beside log lines: Claude Code would overlook it, and so let through what its author meant to stop."""
    found = [verdict for value in buried(text) if (verdict := _restraint(_understood(event, value))) is not None]
    return verdicts.merge(found) if found else None


def _lines(event: Event, text: str) -> tuple[Verdict | None, str]:
    """Several JSON values, one on each line: text, unless one of them looks like an answer."""
    try:
        values = [wire.decode_object(line) for line in text.splitlines() if line.strip()]
    except InputError:
        return None, "its output is not JSON that can be read"
    if not any(_TOP.keys() & value.keys() for value in values):
        return None, ""
    restraints = [verdict for value in values if (verdict := _restraint(_understood(event, value))) is not None]
    return verdicts.merge(restraints) if restraints else None, "its output is several JSON values, not one"


def _fitting(event: Event, value: dict[str, Any]) -> tuple[Verdict | None, str]:
    problem = misfit(event, value)
    verdict = _understood(event, value)
    return (_restraint(verdict) if problem else verdict), problem


def judged(event: Event, value: dict[str, Any]) -> Verdict:
    """The verdict in one JSON object; raises HookFailed where it is wrong and does not restrain."""
    verdict, problem = _fitting(event, value)
    if verdict is None:
        raise HookFailed(problem)
    return verdict


def _restraint(verdict: Verdict) -> Verdict | None:
    """What is left of a malformed answer."""
    if verdict.decision in ("deny", "ask", "defer") or verdict.stop:
        return verdict.but(updated_input=None, updated_output=None, context="")
    return None


def _understood(event: Event, value: dict[str, Any]) -> Verdict:
    verdict = read_output(event, value)
    return verdict if event.name in REFUSABLE or verdict is NONE else verdict.but(decision="none", said="", reason="")


# --- one JSON object ---------------------------------------------------------------------------------

_SPECIFIC = frozenset(
    {"hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext",
     "updatedToolOutput", "updatedMCPToolOutput", "decision"}
)  # fmt: skip


def read_output(event: Event, output: dict[str, Any]) -> Verdict:
    """A verdict from Claude Code's JSON, as far as it can be understood."""
    specific = output.get("hookSpecificOutput")
    specific = specific if isinstance(specific, dict) else {}
    nested = specific.get("decision")
    nested = nested if isinstance(nested, dict) else {}
    word, reason = _decision(event, output, specific, nested)
    fields = {
        "reason": reason,
        "context": text_in(specific, "additionalContext"),
        "user_message": text_in(output, "systemMessage"),
        "stop": output.get("continue") is False,
        "stop_reason": text_in(output, "stopReason"),
        "suppress_output": output.get("suppressOutput") is True,
        "extra": _extra(output, specific, nested),
    }
    fields = {key: value for key, value in fields.items() if value not in (None, "", False, {})}
    fields |= _rewrites(event, specific, nested)
    if word == "none" and not fields:
        return NONE
    return _kept_going(event, Verdict.of(word, **fields))


def _rewrites(event: Event, specific: dict[str, Any], nested: dict[str, Any]) -> dict[str, Any]:
    """An empty input or output is one, too."""
    tool_input = updated_input(event, specific) if "updatedInput" in specific else updated_input(event, nested)
    output = specific.get("updatedToolOutput", specific.get("updatedMCPToolOutput"))
    found = {"updated_input": tool_input, "updated_output": output}
    return {key: value for key, value in found.items() if value is not None}


def _kept_going(event: Event, verdict: Verdict) -> Verdict:
    """At Stop, context keeps the agent going just as a block does."""
    if event.name not in STOPS or not verdict.context or verdict.decision != "none" or verdict.stop:
        return verdict
    text = verdict.context
    return verdict.but(
        decision="deny", said="block", reason=text, context="", extra={**verdict.extra, BY_CONTEXT: text}
    )


def _extra(output: dict[str, Any], specific: dict[str, Any], nested: dict[str, Any]) -> dict[str, Any]:
    extra = {key: value for key, value in specific.items() if key not in _SPECIFIC}
    if isinstance(output.get("terminalSequence"), str):
        extra["terminalSequence"] = output["terminalSequence"]
    return extra | {key: nested[key] for key in ("updatedPermissions", "interrupt") if key in nested}


def _decision(
    event: Event, output: dict[str, Any], specific: dict[str, Any], nested: dict[str, Any]
) -> tuple[str, str]:
    """Of several words in one answer, the strongest."""
    said = [pair for pair in _words(event, output, specific, nested) if pair[0]]
    return max(said, key=lambda pair: RANK[Verdict.words.get(pair[0], pair[0])], default=("none", ""))


def _words(
    event: Event, output: dict[str, Any], specific: dict[str, Any], nested: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    reason = text_in(output, "reason")
    restrains = {"deny", "block"}
    yield _one_of({"allow", *restrains}, nested.get("behavior")), text_in(nested, "message") or reason
    inside = restrains | _INSIDE.get(event.name, frozenset())
    yield _one_of(inside, specific.get("permissionDecision")), text_in(specific, "permissionDecisionReason") or reason
    if event.name.startswith("Elicitation"):
        yield _ACTIONS.get(str(specific.get("action")), ""), reason
    top = restrains | (_TOP_LEVEL if event.name == "PreToolUse" else frozenset())
    yield _one_of(top, output.get("decision")), reason


_INSIDE = {
    "PreToolUse": frozenset({"allow", "ask", "defer", "approve"}),
    "PreModelSwitch": frozenset({"allow", "ask"}),
}
_TOP_LEVEL = frozenset({"allow", "approve", "ask", "defer"})
_ACTIONS = {"accept": "allow", "decline": "deny", "cancel": "deny"}


def _one_of(known: set[str] | frozenset[str], word: object) -> str:
    return word if isinstance(word, str) and word in known else ""


# --- does it fit -------------------------------------------------------------------------------------

_TOP: dict[str, type | tuple[str, ...]] = {
    "continue": bool,
    "suppressOutput": bool,
    "stopReason": str,
    "systemMessage": str,
    "terminalSequence": str,
    "reason": str,
    "decision": ("approve", "block"),
    "hookSpecificOutput": dict,
}
_INNER: dict[str, type | tuple[str, ...]] = {
    "permissionDecision": ("allow", "deny", "ask", "defer"),
    "permissionDecisionReason": str,
    "updatedInput": dict,
    "additionalContext": str,
    "action": ("accept", "decline", "cancel"),
    "content": dict,
    "retry": bool,
    "watchPaths": list,
    "displayContent": str,
    "worktreePath": str,
}
_NESTED: dict[str, type | tuple[str, ...]] = {
    "behavior": ("allow", "deny"),
    "message": str,
    "interrupt": bool,
    "updatedInput": dict,
    "updatedPermissions": list,
}
_NAMES = {bool: "true or false", str: "a string", dict: "an object", list: "a list"}


def misfit(event: Event, output: dict[str, Any]) -> str:
    """Why Claude Code would not take this answer; empty where it would. Keys it does not know are no matter."""
    specific = output.get("hookSpecificOutput")
    problem = _mistyped(output, _TOP)
    if problem or not isinstance(specific, dict):
        return problem
    name = specific.get("hookEventName")
    if name != event.name:
        return f"hookEventName must be {event.name!r}" + (f", not {name!r}" if name is not None else "; it is missing")
    nested = specific.get("decision")
    return _mistyped(specific, _INNER) or (_mistyped(nested, _NESTED) if isinstance(nested, dict) else "")


def _mistyped(fields: dict[str, Any], kinds: dict[str, type | tuple[str, ...]]) -> str:
    for key, kind in kinds.items():
        value = fields.get(key)
        if value is None:
            continue
        if isinstance(kind, tuple):
            if value not in kind:
                return f"{key} must be one of {', '.join(kind)}"
        elif not isinstance(value, kind):
            return f"{key} must be {_NAMES[kind]}"
    return ""
