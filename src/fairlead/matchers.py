"""Does this hook apply?

A matcher is built once from the text in the configuration and then asked for every event. What
cannot be understood is reported and matches everything: a guard that runs too often does less harm
than one that never runs. Regular expressions are RE2's: linear time, whatever the pattern.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


class Matcher:
    """Compares one value; `problem` says why its pattern cannot be used."""

    __slots__ = ("_search", "_whole", "names", "problem", "text")

    def __init__(self, text: str, *, names: frozenset[str] | None = None, search: bool = False, whole: bool = False):
        """One of `names`; or a regular expression found anywhere, or of the whole value; or everything."""
        self.text = text
        self.names = names
        self.problem = ""
        self._whole = whole
        self._search: Callable[[str], bool] | None = None if search or whole else _always

    def __call__(self, value: str) -> bool:
        if self.names is not None:
            return value in self.names
        if self._search is None:
            self._search, self.problem = _compile(self.text, self._whole)
        return self._search(value)

    def check(self) -> str:
        """Compile the pattern now; returns the problem, if there is one."""
        self("")
        return self.problem

    def __repr__(self) -> str:
        return f"Matcher({self.text!r})"


def everything(text: str = "") -> Matcher:
    return Matcher(text)


def whole_name(pattern: str) -> Matcher:
    """`""` and `*`: all; a name or `a|b`: these; anything else: a regular expression for the whole name."""
    if pattern in ("", "*"):
        return everything(pattern)
    names = frozenset(pattern.split("|"))
    if all(name and _PLAIN.issuperset(name) for name in names):
        return Matcher(pattern, names=names)
    return Matcher(pattern, whole=True)


def name_list(pattern: str, separators: str = "|,", plain: str = "- ") -> Matcher:
    """Claude Code's rule: a list of exact names, or else a regular expression found anywhere."""
    if pattern in ("", "*"):
        return everything(pattern)
    if _PLAIN.union(plain, separators).issuperset(pattern):
        return _listed(pattern, separators)
    return Matcher(pattern, search=True)


def _listed(pattern: str, separators: str) -> Matcher:
    words = pattern
    for separator in separators[1:]:
        words = words.replace(separator, separators[0])
    names = frozenset(name.strip() for name in words.split(separators[0]))
    if names != {""}:
        return Matcher(pattern, names=names)
    matcher = everything(pattern)
    matcher.problem = f"{pattern!r} names nothing, so it matches everything"
    return matcher


def _compile(pattern: str, whole: bool) -> tuple[Callable[[str], bool], str]:
    """A search, and what is wrong with the pattern."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True  # only then does RE2 keep to its fastest way through a long value
    try:
        compiled = re2.compile(pattern, options)
    except UnicodeEncodeError:
        return _always, f"{pattern!r} is not a regular expression: it holds half a character"
    except re2.error as error:
        return _always, _explain(pattern, error)
    search = compiled.fullmatch if whole else compiled.search
    return (lambda value: _search_or_run(search, value)), ""


def _search_or_run(search: Callable[[str], Any], value: str) -> bool:
    try:
        return search(value) is not None
    except UnicodeEncodeError:  # a lone surrogate, which RE2 cannot read
        return True


def _always(_value: str) -> bool:
    return True


_RE2_LACKS = {"(?=": "look-ahead", "(?!": "look-ahead", "(?<=": "look-behind", "(?<!": "look-behind"}


def _explain(pattern: str, error: Exception) -> str:
    for mark, name in _RE2_LACKS.items():
        if mark in pattern:
            return f"{name} {mark}…) is not supported in matchers: {pattern!r}"
    detail = error.args[0] if error.args else error
    detail = detail.decode(errors="replace") if isinstance(detail, bytes) else detail
    return f"{pattern!r} is not a regular expression: {detail}"
