"""Keep what happened, where that is wanted."""

from __future__ import annotations

from fairlead.journal import recording, settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.dialects import Reply
    from fairlead.events import Event
    from fairlead.hooks import Setting
    from fairlead.verdicts import Decision


_NOTHING: Mapping[str, Any] = {}


def keep(
    said: Mapping[str, Any],
    setting: Setting,
    agent: str,
    event: Event,
    decision: Decision,
    reply: Reply | dict[str, Any] | None,
    ms: float,
    raw: bytes = b"",
    more: Mapping[str, Any] = _NOTHING,
) -> str:
    """What kept it out of the journal, if something did. Nobody waits for a full disk."""
    problem = _traced(agent, event, decision, ms) if decision.trace is not None else ""
    mode = settings.mode(said, setting.environ)
    if mode == "off":
        return problem
    if mode == "on" and not more and reply is not None and not isinstance(reply, dict):
        texts = recording.unnoticed(agent, event, decision, reply, ms, setting.project, raw)
        if texts is not None:
            return _append(said, setting, *texts) or problem
    details = recording.details(event, decision, reply, setting.project, raw if mode == "on" else None)
    if more:
        details |= recording.bounded(more)
    return _append(said, setting, recording.summary(agent, event, decision, ms), details) or problem


def _traced(agent: str, event: Event, decision: Decision, ms: float) -> str:
    from fairlead.telemetry.handing import hand_over

    return hand_over(decision.trace, agent, event, decision, ms) if decision.trace is not None else ""


def keep_failure(
    said: Mapping[str, Any], setting: Setting, agent: str, event: str, reason: str, reply: Reply | dict[str, Any]
) -> str:
    """What could not even be read is a refusal that somebody will ask about."""
    if settings.mode(said, setting.environ) == "off":
        return ""
    return _append(said, setting, *recording.failure(agent, event, reason, reply, setting.project))


def _append(
    said: Mapping[str, Any], setting: Setting, summary: dict[str, Any] | bytes, details: dict[str, Any] | bytes
) -> str:
    try:
        settings.journal(said, setting.environ, setting.home).append(summary, details)
    except OSError as error:
        return f"not in the journal: {error.strerror or error}"
    return ""
