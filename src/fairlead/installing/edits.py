"""Changes to a text, and how to take them back after somebody else has changed it too."""

from __future__ import annotations

from fairlead._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Edit(Record):
    """`new` in the place of what stood between `start` and `end`."""

    start: int
    end: int
    new: str


def apply(text: str, edits: Sequence[Edit]) -> str:
    """All edits speak of the text as it is given. At one place they are made in their order."""
    parts, position = [], 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        parts += [text[position : edit.start], edit.new]
        position = edit.end
    return "".join((*parts, text[position:]))


def between(old: str, new: str) -> list[Edit]:
    """The one edit that makes `new` of `old`."""
    start = _common(old, new)
    tail = _common(old[start:][::-1], new[start:][::-1])
    return [Edit(start=start, end=len(old) - tail, new=new[start : len(new) - tail])]


def by_line(old: str, new: str) -> list[Edit]:
    """One edit for each run of changed lines."""
    import difflib

    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [
        Edit(start=starts[i1], end=starts[i2], new="".join(after[j1:j2]))
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def reverted(original: str, edits: Sequence[Edit], current: str) -> str | None:
    """The current text without our edits; None where somebody has changed the very places.

    Between what we wrote and what is there now, everything before the first and after the last
    difference is the same; our edits are taken back if they all lie there.
    """
    written = apply(original, edits)
    theirs = between(written, current)[0]
    shift = len(current) - len(written)
    backward, moved = [], 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        start = edit.start + moved
        end = start + len(edit.new)
        moved += len(edit.new) - (edit.end - edit.start)
        old = original[edit.start : edit.end]
        if end <= theirs.start:
            backward.append(Edit(start=start, end=end, new=old))
        elif start >= theirs.end:
            backward.append(Edit(start=start + shift, end=end + shift, new=old))
        else:
            return None
    return apply(current, backward)


def _common(one: str, other: str) -> int:
    """How many letters two texts begin with in common."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def place(text: str, index: int) -> tuple[int, int]:
    """Line and column, from 1."""
    return text.count("\n", 0, index) + 1, index - (text.rfind("\n", 0, index) + 1) + 1
