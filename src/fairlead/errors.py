"""One family of errors, each with what to do next.

FairleadError          what happened, and a hint
├── InputError         the event that an agent sent cannot be understood
├── ConfigError        a configuration file cannot be used
└── UsageError         the library or a command was called in a wrong way
"""

from __future__ import annotations

from fairlead._record import Record


class FairleadError(Exception):
    """`str(error)` is one sentence for a person; `hint` says what to do."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class InputError(FairleadError):
    pass


class ConfigError(FairleadError):
    pass


class UsageError(FairleadError):
    pass


class Problem(Record):
    """Something wrong in a configuration file; the rest of the file still counts."""

    file: str
    message: str
    hint: str = ""
    level: str = "error"
    """`error`: something does not hold as written; `warning`: it does, though perhaps not as meant."""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        return f"{place}: {self.level}: {self.message}" + (f" ({self.hint})" if self.hint else "")


def plain(number: float) -> str:
    """As people write it: never with an exponent."""
    if not -1e15 < number < 1e15:
        return str(number)
    return f"{number:.6f}".rstrip("0").rstrip(".")
