"""Files that Claude Code and claude-agent share: settings, plugins, skills and subagents."""

from __future__ import annotations

import os
import sys

from fairlead.dialects import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from fairlead.dialects import Places
    from fairlead.events import Event


def claude_home(places: Places) -> str:
    configured = places.environ.get("CLAUDE_CONFIG_DIR", "")
    return configured if os.path.isabs(configured) else os.path.join(places.home, ".claude")


def settings(places: Places) -> list[Source]:
    user, project = claude_home(places), os.path.join(places.project, ".claude")
    found = [
        Source(path=os.path.join(user, "settings.json"), layer="user", owner="user"),
        Source(path=os.path.join(project, "settings.json"), layer="project", owner="project"),
        Source(path=os.path.join(project, "settings.local.json"), layer="local", owner="project"),
    ]
    # In the home directory itself, the user's and the project's settings are one file: the user's.
    return list({source.path: source for source in reversed(found)}.values())[::-1]


def managed(places: Places) -> list[Source]:
    folder = os.path.join(places.managed, "claude-code")
    if sys.platform == "darwin" and places.managed == "/etc":
        folder = "/Library/Application Support/ClaudeCode"
    files = [os.path.join(folder, "managed-settings.json")]
    files += [path for path in _inside(os.path.join(folder, "managed-settings.d")) if path.endswith(".json")]
    return [Source(path=path, layer="managed", owner="managed") for path in files]


def has_named_maps(data: object) -> bool:
    """Whether settings are claude-agent's: named maps, lists of commands, camelCase events, and no whole group.

    One such entry among good groups is a slip in Claude Code's settings, and must not cost the others their meaning.
    """
    hooks = data.get("hooks") if isinstance(data, dict) else None
    if not isinstance(hooks, dict) or any(_has_groups(name, value) for name, value in hooks.items()):
        return False
    return any(
        isinstance(value, dict)
        or (isinstance(value, list) and any(isinstance(item, str) for item in value))
        or name[:1].islower()
        for name, value in hooks.items()
    )


def _has_groups(name: str, value: object) -> bool:
    groups = value if isinstance(value, list) and name[:1].isupper() else []
    return any(isinstance(group, dict) and isinstance(group.get("hooks"), list) and group["hooks"] for group in groups)


def plugins(places: Places) -> list[Source]:
    return [
        Source(path=os.path.join(folder, "hooks", "hooks.json"), layer="plugin", owner=owner, format="plugin")
        for base, owner in _bases(places)
        for folder in _inside(os.path.join(base, "plugins"))
    ]


def front_matter(places: Places) -> list[Source]:
    found = []
    for base, owner in _bases(places):
        for folder in _inside(os.path.join(base, "skills")):
            path = os.path.join(folder, "SKILL.md")
            found.append(Source(path=path, layer="skill", owner=owner, format="front-matter"))
        found += [
            Source(path=path, layer="subagent", owner=owner, format="front-matter")
            for path in _inside(os.path.join(base, "agents"))
            if path.endswith(".md")
        ]
    return found


def _bases(places: Places) -> Iterator[tuple[str, str]]:
    user, project = claude_home(places), os.path.join(places.project, ".claude")
    yield user, "user"
    if project != user:
        yield project, "project"


def _inside(folder: str) -> list[str]:
    try:
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    except OSError:
        return []


class Scope:
    """When the hooks of a skill or subagent apply: while it runs, or when it is switched on by name."""

    __slots__ = ("kind", "names")

    def __init__(self, kind: str, names: tuple[str, ...]) -> None:
        self.kind = kind
        self.names = names

    def __call__(self, event: Event) -> str:
        named = (event.agent_type,) if self.kind == "subagent" else _skills_named_by(event)
        return "" if any(name in self.names for name in named) else f"only for the {self.kind} {self.names[0]!r}"


def _skills_named_by(event: Event) -> list[Any]:
    """By the tool that starts a skill, by a typed `/name`, or by an agent that says which one is running."""
    named = [event.extra.get("skill"), getattr(event, "command_name", None)]
    if getattr(event, "tool_name", "") == "Skill":
        tool_input = getattr(event, "tool_input", {})
        named += [tool_input.get("skill"), tool_input.get("command")]
    return [name.removeprefix("/") for name in named if isinstance(name, str)]


def plugin_root(source: Source) -> str:
    return os.path.dirname(os.path.dirname(source.path)) if source.format == "plugin" else ""


def scope(source: Source, data: dict[str, Any], places: Places) -> Scope | None:
    """For front matter: None when its skill or subagent was switched on by name."""
    if source.format != "front-matter":
        return None
    stem = os.path.basename(os.path.dirname(source.path)) if source.layer == "skill" else ""
    stem = stem or os.path.basename(source.path).removesuffix(".md")
    names = tuple(dict.fromkeys((str(data.get("name") or stem), stem)))
    return None if set(names) & set(places.active) else Scope(source.layer, names)
