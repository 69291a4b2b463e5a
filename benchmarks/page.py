"""What was measured, kept in `recorded.json`; docs/benchmarks.md and its plots are made of it."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import plots
from benchmarks.measure import Suite

ROOT = Path(__file__).parent.parent
RECORDED = Path(__file__).parent / "recorded.json"
DOCS = ROOT / "docs"
WORSE = 1.15
"""A ratio that has grown by more is a regression."""
Record = dict[str, Any]
"""By the name of a run: its suites."""


def read(path: Path = RECORDED) -> Record:
    return json.loads(path.read_text()) if path.exists() else {}


def write(record: Record, order: Sequence[str], path: Path = RECORDED, docs: Path = DOCS) -> None:
    known = {name: record[name] for name in order if name in record}
    path.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n")
    images = docs / "images"
    images.mkdir(parents=True, exist_ok=True)
    for old in images.glob("benchmarks-*.svg"):
        old.unlink()
    text = _HEAD.format(python=platform.python_version(), cores=os.cpu_count())
    text += _summary(known) + "\n"
    for name, suites in known.items():
        for suite in suites:
            text += "\n" + _section(name, suite, images)
    (docs / "benchmarks.md").write_text(text)


def as_record(suites: Iterable[Suite]) -> list[Record]:
    return [_plain(suite) for suite in suites]


def _plain(suite: Suite) -> Record:
    figures = [
        {
            "name": figure.name,
            "median": _rounded(figure.median * suite.unit),
            "quartiles": [_rounded(value * suite.unit) for value in figure.quartiles],
        }
        for figure in suite.figures
    ]
    claims = [
        {"text": claim.text, "ratio": _rounded(claim.ratio), "limit": claim.limit, "watched": claim.is_recorded}
        for claim in suite.claims
    ]
    fields = {"title": suite.title, "unit": suite.unit_name, "plot": suite.plot}
    return {**fields, "figures": figures, "claims": claims, "notes": list(suite.notes)}


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def troubles(suites: Iterable[Record], before: Iterable[Record]) -> list[str]:
    """Claims that are broken, and ratios that have become worse."""
    known = {claim["text"]: claim for suite in before for claim in suite["claims"]}
    found = []
    for claim in (claim for suite in suites for claim in suite["claims"]):
        was = known.get(claim["text"])
        if _is_broken(claim):
            found.append(f"{claim['text']}: {claim['ratio']:.2f}, and its limit is {claim['limit']:.2f}")
        elif was and claim["watched"] and claim["ratio"] > was["ratio"] * WORSE:
            found.append(f"{claim['text']}: {claim['ratio']:.2f}, and it was {was['ratio']:.2f}")
    return found


def _is_broken(claim: Record) -> bool:
    return claim["limit"] is not None and bool(claim["ratio"] > claim["limit"])


# --- the page ---------------------------------------------------------------------------------------------

_HEAD = """# Benchmarks

Made by `make bench` on Python {python}, {cores} cores. Compare the ratios, not the times: every contender takes one
turn in each round, and a ratio is the median over the rounds. Beside each median stand the quartiles: half of all turns
lie between them. `make bench-check` measures again, and fails where a limit is broken or a ratio is more than 15 %
worse than here. Each peer does its own job, in an environment of its own that the benchmark installs below `.bench/`.

"""


def _summary(record: Record) -> str:
    claims = [claim for suites in record.values() for suite in suites for claim in suite["claims"]]
    limited = [claim for claim in claims if claim["limit"] is not None]
    broken = [claim for claim in limited if _is_broken(claim)]
    if not broken:
        return f"All {len(limited)} limits hold."
    lines = [f"{len(limited) - len(broken)} of {len(limited)} limits hold. Not held:", ""]
    lines += [f"- {claim['text']}: {claim['ratio']:.2f}, limit {claim['limit']:.2f}" for claim in broken]
    return "\n".join(lines)


def _section(name: str, suite: Record, images: Path) -> str:
    unit = suite["unit"]
    lines = [f"## {suite['title']}", ""]
    if suite["plot"] and suite["figures"]:
        file = f"benchmarks-{_slug(name + ' ' + suite['title'])}.svg"
        (images / file).write_text(plots.drawing(suite["title"], unit, suite["figures"], suite["plot"]))
        lines += [f"![{suite['title']}](images/{file})", ""]
    lines += [table(suite)]
    return "\n".join(lines)


def table(suite: Record) -> str:
    lines = [f"| | median {suite['unit']} | quartiles |", "|---|---|---|"]
    for row in suite["figures"]:
        first, third = row["quartiles"]
        lines.append(f"| {row['name']} | {_shown(row['median'])} | {_shown(first)} to {_shown(third)} |")
    if suite["claims"]:
        lines += ["", "| claim | ratio | limit | |", "|---|---|---|---|"]
    for claim in suite["claims"]:
        limit = "" if claim["limit"] is None else f"{claim['limit']:.2f}"
        holds = "**broken**" if _is_broken(claim) else "holds" if limit else "watched"
        lines.append(f"| {claim['text']} | {claim['ratio']:.2f} | {limit} | {holds} |")
    lines += [f"\n{note}" for note in suite["notes"]]
    return "\n".join(lines) + "\n"


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60].strip("-")
