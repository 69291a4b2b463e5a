"""What loading hooks has looked at: variables and files. As long as those are the same, so are the hooks.

Files are learnt of at the border to the operating system, by an audit hook: whatever some dialect opens or lists
is seen there, also what is not there yet. Each is looked at before it is read; a change in between is noticed later.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fairlead import dialects, documents, folders, layers, trust

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from fairlead.dialects import Places

    Signature = tuple[int, ...] | None

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND
_TICK = 50_000_000
"""Nanoseconds within which two changes of a file can bear the same time."""
_COARSE_TICK = 2_000_000_000
"""The same where a file system counts whole seconds, or two."""


class Looked(Mapping[str, str]):
    """An environment that remembers which of its variables were asked for."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._asked: dict[str, str | None] = {}
        self._all = False

    def __getitem__(self, name: str) -> str:
        self._asked[name] = value = self._environ.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def get(self, name: str, default: Any = None) -> Any:
        self._asked[name] = value = self._environ.get(name)
        return default if value is None else value

    def __iter__(self) -> Iterator[str]:
        self._all = True
        return iter(self._environ)

    def __len__(self) -> int:
        self._all = True
        return len(self._environ)

    def says_the_same_as(self, environ: Mapping[str, str]) -> bool:
        """About all that was asked for."""
        if environ is self._environ:
            return True
        if self._all:
            return environ == self._environ
        return all(environ.get(name) == value for name, value in self._asked.items())


class Files:
    """The state of every file that was looked at, as it was before that."""

    def __init__(self, wall: Callable[[], int] = time.time_ns) -> None:
        self._states: dict[str, Signature] = {}
        self._owners: dict[str, Signature] = {}
        self._began = wall()

    def __enter__(self) -> Self:
        _install()
        _LOOKING[threading.get_ident()] = self._states
        return self

    def __exit__(self, *_error: object) -> None:
        del _LOOKING[threading.get_ident()]

    def add_signs(self, places: Places) -> None:
        """What counts by being there, or by whose it is, and is not opened."""
        for path in _signs(places):
            if path:
                self._owners[path] = owner(path)
        for path in trust.watched(places):
            self._states[path] = signature(path)

    def leave_out(self, folder: str) -> None:
        """What stands there says nothing new: it is ours."""
        for path in [path for path in self._states if folder and f"{path}{os.sep}".startswith(folder + os.sep)]:
            del self._states[path]

    @property
    def paths(self) -> set[str]:
        return {*self._states, *self._owners}

    def are_the_same(self) -> bool:
        return _are_as_before(self._states, signature) and _are_as_before(self._owners, owner)

    def settles_at(self) -> int:
        """In nanoseconds since 1970, when a file can no longer change without showing it; 0 if that is over."""
        moments = [_settled(state) for state in self._states.values() if state is not None]
        return max((moment for moment in moments if moment > self._began), default=0)


def _are_as_before(states: Mapping[str, Signature], look: Callable[[str], Signature]) -> bool:
    """Most of them were not there, and are not: `access` says so without an error, which costs twice as much."""
    for path, before in states.items():
        if before is None:
            if _is_there(path):
                return False
        elif look(path) != before:
            return False
    return True


def _is_there(path: str) -> bool:
    try:
        return os.access(path, os.F_OK)
    except ValueError:  # no path at all: an event may name anything
        return False


def signature(path: str) -> Signature:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (
        found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev, found.st_mode, found.st_uid,
    )  # fmt: skip


def owner(path: str) -> Signature:
    """For folders in which something is written all the time, which says nothing."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mode, found.st_uid, found.st_gid


def _signs(places: Places) -> Iterator[str]:
    for name in dialects.HOOK_HALVES:
        yield from dialects.signs(name, places)
        yield from (source.path for source in layers.adopted(name, places))
    yield from (f"{places.project}/{file}" for file in folders.SETTING_FILES)
    yield os.path.join(places.config, "fairlead")
    yield folders.state_folder(places.environ, places.home)
    yield from _repositories(places.project)


def _repositories(project: str) -> Iterator[str]:
    """What makes a folder above it the root of the project."""
    folder = os.path.realpath(project)
    while True:
        yield os.path.join(folder, ".git")
        if folder == os.path.dirname(folder):
            return
        folder = os.path.dirname(folder)


def _settled(state: tuple[int, ...]) -> int:
    coarse = not state[0] % 1_000_000_000 and not state[1] % 1_000_000_000
    return max(state[:2]) + (_COARSE_TICK if coarse else _TICK)


_LOOKING: dict[int, dict[str, Signature]] = {}
"""For each thread that loads something, what it has looked at."""
_INSTALLED: list[bool] = []


def _install() -> None:
    """Once: an audit hook cannot be taken out again."""
    if not _INSTALLED:
        _INSTALLED.append(True)
        sys.addaudithook(_audit)


def _audit(what: str, arguments: tuple[Any, ...]) -> None:
    if not _LOOKING or what not in ("open", "os.listdir", "os.scandir"):
        return
    states = _LOOKING.get(threading.get_ident())
    path = arguments[0] if arguments else None
    if states is None or not isinstance(path, (str, bytes, os.PathLike)) or (what == "open" and _is_written(arguments)):
        return
    name = os.path.abspath(os.fsdecode(path))
    if name not in states and not name.startswith(_OURS):
        states[name] = signature(name)


def _is_written(arguments: tuple[Any, ...]) -> bool:
    flags = arguments[2] if len(arguments) > 2 else 0
    return isinstance(flags, int) and bool(flags & _WRITES)


_OURS = tuple(
    {
        f"{os.path.realpath(place)}{os.sep}"
        for place in (sys.prefix, sys.base_prefix, os.path.dirname(documents.__file__))
    }
)
"""The interpreter and its modules, which are imported while hooks are loaded."""
