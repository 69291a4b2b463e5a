"""What hooks print, for systems that fail open: JSON, JSON behind other text, and what of it restrains."""

from __future__ import annotations

from fairlead import wire
from fairlead.dialects._common import loose_json, text_of
from fairlead.hooks import HookFailed
from fairlead.verdicts import NONE, Verdict, join_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.dialects import HookHalf
    from fairlead.events import Event
    from fairlead.hooks import Hook
    from fairlead.work import Result

_TRIES = 50
"""Places in a text where JSON may begin; nobody prints more answers than that."""


def json_answer(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is, or that is in it as a JSON string."""
    value = loose_json(text)
    if isinstance(value, str):
        value = loose_json(value)
    return value if isinstance(value, dict) else None


def buried(text: str) -> list[dict[str, Any]]:
    """JSON objects that begin a line of a text which is more than that: behind a log line, or one after the other."""
    if '{"' not in text and "{\n" not in text and "{ " not in text:
        return []
    from json import JSONDecoder

    decoder, found, place = JSONDecoder(strict=False), [], 0
    for _ in range(_TRIES):
        place = text.find("{", place)
        if place < 0:
            break
        try:
            value, end = decoder.raw_decode(text, place) if _begins_line(text, place) else (None, place + 1)
        except (ValueError, RecursionError):
            value, end = None, place + 1
        value = loose_json(wire.shallow(text[place:end])) if wire.is_too_deep(value) else value
        found += [value] if isinstance(value, dict) else []
        place = end
    return found


def _begins_line(text: str, place: int) -> bool:
    return not text[text.rfind("\n", 0, place) + 1 : place].strip()


def read_deep(half: HookHalf, hook: Hook, event: Event, result: Result) -> Verdict:
    """Of an answer that is nested too deeply, what restrains counts; anything else may not be what was meant."""
    name = "stdout" if result.stdout.strip() else "stderr"
    text = text_of(getattr(result, name))
    short = wire.shallow(text)
    if short == text or json_answer(short) is None:  # brackets in other text
        return half.read_verdict(hook, event, result)
    left = restraint(half.read_verdict(hook, event, result.but(**{name: short.encode()})))
    if left is None:
        raise HookFailed("its output is nested too deeply to be read as a verdict")
    return left


def restraint(verdict: Verdict) -> Verdict | None:
    """What is left of an answer that is not quite right: the part that restrains."""
    if verdict.decision in ("deny", "ask", "defer") or verdict.stop:
        return verdict.but(updated_input=None, updated_output=None, context="", extra={})
    return None


def in_background(verdict: Verdict) -> Verdict:
    """An async hook is too late to decide anything; what it has to say still arrives."""
    refusal = verdict.reason if verdict.denies else ""
    context = join_lines((verdict.context, refusal, verdict.stop_reason))
    if not context and not verdict.user_message:
        return NONE
    return Verdict(context=context, user_message=verdict.user_message)
