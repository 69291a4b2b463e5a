"""Who may decide anything at all, as the user's and the machine's `fairlead.toml` say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairlead import documents, people
from fairlead.dialects import native
from fairlead.errors import ConfigError, UsageError
from fairlead.locks import locked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairlead.dialects import Places


def configured(places: Places) -> tuple[str, ...]:
    """Empty for everybody who may log in. The machine's list is the outer one: the user's can only narrow it.

    Raises UsageError for a file that cannot be read: it may say that somebody must not decide.
    """
    found: tuple[str, ...] = ()
    kept = locked(places.managed, places.environ)
    for source in native.sources(places):
        if source.owner == "managed" or (source.owner == "user" and "approvers" not in kept):
            wanted = _read(source.path, places.environ)
            found = tuple(name for name in wanted if name in found) or found or wanted
    return found


def _read(path: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    try:
        text = documents.read_text(path)
        data = documents.parse_toml(text, environ) if text is not None else {}
    except ConfigError as error:
        raise UsageError(f"{path} cannot be read, and may say who decides: {error}", hint="mend it first") from None
    names = people.approvers_in(data)
    if names is None:
        raise UsageError(f"{path}: approvers must be a list of names", hint=f"a name is {people.WHAT} characters")
    return names
