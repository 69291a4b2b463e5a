"""Landlock: what this thread, and whatever it starts, may do with files. For where there is no bubblewrap.

It only ever grants: what is hidden is what no rule names, so the folders around it are granted entry by entry.
"""

from __future__ import annotations

import os

from fairlead.confining.places import HIDDEN, PRIVATE, READ, WRITE, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

NEEDED = 3
"""The first version that keeps files from being truncated (Linux 6.2)."""
_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on every architecture
_ASK_VERSION = 1
_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_CHAR, _MAKE_DIR, _MAKE_REG = 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 8
_MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM, _REFER, _TRUNCATE, _IOCTL_DEV = (1 << bit for bit in range(9, 16))
_READING = _EXECUTE | _READ_FILE | _READ_DIR
_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
"""What can be granted for something that is no folder."""
_WRITING = (
    _READING | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_SOCK | _MAKE_FIFO | _MAKE_SYM
    | _REFER | _TRUNCATE
)  # fmt: skip
"""No devices: whoever is root could open disks with them."""
_TCP = 3
_SOCKETS_AND_SIGNALS = 3
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")


def version() -> int:
    """Of the kernel's Landlock; 0 where there is none."""
    from fairlead.confining.kernel import call

    try:
        return call(_CREATE, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def restrict(places: Mapping[str, str], *, network: bool) -> None:
    """This thread, for ever. It must have given up new privileges before."""
    from fairlead.confining.kernel import call, caller

    version_here = version()
    ruleset, handled = _ruleset(version_here, network=network), _handled(version_here)
    try:
        add = caller(_ADD, "c_int", "c_int", "c_char_p", "c_int")
        for path, rights in _grants(places):
            _add(add, ruleset, path, rights & handled)
        call(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def _handled(version: int) -> int:
    """Every right that this kernel knows, so that all are refused but what is granted."""
    return (_IOCTL_DEV << 1) - 1 if version >= 5 else (_TRUNCATE << 1) - 1


def _ruleset(version_here: int, *, network: bool) -> int:
    from fairlead.confining.kernel import call

    fields = [_handled(version_here)]
    if version_here >= 4:
        fields.append(0 if network else _TCP)
    if version_here >= 6:
        fields.append(_SOCKETS_AND_SIGNALS)
    attributes = b"".join(field.to_bytes(8, "little") for field in fields)
    return call(_CREATE, attributes, len(attributes), 0)


def _add(add: Callable[..., int], ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:  # it has just gone
        return
    try:
        add(ruleset, _BENEATH, rights.to_bytes(8, "little") + descriptor.to_bytes(4, "little"), 0)
    finally:
        os.close(descriptor)


def _grants(places: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Paths, each with what may be done there and below."""
    yield "/", _READ_DIR  # names are no secret; Landlock lets everybody ask for sizes and times anyway
    for device in _DEVICES:
        yield device, _READ_FILE | _WRITE_FILE | _IOCTL_DEV | _TRUNCATE
    around = _around(places)
    for path, kind in places.items():
        rights = _RIGHTS[kind]
        if rights and not os.path.islink(path):
            yield from _granted(path, rights, places, around, is_folder=os.path.isdir(path))


_RIGHTS = {READ: _READING, WRITE: _WRITING, HIDDEN: 0, PRIVATE: 0}


def _around(places: Mapping[str, str]) -> set[str]:
    """Folders that cannot be granted as a whole, since less is allowed somewhere within them. More is no reason: rights
    that are granted above and below add up."""
    found: set[str] = set()
    for path, kind in places.items():
        parent = os.path.dirname(path)
        if path == "/" or not _RIGHTS[kind_of(parent, places)] & ~_RIGHTS[kind]:
            continue
        while parent not in found:
            found.add(parent)
            parent = os.path.dirname(parent)
    return found


def _granted(
    path: str, rights: int, places: Mapping[str, str], around: set[str], *, is_folder: bool
) -> Iterator[tuple[str, int]]:
    """A place as a whole; where others lie within it, what is around them."""
    if path not in around:
        yield path, rights if is_folder else rights & _FILES
        return
    for entry in _entries(path):
        if entry.path not in places:
            yield from _granted(entry.path, rights, places, around, is_folder=entry.is_dir(follow_symlinks=False))


def _entries(path: str) -> list[os.DirEntry[str]]:
    """Without links: it is what they lead to that counts."""
    try:
        with os.scandir(path) as found:
            return [entry for entry in found if not entry.is_symlink()]
    except OSError:
        return []
