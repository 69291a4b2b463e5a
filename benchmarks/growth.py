"""How it grows: with hooks that are configured, with the size of an event, with events at once, with time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from benchmarks import functions, warm
from benchmarks.measure import Claim, Figure, Suite, interleave, whole_process
from fairlead import Hooks, PreToolUse

HOOKS = (3, 10, 100, 1000)
MATCH = 3
SIZES = {"1 KB": 1_000, "10 KB": 10_000, "100 KB": 100_000, "1 MB": 1_000_000, "10 MB": 10_000_000}
AT_ONCE = (1, 4, 16, 64)
EVENTS_AT_ONCE = 128
THOUSAND_OVER_THREE = 1.3
EACH_AT_64_OVER_ONE = 1.5
GROWN = 1.1
_EVENTS = 10


def run(rounds: int) -> list[Suite]:
    return [_hooks(rounds), _sizes(max(2, rounds // 3)), _at_once(max(2, rounds // 3))]


# --- hooks ------------------------------------------------------------------------------------------------


def _hooks(rounds: int) -> Suite:
    """Three of them match, the others are for other tools."""
    with ExitStack() as stack, asyncio.Runner() as runner:
        turns: dict[str, Callable[[], float]] = {}
        event = PreToolUse(session_id="s", tool_name="Bash", tool_input={"command": "ls"})
        for count in HOOKS:
            turns[f"library, functions: {count}"] = functions.turn(runner, _functions(count), event)
            home = stack.enter_context(warm.home_with(_config(count)))
            server = stack.enter_context(warm.server_in(home))
            line = stack.enter_context(warm.open_line(server.port))
            call = warm.call("Bash", {"command": "ls"}, home / "project")
            turns[f"warm http, /bin/true: {count}"] = warm.by_the_clock(line, server.post(call), _EVENTS)
            turns[f"fairlead hook, no server, /bin/true: {count}"] = whole_process(
                warm.COLD, warm.environment(home), call
            )
        figures = interleave(turns, rounds, warm_up=2)
    kinds = ("library, functions", "warm http, /bin/true")
    claims = [
        Claim(
            f"1,000 hooks of which three match, against three: {kind.partition(',')[0]}",
            figures[f"{kind}: 1000"],
            figures[f"{kind}: {MATCH}"],
            THOUSAND_OVER_THREE,
        )
        for kind in kinds
    ]
    title = "hooks that are configured, of which three match, one event"
    return Suite(title, 1e3, "ms", list(figures.values()), claims, plot="lines")


def _functions(count: int) -> Hooks:
    hooks = Hooks()
    for number in range(count):
        tool = "Bash" if number < MATCH else f"Tool{number}"
        hooks.on("PreToolUse", tool=tool, name=f"nothing{number}")(functions.nothing)
    return hooks


def _config(count: int) -> str:
    return "".join(
        f'[[hook]]\non = "PreToolUse"\ntool = "{"Bash" if number < MATCH else f"Tool{number}"}"\n'
        f'run = ["/bin/true", "{number}", "x"]\n'
        for number in range(count)
    )


# --- sizes ------------------------------------------------------------------------------------------------


def _sizes(rounds: int) -> Suite:
    with ExitStack() as stack:
        home = stack.enter_context(warm.home_with(""))
        server = stack.enter_context(warm.server_in(home))
        line = stack.enter_context(warm.open_line(server.port))
        _, port = stack.enter_context(warm.beside("trivial_http.py"))
        trivial = stack.enter_context(warm.open_line(int(port)))
        relay = [warm.compiled(home, warm.SOURCES / "relay.c"), server.socket, *warm.COLD]
        turns: dict[str, Callable[[], float]] = {}
        for name, size in SIZES.items():
            event = _event_of(size, home)
            turns[f"a trivial handler: {name}"] = warm.by_the_clock(
                trivial, warm.http_request(int(port), "/", event, "k"), 1
            )
            turns[f"warm http: {name}"] = warm.by_the_clock(line, server.post(event), 1)
            turns[f"warm relay: {name}"] = whole_process(relay, warm.environment(home), event)
            turns[f"fairlead hook, no server: {name}"] = whole_process(warm.COLD, warm.environment(home), event)
        figures = interleave(turns, rounds, warm_up=1)
    notes = ["Above 1 MiB the server lets a process of its own read the event, so that others do not wait."]
    title = "the size of an event that no hook looks at"
    return Suite(title, 1e3, "ms", list(figures.values()), [], notes, plot="lines")


def _event_of(size: int, home: Path) -> bytes:
    lines = "a line of the file that is written\n"
    return warm.call("Write", {"file_path": "/srv/a.txt", "content": lines * (size // len(lines))}, home / "project")


# --- at once ----------------------------------------------------------------------------------------------


def _at_once(rounds: int) -> Suite:
    """So many clients, each over a connection of its own; seconds for each event of all of them."""
    with ExitStack() as stack:
        home = stack.enter_context(warm.home_with(""))
        server = stack.enter_context(warm.server_in(home))
        _, port = stack.enter_context(warm.beside("trivial_http.py"))
        event = warm.call("Bash", {"command": "ls"}, home / "project")
        turns: dict[str, Callable[[], float]] = {}
        for count in AT_ONCE:
            theirs = [stack.enter_context(warm.open_line(int(port))) for _ in range(count)]
            ours = [stack.enter_context(warm.open_line(server.port)) for _ in range(count)]
            turns[f"a trivial handler: {count}"] = _all_of(theirs, warm.http_request(int(port), "/", event, "k"))
            turns[f"warm http: {count}"] = _all_of(ours, server.post(event))
        figures = interleave(turns, rounds, warm_up=1)
    claims = [
        Claim(
            "64 events at once, each, against one after the other",
            figures["warm http: 64"],
            figures["warm http: 1"],
            EACH_AT_64_OVER_ONE,
        )
    ]
    return Suite(
        "events at once: milliseconds for each of them", 1e3, "ms", list(figures.values()), claims, plot="lines"
    )


def _all_of(lines: list[warm.Line], request: bytes) -> Callable[[], float]:
    return lambda: warm.together(lines, request, EVENTS_AT_ONCE)


# --- with time --------------------------------------------------------------------------------------------


def run_memory(events: int) -> list[Suite]:
    """So many events; the memory after a tenth of them, beside that at the end."""
    with ExitStack() as stack:
        home = stack.enter_context(warm.home_with('guard = "all"\n'))
        server = stack.enter_context(warm.server_in(home))
        line = stack.enter_context(warm.open_line(server.port))
        taken: list[tuple[int, float]] = []
        for number in range(events):
            line.ask(
                server.post(warm.call("Bash", {"command": f"ls {number}"}, home / "project", session_id=str(number)))
            )
            if (number + 1) % max(1, events // 10) == 0:
                taken.append((number + 1, server.megabytes))
    figures = [Figure(f"memory: {number:,}", [megabytes]) for number, megabytes in taken]
    claim = Claim(f"memory after {events:,} events, against a tenth of them", figures[-1], figures[0], GROWN)
    return [Suite(f"memory of the server over {events:,} events", 1.0, "MB", figures, [claim], plot="lines")]
