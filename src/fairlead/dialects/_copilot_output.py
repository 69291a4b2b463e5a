"""What a hook written for Copilot says: at the top level, or as Claude Code's hooks do."""

from __future__ import annotations

from fairlead import verdicts, wire
from fairlead.dialects import _claude_output
from fairlead.dialects._common import given, text_in, text_of
from fairlead.errors import InputError
from fairlead.events import ToolEvent
from fairlead.hooks import HookFailed
from fairlead.verdicts import NONE, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.events import Event
    from fairlead.tools import Vocabulary
    from fairlead.work import Result

_REFUSED_BY_2 = frozenset({"PermissionRequest", "UserPromptSubmit"})
_DECIDES = frozenset({"PreToolUse", "PermissionRequest", "UserPromptSubmit", "Stop", "SubagentStop"})


def without_progress(stdout: bytes) -> bytes:
    """Lines that only say how far a hook is are not part of its answer."""
    if b"progress" not in stdout:
        return stdout
    return b"\n".join(line for line in stdout.split(b"\n") if not _is_progress(line))


def _is_progress(line: bytes) -> bool:
    try:
        return wire.decode_object(line).get("type") == "progress"
    except InputError:
        return False


def of_exit(event: Event, result: Result, said: Verdict, camel: bool) -> Verdict:
    """Before a tool every exit but 0 refuses; elsewhere 2 does, where something can be refused."""
    message = text_of(result.stderr)
    if said.denies:
        return said
    if event.name == "PreToolUse":
        return verdicts.deny(message or said.reason or f"a hook ended with exit code {result.exit_code}")
    if result.exit_code == 2 and _is_refused(event, camel):
        return verdicts.block(message or "Blocked by hook")
    if result.exit_code == 2 and event.name == "PostToolUseFailure":
        return verdicts.context(said.context or text_of(result.stdout))
    raise HookFailed(f"exit {result.exit_code}: {message}".rstrip(": "))


def _is_refused(event: Event, camel: bool) -> bool:
    """A hook in Claude Code's form may refuse whatever it could refuse there."""
    return event.name in _REFUSED_BY_2 or (not camel and event.name in ("Stop", "SubagentStop"))


def read_output(event: Event, output: dict[str, Any], camel: bool, words: Vocabulary) -> Verdict:
    top = _at_top(event, output)
    inside = _claude_output.read_output(event, output)
    if camel and not inside.denies:
        return top
    if inside.updated_input is not None:
        inside = inside.but(updated_input=_own_keys(event, inside.updated_input, words))
    return verdicts.merge([verdict for verdict in (top, inside) if verdict != NONE])


def _at_top(event: Event, output: dict[str, Any]) -> Verdict:
    word, reason = _decision(event, output)
    fields = given(
        {
            "reason": reason,
            "context": text_in(output, "additionalContext") if event.name not in ("Stop", "SubagentStop") else "",
            "stop": output.get("interrupt") is True or None if event.name == "PermissionRequest" else None,
        }
    )
    if event.name == "PreToolUse" and isinstance(output.get("modifiedArgs"), dict):
        fields["updated_input"] = output["modifiedArgs"]
    result = output.get("modifiedResult")
    if event.name == "PostToolUse" and isinstance(result, dict):
        fields["updated_output"] = result.get("textResultForLlm", result.get("text_result_for_llm"))
    return Verdict.of(word, **fields) if word != "none" or fields else NONE


def _decision(event: Event, output: dict[str, Any]) -> tuple[str, str]:
    """What refuses counts wherever it stands; an unknown word at the place of a decision refuses as well."""
    if event.name not in _DECIDES and event.name != "PostToolUse":
        return "none", ""
    reasons = ("permissionDecisionReason", "reason", "message")
    reason = next((text for key in reasons if (text := text_in(output, key))), "")
    words = [output[key] for key in ("permissionDecision", "behavior", "decision") if output.get(key) is not None]
    if any(word in ("deny", "block") for word in words):
        return "deny" if event.name in ("PreToolUse", "PermissionRequest") else "block", reason or "Blocked by hook"
    if event.name != "PreToolUse":
        return ("allow", reason) if event.name == "PermissionRequest" and "allow" in words else ("none", "")
    return _before_tool(words, reason)


def _before_tool(words: list[Any], reason: str) -> tuple[str, str]:
    if not words:
        return ("ask", reason) if reason else ("none", "")  # a reason alone makes it ask
    if words[0] in ("allow", "ask", "approve"):
        return str(words[0]), reason
    return "deny", reason or f"a hook answered with an unknown decision: {words[0]!r}"


def _own_keys(event: Event, update: dict[str, Any], words: Vocabulary) -> dict[str, Any]:
    """In that form a hook sees each thing under Copilot's key and under Claude Code's: what it changed counts."""
    known = words.entry(event.tool_name, event.tool_input) if isinstance(event, ToolEvent) else None
    if known is None or not isinstance(event, ToolEvent):
        return update
    found = {key: value for key, value in update.items() if key not in known.keys.values() or key in known.keys}
    for own, ours in known.keys.items():
        if ours in update and (own not in update or update[ours] != event.tool_input.get(own)):
            found[own] = update[ours]
    return found
