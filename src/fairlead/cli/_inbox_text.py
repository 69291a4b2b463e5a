"""How a question looks in a terminal: nothing that a tool wrote moves, hides or colours anything."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from rich.text import Text

from fairlead.server.visible import CLOSE, OPEN, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    Item = dict[str, Any]

_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})


def safe(text: object) -> str:
    """For the terminal: letters that are written from right to left would move what stands beside them."""
    look = str(text)
    if look.isascii() and "\x1b" not in look and look.isprintable():
        return look
    return "".join(_in_place(character) for character in look)


def _in_place(character: str) -> str:
    if character in f"\n{OPEN}{CLOSE}":
        return character
    if character == "\t":
        return "    "
    if unicodedata.bidirectional(character) in _RIGHT_TO_LEFT:
        return f"{OPEN}U+{ord(character):04X}{CLOSE}"
    return shown(character) if character != " " else character


def editable(text: str) -> str:
    """As it is edited: every character in sight; `meant` reads it back."""
    return "\n".join(
        "\t".join("".join(map(_in_place, shown(piece))) for piece in line.split("\t")) for line in text.split("\n")
    )


def meant(text: str) -> str:
    """Raises ValueError for a name in ⟨…⟩ that is none."""
    first, *rest = text.split(OPEN)
    return first + "".join(_meant(part) for part in rest)


def _meant(part: str) -> str:
    name, closed, after = part.partition(CLOSE)
    kind, _, digits = name.partition("+")
    if closed and kind == "U":
        return chr(int(digits, 16)) + after
    count, _, what = ("1 spaces" if name == "space" else name).partition(" ")
    if not closed or what != "spaces":
        raise ValueError(f"{OPEN}{name[:20]} is no character; write its number, as in {OPEN}U+00E9{CLOSE}")
    return " " * int(count) + after


def _for(seconds: float) -> str:
    seconds = max(0, int(seconds))
    for size, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {name}"
    return f"{seconds} s"


_MARKS = {"-": "red", "+": "green", " ": "dim"}


def line_of(item: Item, now: float, *, chosen: bool = False) -> Text:
    """In the list."""
    left = "" if item["state"] != "pending" else f" · {_for(item['expires_at'] - now)} left"
    mark = "● " if chosen else ""
    escalated = [(" escalated ", "reverse")] if item["escalated"] and item["state"] == "pending" else []
    return Text.assemble(
        (f"{mark}{safe(item['tool'])}", "bold"),
        *escalated,
        f"  {_beginning(safe(item['line']))}\n",
        (f"{safe(item['run']['agent'] or 'an agent')} · {_for(now - item['created_at'])} old{left}", "dim"),
    )


def _beginning(text: str) -> str:
    first = text.partition("\n")[0][:60]
    return first if first == text else f"{first} …"


def detail_of(item: Item, now: float) -> Text:
    """All of it."""
    run = item["run"]
    text = Text()
    text.append(f"{safe(item['tool'])}\n", "bold")
    if item["why"]:
        text.append(f"{safe(item['why'])}\n", "bold cyan")
    text.append(" · ".join(safe(run[name]) for name in ("agent", "project", "title") if run[name]) + "\n", "dim")
    if item["cwd"] and item["cwd"] != run["project"]:
        text.append(f"in {safe(item['cwd'])}\n", "dim")
    for warning in item["warnings"]:
        text.append(f"! {safe(warning)}\n", "bold yellow")
    for part in item["parts"]:
        _add_part(text, part)
    text.append(standing(item, now), "bold")
    return text


def _add_part(text: Text, part: Mapping[str, Any]) -> None:
    size = f" ({part['lines']} lines, {part['bytes']} bytes)" if part.get("lines", 1) > 1 else ""
    everywhere = " (everywhere in the file)" if part.get("everywhere") else ""
    text.append(f"\n{safe(part['label'])}{size}{everywhere}\n", "underline")
    if "diff" in part:
        for mark, line in part["diff"]:
            text.append(f"{mark} {safe(line)}\n", _MARKS[mark])
    elif "question" in part:
        text.append(f"{safe(part['question'])}\n")
        for option in part["options"]:
            text.append(f"  • {safe(option['label'])}")
            text.append(f"  {safe(option['description'])}\n", "dim")
    else:
        text.append(f"{safe(part['text'])}\n")
    if part.get("note"):
        text.append(f"{safe(part['note'])}\n", "bold yellow")


def standing(item: Item, now: float) -> str:
    if item["state"] == "pending":
        agreed = f"{', '.join(map(safe, item['agreed']))} agreed; " if item["agreed"] else ""
        people = f"{item['people']} people have to agree; " if item["people"] > 1 else ""
        left = f"{_for(item['expires_at'] - now)} left, then the answer is no"
        return f"\n{circle(item)}{people}{agreed}{left}"
    return f"\n{outcome(item)}"


def circle(item: Item) -> str:
    """Of whom an answer is expected, where not of everybody."""
    whose = f"{' or '.join(map(safe, item['deciders']))} may decide; " if item["deciders"] else ""
    return (f"escalated to {', '.join(map(safe, item['escalate_to']))}; " if item["escalated"] else "") + whose


def outcome(item: Item) -> str:
    if item["allow"] is None:
        return f"nobody answered in time: refused. {safe(item['message'])}"
    said = "allowed" if item["allow"] else "refused"
    late = ", late: kept for the agent's next try" if item["late"] else ""
    changed = " with changes" if item.get("changed") or item.get("updated_input") is not None else ""
    because = f": {safe(item['message'])}" if item["message"] else ""
    return f"{said}{changed} by {safe(shown(item['decided_by']))}{late}{because}"


def change(old: str, new: str) -> Text:
    from fairlead.server.views import diff_lines

    text = Text()
    for mark, line in diff_lines(old.split("\n"), new.split("\n")):
        text.append(f"{mark} {safe(line)}\n", _MARKS[mark])
    return text
