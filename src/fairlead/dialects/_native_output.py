"""What a hook of Fairlead's own has said: by its exit code, its output, or the value that it returned."""

from __future__ import annotations

from fairlead import verdicts, wire
from fairlead.dialects._common import json_output, text_of
from fairlead.errors import InputError
from fairlead.hooks import HookFailed
from fairlead.verdicts import NONE, Verdict, block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.events import Event
    from fairlead.hooks import Hook
    from fairlead.work import Result

_REASON_LIMIT = 2000
_WORDS = ("allow", "approve", "ask", "defer", "deny", "block")
_VERDICT_KEYS = frozenset({"hookSpecificOutput", "decision", "continue", "systemMessage"})
_TEXT_IS_CONTEXT = frozenset({"SessionStart", "UserPromptSubmit", "UserPromptExpansion", "PostModelSwitch"})


def read_verdict(hook: Hook, event: Event, result: Result) -> Verdict:
    if result.exit_code in (126, 127):
        said = text_of(result.stderr)[-_REASON_LIMIT:]
        raise HookFailed(f"cannot be run (exit {result.exit_code})" + (f": {said}" if said else ""))
    if result.exit_code:
        return _refusal(hook, event, result)
    output = json_output(result)
    output = _last_line(result) if output is None else output
    if output is not None:
        return read_value(hook, event, output)
    text = text_of(result.stdout)
    if text.startswith("{") and text.endswith("}"):
        raise HookFailed("its output looks like JSON and cannot be read as such")
    return verdicts.context(text) if text and event.name in _TEXT_IS_CONTEXT else NONE


def _refusal(hook: Hook, event: Event, result: Result) -> Verdict:
    """Any exit but 0 blocks, whatever else it says: with its own words if they refuse too."""
    try:
        output = json_output(result) or _last_line(result)
        said = read_value(hook, event, output) if output is not None else NONE
    except HookFailed:
        said = NONE
    return said if said.denies else block(_end_of_output(hook, result))


def _last_line(result: Result) -> dict[str, Any] | None:
    """A verdict below other output: what a script printed on its way must not hide it."""
    line = text_of(result.tail).rpartition("\n")[2]
    if not (line.startswith("{") and line.endswith("}")):
        return None
    try:
        value = wire.decode_object(line)
    except InputError:
        return None
    return value if _VERDICT_KEYS & value.keys() else None


def _end_of_output(hook: Hook, result: Result) -> str:
    text = verdicts.join_lines((text_of(result.tail), text_of(result.stderr)))
    return text[-_REASON_LIMIT:] or f"{hook.name} exited with {result.exit_code}"


def read_value(hook: Hook, event: Event, value: object) -> Verdict:
    if value is None:
        return NONE
    if isinstance(value, Verdict):
        return value
    if isinstance(value, str):
        return verdicts.context(value)
    if isinstance(value, dict):
        from fairlead.dialects import claude_code

        _check_words(value)
        return claude_code.read_output(event, value)
    raise HookFailed(f"{hook.name} returned {type(value).__name__}; expected a verdict, a dict, a string or None")


def _check_words(output: dict[str, Any]) -> None:
    """A decision that nobody understands is a failure, never a yes."""
    specific = output.get("hookSpecificOutput")
    if specific is not None and not isinstance(specific, dict):
        raise HookFailed("hookSpecificOutput must be an object")
    if "permissionDecision" in output:
        raise HookFailed("permissionDecision belongs into hookSpecificOutput")
    for word in (output.get("decision"), (specific or {}).get("permissionDecision")):
        if word is not None and word not in _WORDS:
            raise HookFailed(f"{word!r} is not a decision; one of: {', '.join(_WORDS)}")
