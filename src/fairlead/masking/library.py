"""The detectors of `detect-secrets`, where the extra `secrets` is installed: kept up by others, for many more kinds.

Of them those that know a form. What only looks random, or only has a name, is judged by `finding`: else every hash of
a commit would be hidden.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_NOT = frozenset({"IPPublicDetector", "PrivateKeyDetector", "BasicAuthDetector"})
"""An address is no secret; the others are found whole by our own."""
_LONGEST = 4000
"""Characters of one line in one look: these patterns were not made for hostile texts."""
_SHORTEST = 8


def is_installed() -> bool:
    from importlib.util import find_spec

    return find_spec("detect_secrets") is not None


def secrets(text: str) -> Iterator[str]:
    """The values themselves."""
    for line in text.splitlines():
        if _is_worth_it(line):
            for start in range(0, len(line), _LONGEST):
                yield from _found(line[start : start + _LONGEST + 200])


def _found(line: str) -> Iterator[str]:
    for detector in _detectors():
        for value in detector.analyze_string(line):
            if isinstance(value, str) and len(value) >= _SHORTEST:
                yield value


_LOADED: list[tuple[Any, ...]] = []


def _detectors() -> tuple[Any, ...]:
    """Loading them takes a fifth of a second: only where a text makes it worth while."""
    if not _LOADED:
        _LOADED.append(_load() if is_installed() else ())
    return _LOADED[0]


def _load() -> tuple[Any, ...]:
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
        from detect_secrets.plugins.base import RegexBasedDetector
    except Exception:  # noqa: BLE001  # a broken installation: our own detectors remain
        return ()
    classes = get_mapping_from_secret_type_to_class().values()
    return tuple(one() for one in classes if issubclass(one, RegexBasedDetector) and one.__name__ not in _NOT)


def _is_worth_it(line: str) -> bool:
    """Whether a word in it is long, and mixes letters and digits, as credentials do."""
    import re2

    return re2.search(r"[A-Za-z0-9_+/=~-]{16,}", line) is not None and re2.search(r"[0-9]", line) is not None
