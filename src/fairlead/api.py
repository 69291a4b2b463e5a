"""`Hooks`: all hooks in force, from files and from code; fire an event, get a decision."""

from __future__ import annotations

import os
import time

from fairlead import driving, engine
from fairlead._record import Record
from fairlead.dialects import HOOK_HALVES, Places
from fairlead.errors import UsageError
from fairlead.events import EVENTS, Event
from fairlead.folders import home_of, may_be_redirected
from fairlead.hooks import Hook, HookProtocol, Origin, Setting
from fairlead.matchers import Matcher, everything, whole_name
from fairlead.stops import Stops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, Self, TypeVar

    from fairlead.errors import Problem
    from fairlead.redirected import Withheld
    from fairlead.telemetry.tracing import Trace
    from fairlead.verdicts import Decision

    F = TypeVar("F", bound=Callable[..., Any])

HEARS = frozenset({"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"})
TELEMETRY = "FAIRLEAD_OTEL"
"""`1` switches OpenTelemetry on, where the configuration says nothing about it."""
_PLANS_LIMIT = 1024
_NO_PLAN = engine.Plan((), ())
OBJECT_TIMEOUT = 60.0
"""Seconds for a hook that is an object and says nothing about its time."""


class Hooks:
    """The hooks of one project. Not shared between threads."""

    _plans: dict[tuple[str, ...], engine.Plan]
    _planned: tuple[Event | None, engine.Plan]
    """The last plan, for which it is asked several times."""

    def __init__(
        self, hooks: Iterable[Hook] = (), *, problems: Iterable[Problem] = (), setting: Setting | None = None
    ) -> None:
        self._set(list(hooks))
        self._registered: set[str] = set()
        self.problems = tuple(problems)
        self.replaced: tuple[Hook, ...] = ()
        """Hooks in files that do not count, because a nearer file replaces them."""
        self.journal: Mapping[str, Any] = {}
        """What the configuration says about recording events."""
        self.telemetry: Mapping[str, Any] = {}
        """What it says about OpenTelemetry."""
        self.withheld: Withheld | None = None
        """Variables that the project has set, and that count for none of this."""
        self.traced = False
        """Whether OpenTelemetry hears of what is fired here, where that is switched on."""
        self.record = False
        """Whether what is fired here goes into the journal; `fairlead hook` sees to that itself."""
        self.stops: Stops | None = Stops()
        """Ends a row of refusals to stop; None where the agent does that itself."""
        self.hears = HEARS
        """Events with which the model is told what hooks in the background have said."""
        self.setting = setting or Setting(project=os.getcwd(), home=os.path.expanduser("~"), environ=dict(os.environ))

    @classmethod
    def load(
        cls,
        project: str | os.PathLike[str] | None = None,
        *,
        home: str | os.PathLike[str] | None = None,
        environ: Mapping[str, str] | None = None,
        managed: str = "/etc",
        agent: str = "",
        dialects: Iterable[str] = HOOK_HALVES,
        own: bool = True,
        active: Iterable[str] = (),
        trust_project: bool = False,
        trust: Iterable[str] = (),
        record: bool = False,
    ) -> Self:
        """Every layer, every dialect, of this project.

        `trust_project`: the caller vouches for whatever stands in the project's files. Without it only those of
        its hooks run that were trusted with `fairlead trust`, or that a digest in `trust` names (`sha256:…`).
        `agent`: who will fire the events; it reads the files that several dialects claim.
        `own`: whether that agent's own files are read too. `active`: skills and subagents that are running.
        `record`: what is fired goes into the journal, unless the configuration says otherwise.
        """
        environ = dict(os.environ if environ is None else environ)  # os.environ decodes at every look
        places = Places(
            home=os.path.abspath(home or home_of(environ)),
            project=os.path.abspath(project or os.getcwd()),
            environ=environ,
            managed=managed,
            active=tuple(active),
        )
        how = {"reads": dialects, "own": own, "trust_project": trust_project, "pins": pins_of(trust)}
        hooks = cls.of(places, agent=agent, **how)
        hooks.record = hooks.traced = record
        return hooks

    @classmethod
    def of(cls, places: Places, *, agent: str = "", **how: Any) -> Self:
        """Every layer of these places; `how` is what `layers.load` takes."""
        from fairlead import layers

        places, withheld = _as_the_users_own(places)
        loaded = layers.load(places, agent=agent, **how)
        setting = Setting(
            project=places.project, home=places.home, environ=places.environ, agent=agent, pass_env=loaded.pass_env
        )
        problems = loaded.problems if withheld is None else (*withheld.problems, *loaded.problems)
        hooks = cls(loaded.hooks, problems=problems, setting=setting)
        hooks.withheld = withheld
        hooks.replaced = loaded.replaced
        hooks.journal = loaded.journal
        hooks.telemetry = loaded.telemetry
        return hooks

    def in_setting(self, setting: Setting) -> Self:
        """The same hooks, and the plans made of them, for somebody else who asks about the same project."""
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        own = setting.environ if self.withheld is None else self.withheld.without(setting.environ)
        view.setting = setting if own is setting.environ else setting.but(environ=own)
        return view

    def __iter__(self) -> Iterator[Hook]:
        return iter(self._hooks)

    def __len__(self) -> int:
        return len(self._hooks)

    def on(
        self,
        *events: str | type[Event],
        tool: str | Iterable[str] = "",
        priority: int = 0,
        timeout: float | None = None,
        name: str = "",
        on_error: str = "",
    ) -> Callable[[F], F]:
        """Register the decorated callable, sync or async, for these events; for every event if there are none.

        It gets the event, and a `HookContext` if it has a second argument. It returns a `Verdict`, a dict
        (read as Claude Code's JSON), a string (context for the model) or None.

        `tool`: a name, `A|B`, a list of names, or a pattern for the whole name; events that are not about a
        tool do not heed it. `priority`: higher runs first. `timeout`: seconds. `on_error`: what a hook without
        a verdict leads to, `"allow"` or `"deny"`; by default it is `"deny"` before a tool and a prompt.
        """
        names, matcher = _event_names(events), tool_matcher(tool)

        def add(function: F) -> F:
            self._add(function, names, matcher, name=name, priority=priority, timeout=timeout, on_error=on_error)
            return function

        return add

    def register(
        self, hook: str | type[Event] | HookProtocol | Hook, function: Callable[..., Any] | None = None
    ) -> str:
        """Add a hook and return its id.

        `hook` is the name of an event, with a function; an object as `HookProtocol` describes it; or a `Hook`.
        """
        if isinstance(hook, Hook):
            return self._keep(hook)
        if isinstance(hook, (str, type)):
            if function is None:
                raise UsageError(f"register({hook!r}) needs a function too", hint="register(event, function)")
            return self._add(function, _event_names((hook,)), everything())
        return self._register_object(hook)

    def _register_object(self, hook: Any) -> str:
        missing = [name for name in ("events", "execute") if not hasattr(hook, name)]
        if missing:
            raise UsageError(
                f"{type(hook).__name__} cannot be a hook: it has no {' and no '.join(missing)}",
                hint="an object with `events` and `execute(event, context)`; see HookProtocol",
            )
        events = said(hook, "events", ())
        return self._add(
            hook.execute,
            _event_names((events,) if isinstance(events, str) else tuple(events)),
            tool_matcher(said(hook, "tool_matcher", "")),
            name=said(hook, "name", type(hook).__name__),
            priority=said(hook, "priority", 0),
            timeout=said(hook, "timeout", said(hook, "timeout_secs", OBJECT_TIMEOUT)),
            on_error=said(hook, "on_error", ""),
        )

    def unregister(self, *event_and_id: str) -> bool:
        """Take out what was registered under an id; with an event before it, for that event alone.

        Whether it was there. Hooks from files stay: they go when their file says so.
        """
        if not 1 <= len(event_and_id) <= 2:
            raise UsageError("unregister takes an id, or an event and an id")
        *events, name = event_and_id
        found = next((hook for hook in self._hooks if hook.name == name and name in self._registered), None)
        if found is None or (events and events[0] not in found.events):
            return False
        left = tuple(event for event in found.events if events and event != events[0])
        kept = [
            hook if hook is not found else found.but(events=left) for hook in self._hooks if hook is not found or left
        ]
        self._set(kept)
        if not left:
            self._registered.discard(name)
        return True

    async def fire(self, event: Event, *, deadline: float | None = None) -> Decision:
        """What the hooks say to this event. `deadline` is on the monotonic clock."""
        started, trace, plan = time.perf_counter(), self._trace(event), self._checked_plan(event)
        if plan.groups:
            decision = await driving.drive(self._judge(plan, event, deadline, trace))
        else:
            decision = engine.undecided(plan, event)
        return self._settled(event, decision, started, trace)

    def fire_sync(self, event: Event, *, deadline: float | None = None) -> Decision:
        """The same without an event loop of the caller's."""
        started, trace, plan = time.perf_counter(), self._trace(event), self._checked_plan(event)
        if plan.groups:
            decision = driving.drive_blocking(self._judge(plan, event, deadline, trace))
        else:
            decision = engine.undecided(plan, event)
        return self._settled(event, decision, started, trace)

    def session(self, session_id: str, cwd: str = "") -> Session:
        """For tools that fire events themselves: fills in whose they are."""
        return Session(hooks=self, session_id=session_id, cwd=cwd)

    def plan(self, event: Event) -> engine.Plan:
        if self._planned[0] is event:
            return self._planned[1]
        self._planned = event, self._plan(event)
        return self._planned[1]

    def _plan(self, event: Event) -> engine.Plan:
        key = (event.name, *event.matcher_names)
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= _PLANS_LIMIT:
                self._plans.clear()
            found = self._plans[key] = engine.plan(self._hooks, event)
        return found

    def _trace(self, event: Event) -> Trace | None:
        if not self.traces:
            return None
        from fairlead.telemetry.tracing import begin

        return begin(event, self.telemetry, self.setting)

    @property
    def traces(self) -> bool:
        """A project's word does not count, and an address alone switches nothing on."""
        return self.traced and bool(self.telemetry.get("enabled", self.setting.environ.get(TELEMETRY) == "1"))

    def _settled(self, event: Event, decision: Decision, started: float, trace: Trace | None) -> Decision:
        if trace is not None:
            decision = decision.but(trace=trace)
        if self.stops is not None:
            decision = self.stops.settle(event, decision)
        if self._has_background and event.name in self.hears:
            from fairlead.background import told_later

            decision = told_later(event, decision, self.setting)
        return self._recorded(event, decision, started) if self.record else decision

    def _recorded(self, event: Event, decision: Decision, started: float) -> Decision:
        from fairlead.journal import keeping

        ms = (time.perf_counter() - started) * 1000
        problem = keeping.keep(self.journal, self.setting, self.setting.agent, event, decision, None, ms)
        return decision.but(notes=(*decision.notes, problem)) if problem else decision

    def _checked_plan(self, event: Event) -> engine.Plan:
        if not isinstance(event, Event):
            raise UsageError(
                f"fire takes an event, not {type(event).__name__}", hint="Event.from_payload reads Claude Code's JSON"
            )
        return self.plan(event)

    def _judge(self, plan: engine.Plan, event: Event, deadline: float | None, trace: Trace | None) -> engine.Judging:
        setting = self.setting
        if deadline is not None:
            setting = setting.but(deadline=deadline)
        if trace is not None:
            setting = setting.but(trace=trace)
        return engine.judge(plan, event, setting)

    def _add(
        self,
        function: Callable[..., Any],
        events: tuple[str, ...],
        matcher: Matcher,
        *,
        name: str = "",
        priority: int = 0,
        timeout: float | None = None,
        on_error: str = "",
    ) -> str:
        from fairlead.handlers.function import Function

        if not callable(function):
            raise UsageError(f"a hook must be callable, not {type(function).__name__}")
        _check_options(priority, timeout, on_error)
        return self._keep(
            Hook(
                name=name or _function_name(function),
                events=events or ("*",),
                handler=Function.of(function),
                origin=Origin(dialect="fairlead", layer="code"),
                matcher=matcher,
                for_tools=True,
                priority=priority,
                timeout=timeout,
                on_error=on_error,
            )
        )

    def _keep(self, hook: Hook) -> str:
        taken = {other.name for other in self._hooks}
        name, number = hook.name, 1
        while name in taken:
            number += 1
            name = f"{hook.name}#{number}"
        self._registered.add(name)
        self._set(engine.in_order([*self._hooks, hook if name == hook.name else hook.but(name=name)]))
        return name

    def _set(self, hooks: list[Hook]) -> None:
        self._hooks = hooks
        self._plans = {}
        self._planned = None, _NO_PLAN
        self._has_background = any(hook.handler.kind == "background" for hook in hooks)


def pins_of(digests: Iterable[str]) -> tuple[str, ...]:
    """Digests as they are compared. Raises UsageError for what is none."""
    if not digests:
        return ()
    from fairlead.trust.pins import pin

    return tuple(map(pin, digests))


def _as_the_users_own(places: Places) -> tuple[Places, Withheld | None]:
    """Without the variables that the project itself has set."""
    if not may_be_redirected(places.environ, places.project):
        return places, None
    from fairlead.redirected import withheld

    found = withheld(places.environ, places.project)
    if not found.names:
        return places, found
    own = places.but(environ=found.without(places.environ))
    return own.but(home=home_of(own.environ)) if "HOME" in found.names else own, found


class Session(Record):
    """Fires events from inside a tool, for one session."""

    hooks: Hooks
    session_id: str
    cwd: str = ""

    async def fire(self, event: Event, *, deadline: float | None = None) -> Decision:
        return await self.hooks.fire(self._own(event), deadline=deadline)

    def fire_sync(self, event: Event, *, deadline: float | None = None) -> Decision:
        return self.hooks.fire_sync(self._own(event), deadline=deadline)

    def _own(self, event: Event) -> Event:
        missing = {
            name: value
            for name, value in (("session_id", self.session_id), ("cwd", self.cwd))
            if value and not getattr(event, name)
        }
        return event.but(**missing) if missing else event


class _Compiled(Matcher):
    """A pattern that the caller compiled, with its own flags, for the whole name."""

    __slots__ = ("_pattern",)

    def __init__(self, pattern: Any) -> None:
        super().__init__(pattern.pattern)
        self._pattern = pattern

    def __call__(self, value: str) -> bool:
        return self._pattern.fullmatch(value) is not None


def _function_name(function: Callable[..., Any]) -> str:
    while hasattr(function, "func"):  # functools.partial
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def said(hook: Any, name: str, default: Any) -> Any:
    """What an object says of itself, in an attribute or a method."""
    value = getattr(hook, name, default)
    return value() if callable(value) else value


def _event_names(events: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(_event_name(event) for event in events)


def _event_name(event: Any) -> str:
    if isinstance(event, type) and event.__name__ in EVENTS:
        return event.__name__
    if not isinstance(event, str):
        raise UsageError(
            f"{event!r} is not an event", hint='write @hooks.on("PreToolUse"), or @hooks.on() for every event'
        )
    if event not in EVENTS and event != "*":
        _refuse_misspelt(event)
    return event


def _refuse_misspelt(event: str) -> None:
    """A hook that waits for an event that never comes guards nothing. Truly unknown names are let in."""
    from difflib import get_close_matches

    folded = {name.lower(): name for name in EVENTS}
    near = get_close_matches(event.lower().replace("_", ""), folded, n=1, cutoff=0.85)
    if near:
        raise UsageError(f"there is no event {event!r}", hint=f"did you mean {folded[near[0]]!r}?")


def tool_matcher(value: Any) -> Matcher:
    if not value:
        return everything()
    if hasattr(value, "fullmatch"):
        return _Compiled(value)
    if not isinstance(value, str):
        names = frozenset(value)
        return Matcher("|".join(sorted(names)), names=names)
    matcher = whole_name(value)
    if matcher.check():
        raise UsageError(matcher.problem)
    return matcher


def _check_options(priority: Any, timeout: Any, on_error: Any) -> None:
    if not isinstance(priority, int):
        raise UsageError(f"priority must be a whole number, not {priority!r}")
    if timeout is not None and not (isinstance(timeout, (int, float)) and 0 < timeout < float("inf")):
        raise UsageError(f"timeout must be a number of seconds above 0, not {timeout!r}", hint="None is no limit")
    if on_error not in ("", "allow", "deny"):
        raise UsageError(f'on_error must be "allow" or "deny", not {on_error!r}')
