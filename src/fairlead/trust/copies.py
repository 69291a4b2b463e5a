"""Copies of the programs that somebody has trusted, in the user's own state folder: what runs is what was looked at.

A copy is named by the digest of everything in it. It is made from bytes that were read once and compared, and
compared again before each use.
"""

from __future__ import annotations

import os

from fairlead.errors import ConfigError
from fairlead.folders import make_private
from fairlead.journal.writing import sha256
from fairlead.trust.definitions import digest_of
from fairlead.trust.records import as_lists, read_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairlead.trust.records import Trusted


def changed(trusted: Trusted, project: str) -> list[str]:
    """Programs of the project that are not what was trusted, each with what is the matter."""
    return [f"{path} {why}" for path, why in _compared(trusted, project)[1]]


def of(trusted: Trusted, project: str, folder: str) -> str:
    """Where the copies are, having compared every byte. Raises ConfigError where the project's programs differ."""
    data, differences = _compared(trusted, project)
    if differences:
        path, why = differences[0]
        raise ConfigError(f"{path} {why}")
    place = place_of(trusted, folder)
    if not _is_whole(place, trusted):
        _make(place, trusted, data)
    return place


def place_of(trusted: Trusted, folder: str) -> str:
    return os.path.join(folder, "copies", digest_of(as_lists(trusted.files))[:32])


def keep(trusted: Trusted, project: str, folder: str) -> None:
    """Make the copies now: a later diff needs them."""
    of(trusted, project, folder)


def _compared(trusted: Trusted, project: str) -> tuple[dict[str, bytes], list[tuple[str, str]]]:
    found: dict[str, bytes] = {}
    differences = []
    for path, (executable, digest) in trusted.files.items():
        try:
            data, can_run = read_program(project, path)
        except ConfigError as error:
            differences.append((path, str(error).removeprefix(f"{path} ")))
            continue
        if sha256(data) != digest:
            differences.append((path, "is not what you have trusted"))
        elif can_run != executable:
            differences.append((path, f"can {'now' if can_run else 'no longer'} be executed"))
        found[path] = data
    return found, differences


def _is_whole(place: str, trusted: Trusted) -> bool:
    try:
        if os.lstat(place).st_uid != os.getuid() or _files_in(place) != set(trusted.files):
            return False
        return all(_is_same(os.path.join(place, path), *facts) for path, facts in trusted.files.items())
    except OSError:
        return False


def _files_in(place: str) -> set[str]:
    """Nothing else may lie there, such as a module in the place of a trusted one."""
    return {os.path.relpath(os.path.join(at, name), place) for at, _, names in os.walk(place) for name in names}


def _is_same(path: str, executable: bool, digest: str) -> bool:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        return bool(mode & 0o100) == executable and not mode & 0o022 and sha256(file.read()) == digest


def _make(place: str, trusted: Trusted, data: Mapping[str, bytes]) -> None:
    import tempfile

    parent, draft = os.path.dirname(place), ""
    try:
        make_private(parent)
        draft = tempfile.mkdtemp(dir=parent, prefix=".")
        for path, (executable, _digest) in trusted.files.items():
            _write(os.path.join(draft, path), data[path], 0o700 if executable else 0o600)
        _swap(draft, place, trusted)
    except OSError as error:
        raise ConfigError(f"no copy of its programs can be made in {parent}: {error.strerror}") from None
    finally:
        remove(draft)


def _write(path: str, data: bytes, mode: int) -> None:
    make_private(os.path.dirname(path))
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _swap(draft: str, place: str, trusted: Trusted) -> None:
    """Put the new copy there, whole. What lies there already is moved aside only if it is damaged."""
    try:
        os.rename(draft, place)
    except OSError:
        if _is_whole(place, trusted):  # another process was faster
            return
        aside = f"{draft}-old"
        os.rename(place, aside)
        os.rename(draft, place)
        remove(aside)


def remove(place: str) -> None:
    import shutil

    if place:
        shutil.rmtree(place, ignore_errors=True)
