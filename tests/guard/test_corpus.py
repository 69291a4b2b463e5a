"""Every case of the corpus, and the foreign cases where they are at hand."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from fairlead.guard import PACKS, Guard
from fairlead.guard.finding import RANK

from . import generate
from .cases import CORPUS, HOME, PROJECT, generated, read, written

GUARD = Guard(packs="all", project=PROJECT, home=HOME)
FOREIGN = Path(__file__).parents[2].parent / "shared" / "guard-cases" / "cases.jsonl"


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.txt")), ids=lambda path: path.stem)
def test_written_cases(path: Path) -> None:
    wrong = []
    for case in read(path):
        finding = GUARD.command(case.command)
        if (finding.decision, finding.rule) != (case.decision, case.rule):
            wrong.append((case, finding))
    assert wrong == []


def test_generated_cases() -> None:
    wrong = []
    for case in generated():
        finding = GUARD.command(case.command)
        kept = finding.decision == "none" if case.decision == "none" else RANK[finding.decision] >= RANK[case.decision]
        if not kept:
            wrong.append((case, finding))
    assert wrong == []


def test_the_generated_file_is_what_the_generator_makes() -> None:
    assert (CORPUS / "generated.jsonl").read_text() == generate.text()


def test_the_corpus_is_large_and_covers_every_pack() -> None:
    cases = written() + generated()
    assert len(cases) > 4000
    packs = Counter(case.rule.partition(".")[0] for case in cases)
    assert all(packs[pack] >= 30 for pack in PACKS)


def test_no_case_is_written_twice() -> None:
    commands = Counter(case.command for case in written())
    assert [command for command, times in commands.items() if times > 1] == []


def test_every_denial_says_what_and_why() -> None:
    for case in written():
        finding = GUARD.command(case.command)
        if finding.stops:
            assert finding.words
            assert finding.reason
            assert finding.rule.startswith(finding.pack + ".")


@pytest.mark.skipif(not FOREIGN.exists(), reason="the foreign cases are not beside the project")
def test_foreign_cases(capsys: pytest.CaptureFixture[str]) -> None:
    """A floor, not a goal: the labels are another guard's policy, and we disagree with some."""
    rows = [json.loads(line) for line in FOREIGN.read_text().splitlines()]
    counts: Counter[tuple[str, bool]] = Counter()
    for row in rows:
        stops = GUARD.command(row["command"]).stops
        counts[row["expected"], stops] += 1
        if stops != (row["expected"] == "deny"):
            print(row["set"], row["expected"], json.dumps(row["command"])[:120])
    stopped = counts["deny", True] / (counts["deny", True] + counts["deny", False])
    disturbed = counts["allow", True] / (counts["allow", True] + counts["allow", False])
    with capsys.disabled():
        print(f" [foreign: {stopped:.1%} stopped, {disturbed:.1%} disturbed]", end="")
    assert stopped >= 0.82
    assert disturbed <= 0.12
