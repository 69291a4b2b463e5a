"""What `prompt` and `agent` share: the question that they put to a language model, and what came of it."""

from __future__ import annotations

from fairlead import dialects
from fairlead._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.events import Event
    from fairlead.hooks import Hook, Setting
    from fairlead.models.answers import Answer
    from fairlead.models.records import Question

    Facts = dict[str, str | int | float]

_SHOWN = 200


class Judged(Record):
    answer: Answer | None = None
    unclear: str = ""
    """Why there is no answer, where what was judged or looked at may be the cause."""
    facts: Facts


def question(prompt: str, style: str, hook: Hook, event: Event, setting: Setting, **more: Any) -> Question:
    """Raises Unclear for what cannot be put to a model."""
    from fairlead.models import answers, framing

    dialect = hook.origin.dialect
    try:
        whole = dialects.hook_half(dialect).hook_input(hook, event, setting).stdin
        form, always_whole = answers.form(style, event), dialect == "claude-code"
        return framing.frame(prompt, event, whole, form, cwd=setting.project, always_whole=always_whole, **more)
    except (ValueError, TypeError, RecursionError) as error:
        raise framing.Unclear(f"the event cannot be put to a model: {type(error).__name__}: {error}") from None


def shown(text: str) -> str:
    """In one short line."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
