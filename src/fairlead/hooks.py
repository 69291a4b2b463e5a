"""A hook: which events, which matcher, which handler, and where it comes from."""

from __future__ import annotations

import time

from fairlead._record import Record
from fairlead.matchers import Matcher, everything

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, ClassVar, Protocol

    from fairlead.events import Event
    from fairlead.telemetry.tracing import Trace
    from fairlead.verdicts import Verdict
    from fairlead.work import Call, Run

    class Handler(Protocol):
        """How a hook answers."""

        kind: ClassVar[str]

        def start(self, hook: Hook, event: Event, setting: Setting) -> Run | Call:
            """What has to be done; raises HookFailed when it cannot be."""

        def conclude(self, hook: Hook, event: Event, work: Any, outcome: Any, /) -> Verdict:
            """The verdict in what came of it; raises HookFailed when there is none."""

        def describe(self) -> str:
            """The handler in one line, for people."""

        def identity(self) -> tuple[object, ...]:
            """Equal for handlers that do the same."""

    class HookProtocol(Protocol):
        """A hook as an object, for `Hooks.register`.

        Beside these it may have, as attributes or as methods without arguments: `name`, `tool_matcher`
        (a pattern, or a compiled one), `timeout` or `timeout_secs` (60 s if it says nothing; None is no
        limit), `priority` (higher runs first) and `on_error`.
        """

        @property
        def events(self) -> Sequence[str] | Callable[[], Sequence[str]]:
            """The names of its events."""

        def execute(self, event: Any, context: HookContext, /) -> Any:
            """Sync or async. Returns a `Verdict`, or nothing."""

else:

    class HookProtocol:
        """What type checkers see as a `typing.Protocol`; importing `typing` would cost every cold start."""


class Origin(Record):
    """Where a hook was found."""

    dialect: str
    layer: str
    """managed, user, project, local, plugin, skill, subagent or code"""
    file: str = ""
    path: tuple[str | int, ...] = ()
    """The way to the entry inside the file."""

    @property
    def line(self) -> int:
        """Looked up when asked for: nobody needs it while hooks run."""
        if not self.file:
            return 0
        from fairlead.locate import position

        return position(self.file, self.path)[0]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else self.layer


class Hook(Record):
    name: str
    events: tuple[str, ...]
    """Canonical event names; `*` is every event."""
    handler: Handler
    origin: Origin
    matcher: Matcher = everything()
    matcher_path: tuple[str | int, ...] = ()
    """Where the matcher stands in the origin's file."""
    for_tools: bool = False
    """The matcher is about tools alone: events that are not about a tool pass it."""
    timeout: float | None = None
    """Seconds; None is no limit of its own."""
    priority: int = 0
    on_error: str = ""
    """`allow`, `deny`, or empty for what the dialect says."""
    trusted: bool = True
    enabled: bool = True
    condition: Callable[[Event], str] | None = None
    """Asked for each event that matched; answers why the hook does not apply, or an empty string."""
    options: Mapping[str, Any] = {}  # never changed: records are frozen
    """What only the hook's own dialect looks at."""

    def matches(self, event: Event, names: Sequence[str]) -> bool:
        """Whether its matcher knows the event under one of these names."""
        if not event.matches_on or (self.for_tools and event.matches_on != "tool_name"):
            return True
        return any(self.matcher(name) for name in names)

    @property
    def place(self) -> tuple[int, bool, int]:
        """Higher priorities first. Guards come last, since they must see what everybody has rewritten, and people after
        them: nobody is asked about what a guard refuses. For the same cause an organisation's follow all others."""
        kind = {"guard": 1, "approval": 2}.get(self.handler.kind, 0)
        return kind, self.origin.layer == "managed", -self.priority

    def identity(self) -> tuple[object, ...]:
        return (self.origin.dialect, *self.handler.identity(), self.timeout)


class Setting(Record):
    """The surroundings in which hooks run."""

    project: str
    home: str
    environ: Mapping[str, str]
    deadline: float | None = None
    """On the monotonic clock: every hook ends before it."""
    agent: str = ""
    """Whose events they are, where that is known."""
    trace: Trace | None = None
    """The span that all of it belongs to, where somebody traces."""
    asks_people: bool = True
    """Whether an approval really asks somebody; an explanation only says that it would."""
    pass_env: tuple[str, ...] = ()
    """Variables that the user hands on to the hooks of projects, too."""

    def limit(self, timeout: float | None) -> float | None:
        """Seconds that a hook may take now."""
        if self.deadline is None:
            return timeout
        left = max(self.deadline - time.monotonic(), 0.0)
        return left if timeout is None else min(timeout, left)


class Cancellation:
    """Tells a hook in code that nobody waits for it any more: its event was cancelled, or its time is up."""

    __slots__ = ("_set", "_waiting")

    def __init__(self) -> None:
        self._set = False
        self._waiting: list[tuple[Any, Any]] | None = None

    def set(self) -> None:
        """From any thread."""
        self._set = True
        try:
            while self._waiting:
                _wake(*self._waiting.pop())
        except IndexError:  # another thread has woken the last one
            pass

    def is_set(self) -> bool:
        return self._set

    async def wait(self) -> None:
        """Return when it is set."""
        import asyncio

        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._waiting = self._waiting or []
        self._waiting.append((loop, future))
        if self._set:  # perhaps by another thread, a moment ago
            self.set()
        await future


def _wake(loop: Any, future: Any) -> None:
    try:
        loop.call_soon_threadsafe(lambda: future.done() or future.set_result(None))
    except RuntimeError:  # that loop is closed: nobody waits there
        pass


class HookContext(Record):
    """What a hook in code gets beside the event."""

    session_id: str
    cwd: str
    env: Mapping[str, str]
    cancellation: Cancellation

    @property
    def cancelled(self) -> bool:
        return self.cancellation.is_set()


class HookFailed(Exception):  # noqa: N818  # it is a fact about a hook, not an error of ours
    """A hook did not give a verdict; its failure direction decides what that means."""


NOT_RUN = HookFailed("it was not run to its end")


class Report:
    """What became of one hook in one event."""

    __slots__ = (
        "error", "event", "facts", "hook", "matched", "ms", "outcome", "span", "verdict", "view", "why", "work",
    )  # fmt: skip

    def __init__(self, hook: Hook, event: Event, why: str = "", *, matched: bool = True, view: int = 0) -> None:
        self.hook = hook
        self.event = event
        """In the words of the hook's own system."""
        self.view = view
        """Which part of the event, where it is several calls to that system."""
        self.matched = matched
        self.why = why
        self.work: Run | Call | None = None
        self.outcome: Any = NOT_RUN
        self.verdict: Verdict | None = None
        self.error = ""
        self.ms = 0.0
        self.span: tuple[str, int] | None = None
        """Its id and when it began, in nanoseconds since 1970, where somebody traces."""
        self.facts: Mapping[str, str | int | float] = {}
        """What else is worth knowing about it: tokens, cost, the status of a web server."""

    @property
    def ran(self) -> bool:
        return self.verdict is not None

    def __repr__(self) -> str:
        state = self.verdict if self.ran else self.why
        return f"Report({self.hook.name!r}, {state!r}, error={self.error!r})"


class Reports:
    """What became of each hook. Of a thousand that are for other events nothing is made before somebody asks."""

    __slots__ = ("_event", "_kept_from", "_skipped", "met")

    def __init__(
        self, ran: Sequence[Report], skipped: Sequence[tuple[Hook, str, bool]], kept_from: Sequence[int], event: Event
    ) -> None:
        """`skipped`: hook, why it did not look, whether its matcher applied; `kept_from` are the places of those."""
        self._event = event
        self._skipped = skipped
        self._kept_from = {index: self._report(index) for index in kept_from}
        self.met = (*ran, *self._kept_from.values())
        """Those that the event was for, whether they ran or not."""

    def _report(self, index: int) -> Report:
        hook, why, matched = self._skipped[index]
        return Report(hook, self._event, matched=matched, why=why)

    def __iter__(self) -> Iterator[Report]:
        yield from self.met[: len(self.met) - len(self._kept_from)]
        for index in range(len(self._skipped)):
            yield self._kept_from.get(index) or self._report(index)

    def __len__(self) -> int:
        return len(self.met) - len(self._kept_from) + len(self._skipped)

    def __getitem__(self, index: int) -> Report:
        return tuple(self)[index]
