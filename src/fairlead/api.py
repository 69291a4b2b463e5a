"""`Hooks`: all hooks in force, from files and from code; fire an event, get a decision."""

from __future__ import annotations

import os

from fairlead import engine
from fairlead._record import Record
from fairlead.dialects import HOOK_HALVES, Places
from fairlead.errors import UsageError
from fairlead.hooks import Hook, Origin, Setting
from fairlead.matchers import everything, whole_name
from fairlead.stops import Stops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Self

    from fairlead.errors import Problem
    from fairlead.events import Event
    from fairlead.matchers import Matcher
    from fairlead.verdicts import Decision

_PLANS_LIMIT = 1024


class Hooks:
    """The hooks of one project. Not shared between threads."""

    def __init__(
        self, hooks: Iterable[Hook] = (), *, problems: Iterable[Problem] = (), setting: Setting | None = None
    ) -> None:
        self._hooks = list(hooks)
        self._plans: dict[tuple[str, str], engine.Plan] = {}
        self._named = 0
        self.problems = tuple(problems)
        self.stops: Stops | None = Stops()
        """Ends a row of refusals to stop; None where the agent does that itself."""
        self.setting = setting or Setting(project=os.getcwd(), home=os.path.expanduser("~"), environ=os.environ)

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
    ) -> Self:
        """Every layer, every dialect, of this project.

        `trust_project`: the caller vouches for the hooks in the project's files; without it they do not run.
        `agent`: who will fire the events; it reads the files that several dialects claim.
        `own`: whether that agent's own files are read too. `active`: skills and subagents that are running.
        """
        from fairlead import layers

        environ = os.environ if environ is None else environ
        places = Places(
            home=os.path.abspath(home or environ.get("HOME") or os.path.expanduser("~")),
            project=os.path.abspath(project or os.getcwd()),
            environ=environ,
            managed=managed,
            active=tuple(active),
        )
        loaded = layers.load(places, reads=dialects, agent=agent, own=own, trust_project=trust_project)
        setting = Setting(project=places.project, home=places.home, environ=environ)
        return cls(loaded.hooks, problems=loaded.problems, setting=setting)

    def __iter__(self) -> Any:
        return iter(self._hooks)

    def __len__(self) -> int:
        return len(self._hooks)

    def on(
        self,
        *events: str,
        tool: str = "",
        priority: int = 0,
        timeout: float | None = None,
        name: str = "",
        on_error: str = "",
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register the decorated function, sync or async. It gets the event, and a HookContext if it takes two."""

        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            matcher = whole_name(tool)
            self._add(function, events, matcher, priority=priority, timeout=timeout, name=name, on_error=on_error)
            return function

        return add

    def register(self, hook: Any, function: Callable[..., Any] | None = None) -> str:
        """Add a hook and return its id.

        `hook` is a `Hook`, or an object with `events` and `execute(event, context)` and, as it likes,
        `name`, `tool_matcher`, `timeout` and `priority`; or the name of an event, with a function.
        """
        if isinstance(hook, str):
            if function is None:
                raise UsageError(f"register({hook!r}, …) needs a function")
            return self._add(function, (hook,), everything(), name=_function_name(function))
        if isinstance(hook, Hook):
            return self._keep(hook)
        return self._add(
            hook.execute,
            tuple(_called(hook, "events", ("*",))),
            _tool_matcher(_called(hook, "tool_matcher", None)),
            priority=_called(hook, "priority", 0),
            timeout=_called(hook, "timeout", None),
            name=_called(hook, "name", type(hook).__name__),
            on_error=_called(hook, "on_error", ""),
        )

    def unregister(self, *event_and_id: str) -> bool:
        """Take a hook out by its id (or by event and id); whether it was there."""
        name = event_and_id[-1]
        kept = [hook for hook in self._hooks if hook.name != name or hook.origin.layer != "code"]
        found = len(kept) < len(self._hooks)
        self._hooks = kept
        self._plans.clear()
        return found

    async def fire(self, event: Event, *, deadline: float | None = None) -> Decision:
        """What the hooks say to this event. `deadline` is on the monotonic clock."""
        return self._settled(event, await engine.drive(self._judge(event, deadline)))

    def fire_sync(self, event: Event, *, deadline: float | None = None) -> Decision:
        """The same without an event loop of the caller's."""
        return self._settled(event, engine.drive_blocking(self._judge(event, deadline)))

    def session(self, session_id: str, cwd: str = "") -> Session:
        """For tools that fire events themselves: fills in whose they are."""
        return Session(hooks=self, session_id=session_id, cwd=cwd)

    def plan(self, event: Event) -> engine.Plan:
        key = (event.name, event.matcher_value)
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= _PLANS_LIMIT:
                self._plans.clear()
            found = self._plans[key] = engine.plan(self._hooks, event)
        return found

    def _settled(self, event: Event, decision: Decision) -> Decision:
        return decision if self.stops is None else self.stops.settle(event, decision)

    def _judge(self, event: Event, deadline: float | None) -> engine.Judging:
        setting = self.setting if deadline is None else self.setting.but(deadline=deadline)
        return engine.judge(self.plan(event), event, setting)

    def _add(
        self,
        function: Callable[..., Any],
        events: tuple[str, ...],
        matcher: Matcher,
        *,
        name: str = "",
        **fields: Any,
    ) -> str:
        from fairlead.handlers.function import Function, is_async, takes_context

        handler = Function(function=function, takes_context=takes_context(function), is_async=is_async(function))
        name = name or _function_name(function)
        origin = Origin(dialect="fairlead", layer="code")
        return self._keep(
            Hook(name=name, events=events or ("*",), handler=handler, origin=origin, matcher=matcher, **fields)
        )

    def _keep(self, hook: Hook) -> str:
        if any(other.name == hook.name for other in self._hooks):
            self._named += 1
            hook = hook.but(name=f"{hook.name}#{self._named + 1}")
        self._hooks = engine.in_order([*self._hooks, hook])
        self._plans.clear()
        return hook.name


class Session(Record):
    """Fires events from inside a tool, for one session."""

    hooks: Hooks
    session_id: str
    cwd: str = ""

    async def fire(self, event: Event) -> Decision:
        return await self.hooks.fire(self._own(event))

    def fire_sync(self, event: Event) -> Decision:
        return self.hooks.fire_sync(self._own(event))

    def _own(self, event: Event) -> Event:
        return event.but(session_id=event.session_id or self.session_id, cwd=event.cwd or self.cwd)


def _function_name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _called(hook: Any, name: str, default: Any) -> Any:
    value = getattr(hook, name, default)
    return value() if callable(value) else value


def _tool_matcher(value: Any) -> Matcher:
    if value is None:
        return everything()
    return whole_name(value if isinstance(value, str) else value.pattern)
