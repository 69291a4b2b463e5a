"""`if`: one permission rule, such as `Bash(git *)` or `Edit(src/**)`, that narrows when a hook runs.

It is a filter in front of a guard, so every doubt ends with the guard running: a command that cannot be
read, a name that is only known when the shell runs, a rule that makes no sense. Here a command is taken
apart only as far as the rule needs it; what it would do is the business of `fairlead.guard`.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from fairlead.events import Event

EVENTS = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"})
"""Where a rule can be compared with something. On any other event a hook with `if` never runs."""

SHELLS = frozenset({"Bash", "PowerShell"})
_READERS = frozenset({"Read", "Grep", "Glob", "LS", "NotebookRead"})
_EDITORS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_FILE_RULES: dict[str, frozenset[str]] = {
    "Read": _READERS,
    "Edit": _EDITORS,
    **{name: frozenset({name}) for name in (_READERS | _EDITORS) - {"Read", "Edit"}},
}
_SPEAKS_ABOUT = {"Agent": "subagent_type", "Task": "subagent_type", "Skill": "skill"}
_SAME = {"Task": "Agent"}


def condition(rule: str, *, home: str = "", project: str = "") -> Callable[[Event], str]:
    """A function that says why a hook with this rule does not apply to an event; "" where it does."""
    if problem(rule):
        return _unsupported
    tool, specifier = _parts(rule)
    return _Rule(rule, tool, specifier, home or os.path.expanduser("~"), project)


def problem(rule: object) -> str:
    """What is wrong with a rule; "" for a good one. A hook with a wrong rule runs always."""
    if not isinstance(rule, str) or not rule.strip():
        return "`if` must be a permission rule, such as Bash(git *)"
    tool, specifier = _parts(rule)
    if not tool or not set(tool) <= _NAME_LETTERS or not _closes_once(rule.strip()):
        return f"{rule!r} is not one permission rule, such as Bash(git *)"
    if tool in _FILE_RULES and (specifier.startswith("!") or "{" in specifier):
        return f"{rule!r} cannot be compared with a path: neither ! nor {{…}} has a meaning here"
    return ""


def _closes_once(rule: str) -> bool:
    """The first bracket closes with the last character: `Bash(a) || Bash(b)` is not one rule."""
    depth = 0
    for place, char in enumerate(rule):
        depth += (char == "(") - (char == ")")
        if char == ")" and depth <= 0 and place < len(rule) - 1:
            return False
    return depth == 0


_NAME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-*:.")


def _parts(rule: str) -> tuple[str, str]:
    tool, _, rest = rule.strip().partition("(")
    return tool.strip(), rest.removesuffix(")").strip()


def _unsupported(event: Event) -> str:
    return "" if event.name in EVENTS else f"has an `if`, which means nothing on {event.name}: it never runs there"


class _Rule:
    __slots__ = ("home", "project", "specifier", "text", "tool")

    def __init__(self, text: str, tool: str, specifier: str, home: str, project: str) -> None:
        self.text = text
        self.tool = tool
        self.specifier = specifier
        self.home = home
        self.project = project

    def __call__(self, event: Event) -> str:
        why = _unsupported(event)
        return why or ("" if self._may_apply(event) else f"its rule {self.text} does not apply")

    def _may_apply(self, event: Event) -> bool:
        try:
            return self._applies(event)
        except (OSError, ValueError, RecursionError):  # such as a path that no file system can have
            return True

    def _applies(self, event: Any) -> bool:
        if not _names_tool(self.tool, event.tool_name):
            return False
        if self.specifier in ("", "*"):
            return True
        if self.tool in SHELLS:
            return self._runs(event.tool_input.get("command"))
        if self.tool in _FILE_RULES:
            return _touches(self.specifier, _paths_of(event), self._roots(event))
        return _mentions(self.tool, self.specifier, event.tool_input)

    def _runs(self, command: object) -> bool:
        if self.tool == "PowerShell" and isinstance(command, str):
            return _runs(self.specifier.lower(), command.lower())
        return _runs(self.specifier, command)

    def _roots(self, event: Event) -> _Roots:
        return _Roots(event.cwd or self.project, self.project or event.cwd, self.home)


def _names_tool(rule: str, tool: str) -> bool:
    if tool in _FILE_RULES.get(rule, ()) or _SAME.get(rule, rule) == _SAME.get(tool, tool):
        return True
    if "*" in rule:
        return like(tool, rule)
    return rule.startswith("mcp__") and rule.count("__") == 1 and tool.startswith(f"{rule}__")


def like(text: str, pattern: str) -> bool:
    r"""`*` is anything, `\*` a star; in time that grows with the text, whatever the pattern."""
    pieces = [piece.replace("\0", "*") for piece in pattern.replace("\\*", "\0").split("*")]
    if len(pieces) == 1:
        return text == pieces[0]
    first, last = pieces[0], pieces[-1]
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return False
    place, end = len(first), len(text) - len(last)
    for piece in pieces[1:-1]:
        place = text.find(piece, place, end)
        if place < 0:
            return False
        place += len(piece)
    return True


# --- commands ----------------------------------------------------------------------------------------


def _runs(pattern: str, command: object) -> bool:
    if not isinstance(command, str) or len(command) > _LONGEST:
        return True
    found = _Reading()
    try:
        found.read(command)
    except _CannotReadError:
        return True
    if found.changes and len(pattern.removesuffix(":*").removesuffix("*").split()) > 1:
        return True
    return any(_says(raw, pattern) or _starts(words, pattern) for words, raw in found.commands)


def _starts(words: list[str], pattern: str) -> bool:
    for place, own in enumerate(_started_by(words)):
        if "\0" in own[0] or (place == 0 and _is_expanded(own[0])):
            return True
        if _says(" ".join(own), pattern) or _says(" ".join((_program(own), *own[1:])), pattern):
            return True
    return False


def _says(text: str, pattern: str) -> bool:
    """`git *` and `git:*` are the program with or without arguments, and not `gitk`."""
    prefix = pattern[:-2] if pattern.endswith((":*", " *")) and "*" not in pattern[:-2] else ""
    if prefix:
        return text == prefix or text.startswith(prefix + " ")
    return like(text, pattern)


def _is_expanded(program: str) -> bool:
    """Whether the shell makes something else of this name."""
    return program not in ("[", "[[") and any(char in program for char in "*?[{")


_WORDS_BEFORE = frozenset({"{", "}", "!", "if", "then", "else", "elif", "do", "while", "until", "time", "coproc"})
_WRAPPERS = frozenset("builtin command doas env exec find nice nohup setsid stdbuf sudo timeout xargs".split())
_INTERPRETERS = frozenset({"sh", "bash", "dash", "ksh", "zsh"})
_MOST_WORDS = 200


def _started_by(words: list[str]) -> Iterator[list[str]]:
    """The command itself; after `sudo`, `xargs` and the like, whatever may be the command that they start."""
    words = _without_assignments(words)
    while words and words[0] in _WORDS_BEFORE:
        words = _without_assignments(words[1:])
    if not words:
        return
    yield words
    if _program(words) in _WRAPPERS:
        if len(words) > _MOST_WORDS:
            yield ["\0"]
        for start in range(1, min(len(words), _MOST_WORDS)):
            yield words[start:]


def _program(words: list[str]) -> str:
    return words[0].rpartition("/")[2]


def _without_assignments(words: list[str]) -> list[str]:
    while words:
        name, equals, _ = words[0].partition("=")
        if equals and name.removesuffix("+").isidentifier():
            words = words[1:]
        elif words[0].lstrip("0123456789&")[:1] in ("<", ">") and words[0]:
            words = words[2:] if words[0].lstrip("0123456789&") in ("<", ">", ">>", ">|", "<>") else words[1:]
        else:
            break
    return words


class _CannotReadError(Exception):
    """Not a command that we can take apart."""


_LONGEST = 256 << 10
_DEEPEST = 50
_MOST_READINGS = 500
"""Commands inside commands; `sudo eval sudo eval …` would otherwise be read in exponentially many ways."""


def _joined(text: str) -> str:
    """Without the line ends that a backslash takes away; one that is itself escaped takes nothing."""
    kept, start, place = [], 0, text.find("\\\n")
    while place >= 0:
        run = place
        while run > start and text[run - 1] == "\\":
            run -= 1
        if (place - run) % 2 == 0:
            kept.append(text[start:place])
            start = place + 2
        place = text.find("\\\n", place + 2)
    return "".join((*kept, text[start:]))


class _Reading:
    """Takes a command line apart: every command in it, also inside `$(…)`, backticks and brackets."""

    def __init__(self, outer: _Reading | None = None) -> None:
        self.commands: list[tuple[list[str], str]] = []
        self.changes = False
        """Whether the shell puts something in that cannot be seen here."""
        self.depth: int = outer.depth + 1 if outer else 0
        self.readings: list[None] = outer.readings if outer else []
        self.readings.append(None)
        if self.depth > _DEEPEST or len(self.readings) > _MOST_READINGS:
            raise _CannotReadError
        self._text = ""
        self._place = 0
        self._words: list[str] = []
        self._word: list[str] | None = None
        self._start = 0

    def read(self, text: str) -> None:
        self._text = _joined(text)
        self._until("")

    def _until(self, closing: str) -> None:
        """Commands up to an unquoted `closing`, or up to the end."""
        self._start = self._place
        while self._place < len(self._text):
            char = self._text[self._place]
            if char == closing:
                self._end_command()
                self._place += 1
                return
            self._step(char)
        if closing:
            raise _CannotReadError
        self._end_command()

    def _step(self, char: str) -> None:
        if char in "'\"\\$`":
            self._quoting(char)
        elif char in " \t\r":
            self._end_word()
            self._place += 1
        elif char in "<>":
            self._redirection(char)
        elif char in ";|&\n()":
            self._separator(char)
        elif char == "#" and self._word is None:
            self._place = self._find("\n", len(self._text))
        else:
            self._add(char)

    def _quoting(self, char: str) -> None:
        if char == "\\":
            self._add(self._text[self._place + 1 : self._place + 2], skip=2)
        elif char == "'":
            end = self._find("'", -1, self._place + 1)
            self._add(self._text[self._place + 1 : end], skip=end + 1 - self._place)
        elif char == '"':
            self._double_quoted()
        elif char == "`":
            self._backticks()
        else:
            self._dollar()

    def _double_quoted(self) -> None:
        self._add("", skip=1)
        while True:
            char = self._text[self._place : self._place + 1]
            if char == "":
                raise _CannotReadError
            if char == '"':
                self._place += 1
                return
            if char in "\\`":
                self._quoting(char)
            elif char == "$":
                self._dollar(quoted=True)
            else:
                self._add(char)

    def _dollar(self, *, quoted: bool = False) -> None:
        after = self._text[self._place + 1 : self._place + 2]
        if after == "(":
            self._nested(2)
        elif after == "'" and not quoted:
            self._ansi_quoted()
        elif after and (after.isalnum() or after in '_{?@*#!$-"'):
            self._unknown(skip=1)
        else:
            self._add("$")

    def _ansi_quoted(self) -> None:
        """`$'…'`: what its escapes stand for is not worked out."""
        place = self._place + 2
        while self._text[place : place + 1] not in ("'", ""):
            place += 2 if self._text[place] == "\\" else 1
        if place >= len(self._text):
            raise _CannotReadError
        inside = self._text[self._place + 2 : place]
        if "\\" in inside:
            self._unknown()
        self._add(inside, skip=place + 1 - self._place)

    def _backticks(self) -> None:
        end = self._place + 1
        while self._text[end : end + 1] not in ("`", ""):
            end += 2 if self._text[end] == "\\" else 1
        if end >= len(self._text):
            raise _CannotReadError
        self._inner(self._text[self._place + 1 : end].replace("\\`", "`"))
        self._unknown(skip=end + 1 - self._place)

    def _nested(self, opening: int) -> None:
        """`$(…)`, `<(…)` and `(…)`: read on in the same text up to the bracket that closes it."""
        inner = _Reading(self)
        inner._text, inner._place = self._text, self._place + opening
        inner._until(")")
        self.commands += inner.commands
        self.changes = self.changes or inner.changes
        self._place = inner._place
        if opening == 2:
            self._unknown()

    def _inner(self, text: str) -> None:
        inner = _Reading(self)
        inner.read(text)
        self.commands += inner.commands
        self.changes = self.changes or inner.changes

    def _redirection(self, char: str) -> None:
        rest = self._text[self._place : self._place + 3]
        if rest.startswith("<<") and not rest.startswith("<<<"):
            raise _CannotReadError  # a here-document: what follows is not commands
        if rest.startswith(("<(", ">(")):
            self._nested(2)
            return
        self._add(char)
        if rest[1:2] == "&":  # 2>&1
            self._add("&")

    def _separator(self, char: str) -> None:
        if char == "(":
            self._end_command()
            self._nested(1)
            self._start = self._place
        elif char == "&" and self._text[self._place + 1 : self._place + 2] == ">":  # &> file
            self._add("&")
        else:
            self._end_command()
            self._place += 1
            self._start = self._place

    def _unknown(self, skip: int = 0) -> None:
        """Something that only the shell knows, marked by a NUL: no command has one of its own."""
        self.changes = True
        self._add("\0", skip=skip)

    def _add(self, text: str, skip: int | None = None) -> None:
        if self._word is None:
            self._word = []
        self._word.append(text)
        self._place += len(text) if skip is None else skip

    def _end_word(self) -> None:
        if self._word is not None:
            self._words.append("".join(self._word))
            self._word = None

    def _end_command(self) -> None:
        self._end_word()
        words, self._words = self._words, []
        if not words:
            return
        self.commands.append((words, self._text[self._start : self._place].strip()))
        for text in _given_to_a_shell(words):
            self._inner(text)

    def _find(self, text: str, otherwise: int, start: int | None = None) -> int:
        place = self._text.find(text, self._place if start is None else start)
        if place >= 0:
            return place
        if otherwise < 0:
            raise _CannotReadError
        return otherwise


def _given_to_a_shell(words: list[str]) -> Iterator[str]:
    """What `bash -c …` and `eval …` run."""
    for own in _started_by(words):
        if _program(own) == "eval":
            yield " ".join(own[1:])
        elif _program(own) in _INTERPRETERS:
            yield from (own[place + 1] for place, word in enumerate(own[:-1]) if place and _is_c(word))


def _is_c(option: str) -> bool:
    return option.startswith("-") and not option.startswith("--") and "c" in option


# --- files -------------------------------------------------------------------------------------------


class _Roots:
    __slots__ = ("cwd", "home", "project")

    def __init__(self, cwd: str, project: str, home: str) -> None:
        self.cwd = cwd
        self.project = project
        self.home = home


def _paths_of(event: Any) -> list[str]:
    path = event.file_path or (event.cwd if event.tool_name in ("Grep", "Glob", "LS") else "")
    return [path] if path else []


def _touches(pattern: str, paths: list[str], roots: _Roots) -> bool:
    if not paths or not (roots.cwd or os.path.isabs(paths[0])):
        return True
    given = _absolute(paths[0], roots)
    both = {given, os.path.realpath(given)}
    return any(_inside(wanted, path) for wanted in _absolute_patterns(pattern, roots) for path in both)


def _absolute(path: str, roots: _Roots) -> str:
    if path.startswith("~/"):
        path = os.path.join(roots.home, path[2:])
    return os.path.normpath(os.path.join(roots.cwd, path)).replace(os.sep, "/")


def _absolute_patterns(pattern: str, roots: _Roots) -> list[str]:
    if pattern.startswith("//"):
        return [pattern[1:]]
    if pattern.startswith("~/"):
        return [os.path.join(roots.home, pattern[2:])]
    if pattern.startswith("/"):  # the project's root; and for those who meant it so, the machine's
        return [roots.project + pattern, pattern]
    pattern = pattern.removeprefix("./")
    if pattern.startswith("**/") or "/" not in pattern.rstrip("/"):
        return [f"/**/{pattern.removeprefix('**/')}"]
    return [os.path.join(base, pattern) for base in {roots.cwd, os.path.realpath(roots.cwd)} if base]


def _inside(pattern: str, path: str) -> bool:
    """The path, or a directory above it, as .gitignore has it."""
    wanted = [part for part in pattern.split("/") if part not in ("", ".")]
    parts = [part for part in path.split("/") if part]
    reached = _reach({0}, wanted)
    for part in parts:
        after = set()
        for place in reached:
            if place < len(wanted) and wanted[place] == "**":
                after.add(place)
            elif place < len(wanted) and _segment(part, wanted[place]):
                after.add(place + 1)
        reached = _reach(after, wanted)
        if len(wanted) in reached:
            return True
    return len(wanted) in reached


def _reach(places: set[int], wanted: list[str]) -> set[int]:
    """`**` may also stand for nothing."""
    found = set(places)
    for place in places:
        following = place
        while following < len(wanted) and wanted[following] == "**":
            following += 1
            found.add(following)
    return found


def _segment(part: str, pattern: str) -> bool:
    from fnmatch import fnmatchcase

    return fnmatchcase(part, pattern)


# --- other tools -------------------------------------------------------------------------------------


def _mentions(tool: str, specifier: str, tool_input: dict[str, Any]) -> bool:
    """`WebFetch(domain:example.com)`, `Agent(reviewer)`, `Tool(parameter:value)`; any other rule runs the hook."""
    key, colon, wanted = specifier.partition(":")
    if tool == "WebFetch" and key == "domain":
        return _is_at(tool_input.get("url"), wanted.strip().lower())
    if colon and isinstance(tool_input.get(key), str):
        return like(tool_input[key], wanted)
    value = tool_input.get(_SPEAKS_ABOUT.get(tool, ""))
    return not isinstance(value, str) or like(value, specifier)


def _is_at(url: object, domain: str) -> bool:
    if not isinstance(url, str):
        return True
    from urllib.parse import urlsplit

    try:
        host = (urlsplit(url).hostname or "").rstrip(".").lower()
    except ValueError:
        return True
    return like(host, domain) or host.endswith(f".{domain.removeprefix('*.')}")
