"""The report that build servers read."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from xml.etree.ElementTree import Element

    from fairlead.errors import Problem
    from fairlead.testing.running import Outcome


def write(path: str, outcomes: Sequence[Outcome], problems: Sequence[Problem], root: str) -> None:
    """The file is there when all of it is."""
    from xml.etree.ElementTree import ElementTree

    draft = f"{path}.{os.getpid()}.unfinished"
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    try:
        ElementTree(_suites(outcomes, problems, root)).write(draft, encoding="utf-8", xml_declaration=True)
        os.replace(draft, path)
    finally:
        if os.path.exists(draft):
            os.unlink(draft)


def _suites(outcomes: Sequence[Outcome], problems: Sequence[Problem], root: str) -> Element:
    from xml.etree.ElementTree import Element, SubElement

    counts = {
        "tests": str(len(outcomes) + len(problems)),
        "failures": str(sum(not outcome.passed for outcome in outcomes)),
        "errors": str(len(problems)),
        "time": f"{sum(outcome.seconds for outcome in outcomes):.3f}",
    }
    suites = Element("testsuites", {"name": "fairlead test", **counts})
    suite = SubElement(suites, "testsuite", {"name": "fairlead", "skipped": "0", **counts})
    for outcome in outcomes:
        _add(suite, outcome, root)
    for problem in problems:
        about = {"classname": _near(problem.file, root), "name": f"line {problem.line}", "time": "0.000"}
        found = SubElement(suite, "testcase", {key: legal(value) for key, value in about.items()})
        SubElement(found, "error", {"type": "case", "message": legal(problem.message)}).text = legal(str(problem))
    return suites


def _add(suite: Element, outcome: Outcome, root: str) -> None:
    from xml.etree.ElementTree import SubElement

    from fairlead.testing.expecting import sentence

    case = outcome.case
    file = _near(case.file, root)
    about = {
        "classname": file,
        "name": case.name,
        "file": file,
        "line": str(case.line),
        "time": f"{outcome.seconds:.3f}",
    }
    found = SubElement(suite, "testcase", {key: legal(value) for key, value in about.items()})
    if outcome.passed:
        return
    said = [f"{one.what}: expected {one.expected}; came {one.came}" for one in outcome.failures]
    failure = SubElement(found, "failure", {"type": outcome.failures[0].what, "message": legal(said[0])})
    failure.text = legal("\n".join([*said, *(sentence(entry) for entry in outcome.hooks)]))


def _near(file: str, root: str) -> str:
    return os.path.relpath(file, root) if file.startswith(root + os.sep) else file


def legal(text: str) -> str:
    """XML has no place for most control characters, nor for halves of others; they are shown by their numbers."""
    return "".join(letter if _is_legal(letter) else f"\\x{ord(letter):02x}" for letter in text)


def _is_legal(letter: str) -> bool:
    number = ord(letter)
    return letter in "\t\n" or 0x20 <= number <= 0xD7FF or 0xE000 <= number <= 0xFFFD or number >= 0x10000
