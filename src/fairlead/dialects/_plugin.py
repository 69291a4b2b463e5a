"""Agents whose hooks are code in their own process: the plugin that `fairlead init` puts there asks us with one JSON
object, and reads another one."""

from __future__ import annotations

from fairlead import wire
from fairlead.dialects._agents import answer, denied, read_named
from fairlead.dialects._claude_reply import reason
from fairlead.dialects._common import given
from fairlead.dialects._payloads import with_shell_result
from fairlead.tools import output_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.dialects import Reply
    from fairlead.events import Event
    from fairlead.tools import Vocabulary
    from fairlead.verdicts import Decision


def read_event(raw: bytes, event_name: str, events: Mapping[str, str], vocabulary: Vocabulary) -> Event:
    fields = wire.decode_object(raw)
    if "prompt" in fields:
        fields["prompt"] = output_text(fields["prompt"])
    return with_shell_result(read_named(fields, event_name, events=events, vocabulary=vocabulary))


def write_reply(event: Event, decision: Decision) -> Reply:
    return answer(write_result(event, decision))


def write_result(_event: Event, decision: Decision) -> dict[str, Any]:
    """The decision always, and beside it only what there is."""
    said = reason(decision) if decision.denies else ""
    found: dict[str, Any] = {"decision": decision.decision, **given({"reason": said, "context": decision.for_model})}
    if decision.updated_input is not None and not decision.denies:
        found["input"] = decision.updated_input
    if decision.updated_output is not None:
        found["output"] = output_text(decision.updated_output)
    return found


write_failure = denied
