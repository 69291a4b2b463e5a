"""An agent's page beside its half: events, tools, and what it honours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGES = Path(__file__).resolve().parents[2] / "docs" / "dialects"
ROW = re.compile(r"^\| (`[^|]+`) \|(?: ([^|]+) \|)? ?([^|]*)\|$", re.MULTILINE)


def named(agent: str) -> set[str]:
    """Everything that stands in backticks."""
    return set(re.findall(r"`([^`\n]+)`", (PAGES / f"{agent}.md").read_text()))


def honoured(agent: str) -> Iterator[tuple[str, set[str]]]:
    """Each event of the first table, with what the page says is honoured there."""
    table = (PAGES / f"{agent}.md").read_text().partition("honours |\n")[2].partition("\n\n")[0]
    for own, _, honours in ROW.findall(table):
        for name in re.findall(r"`([^`]+)`", own):
            yield name, {word for word in honours.strip().split(", ") if word}


def missing(agent: str, half: Any) -> set[str]:
    """Events and tools of the half that the page does not name."""
    return {*half.EVENTS, *(tool.own for tool in half.TOOLS.tools)} - named(agent)


def misprinted(agent: str, half: Any, less: frozenset[str] = frozenset()) -> dict[str, set[str]]:
    """Events of which the page says something else than the half; `less` can do no more than refuse or nothing."""
    return {
        name: said
        for name, said in honoured(agent)
        if name not in less and said != half.CAN.get(half.EVENTS[name], half.CAN["*"])
    }
