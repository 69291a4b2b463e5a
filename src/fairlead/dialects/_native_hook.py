"""One `[[hook]]` of `fairlead.toml`: a hook, or what is wrong with it."""

from __future__ import annotations

import os

from fairlead.dialects import _native_handlers as handlers
from fairlead.dialects import _native_values as values
from fairlead.dialects._common import did_you_mean, left_running, once_a_session
from fairlead.events import EVENTS, GUARDED
from fairlead.hooks import Hook, Origin
from fairlead.matchers import everything, whole_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from fairlead.dialects import Places
    from fairlead.dialects._common import Path, Reader
    from fairlead.events import Event
    from fairlead.hooks import Handler
    from fairlead.matchers import Matcher

_TIMEOUT = 60.0
_TIMEOUTS = {"approval": 600.0, "prompt": 30.0}
KEYS = frozenset(
    (*handlers.HANDLERS, *handlers.BELONGS, "on", "tool", "matcher", "name", "priority", "timeout", "on_error",
     "enabled", "if", "parallel", "reads", "async", "once", "status", "required", "files")
)  # fmt: skip


def read_hook(
    reader: Reader, entry: dict[str, Any], path: Path, index: int, places: Places, data: dict[str, Any]
) -> None:
    reader.only(entry, KEYS, path)
    events = _events(reader, entry, path)
    handler = handlers.handler(reader, entry, path, places, data)
    name = values.text(reader, entry, "name", path) or f"{os.path.basename(reader.source.path)}#{index + 1}"
    required = values.flag(reader, entry, "required", path, default=False)
    if not events or handler is None:
        if required:
            reader.hooks.append(_broken(reader, name, events, path))
        return
    key = next((name for name in ("matcher", "tools") if name in entry), "tool")
    asks = handler.kind == "approval"
    wants_once = values.flag(reader, entry, "once", path, default=False)
    once = once_a_session((reader.source.path, *path), places) if wants_once else None
    timeout = _TIMEOUTS.get(handler.kind, _TIMEOUT)
    if values.flag(reader, entry, "async", path, default=False) and _may(reader, "async", path, required=required):
        handler = _in_background(reader, handler, events, path)
    enabled = values.flag(reader, entry, "enabled", path, default=True)
    reader.hooks.append(
        Hook(
            name=name,
            events=tuple(events),
            handler=handler,
            origin=_origin(reader, path),
            matcher=_matcher(reader, entry, key, path),
            matcher_path=(*path, key),
            for_tools=key != "matcher",
            timeout=values.timeout(reader, entry.get("timeout", timeout), (*path, "timeout"), timeout),
            priority=values.priority(reader, entry.get("priority", 0), (*path, "priority")),
            on_error=_direction(reader, entry, events, path, always=required) or ("deny" if asks or required else ""),
            enabled=enabled or not _may(reader, "enabled", path, required=required),
            condition=_condition(reader, entry.get("if"), (*path, "if"), places),
            options={
                "once": once,
                "if": entry.get("if"),
                "files": values.listed(reader, entry, "files", path),
                "status": values.text(reader, entry, "status", path),
                "parallel": values.flag(reader, entry, "parallel", path, default=False),
                "reads": values.reads(reader, entry.get("reads", ""), (*path, "reads")),
                **_marks(reader, handler, required=required),
                **handlers.bounds(reader, entry, path),
            },
        )
    )


def _marks(reader: Reader, handler: Handler, *, required: bool) -> dict[str, bool]:
    """`tightens`: a guard of a project can only refuse and ask, and runs nothing of the project's."""
    found = {"required": True} if required else {}
    return found | ({"tightens": True} if handler.kind == "guard" and reader.source.owner == "project" else {})


def _broken(reader: Reader, name: str, events: list[str], path: Path) -> Hook:
    from fairlead.handlers.refusal import Refusal

    line = reader.problems[-1].line
    reason = f"the required hook {name} is broken ({reader.source.path}:{line}): {reader.problems[-1].message}; "
    return Hook(
        name=name,
        events=tuple(events) or tuple(sorted(GUARDED)),
        handler=Refusal(reason=f"{reason}`fairlead check` says what to mend"),
        origin=_origin(reader, path),
        on_error="deny",
        options={"required": True},
    )


def _origin(reader: Reader, path: Path) -> Origin:
    return Origin(dialect="fairlead", layer=reader.source.layer, file=reader.source.path, path=path)


def _may(reader: Reader, key: str, path: Path, *, required: bool) -> bool:
    """Whether a hook may be left out in this way: one that is required may not."""
    if required:
        reader.warn((*path, key), f"a required hook has {key}, which is not heeded", "take one of the two out")
    return not required


def _direction(reader: Reader, entry: dict[str, Any], events: list[str], path: Path, *, always: bool) -> str:
    path = (*path, "on_error")
    wish = values.on_error(reader, entry.get("on_error"), path)
    if wish != "allow":
        return wish
    if always:
        reader.warn(path, 'a required hook has on_error = "allow", which is not heeded', "take one of the two out")
        return ""
    from fairlead.dialects._native_policy import failing

    guards = "approval" in entry or "*" in events or not GUARDED.isdisjoint(events)
    return failing(reader, wish, path, guards=guards)


def _in_background(reader: Reader, handler: Handler, events: list[str], path: Path) -> Handler:
    if handler.kind in ("approval", "guard"):
        reader.problem((*path, "async"), f"{handler.kind} decides, and cannot be left running", "it is waited for")
        return handler
    if not GUARDED.isdisjoint(events):
        reader.warn(
            (*path, "async"), "a hook that nobody waits for cannot refuse anything", "take async out if it should"
        )
    return left_running(handler)


def _matcher(reader: Reader, entry: dict[str, Any], key: str, path: Path) -> Matcher:
    several = [name for name in ("tool", "tools", "matcher") if name in entry]
    if len(several) > 1:
        said = f"this hook has {' and '.join(several)}"
        reader.problem((*path, several[0]), said, "one of them; until then it matches everything")
        return everything()
    if key == "tools":
        from fairlead.dialects._native_approval import tools_text

        return whole_name(tools_text(reader, entry[key], (*path, key)))
    return whole_name(reader.matcher_text(entry.get(key), (*path, key)))


def _condition(reader: Reader, rule: Any, path: Path, places: Places) -> Callable[[Event], str] | None:
    """`if`: a permission rule. Events that are not about a tool do not heed it."""
    if rule is None:
        return None
    from fairlead import conditions

    problem = conditions.problem(rule)
    if problem:
        reader.problem(path, problem, "until it is mended, the hook runs as if it were not there")
        return None
    applies = conditions.condition(rule, home=places.home, project=places.project)
    return lambda event: applies(event) if event.name in conditions.EVENTS else ""


def _events(reader: Reader, entry: dict[str, Any], path: Path) -> list[str]:
    path = (*path, "on")
    names = entry.get("on")
    if names is None:
        reader.problem(path[:-1], "`on` is missing", 'name the event, such as on = "PreToolUse"')
        return []
    names = [names] if isinstance(names, str) else names
    if not reader.expect(names, list, path, "`on` must be an event or a list of events"):
        return []
    if not names:
        reader.problem(path, "`on` is empty", 'name the event, such as on = "PreToolUse"; "*" is every event')
    return [_event(reader, name, path) for name in names if reader.expect(name, str, path, "an event must be a string")]


def _event(reader: Reader, name: str, path: Path) -> str:
    """What is misspelt only in case or underscores is taken as it was meant: a guard should run."""
    if name == "*" or name in EVENTS:
        return name
    meant = {known.lower(): known for known in EVENTS}.get(name.lower().replace("_", ""))
    if meant:
        reader.warn(path, f"unknown event {name!r}", f"taken as {meant!r}")
        return meant
    # Carried all the same: agents have events that we do not know yet.
    reader.warn(path, f"unknown event {name!r}", did_you_mean(name, EVENTS))
    return name
