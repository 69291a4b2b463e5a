"""Files of one directory, and nothing outside of it.

Each name of a path is opened by itself, below the directory that was opened before it, and never through a
symbolic link. So it does not matter what somebody puts in the place of what while we look.
"""

from __future__ import annotations

import os
import stat

from fairlead._record import Record
from fairlead.hooks import HookFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    Parts = tuple[str, ...]

_LONGEST = 4096
_DEEPEST = 128
_COMMON = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY = _COMMON | os.O_DIRECTORY
_FILE = _COMMON | os.O_NONBLOCK | os.O_NOCTTY
"""A pipe that was swapped in must not make us wait for its writer."""


class Refused(Exception):  # noqa: N818  # an answer, in words for the model that has asked
    """Why something is not shown."""


class Opened(Record):
    """A regular file of the project; whoever has it closes it."""

    file: int
    size: int


class Beneath:
    """The project as it may be looked at."""

    def __init__(self, project: str, *, secrets: bool = False) -> None:
        self._secrets = secrets
        """Whether files that hold credentials may be shown."""
        self._bases = tuple(dict.fromkeys(base.rstrip("/") for base in (project, os.path.realpath(project))))
        self._of_the_kernel = _devices("/proc", "/sys")
        try:
            self._root = os.open(project, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            raise HookFailed(f"the project {project} cannot be read: {_words(error)}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        os.close(self._root)

    def parts(self, path: str) -> Parts:
        """The names on the way from the project to a path."""
        if len(path) > _LONGEST or "\0" in path:
            raise Refused("that is no path")
        parts = tuple(name for name in self._relative(path).split("/") if name not in ("", "."))
        if ".." in parts:
            raise Refused("paths with `..` are not followed; write the path from the project's root")
        if len(parts) > _DEEPEST:
            raise Refused("that is no path: too many names")
        return parts

    def _relative(self, path: str) -> str:
        if not path.startswith("/"):
            return path
        for base in self._bases:
            if f"{path}/".startswith(f"{base}/"):
                return path[len(base) :]
        raise Refused("it is outside of the project, and nothing there can be looked at")

    def directory(self, parts: Parts) -> int:
        """An open directory; whoever has it closes it."""
        self._check(parts)
        return self._descend(parts)

    def file(self, parts: Parts) -> Opened:
        if not parts:
            raise Refused("that is the project itself: a directory")
        self._check(parts)
        directory = self._descend(parts[:-1])
        try:
            return self._open_file(parts[-1], directory)
        except (OSError, ValueError) as error:
            raise Refused(_words(error)) from None
        finally:
            os.close(directory)

    def withheld(self, parts: Parts) -> str:
        """Why it is not shown, whatever it is; empty if it may be."""
        from fairlead.guard.packs.secret_files import is_secret
        from fairlead.guard.paths import folded

        names = [folded(name) for name in parts]
        if _is_of_git(names, ("objects",)):
            return "withheld: git's own storage, which is not text"
        path = "/".join(("", *parts))
        secret = _is_of_git(names, ("config", "config.worktree")) or any(
            is_secret(base + path) for base in ("", *self._bases)
        )
        return "withheld: it may hold credentials" if secret and parts and not self._secrets else ""

    def _check(self, parts: Parts) -> None:
        if why := self.withheld(parts):
            raise Refused(why)

    def _descend(self, parts: Parts) -> int:
        here = os.open(".", _DIRECTORY, dir_fd=self._root)
        for name in parts:
            try:
                below = self._open_directory(name, here)
            finally:
                os.close(here)
            here = below
        return here

    def _open_directory(self, name: str, parent: int) -> int:
        try:
            found = os.open(name, _DIRECTORY, dir_fd=parent)
        except (OSError, ValueError) as error:
            raise Refused(_why_not(name, parent, error)) from None
        try:
            self._refuse_the_kernel(os.fstat(found))
        except Refused:
            os.close(found)
            raise
        return found

    def _open_file(self, name: str, parent: int) -> Opened:
        _refuse_what_is_no_file(os.stat(name, dir_fd=parent, follow_symlinks=False), name, parent)
        found = os.open(name, _FILE, dir_fd=parent)
        try:
            info = os.fstat(found)
            self._refuse_the_kernel(info)
            _refuse_what_is_no_file(info, name, parent)
        except BaseException:
            os.close(found)
            raise
        return Opened(file=found, size=info.st_size)

    def _refuse_the_kernel(self, info: os.stat_result) -> None:
        """Its files show processes and their keys, whatever place they are mounted in."""
        if info.st_dev in self._of_the_kernel:
            raise Refused("withheld: it is no file of the project but of the system")


def _devices(*paths: str) -> frozenset[int]:
    found = set()
    for path in paths:
        try:
            found.add(os.stat(path).st_dev)
        except OSError:  # not every system has them
            pass
    return frozenset(found - {os.stat("/").st_dev})


def _is_of_git(names: Sequence[str], wanted: Sequence[str]) -> bool:
    """Also for submodules and worktrees, whose directories are inside of the first."""
    return ".git" in names and not set(wanted).isdisjoint(names[names.index(".git") + 1 :])


def _refuse_what_is_no_file(info: os.stat_result, name: str, parent: int) -> None:
    if stat.S_ISLNK(info.st_mode):
        raise Refused(_is_link(name, parent))
    if stat.S_ISDIR(info.st_mode):
        raise Refused("it is a directory: list it")
    if not stat.S_ISREG(info.st_mode):
        raise Refused("it is a pipe, a socket or a device, and not read")


def _why_not(name: str, parent: int, error: Exception) -> str:
    try:
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    except (OSError, ValueError):
        return _words(error)
    return _is_link(name, parent) if stat.S_ISLNK(mode) else _words(error)


def _is_link(name: str, parent: int) -> str:
    try:
        target = os.readlink(name, dir_fd=parent)
    except OSError:
        target = "?"
    return f"{name} is a symbolic link to {target}; links are not followed. If that is in the project, ask for it there"


def _words(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or "that is no path"
