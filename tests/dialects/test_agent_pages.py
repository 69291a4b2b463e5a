"""The pages of agents say what their halves do."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from fairlead.dialects import module_name

PAGES = Path(__file__).resolve().parents[2] / "docs" / "dialects"
AGENTS = ["junie", "grok", "openhands", "hermes", "vibe", "antigravity", "opencode", "kilo", "amp"]
ROW = re.compile(r"^\| (`[^|]+`) \| ([^|]+) \| ?([^|]*)\|$", re.MULTILINE)


def half(agent: str) -> Any:
    return importlib.import_module(f"fairlead.dialects.{module_name(agent)}")


def table(agent: str) -> list[tuple[list[str], str, set[str]]]:
    """Rows of `| its events | ours | what it honours |`."""
    text = (PAGES / f"{agent}.md").read_text()
    part = text.partition("| its event | ours | honours |")[2].partition("\n\n")[0]
    rows = ROW.findall(part)
    return [
        (re.findall(r"`([^`]+)`", own), ours.strip().strip("`"), {word for word in honours.strip().split(", ") if word})
        for own, ours, honours in rows
    ]


@pytest.mark.parametrize("agent", AGENTS)
def test_the_page_lists_every_event_and_what_is_honoured_there(agent: str) -> None:
    rows, dialect = table(agent), half(agent)
    assert {own for names, _, _ in rows for own in names} == set(dialect.EVENTS)
    for names, ours, honours in rows:
        for own in names:
            expected = own if ours == "the same" else ours
            assert dialect.EVENTS[own] == expected or expected == "PostToolUseFailure"
            assert honours == dialect.CAN.get(expected, dialect.CAN["*"])


@pytest.mark.parametrize("agent", AGENTS)
def test_the_page_names_every_tool(agent: str) -> None:
    page = (PAGES / f"{agent}.md").read_text() + ((PAGES / "opencode.md").read_text() if agent == "kilo" else "")
    missing = {tool.own for tool in half(agent).TOOLS.tools if not re.search(rf"\b{re.escape(leaf(tool.own))}\b", page)}
    assert missing == set()


def leaf(name: str) -> str:
    return name.rpartition(".")[2]
