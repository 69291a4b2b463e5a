"""python -m benchmarks [NAME…] [--rounds N] [--check] [--write]"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import approvals, functions, guard, journal, relay, scripts, spawning, starting
from benchmarks.measure import Suite

SUITES = {
    "spawning": (spawning.run, 200),
    "functions": (functions.run, 60),
    "scripts": (scripts.run, 60),
    "starting": (starting.run, 25),
    "relay": (relay.run, 60),
    "guard": (guard.run, 60),
    "journal": (journal.run, 20),
    "approvals": (approvals.run, 1000),
    "approvals-postgres": (approvals.run_postgres, 1000),
}
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure Fairlead beside its floor and its peers."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of: {', '.join(SUITES)}")
    parser.add_argument("--rounds", type=int, help="turns of each contender")
    parser.add_argument("--check", action="store_true", help="exit 1 when a limit is broken")
    parser.add_argument("--write", action="store_true", help="renew docs/benchmarks.md")
    options = parser.parse_args()
    suites: list[Suite] = []
    for name in options.names or SUITES:
        run, rounds = SUITES[name]
        suites += run(options.rounds or rounds)
    text = "\n".join(_table(suite) for suite in suites)
    print(text)
    if options.write:
        PAGE.write_text(_HEAD.format(python=platform.python_version(), cores=os.cpu_count()) + text)
    broken = [claim for suite in suites for claim in suite.claims if not claim.holds]
    return 1 if broken and options.check else 0


_HEAD = """# Benchmarks

Made by `scripts/bench --write` on Python {python}, {cores} cores. Compare the ratios, not the times: every
contender takes one turn in each round, and a ratio is the median over the rounds.

"""


def _table(suite: Suite) -> str:
    lines = [f"## {suite.title}", "", f"| | median {suite.unit_name} | best {suite.unit_name} |", "|---|---|---|"]
    lines += [f"| {f.name} | {f.median * suite.unit:.2f} | {f.best * suite.unit:.2f} |" for f in suite.figures]
    lines += ["", "| claim | ratio | limit | |", "|---|---|---|---|", *_claims(suite), ""]
    return "\n".join(lines)


def _claims(suite: Suite) -> Sequence[str]:
    return [
        f"| {claim.text} | {claim.ratio:.2f} | {claim.limit:.2f} | {'holds' if claim.holds else '**broken**'} |"
        for claim in suite.claims
    ]


if __name__ == "__main__":
    sys.exit(main())
