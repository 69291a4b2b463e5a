"""A hook that nobody waits for: it decides nothing, and what it says is told with a later event."""

from __future__ import annotations

from fairlead._record import Record
from fairlead.verdicts import NONE
from fairlead.work import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from fairlead.events import Event
    from fairlead.hooks import Handler, Hook, Setting
    from fairlead.verdicts import Verdict


class Background(Record):
    handler: Handler
    """What really answers, in a process of its own."""

    kind: ClassVar[str] = "background"

    def start(self, hook: Hook, event: Event, setting: Setting) -> Call:
        from fairlead import background

        return Call(background.launch, (hook.but(handler=self.handler), event, setting))

    def conclude(self, _hook: Hook, _event: Event, _work: Any, _outcome: Any) -> Verdict:
        return NONE

    def describe(self) -> str:
        return self.handler.describe()

    def identity(self) -> tuple[object, ...]:
        return (self.kind, *self.handler.identity())
