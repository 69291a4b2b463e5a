"""What several dialects do in the same way."""

from __future__ import annotations

from fairlead import wire
from fairlead.dialects import Reading, Reply
from fairlead.errors import InputError, Problem, plain
from fairlead.events import ToolEvent, event_class
from fairlead.handlers.command import Command
from fairlead.hooks import HookFailed
from fairlead.matchers import everything, whole_name
from fairlead.verdicts import NONE, deny, merge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from fairlead.dialects import Places, Source
    from fairlead.events import Event
    from fairlead.hooks import Handler, Hook
    from fairlead.matchers import Matcher
    from fairlead.once import Once
    from fairlead.verdicts import Decision, Verdict
    from fairlead.work import Result

    Path = tuple[str | int, ...]


def fails_open(_event: Event) -> str:
    return "allow"


def all_run(_event: Event, _verdict: Verdict) -> bool:
    """No verdict ends the row."""
    return False


def merge_all(_event: Event, said: Sequence[Verdict]) -> Verdict:
    return merge(said)


def never_again(_event: Event, _verdict: Verdict, _hooks: Sequence[Hook], _attempt: int) -> None:
    return None


def replace_input(_tool_input: dict[str, Any], update: dict[str, Any]) -> dict[str, Any]:
    return update


def merge_input(tool_input: dict[str, Any], update: dict[str, Any]) -> dict[str, Any]:
    return {**tool_input, **update}


def once_each(hooks: Iterable[Hook]) -> list[Hook]:
    """Identical hooks once, where they stand first."""
    first: dict[tuple[object, ...], Hook] = {}
    for hook in hooks:
        first.setdefault(hook.identity(), hook)
    return list(first.values())


def moved(places: Places, variable: str) -> str:
    """Where a variable leads; one that counts from the working directory is a repository's, and leads nowhere."""
    folder = places.environ.get(variable, "")
    return folder if folder.startswith("/") else ""


def owners(readings: Iterable[tuple[Source, Reading]]) -> dict[str, str]:
    """Whose each file is."""
    return {source.path: source.owner for source, _ in readings}


def is_off(owner: str, said: Iterable[tuple[str, bool]]) -> bool:
    """Whether switches of whole files, the nearest last, leave out the hooks of an owner. The organisation's word is
    the last one; a user's counts for projects, too; a project speaks for itself alone."""
    words: dict[str, bool] = dict(said)
    if "managed" in words:
        return words["managed"]
    if owner == "managed":
        return words.get("preset", False)
    return words.get("user", words.get("preset", False)) or (owner == "project" and words.get("project", False))


def reaches(whose: str, owner: str) -> bool:
    """Whether what one owner's file says about single hooks counts for those of another."""
    return whose in (owner, "managed") or (whose == "user" and owner == "project")


def warn_of_reach(reader: Reader, path: Path) -> None:
    """Of a switch in a project's file."""
    if reader.source.owner == "project":
        name = ".".join(map(str, path))
        reader.warn(path, f"{name} of a project switches off the project's own hooks alone", _SWITCHES)


_SWITCHES = "yours and your organisation's stay in force; what is yours is switched off in your own settings"


def tool_matcher(event: str, pattern: str) -> Matcher:
    """The whole tool's name; events that are not about a tool have nothing to compare with."""
    return whole_name(pattern) if issubclass(event_class(event), ToolEvent) else everything(pattern)


_NAME_LENGTH = 48


def file_name(handler: Handler) -> str:
    """A short name for a hook that has none: the program that it starts, the address or the model that it asks."""
    if handler.kind in ("prompt", "agent"):
        return handler.describe()[:_NAME_LENGTH].rstrip()
    if handler.kind == "http":
        return handler.describe().partition("://")[2].partition("?")[0][:_NAME_LENGTH]
    words = handler.describe().split() or [handler.kind]
    return (words[0].rpartition("/")[2] or words[0]).rstrip(":")


def text_of(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace").strip()


def json_output(result: Result) -> dict[str, Any] | None:
    """The JSON object on stdout; None where stdout is something else. Raises HookFailed for half of one."""
    text = text_of(result.stdout)
    if not text.startswith("{"):
        return None
    if result.truncated:
        raise HookFailed("its output is too long to be read as a verdict")
    value = loose_json(text)
    return value if isinstance(value, dict) else None


def cut_answer(result: Result) -> Verdict | None:
    """For systems that fail open: JSON of which we have only the beginning may have been a refusal."""
    if not result.truncated or not text_of(result.stdout[:64]).startswith("{"):
        return None
    return deny("a hook's answer is too long to be read, and may have been a refusal")


def loose_json(text: str) -> Any:
    """A value, or None. Scripts put JSON together with `echo`: a raw newline in a reason must not cost the verdict."""
    try:
        return wire.decode(text)
    except InputError:
        import json
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return None if wire.is_too_deep(value) else value


def text_in(fields: Mapping[str, Any], key: str) -> str:
    """A field that is worth something only as text."""
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def updated_input(event: Event, fields: Mapping[str, Any]) -> dict[str, Any] | None:
    """A hook's `updatedInput`; events without an input have nothing that it could change."""
    update = fields.get("updatedInput")
    return update if isinstance(update, dict) and event.name in ("PreToolUse", "PermissionRequest") else None


def own_update(name: str, event: Event, decision: Decision) -> dict[str, Any] | None:
    """For agents that lay an update over the input: as their own hooks said it, if nobody else changed it."""
    own = decision.groups.get(name, NONE).updated_input
    whole = decision.updated_input
    return own if own and whole == merge_input(getattr(event, "tool_input", {}), own) else whole


def merged_update(said: Sequence[Verdict]) -> dict[str, Any]:
    return {key: value for verdict in said for key, value in (verdict.updated_input or {}).items()}


def exit_2(_event_name: str, message: str) -> Reply:
    """A failure of ours, for agents that take exit 2 for a refusal."""
    return Reply(stderr=f"Fairlead: {message}\n", exit_code=2)


def given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is empty or absent; false and zero stay."""
    return {key: value for key, value in fields.items() if value not in (None, "", {}, [])}


_LONGEST = 1_000_000.0
"""Seconds; poll(2) counts milliseconds in 31 bits, and nobody waits for eleven days."""


class Reader:
    """Collects hooks and problems while one file is read."""

    def __init__(self, source: Source, text: str) -> None:
        self.source = source
        self.text = text
        self.hooks: list[Hook] = []
        self.problems: list[Problem] = []

    def problem(self, path: Path, message: str, hint: str = "", level: str = "error") -> None:
        from fairlead.locate import position_in

        line, column = position_in(self.text, path, toml=self.source.path.endswith(".toml"))
        self.problem_at(line, column, message, hint, level)

    def problem_at(self, line: int, column: int, message: str, hint: str = "", level: str = "error") -> None:
        self.problems.append(
            Problem(file=self.source.path, line=line, column=column, level=level, message=message, hint=hint)
        )

    def warn(self, path: Path, message: str, hint: str = "") -> None:
        self.problem(path, message, hint, level="warning")

    def expect(self, value: Any, kind: type | tuple[type, ...], path: Path, what: str) -> bool:
        if isinstance(value, kind) and not (isinstance(value, bool) and kind in (int, (int, float))):
            return True
        self.problem(path, f"{what}, not {_json_kind(value)}")
        return False

    def event(self, name: str, known: Mapping[str, str], path: Path) -> str:
        """The canonical name of an event in this dialect; empty, and reported, if there is none."""
        if name in known:
            return known[name]
        self.problem(path, f"unknown event {name!r}", did_you_mean(str(name), known))  # YAML: any value is a key
        return ""

    def only(self, table: Mapping[str, Any], known: Collection[str], path: Path) -> None:
        """Reports keys that nobody reads."""
        for key in table:
            if key not in known:
                self.problem((*path, key), f"unknown key {key!r}", did_you_mean(key, known))

    def slips(self, entry: Mapping[Any, Any], known: Sequence[str], path: Path) -> None:
        """Warns of keys that are nearly one of the known ones; other keys may be another system's."""
        unknown = [key for key in entry if isinstance(key, str) and key not in known]
        if not unknown:
            return
        import difflib

        for key in unknown:
            near = difflib.get_close_matches(key.lower(), known, n=1, cutoff=0.8)
            if near:
                self.warn((*path, key), f"unknown key {key!r}", f"did you mean {near[0]!r}?")

    def switched_on(self, entry: Mapping[str, Any], path: Path) -> bool:
        value = entry.get("enabled", True)
        if not isinstance(value, bool):
            self.problem((*path, "enabled"), f"enabled must be true or false, not {_json_kind(value)}", "it is on")
        return value is not False

    def timeout(self, entry: Mapping[str, Any], path: Path, key: str, default: float, unit: float) -> float:
        """Seconds, from a number in the dialect's unit."""
        value = entry.get(key)
        if value is None:
            return default
        if not self.expect(value, (int, float), (*path, key), f"{key} must be a number"):
            return default
        if not value > 0:  # TOML has nan, too
            self.problem((*path, key), f"{key} must be more than 0", f"{plain(default)} s is used")
            return default
        return float(min(value, _LONGEST / unit) * unit)

    def text_field(self, entry: Mapping[str, Any], key: str, path: Path) -> str:
        value = entry.get(key)
        if value is None or value == "":
            self.problem(path, f"{key} is missing")
            return ""
        return value if self.expect(value, str, (*path, key), f"{key} must be a string") else ""

    def matcher_text(self, value: object, path: Path) -> str:
        """What cannot be a matcher is reported, and everything matches."""
        if value is None or isinstance(value, str):
            return value or ""
        self.problem(path, f"matcher must be a string, not {_json_kind(value)}", "until then it matches everything")
        return ""

    def entries(self, value: Any, path: Path, what: str) -> list[tuple[Any, Path]]:
        """The elements of a list that are objects, each with its path; the others are reported."""
        if not self.expect(value, list, path, f"{what} must be a list"):
            return []
        found = [(entry, (*path, index)) for index, entry in enumerate(value)]
        return [(e, p) for e, p in found if self.expect(e, dict, p, f"each of {what} must be an object")]

    def reading(self, **settings: Any) -> Reading:
        return Reading(hooks=tuple(self.hooks), problems=tuple(self.problems), settings=settings)


_KINDS = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}


def _json_kind(value: object) -> str:
    return _KINDS.get(type(value), "a number")


def read_groups(
    reader: Reader, value: Any, events: Mapping[str, str], path: Path = ("hooks",)
) -> Iterator[tuple[str, Any, Any, Path]]:
    """Claude Code's three levels, event ▸ matcher group ▸ handlers: yields event, group, handler, path."""
    if not reader.expect(value, dict, path, "hooks must be an object"):
        return
    for name, groups in value.items():
        event = reader.event(name, events, (*path, name))
        if not event:
            continue
        for group, place in reader.entries(groups, (*path, name), name):
            reader.slips(group, ("matcher", "hooks"), place)
            if "hooks" not in group and ("command" in group or "prompt" in group):
                reader.problem(place, "a handler stands where a matcher group is needed", _WRAP)
                yield event, group, group, (*place, "hooks", 0)
                continue
            for handler, inner in reader.entries(group.get("hooks"), (*place, "hooks"), "hooks"):
                yield event, group, handler, inner


def command_or_prompt(reader: Reader, entry: Mapping[str, Any], path: Path, style: str) -> Handler | None:
    """The two kinds of handler that Code Agent and CodeMie know; `style` is how they want a prompt to be answered."""
    reader.slips(entry, ("type", "command", "prompt", "timeout", "reads"), path)
    kind = entry.get("type")
    if kind is None and ("command" in entry or "prompt" in entry):
        kind = "command" if "command" in entry else "prompt"
        reader.warn(path, "type is missing", f'taken as "type": "{kind}"')
    if kind not in ("command", "prompt"):
        said = f"unknown type {kind!r}" if "type" in entry else "type is missing"
        reader.problem((*path, "type"), said, "one of: command, prompt")
        return None
    text = reader.text_field(entry, kind, path)
    if not text:
        return None
    if kind == "command":
        return Command(command=text)
    from fairlead.dialects import _elsewhere

    return _elsewhere.prompt(reader, text, path, style=style)


_WRAP = 'write {"hooks": [ … ]} around it; until then it is taken as if it were'


def did_you_mean(word: str, known: Iterable[str]) -> str:
    import difflib

    known = list(known)
    folded = {name.lower().replace("_", ""): name for name in known}
    near = difflib.get_close_matches(word.lower().replace("_", ""), folded, n=1, cutoff=0.6)
    return f"did you mean {folded[near[0]]!r}?" if near else f"known: {', '.join(sorted(known))}"


def all_of(*conditions: Callable[[Event], str] | None) -> Callable[[Event], str] | None:
    asked = [condition for condition in conditions if condition is not None]
    if len(asked) < 2:
        return asked[0] if asked else None
    return lambda event: next(filter(None, (condition(event) for condition in asked)), "")


A_DAY = 24 * 3600.0
"""For hooks in the background, whose own time agents do not enforce; nothing lives for ever."""


def left_running(handler: Handler) -> Handler:
    """The same, but nobody waits for it."""
    from fairlead.handlers.background import Background

    return Background(handler=handler)


def once_a_session(key: tuple[object, ...], places: Places) -> Once:
    from fairlead.once import Once

    return Once(key, places)
