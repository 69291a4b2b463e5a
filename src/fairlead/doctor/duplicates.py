"""Hooks that stand in two places and run twice."""

from __future__ import annotations

from fairlead.doctor import facts
from fairlead.doctor.events import is_known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.doctor.finding import Finding
    from fairlead.doctor.scene import Entry, Scene

_READS_CLAUDE = {"cursor": ("user", "project", "local"), "copilot": ("project", "local"),
                 "vscode": ("project", "local"), "grok": ("project",)}  # fmt: skip
"""Agents that run the hooks in Claude Code's settings as well, and in which of them."""


def check(scene: Scene) -> Iterator[Finding]:
    for agent in scene.agents:
        yield from _twice(scene.of(agent), agent)
        if agent in _READS_CLAUDE:
            yield from _in_claude_too(scene, agent)


def _twice(entries: list[Entry], agent: str) -> Iterator[Finding]:
    first: dict[tuple[object, ...], Entry] = {}
    for entry in entries:
        is_called = entry.is_ours or (entry.kind == "command" and entry.command)
        if not is_called or not is_known(agent, entry.event):
            continue
        before = first.setdefault(_identity(entry), entry)
        if before is not entry and not _runs_once(agent, before, entry):
            where = f"{before.file.path}:{before.file.place(before.path)[0]}"
            who = "Fairlead" if entry.is_ours else "the same command"
            what = f"{who} stands in {where} for {entry.event} too: {facts.title(agent)} runs it twice"
            fix = "`fairlead uninstall` takes one of them out" if entry.is_ours else "remove one of them"
            yield entry.found("duplicates", "warning", what, fix)


def _identity(entry: Entry) -> tuple[object, ...]:
    event = facts.canonical(entry.agent, entry.event)
    if entry.is_ours:  # whatever its options are, it is asked about the same
        return event, "fairlead", entry.event
    return event, entry.command, tuple(entry.args or ()), entry.matcher or ""


def _runs_once(agent: str, one: Entry, other: Entry) -> bool:
    once = facts.of(agent).once
    if one.handler != other.handler or not once:
        return False
    return once == "everywhere" or not any(entry.file.layer in _KEPT_APART for entry in (one, other))


_KEPT_APART = ("plugin", "skill", "subagent")


def _in_claude_too(scene: Scene, agent: str) -> Iterator[Finding]:
    """Only where the agent has Fairlead of its own: else it is Claude Code's business alone."""
    own = [entry for entry in scene.of(agent) if entry.is_ours]
    layers = _READS_CLAUDE[agent]
    others = [entry for entry in _claude(scene) if entry.is_ours and entry.file.layer in layers]
    if own and others:
        title, where = facts.title(agent), others[0].file.path
        what = f"{title} also runs the hooks in {where}, and Fairlead stands there as well: it is asked twice"
        fix = f"`fairlead uninstall --agent {agent}`, or switch the import of Claude Code's hooks off in {title}"
        yield own[0].found("duplicates", "warning", what, fix)


def _claude(scene: Scene) -> list[Entry]:
    if "claude-code" in scene.agents:
        return scene.of("claude-code")
    from fairlead.doctor.scene import look

    return list(look(scene.places, ("claude-code",)).entries)
