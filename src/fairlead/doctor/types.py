"""Kinds of hooks that the agent does not have, or does not call for this event."""

from __future__ import annotations

from fairlead.doctor import facts
from fairlead.events import ToolEvent, event_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.doctor.finding import Finding
    from fairlead.doctor.scene import Entry, Scene


def check(scene: Scene) -> Iterator[Finding]:
    for entry in scene.entries:
        yield from _type(entry)
        if entry.agent == "claude-code":
            yield from _of_claude_code(entry)
        elif entry.agent == "codex" and entry.kind in ("prompt", "agent"):
            what = f"Codex reads {entry.kind} hooks and never runs them"
            yield entry.found("types", "error", what, "write a command hook", "type")


def _type(entry: Entry) -> Iterator[Finding]:
    known = facts.of(entry.agent)
    title = facts.title(entry.agent)
    all_of_them = facts.one_costs_all(entry.agent, entry.file.form)
    cost = f"{title} disables every hook in this file" if all_of_them else f"{title} does not run it"
    if not isinstance(entry.kind, str) or entry.kind not in known.types:
        level = "error" if known.rejects_types or known.regex else "warning"
        yield entry.found(
            "types", level, f"unknown type {entry.kind!r}: {cost}", f"one of: {', '.join(known.types)}", "type"
        )
    elif "type" not in entry.handler and entry.agent == "claude-code":
        yield entry.found("types", "error", f'the hook has no "type": {cost}', 'add "type": "command"')
    elif entry.kind == "command" and not entry.command.strip() and "powershell" not in entry.handler:
        yield entry.found("types", "error", f"the hook has no command: {cost}", 'add "command": "…"')


def _of_claude_code(entry: Entry) -> Iterator[Finding]:
    if entry.kind == "http" and entry.event in ("SessionStart", "Setup"):
        what = f"Claude Code never calls an http hook for {entry.event}"
        yield entry.found("types", "error", what, "write a command hook that calls the address", "type")
    if "if" in entry.handler and not _is_about_a_tool(entry.event):
        what = f'a hook with "if" never runs for {entry.event}: it is about tool calls'
        yield entry.found("types", "error", what, 'remove "if"', "if")
    if entry.handler.get("async") is True and facts.can_refuse(entry.agent, entry.event):
        what = "an async hook decides nothing: the call has gone on when it answers"
        yield entry.found("types", "warning", what, 'remove "async" if this hook is a guard', "async")


def _is_about_a_tool(event: str) -> bool:
    return event in ("PermissionDenied", "PermissionRequest") or issubclass(event_class(event), ToolEvent)
