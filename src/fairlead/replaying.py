"""Judge recorded events again, under the hooks that are in force now.

Only hooks that cannot change anything are run; the others are taken to say what they said then. So a difference is
the work of what was changed, and looking for it does nothing.
"""

from __future__ import annotations

from fairlead import dialects
from fairlead._record import Record
from fairlead.answering import told, whole_guard
from fairlead.api import Hooks
from fairlead.errors import FairleadError, InputError
from fairlead.events import Event
from fairlead.hooks import HookFailed
from fairlead.journal.recording import LONGEST, bounded, decided
from fairlead.journal.sharing import shared
from fairlead.verdicts import Verdict
from fairlead.work import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, ClassVar

    from fairlead.hooks import Handler, Hook, Setting
    from fairlead.journal.reading import Entry, Log
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
    differs: bool = False


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


_TOGETHER = 64
"""Entries that one process judges before it tells."""


def replay(
    log: Log, entries: Iterable[Entry], load: Callable[[str, str], Hooks], *, run_all: bool = False, workers: int = 1
) -> Iterator[Judged]:
    """Each entry, in this order; `load` gives the hooks of a project, as an agent would ask them. Hooks that are really
    run are run one after the other, whatever is said about `workers`."""
    bench = _Bench(log, load, run_all=run_all)
    for found in shared(bench.judge, _together(entries), 1 if run_all else workers):
        yield from (Judged(**dict(zip(_PLAIN, one, strict=True))) for one in found)


_PLAIN = ("entry", "now", "reason", "updated_input", "problem", "unasked", "differs")


def _plain(judged: Judged) -> tuple[Any, ...]:
    """To be sent; nobody asks for the whole of an event that is decided as it was."""
    entry = judged.entry if judged.differs else {**judged.entry, "details": {}}
    return (entry, *(getattr(judged, name) for name in _PLAIN[1:]))


def _together(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    some: list[Entry] = []
    for entry in entries:
        some.append(entry)
        if len(some) == _TOGETHER:
            yield some
            some = []
    if some:
        yield some


class _Bench:
    """With the hooks of every project that was seen."""

    def __init__(self, log: Log, load: Callable[[str, str], Hooks], *, run_all: bool) -> None:
        self._log = log
        self._load = load
        self._run_all = run_all
        self._known: dict[tuple[str, str, bool], Hooks] = {}

    def judge(self, entries: list[Entry]) -> list[tuple[Any, ...]]:
        asked = [self._asked(self._log.whole(entry)) for entry in entries]
        questions = [one for one in asked if isinstance(one, _Question)]
        answers = iter([_answer(one) for one in questions] if self._run_all else _answers(questions))
        return [_plain(one if isinstance(one, Judged) else one.judged(next(answers))) for one in asked]

    def _asked(self, entry: Entry) -> _Question | Judged:
        try:
            question = self._question(entry)
        except FairleadError as error:
            question = str(error)
        return Judged(entry=entry, problem=question) if isinstance(question, str) else question

    def _question(self, entry: Entry) -> _Question | str:
        """Or why it cannot be asked again."""
        details = entry.get("details", {})
        if details.get("cut"):
            return "it was too long to be kept whole"
        if not details.get("payload"):
            return "its payload was not kept"
        if entry["agent"] not in dialects.AGENT_HALVES:
            return f"there is no agent {entry['agent']!r}"
        now = self._hooks(details.get("project", ""), entry["agent"], guard=bool(details.get("guard")))
        hooks = now if self._run_all else _without_effects(now, details.get("hooks", ()))
        hooks.setting = hooks.setting.but(asks_people=False)
        return _Question(entry=entry, event=event_of(entry), hooks=hooks)

    def _hooks(self, project: str, agent: str, *, guard: bool) -> Hooks:
        key = (project, agent, guard)
        if key not in self._known:
            self._known[key] = self._load(project, agent)
            if guard:
                self._known[key].register(whole_guard())
        return self._known[key]


class _Question(Record):
    """An event that can be judged again."""

    entry: Entry
    event: Event
    hooks: Hooks

    def judged(self, answer: Decision | FairleadError) -> Judged:
        if isinstance(answer, FairleadError):
            return Judged(entry=self.entry, problem=str(answer))
        _, decision = told(dialects.agent_half(self.entry["agent"]), self.hooks, self.event, answer)
        silent = (hook for hook in self.hooks if isinstance(hook.handler, Silent))
        return _compared(
            self.entry, decision, tuple(hook.name for hook in silent if hook_looks(self.hooks, hook, self.event))
        )


def _answer(question: _Question) -> Decision | FairleadError:
    try:
        return question.hooks.fire_sync(question.event)
    except FairleadError as error:
        return error


def _answers(questions: list[_Question]) -> list[Decision | FairleadError]:
    """On one event loop: to start one for each event would take longer than all the rest."""
    import asyncio

    async def ask(question: _Question) -> Decision | FairleadError:
        try:
            return await question.hooks.fire(question.event)
        except FairleadError as error:
            return error

    async def ask_all() -> list[Decision | FairleadError]:
        return [await ask(question) for question in questions]

    return asyncio.run(ask_all())


def event_of(entry: Entry) -> Event:
    """As its agent has sent it."""
    details = entry["details"]
    if details.get("cut"):
        raise InputError(f"event {entry['n']} was too long to be kept whole", hint="a part of it would prove nothing")
    if not details.get("sent"):
        return Event.from_payload(details["payload"])
    return dialects.agent_half(entry["agent"]).read_event(details["sent"].encode(), details.get("named", ""), {})


def hook_looks(hooks: Hooks, hook: Hook, event: Event) -> bool:
    return any(hook is one for group in hooks.plan(event).groups for one in group.hooks)


def _compared(entry: Entry, decision: Decision, unasked: tuple[str, ...]) -> Judged:
    now, rewritten = decided(decision), bounded(decision.updated_input)
    differs = now != entry["decision"] or rewritten != entry["details"].get("updated_input")
    return Judged(
        entry=entry, now=now, reason=decision.reason, updated_input=rewritten, unasked=unasked, differs=differs
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
