"""Trust, given to the hooks that were read: each one may run, was never looked at, or is not what it was."""

from __future__ import annotations

import os

from fairlead._record import Record
from fairlead.errors import ConfigError, Problem
from fairlead.events import GUARDED
from fairlead.hooks import Hook, Origin
from fairlead.trust import folder as trust_folder
from fairlead.trust import store
from fairlead.trust.bound import Bound, Changed
from fairlead.trust.definitions import definition, digest_of
from fairlead.trust.records import plugin_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fairlead.dialects import Places
    from fairlead.trust.records import Trusted

LOOK = "look at it with `fairlead trust`"


class Judged(Record):
    hooks: tuple[Hook, ...]
    problems: tuple[Problem, ...] = ()


class _Bench:
    """What is known about one project."""

    def __init__(self, places: Places, hooks: Sequence[Hook], pins: frozenset[str], files: frozenset[str]) -> None:
        self.project = places.project
        self.folder = trust_folder(places.environ, places.home)
        self.problems: list[Problem] = []
        self.lost = ""
        self.refused = False
        self.known: dict[str, list[Trusted]] = {}
        self.defined = {id(hook): digest_of(definition(hook, self.project)) for hook in hooks}
        self._ask(hooks, pins)
        self.gone = {(one.file, one.name): one for one in self._not_there(hooks, files)}

    def _not_there(self, hooks: Sequence[Hook], files: frozenset[str]) -> Iterator[Trusted]:
        """What was trusted in files that were read now, or that have gone, as their readers of today take them."""
        current = set(self.defined.values())
        readers = {self.seen(hook.origin.file): hook.origin.dialect for hook in hooks}
        for one in [one for found in self.known.values() for one in found if one.defined not in current]:
            path = os.path.join(self.project, one.file)
            reader = readers.setdefault(one.file, one.dialect)
            if reader == one.dialect and (path in files or not os.path.exists(path)):
                yield one

    def seen(self, path: str) -> str:
        return os.path.relpath(path, self.project)

    def _ask(self, hooks: Sequence[Hook], pins: frozenset[str]) -> None:
        try:
            said = store.read(self.folder, self.project)
            self.refused = said.refused
            trusted = [*said.hooks, *(self._pinned(hooks, pins) if pins else ())]
        except ConfigError as error:
            self.lost = str(error)
            self.problems.append(Problem(file=self.project, message=str(error), hint=error.hint))
            trusted = []
        for one in trusted:
            self.known.setdefault(one.defined, []).append(one)

    def _pinned(self, hooks: Sequence[Hook], pins: frozenset[str]) -> list[Trusted]:
        from fairlead.trust.pins import pinned

        return pinned(hooks, self.project, pins)

    def had_hooks_in(self, file: str) -> bool:
        return any(one.file == self.seen(file) for one in self.gone.values())

    def has_changed(self, hook: Hook) -> bool:
        return (self.seen(hook.origin.file), hook.name) in self.gone


def judged(hooks: Iterable[Hook], places: Places, pins: frozenset[str], files: frozenset[str]) -> Judged:
    """The project's hooks, each as far as it may run. `files` are those that were read."""
    hooks = list(hooks)
    bench = _Bench(places, hooks, pins, files)
    found = [part for hook in hooks for part in _parts(hook, bench)]
    found += [part for one in bench.gone.values() for part in _missed(one, hooks, bench)]
    return Judged(hooks=tuple(found), problems=tuple(bench.problems))


def _parts(hook: Hook, bench: _Bench) -> list[Hook]:
    if hook.handler.kind == "guard":  # runs nothing of the project; what it could allow is taken out of it elsewhere
        return [hook.but(options={**hook.options, "tightens": True})]
    records = bench.known.get(bench.defined[id(hook)], ())
    if records and not bench.refused:
        handler = _bound(hook, tuple(records), bench).around()
        return [hook.but(handler=handler, options={**hook.options, "confined": True})]
    return _left_out(hook, _why_not(hook, bench))


def _bound(hook: Hook, records: tuple[Trusted, ...], bench: _Bench) -> Bound:
    return Bound(inner=hook.handler, trusted=records, project=bench.project, folder=bench.folder, root=plugin_of(hook))


def _why_not(hook: Hook, bench: _Bench) -> str:
    """Why nobody can go on without it; empty where it was never in force."""
    if bench.refused:
        return ""
    if bench.lost:
        return f"nobody can say whether it is trusted: {bench.lost}"
    if hook.handler.kind == "unreadable" and bench.had_hooks_in(hook.origin.file):
        return f"it cannot be read, and held hooks that you have trusted: {hook.handler.describe()}"
    if bench.has_changed(hook):
        return f"it has changed since you trusted it; {LOOK}"
    return f"it is required, and not trusted yet; {LOOK}" if hook.options.get("required") else ""


def _left_out(hook: Hook, refusal: str) -> list[Hook]:
    """A hook that people rely on does not vanish: what it guards is refused until somebody has looked at it."""
    skipped = hook.but(trusted=False)
    guarded = tuple(sorted(GUARDED)) if "*" in hook.events else tuple(e for e in hook.events if e in GUARDED)
    if not refusal or not guarded:
        return [skipped]
    rest = tuple(event for event in hook.events if event not in guarded)
    refusing = hook.but(events=guarded, handler=Changed(inner=hook.handler, why=refusal), on_error="deny")
    return [refusing, *([skipped.but(events=rest)] if rest else [])]


def _missed(one: Trusted, hooks: Sequence[Hook], bench: _Bench) -> list[Hook]:
    """A hook that was trusted and is not there any more."""
    if bench.refused or any((bench.seen(hook.origin.file), hook.name) == (one.file, one.name) for hook in hooks):
        return []
    where = os.path.join(bench.project, one.file)
    message = f"the hook {one.name}, which you have trusted, is not there any more"
    hint = "`fairlead trust` accepts that"
    bench.problems.append(Problem(file=where, level="warning", message=message, hint=hint))
    if not one.required:
        return []
    events = tuple(event for event in one.definition.get("events", ()) if event in GUARDED)
    origin = Origin(dialect="fairlead", layer="project", file=where)
    what = Changed(inner=None, why=f"it is required, and not there any more; {hint}")
    return [Hook(name=one.name, events=events, handler=what, origin=origin, on_error="deny")] if events else []
