"""python -m benchmarks [NAME…] [--rounds N] [--quick | --long] [--check | --write]"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks import (
    approvals,
    crowd,
    events,
    functions,
    growth,
    guard,
    journal,
    page,
    peers,
    relay,
    scripts,
    spawning,
    starting,
)
from benchmarks.measure import Suite


class Run(NamedTuple):
    measure: Callable[[int], list[Suite]]
    rounds: int
    quick: int
    """Rounds where somebody waits; 0 for what takes minutes all the same."""
    long: int = 0
    """Rounds where nobody does, if they are others."""


RUNS = {
    "events": Run(events.run, 60, 25),
    "peers": Run(peers.run, 40, 15),
    "spawning": Run(spawning.run, 200, 60),
    "functions": Run(functions.run, 60, 40),
    "growth": Run(growth.run, 30, 9),
    "memory": Run(growth.run_memory, 10_000, 2_000, 100_000),
    "scripts": Run(scripts.run, 60, 25),
    "starting": Run(starting.run, 25, 15),
    "relay": Run(relay.run, 60, 25),
    "guard": Run(guard.run, 60, 30),
    "journal": Run(journal.run, 20, 0),
    "approvals": Run(approvals.run, 1000, 0),
    "crowd": Run(crowd.run, 10_000, 0),
    "approvals-postgres": Run(approvals.run_postgres, 1000, 0),
}


def main(words: list[str] | None = None) -> int:
    options = _parser().parse_args(words)
    unknown = [name for name in options.names if name not in RUNS]
    if unknown:
        print(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(RUNS)}", file=sys.stderr)
        return 2
    before = page.read(options.recorded)
    found: page.Record = {}
    troubles: list[str] = []
    for name in options.names or [name for name, run in RUNS.items() if not options.quick or run.quick]:
        rounds = options.rounds or _rounds(RUNS[name], options)
        found[name] = _measured(name, rounds)
        if options.check:
            troubles += _confirmed(name, rounds, found[name], before.get(name, []))
    if options.write or not (options.names or options.check):
        page.write({**before, **found}, list(RUNS), options.recorded, options.docs)
    for trouble in troubles:
        print(f"worse: {trouble}", file=sys.stderr)
    return 1 if troubles else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure Fairlead beside its floor and its peers. Without a NAME all are measured, and "
        "docs/benchmarks.md is renewed; what is not measured stays as it was.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of: {', '.join(RUNS)}")
    parser.add_argument("--rounds", type=int, help="turns of each contender")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and not what takes minutes all the same")
    parser.add_argument("--long", action="store_true", help="memory over 100,000 events")
    parser.add_argument("--check", action="store_true", help="exit 1 when a limit is broken, or a ratio 15 %% worse")
    parser.add_argument("--write", action="store_true", help="renew docs/benchmarks.md with what was measured")
    parser.add_argument("--recorded", type=Path, default=page.RECORDED, help=argparse.SUPPRESS)  # for tests
    parser.add_argument("--docs", type=Path, default=page.DOCS, help=argparse.SUPPRESS)
    return parser


def _rounds(run: Run, options: argparse.Namespace) -> int:
    if options.quick:
        return run.quick or run.rounds
    return (run.long if options.long else 0) or run.rounds


def _measured(name: str, rounds: int) -> list[page.Record]:
    suites = page.as_record(RUNS[name].measure(rounds))
    for suite in suites:
        print(f"## {suite['title']}\n\n{page.table(suite)}", flush=True)
    return suites


def _confirmed(name: str, rounds: int, found: list[page.Record], before: list[page.Record]) -> list[str]:
    """What is still worse when it is measured once more: a neighbour on the machine is no regression."""
    first = page.troubles(found, before)
    if not first:
        return []
    claims = {trouble.rpartition(": ")[0] for trouble in first}
    again = page.troubles(_measured(name, rounds), before)
    return [trouble for trouble in again if trouble.rpartition(": ")[0] in claims]


if __name__ == "__main__":
    sys.exit(main())
