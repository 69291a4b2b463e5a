"""claude-agent: named commands, by priority and one after the other; `continue_execution` to block."""

from __future__ import annotations

import os

from fairlead import documents, verdicts, wire
from fairlead.dialects import HookInput, Reading, Reply, _claude_files
from fairlead.dialects._common import (
    Reader,
    given,
    json_output,
    never_again,
    owners,
    reaches,
    read_groups,
    replace_input,
    text_in,
    text_of,
    tool_matcher,
)
from fairlead.errors import InputError
from fairlead.events import Event
from fairlead.handlers.command import Command
from fairlead.hooks import Hook, HookFailed, Origin
from fairlead.verdicts import NONE, Verdict, join_lines, last, last_given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from fairlead.dialects import Places, Source
    from fairlead.dialects._common import Path
    from fairlead.hooks import Setting
    from fairlead.verdicts import Decision
    from fairlead.work import Result

NAME = "claude-agent"
TOOLS = None
_NAMES = (
    "PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "SubagentStart", "SubagentStop",
    "PreCompact", "SessionStart", "SessionEnd",
)  # fmt: skip
EVENTS: Mapping[str, str] = {form: name for name in _NAMES for form in (name, name[0].lower() + name[1:])}
BLOCKABLE = frozenset({"PreToolUse", "UserPromptSubmit", "SubagentStart", "SessionStart"})

again = never_again
log = None
rewritten = replace_input

_TIMEOUT = 60.0


# --- the hook half -----------------------------------------------------------------------------------


def sources(places: Places) -> list[Source]:
    return [
        *_claude_files.settings(places),
        *_claude_files.plugins(places),
        *_claude_files.front_matter(places),
    ]


def read(source: Source, text: str, places: Places) -> Reading:
    reader = Reader(source, text)
    is_markdown = source.format == "front-matter"
    data = documents.parse_front_matter(text) if is_markdown else documents.parse_json(text)
    if not reader.expect(data, dict, (), "the file must be an object"):
        return reader.reading()
    scope = _claude_files.scope(source, data, places)
    hooks = data.get("hooks", data if source.format == "plugin" else {})
    path: Path = ("hooks",) if "hooks" in data else ()
    if reader.expect(hooks, dict, path, "hooks must be an object"):
        for name, value in hooks.items():
            _read_event(reader, name, value, (*path, name), scope)
    plugins = data.get("enabledPlugins")
    return reader.reading(**{NAME: plugins if isinstance(plugins, dict) else {}})


def _read_event(reader: Reader, name: str, value: object, path: Path, scope: Any) -> None:
    event = reader.event(name, EVENTS, path)
    if not event:
        return
    for hook_name, entry, place, matcher in _entries(reader, str(name), value, path):
        _read_hook(reader, event, hook_name, entry, place, matcher, scope)


def _entries(reader: Reader, name: str, value: Any, path: Path) -> Iterator[tuple[str, Any, Path, tuple[object, Path]]]:
    """Name, command, place and matcher, from a named map, a list of commands or matcher groups."""
    if isinstance(value, dict) and _is_one_hook(value):
        reader.problem(path, "a hook stands where names are needed", f"{_NAMED}; until then it is taken as it is")
        value = [value]
    if isinstance(value, dict):
        for key, entry in value.items():
            yield str(key), entry, (*path, key), _own_matcher(entry, (*path, key))
        return
    if isinstance(value, str):
        value = [value]
    if not reader.expect(value, list, path, f"{name} must be a map of names, or a list"):
        return
    for index, entry in enumerate(value):
        place = (*path, index)
        if isinstance(entry, dict) and "hooks" in entry:
            inner = read_groups(reader, {name: [entry]}, {name: name}, path[:-1])
            for number, (_, group, action, _inner) in enumerate(inner):
                matcher = (group.get("matcher"), (*place, "matcher"))
                yield f"{name}-{index + 1}.{number + 1}", action, (*place, "hooks", number), matcher
        else:
            yield f"{name}-{index + 1}", entry, place, _own_matcher(entry, place)


_KEYS = ("type", "command", "timeout_secs", "timeout", "matcher", "reads")
_NAMED = 'write {"a-name": { … }}'


def _is_one_hook(value: dict[str, Any]) -> bool:
    return isinstance(value.get("command"), str) and len(value) > 1 and set(value) <= set(_KEYS)


def _own_matcher(entry: object, path: Path) -> tuple[object, Path]:
    return (entry.get("matcher") if isinstance(entry, dict) else None), (*path, "matcher")


def _read_hook(
    reader: Reader, event: str, name: str, entry: Any, path: Path, matcher: tuple[object, Path], scope: Any
) -> None:
    source = reader.source
    fields = {"command": entry} if isinstance(entry, str) else entry
    if not reader.expect(fields, dict, path, "a hook must be a command or an object"):
        return
    reader.slips(fields, _KEYS, path)
    if fields.get("type", "command") != "command":
        reader.problem((*path, "type"), f"unknown type {fields['type']!r}", "only command hooks exist here")
        return
    command = reader.text_field(fields, "command", path)
    if not command:
        return
    key = "timeout_secs" if "timeout_secs" in fields else "timeout"
    root = _claude_files.plugin_root(source)
    env = {"CLAUDE_PLUGIN_ROOT": root} if root else {}
    reader.hooks.append(
        Hook(
            name=f"{os.path.basename(root)}:{name}" if root else name,
            events=(event,),
            handler=Command(command=command.replace("${CLAUDE_PLUGIN_ROOT}", root) if root else command, env=env),
            origin=Origin(dialect=NAME, layer=source.layer, file=source.path, path=path),
            matcher=tool_matcher(event, reader.matcher_text(*matcher)),
            matcher_path=matcher[1],
            timeout=reader.timeout(fields, path, key, _TIMEOUT, 1),
            condition=scope,
            options={"reads": fields.get("reads", "")},
        )
    )


_NEARNESS = {"user": 0, "plugin": 0, "project": 1, "local": 2}


def arrange(hooks: Sequence[Hook], readings: Sequence[tuple[Source, Reading]]) -> list[Hook]:
    """Levels add; a name on the same event is replaced by the nearer level, if that is trusted."""
    hooks = _without_plugins_that_are_off(hooks, readings)
    nearest: dict[tuple[tuple[str, ...], str], int] = {}
    for hook in hooks:
        if hook.trusted and hook.origin.layer in _NEARNESS:
            key = (hook.events, hook.name)
            nearest[key] = max(nearest.get(key, 0), _NEARNESS[hook.origin.layer])
    kept = [
        hook
        for hook in hooks
        if not hook.trusted
        or _is_numbered(hook)
        or _NEARNESS.get(hook.origin.layer, 9) >= nearest.get((hook.events, hook.name), 0)
    ]
    return sorted(kept, key=lambda hook: -hook.priority)


def _without_plugins_that_are_off(hooks: Sequence[Hook], readings: Sequence[tuple[Source, Reading]]) -> list[Hook]:
    whose = owners(readings)
    return [
        hook.but(enabled=False)
        if hook.origin.layer == "plugin" and not _is_on(hook, whose.get(hook.origin.file, "user"), readings)
        else hook
        for hook in hooks
    ]


def _is_on(hook: Hook, owner: str, readings: Sequence[tuple[Source, Reading]]) -> bool:
    """What the settings say whose word reaches it, the nearest last."""
    plugin, is_on = hook.name.partition(":")[0], True
    for source, reading in readings:
        for name, on in reading.settings.get(NAME, {}).items() if reaches(source.owner, owner) else ():
            if name.partition("@")[0] == plugin:
                is_on = on is not False
    return is_on


def _is_numbered(hook: Hook) -> bool:
    """Elements of lists have no names of their own that another level could mean."""
    return isinstance(hook.origin.path[-1], int)


def batches(_event: Event, hooks: Sequence[Hook]) -> list[list[Hook]]:
    return [[hook] for hook in hooks]


_OWN_NAMES = {"tool_response": "tool_result", "agent_id": "subagent_id", "agent_type": "subagent_type"}
_CANONICAL_NAMES = {own: name for name, own in _OWN_NAMES.items()}


_ALWAYS_THERE: Mapping[str, dict[str, Any]] = {
    "SubagentStart": {"subagent_id": "", "subagent_type": "", "description": ""},
    "SubagentStop": {"subagent_id": "", "success": True, "error": None},
}


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


_BY_SNAKE = {_snake(name): name for name in _NAMES}


def hook_input(_hook: Hook, event: Event, _setting: Setting) -> HookInput:
    payload = event.payload()
    del payload["hook_event_name"]
    own = {_OWN_NAMES.get(key, key): value for key, value in payload.items()}
    if event.name in _ALWAYS_THERE:
        own = {**_ALWAYS_THERE[event.name], **own}
    name = _snake(event.name)
    return HookInput(stdin=wire.encode({"event": name, "session_id": "", **own}), env={"EVENT": name})


def read_verdict(hook: Hook, event: Event, result: Result) -> Verdict:
    if result.exit_code:
        said = text_of(result.stderr) or text_of(result.tail)
        raise HookFailed(f"exit code {result.exit_code}" + (f": {said}" if said else ""))
    output = json_output(result)
    if output is not None:
        return read_value(hook, event, output)
    text = text_of(result.stdout)
    return verdicts.context(text) if text else NONE


def read_value(_hook: Hook, _event: Event, value: object) -> Verdict:
    if value is None:
        return NONE
    if isinstance(value, Verdict):
        return value
    if not isinstance(value, dict):
        return verdicts.context(str(value))
    if not isinstance(value.get("continue_execution", True), bool):
        raise HookFailed(f"continue_execution must be true or false, not {value['continue_execution']!r}")
    update = value.get("updated_input")
    fields: dict[str, Any] = {
        "stop_reason": text_in(value, "stop_reason"),
        "suppress_output": value.get("suppress_logging") is True,
        "system_message": text_in(value, "system_message"),
        "updated_input": update if isinstance(update, dict) else None,
        "context": text_in(value, "additional_context"),
    }
    kept = {key: item for key, item in fields.items() if item or item == {}}
    if value.get("continue_execution") is False:
        return verdicts.block(fields["stop_reason"] or "blocked by a hook", **kept)
    return Verdict(**kept) if kept else NONE


def on_failure(event: Event) -> str:
    return "deny" if event.name in BLOCKABLE else "allow"


def ends_row(event: Event, verdict: Verdict) -> bool:
    return verdict.denies and event.name in BLOCKABLE


def merge(_event: Event, said: Sequence[Verdict]) -> Verdict:
    """Any block blocks; the latest reason, message and input; contexts joined by a newline."""
    if not said:
        return NONE
    merged = verdicts.merge(said)
    return merged.but(
        reason=last(v.reason for v in said),
        stop_reason=last(v.stop_reason or (v.reason if v.denies else "") for v in said),
        system_message=last(v.system_message for v in said),
        updated_input=last_given(v.updated_input for v in said),
    )


# --- the agent half ----------------------------------------------------------------------------------

_ALWAYS = frozenset({"context", "rewrite"})
CAN: Mapping[str, frozenset[str]] = {
    **{name: _ALWAYS | {"deny"} for name in BLOCKABLE},
    "*": _ALWAYS,
}
DEADLINES: Mapping[str, float] = {"*": 60.0}
CAPS_STOPS = False
INPUT_VARIABLE = ""


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    own = wire.decode_object(raw)
    said = own.pop("event", None)
    name = event_name or said
    if not isinstance(name, str) or not name:
        raise InputError("the event has no name", hint='it belongs in "event", such as "pre_tool_use"')
    fields = {_CANONICAL_NAMES.get(key, key): value for key, value in own.items()}
    return Event.from_payload(fields, _BY_SNAKE.get(name, name))


def write_reply(event: Event, decision: Decision) -> Reply:
    answer = {key: value for key, value in write_result(event, decision).items() if value not in (None, False)}
    answer["continue_execution"] = not decision.denies
    quiet = answer == {"continue_execution": True}
    return Reply(stdout=b"" if quiet else wire.encode(answer) + b"\n")


def write_result(_event: Event, decision: Decision) -> dict[str, Any]:
    """The fields of a `HookOutput`, all of them."""
    reason = decision.stop_reason or (decision.reason if decision.denies else "")
    return {
        "continue_execution": not decision.denies,
        "stop_reason": reason or None,
        "suppress_logging": decision.suppress_output,
        "system_message": decision.system_message or None,
        "updated_input": decision.updated_input,
        "additional_context": join_lines((decision.context, decision.feedback)) or None,
    }


def write_failure(event_name: str, message: str) -> Reply:
    del event_name
    answer = given({"continue_execution": False, "stop_reason": f"Fairlead: {message}"})
    return Reply(stdout=wire.encode(answer) + b"\n")
