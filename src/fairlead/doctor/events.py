"""Events that the agent does not know, or knows under another name: nobody ever calls such a hook."""

from __future__ import annotations

from fairlead.doctor import facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.doctor.finding import Finding
    from fairlead.doctor.scene import Entry, Scene

_MAY_HAVE_MORE = ("hermes", "kiro", "junie", "grok", "kimi", "goose")
"""Whose list of events is long or young."""


def check(scene: Scene) -> Iterator[Finding]:
    seen = set()
    for entry in scene.entries:
        place = (entry.file.path, entry.event_path)
        if place not in seen and not is_known(entry.agent, entry.event):
            seen.add(place)
            yield _unknown(entry)


def is_known(agent: str, event: str) -> bool:
    return facts.spelled(agent, event) in facts.events(agent)


def _unknown(entry: Entry) -> Finding:
    agent, event = entry.agent, entry.event
    title, behaviour = facts.title(agent), facts.of(agent).bad_event
    level = "warning" if agent in _MAY_HAVE_MORE and not _meant(agent, event) else "error"
    what = f"{title} has no event {event!r} and {behaviour}"
    return entry.file.found("events", level, entry.event_path, what, _instead(agent, event))


def _instead(agent: str, event: str) -> str:
    meant = _meant(agent, event)
    if meant:
        return f"write {' or '.join(map(repr, meant))}"
    if any(event in facts.events(other) for other in _with_events()):
        return f"{facts.title(agent)} has nothing like it: remove the hook, or put it on another event"
    from fairlead.dialects._common import did_you_mean

    return did_you_mean(event, facts.events(agent))


def _meant(agent: str, event: str) -> list[str]:
    """The agent's names for the same: the same word in another case, or what others call so."""
    own = facts.events(agent)
    folded = event.lower().replace("_", "").replace("-", "")
    same = [name for name in own if name.lower().replace("_", "") == folded]
    if same:
        return same[:1]
    names = {facts.events(other).get(event) for other in _with_events()} - {None}
    return [name for name, canonical in own.items() if canonical in names][:4]


def _with_events() -> tuple[str, ...]:
    from fairlead.dialects import AGENT_HALVES

    return AGENT_HALVES
