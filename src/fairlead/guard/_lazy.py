"""Patterns that are compiled when they are first used.

The guard knows hundreds of programs and one command meets two or three of them: compiling every
pattern on import would cost a short-lived process more than all the judging.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

_METHODS = ("match", "search", "fullmatch", "finditer", "findall", "sub", "split")


class _Lazy:
    def __init__(self, source: str, flags: int) -> None:
        self.pattern = source
        self.flags = flags

    def __getattr__(self, name: str) -> object:
        import re

        compiled = re.compile(self.pattern, self.flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def mentions(text: str, *hints: str) -> bool:
    """Say whether one of the hints stands in the text: the cheap question before a pattern is asked."""
    return any(hint in text for hint in hints)


def lazy(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that compiles itself on first use."""
    return _Lazy(source, flags)  # type: ignore[return-value]
