"""A temporary folder of a hook's own, where there cannot be one of the same name for everybody.

It is made when the hook starts, and goes when it has ended. As long as it is in use it is locked: one that nobody
holds was left by somebody who was killed, and whoever makes the next one takes it away.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "fairlead-sandbox-"
_HELD: dict[str, int] = {}
_TRIES = 100


def name_in(folder: str) -> str:
    """Of one that is not there yet, and that nobody can guess."""
    return os.path.join(os.path.realpath(folder), PREFIX + os.urandom(12).hex())


def make(path: str) -> None:
    sweep(os.path.dirname(path))
    for _ in range(_TRIES):
        os.mkdir(path, 0o700)
        held = _lock(path, wait=True)
        if held >= 0 and _is_still(path, held):
            _HELD[path] = held
            return
        if held >= 0:  # somebody has swept it away before it was locked
            os.close(held)
    raise OSError(f"{path}: it is taken away as often as it is made")


def drop(path: str) -> None:
    """With all that is in it; also one that was never made."""
    try:
        os.rmdir(path)
    except FileNotFoundError:
        pass
    except OSError:
        _remove_all(path)
    held = _HELD.pop(path, -1)
    if held >= 0:
        os.close(held)


def sweep(folder: str) -> None:
    """What those have left who could not do it themselves any more."""
    for path in _left_in(folder):
        held = _lock(path, wait=False)
        if held >= 0:
            drop(path)
            os.close(held)


def _left_in(folder: str) -> Iterator[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if name.startswith(PREFIX) and (path := os.path.join(folder, name)) not in _HELD:
            yield path


def _lock(path: str, *, wait: bool) -> int:
    """A descriptor that holds it; -1 where it is not ours, or somebody else's at the moment."""
    import fcntl

    try:
        held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return -1
    try:
        if os.fstat(held).st_uid == os.geteuid():
            fcntl.flock(held, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            return held
    except OSError:
        pass
    os.close(held)
    return -1


def _is_still(path: str, held: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(held))
    except OSError:
        return False


def _remove_all(path: str) -> None:
    """By descriptors, never by names: what the hook has left running could put links in their place."""
    import shutil

    shutil.rmtree(path, ignore_errors=True)
