"""The hooks of the projects that were asked about last, loaded; each event sees them as the files are now."""

from __future__ import annotations

import os
import time
from contextvars import copy_context
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING

import fairlead
from fairlead import surroundings
from fairlead.answering import Request, add_unwritten, heard, loaded, project_for
from fairlead.dialects import Places
from fairlead.documents import cache_dir
from fairlead.folders import home_of
from fairlead.handlers.approval import Approval
from fairlead.handlers.function import Function, Named
from fairlead.stops import StopFiles
from fairlead.surroundings import Surroundings
from fairlead.warm.watched import Files, Looked, signature

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fairlead.api import Hooks
    from fairlead.events import Event
    from fairlead.hooks import Hook

    Key = tuple[object, ...]

CHECKED_EVERY = 0.1
"""Seconds between two looks at the files."""
READ_EVERY = 10.0
"""Seconds after which they are read again in any case: what is allowed until a certain time ends without a change."""
LATELY = 600.0
"""Seconds since the last event about a project in which its hooks are read while nobody waits for them."""
AHEAD = 2.0
"""Seconds by which that is done before an event would have to."""
_SHARE = 100
"""Nor more often than that it takes one part in so many of the time."""
MOST = 64
"""Projects, for each agent and each environment that matters, that are kept."""
_MOST_TEXTS = 256
_PATHS = (
    "HOME", "TMPDIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "QWEN_HOME", "COPILOT_HOME",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
)  # fmt: skip
"""Variables that may hold a path; one that counts from a working directory counts from theirs, not from ours."""


_OF_ONE_EVENT = frozenset({"raw", "event_name", "project", "environ", "cwd", "started", "patience"})
"""What a request says beside the hooks that it wants, and what is asked for beside it."""
_wanted = attrgetter(*(name for name in Request._fields if name not in _OF_ONE_EVENT))
"""All the rest, which decides what is loaded."""


class Declined(Exception):  # noqa: N818  # it is no error: somebody else answers
    """An event that only a process of its own can answer as it would be answered there."""


class _Kept:
    """One load."""

    def __init__(
        self,
        request: Request,
        hooks: Hooks,
        looked: Looked,
        files: Files,
        now: float,
        took: float,
        wall: Callable[[], int],
    ) -> None:
        self.request = request.but(raw=b"")
        self.used = now
        self.hooks = hooks
        self.counts = StopFiles(hooks.setting.environ)
        self.looked = looked
        self._files = files
        self._loaded = self._checked = now
        self._lasts = max(READ_EVERY, _SHARE * took)
        self._wall = wall
        self._settles_at = files.settles_at()

    def is_as_before(self, now: float) -> bool:
        if now - self._checked < CHECKED_EVERY:
            return True
        self._checked = now
        return self._is_good_until(now)

    def is_due(self, now: float) -> bool:
        """Whether an event that comes now, or soon, would have it read again."""
        return not self._is_good_until(now + AHEAD)

    def _is_good_until(self, moment: float) -> bool:
        if moment - self._loaded > self._lasts:
            return False
        if self._settles_at and self._wall() > self._settles_at:
            return False
        return self._files.are_the_same()

    @property
    def paths(self) -> set[str]:
        return self._files.paths


class Texts(dict[str, str]):
    """The last good text of our own files; the oldest go."""

    def __setitem__(self, path: str, text: str) -> None:
        self.pop(path, None)
        super().__setitem__(path, text)
        if len(self) > _MOST_TEXTS:
            del self[next(iter(self))]


class Loaded:
    def __init__(self, clock: Callable[[], float] = time.monotonic, wall: Callable[[], int] = time.time_ns) -> None:
        """`wall` is what the times of files are compared with."""
        self._kept: dict[Key, list[_Kept]] = {}
        self._clock = clock
        self._wall = wall
        self._texts = Texts()
        self._code = signature(fairlead.__file__)
        self._code_checked = clock()
        self.loads = 0
        """How often files were read."""

    def find(self, request: Request, event: Event) -> Hooks:
        """The hooks for one event of somebody else. Raises Declined."""
        self._refuse_after_an_upgrade()
        if event.cwd and not event.cwd.startswith("/"):
            raise Declined("the event's cwd counts from the working directory")
        kept = self._current(request, _absolute(project_for(request, event)))
        hooks = kept.hooks.in_setting(kept.hooks.setting.but(environ=request.environ))
        _refuse_what_needs_a_process(hooks, event)
        return heard(hooks, request, event, kept.counts)

    def _refuse_after_an_upgrade(self) -> None:
        """What stands on the disk now is what `fairlead hook` would run."""
        now = self._clock()
        if now - self._code_checked >= CHECKED_EVERY:
            self._code_checked = now
            if signature(fairlead.__file__) != self._code:
                self._code = None
        if self._code is None:
            raise Declined("Fairlead has been installed anew since this server began")

    def _current(self, request: Request, project: str) -> _Kept:
        key: Key = project, _wanted(request)
        row = self._kept.pop(key, [])
        found, now = _for(request.environ, row), self._clock()
        if found is not None and found.is_as_before(now):
            found.used = now
            self._kept[key] = row
            return found
        fresh = self._load(request.but(project=project))  # whole, before anybody sees it
        self._kept[key] = [fresh, *(kept for kept in row if kept is not found)]
        self._make_room()
        return fresh

    def refresh(self) -> None:
        """Read again what the next event would read again, while nobody waits for it."""
        now = self._clock()
        for row in list(self._kept.values()) if self._code is not None else ():
            for place, kept in enumerate(row):
                if now - kept.used <= LATELY and kept.is_due(now):
                    row[place] = self._again(kept)

    def _again(self, kept: _Kept) -> _Kept:
        try:
            fresh = copy_context().run(self._load_for, kept.request)
        except Exception:  # noqa: BLE001  # the next event finds the same, and says it
            return kept
        fresh.used = kept.used
        return fresh

    def _load_for(self, request: Request) -> _Kept:
        surroundings.enter(Surroundings(environ=request.environ))
        return self._load(request)

    def _load(self, request: Request) -> _Kept:
        now, looked = self._clock(), Looked(request.environ)
        _refuse_relative_paths(looked)
        self.loads += 1
        places = Places(
            home=os.path.abspath(home_of(looked)),
            project=request.project,
            environ=looked,
            managed=request.managed,
            active=request.active,
        )
        with Files(self._wall) as files:
            files.add_signs(places)
            hooks = loaded(request, places, self._texts)
            add_unwritten(hooks, request, looked)
        files.leave_out(cache_dir(looked))
        return _Kept(request, hooks, looked, files, now, self._clock() - now, self._wall)

    def _make_room(self) -> None:
        while len(self) > MOST:
            key = next(iter(self._kept))
            self._kept[key].pop()
            if not self._kept[key]:
                del self._kept[key]

    def __len__(self) -> int:
        return sum(map(len, self._kept.values()))

    @property
    def watched(self) -> set[str]:
        """Every path that is looked at again."""
        return {path for row in self._kept.values() for kept in row for path in kept.paths}


def _absolute(path: str) -> str:
    return _normal(path) if path.startswith("/") else os.path.abspath(path)


_normal = lru_cache(maxsize=256)(os.path.normpath)


def _for(environ: Mapping[str, str], row: list[_Kept]) -> _Kept | None:
    for kept in row:
        if kept.looked.says_the_same_as(environ):
            return kept
    return None


def _refuse_relative_paths(environ: Mapping[str, str]) -> None:
    for name in _PATHS:
        value = environ.get(name, "")
        if value and not value.startswith("/"):
            raise Declined(f"{name} counts from the working directory")


def _refuse_what_needs_a_process(hooks: Hooks, event: Event) -> None:
    for group in hooks.plan(event).groups:
        for hook in group.hooks:
            why = _why_alone(hook)
            if why:
                raise Declined(f"hook {hook.name} {why}")


def _why_alone(hook: Hook) -> str:
    handler = hook.handler
    handler = getattr(handler, "inner", handler)  # of one that is bound to what was trusted
    if isinstance(handler, (Named, Function)):
        return "is a function, which may look at its process"
    if isinstance(handler, Approval) and handler.log is not None:
        return "writes to its stderr while it waits"
    return ""
