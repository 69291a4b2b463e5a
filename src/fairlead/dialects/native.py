"""Fairlead's own: `fairlead.toml`, and hooks in code.

Commands get the canonical event on stdin and `FAIRLEAD_*` variables. Exit 0 is fine, and JSON on
stdout is read as Claude Code's; any other exit blocks, with the end of the output as the reason.
"""

from __future__ import annotations

import os

from fairlead import documents, verdicts, wire
from fairlead.dialects import HookInput, Reading, Source
from fairlead.dialects._common import (
    Reader,
    did_you_mean,
    json_output,
    left_running,
    never_again,
    once_a_session,
    replace_input,
    text_of,
)
from fairlead.errors import InputError, plain
from fairlead.events import EVENTS as ALL_EVENTS
from fairlead.events import GUARDED
from fairlead.handlers.command import Command, Script
from fairlead.handlers.function import Named
from fairlead.hooks import Hook, HookFailed, Origin
from fairlead.matchers import everything, whole_name
from fairlead.verdicts import NONE, Verdict, block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from fairlead.dialects import Places
    from fairlead.dialects._common import Path
    from fairlead.events import Event
    from fairlead.hooks import Handler, Setting
    from fairlead.matchers import Matcher
    from fairlead.work import Result

NAME = "fairlead"
TOOLS = None
EVENTS: Mapping[str, str] = {name: name for name in ALL_EVENTS}

again = never_again
log = None
rewritten = replace_input

_REASON_LIMIT = 2000
_TIMEOUT = 60.0
_TIMEOUTS = {"approval": 600.0, "prompt": 30.0}
_LONGEST = 7 * 24 * 3600.0
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_HANDLERS = ("run", "python", "prompt", "agent", "http", "mcp_tool", "guard", "approval")
_BELONGS = {
    "args": ("run",), "env": ("run", "python"), "cwd": ("run",), "people": ("approval",), "tools": ("approval",),
    "approvers": ("approval",), "escalate": ("approval",),
    "model": ("prompt", "agent"), "cache": ("prompt",), "turns": ("agent",),
    "headers": ("http",), "allowed_env": ("http",), "input": ("mcp_tool",),
    "set": ("run", "python"), "limits": ("run", "python"), "sandbox": ("run", "python"),
}  # fmt: skip
"""Keys that mean something to some handlers only."""
_KEYS = frozenset(
    (*_HANDLERS, *_BELONGS, "on", "tool", "matcher", "name", "priority", "timeout", "on_error", "enabled", "if",
     "parallel", "reads", "async", "once", "status", "required", "files")
)  # fmt: skip
_ELSEWHERE_KEYS = frozenset({"models", "mcp_servers", "allowed_http_urls"})
_NOTIFY_KEYS = frozenset({"notify", "notify_after"})
_POLICY_KEYS = frozenset({"policy", "trust"})
_FOR_EVERYBODY = frozenset({"hook", "guard", "rule", "files", "$schema"})
"""What a project may write, too."""
_TOP = frozenset(
    {"hook", "files", "guard", "auto_allow", "rule", "journal", "telemetry", "approvers", "$schema", *_ELSEWHERE_KEYS,
     *_NOTIFY_KEYS, *_POLICY_KEYS}
)  # fmt: skip
_GUARD_KEYS = frozenset({"guard", "auto_allow", "rule"})
_WORDS = ("allow", "approve", "ask", "defer", "deny", "block")
_VERDICT_KEYS = frozenset({"hookSpecificOutput", "decision", "continue", "systemMessage"})
_TEXT_IS_CONTEXT = frozenset({"SessionStart", "UserPromptSubmit", "UserPromptExpansion", "PostModelSwitch"})


def sources(places: Places) -> list[Source]:
    found = [
        Source(path=os.path.join(places.managed, "fairlead", "fairlead.toml"), layer="managed", owner="managed"),
        Source(path=os.path.join(places.config, "fairlead", "fairlead.toml"), layer="user", owner="user"),
        Source(path=os.path.join(places.project, "fairlead.toml"), layer="project", owner="project"),
        Source(path=os.path.join(places.project, "fairlead.local.toml"), layer="local", owner="project"),
    ]
    return list({source.path: source for source in found}.values())


def read(source: Source, text: str, places: Places) -> Reading:
    data = documents.parse_toml(text, places.environ)
    reader = Reader(source, text)
    _check_keys(reader, data, _TOP, ())
    if source.owner != "managed" and not data.keys() <= _FOR_EVERYBODY:
        from fairlead.dialects._native_policy import heeded

        data = heeded(reader, data, places)
    for index, (entry, path) in enumerate(_entries(reader, data.get("hook", []))):
        _read_hook(reader, entry, path, index, places, data)
    if _GUARD_KEYS & data.keys():
        _read_guard(reader, data)
    if "approvers" in data:
        from fairlead.dialects._native_approval import check_approvers

        check_approvers(reader, data)
    if _NOTIFY_KEYS & data.keys():
        from fairlead.dialects._native_notify import check_notify

        check_notify(reader, data)
    elsewhere = _check_elsewhere(reader, data) if _ELSEWHERE_KEYS & data.keys() else {}
    journal = {"journal": _read_journal(reader, data["journal"])} if "journal" in data else {}
    telemetry = {"telemetry": _read_telemetry(reader, data["telemetry"])} if "telemetry" in data else {}
    files = {"files": _read_files(reader, data.get("files", {}), places)}
    return reader.reading(**files, **elsewhere, **journal, **telemetry, **_read_policy(reader, data))


def _entries(reader: Reader, value: Any) -> list[tuple[Any, Path]]:
    if isinstance(value, dict):
        reader.problem(("hook",), "[hook] is one table", "write [[hook]]; until then it is taken as if it were")
        return [(value, ("hook",))]
    return reader.entries(value, ("hook",), "[[hook]]")


def _read_files(reader: Reader, value: Any, places: Places) -> dict[str, str]:
    from fairlead.dialects import HOOK_HALVES

    if not reader.expect(value, dict, ("files",), "[files] must be a table") or not value:
        return {}
    from fairlead.dialects._native_policy import outside

    files = {}
    for file, dialect in value.items():
        if isinstance(dialect, str) and dialect in HOOK_HALVES:
            if not outside(reader, file, places):
                files[file] = dialect
        else:
            reader.problem(("files", file), f"unknown dialect {dialect!r}", f"one of: {', '.join(HOOK_HALVES)}")
    return files


def _read_guard(reader: Reader, data: dict[str, Any]) -> None:
    from fairlead.dialects._native_guard import read_guard

    hook = read_guard(reader, data)
    if hook is not None:
        reader.hooks.append(hook)


def _read_policy(reader: Reader, data: dict[str, Any]) -> dict[str, Any]:
    """The tables that are not for everybody, and the exceptions that count for the guards of projects, too."""
    found: dict[str, Any] = {}
    if "rule" in data and reader.source.owner != "project":
        from fairlead.dialects._native_guard import exceptions

        found["exceptions"] = exceptions(data["rule"])
    if _POLICY_KEYS & data.keys():
        from fairlead.dialects import _native_policy

        readers = {"policy": _native_policy.policy, "trust": _native_policy.trust}
        found |= {key: read(reader, data[key]) for key, read in readers.items() if key in data}
    return found


def _read_journal(reader: Reader, table: Any) -> dict[str, Any]:
    from fairlead.dialects._native_journal import journal

    return journal(reader, table)


def _read_telemetry(reader: Reader, table: Any) -> dict[str, Any]:
    from fairlead.dialects._native_telemetry import telemetry

    return telemetry(reader, table)


def _check_elsewhere(reader: Reader, data: dict[str, Any]) -> dict[str, Any]:
    from fairlead.dialects._native_elsewhere import check

    return check(reader, data)


def _read_hook(
    reader: Reader, entry: dict[str, Any], path: Path, index: int, places: Places, data: dict[str, Any]
) -> None:
    _check_keys(reader, entry, _KEYS, path)
    events = _events(reader, entry, path)
    handler = _handler(reader, entry, path, places, data)
    name = _text(reader, entry, "name", path) or f"{os.path.basename(reader.source.path)}#{index + 1}"
    required = _flag(reader, entry, "required", path, default=False)
    if not events or handler is None:
        if required:
            reader.hooks.append(_broken(reader, name, events, path))
        return
    key = next((name for name in ("matcher", "tools") if name in entry), "tool")
    asks = handler.kind == "approval"
    wants_once = _flag(reader, entry, "once", path, default=False)
    once = once_a_session((reader.source.path, *path), places) if wants_once else None
    timeout = _TIMEOUTS.get(handler.kind, _TIMEOUT)
    if _flag(reader, entry, "async", path, default=False) and _may(reader, "async", path, required=required):
        handler = _in_background(reader, handler, events, path)
    enabled = _flag(reader, entry, "enabled", path, default=True)
    reader.hooks.append(
        Hook(
            name=name,
            events=tuple(events),
            handler=handler,
            origin=Origin(dialect=NAME, layer=reader.source.layer, file=reader.source.path, path=path),
            matcher=_matcher(reader, entry, key, path),
            matcher_path=(*path, key),
            for_tools=key != "matcher",
            timeout=_timeout(reader, entry.get("timeout", timeout), (*path, "timeout"), timeout),
            priority=_priority(reader, entry.get("priority", 0), (*path, "priority")),
            on_error=_direction(reader, entry, events, path, always=required) or ("deny" if asks or required else ""),
            enabled=enabled or not _may(reader, "enabled", path, required=required),
            condition=_condition(reader, entry.get("if"), (*path, "if"), places),
            options={
                "once": once,
                "if": entry.get("if"),
                "files": _list(reader, entry, "files", path),
                "status": _text(reader, entry, "status", path),
                "parallel": _flag(reader, entry, "parallel", path, default=False),
                "reads": _reads(reader, entry.get("reads", ""), (*path, "reads")),
                **_marks(reader, handler, required=required),
                **_bounds(reader, entry, path),
            },
        )
    )


_CONFINING = frozenset({"set", "limits", "sandbox"})


def _bounds(reader: Reader, entry: dict[str, Any], path: Path) -> dict[str, Any]:
    """What is said about the hook's process, where it is not the ordinary one."""
    if not _is_bounded(entry):
        return {}
    from fairlead.dialects._native_confine import bounds

    return {"bounds": bounds(reader, entry, path, seconds_in)}


def _is_bounded(entry: dict[str, Any]) -> bool:
    env = entry.get("env")
    if "run" not in entry and "python" not in entry:
        return False
    return isinstance(env, list) or not _CONFINING.isdisjoint(entry) or (env is not None and "run" not in entry)


def _marks(reader: Reader, handler: Handler, *, required: bool) -> dict[str, bool]:
    """`tightens`: a guard of a project can only refuse and ask, and runs nothing of the project's."""
    found = {"required": True} if required else {}
    return found | ({"tightens": True} if handler.kind == "guard" and reader.source.owner == "project" else {})


def _broken(reader: Reader, name: str, events: list[str], path: Path) -> Hook:
    from fairlead.handlers.refusal import Refusal

    line = reader.problems[-1].line
    reason = f"the required hook {name} is broken ({reader.source.path}:{line}): {reader.problems[-1].message}; "
    origin = Origin(dialect=NAME, layer=reader.source.layer, file=reader.source.path, path=path)
    return Hook(
        name=name,
        events=tuple(events) or tuple(sorted(GUARDED)),
        handler=Refusal(reason=f"{reason}`fairlead check` says what to mend"),
        origin=origin,
        on_error="deny",
        options={"required": True},
    )


def _may(reader: Reader, key: str, path: Path, *, required: bool) -> bool:
    """Whether a hook may be left out in this way: one that is required may not."""
    if required:
        reader.warn((*path, key), f"a required hook has {key}, which is not heeded", "take one of the two out")
    return not required


def _direction(reader: Reader, entry: dict[str, Any], events: list[str], path: Path, *, always: bool) -> str:
    path = (*path, "on_error")
    wish = _on_error(reader, entry.get("on_error"), path)
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


def _check_keys(reader: Reader, table: dict[str, Any], known: frozenset[str], path: Path) -> None:
    for key in table:
        if key not in known:
            reader.problem((*path, key), f"unknown key {key!r}", did_you_mean(key, known))


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


def _handler(reader: Reader, entry: dict[str, Any], path: Path, places: Places, data: dict[str, Any]) -> Handler | None:
    kinds = [key for key in _HANDLERS if key in entry]
    if len(kinds) != 1:
        said = f"has {' and '.join(kinds)}" if kinds else "says nothing to do"
        reader.problem(path, f"this hook {said}", f"exactly one of: {', '.join(_HANDLERS)}")
        return None
    for key, owners in _BELONGS.items():
        if key in entry and kinds[0] not in owners:
            reader.problem((*path, key), f"{key} belongs to {' and '.join(owners)}, not to {kinds[0]}")
    if kinds == ["guard"]:
        from fairlead.dialects._native_guard import guarded

        return guarded(reader, entry, (*path, "guard"), data)
    if kinds == ["approval"]:
        from fairlead.dialects._native_approval import approval

        return approval(reader, entry, path)
    build: Callable[[Reader, dict[str, Any], Path, Places], Handler | None]
    build = {"run": _command, "python": _python}.get(kinds[0], _elsewhere)
    return build(reader, entry, path, places)


def _elsewhere(reader: Reader, entry: dict[str, Any], path: Path, _places: Places) -> Handler | None:
    from fairlead.dialects import _native_elsewhere

    return _native_elsewhere.handler(reader, entry, path)


def _command(reader: Reader, entry: dict[str, Any], path: Path, places: Places) -> Handler | None:
    words = _words(reader, entry, path)
    if words is None:
        return None
    env = {} if isinstance(entry.get("env"), list) else _env(reader, entry.get("env", {}), (*path, "env"))
    folder = _text(reader, entry, "cwd", path)
    cwd = os.path.join(places.project, folder) if folder else ""
    return Command(command=words[0], args=words[1], env=env, cwd=cwd)


def _words(reader: Reader, entry: dict[str, Any], path: Path) -> tuple[str, tuple[str, ...] | None] | None:
    """The program and its arguments; without arguments of its own, a command line for the shell."""
    run, args = entry["run"], entry.get("args")
    if args is not None and not (isinstance(run, str) and _is_words(args)):
        reader.problem((*path, "args"), "args must be a list of words, beside a run that is one program")
        return None
    if isinstance(run, str) and run.strip():
        return run, None if args is None else tuple(args)
    if _is_words(run) and run and run[0]:
        return run[0], tuple(run[1:])
    reader.problem((*path, "run"), "run must be a command line or a list of words")
    return None


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _env(reader: Reader, value: Any, path: Path) -> dict[str, str]:
    if not reader.expect(value, dict, path, "env must be a table, or a list of names"):
        return {}
    return {
        name: text
        for name, text in value.items()
        if reader.expect(text, str, (*path, name), f"{name} must be a string")
    }


def _python(reader: Reader, entry: dict[str, Any], path: Path, places: Places) -> Handler | None:
    target = reader.text_field(entry, "python", path)
    if not target:
        return None
    folder = os.path.dirname(reader.source.path)
    if target.endswith(".py") or "/" in target:
        return Script(script=target, roots=(folder, places.project))
    module, colon, function = target.partition(":")
    if colon and all(part.isidentifier() for part in (*module.split("."), function)):
        return Named(target=target, roots=(folder,), apart=_is_bounded(entry))
    hint = 'write "package.module:function", or the path of a script that ends in .py'
    reader.problem((*path, "python"), f"{target!r} is neither a function nor a script", hint)
    return None


def _text(reader: Reader, entry: dict[str, Any], key: str, path: Path) -> str:
    value = entry.get(key, "")
    return value if reader.expect(value, str, (*path, key), f"{key} must be a string") else ""


def _flag(reader: Reader, entry: dict[str, Any], key: str, path: Path, *, default: bool) -> bool:
    value = entry.get(key, default)
    return value if reader.expect(value, bool, (*path, key), f"{key} must be true or false") else default


def _list(reader: Reader, entry: dict[str, Any], key: str, path: Path) -> tuple[str, ...]:
    value = entry.get(key, [])
    if not _is_words(value):
        reader.problem((*path, key), f"{key} must be a list of strings")
        return ()
    return tuple(value)


def _reads(reader: Reader, value: Any, path: Path) -> str:
    if value in ("", "stdin"):
        return str(value)
    reader.problem(path, f"reads is {value!r}", 'it can only be "stdin"')
    return ""


def _timeout(reader: Reader, value: object, path: Path, default: float) -> float:
    seconds = seconds_in(value)
    if seconds is None:
        hint = f'write "500ms", "5s", "2m" or "1h"; {plain(default)} s are used'
        reader.problem(path, f"{value!r} is not a time", hint)
        return default
    if seconds > _LONGEST:
        reader.warn(path, f"{value!r} is longer than a week", "a week is used")
    return min(seconds, _LONGEST)


def seconds_in(value: object) -> float | None:
    """A number of seconds, or a number and its unit; None for what is no time."""
    unit: float | None = 1.0
    if isinstance(value, str):
        number = value.rstrip("abcdefghijklmnopqrstuvwxyz").rstrip(" ")
        unit = _UNITS.get(value[len(number) :].strip(" "))
        value = float(number) if number.replace(".", "", 1).isdecimal() and number.isascii() and number[0] != "." else 0
    if unit is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value * unit if 0 < value < float("inf") else None


def _priority(reader: Reader, value: Any, path: Path) -> int:
    if isinstance(value, float) and value.is_integer():  # a whole number to JSON Schema
        return int(value)
    return value if reader.expect(value, int, path, "priority must be a whole number") else 0


def _on_error(reader: Reader, value: object, path: Path) -> str:
    if value in (None, "allow", "deny"):
        return str(value or "")
    reader.problem(path, f"on_error is {value!r}", 'it must be "allow" or "deny"; "deny" is used')
    return "deny"


def arrange(hooks: Sequence[Hook], _readings: Sequence[tuple[Source, Reading]] = ()) -> list[Hook]:
    return sorted(hooks, key=lambda hook: hook.place)


def batches(event: Event, hooks: Sequence[Hook]) -> list[list[Hook]]:
    """One after the other where input can be rewritten, since each sees what the one before left."""
    found: list[list[Hook]] = []
    for hook in _once_each(hooks):
        beside = event.name not in GUARDED or hook.options.get("parallel")
        if found and beside and (event.name not in GUARDED or found[-1][-1].options.get("parallel")):
            found[-1].append(hook)
        else:
            found.append([hook])
    return found


def _once_each(hooks: Sequence[Hook]) -> list[Hook]:
    """Identical ones in files once; what was registered in code runs as often as it was registered."""
    seen: list[tuple[object, ...]] = []
    kept = []
    for hook in hooks:
        if hook.origin.layer == "code" or (key := _sameness(hook)) not in seen:
            kept.append(hook)
            seen += [] if hook.origin.layer == "code" else [key]
    return kept


def _sameness(hook: Hook) -> tuple[object, ...]:
    """Equal for hooks that do the same to the same calls: a copy with a condition must not silence the one without."""
    own = [getattr(hook.handler, name, None) for name in ("env", "cwd", "roots")]
    wishes = [hook.options.get("if"), bool(hook.options.get("once")), hook.options.get("required")]
    wishes.append(hook.options.get("bounds"))
    return (*hook.identity(), hook.on_error, *own, *wishes)


def hook_input(hook: Hook, event: Event, setting: Setting) -> HookInput:
    payload = event.payload()
    payload |= {"session_id": event.session_id, "cwd": event.cwd or setting.project}
    env = {
        "FAIRLEAD_EVENT": event.name,
        "FAIRLEAD_PROJECT_DIR": setting.project,
        "FAIRLEAD_SESSION_ID": event.session_id,
        "FAIRLEAD_TOOL_NAME": str(payload.get("tool_name", "")),
        "FAIRLEAD_HOOK_NAME": hook.name,
    }
    return HookInput(stdin=wire.encode(payload), env=env)


def read_verdict(hook: Hook, event: Event, result: Result) -> Verdict:
    if result.exit_code in (126, 127):
        said = text_of(result.stderr)[-_REASON_LIMIT:]
        raise HookFailed(f"cannot be run (exit {result.exit_code})" + (f": {said}" if said else ""))
    if result.exit_code:
        return _refusal(hook, event, result)
    output = json_output(result)
    output = _last_line(result) if output is None else output
    if output is not None:
        return read_value(hook, event, output)
    text = text_of(result.stdout)
    if text.startswith("{") and text.endswith("}"):
        raise HookFailed("its output looks like JSON and cannot be read as such")
    return verdicts.context(text) if text and event.name in _TEXT_IS_CONTEXT else NONE


def _refusal(hook: Hook, event: Event, result: Result) -> Verdict:
    """Any exit but 0 blocks, whatever else it says: with its own words if they refuse too."""
    try:
        output = json_output(result) or _last_line(result)
        said = read_value(hook, event, output) if output is not None else NONE
    except HookFailed:
        said = NONE
    return said if said.denies else block(_end_of_output(hook, result))


def _last_line(result: Result) -> dict[str, Any] | None:
    """A verdict below other output: what a script printed on its way must not hide it."""
    line = text_of(result.tail).rpartition("\n")[2]
    if not (line.startswith("{") and line.endswith("}")):
        return None
    try:
        value = wire.decode_object(line)
    except InputError:
        return None
    return value if _VERDICT_KEYS & value.keys() else None


def _end_of_output(hook: Hook, result: Result) -> str:
    text = verdicts.join_lines((text_of(result.tail), text_of(result.stderr)))
    return text[-_REASON_LIMIT:] or f"{hook.name} exited with {result.exit_code}"


def read_value(hook: Hook, event: Event, value: object) -> Verdict:
    if value is None:
        return NONE
    if isinstance(value, Verdict):
        return value
    if isinstance(value, str):
        return verdicts.context(value)
    if isinstance(value, dict):
        from fairlead.dialects import claude_code

        _check_words(value)
        return claude_code.read_output(event, value)
    raise HookFailed(f"{hook.name} returned {type(value).__name__}; expected a verdict, a dict, a string or None")


def _check_words(output: dict[str, Any]) -> None:
    """A decision that nobody understands is a failure, never a yes."""
    specific = output.get("hookSpecificOutput")
    if specific is not None and not isinstance(specific, dict):
        raise HookFailed("hookSpecificOutput must be an object")
    if "permissionDecision" in output:
        raise HookFailed("permissionDecision belongs into hookSpecificOutput")
    for word in (output.get("decision"), (specific or {}).get("permissionDecision")):
        if word is not None and word not in _WORDS:
            raise HookFailed(f"{word!r} is not a decision; one of: {', '.join(_WORDS)}")


def on_failure(event: Event) -> str:
    return "deny" if event.name in GUARDED else "allow"


def ends_row(event: Event, verdict: Verdict) -> bool:
    return verdict.denies and event.name in GUARDED


def merge(_event: Event, said: Sequence[Verdict]) -> Verdict:
    return verdicts.merge(said)
