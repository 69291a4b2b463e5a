"""Codex: Claude Code's shapes, read strictly: one key too many, or a word that it does not know, and the tool runs."""

from __future__ import annotations

import os

from fairlead import documents, verdicts, wire
from fairlead.dialects import HookInput, Source, _claude_reply, _elsewhere
from fairlead.dialects._agents import answer, read_named
from fairlead.dialects._common import (
    A_DAY,
    Reader,
    all_run,
    exit_2,
    fails_open,
    file_name,
    given,
    is_off,
    left_running,
    merge_all,
    moved,
    never_again,
    owners,
    reaches,
    read_groups,
    replace_input,
    text_in,
    warn_of_reach,
)
from fairlead.events import EVENTS as ALL_EVENTS
from fairlead.handlers.command import Command
from fairlead.hooks import Hook, Origin
from fairlead.matchers import name_list
from fairlead.tools import Vocabulary, output_text, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from fairlead.dialects import Places, Reading, Reply
    from fairlead.dialects._common import Path
    from fairlead.events import Event
    from fairlead.hooks import Handler, Setting
    from fairlead.verdicts import Decision, Verdict
    from fairlead.work import Result

NAME = "codex"
TOOLS = Vocabulary(
    tool("Bash", "Bash"),
    tool("apply_patch", "apply_patch"),
    tool("view_image", "Read", path="file_path"),
    tool("spawn_agent", "Agent", message="prompt", task_name="description"),
    tool("collaborationspawn_agent", "Agent", message="prompt", task_name="description"),
    tool("update_plan", "TodoWrite"),
)
_NAMES = (
    "SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "PreCompact",
    "PostCompact", "SubagentStart", "SubagentStop", "Stop", "Interrupt", "PreModelRequest", "PostModelRequest",
)  # fmt: skip
EVENTS: Mapping[str, str] = {name: name for name in ALL_EVENTS if name in _NAMES}

again = never_again
ends_row = all_run
merge = merge_all
on_failure = fails_open
log = None
rewritten = replace_input

_TIMEOUT, _SHORT, _SHORT_MOST = 600.0, 1.0, 3.0
_SHORT_EVENTS = ("SessionEnd", "Interrupt")
_TYPES = ("command", "mcp_tool", "prompt", "agent")
_KEYS = (
    "type", "command", "commandWindows", "command_windows", "timeout", "async", "statusMessage", "status_message",
    "additionalContextLimit", "additional_context_limit", "server", "tool", "input", "prompt", "model",
)  # fmt: skip
_FILE_KEYS = ("description", "hooks")


# --- the hook half -----------------------------------------------------------------------------------


def sources(places: Places) -> list[Source]:
    user = moved(places, "CODEX_HOME") or os.path.join(places.home, ".codex")
    folders = (
        (os.path.join(places.managed, "codex"), "managed"),
        (user, "user"),
        (os.path.join(places.project, ".codex"), "project"),
    )
    return [
        Source(path=os.path.join(folder, name), layer=layer, owner=layer)
        for folder, layer in folders
        for name in ("hooks.json", "config.toml", *(("requirements.toml",) if layer == "managed" else ()))
    ]


def read(source: Source, text: str, places: Places) -> Reading:
    reader = Reader(source, text)
    in_toml = source.path.endswith(".toml")
    data = documents.parse_toml(text, places.environ) if in_toml else documents.parse_json(text)
    if not reader.expect(data, dict, (), "the configuration must be an object"):
        return reader.reading()
    if not in_toml:
        _foreign_keys(reader, data)
    hooks = data.get("hooks")
    events = {k: value for k, value in hooks.items() if k not in _NO_EVENTS} if isinstance(hooks, dict) else hooks
    if events is not None:
        for event, group, handler, path in read_groups(reader, events, EVENTS):
            _read_handler(reader, event, group, handler, path)
    return reader.reading(**({NAME: _switches(reader, data)} if in_toml else {}))


_NO_EVENTS = frozenset({"state", "managed_dir", "windows_managed_dir", "allow_managed_hooks_only"})


def _foreign_keys(reader: Reader, data: dict[str, Any]) -> None:
    for key in data:
        if key not in _FILE_KEYS:
            reader.problem((key,), f"unknown key {key!r}", "Codex drops the whole file for it; here the hooks count")


def _read_handler(reader: Reader, event: str, group: Any, entry: Any, path: Path) -> None:
    source = reader.source
    if entry is not group:
        reader.slips(entry, _KEYS, path)
    handler = _handler(reader, entry, path)
    if handler is None:
        return
    in_background = entry.get("async") is True
    if in_background:
        handler = left_running(handler)
    reader.hooks.append(
        Hook(
            name=file_name(handler),
            events=(event, "PostToolUseFailure") if event == "PostToolUse" else (event,),  # one event for both
            handler=handler,
            origin=Origin(dialect=NAME, layer=source.layer, file=source.path, path=path),
            matcher=name_list(_pattern(reader, event, group, (*path[:-2], "matcher")), separators="|", plain=""),
            matcher_path=(*path[:-2], "matcher"),
            timeout=A_DAY if in_background else _timeout(reader, event, entry, path),
            on_error="allow" if in_background else "",
            options=given({"async": in_background or None}),
        )
    )


def _handler(reader: Reader, entry: Any, path: Path) -> Handler | None:
    kind = entry.get("type", "command")
    if kind not in _TYPES:
        known = f"one of: {', '.join(_TYPES)}; Codex drops the whole file for it"
        reader.problem((*path, "type"), f"unknown type {kind!r}", known)
        return None
    if kind != "command":
        return _elsewhere.handler(reader, kind, entry, path)
    command = reader.text_field(entry, "command", path)
    return Command(command=command) if command.strip() else None


def _pattern(reader: Reader, event: str, group: Any, path: Path) -> str:
    pattern = reader.matcher_text(group.get("matcher"), path)
    if pattern not in ("", "*") and not ALL_EVENTS[event].matches_on:
        reader.warn(path, f"{event} has nothing to match: {pattern!r} is ignored and the hook always runs")
    return pattern


def _timeout(reader: Reader, event: str, entry: Any, path: Path) -> float:
    if event in _SHORT_EVENTS:
        return min(max(reader.timeout(entry, path, "timeout", _SHORT, 1), _SHORT), _SHORT_MOST)
    return max(reader.timeout(entry, path, "timeout", _TIMEOUT, 1), 1.0)


def _switches(reader: Reader, data: dict[str, Any]) -> dict[str, Any]:
    """What config.toml says about hooks as such, and about single ones by file, event, group and place."""
    features, hooks = data.get("features"), data.get("hooks")
    state = hooks.get("state") if isinstance(hooks, dict) else None
    state = state if isinstance(state, dict) else {}
    off = [key for key, value in state.items() if isinstance(value, dict) and value.get("enabled") is False]
    switches: dict[str, Any] = {"off": frozenset(off)}
    said = [table.get("allow_managed_hooks_only", False) for table in (data, hooks) if isinstance(table, dict)]
    switches["only_managed"] = any(value is not False for value in said)
    if isinstance(features, dict):
        for key in ("hooks", "codex_hooks"):
            if key in features and reader.expect(
                features[key], bool, ("features", key), f"{key} must be true or false"
            ):
                switches["hooks"] = features[key]
                if not features[key]:
                    warn_of_reach(reader, ("features", key))
    return switches


def arrange(hooks: Sequence[Hook], readings: Sequence[tuple[Source, Reading]]) -> list[Hook]:
    """All levels add, unless a configuration switches them off."""
    said = [(source.owner, reading.settings[NAME]) for source, reading in readings if NAME in reading.settings]
    whose = owners(readings)
    return [_switched(hook, whose.get(hook.origin.file, "user"), said) for hook in hooks]


def _switched(hook: Hook, owner: str, said: Sequence[tuple[str, Mapping[str, Any]]]) -> Hook:
    off = (
        is_off(owner, [(by, not switches["hooks"]) for by, switches in said if "hooks" in switches])
        or any(_key(hook) in switches["off"] for by, switches in said if reaches(by, owner))
        or (owner != "managed" and any(switches.get("only_managed") for by, switches in said if by == "managed"))
    )
    return hook.but(enabled=False) if off else hook


def _key(hook: Hook) -> str:
    """The name that Codex has for a hook in its own records."""
    _, event, group, _, index = (*hook.origin.path, *("",) * 5)[:5]
    words = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in str(event))
    return f"{hook.origin.file}:{words.removeprefix('_')}:{group}:{index}"


def batches(_event: Event, hooks: Sequence[Hook]) -> list[list[Hook]]:
    """Side by side, and as often as they stand there."""
    return [list(hooks)]


_SESSION = ("session_id", "transcript_path", "cwd", "hook_event_name")
_TURN = ("session_id", "turn_id", "agent_id", "agent_type", "transcript_path", "cwd", "hook_event_name", "model")
_ABOUT_TOOL = ("permission_mode", "tool_name", "tool_input")
_ABOUT_END = ("permission_mode", "stop_hook_active", "last_assistant_message")
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "SessionStart": (*_SESSION, "model", "permission_mode", "source"),
    "SessionEnd": (*_SESSION, "reason"),
    "UserPromptSubmit": (*_TURN, "permission_mode", "prompt"),
    "PreToolUse": (*_TURN, *_ABOUT_TOOL, "tool_use_id"),
    "PermissionRequest": (*_TURN, *_ABOUT_TOOL),
    "PostToolUse": (*_TURN, *_ABOUT_TOOL, "tool_response", "tool_use_id"),
    "PreCompact": (*_TURN, "trigger"),
    "PostCompact": (*_TURN, "trigger"),
    "SubagentStart": (*_TURN, "permission_mode"),
    "SubagentStop": (*_TURN, *_ABOUT_END, "agent_transcript_path"),
    "Stop": (*_TURN, *_ABOUT_END),
    "Interrupt": (*_TURN, "permission_mode"),
    "PreModelRequest": _TURN,
    "PostModelRequest": (*_TURN, "status", "error", "token_usage"),
}
_OPTIONAL = ("agent_id", "agent_type", "status", "error", "token_usage")
_EMPTY: Mapping[str, Any] = {
    "transcript_path": None, "permission_mode": "default", "tool_input": {}, "tool_response": "",
    "stop_hook_active": False, "last_assistant_message": None,
}  # fmt: skip


def hook_input(_hook: Hook, event: Event, setting: Setting) -> HookInput:
    """Exactly Codex's keys. It gives hooks no variables of its own."""
    name = "PostToolUse" if event.name == "PostToolUseFailure" else event.name
    known = event.payload()
    known |= {"hook_event_name": name, "cwd": event.cwd or setting.project, "tool_response": _response(event)}
    known.setdefault("turn_id", event.prompt_id)
    fields = _FIELDS.get(name, (*_SESSION, *event.extra))
    payload = {key: known.get(key, _EMPTY.get(key, "")) for key in fields if key in known or key not in _OPTIONAL}
    payload["transcript_path"] = known.get("transcript_path") or None
    return HookInput(stdin=wire.encode(payload), env={})


def _response(event: Event) -> Any:
    """A shell's and a patch's output is text."""
    if event.name == "PostToolUseFailure":
        return text_in(event.as_dict(), "error")
    response = getattr(event, "tool_response", None)
    return output_text(response) if getattr(event, "tool_name", "") in ("Bash", "apply_patch") else response


def read_verdict(hook: Hook, event: Event, result: Result) -> Verdict:
    from fairlead.dialects import _answers, _codex_answer

    verdict = _codex_answer.read_result(event, result)
    return _answers.in_background(verdict) if hook.options.get("async") else verdict


def read_value(_hook: Hook, event: Event, value: object) -> Verdict:
    from fairlead.dialects import _codex_answer

    if isinstance(value, dict):
        return _codex_answer.judged(event, value)
    return verdicts.NONE if value is None else verdicts.context(str(value))


# --- the agent half ----------------------------------------------------------------------------------

_SAYS = frozenset({"user_message"})
CAN: Mapping[str, frozenset[str]] = {
    # `ask` and a bare `allow` are read as mistakes, and the tool runs.
    "PreToolUse": frozenset({"deny", "rewrite", "context"}) | _SAYS,
    # Silence leaves it to Codex's own question.
    "PermissionRequest": frozenset({"deny", "ask", "allow"}) | _SAYS,
    # The reason takes the place of the result, and the turn goes on.
    "PostToolUse": frozenset({"deny", "context"}) | _SAYS,
    "UserPromptSubmit": frozenset({"deny", "context", "stop"}) | _SAYS,
    "SessionStart": frozenset({"context", "stop"}) | _SAYS,
    "SubagentStart": frozenset({"context"}) | _SAYS,
    "Stop": frozenset({"deny", "stop"}) | _SAYS,
    "SubagentStop": frozenset({"deny", "stop"}) | _SAYS,
    "PreCompact": _SAYS,
    "PostCompact": _SAYS,
    "Interrupt": _SAYS,
    "*": frozenset(),
}
DEADLINES: Mapping[str, float] = {"SessionEnd": 1.0, "Interrupt": 1.0, "*": 600.0}
CAPS_STOPS = False
INPUT_VARIABLE = ""

_DEEPEST = 120
"""Objects and lists inside each other; at 128 Codex's reader gives up, and what it cannot read is no answer."""


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    return read_named(wire.decode_object(raw), event_name, events=EVENTS, vocabulary=TOOLS)


def write_reply(event: Event, decision: Decision) -> Reply:
    return answer(write_result(event, decision))


def write_result(event: Event, decision: Decision) -> dict[str, Any]:
    if event.name == "PreToolUse" and decision.updated_input is not None and not decision.denies:
        decision = _with_rewrite(decision)
    found: dict[str, Any] = _whole(_claude_reply.plain(event, decision))
    return found


def _with_rewrite(decision: Decision) -> Decision:
    if _depth(decision.updated_input) > _DEEPEST:
        reason = "a hook wants another input, which is nested too deeply for Codex to read"
        return decision.but(decision="deny", said="", reason=reason, updated_input=None)
    return decision.but(decision="allow", said="")  # the only way that it takes another input


def _depth(value: Any) -> int:
    if not isinstance(value, (dict, list)):
        return 0
    return 1 + max(map(_depth, value.values() if isinstance(value, dict) else value), default=0)


def _whole(value: Any) -> Any:
    """Without halves of characters: Codex cannot read JSON that holds one, and runs the tool on what it cannot read."""
    if isinstance(value, dict):
        return {_whole(key): _whole(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_whole(inner) for inner in value]
    return wire.mended(value) if isinstance(value, str) else value


write_failure = exit_2
