"""The hooks in Claude Code's files: in settings, in plugins, and in the front matter of skills and subagents."""

from __future__ import annotations

import os

from fairlead import documents
from fairlead.dialects import _claude_files, _elsewhere
from fairlead.dialects._common import (
    A_DAY,
    Reader,
    all_of,
    file_name,
    given,
    left_running,
    once_a_session,
    read_groups,
    warn_of_reach,
)
from fairlead.dialects.claude_code import EVENTS, NAME, SESSION_END, SETTINGS, TIMEOUT, TIMEOUTS
from fairlead.events import EVENTS as ALL_EVENTS
from fairlead.handlers.command import Command
from fairlead.hooks import Hook, Origin
from fairlead.matchers import name_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from fairlead.dialects import Places, Reading, Source
    from fairlead.dialects._common import Path
    from fairlead.events import Event
    from fairlead.hooks import Handler
    from fairlead.matchers import Matcher

_TIMEOUTS_BY_TYPE = {"prompt": 30.0, "agent": 60.0}
_SESSION_END_MOST = 60.0
_TYPES = ("command", "prompt", "agent", "http", "mcp_tool")
_KEYS = (
    "type", "command", "args", "shell", "if", "timeout", "statusMessage", "once", "onFailure", "async", "asyncRewake",
    *_elsewhere.KEYS,
)  # fmt: skip
_NEVER_BLOCKED_BY_FAILURE = frozenset({"Stop", "SubagentStop", "TaskCompleted", "TeammateIdle"})


def read(source: Source, text: str, places: Places) -> Reading:
    reader = Reader(source, text)
    if source.format == "front-matter":
        data = documents.parse_front_matter(text)
    else:
        data = documents.parse_json(text)
    if not reader.expect(data, dict, (), "settings must be an object"):
        return reader.reading()
    for event, group, handler, path in read_groups(reader, *_hooks_in(reader, data)):
        _read_handler(reader, event, group, handler, path, places, data)
    return reader.reading(**(_settings(reader, data) if source.layer in SETTINGS else {}))


def _settings(reader: Reader, data: dict[str, Any]) -> dict[str, Any]:
    lists = ((_elsewhere.URLS, "allowedHttpHookUrls"), (_elsewhere.VARIABLES, "httpHookAllowedEnvVars"))
    return {NAME: _switches(reader, data)} | {
        key: {NAME: _elsewhere.words(reader, data[name], (name,))} for key, name in lists if data.get(name) is not None
    }


def _hooks_in(reader: Reader, data: dict[str, Any]) -> tuple[Any, Mapping[str, str], Path]:
    """The events with their groups, and where they stand."""
    if data.get("hooks") is not None:
        return data["hooks"], EVENTS, ("hooks",)
    loose = {key: value for key, value in data.items() if key in EVENTS and reader.source.format == "plugin"}
    if loose:
        hint = 'write {"hooks": { … }} around them; until then they are taken as if it were there'
        reader.problem((next(iter(loose)),), "events stand at the top of the file", hint)
    return loose, EVENTS, ()


def _switches(reader: Reader, data: dict[str, Any]) -> dict[str, Any]:
    """The settings that switch hooks on and off."""
    plugins = data.get("enabledPlugins")
    switches = {"enabledPlugins": plugins if isinstance(plugins, dict) else {}}
    for key in ("disableAllHooks", "allowManagedHooksOnly"):
        if data.get(key) is not None and reader.expect(data[key], bool, (key,), f"{key} must be true or false"):
            switches[key] = data[key]
    if switches.get("disableAllHooks"):
        warn_of_reach(reader, ("disableAllHooks",))
    if switches.get("allowManagedHooksOnly") and reader.source.owner != "managed":
        reader.warn(("allowManagedHooksOnly",), _ONLY_MANAGED, "it belongs into managed-settings.json")
    return switches


_ONLY_MANAGED = "allowManagedHooksOnly counts in the organisation's settings alone, and is ignored here"


def _read_handler(reader: Reader, event: str, group: Any, entry: Any, path: Path, places: Places, data: Any) -> None:
    source = reader.source
    if entry is not group:
        reader.slips(entry, _KEYS, path)
    handler = _handler(reader, entry, path, places)
    if handler is None:
        return
    in_background = entry.get("async") is True or entry.get("asyncRewake") is True
    if in_background:
        handler = left_running(handler)
    pattern = _pattern(reader, event, group, (*path[:-2], "matcher"))
    if source.layer == "subagent" and event == "Stop":
        event, pattern = "SubagentStop", ""
    wants_once = entry.get("once") is True and source.format == "front-matter"
    once = once_a_session((source.path, *path), places) if wants_once else None
    root = _claude_files.plugin_root(source)
    reader.hooks.append(
        Hook(
            name=_name(handler, root),
            events=(event,),
            handler=handler,
            origin=Origin(dialect=NAME, layer=source.layer, file=source.path, path=path),
            matcher=matcher_for(event, pattern),
            matcher_path=(*path[:-2], "matcher"),
            timeout=A_DAY if entry.get("async") is True else _timeout(reader, event, entry, path, places),
            on_error="allow" if in_background else _on_failure(reader, event, entry, path),
            condition=all_of(_claude_files.scope(source, data, places), _if(reader, event, entry, path, places)),
            options=given(
                {"async": in_background or None, "rewakes": entry.get("asyncRewake") is True or None, "root": root,
                 "plugin": os.path.basename(root), "owner": source.owner, "if": entry.get("if"), "once": once,
                 "status": entry.get("statusMessage"),
                 "own_timeout": "timeout" in entry or None}
            ),
        )
    )  # fmt: skip


def _handler(reader: Reader, entry: Any, path: Path, places: Places) -> Handler | None:
    kind = entry.get("type", "command")
    if kind not in _TYPES:
        reader.problem((*path, "type"), f"unknown type {kind!r}", f"one of: {', '.join(_TYPES)}")
        return None
    if kind != "command":
        return _elsewhere.handler(reader, kind, entry, path)
    command = reader.text_field(entry, "command", path)
    if not command:
        return None
    if entry.get("args") is None:
        return _in_shell(reader, entry, command, path)
    return _without_shell(reader, entry["args"], command, path, places)


def _in_shell(reader: Reader, entry: Any, command: str, path: Path) -> Command:
    shell = entry.get("shell")
    if shell == "powershell":
        for name in ("CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT"):
            command = command.replace(f"${{{name}}}", f"${{env:{name}}}")
        return Command(command="pwsh", args=("-NoProfile", "-NonInteractive", "-Command", command))
    if shell == "bash":
        return Command(command=command, shell="bash")  # noqa: S604  # the user asks for it
    if shell is not None:
        reader.problem((*path, "shell"), f"unknown shell {shell!r}", "bash or powershell; sh is used")
    return Command(command=command)


def _without_shell(reader: Reader, args: Any, command: str, path: Path, places: Places) -> Command | None:
    place = (*path, "args")
    if not reader.expect(args, list, place, "args must be a list"):
        return None
    for index, word in enumerate(args):
        reader.expect(word, str, (*place, index), "each of args must be a string")
    names = given(
        {"CLAUDE_PROJECT_DIR": places.project, "CLAUDE_PLUGIN_ROOT": _claude_files.plugin_root(reader.source)}
    )
    return Command(command=_fill(command, names), args=tuple(_fill(str(word), names) for word in args))


def _fill(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(f"${{{name}}}", value)
    return word


def _pattern(reader: Reader, event: str, group: Any, path: Path) -> str:
    pattern = reader.matcher_text(group.get("matcher"), path)
    if pattern not in ("", "*") and not ALL_EVENTS[event].matches_on:
        reader.warn(path, f"{event} has nothing to match: {pattern!r} is ignored and the hook always runs")
    elif pattern.startswith("mcp__") and pattern.count("__") == 1 and set(pattern) <= _WORD:
        reader.warn(path, f"{pattern!r} is a server and no tool: it never matches", f"write {pattern}__.*")
    return pattern


_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def matcher_for(event: str, pattern: str) -> Matcher:
    if event in ("FileChanged", "StopFailure"):
        return name_list(pattern, separators="|", plain="")
    return name_list(pattern)


def _timeout(reader: Reader, event: str, entry: Any, path: Path, places: Places) -> float:
    default = _TIMEOUTS_BY_TYPE.get(str(entry.get("type")), TIMEOUTS.get(event, TIMEOUT))
    if event != "SessionEnd":
        return reader.timeout(entry, path, "timeout", default, 1)
    wish = places.environ.get("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS", "")
    least = int(wish) / 1000 if wish.isdecimal() and int(wish) else SESSION_END
    return min(reader.timeout(entry, path, "timeout", least, 1), max(_SESSION_END_MOST, least))


def _on_failure(reader: Reader, event: str, entry: Any, path: Path) -> str:
    value = entry.get("onFailure", "continue")
    if value not in ("continue", "block"):
        reader.problem((*path, "onFailure"), f"onFailure is {value!r}", '"continue" or "block"; "block" is used')
    return "" if value == "continue" or event in _NEVER_BLOCKED_BY_FAILURE else "deny"


def _if(reader: Reader, event: str, entry: Any, path: Path, places: Places) -> Callable[[Event], str] | None:
    rule = entry.get("if")
    if rule is None:
        return None
    from fairlead import conditions

    problem = conditions.problem(rule)
    if problem:
        reader.problem((*path, "if"), problem, "until it is mended, the hook runs as if it were not there")
    elif event not in conditions.EVENTS:
        reader.warn((*path, "if"), f"`if` means nothing on {event}: this hook never runs", "take it out")
    return conditions.condition(rule, home=places.home, project=places.project)


def _name(handler: Handler, root: str) -> str:
    return f"{os.path.basename(root)}:{file_name(handler)}" if root else file_name(handler)
