"""Whose event is being answered: variables and umask of the process that asks, where a server answers for it."""

from __future__ import annotations

import os
from _contextvars import ContextVar

from fairlead._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Surroundings(Record):
    environ: Mapping[str, str]
    umask: int = -1
    """-1 for that of this process."""


_CURRENT: ContextVar[Surroundings | None] = ContextVar("surroundings", default=None)


def enter(surroundings: Surroundings) -> None:
    """For the task that runs now, and all that it starts."""
    _CURRENT.set(surroundings)


def environ() -> Mapping[str, str]:
    found = _CURRENT.get()
    return os.environ if found is None else found.environ


def umask() -> int:
    found = _CURRENT.get()
    return -1 if found is None else found.umask
