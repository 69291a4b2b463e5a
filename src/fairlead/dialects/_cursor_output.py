"""What a hook written for Cursor says: a permission, a message, or that the turn goes on."""

from __future__ import annotations

from fairlead import verdicts
from fairlead.dialects._common import cut_answer, given, json_output, text_in, text_of
from fairlead.dialects.cursor import LOOPS, PERMITS, is_completed, is_mcp
from fairlead.hooks import HookFailed
from fairlead.verdicts import NONE, Verdict, unique_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.events import Event
    from fairlead.hooks import Hook
    from fairlead.work import Result


def read_result(hook: Hook, name: str, event: Event, result: Result) -> Verdict:
    """`name` is Cursor's for the event that the hook was called for."""
    decides = name in PERMITS or name == "beforeSubmitPrompt"
    if decides and (cut := cut_answer(result)) is not None:
        return cut
    output = json_output(result)
    said = NONE if output is None else read_value(hook, name, event, output)
    if result.exit_code == 2 and decides:
        return verdicts.deny((said.reason if said.denies else "") or text_of(result.stderr) or "Blocked by hook")
    if said.denies:
        return said
    if result.exit_code:
        raise HookFailed(f"exit {result.exit_code}: {text_of(result.stderr)}".rstrip(": "))
    if output is None and text_of(result.stdout):
        return _not_json(decides, text_of(result.stdout))
    return said


def _not_json(decides: bool, text: str) -> Verdict:
    """Cursor blocks on what it cannot read. Half an object may have been a refusal; a line of text was none."""
    if decides and text.startswith("{"):
        return verdicts.deny("a hook's answer begins like JSON and cannot be read, and may have been a refusal")
    raise HookFailed("its output is not JSON")


def read_value(hook: Hook, name: str, event: Event, value: object) -> Verdict:
    if not isinstance(value, dict):
        return NONE if value is None else verdicts.context(str(value))
    context = text_in(value, "additional_context")
    if name in PERMITS:
        return _permission(name, value)
    if name == "beforeSubmitPrompt":
        user, model = _messages(value)
        refused = value.get("continue") is False or _is_refusal(value)
        fields = given({"context": context, "user_message": "" if refused else user})
        return Verdict.of("block", reason=model or user or "Blocked by hook") if refused else Verdict(**fields)
    if name in ("stop", "subagentStop"):
        return _followup(hook, event, value)
    if name == "postToolUse":
        output = value.get("updated_mcp_tool_output")
        return Verdict(context=context, updated_output=output if is_mcp(event) else None)
    if name == "preCompact":
        return Verdict(user_message=text_in(value, "user_message"))
    return Verdict(context=context) if name == "sessionStart" and context else NONE


def _permission(name: str, value: dict[str, Any]) -> Verdict:
    """`allow` skips no question of Cursor's own, so it is none here either."""
    word = value.get("permission")
    user, model = _messages(value)
    if _is_refusal(value):
        return verdicts.deny(unique_lines((model, user)) or "Blocked by hook")
    if word is not None and (not isinstance(word, str) or word.lower() not in ("allow", "ask")):
        return verdicts.deny(unique_lines((model, user)) or f"a hook answered with an unknown permission: {word!r}")
    update, asks = value.get("updated_input"), word is not None and word.lower() == "ask"
    return Verdict(
        decision="ask" if asks else "none",
        reason=unique_lines((model, user)) if asks else "",
        user_message=user,
        updated_input=update if name == "preToolUse" and isinstance(update, dict) else None,
    )


def _messages(value: Mapping[str, Any]) -> tuple[str, str]:
    """For the person and for the model; the first versions wrote them in camelCase."""
    user = text_in(value, "user_message") or text_in(value, "userMessage")
    return user, text_in(value, "agent_message") or text_in(value, "agentMessage")


_REFUSALS = ("deny", "denied", "block", "blocked", "reject")


def _is_refusal(value: Mapping[str, Any]) -> bool:
    """Also in Claude Code's words, which Cursor's users know from its other hooks."""
    specific = value.get("hookSpecificOutput")
    words = [value.get("permission"), value.get("decision"), value.get("permissionDecision")]
    words.append(specific.get("permissionDecision") if isinstance(specific, dict) else None)
    return any(isinstance(word, str) and word.lower() in _REFUSALS for word in words)


def _followup(hook: Hook, event: Event, value: Mapping[str, Any]) -> Verdict:
    text = text_in(value, "followup_message")
    loops = event.extra.get("loop_count")
    spent = isinstance(loops, int) and loops >= hook.options.get("loop_limit", LOOPS)
    if not text.strip() or spent or event.name not in ("Stop", "SubagentStop") or not is_completed(event):
        return NONE
    return verdicts.block(text)
