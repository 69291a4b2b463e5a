"""What a shell command is made of, as the reader hands it on.

A word that needs no expansion is a plain ``str``. Any other word is a ``Word``: a list of parts.
Three control characters stand for what a string cannot say; the reader removes them from its
input first, so they never come from the command itself.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

UNKNOWN = "\0"
STAR = "\1"
ANY = "\2"

_SHOWN = str.maketrans({UNKNOWN: "…", STAR: "*", ANY: "?"})


def shown(text: str) -> str:
    """Return text for a person: markers become what was written."""
    return text.translate(_SHOWN)


class Text:
    """Literal text; ``bare`` text was not quoted, so tilde and globs in it are active."""

    __slots__ = ("bare", "text")

    def __init__(self, text: str, *, bare: bool) -> None:
        self.text = text
        self.bare = bare


class Parameter:
    """``$name`` and every form of ``${name…}``; ``operator`` is "" for the plain form."""

    __slots__ = ("argument", "name", "operator", "quoted", "subscript")

    def __init__(self, name: str, operator: str, argument: Word | None, *, quoted: bool) -> None:
        self.name = name
        self.operator = operator
        self.argument = argument
        self.quoted = quoted
        self.subscript: Word | None = None


class Substitution:
    """``$(…)``, backquotes, ``<(…)`` and ``>(…)``; ``kind`` is "$", "<" or ">"."""

    __slots__ = ("body", "kind", "quoted")

    def __init__(self, body: Sequence, kind: str, *, quoted: bool) -> None:
        self.body = body
        self.kind = kind
        self.quoted = quoted


class Arithmetic:
    """``$((…))`` or ``((…))``: its value is unknown, the substitutions inside it still run."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts


class Word:
    """A word with something to expand."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts


class Braces:
    """A word that brace expansion turned into several."""

    __slots__ = ("words",)

    def __init__(self, words: list[str | Word]) -> None:
        self.words = words


class Assignment:
    __slots__ = ("append", "name", "value")

    def __init__(self, name: str, value: AnyWord | list[AnyWord], *, append: bool) -> None:
        self.name = name
        self.value = value
        self.append = append


class Redirect:
    """``operator`` is the arrow without its descriptor; a here-document has its body as target."""

    __slots__ = ("descriptor", "operator", "target")

    def __init__(self, descriptor: str, operator: str, target: AnyWord) -> None:
        self.descriptor = descriptor
        self.operator = operator
        self.target = target


class Simple:
    __slots__ = ("assignments", "redirects", "words")

    def __init__(self, words: list[AnyWord]) -> None:
        self.assignments: list[Assignment] = []
        self.words = words
        self.redirects: list[Redirect] = []


class Pipeline:
    __slots__ = ("stages",)

    def __init__(self, stages: list[Node]) -> None:
        self.stages = stages


class Sequence:
    """Commands in a row, each with the operator that stands *before* it.

    ``background`` are the numbers of those that are sent off with ``&``.
    """

    __slots__ = ("background", "items")

    def __init__(self) -> None:
        self.items: list[tuple[str, Node]] = []
        self.background: set[int] = set()


class Group:
    __slots__ = ("body", "redirects", "subshell")

    def __init__(self, body: Sequence, *, subshell: bool) -> None:
        self.body = body
        self.subshell = subshell
        self.redirects: list[Redirect] = []


class Function:
    __slots__ = ("body", "name")

    def __init__(self, name: str, body: Node) -> None:
        self.name = name
        self.body = body


class Loop:
    """``for`` and ``select`` have a variable (and words, or None for "$@"); others a condition."""

    __slots__ = ("body", "condition", "redirects", "variable", "words")

    def __init__(
        self,
        body: Sequence,
        *,
        condition: Sequence | None = None,
        variable: str = "",
        words: list[AnyWord] | None = None,
    ) -> None:
        self.body = body
        self.condition = condition
        self.variable = variable
        self.words = words
        self.redirects: list[Redirect] = []


class Branches:
    """``if`` and ``case``: conditions or subjects that run first, then bodies of which one runs."""

    __slots__ = ("bodies", "conditions", "redirects", "words")

    def __init__(self) -> None:
        self.conditions: list[Sequence] = []
        self.words: list[AnyWord] = []
        self.bodies: list[Sequence] = []
        self.redirects: list[Redirect] = []


class Test:
    """``[[ … ]]``: nothing of it runs but the substitutions inside its words."""

    __slots__ = ("redirects", "words")

    def __init__(self, words: list[AnyWord]) -> None:
        self.words = words
        self.redirects: list[Redirect] = []


if TYPE_CHECKING:
    Part: TypeAlias = Text | Parameter | Substitution | Arithmetic
    AnyWord: TypeAlias = str | Word | Braces
    Node: TypeAlias = Simple | Pipeline | Sequence | Group | Function | Loop | Branches | Test
