"""The corpus: readable files of commands, each with the verdict that the guard must give.

A section starts with ``== rule``; its cases are ``decision  command``. A command that spans lines
or starts with a quote is written as a JSON string.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

CORPUS = Path(__file__).parent / "corpus"
PROJECT = "/home/u/project"
HOME = "/home/u"


class Case(NamedTuple):
    decision: str
    rule: str
    command: str


def read(path: Path) -> Iterator[Case]:
    rule = ""
    for line in path.read_text().splitlines():
        if line.startswith("== "):
            rule = line[3:]
        elif line and not line.startswith("#"):
            decision, _, text = line.partition(" ")
            text = text.strip()
            yield Case(decision, "" if decision == "none" else rule, json.loads(text) if text.startswith('"') else text)


def written() -> list[Case]:
    """Return the cases that people wrote."""
    return [case for path in sorted(CORPUS.glob("*.txt")) for case in read(path)]


def generated() -> list[Case]:
    """Return the cases that ``generate.py`` made of them."""
    lines = (CORPUS / "generated.jsonl").read_text().splitlines()
    return [Case(**json.loads(line)) for line in lines]
