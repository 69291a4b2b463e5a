"""`approval`, `people`, `approvers`, `escalate` and `tools` in `fairlead.toml`."""

from __future__ import annotations

from fairlead import people
from fairlead.handlers.approval import MOST_PEOPLE, Approval

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.dialects._common import Path, Reader

NOBODY = "nobody-of-this-name"
_LONGEST = 7 * 24 * 3600.0


def approval(reader: Reader, entry: dict[str, Any], path: Path) -> Approval:
    """What is written wrongly is reported, and somebody is asked all the same."""
    people_, approvers = _people(reader, entry.get("people", 1), path), _approvers(reader, entry, path)
    after, others = _escalate(reader, entry["escalate"], (*path, "escalate")) if "escalate" in entry else (None, ())
    circle = {*approvers, *others}
    if approvers and len(circle) < people_:
        said = f"{people_} people have to agree, and {len(circle)} may"
        reader.warn((*path, "approvers"), said, "so nobody's yes is enough, and the answer is always no")
    return Approval(
        text=_text(reader, entry["approval"], path),
        people=people_,
        approvers=approvers,
        escalate_after=after,
        escalate_to=others,
    )


def _approvers(reader: Reader, entry: dict[str, Any], path: Path) -> tuple[str, ...]:
    """Where it cannot be understood nobody of that name is there to say yes: rather none than anybody."""
    if "approvers" not in entry:
        return ()
    return _names(reader, entry["approvers"], (*path, "approvers")) or (NOBODY,)


def _names(reader: Reader, value: Any, path: Path) -> tuple[str, ...]:
    found = people.names_of(value)
    if not found:
        reader.problem(path, f"{path[-1]} must be a list of names", f"a name is {people.WHAT} characters")
    return found or ()


def _escalate(reader: Reader, value: Any, path: Path) -> tuple[float | None, tuple[str, ...]]:
    from fairlead.dialects._native_values import seconds_in

    if not reader.expect(value, dict, path, 'escalate must be a table, such as { after = "5m", to = ["anna"] }'):
        return None, ()
    for key in value.keys() - {"after", "to"}:
        reader.problem((*path, key), f"unknown key {key!r}", "escalate has after and to")
    seconds = seconds_in(value.get("after"))
    if seconds is None:
        reader.problem((*path, "after"), "after must be a time", 'such as "5m"; until then it is not escalated')
    to = _names(reader, value.get("to"), (*path, "to"))
    return (None, ()) if seconds is None or not to else (min(seconds, _LONGEST), to)


def check_approvers(reader: Reader, data: dict[str, Any]) -> None:
    """At the top of a file, for `fairlead check`; the server reads it by itself."""
    if people.approvers_in(data) is None:
        hint = f"a name is {people.WHAT} characters; until then the server does not start"
        reader.problem(("approvers",), "approvers must be a list of names", hint)


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
