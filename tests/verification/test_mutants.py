"""The tool that changes the code to see whether its tests notice."""

from __future__ import annotations

import ast
import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def script(name: str, file: str) -> ModuleType:
    spec = importlib.util.spec_from_loader(name, SourceFileLoader(name, str(ROOT / "scripts" / file)))
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def mutating() -> ModuleType:
    return script("mutating", "mutating.py")


@pytest.fixture(scope="module")
def mutants(mutating: ModuleType) -> ModuleType:
    assert mutating.changes
    path = list(sys.path)
    found = script("fairlead_mutants", "mutants")
    sys.path[:] = path
    return found


def test_every_module_and_every_test_that_is_named_is_there(mutants: ModuleType) -> None:
    for module, tests in mutants.TESTS.items():
        assert (ROOT / "src/fairlead" / module).is_file()
        assert all(list(ROOT.glob(f"{test.rstrip('/')}*")) for test in tests), module


def test_what_is_said_to_change_nothing_has_a_reason(mutants: ModuleType, mutating: ModuleType) -> None:
    """Whether it is still possible is for the tool to say, when it is run."""
    entries = mutating.equals(ROOT / "scripts/mutants.toml")
    assert len({(one.change, one.nth) for one in entries}) == len(entries)
    assert {one.change.partition(":")[0] for one in entries} <= set(mutants.TESTS)
    assert all(len(one.why.split()) > 3 for one in entries)


TEXT = """
TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
LIMIT = 3

class Some:
    flag: bool = True

    def one(self, a: int = 1) -> bool:
        if a > 2 and not self.flag:
            raise ValueError
        for b in range(a):
            if b:
                continue
            self.two()
        return a is None

    def two(self) -> None:
        return None
"""
EXPECTED = [
    "module: 3 → 4", "module: True → False", "module: 1 → 2",
    "Some.one: if a > 2 and (not self.flag) → if not (a > 2 and (not self.flag))",
    "Some.one: a > 2 and (not self.flag) → a > 2 or not self.flag", "Some.one: a > 2 and (not self.flag) → a > 2",
    "Some.one: a > 2 → a >= 2", "Some.one: 2 → 3", "Some.one: not self.flag → self.flag",
    "Some.one: raise ValueError → pass", "Some.one: if b → if not b", "Some.one: continue → break",
    "Some.one: self.two() → pass", "Some.one: return a is None → return None", "Some.one: a is None → a is not None",
]  # fmt: skip


def test_a_module_is_changed_in_one_place_at_a_time(mutating: ModuleType) -> None:
    found = list(mutating.mutants("m.py", TEXT))
    assert [one.change[0] for one in found] == [f"m.py: {change}" for change in EXPECTED]
    original = ast.unparse(ast.parse(TEXT)).splitlines()
    for one in found:
        changed = ast.unparse(mutating.changed(TEXT, one)).splitlines()
        assert sum(a != b for a, b in zip(original, changed, strict=True)) == 1, one


def test_a_change_belongs_to_the_lines_of_its_statement(mutating: ModuleType) -> None:
    lines = {one.becomes: list(one.lines) for one in mutating.mutants("m.py", TEXT)}
    assert (lines["break"], lines["a >= 2"], lines["a is not None"]) == ([15], [11], [17])
