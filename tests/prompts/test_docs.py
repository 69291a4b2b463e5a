"""The page says what is so."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from fairlead import Hooks
from fairlead.handlers.prompt import TIMEOUT, Prompt
from fairlead.models.framing import LARGEST, PLACEHOLDERS, unknown_placeholders
from tests.conftest import Home

PAGE = (Path(__file__).parents[2] / "docs" / "handlers" / "prompt.md").read_text()


def test_the_page_names_every_placeholder_and_no_other() -> None:
    table = PAGE[PAGE.index("| placeholder |") : PAGE.index("`${COMMAND}` is the same")]
    assert set(re.findall(r"`\$([A-Z_]+)`", table)) == set(PLACEHOLDERS)


def test_the_pages_example_is_a_hook_in_force(place: Home) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    place.write("~/.config/fairlead/fairlead.toml", example)
    hooks = Hooks.load(place.project, home=place.home, environ=place.environ, managed=str(place.root / "etc"))
    (hook,) = hooks
    assert isinstance(hook.handler, Prompt)
    assert (hook.handler.prompt, hook.timeout, hooks.problems) == (
        tomllib.loads(example)["hook"][0]["prompt"],
        20.0,
        (),
    )
    assert unknown_placeholders(hook.handler.prompt) == []


def test_the_pages_numbers_are_the_real_ones() -> None:
    assert f"{LARGEST:,} characters" in PAGE
    assert f'`"{TIMEOUT:g}s"`' in PAGE
