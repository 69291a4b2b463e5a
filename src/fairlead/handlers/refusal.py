"""In the place of what has to be there and is not: it refuses, and says why."""

from __future__ import annotations

from fairlead._record import Record
from fairlead.verdicts import deny
from fairlead.work import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

    from fairlead.events import Event
    from fairlead.hooks import Hook, Setting
    from fairlead.verdicts import Verdict


class Refusal(Record):
    reason: str
    """With what to do about it."""

    kind: ClassVar[str] = "refusal"

    def start(self, _hook: Hook, _event: Event, _setting: Setting) -> Call:
        return Call(bool, ())

    def conclude(self, _hook: Hook, _event: Event, _work: Call, _outcome: object) -> Verdict:
        return deny(self.reason)

    def describe(self) -> str:
        return f"refuses: {self.reason}"

    def identity(self) -> tuple[object, ...]:
        return (self.kind, self.reason)
