"""Which hooks run, noted where the next server finds it: one that is killed can end nothing any more."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
from typing import TYPE_CHECKING

from fairlead import process
from fairlead.confining.scratch import sweep
from fairlead.folders import temporary
from fairlead.leftovers import kill_marked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST = 4096
"""Processes at once; those beyond are not noted."""
_SIZE = 16
_PREFIX = "running-"
_MARK = re.compile(rb"[0-9a-f]{16}")


@contextlib.contextmanager
def noted(folder: str) -> Iterator[None]:
    """What servers that have died left running ends now; what we start is noted until it has ended."""
    end_what_the_dead_have_left(folder)
    try:
        path, file = _new_file(folder)
    except OSError:  # a full disk is no reason not to run hooks
        yield
        return
    process.note_start = _Notes(file).add
    try:
        yield
    finally:
        process.note_start = None
        with contextlib.suppress(OSError):
            os.unlink(path)
        os.close(file)


def end_what_the_dead_have_left(folder: str) -> None:
    for name in os.listdir(folder):
        if name.startswith(_PREFIX):
            _end(os.path.join(folder, name))
    sweep(temporary(os.environ))


def _end(path: str) -> None:
    """What one server has noted, unless it lives: as long as it does, it holds the lock."""
    try:
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        kill_marked(_marks(os.read(file, MOST * _SIZE)))
        os.unlink(path)
    except OSError:
        pass
    finally:
        os.close(file)


def _marks(content: bytes) -> list[bytes]:
    """Whole ones: anything shorter would be found in processes of others."""
    parts = (content[at : at + _SIZE] for at in range(0, len(content), _SIZE))
    return [part for part in parts if _MARK.fullmatch(part)]


def _new_file(folder: str) -> tuple[str, int]:
    """Locked before another server can see it, and for its owner alone."""
    number = secrets.token_hex(8)
    draft = os.path.join(folder, f".{_PREFIX}{number}")
    path = os.path.join(folder, f"{_PREFIX}{number}")
    file = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    fcntl.flock(file, fcntl.LOCK_EX)
    os.rename(draft, path)
    return path, file


class _Notes:
    """One place for each process, in a file: what was written outlives us, with the disk or without."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._free = list(range((MOST - 1) * _SIZE, -1, -_SIZE))

    def add(self, mark: str) -> Callable[[], None]:
        """To be called back when it has ended."""
        if not self._free:
            return lambda: None
        at = self._free.pop()
        self._write(at, mark.encode())
        return lambda: self._remove(at)

    def _remove(self, at: int) -> None:
        self._write(at, bytes(_SIZE))
        self._free.append(at)

    def _write(self, at: int, mark: bytes) -> None:
        with contextlib.suppress(OSError):
            os.pwrite(self._file, mark, at)
