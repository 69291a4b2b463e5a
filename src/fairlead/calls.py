"""Call a hook that is a function in this process, within its time.

A blocking function runs in a thread that is left behind when its time is over. A coroutine takes its first
step at once, since most are done after it, and gets a timer only when it has to wait.
"""

from __future__ import annotations

from fairlead.hooks import HookFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from fairlead.work import Call

CANCEL_GRACE = 0.2
"""Seconds that a coroutine has to tidy up when its time is over."""


async def perform(call: Call) -> Any:
    """What the function returns; raises what it raises, as an Exception."""
    try:
        unlimited = call.timeout is None and not call.in_thread
        value = call.function(*call.arguments) if unlimited else _limited(call)
        return await value if hasattr(value, "__await__") else value
    except BaseException as error:
        if call.cancellation is not None:
            call.cancellation.set()
        if _is_for_us(error):
            raise
        raise as_exception(error) from None


def _is_for_us(error: BaseException) -> bool:
    """Whether somebody wants the event to end; anything else is the hook's own way to fail."""
    import asyncio
    import threading

    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or bool(task.cancelling())
    if isinstance(error, KeyboardInterrupt):
        return threading.current_thread() is threading.main_thread()
    return isinstance(error, GeneratorExit)


def _limited(call: Call) -> Any:
    if call.in_thread:
        return _in_thread(call)
    assert call.timeout is not None  # noqa: S101  # for mypy
    return _within(call.timeout, call.function(*call.arguments))


async def _within(seconds: float, coroutine: Any) -> Any:
    """Most hooks are done after their first step, and need no timer."""
    try:
        waits_for = coroutine.send(None)
    except StopIteration as done:
        return done.value
    import asyncio

    async with asyncio.timeout(seconds):
        return await _Rest(coroutine, waits_for)


class _Rest:
    """What is left of a coroutine that has taken its first step. One that will not be cancelled is left behind."""

    __slots__ = ("_coroutine", "_insists", "_waits_for")

    def __init__(self, coroutine: Any, waits_for: Any) -> None:
        self._coroutine = coroutine
        self._waits_for = waits_for
        self._insists: Any = None

    def __await__(self) -> Generator[Any, Any, Any]:
        try:
            while True:
                try:
                    value = yield self._waits_for
                except BaseException as error:  # noqa: BLE001  # a cancellation, too, is the coroutine's to handle
                    self._waits_for = self._thrown(error)
                else:
                    self._waits_for = self._coroutine.send(value)
        except StopIteration as done:
            return done.value
        finally:
            if self._insists is not None:
                self._insists.cancel()

    def _thrown(self, error: BaseException) -> Any:
        import asyncio

        task = asyncio.current_task()
        if task is None or not isinstance(error, asyncio.CancelledError):
            return self._coroutine.throw(error)
        if self._insists is not None:
            task.uncancel()  # the one below; the first still stands
            _close(self._coroutine)
            raise error
        waits_for = self._coroutine.throw(error)
        self._insists = asyncio.get_running_loop().call_later(CANCEL_GRACE, task.cancel)
        return waits_for


def _close(coroutine: Any) -> None:
    try:
        coroutine.close()
    except RuntimeError:  # it ignores that too
        pass


async def _in_thread(call: Call) -> Any:
    import asyncio
    import contextvars
    import threading

    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(setter: Callable[[Any], None], value: Any) -> None:
        if not done.done():
            setter(value)

    def work() -> None:
        try:
            value = call.function(*call.arguments)
        except BaseException as error:  # noqa: BLE001  # handed over to the loop
            _tell(loop, settle, done.set_exception, as_exception(error))
        else:
            _tell(loop, settle, done.set_result, value)

    # A daemon thread: a function that never returns must not keep the process alive.
    threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True).start()
    async with asyncio.timeout(call.timeout):
        value = await done
        return await value if hasattr(value, "__await__") else value


def _tell(loop: Any, *arguments: Any) -> None:
    try:
        loop.call_soon_threadsafe(*arguments)
    except RuntimeError:  # the loop is gone: nobody waits any more
        pass


def as_exception(error: BaseException) -> Exception:
    if isinstance(error, Exception) and not isinstance(error, StopIteration):  # which no future can hold
        return error
    return HookFailed(f"{type(error).__name__}: {error}")
