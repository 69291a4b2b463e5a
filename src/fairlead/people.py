"""The names of people who decide."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LONGEST = 64
MOST = 50
"""Names in one list."""
WHAT = f"letters, digits, . _ @ + and -, without blanks, up to {LONGEST}"


def name_of(text: object) -> str:
    """As it is compared: `Anna` and `anna` are one person. Empty for what is no name, or looks like another one."""
    if not isinstance(text, str):
        return ""
    from unicodedata import normalize

    found = normalize("NFKC", text).casefold()
    plain = 0 < len(found) <= LONGEST and all(one.isalnum() or one in "._@+-" for one in found)
    same = normalize("NFKC", found).casefold() == found
    return found if plain and same and len(_alphabets(found)) < 2 else ""


def _alphabets(name: str) -> set[str]:
    from unicodedata import name as described

    return {described(one, "").partition(" ")[0] for one in name if one.isalpha()}


def names_of(value: object) -> tuple[str, ...] | None:
    """Of a list; None for what is no list of names."""
    if not isinstance(value, list) or len(value) > MOST:
        return None
    found = tuple(map(name_of, value))
    return tuple(dict.fromkeys(found)) if all(found) else None


def approvers_in(data: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Who may decide, as a `fairlead.toml` of the user or the machine says; None where that cannot be understood."""
    if "approvers" not in data:
        return ()
    return names_of(data["approvers"]) or None
