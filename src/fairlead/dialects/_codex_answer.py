"""What a hook written for Codex says.

Codex reads strictly: an answer with one key too many, or with a word that it does not carry out, counts for
nothing there. Here the part of such an answer that restrains counts all the same; the part that sets free does not.
"""

from __future__ import annotations

from fairlead import verdicts
from fairlead.dialects._answers import buried, json_answer, restraint
from fairlead.dialects._claude_output import failure, read_output
from fairlead.dialects._common import text_of
from fairlead.hooks import HookFailed
from fairlead.verdicts import NONE, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.events import Event
    from fairlead.work import Result

    Kinds = Mapping[str, type | tuple[str, ...]]

REFUSABLE = frozenset(
    {"PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "SubagentStop"}
)
_TEXT_IS_CONTEXT = frozenset({"SessionStart", "SubagentStart", "UserPromptSubmit"})
_NO_TEXT = frozenset({"Stop", "SubagentStop"})
"""Where stdout must be JSON or empty."""

_EVERYWHERE: Kinds = {"continue": bool, "stopReason": str, "suppressOutput": bool, "systemMessage": str}
_BLOCK: Kinds = {**_EVERYWHERE, "decision": ("block",), "reason": str}
_SPECIFIC: Kinds = {**_EVERYWHERE, "hookSpecificOutput": dict}
_TOP: Mapping[str, Kinds] = {
    "PreToolUse": {**_SPECIFIC, "decision": ("approve", "block"), "reason": str},
    "PermissionRequest": _SPECIFIC,
    "PostToolUse": {**_SPECIFIC, **_BLOCK},
    "UserPromptSubmit": {**_SPECIFIC, **_BLOCK},
    "SessionStart": _SPECIFIC,
    "SubagentStart": _SPECIFIC,
    "Stop": _BLOCK,
    "SubagentStop": _BLOCK,
    "Interrupt": {"systemMessage": str},
}
_CONTEXT: Kinds = {"hookEventName": str, "additionalContext": str}
_INNER: Mapping[str, Kinds] = {
    "PreToolUse": {
        **_CONTEXT,
        "permissionDecision": ("allow", "deny", "ask"),
        "permissionDecisionReason": str,
        "updatedInput": dict,
    },
    "PermissionRequest": {"hookEventName": str, "decision": dict},
    "PostToolUse": _CONTEXT,
}
_PERMISSION: Kinds = {"behavior": ("allow", "deny"), "message": str}
_NAMES = {bool: "true or false", str: "a string", dict: "an object"}


def read_result(event: Event, result: Result) -> Verdict:
    text = text_of(result.stdout)
    said, problem = _answer(event, text, result)
    if result.exit_code == 2 and event.name in REFUSABLE:
        return _exit_2(said, text_of(result.stderr) or text)
    if result.exit_code:
        return _kept(said, failure(result))
    return _kept(said, problem) if problem else said or _plain(event, text)


def judged(event: Event, value: dict[str, Any]) -> Verdict:
    """The verdict in one JSON object; raises HookFailed where it is wrong and does not restrain."""
    problem = misfit(_own_name(event), value)
    verdict = _understood(event, value)
    return _kept(verdict, problem) if problem else verdict


def _answer(event: Event, text: str, result: Result) -> tuple[Verdict | None, str]:
    """What stdout says as JSON, and what is wrong with it; neither where it is just text."""
    if result.truncated and text.startswith(("{", "[")):
        problem = "its output is too long to be read as a verdict"
        return (verdicts.block(problem) if event.name in REFUSABLE else None), problem
    value = json_answer(text) if text.startswith("{") else None
    if value is not None:
        return _understood(event, value), misfit(_own_name(event), value)
    said = [left for each in buried(text) if (left := restraint(_understood(event, each))) is not None]
    if said:
        return verdicts.merge(said), "its output is more than one JSON object"
    return None, "its output is not JSON that can be read" if text.startswith(("{", "[")) else ""


def _kept(said: Verdict | None, problem: str) -> Verdict:
    left = restraint(said) if said is not None else None
    if left is None:
        raise HookFailed(problem)
    return left


def _exit_2(said: Verdict | None, text: str) -> Verdict:
    """Codex runs the tool if there is nothing on stderr. Exit 2 is a refusal all the same."""
    reason = (said.reason if said is not None and said.denies else "") or text
    return (said or NONE).but(decision="deny", said="block", reason=reason or "Blocked by hook", updated_input=None)


def _plain(event: Event, text: str) -> Verdict:
    if not text:
        return NONE
    if event.name in _TEXT_IS_CONTEXT:
        return verdicts.context(text)
    if event.name in _NO_TEXT:
        raise HookFailed("its output is not JSON")
    return NONE


def _understood(event: Event, value: dict[str, Any]) -> Verdict:
    verdict = read_output(event, value)
    return verdict if event.name in REFUSABLE or verdict is NONE else verdict.but(decision="none", said="", reason="")


def _own_name(event: Event) -> str:
    return "PostToolUse" if event.name == "PostToolUseFailure" else event.name


# --- would Codex take it -----------------------------------------------------------------------------


def misfit(name: str, output: Mapping[str, Any]) -> str:
    """Why Codex would not take this answer; empty where it would."""
    problem = _wrong(output, _TOP.get(name, _EVERYWHERE))
    specific = output.get("hookSpecificOutput")
    if problem or specific is None:
        return problem or _unsupported(name, output, {})
    if specific.get("hookEventName") != name:
        return f"hookEventName must be {name!r}"
    nested = specific.get("decision")
    problem = _wrong(specific, _INNER.get(name, _CONTEXT))
    if not problem and isinstance(nested, dict):
        problem = _wrong(nested, _PERMISSION) or ("" if "behavior" in nested else "behavior is missing")
    return problem or _unsupported(name, output, specific)


def _wrong(fields: Mapping[str, Any], known: Kinds) -> str:
    for key, value in fields.items():
        kind = known.get(key)
        if kind is None:
            return f"Codex does not know {key!r} here"
        if value is None:
            continue
        if isinstance(kind, tuple) and value not in kind:
            return f"{key} must be one of {', '.join(kind)}"
        if isinstance(kind, type) and not isinstance(value, kind):
            return f"{key} must be {_NAMES[kind]}"
    return ""


def _unsupported(name: str, output: Mapping[str, Any], specific: Mapping[str, Any]) -> str:
    """What Codex can read and refuses to carry out."""
    if output.get("decision") == "block" and not _has_text(output, "reason"):
        return "a block needs a reason"
    if name in ("PreToolUse", "PermissionRequest"):
        if output.get("continue") is False or output.get("stopReason") is not None or output.get("suppressOutput"):
            return f"continue, stopReason and suppressOutput mean nothing on {name}"
        return _unsupported_decision(output, specific) if name == "PreToolUse" else ""
    return ""


def _unsupported_decision(output: Mapping[str, Any], specific: Mapping[str, Any]) -> str:
    word, update = specific.get("permissionDecision"), specific.get("updatedInput")
    if output.get("decision") == "approve" or word == "ask":
        return f"Codex does not carry out {word or 'approve'!r}"
    if word == "deny" and not _has_text(specific, "permissionDecisionReason"):
        return "deny needs a permissionDecisionReason"
    if (word == "allow") is not (update is not None):
        return "allow and updatedInput are only taken together"
    return ""


def _has_text(fields: Mapping[str, Any], key: str) -> bool:
    value = fields.get(key)
    return isinstance(value, str) and bool(value.strip())
