"""The settings of Gemini CLI, which Qwen Code has taken over: groups that may be sequential, hooks with names."""

from __future__ import annotations

from fairlead.dialects import Source, _comments
from fairlead.dialects._common import file_name, read_groups
from fairlead.tools import output_text, shell_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from fairlead.dialects import Places
    from fairlead.dialects._common import Path, Reader
    from fairlead.events import Event
    from fairlead.hooks import Handler, Hook

_NO_EVENTS = ("enabled", "disabled", "notifications")
"""Switches that stood among the events once, and are still overlooked there."""


def files(places: Places, *, home: str, folder: str, managed: str) -> dict[str, Source]:
    """The settings by layer: what the machine presets, the user's, the project's, and what the machine insists on."""
    machine = f"{places.managed}/{managed}"
    return {
        "defaults": Source(path=f"{machine}/system-defaults.json", layer="managed", owner="managed"),
        "user": Source(path=f"{home}/settings.json", layer="user", owner="user"),
        "project": Source(path=f"{places.project}/{folder}/settings.json", layer="project", owner="project"),
        "managed": Source(path=f"{machine}/settings.json", layer="managed", owner="managed"),
    }


def whose(source: Source) -> str:
    """What the machine only presets, a user may undo."""
    return "preset" if source.path.endswith("system-defaults.json") else source.owner


def settings(reader: Reader, text: str) -> dict[str, Any] | None:
    data = _comments.parse(text)
    return data if reader.expect(data, dict, (), "settings must be an object") else None


def handlers(
    reader: Reader, data: Mapping[str, Any], events: Mapping[str, str], system: str
) -> Iterator[tuple[str, Any, Any, Path]]:
    """Event, group, handler and path of each hook in the settings."""
    hooks = data.get("hooks")
    if hooks is None or not reader.expect(hooks, dict, ("hooks",), "hooks must be an object"):
        return
    theirs = {canonical: own for own, canonical in events.items()}
    wanted = {}
    for name, groups in hooks.items():
        if name in _NO_EVENTS:
            continue
        if name not in events and name in theirs:
            reader.problem(("hooks", name), f"unknown event {name!r}", f"{system} calls it {theirs[name]!r}")
            continue
        wanted[name] = groups
    yield from read_groups(reader, wanted, events)


def is_sequential(reader: Reader, group: Any, path: Path) -> bool:
    value = group.get("sequential")
    if value is not None:
        reader.expect(value, bool, (*path[:-2], "sequential"), "sequential must be true or false")
    return value is True


def environment(reader: Reader, entry: Mapping[str, Any], path: Path) -> dict[str, str]:
    """A handler's own variables."""
    value = entry.get("env")
    if value is None or not reader.expect(value, dict, (*path, "env"), "env must be an object"):
        return {}
    kept = [
        key for key, each in value.items() if reader.expect(each, str, (*path, "env", key), f"{key} must be a string")
    ]
    return {key: value[key] for key in kept}


def hook_name(entry: Mapping[str, Any], handler: Handler) -> str:
    name = entry.get("name")
    return name if isinstance(name, str) and name else file_name(handler)


def in_turn(hooks: Sequence[Hook]) -> list[list[Hook]]:
    """Those of the same name and command once; one after the other, if one of their groups wants that."""
    first: dict[tuple[object, ...], Hook] = {}
    for hook in hooks:
        first.setdefault((hook.options.get("named", ""), *hook.handler.identity()), hook)
    found = list(first.values())
    if any(hook.options.get("sequential") for hook in found):
        return [[hook] for hook in found]
    return [found]


def timestamp(value: object) -> str:
    """As JavaScript writes the time: the event's own, or now."""
    if isinstance(value, str) and value:
        return value
    import time

    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())


def result_shape(response: Any, text: str) -> Any:
    """A tool's result as Gemini CLI has it, whoever made it."""
    if isinstance(response, dict) and "llmContent" in response:
        return response
    return {"llmContent": text, "returnDisplay": text}


def with_shell_output(event: Event) -> Event:
    """What a shell printed in our shape."""
    if event.name != "PostToolUse" or getattr(event, "tool_name", "") != "Bash":
        return event
    return event.but(tool_response=_shell_output(getattr(event, "tool_response", None)))


def _shell_output(response: Any) -> Any:
    """Without the labels that are put around it for the model."""
    if not isinstance(response, dict) or "llmContent" not in response:
        return response
    whole, shown = output_text(response), response.get("returnDisplay")
    text = shown if isinstance(shown, str) and shown and shown in whole else whole
    return shell_output(text)
