"""Hooks that are functions in the caller's process, beside calling them without an engine."""

from __future__ import annotations

import asyncio
import time

from benchmarks.measure import Claim, Figure, Suite, interleave
from fairlead import Event, Hooks, PreToolUse

EVENTS = 200
LIMIT_PER_HOOK = 5e-6


async def nothing(_event: Event) -> None:
    return None


def run(rounds: int) -> list[Suite]:
    event = PreToolUse(session_id="s", tool_name="Bash", tool_input={"command": "ls"})
    with asyncio.Runner() as runner:
        contenders = {
            f"{count} hook{'s' if count > 1 else ''}": turn(runner, _hooks(count), event) for count in (1, 10)
        }
        figures = interleave({"bare call": _bare(runner, event), **contenders}, rounds, warm_up=5)
    ten, one = figures["10 hooks"], figures["bare call"]
    each = Figure(
        "10 hooks, each, over the bare call", [(a / 10 - b) for a, b in zip(ten.times, one.times, strict=True)]
    )
    limit = Figure("5 µs", [LIMIT_PER_HOOK] * len(each.times))
    claims = [Claim("a function hook over the bare call, against 5 µs", each, limit, 1.0)]
    return [Suite("async function hooks, one event", 1e6, "µs", [*figures.values(), each], claims)]


def _hooks(count: int) -> Hooks:
    hooks = Hooks()
    for number in range(count):
        hooks.on("PreToolUse", tool="Bash", name=f"nothing{number}")(nothing)
    return hooks


def turn(runner: asyncio.Runner, hooks: Hooks, event: Event):  # type: ignore[no-untyped-def]  # a closure
    async def many() -> float:
        started = time.thread_time()
        for _ in range(EVENTS):
            await hooks.fire(event)
        return (time.thread_time() - started) / EVENTS

    return lambda: runner.run(many())


def _bare(runner: asyncio.Runner, event: Event):  # type: ignore[no-untyped-def]  # a closure
    async def many() -> float:
        started = time.thread_time()
        for _ in range(EVENTS):
            await nothing(event)
        return (time.thread_time() - started) / EVENTS

    return lambda: runner.run(many())
