"""What `fairlead` offers: `__all__`, reality and the documentation say the same."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import fairlead

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "docs" / "library.md"


def imported() -> set[str]:
    tree = ast.parse(Path(fairlead.__file__).read_text())
    return {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module != "__future__"
        for alias in node.names
    }


def test_all_is_what_is_there() -> None:
    assert set(fairlead.__all__) == imported()
    assert all(hasattr(fairlead, name) for name in fairlead.__all__)


def test_all_is_in_order_and_without_doubles() -> None:
    assert len(set(fairlead.__all__)) == len(fairlead.__all__)
    assert fairlead.__all__ == sorted(fairlead.__all__)


@pytest.mark.parametrize("name", fairlead.__all__)
def test_every_name_is_documented(name: str) -> None:
    assert re.search(rf"(?<!\w){re.escape(name)}(?!\w)", LIBRARY.read_text()), f"{name} is not in docs/library.md"


def test_every_event_is_offered() -> None:
    from fairlead.events import EVENTS

    assert set(EVENTS) <= set(fairlead.__all__)
