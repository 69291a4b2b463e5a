"""Paths that lead to the hook's program only sometimes: from one directory, or with one agent's variable."""

from __future__ import annotations

import os

from fairlead.doctor import commands, facts, programs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.dialects import Places
    from fairlead.doctor.finding import Finding
    from fairlead.doctor.scene import Entry, Scene


def check(scene: Scene) -> Iterator[Finding]:
    for entry in scene.entries:
        name = commands.unset_variable(entry)
        if name:
            what = f"{facts.title(entry.agent)} does not set ${name}: the path is empty where it stands"
            yield entry.found("project_paths", "error", what, _instead(entry), "command")
        else:
            yield from _relative(entry, scene.places)


def _instead(entry: Entry) -> str:
    sets = facts.of(entry.agent).sets
    return f'write "${sets[0]}"/…' if sets else "write the absolute path"


def _relative(entry: Entry, places: Places) -> Iterator[Finding]:
    start = commands.started(entry, places)
    if start is None or facts.of(entry.agent).in_project or "cwd" in entry.handler or start.folder != places.project:
        return
    relative = [start.program] if start.is_relative else []
    kind = programs.interpreter(start.found) if start.found else ""
    option, script = programs.script_word(start.rest, kind) if kind else ("?", "")
    relative += [script] if not option and not os.path.isabs(script) else []
    for word in relative:
        if os.path.exists(os.path.join(start.folder, word)):  # else `programs` has said so
            what = f"{word!r} is found from {start.folder} alone: after a `cd` of the agent the hook does not start"
            yield entry.found("project_paths", "warning", what, _instead(entry), "command")
