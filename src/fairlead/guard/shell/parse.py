"""The reader of commands: lists, pipelines, compound commands, redirections, here-documents.

Fairlead reads the grammar itself, because the verdict hangs on every word: what it cannot read it
must know that it cannot read, in linear time, and it must never lose the second half of a pipe.
The test-suite holds the result against a second, independent grammar.
"""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.shell.nodes import (
    Branches,
    Function,
    Group,
    Loop,
    Pipeline,
    Sequence,
    Simple,
    Test,
    Word,
)
from fairlead.guard.shell.simple import PLAIN_COMMAND, SimpleReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.nodes import AnyWord, Node

_SEPARATOR = lazy(r"&&|\|\||;;&|;;|;&|;|&(?!>)")
_KEYWORD = lazy(
    r"(if|then|elif|else|fi|for|while|until|do|done|case|esac|function|select|time|coproc"
    r"|\{|\}|!|\[\[)(?=[ \t\r\n;&|()<>]|\Z)"
)
_KEYWORD_STARTS = frozenset("itefwducs{}![")
_FUNCTION = lazy(r"([^\s;&|<>()$'\"`\\={}]+)[ \t]*\([ \t]*\)")
_CLOSERS = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})
_OPENERS = frozenset({"if", "for", "while", "until", "case", "function", "select", "time", "coproc"})


class Parser(SimpleReader):
    """Reads one text; ``broken`` says that bash would refuse a part of it."""

    def sequence(self, closers: str) -> Sequence:
        """Read commands up to a closing parenthesis (if given), a closing keyword or the end."""
        found = Sequence()
        operator = ";"
        while True:
            self._blank_lines()
            stages: list[Node] = []
            if not self._pending:
                operator = self._plain_commands(found, operator, stages)
                self._blank_lines()
            if not stages and (self.at >= len(self.text) or self._closes(closers)):
                return found
            before = self.at
            node = self._pipeline(stages)
            if node is not None:
                found.items.append((operator, node))
            elif _SEPARATOR.match(self.text, self.at):
                self.broken = True
            if self.at >= len(self.text):
                return found
            operator = self._separator(closers)
            if operator == "&":
                found.background.add(len(found.items) - 1)
            if self.at == before and not stages:
                self.broken = True
                self.at += 1

    def _plain_commands(self, found: Sequence, operator: str, stages: list[Node]) -> str:
        """Read a row of commands in which nothing is special; return the operator after the last.

        ``stages`` gets the beginning of a pipeline whose next stage is not plain.
        """
        while (row := PLAIN_COMMAND.match(self.text, self.at)) is not None:
            words = row[1].split()
            if words[0] in _OPENERS or words[0] in _CLOSERS:
                break
            self.spend_command()
            self.spend(len(words))
            self.at = row.end()
            stages.append(Simple([*words]))
            if row[2] != "|":
                found.items.append((operator, stages[0] if len(stages) == 1 else Pipeline([*stages])))
                stages.clear()
                operator = row[2] if row[2] in ("&&", "||") else ";"
        return operator

    def _closes(self, closers: str) -> bool:
        char = self.text[self.at]
        if char == ")":
            return ")" in closers
        if char == ";":
            return self.text.startswith((";;", ";&"), self.at) and "c" in closers
        if "k" not in closers or char not in _KEYWORD_STARTS:
            return False
        keyword = _KEYWORD.match(self.text, self.at)
        return keyword is not None and keyword[1] in _CLOSERS

    def _separator(self, closers: str) -> str:
        self._blank()
        match = _SEPARATOR.match(self.text, self.at)
        if match is None:
            return ";"
        if match[0][:2] in (";;", ";&"):
            if "c" not in closers:
                self.broken = True
                self.at = match.end()
            return ";"
        self.at = match.end()
        return match[0]

    def _pipeline(self, stages: list[Node]) -> Node | None:
        while True:
            node = self._command()
            if node is not None:
                stages.append(node)
            self._blank()
            if not self.text.startswith("|", self.at) or self.text.startswith("||", self.at):
                break
            self.broken = self.broken or node is None
            self.at += 2 if self.text.startswith("|&", self.at) else 1
            self._blank_lines()
        if len(stages) > 1:
            return Pipeline(stages)
        return stages[0] if stages else None

    def _command(self) -> Node | None:
        keyword = _KEYWORD.match(self.text, self.at) if self.text[self.at : self.at + 1] in _KEYWORD_STARTS else None
        if keyword:
            return self._compound(keyword)
        if self.text.startswith("(", self.at):
            return self._parenthesised()
        function = _FUNCTION.match(self.text, self.at) if self._parenthesis_after(self.at) else None
        if function:
            self.at = function.end()
            return self._function(function[1])
        return self._simple()

    def _compound(self, keyword: re.Match[str]) -> Node | None:
        name = keyword[1]
        if name in _CLOSERS:
            self.broken = True
        self.at = keyword.end()
        if name in ("!", "time", "coproc") or name in _CLOSERS:
            return self._prefixed(name)
        self._enter()
        node = getattr(self, _COMPOUNDS[name])()
        self.depth -= 1
        return self._with_redirects(node) if not isinstance(node, Function) else node

    def _prefixed(self, name: str) -> Node | None:
        self._enter()
        self._blank()
        while name == "time" and self.text.startswith("-p", self.at):
            self.at += 2
            self._blank()
        node = self._command() if self.at < len(self.text) else None
        self.depth -= 1
        return node

    def _enter(self) -> None:
        self._check_depth()
        self.depth += 1

    def _body(self, *ends: str) -> tuple[Sequence, str]:
        """Read commands up to one of the keywords; return which one ended them."""
        body = self.sequence(")k" if self.parentheses else "k")
        keyword = _KEYWORD.match(self.text, self.at)
        if keyword is None or keyword[1] not in ends:
            self.broken = True
            return body, ""
        self.at = keyword.end()
        return body, keyword[1]

    def _if(self) -> Node:
        found = Branches()
        while True:
            condition, end = self._body("then")
            found.conditions.append(condition)
            body, end = self._body("elif", "else", "fi") if end else (Sequence(), "")
            found.bodies.append(body)
            if end == "else":
                body, end = self._body("fi")
                found.bodies.append(body)
            if end != "elif":
                return found

    def _while(self) -> Node:
        condition, _ = self._body("do")
        body, _ = self._body("done")
        return Loop(body, condition=condition)

    def _for(self) -> Node:
        self._blank()
        if self.text.startswith("((", self.at):
            return self._for_arithmetic()
        variable = self._bare_name()
        self._blank_lines()
        words: list[AnyWord] | None = None
        if re.compile(r"in(?=[\s;])").match(self.text, self.at):
            self.at += 2
            words = self._words_to_line_end()
        self._skip_to_do()
        body, _ = self._body("done", "}")
        return Loop(body, variable=variable, words=words)

    def _for_arithmetic(self) -> Node:
        self.at += 1
        expression = self._parenthesis(quoted=True)
        self._skip_to_do()
        body, _ = self._body("done", "}")
        return Loop(body, variable="_", words=[Word([expression])])

    def _skip_to_do(self) -> None:
        self._blank_lines()
        if self.text.startswith(";", self.at):
            self.at += 1
            self._blank_lines()
        match = re.compile(r"do(?=[\s;(])|\{").match(self.text, self.at)
        if match:
            self.at = match.end()
        else:
            self.broken = True

    def _bare_name(self) -> str:
        match = re.compile(r"[^\s;&|<>()]+").match(self.text, self.at)
        if match is None:
            self.broken = True
            return ""
        self.at = match.end()
        return match[0]

    def _words_to_line_end(self) -> list[AnyWord]:
        words: list[AnyWord] = []
        while True:
            self._blank()
            if self.at >= len(self.text) or self.text[self.at] in "\n;&|)":
                return words
            self.spend()
            words.append(self.word())

    def _case(self) -> Node:
        found = Branches()
        self._blank()
        found.words.append(self.word())
        self._blank_lines()
        self.at += 2 * self.text.startswith("in", self.at)
        while True:
            self._blank_lines()
            end = re.compile(r"esac(?=[\s;&|)]|\Z)").match(self.text, self.at)
            if end or self.at >= len(self.text):
                self.broken = self.broken or end is None
                self.at = end.end() if end else self.at
                return found
            self._case_pattern(found)
            found.bodies.append(self.sequence("ck)" if self.parentheses else "ck"))
            ended = re.compile(r";;&?|;&").match(self.text, self.at)
            if ended:
                self.at = ended.end()
            elif not self.text.startswith("esac", self.at):
                self.broken = True
                return found

    def _case_pattern(self, found: Branches) -> None:
        self.at += self.text.startswith("(", self.at)
        while self.at < len(self.text):
            self._blank()
            if self.text.startswith(")", self.at):
                self.at += 1
                return
            if self.text.startswith("|", self.at):
                self.at += 1
                continue
            self.spend()
            found.words.append(self.word())

    def _function_keyword(self) -> Node:
        self._blank()
        name = self._bare_name()
        self._blank()
        if self.text.startswith("(", self.at):
            self.at += 1
            self._until(")")
        return self._function(name)

    def _function(self, name: str) -> Node:
        self._blank_lines()
        self._enter()
        body = self._command()
        self.depth -= 1
        self.substitutions += 1
        if body is None or isinstance(body, Simple):
            self.broken = True
        return Function(name, body or Sequence())

    def _braced_group(self) -> Node:
        body, _ = self._body("}")
        return Group(body, subshell=False)

    def _test(self) -> Node:
        words: list[AnyWord] = []
        while self.at < len(self.text):
            self._blank_lines()
            if self.text.startswith("]]", self.at):
                self.at += 2
                return Test(words)
            if self.text[self.at : self.at + 1] in ("(", ")", "<", ">", "&", "|", ";", ""):
                self.at += 1
                continue
            self.spend()
            words.append(self.word())
        self.broken = True
        return Test(words)

    def _parenthesised(self) -> Node:
        self.at += 1
        if self._arithmetic_end() >= 0:
            return self._with_redirects(Test([Word([self._parenthesis(quoted=True)])]))
        self._enter()
        self.parentheses += 1
        body = self.sequence(")")
        self.parentheses -= 1
        self.depth -= 1
        if self.text.startswith(")", self.at):
            self.at += 1
        else:
            self.broken = True
        return self._with_redirects(Group(body, subshell=True))


_COMPOUNDS = {
    "if": "_if",
    "for": "_for",
    "select": "_for",
    "while": "_while",
    "until": "_while",
    "case": "_case",
    "function": "_function_keyword",
    "{": "_braced_group",
    "[[": "_test",
}


def parse(text: str) -> tuple[Sequence, Parser]:
    """Read a whole command; the parser that did it knows whether all of it was readable."""
    parser = Parser(text)
    sequence = parser.sequence("")
    return sequence, parser
