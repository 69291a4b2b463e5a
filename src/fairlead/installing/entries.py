"""What we write into an agent's settings for one event."""

from __future__ import annotations

from fairlead._record import Record
from fairlead.installing import commands, specs, ways
from fairlead.installing.commands import Call
from fairlead.installing.ways import DIRECT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from fairlead.installing.specs import Install
    from fairlead.installing.ways import Way

    Finder = Callable[[object], bool]
    """Tells our entries from the others."""


class Wishes(Record):
    """What the user asked for."""

    guard: bool = False
    trust_project: bool = False
    enforce: bool = False
    all_events: bool = False
    adopt: bool = False
    via: str = "auto"
    """See `ways`."""


class Wanted(Record):
    """An entry, and the list or object that it belongs into."""

    event: str
    path: tuple[str, ...]
    entry: Any
    key: str = ""
    """Its key, where entries are named."""


def wanted(
    spec: Install,
    scope: str,
    wishes: Wishes,
    *,
    way: Way = DIRECT,
    profile: str = "",
    shim: str = "",
    known: dict[str, Call] | None = None,
) -> list[Wanted]:
    """Everything that belongs into the settings; `known` are our entries that are there already, by event."""
    template = spec.user_path if scope == "user" and spec.user_path else spec.path
    found = []
    for event in specs.events(spec, every=wishes.all_events):
        path = tuple(step.format(event=event, profile=profile) for step in template)
        call = _call(spec, event, wishes, (known or {}).get(event))
        entry = _entry(spec, event, handler(spec, event, call, wishes, way, shim))
        key = "fairlead" if spec.shape == "named" and spec.format == "json" else ""
        found.append(Wanted(event=event, path=path, entry=entry, key=key))
    return found


def _call(spec: Install, event: str, wishes: Wishes, before: Call | None) -> Call:
    return Call(
        agent=spec.name,
        event="" if spec.names_event else event,
        guard=wishes.guard,
        trust_project=wishes.trust_project or (before is not None and before.trust_project),
        others=before.others if before else (),
    )


def handler(spec: Install, event: str, call: Call, wishes: Wishes, way: Way, shim: str = "") -> dict[str, Any]:
    """The part of an entry that says what is run, or asked."""
    seconds = specs.timeout(spec, event)
    if event in way.http:
        command = ways.handler(way, spec.name, call, seconds)
    else:
        command = _command(spec, commands.words(call, seconds, way.before), shim)
    limit = {spec.timeout_key: _number(seconds * spec.unit)} if spec.timeout_key else {}
    strict = dict(spec.enforce) if wishes.enforce and event in spec.enforce_on else {}
    return {**command, **limit, **strict}


def _number(value: float) -> float:
    return int(value) if value == int(value) else value


def _command(spec: Install, words: list[str], shim: str) -> dict[str, Any]:
    typed = {} if spec.shape in ("named", "triggers") or spec.name in ("cursor", "windsurf", "crush") else _COMMAND
    line = commands.line(words)
    if spec.form == "args":
        return {**typed, "command": words[0], "args": words[1:]}
    if spec.form == "exec":
        return {**typed, "exec": words[0], "args": words[1:]}
    if spec.form == "systems":
        return {**typed, "linux": line, "osx": line}
    return {**typed, spec.shell_key: commands.line([shim]) if shim else line}


_COMMAND = {"type": "command"}
WITHOUT_GROUP = ("Stop", "PreInvocation", "PostInvocation")
"""Antigravity takes handlers directly where there is nothing to match."""


def _entry(spec: Install, event: str, made: dict[str, Any]) -> dict[str, Any]:
    if spec.name == "antigravity" and event in WITHOUT_GROUP:
        return made
    if spec.shape == "groups":
        return {"hooks": [made]}
    if spec.shape == "triggers":
        limit = {"timeout": made.pop("timeout")}
        return {"name": f"fairlead-{event}", "trigger": event, "action": {"type": "command", **made}, **limit}
    return made


MANAGED = frozenset(
    ["type", "url", "headers", "command", "args", "exec",
     "linux", "osx", "timeout", "timeoutSec", "timeout_secs", "action", "name",
     "trigger", "event", "onFailure", "failClosed", "fail_closed", "strict", "blockOnError", "bash"]
)  # fmt: skip
"""Keys of an entry that are ours; any other was added by somebody, and stays."""


def core(entry: Any) -> Any:
    """The handler inside an entry."""
    if isinstance(entry, dict) and isinstance(entry.get("hooks"), list) and entry["hooks"]:
        return entry["hooks"][0]
    return entry


def is_ours(value: object, agent: str = "") -> bool:
    call = commands.known(value)
    return call is not None and agent in ("", call.agent)
