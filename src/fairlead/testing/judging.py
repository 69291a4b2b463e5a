"""What hooks say to an event, with nobody disturbed.

Commands, functions and guards really run. People, models and servers are not asked: what they would say is part of the
case.
"""

from __future__ import annotations

from fairlead import dialects
from fairlead._record import Record
from fairlead.answering import told
from fairlead.api import Hooks
from fairlead.explaining import ASKED_BY
from fairlead.verdicts import NONE, Verdict, allow, deny
from fairlead.work import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from fairlead.events import Event
    from fairlead.hooks import Handler, Hook, Report, Setting
    from fairlead.testing.cases import Case
    from fairlead.verdicts import Decision
    from fairlead.work import Run

ELSEWHERE = frozenset({"prompt", "agent", "http", "mcp_tool"})
"""Handlers that leave this machine, cost money, or start what goes on after them."""


class Judgement(Record):
    event: Event
    agent: str
    merged: Decision
    """What the hooks have decided."""
    told: Decision
    """What the agent can be told of it."""
    hooks: Hooks

    @property
    def ran(self) -> list[Report]:
        """Hooks that have answered themselves, or for whom the case has."""
        return [report for report in self.merged.reports if report.ran and not _is_unasked(report.hook)]

    @property
    def unasked(self) -> tuple[str, ...]:
        names = (report.hook.name for report in self.merged.reports if report.ran and _is_unasked(report.hook))
        return tuple(dict.fromkeys(names))

    @property
    def updated_input(self) -> dict[str, Any] | None:
        """The new input, in our words; None where the call is refused or stays as it is."""
        update = self.merged.updated_input
        if self.told.denies or self.told.updated_input is None or update == getattr(self.event, "tool_input", None):
            return None
        return update


def judge(hooks: Hooks, event: Event, case: Case, *, online: bool = False) -> Judgement:
    agent = case.agent or ASKED_BY
    answered = Hooks(
        [_answered(hook, case, online=online) for hook in hooks],
        problems=hooks.problems,
        setting=hooks.setting.but(asks_people=False),
    )
    answered.stops = None
    merged = answered.fire_sync(event)
    _, heard = told(dialects.agent_half(agent), answered, event, merged)
    return Judgement(event=event, agent=agent, merged=merged, told=heard, hooks=answered)


class Said(Record):
    """In the place of a hook: what the case says that it says."""

    verdict: Verdict
    handler: Handler

    kind: ClassVar[str] = "said"

    def start(self, _hook: Hook, _event: Event, _setting: Setting) -> Call:
        return Call(dict, ())

    def conclude(self, _hook: Hook, _event: Event, _work: Any, _outcome: Any) -> Verdict:
        return self.verdict

    def describe(self) -> str:
        return self.handler.describe()

    def identity(self) -> tuple[object, ...]:
        return self.handler.identity()


class SaidByAPerson(Said):
    """Who is asked only about what the hook asks about."""

    kind: ClassVar[str] = "approval"

    def conclude(self, _hook: Hook, event: Event, _work: Any, _outcome: Any) -> Verdict:
        asks_about = getattr(self.handler, "asks_about", None)
        return self.verdict if asks_about is None or asks_about(event) else NONE


class Unasked(Said):
    """In the place of a hook that nobody has asked, and for whom nobody speaks."""


class Awaited(Record):
    """A hook that runs in the background, here waited for; it decides nothing all the same."""

    handler: Handler

    kind: ClassVar[str] = "awaited"

    def start(self, hook: Hook, event: Event, setting: Setting) -> Run | Call:
        return self.handler.start(hook.but(handler=self.handler), event, setting)

    def conclude(self, hook: Hook, event: Event, work: Any, outcome: Any) -> Verdict:
        self.handler.conclude(hook.but(handler=self.handler), event, work, outcome)
        return NONE

    def describe(self) -> str:
        return self.handler.describe()

    def identity(self) -> tuple[object, ...]:
        return ("awaited", *self.handler.identity())


def _answered(hook: Hook, case: Case, *, online: bool) -> Hook:
    kind, handler = hook.handler.kind, hook.handler
    if kind == "background":
        inner: Handler = handler.handler  # type: ignore[attr-defined]  # what it leaves running
        within = _answered(hook.but(handler=inner), case, online=online).handler
        aside = within if isinstance(within, Unasked) else Awaited(handler=within)
        return hook.but(handler=aside, on_error="allow")
    if kind == "approval":
        return hook.but(handler=SaidByAPerson(verdict=case.says.get(hook.name) or _person(case), handler=handler))
    if hook.name in case.says:
        return hook.but(handler=Said(verdict=case.says[hook.name], handler=handler))
    if kind in ELSEWHERE and not online:
        return hook.but(handler=Unasked(verdict=NONE, handler=handler))
    return hook


def _person(case: Case) -> Verdict:
    if case.approval == "allow":
        return allow()
    return deny('a person is asked here, and in this test refuses (approval = "allow" has them agree)')


def _is_unasked(hook: Hook) -> bool:
    return isinstance(hook.handler, Unasked)
