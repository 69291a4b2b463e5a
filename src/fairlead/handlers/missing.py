"""Handlers that cannot answer: they always fail, so that nothing is let through silently."""

from __future__ import annotations

from fairlead._record import Record
from fairlead.hooks import HookFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, NoReturn

    from fairlead.events import Event
    from fairlead.hooks import Hook, Setting


class Missing(Record):
    wanted: str
    text: str = ""

    kind: ClassVar[str] = "missing"

    def start(self, _hook: Hook, _event: Event, _setting: Setting) -> NoReturn:
        raise HookFailed(f"handlers of type {self.wanted!r} are not supported yet")

    def conclude(self, _hook: Hook, _event: Event, _work: Any, _outcome: Any) -> NoReturn:
        raise HookFailed(f"handlers of type {self.wanted!r} are not supported yet")

    def describe(self) -> str:
        return f"{self.wanted}: {self.text}"

    def identity(self) -> tuple[object, ...]:
        return (self.wanted, self.text)


class Unreadable(Record):
    """In the place of all hooks of a file that cannot be parsed: nobody knows what they would have refused."""

    problem: str

    kind: ClassVar[str] = "unreadable"

    def start(self, _hook: Hook, _event: Event, _setting: Setting) -> NoReturn:
        raise HookFailed(self.problem)

    def conclude(self, _hook: Hook, _event: Event, _work: Any, _outcome: Any) -> NoReturn:
        raise HookFailed(self.problem)

    def describe(self) -> str:
        return self.problem

    def identity(self) -> tuple[object, ...]:
        return (self.kind, self.problem)
