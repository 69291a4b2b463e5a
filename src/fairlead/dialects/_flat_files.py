"""Files of the form `{"hooks": {event: [entry, …]}}`, as Cursor and Copilot have them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from fairlead.dialects._common import Path, Reader

_FLAT = "write its handlers directly into the list; until then they are taken as if they stood there"


def entries_of(
    reader: Reader, value: Any, events: Mapping[str, str], *, groups: bool = False
) -> Iterator[tuple[str, dict[str, Any], Path, Path]]:
    """Event, entry, and where the entry and its matcher stand. `groups`: whether Claude Code's are allowed as well."""
    if not reader.expect(value, dict, ("hooks",), "hooks must be an object"):
        return
    for name, entries in value.items():
        place: Path = ("hooks", name)
        if not reader.event(name, events, place):
            continue
        for entry, path in reader.entries(entries, place, name):
            if "hooks" not in entry:
                yield name, entry, path, (*path, "matcher")
                continue
            if not groups:
                reader.problem(path, "a matcher group stands where a hook is needed", _FLAT)
            yield from _inside(reader, name, entry, path)


def _inside(
    reader: Reader, name: str, group: dict[str, Any], path: Path
) -> Iterator[tuple[str, dict[str, Any], Path, Path]]:
    for entry, inner in reader.entries(group["hooks"], (*path, "hooks"), "hooks"):
        own = {key: group[key] for key in ("matcher",) if key in group and key not in entry}
        yield name, {**entry, **own}, inner, (*(path if own else inner), "matcher")
