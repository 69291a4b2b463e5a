"""`python` functions: in this process, sync or async."""

from __future__ import annotations

from fairlead import dialects
from fairlead._record import Record
from fairlead.hooks import Call, Cancellation, HookContext, HookFailed
from fairlead.verdicts import NONE, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar

    from fairlead.events import Event
    from fairlead.hooks import Hook, Setting


class Function(Record):
    """A callable that gets the event, and a `HookContext` if it wants one."""

    function: Callable[..., Any]
    takes_context: bool = False
    is_async: bool = False

    kind: ClassVar[str] = "python"

    def start(self, hook: Hook, event: Event, setting: Setting) -> Call:
        return Call(
            self.function,
            (event, _context(event, setting)) if self.takes_context else (event,),
            timeout=setting.limit(hook.timeout),
            is_async=self.is_async,
            in_thread=hook.timeout is not None and not self.is_async,
        )

    def conclude(self, hook: Hook, event: Event, _work: Call, outcome: Any) -> Verdict:
        if outcome is None:
            return NONE
        if isinstance(outcome, Verdict):
            return outcome
        return dialects.hook_half(hook.origin.dialect).read_value(hook, event, outcome)

    def describe(self) -> str:
        return f"{self.function.__module__}.{getattr(self.function, '__qualname__', self.function)}"

    def identity(self) -> tuple[object, ...]:
        return (self.kind, id(self.function))


class Named(Record):
    """A function that a configuration file names. Imported when it is called, never before."""

    target: str
    """`package.module:function` or `package.module.function`"""

    kind: ClassVar[str] = "python"

    def start(self, hook: Hook, event: Event, setting: Setting) -> Call:
        function = self.load()
        return Call(
            function,
            (_argument(hook, event, setting),),
            timeout=setting.limit(hook.timeout),
            is_async=is_async(function),
            in_thread=not is_async(function),
        )

    def load(self) -> Callable[..., Any]:
        module, _, name = self.target.replace(":", ".").rpartition(".")
        try:
            function = getattr(__import__(module, fromlist=[name]), name)
        except Exception as error:  # noqa: BLE001  # importing runs a stranger's code
            raise HookFailed(f"cannot import {self.target}: {error}") from None
        if not callable(function):
            raise HookFailed(f"{self.target} is not a function")
        return function  # type: ignore[no-any-return]

    def conclude(self, hook: Hook, event: Event, _work: Call, outcome: Any) -> Verdict:
        return dialects.hook_half(hook.origin.dialect).read_value(hook, event, outcome)

    def describe(self) -> str:
        return self.target

    def identity(self) -> tuple[object, ...]:
        return (self.kind, self.target)


def is_async(function: Callable[..., Any]) -> bool:
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None and not isinstance(function, type):
        code = getattr(type(function).__dict__.get("__call__"), "__code__", None)
    return bool(code and code.co_flags & 0x80)  # inspect.CO_COROUTINE; importing inspect costs 15 ms


def takes_context(function: Callable[..., Any]) -> bool:
    """Whether it has room for a second argument."""
    method = getattr(function, "__func__", None)
    code = getattr(method or function, "__code__", None)
    if code is None:
        return False
    return code.co_argcount - (method is not None) >= 2 or bool(code.co_flags & 0x04)  # *args


def _context(event: Event, setting: Setting) -> HookContext:
    return HookContext(
        session_id=event.session_id,
        cwd=event.cwd or setting.project,
        env=setting.environ,
        cancellation=Cancellation(),
    )


def _argument(hook: Hook, event: Event, setting: Setting) -> object:
    """What a named function gets: the hook's input in its own dialect, as a dict; the event for ours."""
    if hook.origin.dialect == "fairlead":
        return event
    from fairlead import wire

    return wire.decode(dialects.hook_half(hook.origin.dialect).hook_input(hook, event, setting).stdin)
