"""What each agent is told stands in tests/dialects/golden, for people to read; and it is what it is told."""

from __future__ import annotations

import json

import pytest

from fairlead.dialects import AGENT_HALVES
from tests.dialects import capabilities, goldens


@pytest.mark.parametrize("agent", AGENT_HALVES)
def test_every_answer_is_the_one_that_was_looked_at(agent: str) -> None:
    known = json.loads((goldens.FOLDER / f"{agent}.json").read_text())
    assert goldens.golden(agent) == known, "look at the change, then: python -m tests.dialects.goldens"


def test_there_is_a_file_for_every_agent_and_no_other() -> None:
    assert {path.stem for path in goldens.FOLDER.iterdir()} == set(AGENT_HALVES)


def test_the_documentation_prints_what_each_agent_can() -> None:
    text = capabilities.PAGE.read_text()
    assert capabilities.page(text) == text, "python -m tests.dialects.capabilities"
