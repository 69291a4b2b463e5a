"""The other end of `measure.Worker`."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable


def serve(turn: Callable[[], Awaitable[object]]) -> None:
    async def loop() -> None:
        for _ in sys.stdin:
            started = time.perf_counter()
            await turn()
            print(time.perf_counter() - started, flush=True)

    asyncio.run(loop())


def serve_blocking(turn: Callable[[], object]) -> None:
    for _ in sys.stdin:
        started = time.perf_counter()
        turn()
        print(time.perf_counter() - started, flush=True)
