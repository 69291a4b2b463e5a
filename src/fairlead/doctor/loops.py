"""Hooks that do harm by running: worktrees that are never made, turns that never end."""

from __future__ import annotations

from fairlead import dialects
from fairlead.doctor import facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.doctor.finding import Finding
    from fairlead.doctor.scene import Entry, Scene


def check(scene: Scene) -> Iterator[Finding]:
    said = set()
    for entry in scene.entries:
        if entry.agent == "claude-code" and entry.event == "WorktreeCreate" and entry.kind == "command":
            yield _worktree(entry)
        elif _may_loop(entry) and entry.agent not in said:
            said.add(entry.agent)
            what = f"{facts.title(entry.agent)} never ends a turn that this hook keeps refusing to end"
            fix = "let the hook look at stop_hook_active, or run it under Fairlead, which stops after 8"
            yield entry.found("loops", "note", what, fix)


def _worktree(entry: Entry) -> Finding:
    what = (
        "a WorktreeCreate hook takes the place of `git worktree add`: unless it makes the worktree and prints its path"
    )
    level = "error" if entry.is_ours else "warning"
    fix = "remove it" if level == "error" else "remove it, or see that its last line is the path"
    return entry.found("loops", level, f"{what}, no worktree can be made", fix)


def _may_loop(entry: Entry) -> bool:
    is_stop = facts.canonical(entry.agent, entry.event) == "Stop"
    return is_stop and entry.kind == "command" and not entry.is_ours and _is_endless(entry.agent)


def _is_endless(agent: str) -> bool:
    half = dialects.agent_half(agent)
    return "deny" in half.CAN.get("Stop", half.CAN["*"]) and not half.CAPS_STOPS
