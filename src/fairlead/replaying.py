"""Judge recorded events again, under the hooks that are in force now.

Only hooks that cannot change anything are run; the others are taken to say what they said then. So a difference is
the work of what was changed, and looking for it does nothing.
"""

from __future__ import annotations

from fairlead import dialects
from fairlead._record import Record
from fairlead.answering import told, whole_guard
from fairlead.api import Hooks
from fairlead.errors import FairleadError
from fairlead.events import Event
from fairlead.hooks import HookFailed
from fairlead.journal.recording import LONGEST, decided
from fairlead.verdicts import Verdict
from fairlead.work import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, ClassVar

    from fairlead.hooks import Handler, Hook, Setting
    from fairlead.journal.reading import Entry
    from fairlead.verdicts import Decision

HARMLESS = frozenset({"guard"})
"""Handlers that only think."""


class Judged(Record):
    """One event, then and now."""

    entry: Entry
    now: str = ""
    reason: str = ""
    updated_input: Any = None
    problem: str = ""
    """Why it could not be judged again."""
    unasked: tuple[str, ...] = ()
    """Hooks that are in force now, would have been asked, and said nothing then."""

    @property
    def differs(self) -> bool:
        return not self.problem and (self.now != self.entry["decision"] or self._rewrites_differ)

    @property
    def _rewrites_differ(self) -> bool:
        return bool(self.updated_input != self.entry["details"].get("updated_input"))


class Recorded(Record):
    """In the place of a hook that does something: what it said then."""

    said: Mapping[str, Any]
    handler: Handler

    kind: ClassVar[str] = "recorded"

    def start(self, _hook: Hook, _event: Event, _setting: Setting) -> Call:
        return Call(dict, ())

    def conclude(self, _hook: Hook, _event: Event, _work: Any, _outcome: Any) -> Verdict:
        if self.said.get("error"):
            raise HookFailed(str(self.said["error"]))
        update = self.said.get("updated_input")
        return Verdict(decision=self.said["verdict"], reason=self.said.get("reason", ""), updated_input=update)

    def describe(self) -> str:
        return self.handler.describe()

    def identity(self) -> tuple[object, ...]:
        return self.handler.identity()


class Silent(Recorded):
    """In the place of a hook that nobody has asked then."""

    def conclude(self, _hook: Hook, _event: Event, _work: Any, _outcome: Any) -> Verdict:
        return Verdict()


def replay(entries: Iterable[Entry], load: Callable[[str, str], Hooks], *, run_all: bool = False) -> Iterator[Judged]:
    """Each entry with its details; `load` gives the hooks of a project, as an agent would ask them."""
    known: dict[tuple[str, str, bool], Hooks] = {}
    for entry in entries:
        try:
            yield _judge(entry, known, load, run_all=run_all)
        except FairleadError as error:
            yield Judged(entry=entry, problem=str(error))


def _judge(
    entry: Entry, known: dict[tuple[str, str, bool], Hooks], load: Callable[[str, str], Hooks], *, run_all: bool
) -> Judged:
    details = entry.get("details", {})
    if not details.get("payload"):
        return Judged(entry=entry, problem="its payload was not kept")
    if details.get("cut"):
        return Judged(entry=entry, problem="it was too long to be kept whole")
    if entry["agent"] not in dialects.AGENT_HALVES:
        return Judged(entry=entry, problem=f"there is no agent {entry['agent']!r}")
    event = event_of(entry)
    key = (details.get("project", ""), entry["agent"], bool(details.get("guard")))
    if key not in known:
        known[key] = load(*key[:2])
        if key[2]:
            known[key].register(whole_guard())
    now = known[key]
    hooks = now if run_all else _without_effects(now, details.get("hooks", ()))
    hooks.setting = hooks.setting.but(asks_people=False)
    unasked = tuple(hook.name for hook in hooks if isinstance(hook.handler, Silent) and hook_looks(hooks, hook, event))
    _, decision = told(dialects.agent_half(entry["agent"]), hooks, event, hooks.fire_sync(event))
    return _compared(entry, decision, unasked)


def event_of(entry: Entry) -> Event:
    """As its agent has sent it."""
    details = entry["details"]
    if not details.get("sent"):
        return Event.from_payload(details["payload"])
    return dialects.agent_half(entry["agent"]).read_event(details["sent"].encode(), details.get("named", ""), {})


def hook_looks(hooks: Hooks, hook: Hook, event: Event) -> bool:
    return any(hook is one for group in hooks.plan(event).groups for one in group.hooks)


def _compared(entry: Entry, decision: Decision, unasked: tuple[str, ...]) -> Judged:
    return Judged(
        entry=entry,
        now=decided(decision),
        reason=decision.reason,
        updated_input=decision.updated_input,
        unasked=unasked,
    )


def _without_effects(hooks: Hooks, then: Iterable[Mapping[str, Any]]) -> Hooks:
    """The same hooks, where those that do something only repeat themselves."""
    if all(hook.handler.kind in HARMLESS for hook in hooks):
        return hooks
    said = {(one["name"], one["file"], tuple(one["place"])): one for one in then if "verdict" in one}
    stand_ins = Hooks([_stand_in(hook, said) for hook in hooks], problems=hooks.problems, setting=hooks.setting)
    stand_ins.stops = None
    return stand_ins


def _stand_in(hook: Hook, said: Mapping[tuple[Any, ...], Mapping[str, Any]]) -> Hook:
    if hook.handler.kind in HARMLESS:
        return hook
    found = said.get((hook.name, hook.origin.file, hook.origin.path))
    handler: Handler = Silent(said={}, handler=hook.handler)
    if found is not None and found.get("runs") == hook.handler.describe()[:LONGEST]:
        handler = Recorded(said=found, handler=hook.handler)
    return hook.but(handler=handler, options={**hook.options, "once": None})
