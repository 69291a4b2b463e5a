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
    process: int = 0
    """What the agent has started for this one event; 0 where there is no such process."""


_CURRENT: ContextVar[Surroundings | None] = ContextVar("surroundings", default=None)


_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")


def forget_coerced_locale() -> None:
    """Python gives a process without a locale one of its own, and what we start would inherit it: hooks get what the
    agent has, whoever starts them."""
    if os.environ.get("LC_CTYPE") not in _COERCED:
        return
    try:
        with open("/proc/self/environ", "rb") as file:
            given = file.read().split(b"\0")
    except OSError:  # not Linux: it cannot be told apart
        return
    if not any(entry.startswith(b"LC_CTYPE=") for entry in given):
        del os.environ["LC_CTYPE"]


def enter(surroundings: Surroundings) -> None:
    """For the task that runs now, and all that it starts."""
    _CURRENT.set(surroundings)


def environ() -> Mapping[str, str]:
    found = _CURRENT.get()
    return os.environ if found is None else found.environ


def process() -> int:
    found = _CURRENT.get()
    return 0 if found is None else found.process


def umask() -> int:
    found = _CURRENT.get()
    return -1 if found is None else found.umask
