"""The same for the pages of these agents."""

from __future__ import annotations

import re

import pytest

from tests.dialects.test_agent_pages import PAGES, half, table

AGENTS = ["devin", "cline", "droid", "kiro", "augment", "goose", "crush", "kimi"]


@pytest.mark.parametrize("agent", AGENTS)
def test_the_page_lists_every_event_and_what_is_honoured_there(agent: str) -> None:
    rows, dialect = table(agent), half(agent)
    assert {own for names, _, _ in rows for own in names} == set(dialect.EVENTS)
    for names, ours, honours in rows:
        for own in names:
            assert dialect.EVENTS[own] == (own if ours == "the same" else ours)
            assert honours == dialect.CAN.get(dialect.EVENTS[own], dialect.CAN["*"]), own


@pytest.mark.parametrize("agent", AGENTS)
def test_the_page_names_every_tool(agent: str) -> None:
    page = (PAGES / f"{agent}.md").read_text()
    names = {tool.own.removeprefix("developer__") for tool in half(agent).TOOLS.tools}
    assert {name for name in names if not re.search(rf"(\b|_){re.escape(name)}\b", page)} == set()
