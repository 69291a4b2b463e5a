"""The other end of `measure.Worker`."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable

EVENTS = 5
"""In each turn, one after the other: an agent's tool calls come in bursts."""


def serve(turn: Callable[[], Awaitable[object]]) -> None:
    async def loop() -> None:
        for _ in sys.stdin:
            started = time.perf_counter()
            for _ in range(EVENTS):
                await turn()
            print((time.perf_counter() - started) / EVENTS, flush=True)

    asyncio.run(loop())


def serve_blocking(turn: Callable[[], object]) -> None:
    for _ in sys.stdin:
        started = time.perf_counter()
        for _ in range(EVENTS):
            turn()
        print((time.perf_counter() - started) / EVENTS, flush=True)
