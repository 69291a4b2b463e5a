"""Each published weakness has what was taken out to see its test fail."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs/verification.md").read_text()
TABLE = PAGE.partition("## Published weaknesses of others")[2].partition("\n## ")[0]
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")] for line in TABLE.splitlines() if line.startswith("| `")
]
WITHOUT_NUMBER = ("TrustFall", "Lies-in-the-Loop", "SymJack", "OpenClaw 2026.2.26", "CmdNeedle")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_weakness_says_what_was_taken_out(row: list[str]) -> None:
    assert len(row) == 4
    assert all(row)


@pytest.mark.parametrize("name", WITHOUT_NUMBER)
def test_those_without_a_number_have_tests_that_say_their_names(name: str) -> None:
    (row,) = [row for row in ROWS if row[0] == f"`{name}`"]
    assert re.search(r"test_\w+", row[2])
