"""The examples in the documentation do what it says."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from fairlead import Hooks
from fairlead.schema import schema
from tests.conftest import Home

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = [
    DOCS / name
    for name in ("library.md", "configuration.md", "dialects/fairlead.md", "handlers/command.md", "handlers/python.md")
]


def blocks(language: str) -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        fence = re.compile(rf"^```{language}\n(.*?)^```", re.MULTILINE | re.DOTALL)
        found += [(f"{page.stem}-{number}", text) for number, text in enumerate(fence.findall(page.read_text()), 1)]
    return found


@pytest.mark.parametrize("code", [text for _, text in blocks("python")], ids=[name for name, _ in blocks("python")])
def test_python_examples_run(code: str, place: Home) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        check=False,
        cwd=place.project,
        env=place.environ,
        timeout=90,
    )
    assert (done.returncode, done.stderr.decode()) == (0, "")


@pytest.mark.parametrize("text", [text for _, text in blocks("toml")], ids=[name for name, _ in blocks("toml")])
def test_configuration_examples_are_right(text: str, place: Home) -> None:
    Draft202012Validator(schema()).validate(tomllib.loads(text))
    place.write("fairlead.toml", text)
    assert Hooks.load(place.project, environ=place.environ, managed="/nowhere").problems == ()


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]*)", page.read_text()):
            assert not target or (page.parent / target).exists(), f"{page.name}: {target}"
