"""The examples of the pages about a hook's process are right."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from fairlead.confining import Limits, Sandbox
from fairlead.dialects import Places, Source, native
from fairlead.schema import schema

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLES = [
    pytest.param(text, id=f"{page}-{number}")
    for page in ("sandbox.md", "handlers/command.md")
    for number, text in enumerate(re.findall(r"```toml\n(.*?)```", (DOCS / page).read_text(), re.DOTALL))
]


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_is_read_without_problems(text: str) -> None:
    source = Source(path="/home/user/.config/fairlead/fairlead.toml", layer="user", owner="user")
    reading = native.read(source, text, Places(home="/home/user", project="/project", environ={}))
    assert list(reading.problems) == []
    Draft202012Validator(schema()).validate(tomllib.loads(text))


@pytest.mark.parametrize("name", [*Limits._fields, *Sandbox._fields, "env", "set", "limits", "sandbox", "pass_env"])
def test_every_key_is_explained(name: str) -> None:
    assert f"`{name}" in (DOCS / "sandbox.md").read_text() or f"\n{name} = " in (DOCS / "sandbox.md").read_text()
