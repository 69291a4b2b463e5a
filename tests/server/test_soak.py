"""Every row of `scripts/soak` names tests that there are, and that are long forms."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = re.findall(r"^([A-Z]\d+) (\d+) (\S+) (.+)$", (ROOT / "scripts" / "soak").read_text(), re.MULTILINE)


@pytest.mark.parametrize(("row", "tests"), [(row[0], row[2]) for row in ROWS], ids=[row[0] for row in ROWS])
def test_a_row_names_long_forms_that_there_are(row: str, tests: str) -> None:
    for test in tests.split(","):
        path, _, name = test.partition("::")
        text = (ROOT / "tests" / path).read_text()
        marked = re.findall(r"@pytest\.mark\.soak\n(?:@.*\n|    .*\n|\)\n)*?def (\w+)", text)
        assert name in marked if name else marked, (row, test)


def test_the_rows_of_the_plan_are_there() -> None:
    assert {row[0] for row in ROWS} >= {"D1", "D4", "D5", "D6", "D7", "D8", "L3", "L7", "L8", "F3"}


@pytest.mark.parametrize("row", [row[0] for row in ROWS])
def test_the_page_on_reliability_names_the_row(row: str) -> None:
    assert f"`{row}`" in (ROOT / "docs" / "reliability.md").read_text()
