"""`approval`, `people` and `tools` in `fairlead.toml`."""

from __future__ import annotations

from fairlead.handlers.approval import MOST_PEOPLE, Approval

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.dialects._common import Path, Reader


def approval(reader: Reader, entry: dict[str, Any], path: Path) -> Approval:
    """What is written wrongly is reported, and somebody is asked all the same."""
    return Approval(text=_text(reader, entry["approval"], path), people=_people(reader, entry.get("people", 1), path))


def _text(reader: Reader, value: Any, path: Path) -> str:
    path = (*path, "approval")
    if not reader.expect(value, str, path, "approval must be a text for the person who decides"):
        return ""
    if not value.strip():
        reader.problem(path, "approval is empty", "say why somebody should look at it")
    return str(value.strip())


def _people(reader: Reader, value: Any, path: Path) -> int:
    if isinstance(value, float) and value.is_integer():  # a whole number to JSON Schema
        value = int(value)
    path = (*path, "people")
    if not reader.expect(value, int, path, f"people must be a number from 1 to {MOST_PEOPLE}"):
        return MOST_PEOPLE
    if not 1 <= value <= MOST_PEOPLE:
        reader.problem(path, f"people is {value}", f"it must be a number from 1 to {MOST_PEOPLE}")
    return int(min(max(value, 1), MOST_PEOPLE))


def tools_text(reader: Reader, value: Any, path: Path) -> str:
    """A matcher for a list of tools; what is no name is reported, and everything matches."""
    if isinstance(value, list) and value and all(isinstance(name, str) and name.strip() for name in value):
        return "|".join(name.strip() for name in value)
    reader.problem(path, "tools must be a list of names", "until then it matches everything")
    return ""
