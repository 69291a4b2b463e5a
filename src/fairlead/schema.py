"""The JSON Schema of `fairlead.toml`, for editors and for checks outside of Fairlead."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PATH = os.path.join(os.path.dirname(__file__), "fairlead.schema.json")


def schema_text() -> str:
    with open(PATH, encoding="utf-8") as file:
        return file.read()


def schema() -> dict[str, Any]:
    import json

    value: dict[str, Any] = json.loads(schema_text())
    return value
