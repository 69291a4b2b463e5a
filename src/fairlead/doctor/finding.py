"""Something that keeps a hook from running, and what to do about it."""

from __future__ import annotations

from fairlead._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LEVELS = ("error", "warning", "note")
OURSELVES = "fairlead"
"""Stands where an agent's name does, for what concerns all of them."""


class Finding(Record):
    level: str
    """`error`: a hook does not run, or guards nothing. `warning`: that may be so. `note`: good to know."""
    agent: str
    check: str
    """Which check has found it."""
    message: str
    fix: str
    file: str = ""
    line: int = 0
    column: int = 0


def in_order(findings: Iterable[Finding], agents: Sequence[str]) -> list[Finding]:
    """By agent, worst first, then by place. What was found in one place twice is said once."""
    rank = {name: number for number, name in enumerate(agents)}
    return sorted(
        _once(findings),
        key=lambda one: (
            rank.get(one.agent, len(rank)), one.agent, LEVELS.index(one.level), one.file, one.line, one.column,
            one.message,
        ),
    )  # fmt: skip


def _once(findings: Iterable[Finding]) -> list[Finding]:
    """The readers of the dialects (`configured`) see much of what the checks see; the checks know more about it."""
    kept: dict[tuple[object, ...], Finding] = {}
    places = set()
    for one in findings:
        place = (one.file, one.line, one.column)
        if one.check == "configured" and one.line and place in places:
            continue
        places.add(place)
        kept.setdefault((one.agent, place, one.message), one)
    return list(kept.values())
