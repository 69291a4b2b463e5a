"""Hooks in files that nobody reads."""

from __future__ import annotations

import os

from fairlead import documents
from fairlead.doctor import facts
from fairlead.doctor.finding import OURSELVES, Finding
from fairlead.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.dialects import Places
    from fairlead.doctor.scene import Scene

_READ = {
    "claude-code": "settings.json",
    "codex": "hooks.json",
    "gemini": "settings.json",
    "qwen": "settings.json",
    "cursor": "hooks.json",
}
"""The file in an agent's folder that has its hooks."""
_FOLDERS = {"claude-code": ".claude", "codex": ".codex", "gemini": ".gemini", "qwen": ".qwen", "cursor": ".cursor"}
_NAMES = ("settings.json", "settings.local.json", "hooks.json", "hooks/hooks.json", "config.json")
_OWN = (".fairlead.toml", ".fairlead/fairlead.toml", ".config/fairlead.toml", "fairlead/fairlead.toml")
"""Where one may think that fairlead.toml belongs."""


def check(scene: Scene) -> Iterator[Finding]:
    read = {file.path for file in scene.files}
    for agent in _FOLDERS if not scene.agents else [agent for agent in _FOLDERS if agent in scene.agents]:
        for path in _candidates(agent, scene.places):
            if path not in read and _has_hooks(path):
                yield _unread(agent, path)
    yield from _of_ours(scene.places)


def _candidates(agent: str, places: Places) -> Iterator[str]:
    for base in dict.fromkeys((places.home, places.project)):
        for name in _NAMES:
            yield os.path.join(base, _FOLDERS[agent], name)
    if agent == "claude-code":
        yield os.path.join(places.home, ".claude.json")


def _has_hooks(path: str) -> bool:
    from fairlead.dialects import _comments

    if not os.path.isfile(path):  # opening a pipe would wait for ever
        return False
    try:
        data = _comments.parse(documents.read_text(path) or "{}")
    except ConfigError:
        return False
    return isinstance(data, dict) and isinstance(data.get("hooks"), dict) and bool(data["hooks"])


def _unread(agent: str, path: str) -> Finding:
    from fairlead.locate import position

    line, column = position(path, ("hooks",))
    right = os.path.join(_folder(agent, path), _READ[agent])
    what = f"{facts.title(agent)} reads no hooks from this file: they never run"
    return Finding(
        level="error", agent=agent, check="elsewhere", message=what, fix=f"move them to {right}", file=path, line=line,
        column=column,
    )  # fmt: skip


def _folder(agent: str, path: str) -> str:
    head, found, _ = path.rpartition(f"{os.sep}{_FOLDERS[agent]}{os.sep}")
    return os.path.join(head, _FOLDERS[agent]) if found else os.path.join(os.path.dirname(path), _FOLDERS[agent])


# --- fairlead.toml -----------------------------------------------------------------------------------


def _of_ours(places: Places) -> Iterator[Finding]:
    mine = os.path.join(places.config, "fairlead", "fairlead.toml")
    of_project = os.path.join(places.project, "fairlead.toml")
    for base, right in ((places.home, mine), (places.project, of_project)):
        names = _OWN if base == places.project else (*_OWN, "fairlead.toml")
        for path in (os.path.join(base, name) for name in names):
            if os.path.isfile(path) and path not in (mine, of_project):
                yield _not_ours(path, right)


def _not_ours(path: str, right: str) -> Finding:
    what = "Fairlead does not read this file here: the hooks in it never run"
    return Finding(
        level="error", agent=OURSELVES, check="elsewhere", message=what, fix=f"move it to {right}", file=path, line=1,
        column=1,
    )  # fmt: skip
