"""Programs that are found because of the user's own shell: an agent that a desktop starts has another PATH."""

from __future__ import annotations

import os
import sys

from fairlead.doctor import commands, facts, programs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.doctor.commands import Started
    from fairlead.doctor.finding import Finding
    from fairlead.doctor.scene import Scene

_PLAIN = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin"


def check(scene: Scene) -> Iterator[Finding]:
    said = set()
    for entry in scene.entries:
        start = commands.started(entry, scene.places)
        if start is None or entry.is_ours:
            continue
        for name in _by_name(start):
            found = commands.find(name, "/", start.path)
            if found and not commands.find(name, "/", plain_path()) and (entry.agent, name) not in said:
                said.add((entry.agent, name))
                what = f"{name!r} is found in {os.path.dirname(found)}, which is on the PATH of your shell"
                then = f"{what}; {facts.title(entry.agent)}, started from a desktop or a service, will not find it"
                yield entry.found("search_path", "warning", then, f"write {found}", "command")


def plain_path() -> str:
    """What a session has before any profile of its user."""
    return ":".join((_PLAIN, *_of_macos())) if sys.platform == "darwin" else _PLAIN


def _of_macos() -> Iterator[str]:
    import glob

    for file in ("/etc/paths", *sorted(glob.glob("/etc/paths.d/*"))):
        try:
            with open(file, encoding="utf-8") as lines:
                yield from (line.strip() for line in lines if line.strip())
        except OSError:
            continue


def _by_name(start: Started) -> Iterator[str]:
    """The programs that are looked for on PATH: the command's own, and that of its #! line."""
    if "/" not in start.program:
        yield start.program
    if start.found:
        first = programs.first_line(start.found)
        name = programs.env_name(first[2:].decode("utf-8", "replace").split()) if first[2:].strip()[:1] == b"/" else ""
        if first.startswith(b"#!") and name:
            yield name
