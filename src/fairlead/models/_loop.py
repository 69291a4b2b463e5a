"""An event loop that leaves nothing behind which anybody has to wait for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future
    from typing import Any


def new_loop() -> AbstractEventLoop:
    """Looks names up in threads of its own: those of an executor are waited for when the process ends."""
    import asyncio

    loop = asyncio.SelectorEventLoop()
    loop.getaddrinfo = lambda *arguments, **named: _look_up(loop, arguments, named)  # type: ignore[method-assign]
    return loop


async def _look_up(loop: AbstractEventLoop, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    import socket
    import threading

    done: Future[Any] = loop.create_future()

    def work() -> None:
        try:
            found = socket.getaddrinfo(*arguments, **named)
        except (OSError, UnicodeError) as error:
            _tell(loop, done, done.set_exception, error)
        else:
            _tell(loop, done, done.set_result, found)

    threading.Thread(target=work, daemon=True).start()
    return await done


def _tell(loop: AbstractEventLoop, done: Future[Any], setter: Any, value: Any) -> None:
    try:
        loop.call_soon_threadsafe(lambda: done.done() or setter(value))
    except RuntimeError:  # closed: nobody waits any more
        pass
