"""Trust that somebody has given from elsewhere: digests on the command line or in the user's own file, and the lock
that a project carries with it.

A pin is the digest of one hook, of all hooks of a project together, or of the project's lock.
"""

from __future__ import annotations

from fairlead import documents, wire
from fairlead.errors import ConfigError, InputError, UsageError
from fairlead.journal.writing import sha256
from fairlead.trust import lock_file
from fairlead.trust.definitions import digest_of
from fairlead.trust.records import Trusted, from_data, of_hook, to_data

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fairlead.hooks import Hook

_START = "sha256:"
_HEX = frozenset("0123456789abcdef")


def pin(text: str) -> str:
    """The digest in `sha256:…`. Raises UsageError."""
    digest = text.strip().lower().removeprefix(_START)
    if len(digest) != 64 or not _HEX.issuperset(digest):
        raise UsageError(f"{text!r} is not a digest", hint="`fairlead trust` shows it: sha256: and 64 digits")
    return digest


def shown(digest: str) -> str:
    return f"{_START}{digest}"


def of_all(hooks: Iterable[Trusted]) -> str:
    """One digest for all hooks of a project."""
    return digest_of(sorted(one.digest for one in hooks))


def pinned(hooks: Sequence[Hook], project: str, pins: frozenset[str]) -> list[Trusted]:
    """Those of the hooks, as they are now, that a pin vouches for."""
    locked = _from_lock(project, pins)
    now = []
    for hook in hooks:
        try:
            now.append(of_hook(hook, project, how="pinned"))
        except ConfigError:  # a program that cannot be read is not the one that was pinned
            continue
    if of_all(now) in pins:
        return now
    return [*locked, *(one for one in now if one.digest in pins)]


def lock_text(hooks: Iterable[Trusted]) -> str:
    """For `fairlead.lock`: the same hooks give the same text."""
    import json

    entries = [to_data(one.but(when=0.0, how="")) for one in sorted(hooks, key=lambda one: (one.file, one.digest))]
    return json.dumps({"version": 1, "hooks": entries}, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def lock_digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass"))


def _from_lock(project: str, pins: frozenset[str]) -> list[Trusted]:
    text = documents.read_text(lock_file(project))
    if text is None or lock_digest(text) not in pins:
        return []
    try:
        return [from_data(entry) for entry in wire.decode_object(text)["hooks"]]
    except (InputError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ConfigError(f"{lock_file(project)} is damaged: {error}") from None
