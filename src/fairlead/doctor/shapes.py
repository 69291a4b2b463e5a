"""Hooks in the wrong place of a file: a flat entry where a group is needed, and the like.

`read` finds every hook that the file may have meant, and what is wrong with its shape.
"""

from __future__ import annotations

import os

from fairlead.doctor import facts
from fairlead.doctor.finding import Finding
from fairlead.doctor.scene import Entry
from fairlead.installing.entries import WITHOUT_GROUP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from fairlead.doctor.scene import File, Path, Scene

_OURS = ("type", "command", "bash", "exec", "url", "prompt", "linux", "osx", "powershell", "server")
"""Keys by which a handler is known."""
_NO_EVENTS = ("state", "enabled", "disabled", "notifications", "description", "version")
"""Keys that may stand among the events."""


def check(scene: Scene) -> Iterator[Finding]:
    yield from scene.misshapen
    for file in scene.files:
        if file.agent == "claude-code" and file.form == "plugin":
            yield from _manifest(file)


def _manifest(file: File) -> Iterator[Finding]:
    """A plugin's hooks/hooks.json is loaded anyway; a manifest that names it loads it again."""
    from fairlead import documents
    from fairlead.doctor.scene import File as Other
    from fairlead.errors import ConfigError

    root = os.path.dirname(os.path.dirname(file.path))
    path = os.path.join(root, ".claude-plugin", "plugin.json")
    try:
        text = documents.read_text(path) or "{}"
        named = documents.parse_json(text).get("hooks")
    except (ConfigError, AttributeError):
        return
    if isinstance(named, str) and os.path.normpath(os.path.join(root, named)) == os.path.normpath(file.path):
        manifest = Other(agent=file.agent, path=path, layer=file.layer, owner=file.owner, text=text)
        what = "the plugin's hooks/hooks.json is loaded anyway: named here, it counts twice or is an error"
        yield manifest.found("shapes", "warning", ("hooks",), what, 'remove "hooks" from plugin.json')


class _Reading:
    def __init__(self, file: File, entries: list[Entry], misshapen: list[Finding]) -> None:
        self.file = file
        self.entries = entries
        self.misshapen = misshapen
        self.title = facts.title(file.agent)

    def wrong(self, path: Path, message: str, fix: str) -> None:
        if self.file.agent == "copilot" and facts.one_costs_all("copilot", self.file.form):
            message = f"{message}; in this file, that costs all of its hooks"
        self.misshapen.append(self.file.found("shapes", "error", path, message, fix))

    def add(self, event: str, event_path: Path, path: Path, handler: Any, matcher: Any, matcher_path: Path) -> None:
        self.entries.append(
            Entry(
                file=self.file, event=event, event_path=event_path, path=path, handler=handler, matcher=matcher,
                matcher_path=matcher_path,
            )
        )  # fmt: skip


def read(file: File, entries: list[Entry], misshapen: list[Finding]) -> None:
    from fairlead.installing.specs import SPECS

    reading = _Reading(file, entries, misshapen)
    if file.form == "script":
        name = os.path.basename(file.path).partition(".")[0]
        reading.add(name, (), (), {"command": _quoted(file.path)}, None, ())
    elif not isinstance(file.data, dict):
        reading.wrong((), "the file must hold an object", "write { … } around everything")
    elif file.agent == "antigravity":
        for name, events in file.data.items():
            if isinstance(events, dict):
                _events(reading, events, (name,), "groups")
    elif file.agent in ("kimi", "vibe", "kiro"):
        _listed(reading)
    else:
        _rooted(reading, SPECS[file.agent].shape)


def _quoted(path: str) -> str:
    import shlex

    return shlex.quote(path)


def _rooted(reading: _Reading, shape: str) -> None:
    """Files with events below `hooks`; of Devin's two, one without."""
    file = reading.file
    if file.path.endswith("hooks.v1.json"):
        if isinstance(file.data.get("hooks"), dict):
            reading.wrong(("hooks",), f"{reading.title} wants the events at the top of this file", 'drop "hooks"')
            _events(reading, file.data["hooks"], ("hooks",), shape)
        _events(reading, {key: value for key, value in file.data.items() if key != "hooks"}, (), shape)
        return
    _misplaced(reading)
    hooks = file.data.get("hooks")
    if isinstance(hooks, dict):
        inner = hooks.get("hooks")
        if isinstance(inner, dict):
            reading.wrong(("hooks", "hooks"), '"hooks" stands in "hooks"', "leave one of the two out")
            _events(reading, inner, ("hooks", "hooks"), shape)
        _events(reading, {key: value for key, value in hooks.items() if key != "hooks"}, ("hooks",), shape)
    elif hooks is not None and not (isinstance(hooks, str) and file.form == "plugin"):
        reading.wrong(("hooks",), f'"hooks" must be an object of events for {reading.title}', _EVENTS)


_EVENTS = 'write {"hooks": {"EVENT": […]}}'


def _misplaced(reading: _Reading) -> None:
    """Events at the top of a file that wants them below `hooks`."""
    for name, value in reading.file.data.items():
        if name in facts.events(reading.file.agent) and isinstance(value, list):
            reading.wrong((name,), f'{name!r} must stand inside "hooks": {reading.title} overlooks it here', _EVENTS)


def _events(reading: _Reading, events: Mapping[str, Any], base: Path, shape: str) -> None:
    for event, value in events.items():
        path = (*base, event)
        if event in _NO_EVENTS:
            continue
        if not isinstance(value, list):
            reading.wrong(path, f"{event!r} must be a list for {reading.title}", "put […] around what is there")
            value = [value]  # noqa: PLW2901  # as it was meant
            if not isinstance(value[0], dict):
                continue
        for number, item in enumerate(value):
            _item(reading, event, path, (*path, number), item, shape)


def _item(reading: _Reading, event: str, event_path: Path, path: Path, item: Any, shape: str) -> None:
    if not isinstance(item, dict):
        reading.wrong(path, f"this must be an object for {reading.title}", f"write {_example(shape)}")
    elif isinstance(item.get("hooks"), list):
        if shape == "flat" and not _takes_groups(reading.file.agent, event):
            what = f"a group stands where {reading.title} wants a handler: it runs nothing in it"
            reading.wrong(path, what, f"write {_example('flat')} directly into the list")
        _group(reading, event, event_path, path, item)
    else:
        if shape == "groups" and not (reading.file.agent == "antigravity" and event in WITHOUT_GROUP):
            _flat(reading, path, item)
        reading.add(event, event_path, path, item, item.get("matcher"), (*path, "matcher"))


def _flat(reading: _Reading, path: Path, item: Mapping[str, Any]) -> None:
    if "hooks" in item:
        reading.wrong((*path, "hooks"), '"hooks" must be a list', f"write {_example('groups')}")
        return
    cost = "skips the whole file for it" if facts.of(reading.file.agent).flat_costs_file else "does not run it"
    is_handler = any(key in item for key in _OURS)
    what = "a handler stands where a group is needed" if is_handler else 'the group has no "hooks"'
    reading.wrong(path, f"{what}: {reading.title} {cost}", f"write {_example('groups')}")


def _example(shape: str) -> str:
    if shape == "flat":
        return '{"command": "…"}'
    return '{"matcher": "…", "hooks": [{"type": "command", "command": "…"}]}'


def _takes_groups(agent: str, event: str) -> bool:
    """Copilot takes Claude Code's groups where the event is written in Claude Code's way."""
    return agent == "copilot" and event[:1].isupper()


def _group(reading: _Reading, event: str, event_path: Path, path: Path, group: Mapping[str, Any]) -> None:
    for number, handler in enumerate(group["hooks"]):
        inner = (*path, "hooks", number)
        if isinstance(handler, dict):
            reading.add(event, event_path, inner, handler, group.get("matcher"), (*path, "matcher"))
        else:
            reading.wrong(inner, "this must be an object", 'write {"type": "command", "command": "…"}')


def _listed(reading: _Reading) -> None:
    """`[[hooks]]`, each with its event; Kiro has the same as JSON, with the command inside an action."""
    key = {"kimi": "event", "vibe": "type", "kiro": "trigger"}[reading.file.agent]
    hooks = reading.file.data.get("hooks")
    if hooks is not None and not isinstance(hooks, list):
        reading.wrong(("hooks",), f'"hooks" must be a list for {reading.title}', f"each of them has a {key!r}")
        return
    for number, item in enumerate(hooks or ()):
        path: Path = ("hooks", number)
        if not isinstance(item, dict) or not isinstance(item.get(key), str):
            reading.wrong(path, f"this hook has no {key!r}", f"say for which {key} it is")
            continue
        handler = {name: value for name, value in item.items() if reading.file.agent != "vibe" or name != "type"}
        action = item.get("action")
        if isinstance(action, dict):
            handler = {**handler, **action}
        reading.add(item[key], (*path, key), path, handler, item.get("matcher"), (*path, "matcher"))
