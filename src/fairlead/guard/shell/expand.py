"""From a word as written to the fields that a program would get."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.shell.nodes import (
    ANY,
    STAR,
    UNKNOWN,
    Arithmetic,
    Braces,
    Parameter,
    Substitution,
    Text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.nodes import AnyWord, Part
    from fairlead.guard.shell.run import Shell

_TILDE = lazy(r"(\A|[A-Za-z_][A-Za-z0-9_]*=|(?<=[=:]))~([A-Za-z0-9_.+-]*)(?=/|:|\Z)")
_BLANKS = " \t\n"
_AT_BLANKS = lazy(r"[ \t\n]+")
_SLICE = lazy(r"\s*(-?\d{1,6})(?::(\d{1,6}))?\Z")


_LONGEST = 100_000


def fields(shell: Shell, words: list[AnyWord]) -> list[str]:
    """Return all fields of these words, in order."""
    found: list[str] = []
    for word in words:
        if isinstance(word, str):
            found.append(word)
        else:
            found += word_fields(shell, word)
    return found


def word_fields(shell: Shell, word: AnyWord) -> list[str]:
    if isinstance(word, str):
        return [word]
    if isinstance(word, Braces):
        return fields(shell, list(word.words))
    return _Builder(shell).build(word.parts)


def joined(shell: Shell, word: AnyWord) -> str:
    """Return the word as one text: no splitting, as in an assignment or a here-document."""
    if isinstance(word, str):
        return word
    if isinstance(word, Braces):
        return " ".join(fields(shell, list(word.words)))
    return "".join([_one_text(shell, part, first=number == 0) for number, part in enumerate(word.parts)])


def _one_text(shell: Shell, part: Part, *, first: bool) -> str:
    if isinstance(part, Text):
        return tilde(shell, part.text) if part.bare and first else part.text
    if isinstance(part, Parameter):
        return " ".join(shell.pay(parameter(shell, part)))
    return _output(shell, part)


def _output(shell: Shell, part: Substitution | Arithmetic) -> str:
    if isinstance(part, Arithmetic):
        for inner in part.parts:
            _one_text(shell, inner, first=False)
        return UNKNOWN
    return shell.pay([shell.substitute(part)])[0]


def tilde(shell: Shell, text: str) -> str:
    """Expand ``~`` where the shell would: at the start, or after ``name=``."""
    return _TILDE.sub(lambda match: match[1] + _home_of(shell, match[2]), text)


def _home_of(shell: Shell, user: str) -> str:
    if user == "+":
        return shell.cwd
    if user == "-":
        return shell.previous
    return f"/home/{user}" if user and user != "root" else "/root" if user else shell.home


class _Builder:
    """Joins parts to fields; unquoted values are split where IFS says."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.done: list[str] = []
        self.open: list[str] | None = None

    def build(self, parts: list[Part]) -> list[str]:
        for number, part in enumerate(parts):
            self._part(part, first=number == 0)
        self._close()
        return self.done

    def _close(self) -> None:
        if self.open is not None:
            self.done.append("".join(self.open))
            self.open = None

    def _add(self, text: str) -> None:
        if self.open is None:
            self.open = []
        self.open.append(text)

    def _part(self, part: Part, *, first: bool) -> None:
        if isinstance(part, Text):
            bare_tilde = part.bare and "~" in part.text and (first or "=" in part.text)
            self._add(tilde(self.shell, part.text) if bare_tilde else part.text)
        elif isinstance(part, Parameter):
            self._values(self.shell.pay(parameter(self.shell, part)), quoted=part.quoted)
        else:
            quoted = not isinstance(part, Substitution) or part.quoted or part.kind != "$"
            self._values([_output(self.shell, part)], quoted=quoted)

    def _values(self, values: list[str], *, quoted: bool) -> None:
        for number, value in enumerate(values):
            if number:
                self._close()
            if quoted:
                self._add(value)
            else:
                self._split(value)

    def _split(self, value: str) -> None:
        pieces = split_fields(value, self.shell.variables.get("IFS", _BLANKS))
        if "*" in value or "?" in value:
            pieces = [_active(piece) for piece in pieces]
        first, *middle = pieces
        if first or middle:
            self._add(first)
        if middle:
            self._close()
            self.done += self.shell.pay(middle[:-1])
            self._add(middle[-1])


def split_fields(value: str, separators: str | list[str]) -> list[str]:
    if not isinstance(separators, str) or UNKNOWN in separators:
        separators = _BLANKS
    if separators == _BLANKS:
        return _AT_BLANKS.split(value)
    if not separators:
        return [value]
    return re.split(f"[{re.escape(separators)}]+", value)


def _active(text: str) -> str:
    """Mark the globs of an unquoted value, which the shell expands after splitting."""
    return text.replace("*", STAR).replace("?", ANY)


def parameter(shell: Shell, part: Parameter) -> list[str]:
    """Return the values of ``$name`` or ``${name…}``; several only for ``@`` and arrays."""
    if part.subscript is not None:
        joined(shell, part.subscript)
    operator = part.operator
    if not operator:
        return shell.values(part.name, every=part.subscript is not None)
    argument = joined(shell, part.argument) if part.argument is not None else ""
    if operator[-1:] in "-=+?" and operator.strip(":"):
        return [_default(shell, part.name, operator, argument)]
    value = " ".join(shell.values(part.name, every=part.subscript is not None))
    if operator == "!":
        return _indirect(shell, value)
    if operator == "#" and not argument:
        shell.record.names = [name for name in shell.record.names if name != part.name]
    if operator == "@":
        return [shell.prompt(value) if argument == "P" else value]
    return [_transformed(value, operator, argument)]


def _indirect(shell: Shell, value: str) -> list[str]:
    if UNKNOWN not in value and value:
        return shell.values(value)
    shell.record.names.append("${!}")
    return [UNKNOWN]


def _default(shell: Shell, name: str, operator: str, argument: str) -> str:
    value = " ".join(shell.values(name))
    set_here = name in shell.variables or UNKNOWN not in value
    if operator.endswith("+"):
        return argument
    if operator.endswith("?"):
        return value
    if set_here and value:
        return value
    if operator.endswith("="):
        shell.variables[name] = argument
    return argument


def _transformed(value: str, operator: str, argument: str) -> str:
    if operator in ("^", "^^"):
        return value.upper()
    if operator in (",", ",,"):
        return value.lower()
    if UNKNOWN in value or UNKNOWN in argument:
        return UNKNOWN
    if operator == ":":
        return _slice(value, argument)
    if operator[0] == "/":
        return _replaced(value, operator, argument)
    if operator[0] in "#%" and argument:
        return _trimmed(value, operator, argument)
    return UNKNOWN


def _slice(value: str, argument: str) -> str:
    match = _SLICE.match(argument)
    if match is None:
        return UNKNOWN
    start = int(match[1])
    rest = value[start:] if start >= 0 or -start <= len(value) else ""
    return rest[: int(match[2])] if match[2] else rest


def _replaced(value: str, operator: str, argument: str) -> str:
    pattern, _, new = argument.partition("/")
    if re.search(r"[*?\[]", pattern) or value.count(pattern) * len(new) > _LONGEST:
        return UNKNOWN
    return value.replace(pattern, new, -1 if operator == "//" else 1) if pattern else value


def _trimmed(value: str, operator: str, argument: str) -> str:
    """Remove a prefix or suffix by glob, the shortest or (doubled sign) the longest."""
    longest = len(operator) == 2
    sizes = range(len(value), -1, -1) if longest else range(len(value) + 1)
    if len(value) > 4096 or re.search(r"[\[(\\]", argument):
        return UNKNOWN
    pattern = re.compile(_glob_source(argument), re.DOTALL)
    for size in sizes:
        piece = value[:size] if operator[0] == "#" else value[len(value) - size :]
        if pattern.fullmatch(piece):
            return value[size:] if operator[0] == "#" else value[: len(value) - size]
    return value


def _glob_source(glob: str) -> str:
    sources = {"*": ".*", "?": ".", STAR: ".*", ANY: "."}
    return "".join(sources.get(char) or re.escape(char) for char in glob)
