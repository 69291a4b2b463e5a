"""The reader of words: quotes, escapes, parameters, substitutions."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.shell.braces import TooManyError
from fairlead.guard.shell.braces import expand as expand_braces
from fairlead.guard.shell.nodes import (
    ANY,
    STAR,
    UNKNOWN,
    Arithmetic,
    Braces,
    Parameter,
    Substitution,
    Text,
    Word,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from fairlead.guard.shell.nodes import AnyWord, Part, Sequence

BUDGET = 10_000
COMMANDS = 1_000
SUBSTITUTIONS = 300
DEPTH = 50
_STEPS_PER_WORD = 8
# What a piece of a word costs that is more than plain text.
_PIECE = 4
# Most words are of one kind only: plain, quoted, or a variable.
_EASY = lazy(
    r"(?:([A-Za-z0-9_./:,@%+\-^=]++)|'([^']*+)'|\"([^\"\\$`]*+)\"|\$([A-Za-z_][A-Za-z0-9_]*+)"
    r"|\"\$([A-Za-z_][A-Za-z0-9_]*+)\")(?=[ \t\r\n;&|)]|\Z)"
)
_PLAIN_PIECE = lazy(r"[A-Za-z0-9_./:,@%+\-^=]++\Z")
_BARE = lazy(r"[^\s;&|<>()'\"\\$`*?\[{]+")
_IN_QUOTES = lazy(r"[^\"\\$`]+")
_IN_BODY = lazy(r"[^\\$`]+")
_IN_BRACES = lazy(r"[^}\"'\\$`]+")
_IN_BRACKETS = lazy(r"[^\]\\$`'\"]+")
_BRACKET = lazy(r"\[[^\]\s'\"$`;&|<>()]*+")
_NAME = lazy(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!\-]")
_INNER_NAME = lazy(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!\-]")
_OPERATOR = lazy(r":?[-=+?]|:|##?|%%?|//?[#%]?|\^\^?|,,?|@")
_ANSI = lazy(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_QUOTED = 3
_ANSI_LETTERS = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b",
    "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v",
}  # fmt: skip
# Two words in a row are a command, whatever the parentheses say.
_NO_ARITHMETIC = lazy(r"[A-Za-z_]\w*[ \t]+(?:-[a-z]{2}|[A-Za-z_/])")
_ANSI_BODY = lazy(r"(?:[^'\\]|\\.)*", re.DOTALL)
_BACKQUOTED = lazy(r"`((?:[^`\\]|\\.)*)(`?)", re.DOTALL)
_PAREN_STEP = lazy(r"[()]|'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.", re.DOTALL)


class TooLongError(Exception):
    """More words than the budget; the caller asks a person."""


class TooDeepError(Exception):
    """Nested further than any command a person would write."""


def ansi(text: str) -> str:
    """Return what ``$'text'`` means."""
    return _ANSI.sub(_ansi_escape, text)


def _ansi_escape(match: re.Match[str]) -> str:
    number, base = match[1] or match[2] or match[3], 16
    if match[4]:
        number, base = match[4], 8
    if number:
        code = int(number, base)
        return chr(code) if 0x1F < code < 0xD800 or code in (9, 10) else UNKNOWN
    if match[5]:
        return UNKNOWN
    return _ANSI_LETTERS.get(match[6], match[6])


class WordReader:
    """Reads words at ``self.at``; what bash would reject sets ``self.broken`` and is read on."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.parentheses = 0
        self.broken = False
        self.substitutions = 0
        self._no_bracket = 0
        self._closing: dict[int, int] = {}
        # Words, commands, substitutions: shared with the readers of inner texts.
        self.spent = [0, 0, 0]

    def sequence(self, closers: str) -> Sequence:  # pragma: no cover (the parser has it)
        raise NotImplementedError

    def word(self) -> AnyWord:
        """Read one word; the caller has skipped blanks and knows that one starts here."""
        easy = _EASY.match(self.text, self.at)
        if easy:
            self.at = easy.end()
            if easy.lastindex and easy.lastindex <= _QUOTED:
                return easy[easy.lastindex]
            self.spend(_PIECE)
            return _variable(easy)
        start = self.at
        parts: list[Part] = []
        braces = False
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t\n;&|)\r" or (char in "<>(" and not self._inside(char, parts)):
                break
            self.spend(_PIECE)
            braces = braces or char == "{"
            self._piece(char, parts)
        if self.at == start:
            self.broken = True
            self.at += 1
        return self._braces(start) if braces else _compact(parts)

    def _inside(self, char: str, parts: list[Part]) -> bool:
        """Say whether ``<(``, ``>(`` or an extended glob continues this word."""
        if char == "(":
            last = parts[-1] if parts else None
            return isinstance(last, Text) and last.bare and last.text[-1:] in (STAR, ANY, "@", "+", "!")
        return self.text.startswith("(", self.at + 1)

    def _braces(self, start: int) -> AnyWord:
        end, depth = self.at, self.depth
        source = self.text[start:end]
        try:
            pieces = expand_braces(source)
        except TooManyError:
            return UNKNOWN
        words = [self._again(piece) for piece in pieces] if len(pieces) > 1 else []
        self.at, self.depth = end, depth
        return Braces(words) if words else self._again(source)

    def _again(self, source: str) -> str | Word:
        """Read the text of one word whose braces are done."""
        if _PLAIN_PIECE.match(source):
            self.spend()
            return source
        reader = self._inner(source)
        parts = reader.pieces()
        self.substitutions += reader.substitutions
        self.broken = self.broken or reader.broken
        return _compact(parts)

    def pieces(self) -> list[Part]:
        """Read the whole text as the pieces of one word."""
        parts: list[Part] = []
        while self.at < len(self.text):
            self._piece(self.text[self.at], parts)
        return parts

    def _inner(self, text: str) -> Self:
        """Return a reader for text that stands inside this one, on the same budget."""
        self._check_depth()
        self.spend()
        reader = type(self)(text)
        reader.depth = self.depth + 1
        reader.spent = self.spent
        return reader

    def spend(self, words: int = 1) -> None:
        """Count words; brace expansion reads text twice, so the count must be shared."""
        self.spent[0] += words
        if self.spent[0] > BUDGET:
            raise TooLongError

    def spend_command(self) -> None:
        """Count one command, wherever it stands."""
        self.spent[1] += 1
        if self.spent[1] > COMMANDS:
            raise TooLongError

    def _piece(self, char: str, parts: list[Part]) -> None:
        text, at = self.text, self.at
        match = _BARE.match(text, at)
        if match:
            parts.append(Text(match[0], bare=True))
            self.at = match.end()
        elif char in "'\\\"":
            self._quote(char, parts)
        elif char == "$":
            self._dollar(parts, quoted=False)
        elif char == "`":
            parts.append(self._backquote(quoted=False))
        elif char in "<>" and text.startswith("(", at + 1):
            self.at += 2
            parts.append(self._substitution(char, quoted=False))
        else:
            self._glob(char, parts)

    def _glob(self, char: str, parts: list[Part]) -> None:
        if char == "[" and self._bracket():
            parts.append(Text(ANY, bare=True))
            return
        self.at += 1
        parts.append(Text({"*": STAR, "?": ANY}.get(char, char), bare=True))
        if char == "(":
            self._extended_glob(parts)

    def _bracket(self) -> bool:
        """Read ``[…]``; what ends one opening in vain ends all that stand before that place."""
        if self.at < self._no_bracket:
            return False
        found = _BRACKET.match(self.text, self.at)
        end = found.end() if found else self.at
        if not self.text.startswith("]", end):
            self._no_bracket = end
            return False
        self.at = end + 1
        return True

    def _extended_glob(self, parts: list[Part]) -> None:
        """Read ``*(a|b)`` to its end; what it matches is unknown, what is substituted in it runs."""
        depth = 1
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in "()":
                depth += 1 if char == "(" else -1
                self.at += 1
                if depth == 0:
                    return
            elif char in "|;&<> \t\r\n":
                self.at += 1
            else:
                self.spend()
                self._piece(char, parts)
        self.broken = True

    def _quote(self, char: str, parts: list[Part]) -> None:
        self.at += 1
        if char == "'":
            parts.append(Text(self._until("'"), bare=False))
        elif char == '"':
            self._double(parts)
        elif not self.text.startswith("\n", self.at):
            parts.append(Text(self.text[self.at : self.at + 1], bare=False))
            self.at += 1
        else:
            self.at += 1

    def _until(self, closer: str) -> str:
        end = self.text.find(closer, self.at)
        if end < 0:
            self.broken = True
            end = len(self.text)
        content = self.text[self.at : end]
        self.at = end + len(closer)
        return content

    def _double(self, parts: list[Part]) -> None:
        parts.append(Text("", bare=False))
        parts += self._expansions('"', _IN_QUOTES)

    def _expansions(self, closer: str, plain: re.Pattern[str]) -> list[Part]:
        """Read text in which only ``$``, backquotes and some escapes are special, to ``closer``."""
        text = self.text
        parts: list[Part] = []
        while self.at < len(text):
            match = plain.match(text, self.at)
            if match:
                parts.append(Text(match[0], bare=False))
                self.at = match.end()
                continue
            char = text[self.at]
            if char == closer:
                self.at += 1
                return parts
            self._special(char, parts)
        self.broken = self.broken or bool(closer)
        return parts

    def _special(self, char: str, parts: list[Part]) -> None:
        if char == "$":
            self._dollar(parts, quoted=True)
        elif char == "`":
            parts.append(self._backquote(quoted=True))
        elif char == "\\":
            self._escape(parts)
        elif char == "'":
            self.at += 1
            parts.append(Text(self._until("'"), bare=False))
        else:
            self.at += 1
            self._double(parts)

    def _escape(self, parts: list[Part]) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if following in '$`"\\}' and following:
            parts.append(Text(following, bare=False))
        elif following != "\n":
            parts.append(Text("\\" + following, bare=False))

    def _dollar(self, parts: list[Part], *, quoted: bool) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if following == "(":
            parts.append(self._parenthesis(quoted=quoted))
        elif following == "{":
            parts.append(self._braced(quoted=quoted))
        elif following == "[":
            self.depth += 1
            parts.append(Arithmetic(self._expansions("]", _IN_BRACKETS)))
            self.depth -= 1
        elif following == "'" and not quoted:
            parts.append(Text(ansi(self._ansi_text()), bare=False))
        elif following == '"' and not quoted:
            self._double(parts)
        else:
            self._named(parts, quoted=quoted)

    def _ansi_text(self) -> str:
        match = _ANSI_BODY.match(self.text, self.at)
        end = match.end() if match else self.at
        content = self.text[self.at : end]
        self.broken = self.broken or end >= len(self.text)
        self.at = end + 1
        return content

    def _named(self, parts: list[Part], *, quoted: bool) -> None:
        self.at -= 1
        name = _NAME.match(self.text, self.at)
        if name:
            self.at = name.end()
            parts.append(Parameter(name[0], "", None, quoted=quoted))
        else:
            parts.append(Text("$", bare=False))

    def _parenthesis(self, *, quoted: bool) -> Part:
        end = self._arithmetic_end()
        if end < 0:
            return self._substitution("$", quoted=quoted)
        inner = self._inner(self.text[self.at + 1 : end])
        if _NO_ARITHMETIC.search(inner.text):
            self.broken = True
        parts = inner.arithmetic()
        self.substitutions += inner.substitutions
        self.at = end + 2
        return Arithmetic(parts)

    def arithmetic(self) -> list[Part]:
        """Read the whole text as an arithmetic expression."""
        return self._expansions("", _IN_BODY)

    def _arithmetic_end(self) -> int:
        """Return where ``))`` closes the ``((`` at hand, or -1 if this is no arithmetic."""
        if not self.text.startswith("(", self.at):
            return -1
        if self.at not in self._closing:
            self._match_parentheses()
        end = self._closing[self.at]
        return end if end >= 0 and self.text.startswith(")", end + 1) else -1

    def _match_parentheses(self) -> None:
        """Find where the parenthesis at hand closes, and in passing all that stand inside it."""
        opened = [self.at]
        for number, step in enumerate(_PAREN_STEP.finditer(self.text, self.at + 1), 1):
            if step[0] == "(":
                opened.append(step.start())
            elif step[0] == ")":
                self._closing[opened.pop()] = step.start()
                if not opened:
                    break
            if number % _STEPS_PER_WORD == 0:
                self.spend()
        self._closing.update(dict.fromkeys(opened, -1))

    def _substitution(self, kind: str, *, quoted: bool) -> Substitution:
        self._check_depth()
        self._spend_substitution()
        self.depth += 1
        self.parentheses += 1
        self.substitutions += 1
        body = self.sequence(")")
        self.depth -= 1
        self.parentheses -= 1
        if self.text.startswith(")", self.at):
            self.at += 1
        else:
            self.broken = True
        return Substitution(body, kind, quoted=quoted)

    def _check_depth(self) -> None:
        if self.depth >= DEPTH:
            raise TooDeepError

    def _spend_substitution(self) -> None:
        self.spent[2] += 1
        if self.spent[2] > SUBSTITUTIONS:
            raise TooLongError

    def _backquote(self, *, quoted: bool) -> Substitution:
        self._check_depth()
        self._spend_substitution()
        match = _BACKQUOTED.match(self.text, self.at)
        source, closed = (match[1], match[2]) if match else ("", "")
        self.at = match.end() if match else len(self.text)
        inner = self._inner(re.sub(r"\\([`$\\])", r"\1", source))
        body = inner.sequence("")
        self.substitutions += inner.substitutions + 1
        self.broken = self.broken or inner.broken or not closed
        return Substitution(body, "$", quoted=quoted)

    def _braced(self, *, quoted: bool) -> Parameter:
        """Read ``${…}`` after its opening."""
        self._check_depth()
        prefix = self.text[self.at : self.at + 1]
        length = prefix in ("#", "!") and self.text[self.at + 1 : self.at + 2] != "}"
        self.at += length
        name = _INNER_NAME.match(self.text, self.at)
        if name:
            self.at = name.end()
        subscript = self._subscript()
        operator = _OPERATOR.match(self.text, self.at)
        if operator:
            self.at = operator.end()
        self.depth += 1
        argument = Word(self._expansions("}", _IN_BRACES))
        self.depth -= 1
        sign = prefix if length else operator[0] if operator else ""
        # These assign, run or look up something else: never provably harmless.
        self.substitutions += sign in ("=", ":=", "@", "!")
        found = Parameter(name[0] if name else "", sign, argument, quoted=quoted)
        found.subscript = subscript
        return found

    def _subscript(self) -> Word | None:
        if not self.text.startswith("[", self.at):
            return None
        self.at += 1
        return Word(self._expansions("]", _IN_BRACKETS))


def _variable(match: re.Match[str]) -> Word:
    """Return the word of ``$name`` or ``"$name"``."""
    if match[4]:
        return Word([Parameter(match[4], "", None, quoted=False)])
    return Word([Text("", bare=False), Parameter(match[5], "", None, quoted=True)])


def _compact(parts: list[Part]) -> str | Word:
    """Return quoted-only and harmless words as plain text."""
    for part in parts:
        if not isinstance(part, Text) or (part.bare and "~" in part.text):
            return Word(parts)
    return "".join([part.text for part in parts if isinstance(part, Text)])
