"""What the page says is so."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, ValidationError

from fairlead import Hooks
from fairlead.schema import schema
from fairlead.telemetry.totals import METRICS
from tests.conftest import Home
from tests.telemetry.conftest import toml

PAGE = (Path(__file__).resolve().parents[2] / "docs/telemetry.md").read_text()
(EXAMPLE,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_example_is_right(place: Home) -> None:
    Draft202012Validator(schema()).validate(tomllib.loads(EXAMPLE))
    toml(place, EXAMPLE)
    hooks = Hooks.load(place.project, environ=place.environ, managed="/nowhere")
    assert (hooks.problems, hooks.telemetry) == ((), {"enabled": True, "endpoint": "http://localhost:4318"})


@pytest.mark.parametrize("line", ["enabled = 1", "endpoint = 'localhost'", "headers = { a = 1 }", "other = 1"])
def test_the_schema_knows_mistakes(place: Home, line: str) -> None:
    text = f"[telemetry]\n{line}\n"
    with pytest.raises(ValidationError):
        Draft202012Validator(schema()).validate(tomllib.loads(text))
    toml(place, text)
    assert Hooks.load(place.project, environ=place.environ, managed="/nowhere").problems


def test_every_metric_is_on_the_page() -> None:
    assert [name for name in METRICS if f"`{name}`" not in PAGE] == []
