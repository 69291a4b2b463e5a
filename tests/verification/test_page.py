"""The page of claims names tests that there are, commands that there are, and leaves nothing out."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/verification.md").read_text()
ROWS = {row[0]: row for row in re.findall(r"^\| `([^`]+)` \|([^\n]*)$", PAGE, re.MULTILINE)}
PLAN = [
    f"{letter}{number}"
    for letter, most in {"R": 11, "D": 9, "L": 8, "T": 5, "G": 4, "W": 7, "F": 5, "S": 1}.items()
    for number in range(1, most + 1)
]
ADVISORIES = """
CVE-2021-42574 CVE-2025-24010 CVE-2025-49596 CVE-2025-52882 CVE-2025-54136 CVE-2025-54794 CVE-2025-54795 CVE-2025-59536
CVE-2025-59944 CVE-2025-61260 CVE-2025-66414 CVE-2025-66416 CVE-2026-11624 CVE-2026-21852 CVE-2026-22708 CVE-2026-22812
CVE-2026-22813 CVE-2026-25724 CVE-2026-25725 CVE-2026-26268 CVE-2026-27780 CVE-2026-29607 CVE-2026-29783 CVE-2026-33068
CVE-2026-39861 CVE-2026-46406 CVE-2026-50549 GHSA-77g9-363w-rccq GHSA-796m-2973-wc5q GHSA-g8r9-g2v8-jv6f
GHSA-vg6x-rcgg-rjx6 GHSA-xww8-gqvh-92x9
""".split()
ANCHORS = re.compile(r"CVE-\d{4}-\d{4,}|GHSA(?:-[a-z0-9]{4}){3}|[a-z-]+#\d+")


@cache
def functions(file: str) -> dict[str, str]:
    """Each test of a file, and its text."""
    text = (ROOT / "tests" / file).read_text()
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {node.name: ast.get_source_segment(text, node) or "" for node in found if node.name.startswith("test_")}


def named_by(row: str) -> list[tuple[str, str]]:
    return re.findall(r"`([\w/]+\.py)::(test_\w+)`", ROWS[row][1])


@pytest.mark.parametrize("row", [*PLAN, *ADVISORIES])
def test_it_has_every_row(row: str) -> None:
    assert row in ROWS


@pytest.mark.parametrize("row", ROWS)
def test_a_row_names_tests_that_there_are(row: str) -> None:
    for file, name in named_by(row):
        assert name in functions(file), (row, file, name)


@pytest.mark.parametrize("row", [row for row in ROWS if ANCHORS.fullmatch(row)])
def test_a_weakness_has_a_test_that_says_its_name(row: str) -> None:
    """In its own text, or in the cases that it is given."""
    named = named_by(row)
    assert named
    for file, name in named:
        cases = (ROOT / "tests" / file).read_text() if "repositories" in file else ""
        assert row in functions(file)[name] + cases, (row, name)


@pytest.mark.parametrize("row", [row for row in PLAN if "scripts/soak" in ROWS.get(row, ("", ""))[1]])
def test_a_long_form_can_be_run_alone(row: str) -> None:
    assert f"`scripts/soak {row}`" in ROWS[row][1]
    assert re.search(rf"^(?:{row} \d+ |    {row}\))", (ROOT / "scripts/soak").read_text(), re.MULTILINE)


def test_a_count_is_a_number_or_says_that_it_is_none() -> None:
    cells = {row: [cell.strip() for cell in ROWS[row][1].split("|")] for row in PLAN}
    assert [row for row, found in cells.items() if found[3] and not re.search(r"\d|not run yet", found[4])] == []
