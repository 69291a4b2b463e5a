"""Everything at once: agents that wait for people, and tool calls of others, which must not feel it."""

from __future__ import annotations

from contextlib import ExitStack, closing

from benchmarks import approvals, warm
from benchmarks.measure import Claim, Figure, Suite

LINES = 8
"""Agents that send events, each over a connection of its own."""
TURNS = 10
EVENTS = 500
"""In a turn, of all together."""
_EACH = 1 / 500
_MEGABYTES = 300.0


def run(count: int) -> list[Suite]:
    """So many agents wait."""
    with ExitStack() as stack:
        home = stack.enter_context(warm.home_with('guard = "all"\n'))
        server = stack.enter_context(warm.server_in(home))
        request = server.post(warm.call("Bash", {"command": "git status"}, home / "project"))
        alone = _turns(server, request)
        stack.enter_context(closing(approvals.Waiters(server, count)))
        crowded = _turns(server, request)
        megabytes = server.megabytes
    beside = Figure(f"an event, while {count:,} agents wait for an answer", crowded)
    claims = [
        Claim("500 events a second meanwhile", beside, Figure("", [_EACH] * TURNS), 1.0),
        Claim("memory with all of it, against 300 MB", Figure("", [megabytes]), Figure("", [_MEGABYTES]), 1.0),
    ]
    return [
        Suite("a crowd: events of 8 agents, guarded", 1e3, "ms", [Figure("an event", alone), beside], claims),
    ]


def _turns(server: warm.Server, request: bytes) -> list[float]:
    with ExitStack() as stack:
        lines = [stack.enter_context(warm.open_line(server.port)) for _ in range(LINES)]
        warm.together(lines, request, EVENTS)
        return [warm.together(lines, request, EVENTS) for _ in range(TURNS)]
