"""The specification documents, taken apart into their code blocks."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import SHARED, Home


class Document:
    """One of the documents; its blocks are counted from 0, in the order in which they are printed."""

    def __init__(self, text: str) -> None:
        found = re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        self.languages = [language for language, _ in found]
        self.blocks: list[str] = [block for _, block in found]

    def __getitem__(self, number: int) -> str:
        return self.blocks[number]

    def __len__(self) -> int:
        return len(self.blocks)


def document(number: str) -> Document:
    folder = SHARED / "seeds"
    files = sorted(folder.glob(f"{number}_*.txt"))
    if not files:
        pytest.skip(f"the document {number} is not beside the project")
    return Document(files[0].read_text())


class Bin:
    """Programs of our own, before all others on PATH."""

    def __init__(self, place: Home) -> None:
        self._place = place
        self.folder = place.home / "stubs"
        place.environ["PATH"] = f"{self.folder}:{place.environ['PATH']}"

    def __call__(self, name: str, body: str) -> Path:
        return self._place.script(f"~/stubs/{name}", body)


@pytest.fixture
def stub(place: Home) -> Callable[[str, str], Path]:
    return Bin(place)
