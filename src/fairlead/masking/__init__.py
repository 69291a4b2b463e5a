"""Secrets in what people look at: shown as their first three characters and their length, `ghp…(40)`.

The same secret has the same mark within one view, another one another. What is stored, what hooks are given, and what
a person decides about stay as they are. Nothing of this is imported by `fairlead hook`.
"""

from __future__ import annotations

from fairlead.masking import finding, library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

_SHOWS_START = 12
"""Characters; of a shorter secret nothing is shown."""
_MOST_MARKS = 10_000
_MOST_KNOWN = 200
_LONGEST_SEEN = 2000
_NOTHING: Mapping[str, str] = {}


def mark(secret: str) -> str:
    return f"{secret[:3] if len(secret) >= _SHOWS_START else ''}…({len(secret)})"


class Masker:
    """One view."""

    def __init__(self, environ: Mapping[str, str] = _NOTHING, instead: Callable[[str], str] = mark) -> None:
        """`environ`: what it calls secret is one, wherever it stands. `instead` says what stands in its place."""
        self._instead = instead
        self._marks: dict[str, str] = {}
        self._taken: dict[str, int] = {}
        self._seen: dict[str, tuple[str, list[tuple[int, int]]]] = {}
        self._known: dict[str, None] = dict.fromkeys(_of_environment(environ))

    @property
    def found(self) -> tuple[str, ...]:
        """Each secret so far, as it may be named."""
        return tuple(map(mark, self._marks))

    def text(self, text: str) -> str:
        readable, spans = self._spans(text)
        return self._masked(readable, spans) if spans else text

    def value(self, value: Any) -> Any:
        """The same for all that JSON can say. A secret that has a name in one place is known in all others."""
        self._learn(value)
        return self._value(value)

    def _value(self, value: Any, name: str = "") -> Any:
        if isinstance(value, str):
            return self._named(name, value) if name else self.text(value)
        if isinstance(value, dict):
            return {self._key(key): self._value(inner, _secret_name(key)) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._value(inner, name) for inner in value]
        return value

    def _key(self, key: Any) -> Any:
        return self.text(key) if isinstance(key, str) else key

    def _named(self, name: str, value: str) -> str:
        if not finding.may_be_secret(name, value):
            return self.text(value)
        return self._mark_of(value)

    def _learn(self, value: Any, name: str = "") -> None:
        if isinstance(value, str):
            named = [value] if name and finding.may_be_secret(name, value) else []
            text, spans = self._spans(value)
            self._remember([*named, *(text[begin:end] for begin, end in spans)])
        elif isinstance(value, dict):
            for key, inner in value.items():
                self._learn(inner, _secret_name(key))
        elif isinstance(value, (list, tuple)):
            for inner in value:
                self._learn(inner, name)

    def _remember(self, secrets: Iterable[str]) -> None:
        for secret in secrets:
            if finding.is_distinct(secret):
                self._known[secret] = None
        while len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]

    # --- one text --------------------------------------------------------------------------------

    def _spans(self, text: str) -> tuple[str, list[tuple[int, int]]]:
        """The text as it was looked at, and where secrets are in it, in order."""
        readable, spans = self._looked_at(text)
        known = [span for one in self._known if one in readable for span in _occurrences(one, readable)]
        return readable, _united([*spans, *known]) if known else spans

    def _looked_at(self, text: str) -> tuple[str, list[tuple[int, int]]]:
        """Views repeat themselves: the same hooks and folders stand in every entry of the journal."""
        if text in self._seen:
            return self._seen[text]
        found = _looked_at(text)
        if len(text) <= _LONGEST_SEEN:
            if len(self._seen) >= _MOST_MARKS:
                self._seen.clear()
            self._seen[text] = found
        return found

    def _masked(self, text: str, spans: list[tuple[int, int]]) -> str:
        parts: list[str] = []
        done = 0
        for begin, end in spans:
            parts += text[done:begin], self._mark_of(text[begin:end])
            done = end
        self._remember(text[begin:end] for begin, end in spans)
        return "".join((*parts, text[done:]))

    def _mark_of(self, secret: str) -> str:
        if secret not in self._marks:
            if len(self._marks) >= _MOST_MARKS:
                self._marks.clear()
            self._marks[secret] = self._new_mark(secret)
        return self._marks[secret]

    def _new_mark(self, secret: str) -> str:
        made = self._instead(secret)
        self._taken[made] = count = self._taken.get(made, 0) + 1
        return made if count == 1 or self._instead is not mark else f"{made}#{count}"


def _looked_at(text: str) -> tuple[str, list[tuple[int, int]]]:
    if not finding.is_worth_it(readable := finding.readable(text)):
        return readable, []
    spans = [*finding.secrets(readable)]
    spans += (span for value in set(library.secrets(readable)) for span in _occurrences(value, readable))
    return readable, _united(spans)


def _secret_name(key: Any) -> str:
    return key if isinstance(key, str) and finding.is_secret_name(key) else ""


def _of_environment(environ: Mapping[str, str]) -> Iterator[str]:
    for name, value in environ.items():
        if finding.is_distinct(value) and finding.is_secret_name(name) and finding.may_be_secret(name, value):
            yield value


def _occurrences(value: str, text: str) -> Iterator[tuple[int, int]]:
    at = text.find(value)
    while at >= 0:
        yield at, at + len(value)
        at = text.find(value, at + len(value))


def _united(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if found and begin < found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((begin, end))
    return found


def stand_in(secret: str) -> str:
    """As long, beginning alike, of the same kind of letters, and worth nothing: a rule for its form still sees one."""
    kept = _beginning(secret)
    rest = secret[len(kept) :]
    letters = [letter for letter in rest if letter.isalnum()]
    fill = "0" if all(letter in "0123456789abcdefABCDEF" for letter in letters) else "X"
    fill = fill if fill == "0" or any(letter.isupper() for letter in letters) else "x"
    return kept + "".join(fill if letter.isalnum() else letter for letter in rest)


def _beginning(secret: str) -> str:
    """Up to the sign that ends the kind of a token; else three letters of a long one."""
    for at in range(min(len(secret) // 3, 12), 2, -1):
        if secret[at - 1] in "_-.":
            return secret[:at]
    return secret[:4] if len(secret) >= _SHOWS_START else ""
