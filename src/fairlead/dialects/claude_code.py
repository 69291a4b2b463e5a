"""Claude Code: three-level settings, JSON on stdin, exit 2 or JSON to decide."""

from __future__ import annotations

import os

from fairlead import documents, verdicts, wire
from fairlead.dialects import HookInput, Reading, Reply, Source, _claude_files
from fairlead.dialects._claude_reply import DECIDES_INSIDE, ended_before, permission, reason, tool_permission
from fairlead.dialects._common import Reader, exit_2, given, never_again, read_groups, replace_input
from fairlead.events import EVENTS as ALL_EVENTS
from fairlead.events import Event
from fairlead.handlers.command import Command
from fairlead.handlers.missing import Missing
from fairlead.hooks import Hook, HookFailed, Origin
from fairlead.matchers import name_list
from fairlead.verdicts import NONE, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from fairlead.dialects import Places
    from fairlead.dialects._common import Path
    from fairlead.hooks import Handler, Setting
    from fairlead.matchers import Matcher
    from fairlead.verdicts import Decision
    from fairlead.work import Result

NAME = "claude-code"
TOOLS = None
_OTHERS = ("Interrupt", "BeforeModel", "AfterModel", "BeforeToolSelection", "PreModelRequest", "PostModelRequest")
EVENTS: Mapping[str, str] = {name: name for name in ALL_EVENTS if name not in _OTHERS}

again = never_again
log = None
rewritten = replace_input

_TIMEOUTS = {"UserPromptSubmit": 30.0, "PreModelSwitch": 30.0, "PostModelSwitch": 30.0, "MessageDisplay": 10.0}
_TIMEOUT = 600.0
_TIMEOUTS_BY_TYPE = {"prompt": 30.0, "agent": 60.0}
_SESSION_END, _SESSION_END_MOST = 1.5, 60.0
"""Seconds for all SessionEnd hooks together; a settings file can ask for more."""

_TYPES = ("command", "prompt", "agent", "http", "mcp_tool")
_KEYS = (
    "type", "command", "args", "shell", "if", "timeout", "statusMessage", "once", "onFailure", "async", "asyncRewake",
    "url", "headers", "allowedEnvVars", "server", "tool", "input", "prompt", "model", "continueOnBlock",
)  # fmt: skip
_SETTINGS = ("user", "project", "local", "managed")
"""The layers of settings files; of two values, the later one's counts."""
_NEVER_BLOCKED_BY_FAILURE = frozenset({"Stop", "SubagentStop", "TaskCompleted", "TeammateIdle"})
_HAS_ENV_FILE = frozenset({"SessionStart", "Setup", "CwdChanged", "FileChanged"})


# --- the hook half -----------------------------------------------------------------------------------


def sources(places: Places) -> list[Source]:
    return [
        *_claude_files.managed(places),
        *_claude_files.settings(places),
        *_claude_files.plugins(places),
        *_claude_files.front_matter(places),
    ]


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
    return reader.reading(**({NAME: _switches(reader, data)} if source.layer in _SETTINGS else {}))


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
    return switches


def _read_handler(reader: Reader, event: str, group: Any, entry: Any, path: Path, places: Places, data: Any) -> None:
    source = reader.source
    if entry is not group:
        reader.slips(entry, _KEYS, path)
    handler = _handler(reader, entry, path, places)
    if handler is None:
        return
    in_background = entry.get("async") is True or entry.get("asyncRewake") is True
    if in_background:
        reader.warn(path, "an async hook is waited for, and what it decides is ignored")
    pattern = _pattern(reader, event, group, (*path[:-2], "matcher"))
    if source.layer == "subagent" and event == "Stop":
        event, pattern = "SubagentStop", ""
    once = _Once() if entry.get("once") is True and source.format == "front-matter" else None
    root = _claude_files.plugin_root(source)
    reader.hooks.append(
        Hook(
            name=_name(handler, root),
            events=(event,),
            handler=handler,
            origin=Origin(dialect=NAME, layer=source.layer, file=source.path, path=path),
            matcher=matcher_for(event, pattern),
            matcher_path=(*path[:-2], "matcher"),
            timeout=_timeout(reader, event, entry, path, places),
            on_error="allow" if in_background else _on_failure(reader, event, entry, path),
            condition=_all_of(_claude_files.scope(source, data, places), once, _if(reader, event, entry, path, places)),
            options=given(
                {"async": in_background or None, "rewakes": entry.get("asyncRewake") is True or None, "root": root,
                 "plugin": os.path.basename(root), "owner": source.owner, "if": entry.get("if"), "once": once,
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
        return Missing(wanted=kind, text=str(entry.get("prompt") or entry.get("url") or entry.get("tool") or ""))
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
    default = _TIMEOUTS_BY_TYPE.get(str(entry.get("type")), _TIMEOUTS.get(event, _TIMEOUT))
    if event != "SessionEnd":
        return reader.timeout(entry, path, "timeout", default, 1)
    wish = places.environ.get("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS", "")
    least = int(wish) / 1000 if wish.isdecimal() and int(wish) else _SESSION_END
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


class _Once:
    """Front matter's `once`: after its first good run a hook is not run again by this `Hooks`."""

    __slots__ = ("done",)

    def __init__(self) -> None:
        self.done = False

    def __call__(self, _event: Event) -> str:
        return "has `once` and has run" if self.done else ""


def _all_of(*conditions: Callable[[Event], str] | None) -> Callable[[Event], str] | None:
    asked = [condition for condition in conditions if condition is not None]
    if len(asked) < 2:
        return asked[0] if asked else None
    return lambda event: next(filter(None, (condition(event) for condition in asked)), "")


def _name(handler: Handler, root: str) -> str:
    words = handler.describe().split() or [handler.kind]
    name = os.path.basename(words[0])
    return f"{os.path.basename(root)}:{name}" if root else name


def arrange(hooks: Sequence[Hook], readings: Sequence[tuple[Source, Reading]]) -> list[Hook]:
    """All levels add, unless a settings file switches them off."""
    said = [(source.layer, reading.settings[NAME]) for source, reading in readings if NAME in reading.settings]
    said.sort(key=lambda pair: _SETTINGS.index(pair[0]))
    budget = max((hook.timeout or 0 for hook in hooks if _ends_session(hook) and hook.origin.layer in _SETTINGS),
                 default=_SESSION_END)  # fmt: skip
    return [_within(_switched(hook, said), budget) for hook in hooks]


def _switched(hook: Hook, said: Sequence[tuple[str, Mapping[str, Any]]]) -> Hook:
    managed = [(layer, own) for layer, own in said if layer == "managed"]
    if hook.origin.layer == "managed" or _is_forced(hook, managed):
        off = _last(managed, "disableAllHooks")
    else:
        off = _last(said, "disableAllHooks") or _last(managed, "allowManagedHooksOnly") or _plugin(hook, said) is False
    return hook.but(enabled=False) if off else hook


def _last(said: Iterable[tuple[str, Mapping[str, Any]]], key: str) -> bool:
    values = [own[key] for _, own in said if key in own]
    return bool(values and values[-1])


def _plugin(hook: Hook, said: Iterable[tuple[str, Mapping[str, Any]]]) -> bool | None:
    """Whether the settings switch a hook's plugin on or off; None where they do not speak of it."""
    found = None
    for _, own in said:
        values = [
            on for name, on in own["enabledPlugins"].items() if name.partition("@")[0] == hook.options.get("plugin")
        ]
        if values:  # the same name from two marketplaces: it stays on if one of them is
            found = any(value is not False for value in values)
    return found


def _is_forced(hook: Hook, managed: Iterable[tuple[str, Mapping[str, Any]]]) -> bool:
    return hook.options.get("owner") == "user" and bool(_plugin(hook, managed))


def _ends_session(hook: Hook) -> bool:
    return hook.events == ("SessionEnd",)


def _within(hook: Hook, budget: float) -> Hook:
    """SessionEnd hooks share the longest time that a settings file asks for."""
    if not _ends_session(hook) or hook.timeout is None:
        return hook
    return hook.but(timeout=min(hook.timeout, budget) if hook.options.get("own_timeout") else max(hook.timeout, budget))


def batches(_event: Event, hooks: Sequence[Hook]) -> list[list[Hook]]:
    """Side by side. The same hook in several settings files runs once; a plugin's or skill's copy is its own."""
    found: dict[object, Hook] = {}
    for hook in hooks:
        place = "" if hook.origin.layer in _SETTINGS else hook.origin.file
        options = (str(hook.options.get("if", "")), hook.on_error, hook.options.get("async"))
        found.setdefault((place, hook.identity(), options), hook)
    return [list(found.values())]


def hook_input(hook: Hook, event: Event, setting: Setting) -> HookInput:
    effort = event.extra.get("effort")
    env = {
        "CLAUDE_PROJECT_DIR": setting.project,
        "CLAUDE_CODE_SESSION_ID": event.session_id,
        "CLAUDE_PLUGIN_ROOT": hook.options.get("root", ""),
        "CLAUDE_EFFORT": str(effort.get("level") or "") if isinstance(effort, dict) else "",
    }
    absent = tuple(name for name, value in env.items() if not value)
    if event.name not in _HAS_ENV_FILE:
        absent += ("CLAUDE_ENV_FILE",)
    payload = {"session_id": "", "transcript_path": "", "cwd": "", **event.payload()}
    payload["cwd"] = event.cwd or setting.project
    return HookInput(stdin=wire.encode(payload), env=given(env), absent=absent)


def read_verdict(hook: Hook, event: Event, result: Result) -> Verdict:
    from fairlead.dialects._claude_output import read_result

    try:
        verdict = read_result(event, result)
    except HookFailed as failed:
        if event.name != "PreModelSwitch" or hook.on_error:
            raise
        return Verdict(user_message=f"hook {hook.name}: {failed}")  # see on_failure
    once = hook.options.get("once")
    if once is not None and not result.exit_code:
        once.done = True
    return _in_background(hook, verdict, result) if hook.options.get("async") else verdict


def _in_background(hook: Hook, verdict: Verdict, result: Result) -> Verdict:
    """Too late to decide anything; what it has to say still arrives."""
    text = verdict.context
    if hook.options.get("rewakes") and result.exit_code == 2:
        text = verdicts.join_lines((text, verdict.reason))
    return Verdict(context=text, user_message=verdict.user_message) if text or verdict.user_message else NONE


def read_value(_hook: Hook, event: Event, value: object) -> Verdict:
    from fairlead.dialects._claude_output import judged

    if isinstance(value, dict):
        return judged(event, value)
    return NONE if value is None else verdicts.context(str(value))


def read_output(event: Event, output: dict[str, Any]) -> Verdict:
    """For other dialects whose hooks may answer in Claude Code's JSON: as far as it can be understood."""
    from fairlead.dialects import _claude_output

    return _claude_output.read_output(event, output)


def on_failure(event: Event) -> str:
    """Claude Code goes on without a hook's word, but for worktrees and for a model switch that timed out."""
    return "deny" if event.name in ("WorktreeCreate", "WorktreeRemove", "PreModelSwitch") else "allow"


def ends_row(_event: Event, _verdict: Verdict) -> bool:
    return False


def merge(_event: Event, said: Sequence[Verdict]) -> Verdict:
    merged = verdicts.merge(said)
    watched = [path for verdict in said for path in verdict.extra.get("watchPaths") or ()]
    return (
        merged.but(extra={**merged.extra, "watchPaths": list(dict.fromkeys(map(str, watched)))}) if watched else merged
    )


# --- the agent half ----------------------------------------------------------------------------------

_TALKS = frozenset({"user_message", "stop"})
CAN: Mapping[str, frozenset[str]] = {
    "PreToolUse": frozenset({"deny", "ask", "allow", "defer", "rewrite", "context"}) | _TALKS,
    # It is about to ask a person: saying nothing is "ask".
    "PermissionRequest": frozenset({"deny", "ask", "allow", "rewrite_if_allowed"}) | _TALKS,
    "PermissionDenied": _TALKS,
    "PostToolUse": frozenset({"deny", "output", "context"}) | _TALKS,
    "PostToolUseFailure": frozenset({"deny", "context"}) | _TALKS,
    "PostToolBatch": frozenset({"deny", "context"}) | _TALKS,
    "UserPromptSubmit": frozenset({"deny", "context"}) | _TALKS,
    "UserPromptExpansion": frozenset({"deny", "context"}) | _TALKS,
    "SessionStart": frozenset({"context", "user_message"}),
    "SubagentStart": frozenset({"context"}) | _TALKS,
    # No context here: it would keep the agent going.
    "Stop": frozenset({"deny"}) | _TALKS,
    "SubagentStop": frozenset({"deny"}) | _TALKS,
    "TaskCreated": frozenset({"deny", "user_message"}),
    "TaskCompleted": frozenset({"deny"}) | _TALKS,
    "TeammateIdle": frozenset({"deny"}) | _TALKS,
    "ConfigChange": frozenset({"deny"}),
    "PreCompact": frozenset({"deny"}),
    "PreModelSwitch": frozenset({"deny", "ask", "allow"}) | _TALKS,
    "PostModelSwitch": frozenset({"context"}) | _TALKS,
    "Elicitation": frozenset({"deny", "ask", "allow"}),
    "ElicitationResult": frozenset({"deny", "allow"}),
    "WorktreeCreate": frozenset({"deny"}),
    "WorktreeRemove": frozenset({"deny"}),
    "CwdChanged": frozenset({"user_message"}),
    "DirectoryAdded": frozenset({"context"}),
    "FileChanged": frozenset({"user_message"}),
    "*": frozenset(),
}

DEADLINES: Mapping[str, float] = {**_TIMEOUTS, "SessionEnd": _SESSION_END, "*": _TIMEOUT}
CAPS_STOPS = True
INPUT_VARIABLE = ""

_OWN_KEYS: Mapping[str, tuple[str, ...]] = {
    "SessionStart": ("initialUserMessage", "sessionTitle", "watchPaths", "reloadSkills"),
    "UserPromptSubmit": ("suppressOriginalPrompt", "sessionTitle"),
    "PermissionDenied": ("retry",),
    "PostToolUse": ("classifierContext",),
    "MessageDisplay": ("displayContent",),
    "CwdChanged": ("watchPaths",),
    "FileChanged": ("watchPaths",),
    "WorktreeCreate": ("worktreePath",),
}
"""What else Claude Code reads in hookSpecificOutput. Other keys in `extra` are another system's."""
_ONLY_EXIT_2 = frozenset({"TaskCompleted", "TeammateIdle", "WorktreeCreate", "WorktreeRemove"})
"""Where a refusal in JSON is not read."""


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    return Event.from_payload(wire.decode_object(raw), event_name)


def write_reply(event: Event, decision: Decision) -> Reply:
    if event.name.startswith("Worktree"):
        return _worktree_reply(event, decision)
    answer = write_result(event, decision)
    refused = decision.denies and event.name in _ONLY_EXIT_2
    return Reply(
        stdout=wire.encode(answer) + b"\n" if answer else b"",
        stderr=f"{reason(decision)}\n" if refused else "",
        exit_code=2 if refused else 0,
    )


def _worktree_reply(event: Event, decision: Decision) -> Reply:
    if decision.denies:
        return Reply(stderr=f"{reason(decision)}\n", exit_code=2)
    path = decision.extra.get("worktreePath")
    if event.name != "WorktreeCreate" or not isinstance(path, str):
        return Reply()
    return Reply(stdout=path.encode("utf-8", "surrogateescape") + b"\n")


def write_result(event: Event, decision: Decision) -> dict[str, Any]:
    """One hook's JSON, with exactly the keys that Claude Code knows for this event."""
    decision = ended_before(event, decision)
    answer: dict[str, Any] = {}
    specific = _specific(event, decision)
    if specific:
        answer["hookSpecificOutput"] = {"hookEventName": event.name, **specific}
    if decision.denies and event.name not in DECIDES_INSIDE and not _goes_on_by_context(event, decision):
        answer |= {"decision": "block", "reason": reason(decision)}
    if decision.stop:
        answer |= given({"continue": False, "stopReason": decision.stop_reason})
    # What a hook says to the person about a new directory, Claude Code gives to the model.
    message = decision.for_model if event.name == "DirectoryAdded" else decision.user_message
    return answer | given(
        {
            "systemMessage": message,
            "suppressOutput": decision.suppress_output or None,
            "terminalSequence": decision.extra.get("terminalSequence"),
        }
    )


def _specific(event: Event, decision: Decision) -> dict[str, Any]:
    if event.name == "PermissionRequest":
        return _permission(decision)
    if event.name.startswith("Elicitation"):
        return _elicitation(decision)
    if _goes_on_by_context(event, decision):
        return {"additionalContext": decision.reason}
    found = given({key: decision.extra.get(key) for key in _OWN_KEYS.get(event.name, ())})
    if event.name in ("PreToolUse", "PreModelSwitch"):
        found |= tool_permission(decision)
    if event.name == "PostToolUse" and decision.updated_output is not None:
        found["updatedToolOutput"] = _shaped(event, decision.updated_output)
    if decision.for_model and event.name != "DirectoryAdded":
        found["additionalContext"] = decision.for_model
    return found


def _goes_on_by_context(event: Event, decision: Decision) -> bool:
    """A Stop hook that gave context and no block: said the same way, it is not shown as an error."""
    text = decision.extra.get("additionalContext")
    return decision.denies and event.name in ("Stop", "SubagentStop") and bool(text) and text == decision.reason


def _shaped(event: Event, output: Any) -> Any:
    """Claude Code ignores an output that has not the tool's own shape; text for a shell becomes its stdout."""
    response = getattr(event, "tool_response", None)
    if isinstance(output, str) and isinstance(response, dict) and "stdout" in response:
        return {**response, "stdout": output, "stderr": ""}
    return output


def _permission(decision: Decision) -> dict[str, Any]:
    found = permission(decision)
    if found:
        more = ("interrupt",) if decision.denies else ("updatedPermissions",)
        found["decision"] |= given({key: decision.extra.get(key) for key in more})
    return found


def _elicitation(decision: Decision) -> dict[str, Any]:
    action = decision.extra.get("action")
    if decision.denies:
        return {"action": "cancel" if action == "cancel" else "decline"}
    if decision.decision == "allow" and action == "accept":
        return given({"action": "accept", "content": decision.extra.get("content")})
    return {}


write_failure = exit_2
