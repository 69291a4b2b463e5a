"""A case: an event that somebody might bring, and what should become of it."""

from __future__ import annotations

import os

from fairlead import dialects, tools, wire
from fairlead._record import Record
from fairlead.errors import UsageError
from fairlead.events import Event, ToolEvent, event_class
from fairlead.explaining import ASKED_BY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.verdicts import Verdict

DECISIONS: Mapping[str, tuple[str, ...]] = {
    **{word: (word,) for word in ("none", "allow", "ask", "defer", "deny")},
    "allowed": ("none", "allow"),
    "stop": ("stop",),
}
"""What a case may expect, and what fulfils it."""
_PATHS = ("file_path", "notebook_path")
_NOTHING: dict[str, Any] = {}


class Where(Record):
    """What `<project>` and `<home>` stand for."""

    project: str
    home: str

    def filled(self, value: Any) -> Any:
        """With the real paths in every text."""
        if isinstance(value, str):
            return value.replace("<project>", self.project).replace("<home>", self.home)
        if isinstance(value, dict):
            return {key: self.filled(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.filled(item) for item in value]
        return value

    def hidden(self, value: Any) -> Any:
        """The other way round: the same on every machine."""
        if isinstance(value, str):
            shown = value.replace(self.project, "<project>") if len(self.project) > 1 else value
            return shown.replace(self.home, "<home>") if len(self.home) > 1 else shown
        if isinstance(value, dict):
            return {key: self.hidden(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.hidden(item) for item in value]
        return value


class Expected(Record):
    """What is empty or None does not matter."""

    decision: tuple[str, ...] = ()
    reason: tuple[str, ...] = ()
    """Each is contained in it; `/…/` is a pattern that is found in it."""
    context: tuple[str, ...] = ()
    rewrite: dict[str, Any] | bool | None = None
    """The whole new input; False for none, True for any."""
    hooks: tuple[str, ...] = ()
    """These have run, by their names."""
    fails: tuple[str, ...] | bool = ()
    """These do not give a verdict; True for whichever."""


class Case(Record):
    name: str = ""
    file: str = ""
    line: int = 0
    event: str = ""
    tool: str = ""
    given: dict[str, Any] = _NOTHING
    """The tool's input; the fields of an event that is not about a tool."""
    payload: dict[str, Any] | None = None
    """The whole event instead, as the agent sends it."""
    agent: str = ""
    active: tuple[str, ...] = ()
    """Skills and subagents that are running."""
    approval: str = "refuse"
    """What a person says who is asked: `allow` or `refuse`."""
    says: Mapping[str, Verdict] = {}  # never changed: records are frozen
    """In the place of these hooks, by their names."""
    expected: Expected = Expected()

    def build(self, where: Where) -> Event:
        """The event, as its agent would bring it from a project. Raises InputError."""
        half = dialects.agent_half(self.agent or ASKED_BY)
        if self.payload is not None:
            raw = {"cwd": where.project, **where.filled(self.payload)}
            return _owned(half.read_event(wire.encode(raw), self.event, {}), where)
        name = self.event or "PreToolUse"
        given = where.filled(self.given)
        if not issubclass(event_class(name), ToolEvent):
            return _owned(Event.from_payload({**given}, name), where)
        call = {"cwd": where.project, "tool_name": self.tool, "tool_input": absolute(given, where.project)}
        if half.TOOLS is not None and half.TOOLS.entry(self.tool, given) is not None:
            return _owned(Event.from_payload(tools.read_call(half.TOOLS, call), name), where)
        return _owned(tools.spoken_by(half.TOOLS, Event.from_payload(call, name)), where)

    def command_line(self, where: Where, program: str, here: str) -> str:
        """How to look at it closer, from the folder `here`."""
        import shlex

        elsewhere = [] if where.project == here else ["--project", where.project]
        words = ["explain", "--trust-project", *elsewhere, *self._asker()]
        if self.payload is not None:
            event = wire.encode_text({"cwd": where.project, **where.filled(self.payload)})
            return f"printf %s {shlex.quote(event)} | {program} {shlex.join(words)}"
        return f"{program} {shlex.join([*words, *self._made_up(where)])}"

    def _asker(self) -> list[str]:
        agent = ["--agent", self.agent] if self.agent else []
        event = ["--event", self.event] if self.event else []
        return [*agent, *event, *(word for name in self.active for word in ("--with", name))]

    def _made_up(self, where: Where) -> list[str]:
        given = absolute(where.filled(self.given), where.project)
        if self.tool == "Bash" and isinstance(given.get("command"), str) and len(given) == 1:
            return ["--command", given["command"]]
        if self.tool:
            return ["--tool", self.tool, "--input", _json(given)]
        if list(given) == ["prompt"]:
            return ["--prompt", str(given["prompt"])]
        return ["--input", _json(given)] if given else []


def _json(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)


def _owned(event: Event, where: Where) -> Event:
    missing = {
        name: value for name, value in (("session_id", "test"), ("cwd", where.project)) if not event.as_dict().get(name)
    }
    return event.but(**missing) if missing else event


def absolute(given: dict[str, Any], project: str) -> dict[str, Any]:
    """Agents say whole paths, and hooks rely on that."""
    changed = dict(given)
    for key in _PATHS:
        path = given.get(key)
        if isinstance(path, str) and path and not path.startswith(("/", "~")):
            changed[key] = os.path.join(project, path)
    return changed


def titled(case: Case) -> str:
    """A name for a case that has none: what it is about."""
    about = next((value for value in case.given.values() if isinstance(value, str)), "")
    what = case.tool or case.event or str((case.payload or {}).get("hook_event_name", "")) or "an event"
    line = " ".join(about.split())
    line = line if len(line) <= 60 else f"{line[:59]}…"
    return f"{what}: {line}" if line else what


def event_name(name: str) -> str:
    """The canonical one. A misspelt one is an error: no hook would look at it. Agents have others of their own."""
    from fairlead.dialects._common import did_you_mean
    from fairlead.events import EVENTS, canonical_name

    found = canonical_name(name)
    hint = "" if found in EVENTS else did_you_mean(name, EVENTS)
    if hint.startswith("did you mean"):
        raise UsageError(f"there is no event {name!r}", hint=hint)
    return found
