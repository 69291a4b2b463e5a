"""`python` functions: in this process, sync or async."""

from __future__ import annotations

from fairlead import dialects
from fairlead._record import Record
from fairlead.errors import UsageError
from fairlead.hooks import Cancellation, HookContext, HookFailed
from fairlead.verdicts import NONE, Verdict
from fairlead.work import Call, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar

    from fairlead.events import Event
    from fairlead.hooks import Hook, Setting
    from fairlead.work import Run


class Function(Record):
    """A callable that gets the event, and a `HookContext` if it wants one."""

    function: Callable[..., Any]
    takes_context: bool = False
    is_async: bool = False

    kind: ClassVar[str] = "python"

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Function:
        """Raises UsageError for what cannot be called with an event."""
        return cls(function=function, takes_context=takes_context(function), is_async=is_async(function))

    def start(self, hook: Hook, event: Event, setting: Setting) -> Call:
        signal = Cancellation() if self.takes_context else None
        arguments = (event,) if signal is None else (event, _context(event, setting, signal))
        limit = hook.timeout if setting.deadline is None else setting.limit(hook.timeout)
        if limit is None and signal is None:
            return Call(self.function, arguments)
        return Call(
            self.function,
            arguments,
            timeout=limit,
            in_thread=limit is not None and not self.is_async,
            cancellation=signal,
        )

    def conclude(self, hook: Hook, event: Event, _work: Call, outcome: Any) -> Verdict:
        if outcome is None:
            return NONE
        if isinstance(outcome, Verdict):
            return outcome
        return dialects.hook_half(hook.origin.dialect).read_value(hook, event, outcome)

    def describe(self) -> str:
        return _name_of(self.function)

    def identity(self) -> tuple[object, ...]:
        return (self.kind, id(self.function))


class Named(Record):
    """A function that a configuration file names. Imported when it is called, never before."""

    target: str
    """`package.module:function` or `package.module.function`"""
    roots: tuple[str, ...] = ()
    """Directories whose modules can be imported too, after everybody else's."""
    apart: bool = False
    """In a process of its own."""

    kind: ClassVar[str] = "python"

    def start(self, hook: Hook, event: Event, setting: Setting) -> Run | Call:
        if self.apart:
            from fairlead import apart

            return apart.run(self, hook, event, setting)
        function = self.load()
        own = hook.origin.dialect == "fairlead"
        try:
            given = Function.of(function) if own else Function(function=function, is_async=is_async(function))
        except UsageError as error:
            raise HookFailed(str(error)) from None
        call = given.start(hook, event, setting)
        if not own:
            call.arguments = (own_input(hook, event, setting),)
        call.in_thread = not given.is_async
        return call

    def load(self) -> Callable[..., Any]:
        module, _, name = self.target.replace(":", ".").rpartition(".")
        for root in self.roots:
            _make_importable(root)
        try:
            function = getattr(__import__(module, fromlist=[name]), name)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # importing runs a stranger's code
            raise HookFailed(f"cannot import {self.target}: {type(error).__name__}: {error}") from None
        if not callable(function):
            raise HookFailed(f"{self.target} is not a function")
        return function  # type: ignore[no-any-return]

    def conclude(self, hook: Hook, event: Event, _work: Run | Call, outcome: Any) -> Verdict:
        if isinstance(outcome, Result):
            from fairlead import apart

            outcome = apart.value(outcome)
        return dialects.hook_half(hook.origin.dialect).read_value(hook, event, outcome)

    def describe(self) -> str:
        return self.target

    def identity(self) -> tuple[object, ...]:
        return (self.kind, self.target)


def _make_importable(root: str) -> None:
    import sys

    if root and root not in sys.path:
        sys.path.append(root)  # last: it must not hide what others import


def is_async(function: Callable[..., Any]) -> bool:
    from inspect import iscoroutinefunction, unwrap

    function = unwrap(function)
    return iscoroutinefunction(function) or iscoroutinefunction(getattr(type(function), "__call__", None))  # noqa: B004


def takes_context(function: Callable[..., Any]) -> bool:
    """Whether it wants a `HookContext` after the event: a second argument without a default, or named so."""
    from inspect import Parameter, signature

    try:
        parameters = list(signature(function).parameters.values())
    except (TypeError, ValueError):  # some builtins do not say
        return False
    places = [p for p in parameters if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in places if p.default is Parameter.empty]
    rest = any(p.kind is Parameter.VAR_POSITIONAL for p in parameters)
    words = [p.name for p in parameters if p.kind is Parameter.KEYWORD_ONLY and p.default is Parameter.empty]
    if len(needed) > 2 or words or not (places or rest):
        raise UsageError(
            f"{_name_of(function)}{signature(function)} cannot be a hook",
            hint="a hook is called with the event, and with a HookContext if it has a second argument",
        )
    return len(needed) == 2 or (len(places) > 1 and places[1].name.lstrip("_") in ("context", "ctx"))


def _name_of(function: Callable[..., Any]) -> str:
    from inspect import unwrap

    function = unwrap(function)
    while hasattr(function, "func"):  # functools.partial
        function = function.func
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


def _context(event: Event, setting: Setting, signal: Cancellation) -> HookContext:
    return HookContext(
        session_id=event.session_id, cwd=event.cwd or setting.project, env=setting.environ, cancellation=signal
    )


def own_input(hook: Hook, event: Event, setting: Setting) -> object:
    """The hook's input in its own dialect, as a dict."""
    from fairlead import wire

    return wire.decode(dialects.hook_half(hook.origin.dialect).hook_input(hook, event, setting).stdin)
