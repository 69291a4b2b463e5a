"""Reading and replacing somebody's files, so that nothing can be lost."""

from __future__ import annotations

import os
import stat

from fairlead._record import Record
from fairlead.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self


class Present(Record):
    """A file as it was found."""

    path: str
    """Where it really is, behind all symbolic links."""
    content: bytes | None
    """None where there is no file."""
    mode: int | None = None


def look(path: str) -> Present:
    """Raises ConfigError for what is there and cannot be replaced."""
    real = os.path.realpath(path)
    try:
        with os.fdopen(os.open(real, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ConfigError("is not a regular file")
            return Present(path=real, content=file.read(), mode=stat.S_IMODE(status.st_mode))
    except FileNotFoundError:
        return Present(path=real, content=None)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}") from None


def check_writable(present: Present) -> None:
    """Before anything is written: a read-only file says that it is not ours to change."""
    if present.content is not None and not _allows_writing(present.path):
        raise ConfigError("is read-only", hint="make it writable, or change it where it comes from")
    folder = os.path.dirname(present.path)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        raise ConfigError(f"cannot be made: {folder} is not a directory")
    if not _allows_writing(folder):
        raise ConfigError(f"cannot be replaced: the directory {folder} is read-only")


def _allows_writing(path: str) -> bool:
    """Root may write anywhere; that is no reason to do it."""
    return bool(os.stat(path).st_mode & 0o222) and os.access(path, os.W_OK)


def text_of(content: bytes) -> str:
    """With its byte-order mark, if it has one. Raises ConfigError."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"is not UTF-8 text (byte {error.start})", hint="save it as UTF-8") from None


def make_folders(path: str, mode: int = 0o777) -> list[str]:
    """The directories above a file; returns those that were not there."""
    missing = missing_folders(path)
    for folder in reversed(missing):
        os.mkdir(folder, mode)
    return missing


def missing_folders(path: str) -> list[str]:
    """Innermost first."""
    folder, missing = os.path.dirname(path), []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing


def replace(path: str, content: bytes, mode: int | None) -> None:
    """All or nothing, also if the machine stops in the middle. Keeps mode and owner of what was there."""
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, f".{os.path.basename(path)}.fairlead-{os.urandom(4).hex()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            _like_before(file.fileno(), path, mode)
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        _remove_quietly(temporary)
        raise
    _sync_folder(folder)


def _like_before(descriptor: int, path: str, mode: int | None) -> None:
    try:
        before = os.stat(path)
    except FileNotFoundError:
        os.fchmod(descriptor, mode if mode is not None else 0o666 & ~_umask())
        return
    if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
        try:
            os.fchown(descriptor, before.st_uid, before.st_gid)
        except PermissionError:
            raise ConfigError("belongs to somebody else", hint="run this as its owner") from None
    os.fchmod(descriptor, mode if mode is not None else stat.S_IMODE(before.st_mode))


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def remove(path: str, folders: list[str] | tuple[str, ...] = ()) -> None:
    """A file of ours, and the directories that we made for it, if they are empty."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    for folder in folders:
        try:
            os.rmdir(folder)
        except OSError:  # somebody has put something into it
            return


def remove_compiled(path: str) -> None:
    """What Python keeps of a module of ours beside it."""
    name = os.path.basename(path).removesuffix(".py")
    folder = os.path.join(os.path.dirname(path), "__pycache__")
    for kept in os.listdir(folder) if path.endswith(".py") and os.path.isdir(folder) else ():
        if kept.startswith(f"{name}."):
            remove(os.path.join(folder, kept), [folder])


def _remove_quietly(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:  # some file systems cannot; the rename is still atomic
        pass
    finally:
        os.close(descriptor)


class Lock:
    """One installation at a time."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._descriptor = -1

    def __enter__(self) -> Self:
        import fcntl

        path = os.path.join(self._folder, "lock")
        make_folders(path, 0o700)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        return self

    def __exit__(self, *_error: object) -> None:
        os.close(self._descriptor)
