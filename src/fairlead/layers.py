"""Where hooks come from: which files, read by which dialect, in which order."""

from __future__ import annotations

import os

from fairlead import dialects, documents, folders, trust, wire
from fairlead._record import Record
from fairlead.dialects import HOOK_HALVES, Places, Reading, Source
from fairlead.errors import ConfigError, Problem
from fairlead.hooks import Hook, Origin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, MutableMapping
    from typing import Any


SHARED_FIRST = "claude-code"
"""Reads the files that several dialects claim, unless somebody says otherwise."""


class Loaded(Record):
    hooks: tuple[Hook, ...]
    problems: tuple[Problem, ...] = ()
    replaced: tuple[Hook, ...] = ()
    """Hooks that a nearer file has put its own in the place of."""
    journal: Mapping[str, Any] = {}  # never changed: records are frozen
    """What `[journal]` says; the organisation's word over the user's."""
    telemetry: Mapping[str, Any] = {}  # the same
    """What `[telemetry]` says."""
    pass_env: tuple[str, ...] = ()
    """Variables that the user hands on to the hooks of projects."""


def load(
    places: Places,
    *,
    reads: Iterable[str] = HOOK_HALVES,
    agent: str = "",
    own: bool = True,
    trust_project: bool = False,
    pins: Iterable[str] = (),
    last_good: MutableMapping[str, str] | None = None,
) -> Loaded:
    """Every hook of the named dialects.

    `agent` is who calls: it reads the files that it shares with other dialects. With `own` false its
    files are left alone, because it runs the hooks in them itself. `pins` are digests of hooks that may run.
    `last_good` is what somebody who loads again and again remembers of our own files: while one cannot be read, that
    counts.
    """
    try:
        folders.check(places.environ, places.project, places.home)
    except ConfigError as error:
        return _refused(error, places)
    places = _as_seen_by(agent, places)
    ours = dialects.hook_half("fairlead").sources(places)
    natives = [_read("fairlead", source, places, last_good) for source in ours]
    readings = _all_read(places, natives, reads, agent, own=own)
    if not trust_project:
        readings = _judged(readings, places, frozenset((*pins, *_wishes("pins", natives))))
    problems = [problem for _, reading in readings for problem in reading.problems] + _moved(places)
    hooks = _under_policy(_arranged(readings), readings, places, problems)
    return Loaded(
        hooks=tuple(hooks),
        problems=tuple(problems),
        replaced=tuple(_replaced(readings, hooks)),
        journal=_said("journal", natives),
        telemetry=_said("telemetry", natives),
        pass_env=tuple(_wishes("pass_env", natives)),
    )


def _all_read(
    places: Places, natives: list[tuple[Source, Reading]], reads: Iterable[str], agent: str, *, own: bool
) -> list[tuple[Source, Reading]]:
    readers = _readers(places, reads, agent, _named_files(places, natives))
    if not own and agent in HOOK_HALVES:
        for source in dialects.hook_half(agent).sources(places):
            if source.path in readers and not _is_read_by_nobody(agent, source):
                del readers[source.path]
    readings = [*natives, *(_read(_by_shape(name, agent, s, own), s, places) for name, s in readers.values())]
    return [(source, _others(reading)) for source, reading in readings]


def of_project(places: Places, agent: str = "") -> tuple[list[Hook], list[Problem]]:
    """The hooks that stand in the project's own files, as this agent reads them; nobody is asked about trust.

    Raises ConfigError where the user's own folders are not the user's.
    """
    folders.check(places.environ, places.project, places.home)
    places = _as_seen_by(agent, places)
    natives = [_read("fairlead", source, places) for source in dialects.hook_half("fairlead").sources(places)]
    readings = [pair for pair in _all_read(places, natives, HOOK_HALVES, agent, own=True) if pair[0].owner == "project"]
    hooks = [hook for _, reading in readings for hook in reading.hooks]
    return hooks, [problem for _, reading in readings for problem in reading.problems]


def _refused(error: ConfigError, places: Places) -> Loaded:
    """Nothing that lies in such a folder counts; nor can anybody say what the user's own would have refused."""
    from fairlead.events import GUARDED
    from fairlead.handlers.refusal import Refusal

    what = Refusal(reason=f"{error}; {error.hint}")
    origin = Origin(dialect="fairlead", layer="managed")
    hook = Hook(name="folders", events=tuple(sorted(GUARDED)), handler=what, origin=origin)
    problem = Problem(file=places.project, message=str(error), hint=error.hint)
    return Loaded(hooks=(hook,), problems=(problem,), journal={"mode": "off"})


def _under_policy(
    hooks: list[Hook], readings: list[tuple[Source, Reading]], places: Places, problems: list[Problem]
) -> list[Hook]:
    if not any(key in reading.settings for _, reading in readings for key in ("policy", "exceptions")):
        return hooks
    from fairlead import policy

    hooks, found = policy.applied(hooks, readings, places)
    problems += found
    return hooks


def _said(table: str, natives: Iterable[tuple[Source, Reading]]) -> dict[str, Any]:
    said = {source.owner: reading.settings.get(table, {}) for source, reading in natives}
    return {**said.get("user", {}), **said.get("managed", {})}


def _wishes(key: str, natives: Iterable[tuple[Source, Reading]]) -> list[str]:
    """A list in `[trust]` of the user and the organisation together."""
    said = [reading.settings.get("trust", {}) for source, reading in natives if source.owner != "project"]
    return [value for table in said for value in table.get(key, ())]


def _as_seen_by(agent: str, places: Places) -> Places:
    """CLAUDE_CONFIG_DIR moves the settings of Claude Code; those who share them do not know it."""
    if agent not in ("code-agent", "claude-agent"):
        return places
    return places.but(environ={name: value for name, value in places.environ.items() if name != "CLAUDE_CONFIG_DIR"})


def _replaced(readings: list[tuple[Source, Reading]], kept: list[Hook]) -> list[Hook]:
    entries = {(hook.origin.file, hook.origin.path) for hook in kept}
    read = [hook for _, reading in readings for hook in reading.hooks]
    return [hook for hook in read if (hook.origin.file, hook.origin.path) not in entries]


def _readers(
    places: Places, reads: Iterable[str], agent: str, named: Mapping[str, str]
) -> dict[str, tuple[str, Source]]:
    """For each file, who reads it: the calling agent, whom the configuration names, or the usual one."""
    claims: dict[str, dict[str, Source]] = {}
    for name in reads:
        for source in sources(name, places) if name != "fairlead" else ():
            if source.owner != "project" or name not in claims.get(source.path, {}):  # in the home directory it is both
                claims.setdefault(source.path, {})[name] = source
    chosen = {}
    for path, claimants in claims.items():
        wishes = (agent, named.get(path, ""), SHARED_FIRST, next(iter(claimants)))
        name = next(wish for wish in wishes if wish in claimants)
        chosen[path] = (name, claimants[name])
    return chosen


def sources(name: str, places: Places) -> list[Source]:
    """The files of a dialect that may be there; its own, and those that it was relieved of by `init --adopt`."""
    found = [source for source in adopted(name, places) if os.path.exists(source.path)]
    if name == "fairlead" or any(sign and os.path.exists(sign) for sign in dialects.signs(name, places)):
        found += _theirs(dialects.hook_half(name).sources(places), places)
    return found


def _moved(places: Places) -> list[Problem]:
    said = "{} leads into the project: what stands there counts as the project's, and needs trust"
    moved = folders.moved_into(places.environ, places.project)
    return [
        Problem(file=where, level="warning", message=said.format(name), hint=f"unset {name}, or let it lead elsewhere")
        for name, where in moved
    ]


def _theirs(found: Iterable[Source], places: Places) -> list[Source]:
    """With the project's own name on what a variable has led into it."""
    moved = tuple(f"{folder}{os.sep}" for _, folder in folders.moved_into(places.environ, places.project))
    return [
        source.but(owner="project", layer="project" if source.layer == "user" else source.layer)
        if source.owner == "user" and moved and source.path.startswith(moved)
        else source
        for source in found
    ]


def adopted(name: str, places: Places) -> list[Source]:
    """Where the hooks of an agent are kept that Fairlead has taken over."""
    file = f"{name}.toml" if name == "amcp" else f"{name}.json"
    return [
        Source(path=os.path.join(places.config, "fairlead", "adopted", file), layer="user", owner="user"),
        Source(path=os.path.join(places.project, ".fairlead", "adopted", file), layer="project", owner="project"),
    ]


def _named_files(places: Places, natives: Iterable[tuple[Source, Reading]]) -> dict[str, str]:
    """`[files]` of every fairlead.toml, nearest last. A project speaks for its own files only."""
    named: dict[str, str] = {}
    for source, reading in natives:
        for file, dialect in reading.settings.get("files", {}).items():
            path = os.path.normpath(os.path.join(places.project, _expand_home(file, places.home)))
            if source.owner != "project" or path.startswith(places.project + os.sep):
                named[path] = dialect
    return named


def _expand_home(file: str, home: str) -> str:
    return os.path.join(home, file[2:]) if file.startswith("~/") else file


def _by_shape(name: str, agent: str, source: Source, own: bool) -> str:
    """Named maps are claude-agent's, also where another would be asked to read them."""
    if name == agent:  # with `own` false all that is left of its files is what it cannot read, and what it gave us
        return "claude-agent" if not own and _is_read_by_nobody(agent, source) else name
    return "claude-agent" if name == SHARED_FIRST and _has_named_maps(source) else name


_GROUPS_ONLY = ("claude-code", "code-agent")
"""Share their settings with claude-agent, and cannot run the named maps in them."""


def _is_read_by_nobody(agent: str, source: Source) -> bool:
    return agent in _GROUPS_ONLY and _has_named_maps(source)


def _has_named_maps(source: Source) -> bool:
    from fairlead.dialects import _claude_files

    if source.format or not source.path.endswith(".json"):
        return False
    try:
        text = documents.read_text(source.path)
        return text is not None and _claude_files.has_named_maps(documents.parse_json(text))
    except ConfigError:
        return False


def _read(
    name: str, source: Source, places: Places, last_good: MutableMapping[str, str] | None = None
) -> tuple[Source, Reading]:
    try:
        text = documents.read_text(source.path)
        reading = _parsed(name, source, text, places)
    except documents.BadDocument as error:
        problem = Problem(file=source.path, line=error.line, column=error.column, message=str(error), hint=error.hint)
    except ConfigError as error:
        problem = Problem(file=source.path, message=str(error), hint=error.hint)
    else:
        if last_good is not None:
            _remember(last_good, source.path, text)
        return source, reading
    if last_good is not None and source.path in last_good:
        before = _parsed(name, source, last_good[source.path], places)
        return source, before.but(problems=(*before.problems, problem.but(hint=_STAYS)))
    return source, Reading(hooks=_instead(name, source, problem), problems=(problem,))


_STAYS = "what stood there before stays in force until this can be read"


def _remember(last_good: MutableMapping[str, str], path: str, text: str | None) -> None:
    if text is None:
        last_good.pop(path, None)
    else:
        last_good[path] = text


def _parsed(name: str, source: Source, text: str | None, places: Places) -> Reading:
    if text is None:
        return Reading()
    return _with_oddities(dialects.hook_half(name).read(source, text, places), source, text)


def _instead(name: str, source: Source, problem: Problem) -> tuple[Hook, ...]:
    """Our own files hold guards: while one cannot be read, what it may guard is refused. Others have their own ways."""
    if name != "fairlead":
        return ()
    from fairlead.events import GUARDED
    from fairlead.handlers.missing import Unreadable

    origin = Origin(dialect=name, layer=source.layer, file=source.path)
    what = Unreadable(problem=f"{problem.file}:{problem.line}:{problem.column}: {problem.message}")
    return (Hook(name="fairlead.toml", events=tuple(sorted(GUARDED)), handler=what, origin=origin, on_error="deny"),)


def _with_oddities(reading: Reading, source: Source, text: str) -> Reading:
    if not source.path.endswith(".json"):
        return reading
    problems = [
        Problem(file=source.path, line=line, column=column, message=f"the key {key!r} is there twice", hint=_TWICE)
        for key, line, column in documents.repeated_keys(text)
    ]
    problems += [
        Problem(file=source.path, line=line, column=column, message=_TOO_DEEP, hint="hooks in it do not run")
        for line, column in documents.too_deep(text)[:_MOST_TOO_DEEP]
    ]
    return reading.but(problems=(*reading.problems, *problems)) if problems else reading


_TOO_DEEP = f"nested more than {wire.DEPTH} deep: what stands here is left out"
_MOST_TOO_DEEP = 5
"""That are named."""
_TWICE = "of two lists or objects both count here, of anything else the last; other readers may differ"


def _others(reading: Reading) -> Reading:
    """Without our own calls: in one agent's settings they are how it asks us, and would have us ask ourselves."""
    ours = [hook for hook in reading.hooks if _asks_us(hook.handler)]
    if not ours:
        return reading
    commands = [hook for hook in ours if _is_command(hook.handler)]
    problems = [_left_out_with_us(hook) for hook in commands if _does_more(hook.handler.describe())]
    others = [hook for hook in reading.hooks if not any(hook is own for own in ours)]
    return reading.but(hooks=tuple(others), problems=(*reading.problems, *problems))


def _asks_us(handler: Any) -> bool:
    inner = getattr(handler, "handler", handler)
    if inner.kind == "http":
        return calls_our_server(inner.url)
    return _is_command(handler) and calls_fairlead(handler.describe())


def calls_our_server(url: str) -> bool:
    """Whether an address is where `fairlead serve` takes events on this machine."""
    if "/api/hooks/" not in url:
        return False
    from urllib.parse import urlsplit

    from fairlead.approvals import is_loopback

    try:
        path = urlsplit(url).path
    except ValueError:
        return False
    return path.startswith("/api/hooks/") and is_loopback(url)


def _is_command(handler: Any) -> bool:
    """Also in the background; a prompt may speak of us without calling us."""
    return getattr(handler, "handler", handler).kind == "command"  # type: ignore[no-any-return]


def _left_out_with_us(hook: Hook) -> Problem:
    from fairlead.locate import position

    line, column = position(hook.origin.file, hook.origin.path)
    message = "this hook calls Fairlead, which leaves it out here, together with what else it runs"
    hint = "put the other command into a hook of its own"
    return Problem(file=hook.origin.file, line=line, column=column, level="warning", message=message, hint=hint)


def _does_more(command: str) -> bool:
    """Whether a line that calls us starts something else besides."""
    parts = command.replace(">&", ">").replace("|", ";").replace("&", ";").replace("\n", ";").split(";")
    return any(part.split()[0] not in _IDLE and not calls_fairlead(part) for part in parts if part.split())


_IDLE = frozenset({"true", "false", ":", "exit", "cd", "export", "set", "echo"})


def calls_fairlead(command: str) -> bool:
    """Whether a command line is `fairlead hook …`, however it was started."""
    if "fairlead" not in command:
        return False
    words = [word.strip("'\"") for word in command.split()]
    names = (os.path.basename(word.removesuffix("/__main__.py")) for word in words)
    return any(name == "fairlead" and after == "hook" for name, after in zip(names, words[1:], strict=False))


def _judged(
    readings: list[tuple[Source, Reading]], places: Places, pins: frozenset[str]
) -> list[tuple[Source, Reading]]:
    """Hooks of the project run as far as somebody has trusted them; its settings change nothing but its own files."""
    of_project = [hook for source, reading in readings if source.owner == "project" for hook in reading.hooks]
    if not of_project and not trust.is_known(places):
        return [(source, _its_own(source, reading, reading.hooks)) for source, reading in readings]
    from fairlead.trust.judging import judged

    files = frozenset(source.path for source, _ in readings if source.owner == "project")
    found = judged(of_project, places, pins, files)
    result = [
        (source, _its_own(source, reading, [hook for hook in found.hooks if hook.origin.file == source.path]))
        for source, reading in readings
    ]
    strays = tuple(hook for hook in found.hooks if hook.origin.file not in files)
    return [*result, (_NOWHERE, Reading(hooks=strays, problems=found.problems))]


def _its_own(source: Source, reading: Reading, hooks: Iterable[Hook]) -> Reading:
    return reading.but(hooks=tuple(hooks), settings={}) if source.owner == "project" else reading


_NOWHERE = Source(path="", layer="project", owner="project")


def _arranged(readings: list[tuple[Source, Reading]]) -> list[Hook]:
    hooks: dict[str, list[Hook]] = {}
    for _, reading in readings:
        for hook in reading.hooks:
            hooks.setdefault(hook.origin.dialect, []).append(hook)
    arranged = [
        hook
        for name in HOOK_HALVES
        if name in hooks
        for hook in dialects.hook_half(name).arrange(hooks[name], readings)
    ]
    return _within_lists(arranged, readings)


def _within_lists(hooks: list[Hook], readings: list[tuple[Source, Reading]]) -> list[Hook]:
    if all(hook.handler.kind not in ("http", "background") for hook in hooks):
        return hooks
    from fairlead.dialects._elsewhere import restricted

    return restricted(hooks, readings)
