"""Fairlead's own: `fairlead.toml`, and hooks in code.

Commands get the canonical event on stdin and `FAIRLEAD_*` variables. Exit 0 is fine, and JSON on
stdout is read as Claude Code's; any other exit blocks, with the end of the output as the reason.
"""

from __future__ import annotations

import os

from fairlead import documents, verdicts, wire
from fairlead.dialects import HookInput, Reading, Source
from fairlead.dialects._common import Reader, never_again, replace_input
from fairlead.events import EVENTS as ALL_EVENTS
from fairlead.events import GUARDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from fairlead.dialects import Places
    from fairlead.dialects._common import Path
    from fairlead.events import Event
    from fairlead.hooks import Hook, Setting
    from fairlead.verdicts import Verdict
    from fairlead.work import Result

NAME = "fairlead"
TOOLS = None
EVENTS: Mapping[str, str] = {name: name for name in ALL_EVENTS}

again = never_again
log = None
rewritten = replace_input

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
    reader.only(data, _TOP, ())
    if source.owner != "managed" and not data.keys() <= _FOR_EVERYBODY:
        from fairlead.dialects._native_policy import heeded

        data = heeded(reader, data, places)
    if "hook" in data:
        _read_hooks(reader, data, places)
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


def _read_hooks(reader: Reader, data: dict[str, Any], places: Places) -> None:
    from fairlead.dialects._native_hook import read_hook

    for index, (entry, path) in enumerate(_entries(reader, data["hook"])):
        read_hook(reader, entry, path, index, places, data)


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
    from fairlead.dialects import _native_output

    return _native_output.read_verdict(hook, event, result)


def read_value(hook: Hook, event: Event, value: object) -> Verdict:
    from fairlead.dialects import _native_output

    return _native_output.read_value(hook, event, value)


def on_failure(event: Event) -> str:
    return "deny" if event.name in GUARDED else "allow"


def ends_row(event: Event, verdict: Verdict) -> bool:
    return verdict.denies and event.name in GUARDED


def merge(_event: Event, said: Sequence[Verdict]) -> Verdict:
    return verdicts.merge(said)
