"""What hooks print, for systems that fail open: JSON, JSON behind other text, and what of it restrains."""

from __future__ import annotations

from fairlead.dialects._common import loose_json
from fairlead.verdicts import NONE, Verdict, join_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
        found += [value] if isinstance(value, dict) else []
        place = end
    return found


def _begins_line(text: str, place: int) -> bool:
    return not text[text.rfind("\n", 0, place) + 1 : place].strip()


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
