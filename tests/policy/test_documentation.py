"""docs/policy.md says what is."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from fairlead import folders
from fairlead.dialects import Places, Source, native
from fairlead.dialects._native_policy import KINDS, LAYERS, WHY
from fairlead.locks import LOCKABLE
from fairlead.schema import schema

PAGE = (Path(__file__).resolve().parents[2] / "docs/policy.md").read_text()
BLOCKS = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("text", BLOCKS, ids=range(len(BLOCKS)))
def test_its_examples_are_read_without_a_word_where_they_belong(text: str) -> None:
    owner = "managed" if "[policy]" in text else "user"
    source = Source(path="/x/fairlead.toml", layer=owner, owner=owner)
    reading = native.read(source, text, Places(home="/h", project="/x", environ={}, managed="/nowhere"))
    assert reading.problems == ()
    Draft202012Validator(schema()).validate(tomllib.loads(text))


def row(start: str) -> str:
    return next(line for line in PAGE.splitlines() if line.startswith(f"| `{start}`"))


def test_it_names_what_can_be_forbidden_and_locked() -> None:
    assert {name for name in (*KINDS, *LAYERS) if f"`{name}`" not in row("forbid")} == set()
    assert {name for name in LOCKABLE if f"`{name}`" not in row("lock")} == {"notify_after"}  # goes with notify


def test_its_table_has_every_key_that_is_not_for_projects() -> None:
    table = PAGE.partition("## fairlead.toml")[2].partition("## Other")[0]
    ignored = [line for line in table.splitlines() if line.endswith("| ignored |")]
    assert {key for key in (*WHY, "policy") if not any(re.search(rf"`\[?{key}\]?`", line) for line in ignored)} == set()


def test_it_names_every_variable_and_file_that_is_looked_at() -> None:
    words = (*folders._OWN, *folders._OF_AGENTS, *folders.SETTING_FILES, "XDG_CACHE_HOME")
    assert [word for word in words if f"`{word}`" not in PAGE] == []
