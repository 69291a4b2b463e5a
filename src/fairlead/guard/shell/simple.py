"""The reader of simple commands: words, assignments, redirections, here-documents."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.shell.nodes import Assignment, Redirect, Simple, Word
from fairlead.guard.shell.words import WordReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.nodes import AnyWord, Node

_BLANK = lazy(r"(?:[ \t\r]|\\\n)+(?:#[^\n]*)?")
_BLANKS = frozenset(" \t\r\\")
_BLANK_LINES = lazy(r"(?:[ \t\r]|\\\n|#[^\n]*)+")
_BETWEEN = lazy(r"(?:[ \t\r\n]++|\\\n|#[^\n]*+)++")
_BETWEEN_STARTS = frozenset(" \t\r\n\\#")
_REDIRECT = lazy(r"(\d+|\{[A-Za-z_]\w*\})?(&>>|&>|<<<|<<-|<<|<>|<&|>&|>>|>\||<|>)(?!\()")
# Words in which nothing is special; the first must be no assignment, the last no descriptor of a redirection.
_ENDS = r"(?=[ \t\r\n;|)]|\Z|&(?!>))"
_PLAIN_WORDS = r"[A-Za-z0-9_./:,@%+-]++" + _ENDS + r"(?:[ \t]++[A-Za-z0-9_./:,@%+\-^=]++" + _ENDS + ")*+"
_PLAIN_START = lazy(_PLAIN_WORDS)
PLAIN_COMMAND = lazy(f"({_PLAIN_WORDS})" + r"[ \t\r]*+(;(?![;&])|&&|\|\||\|(?!&)|\n|\Z)[ \t\r\n]*+")
_PLAIN_ROW = lazy(r"(?:[ \t]++[A-Za-z0-9_./:,@%+\-^=]++" + _ENDS + "){3,2000}+")
_ASSIGNMENT = lazy(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]\n]*\])?(\+?)=")
_REDIRECT_STARTS = frozenset("<>&{0123456789")
_DELIMITER = lazy(r"(?:[^\s;&|<>()'\"\\]|\\.|'[^'\n]*'|\"[^\"\n]*\")+")


class SimpleReader(WordReader):
    """Reads one simple command at a time; here-documents are filled in at the next line."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._next_parenthesis = -1
        self._pending: list[tuple[Redirect, str, bool, bool]] = []

    def _parenthesis_after(self, at: int) -> bool:
        if self._next_parenthesis < at:
            found = self.text.find("(", at)
            self._next_parenthesis = len(self.text) if found < 0 else found
        return self._next_parenthesis < len(self.text)

    def _blank(self) -> None:
        if self.text[self.at : self.at + 1] not in _BLANKS:
            return
        match = _BLANK.match(self.text, self.at)
        if match:
            self.at = match.end()

    def _blank_lines(self) -> None:
        if self.text[self.at : self.at + 1] not in _BETWEEN_STARTS:
            return
        if not self._pending:
            between = _BETWEEN.match(self.text, self.at)
            self.at = between.end() if between else self.at
            return
        while True:
            match = _BLANK_LINES.match(self.text, self.at)
            if match:
                self.at = match.end()
            if not self.text.startswith("\n", self.at):
                return
            self._newline()

    def _newline(self) -> None:
        self.at += 1
        pending, self._pending = self._pending, []
        for redirect, delimiter, quoted, stripped in pending:
            redirect.target = self._document(delimiter, quoted=quoted, stripped=stripped)

    def _document(self, delimiter: str, *, quoted: bool, stripped: bool) -> AnyWord:
        end_line = re.compile((r"^\t*" if stripped else "^") + re.escape(delimiter) + r"\r?$", re.MULTILINE).search(
            self.text, self.at
        )
        end = end_line.start() if end_line else len(self.text)
        # Bash accepts a body without end; nothing that hides so much text is taken for harmless.
        self.substitutions += end_line is None
        body = self.text[self.at : end]
        self.at = end_line.end() if end_line else end
        if stripped:
            body = re.sub(r"(?m)^\t+", "", body)
        return body if quoted else self._document_word(body)

    def _document_word(self, body: str) -> AnyWord:
        if not re.search(r"[$`\\]", body):
            return body
        inner = self._inner(body)
        parts = inner.arithmetic()
        self.substitutions += inner.substitutions
        self.broken = self.broken or inner.broken
        return Word(parts)

    def _with_redirects(self, node: Node) -> Node:
        redirects: list[Redirect] = getattr(node, "redirects", [])
        self._blank()
        while (match := _REDIRECT.match(self.text, self.at)) is not None:
            self._redirect(match, redirects)
            self._blank()
        return node

    def _simple(self) -> Simple | None:
        self.spend_command()
        found = Simple([])
        text = self.text
        start = _PLAIN_START.match(text, self.at)
        if start:
            self._take(start, found.words)
        while True:
            self._blank()
            if self.at >= len(text) or text[self.at] in "\n;|)":
                break
            self.spend()
            match = _REDIRECT.match(text, self.at) if text[self.at] in _REDIRECT_STARTS else None
            if match:
                self._redirect(match, found.redirects)
            elif text[self.at] == "&":
                break
            elif text[self.at] == "(":
                self._stray_parenthesis()
            elif found.words or not self._assignment(found):
                found.words.append(self._word_or_array(found))
                row = _PLAIN_ROW.match(text, self.at)
                if row:
                    self._take(row, found.words)
        return found if found.words or found.assignments or found.redirects else None

    def _take(self, row: re.Match[str], words: list[AnyWord]) -> None:
        """Read a row of words in which nothing is special, all at once."""
        found = row[0].split()
        self.spend(len(found))
        words += found
        self.at = row.end()

    def _stray_parenthesis(self) -> None:
        self.broken = True
        self.at += 1

    def _word_or_array(self, found: Simple) -> AnyWord:
        """Read an argument; ``declare name=(…)`` has a list as its value."""
        match = _ASSIGNMENT.match(self.text, self.at) if self._parenthesis_after(self.at) else None
        if match and self.text.startswith("(", match.end()) and found.words:
            self._assignment(found)
            return match[1]
        return self.word()

    def _assignment(self, found: Simple) -> bool:
        match = _ASSIGNMENT.match(self.text, self.at)
        if match is None:
            return False
        self.at = match.end()
        if self.text.startswith("(", self.at):
            value: AnyWord | list[AnyWord] = self._array()
        elif self.at >= len(self.text) or self.text[self.at] in " \t\r\n;&|)":
            value = ""
        else:
            value = self.word()
        subscript = self._subscript_parts(match)
        if subscript is not None:
            value = [subscript, *(value if isinstance(value, list) else [value])]
        found.assignments.append(Assignment(match[1], value, append=bool(match[2])))
        return True

    def _subscript_parts(self, match: re.Match[str]) -> AnyWord | None:
        """Return the index of ``a[…]=`` as a word when something in it runs."""
        if "[" not in match[0] or not re.search(r"[$`]", match[0]):
            return None
        return self._document_word(match[0])

    def _array(self) -> list[AnyWord]:
        self.at += 1
        words: list[AnyWord] = []
        while True:
            self._blank_lines()
            if self.at >= len(self.text):
                self.broken = True
                return words
            if self.text[self.at] == ")":
                self.at += 1
                return words
            self.spend()
            words.append(self.word())

    def _redirect(self, match: re.Match[str], redirects: list[Redirect]) -> None:
        self.at = match.end()
        self._blank()
        redirect = Redirect(match[1] or "", match[2], "")
        redirects.append(redirect)
        if match[2] in ("<<", "<<-"):
            self._open_document(redirect)
        elif self.at < len(self.text) and self.text[self.at] not in "\n;|)":
            redirect.target = self.word()
        else:
            self.broken = True

    def _open_document(self, redirect: Redirect) -> None:
        match = _DELIMITER.match(self.text, self.at)
        if match is None:
            self.broken = True
            return
        self.at = match.end()
        delimiter = re.sub(r"\\(.)|['\"]", r"\1", match[0])
        quoted = delimiter != match[0]
        self._pending.append((redirect, delimiter, quoted, redirect.operator == "<<-"))
