"""Fairlead's own: `fairlead.toml`, and hooks in code.

Commands get the canonical event on stdin and `FAIRLEAD_*` variables. Exit 0 is fine, and JSON on
stdout is read as Claude Code's; any other exit blocks, with the end of the output as the reason.
"""

from __future__ import annotations

import os

from fairlead import documents, verdicts, wire
from fairlead.dialects import HookInput, Reading, Source
from fairlead.dialects._common import Reader, json_output, never_again, once_each, replace_input, text_of
from fairlead.events import EVENTS as ALL_EVENTS
from fairlead.handlers.command import Command, Script
from fairlead.handlers.function import Named
from fairlead.handlers.missing import Missing
from fairlead.hooks import Hook, HookFailed, Origin
from fairlead.matchers import whole_name
from fairlead.verdicts import NONE, Verdict, block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from fairlead.dialects import Places
    from fairlead.dialects._common import Path
    from fairlead.events import Event
    from fairlead.hooks import Handler, Setting
    from fairlead.process import Result

NAME = "fairlead"
EVENTS: Mapping[str, str] = {name: name for name in ALL_EVENTS}

GUARDED = frozenset({"PreToolUse", "PermissionRequest", "UserPromptSubmit"})
"""Events where a hook without a verdict denies, unless it says otherwise."""

again = never_again
log = None
rewritten = replace_input

_REASON_LIMIT = 2000
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_HANDLERS = ("run", "python", "prompt", "agent", "http", "mcp_tool", "guard", "approval")
_KEYS = frozenset(
    (*_HANDLERS, "on", "tool", "matcher", "name", "priority", "timeout", "on_error", "enabled", "if", "args", "env",
     "cwd", "parallel", "reads")
)  # fmt: skip
_TOP = frozenset({"hook", "files", "guard", "$schema"})


def sources(places: Places) -> list[Source]:
    config = places.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(config):
        config = os.path.join(places.home, ".config")
    found = [
        Source(path=os.path.join(places.managed, "fairlead", "fairlead.toml"), layer="managed", owner="managed"),
        Source(path=os.path.join(config, "fairlead", "fairlead.toml"), layer="user", owner="user"),
        Source(path=os.path.join(places.project, "fairlead.toml"), layer="project", owner="project"),
        Source(path=os.path.join(places.project, "fairlead.local.toml"), layer="local", owner="project"),
    ]
    return list({source.path: source for source in found}.values())


def read(source: Source, text: str, places: Places) -> Reading:
    data = documents.parse_toml(text, places.environ)
    reader = Reader(source, text)
    for key in data:
        if key not in _TOP:
            _unknown_key(reader, key, _TOP, (key,))
    for index, (entry, path) in enumerate(reader.entries(data.get("hook", []), ("hook",), "[[hook]]")):
        _read_hook(reader, entry, path, index, places)
    return reader.reading(files=_read_files(reader, data.get("files", {})))


def _read_files(reader: Reader, value: Any) -> dict[str, str]:
    from fairlead.dialects import HOOK_HALVES

    if not reader.expect(value, dict, ("files",), "[files] must be a table"):
        return {}
    files = {}
    for file, dialect in value.items():
        if dialect in HOOK_HALVES:
            files[file] = dialect
        else:
            reader.problem(("files", file), f"unknown dialect {dialect!r}", f"one of: {', '.join(HOOK_HALVES)}")
    return files


def _read_hook(reader: Reader, entry: dict[str, Any], path: Path, index: int, places: Places) -> None:
    for key in entry:
        if key not in _KEYS:
            _unknown_key(reader, key, _KEYS, (*path, key))
    events = _events(reader, entry, path)
    handler = _handler(reader, entry, path, places)
    if not events or handler is None:
        return
    name = entry.get("name")
    reader.hooks.append(
        Hook(
            name=name if isinstance(name, str) and name else f"{os.path.basename(reader.source.path)}#{index + 1}",
            events=tuple(events),
            handler=handler,
            origin=Origin(dialect=NAME, layer=reader.source.layer, file=reader.source.path, path=path),
            matcher=whole_name(reader.matcher_text(entry.get("tool", entry.get("matcher")), (*path, "tool"))),
            matcher_path=(*path, "tool" if "tool" in entry else "matcher"),
            timeout=_timeout(reader, entry.get("timeout", 60), (*path, "timeout")),
            priority=_priority(reader, entry.get("priority", 0), (*path, "priority")),
            on_error=_on_error(reader, entry.get("on_error"), (*path, "on_error")),
            enabled=entry.get("enabled") is not False,
            options={"parallel": entry.get("parallel") is True, "reads": entry.get("reads", "")},
        )
    )


def _unknown_key(reader: Reader, key: str, known: frozenset[str], path: Path) -> None:
    from fairlead.dialects._common import did_you_mean

    reader.problem(path, f"unknown key {key!r}", did_you_mean(key, known))


def _events(reader: Reader, entry: dict[str, Any], path: Path) -> list[str]:
    names = entry.get("on")
    if names is None:
        reader.problem(path, "`on` is missing", 'name the event, such as on = "PreToolUse"')
        return []
    names = [names] if isinstance(names, str) else names
    if not reader.expect(names, list, (*path, "on"), "`on` must be an event or a list of events"):
        return []
    found = []
    for name in names:
        if name == "*" or not isinstance(name, str):
            found.append("*")
        elif name in EVENTS:
            found.append(name)
        else:
            # Carried all the same: agents have events that we do not know yet.
            from fairlead.dialects._common import did_you_mean

            reader.warn((*path, "on"), f"unknown event {name!r}", did_you_mean(name, EVENTS))
            found.append(name)
    return found


def _handler(reader: Reader, entry: dict[str, Any], path: Path, places: Places) -> Handler | None:
    kinds = [key for key in _HANDLERS if key in entry]
    if len(kinds) != 1:
        said = f"has {' and '.join(kinds)}" if kinds else "says nothing to do"
        reader.problem(path, f"this hook {said}", f"exactly one of: {', '.join(_HANDLERS)}")
        return None
    build: Callable[[Reader, dict[str, Any], Path, Places], Handler | None]
    build = {"run": _command, "python": _python}.get(kinds[0], _missing)
    return build(reader, entry, path, places)


def _missing(_reader: Reader, entry: dict[str, Any], _path: Path, _places: Places) -> Handler:
    kind = next(key for key in _HANDLERS if key in entry)
    return Missing(wanted=kind, text=str(entry[kind]))


def _command(reader: Reader, entry: dict[str, Any], path: Path, places: Places) -> Handler | None:
    run = entry["run"]
    env = entry.get("env", {})
    if not reader.expect(env, dict, (*path, "env"), "env must be a table"):
        env = {}
    cwd = os.path.join(places.project, entry["cwd"]) if isinstance(entry.get("cwd"), str) else ""
    if isinstance(run, list) and run and all(isinstance(word, str) for word in run):
        return Command(command=run[0], args=tuple(run[1:]), env=env, cwd=cwd)
    if isinstance(run, str) and run.strip():
        return Command(command=run, env=env, cwd=cwd)
    reader.problem((*path, "run"), "run must be a command line or a list of words")
    return None


def _python(reader: Reader, entry: dict[str, Any], path: Path, places: Places) -> Handler | None:
    target = reader.text_field(entry, "python", path)
    if not target:
        return None
    if ":" in target and not target.endswith(".py"):
        return Named(target=target)
    return Script(script=target, roots=(os.path.dirname(reader.source.path), places.project))


def _timeout(reader: Reader, value: object, path: Path) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
        return float(value)
    if isinstance(value, str):
        number = value.rstrip("abcdefghijklmnopqrstuvwxyz ")
        unit = _UNITS.get(value[len(number) :].strip())
        try:
            if unit and float(number) > 0:
                return float(number) * unit
        except ValueError:
            pass
    reader.problem(path, f"{value!r} is not a time", 'write "500ms", "5s", "2m" or "1h"; 60 s are used')
    return 60.0


def _priority(reader: Reader, value: Any, path: Path) -> int:
    return value if reader.expect(value, int, path, "priority must be a whole number") else 0


def _on_error(reader: Reader, value: object, path: Path) -> str:
    if value in (None, "allow", "deny"):
        return str(value or "")
    reader.problem(path, f"on_error is {value!r}", 'it must be "allow" or "deny"; "deny" is used')
    return "deny"


def arrange(hooks: Sequence[Hook], _readings: Sequence[tuple[Source, Reading]] = ()) -> list[Hook]:
    return sorted(hooks, key=lambda hook: -hook.priority)


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
    kept = {id(hook) for hook in once_each(hook for hook in hooks if hook.origin.layer != "code")}
    return [hook for hook in hooks if hook.origin.layer == "code" or id(hook) in kept]


def hook_input(hook: Hook, event: Event, setting: Setting) -> HookInput:
    payload = event.payload()
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
        raise HookFailed(f"cannot be run (exit {result.exit_code}): {text_of(result.stderr)[-_REASON_LIMIT:]}")
    output = json_output(result)
    said = read_value(hook, event, output) if output is not None else NONE
    if result.exit_code == 0:
        return said if output is not None else _plain_text(event, result)
    return said if said.denies else block(_end_of_output(hook, result))


def _plain_text(event: Event, result: Result) -> Verdict:
    text = text_of(result.stdout)
    if text and event.name in ("SessionStart", "UserPromptSubmit", "UserPromptExpansion", "PostModelSwitch"):
        return verdicts.context(text)
    return NONE


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

        return claude_code.read_output(event, value)
    raise HookFailed(f"{hook.name} returned {type(value).__name__}; expected a verdict, a dict, a string or None")


def on_failure(event: Event) -> str:
    return "deny" if event.name in GUARDED else "allow"


def ends_row(event: Event, verdict: Verdict) -> bool:
    return verdict.denies and event.name in GUARDED


def merge(_event: Event, said: Sequence[Verdict]) -> Verdict:
    return verdicts.merge(said)
