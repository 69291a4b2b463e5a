"""Numbers in messages are written as people write them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fairlead.errors import plain

NUMBERS = {0: "0", 1.0: "1", 0.5: "0.5", 1000: "1000", 1e6: "1000000", 1234567.5: "1234567.5", 0.1 + 0.2: "0.3",
           86400 * 365.0: "31536000", -2.5: "-2.5", 2 / 3: "0.666667", float("inf"): "inf"}  # fmt: skip


@pytest.mark.parametrize(("number", "text"), NUMBERS.items())
def test_without_an_exponent(number: float, text: str) -> None:
    assert plain(number) == text


def test_no_message_has_one() -> None:
    source = Path(__file__).parents[1] / "src" / "fairlead"
    found = [str(path) for path in source.rglob("*.py") if re.search(r"[{].*:[.0-9]*[gGe]}", path.read_text("utf-8"))]
    assert found == []
