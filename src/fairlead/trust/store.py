"""Who has trusted what: one file for each project, in the user's state folder.

A file that is not the user's own, can be written by others, is a symbolic link or is damaged is not believed, and the
reason is said with every event until somebody mends it.
"""

from __future__ import annotations

import os
import stat

from fairlead import wire
from fairlead._record import Record
from fairlead.errors import ConfigError, InputError
from fairlead.folders import make_private
from fairlead.trust import file_of
from fairlead.trust.records import Trusted, from_data, to_data

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

VERSION = 1
MOST = 8
"""Versions of one hook that stay trusted: whoever goes back to an older branch is not asked again."""
_LARGEST = 64 << 20


class Known(Record):
    """What the user has said about one project."""

    hooks: tuple[Trusted, ...] = ()
    """The newest last."""
    refused: bool = False
    """The user wants to work here without the project's hooks."""


def read(folder: str, project: str) -> Known:
    """Raises ConfigError where nobody can say what was trusted."""
    path = file_of(folder, project)
    try:
        raw = _own_bytes(folder, path)
    except FileNotFoundError:
        return Known()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", hint=_MEND) from None
    try:
        data = wire.decode_object(raw)
        if data["version"] != VERSION or data["project"] != os.path.realpath(project):
            raise ConfigError(f"{path} is of another version or project", hint=_MEND)
        return Known(hooks=tuple(map(from_data, data["hooks"])), refused=data["refused"] is True)
    except (InputError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ConfigError(f"{path} is damaged: {error}", hint=_MEND) from None


_MEND = "no hook of this project runs until you have run `fairlead trust --forget`, and then `fairlead trust`"


def _own_bytes(folder: str, path: str) -> bytes:
    about = os.lstat(folder)
    if not stat.S_ISDIR(about.st_mode):
        raise ConfigError(f"{folder} is not a folder", hint=_MEND)
    _must_be_ours(folder, about)
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > _LARGEST:
            raise ConfigError(f"{path} is not such a file", hint=_MEND)
        _must_be_ours(path, about)
        return file.read()


def _must_be_ours(path: str, about: os.stat_result) -> None:
    if about.st_uid != os.getuid():
        raise ConfigError(f"{path} belongs to another user", hint=_MEND)
    if about.st_mode & 0o022:
        raise ConfigError(f"{path} can be written by others", hint=_MEND)


def write(folder: str, project: str, known: Known) -> None:
    """Atomically; nobody reads half of it. Raises ConfigError."""
    data = {
        "version": VERSION,
        "project": os.path.realpath(project),
        "refused": known.refused,
        "hooks": [to_data(one) for one in kept(known.hooks)],
    }
    path = file_of(folder, project)
    draft = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
    try:
        make_private(folder)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(wire.encode(data))
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        _discard(draft)
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from None


def kept(hooks: Sequence[Trusted]) -> list[Trusted]:
    """Of each hook the newest versions."""
    counts: dict[tuple[str, str], int] = {}
    found = []
    for one in reversed(hooks):
        key = (one.file, one.name)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= MOST:
            found.append(one)
    return found[::-1]


def update(folder: str, project: str, change: Callable[[Known], Known]) -> Known:
    """Read, change and write it, with nobody else in between."""
    import fcntl

    try:
        make_private(folder)
        descriptor = os.open(os.path.join(folder, ".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be used: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        known = change(read(folder, project))
        write(folder, project, known)
        return known
    finally:
        os.close(descriptor)


def _discard(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
