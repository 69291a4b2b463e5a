"""The pages name every rule that exists, and no rule that does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fairlead.guard
from fairlead.guard import PACKS

DOCS = Path(__file__).parents[2] / "docs" / "guard"
SOURCE = Path(fairlead.guard.__file__).parent
NAME = rf"((?:{'|'.join([*PACKS, 'guard'])})\.[a-z]+(?:-[a-z]+)*)"
COMPOSED = {
    "filesystem.delete-root", "filesystem.delete-home", "filesystem.delete-device", "network.listen", "network.proxy",
    "network.reverse-tunnel", "network.browser",
}  # fmt: skip


def rules_in_source() -> set[str]:
    return {rule for path in SOURCE.rglob("*.py") for rule in re.findall(f'"{NAME}"', path.read_text())} | COMPOSED


def rules_in_docs() -> set[str]:
    return {rule for path in DOCS.glob("*.md") for rule in re.findall(f"`{NAME}`", path.read_text())}


def test_every_rule_is_documented() -> None:
    assert rules_in_source() - rules_in_docs() - {"guard.read-only"} == set()


def test_no_page_names_a_rule_that_does_not_exist() -> None:
    assert rules_in_docs() - rules_in_source() == set()


@pytest.mark.parametrize("pack", PACKS)
def test_every_pack_has_its_page(pack: str) -> None:
    assert (DOCS / f"{pack}.md").exists()
    assert f"[{pack}]({pack}.md)" in (DOCS / "README.md").read_text()
