"""What a command hook starts: the program as its shell would find it, and the script that it is given."""

from __future__ import annotations

import os
import re
import shlex
import shutil

from fairlead._record import Record
from fairlead.doctor import facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairlead.dialects import Places
    from fairlead.doctor.scene import Entry

_PUNCTUATION = set("();<>|&")
_LOOKS_FIRST = re.compile(r"\bcommand -v\b|\btype \w|\bwhich \w|\[ +-[efxrs] |\btest +-[efxrs] |\bhash \w")
"""A line that looks whether its program is there knows what to do without it."""
_RUNNERS = ("env", "exec", "command", "nice", "nohup", "time", "sudo", "stdbuf", "timeout")
_PROJECT = re.compile(r"\b(?:\w+_PROJECT_DIR|GEMINI_CWD|GROK_WORKSPACE_ROOT)\b")


class Started(Record):
    """The first thing that a hook starts."""

    program: str
    """As it is written, with variables filled in."""
    found: str = ""
    """The file; empty where there is none."""
    rest: tuple[str, ...] = ()
    """The words after it, empty ones where only a shell could tell."""
    folder: str
    """Where relative paths begin."""
    in_shell: bool = True
    path: str
    """The directories in which it is looked for."""

    @property
    def is_relative(self) -> bool:
        return "/" in self.program and not os.path.isabs(self.program)


def started(entry: Entry, places: Places) -> Started | None:
    """None where that is not plain, or the shell does it itself."""
    if entry.kind != "command" or not entry.command.strip():
        return None
    environ = variables(entry, places)
    words, folder = _words(entry, environ, _folder(entry, places))
    if not words or not words[0] or (entry.args is None and _is_shells_own(words[0])):
        return None
    path = environ.get("PATH", os.defpath)
    return Started(
        program=words[0], rest=tuple(words[1:]), folder=folder, found=find(words[0], folder, path), path=path,
        in_shell=entry.args is None,
    )  # fmt: skip


def variables(entry: Entry, places: Places) -> Mapping[str, str]:
    """What the hook's environment says, as far as it can be known."""
    environ = {name: value for name, value in places.environ.items() if not _PROJECT.fullmatch(name)}
    own = entry.handler.get("env")
    own = {key: str(value) for key, value in own.items()} if isinstance(own, dict) else {}
    sets = facts.of(entry.agent).sets or ()
    root = os.path.dirname(os.path.dirname(entry.file.path))
    in_plugin = entry.file.form == "plugin" or entry.agent == "goose"
    roots = dict.fromkeys(("CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT"), root) if in_plugin else {}
    return {**environ, "HOME": places.home, **dict.fromkeys(sets, places.project), **roots, **own}


def unset_variable(entry: Entry) -> str:
    """A variable for the project that this agent does not set; empty where there is none."""
    sets = facts.of(entry.agent).sets
    if sets is None:
        return ""
    text = " ".join((entry.command, *(entry.args or ())))
    used = re.findall(r"\$\{?(\w+_PROJECT_DIR)\b(?!:?[-=])", text)
    own = entry.handler.get("env")
    return next((name for name in used if name not in sets and name not in (own or ())), "")


def _folder(entry: Entry, places: Places) -> str:
    given = entry.handler.get("cwd") or entry.handler.get("working_directory")
    if isinstance(given, str):
        return os.path.normpath(os.path.join(places.project, given))
    if entry.agent == "cursor" and entry.file.layer == "user":
        return os.path.dirname(entry.file.path)
    return places.project


def find(program: str, folder: str, path: str) -> str:
    if "/" in program:
        place = os.path.normpath(os.path.join(folder, program))
        return place if os.path.isfile(place) else ""
    return shutil.which(program, path=path) or _not_executable(program, path)


def _not_executable(program: str, path: str) -> str:
    places = (os.path.join(folder, program) for folder in path.split(os.pathsep) if folder)
    return next((place for place in places if os.path.isfile(place)), "")


# --- words -------------------------------------------------------------------------------------------


def _words(entry: Entry, environ: Mapping[str, str], folder: str) -> tuple[list[str], str]:
    if entry.args is not None:
        return [expanded(word, environ) for word in (entry.command, *entry.args)], folder
    if _LOOKS_FIRST.search(entry.command):
        return [], folder
    for simple in simple_commands(entry.command):
        words = [expanded(word, environ) for word in _without_runners(simple)]
        if words[:1] == ["cd"] and len(words) == 2 and words[1]:
            folder = os.path.normpath(os.path.join(folder, words[1]))
            continue
        return words, folder
    return [], folder


def simple_commands(line: str) -> list[list[str]]:
    """The commands of a line, each in words; empty where it is not that simple."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    found: list[list[str]] = [[]]
    try:
        for word in lexer:
            if not set(word) <= _PUNCTUATION:
                found[-1].append(word)
            elif set(word) & set("<>("):  # a redirection or a subshell: what follows is no program
                break
            else:
                found.append([])
    except ValueError:  # a quotation without an end: the shell's to judge
        return []
    return [words for words in found if words]


def _without_runners(words: list[str]) -> list[str]:
    """Without assignments and without `env`, `exec` and the like in front, unless these have options."""
    while words and (re.match(r"[A-Za-z_]\w*=", words[0]) or _is_runner(words)):
        words = words[1:]
    return words


def _is_runner(words: list[str]) -> bool:
    return words[0] in _RUNNERS[:3] and len(words) > 1 and not words[1].startswith("-")


def expanded(word: str, values: Mapping[str, str]) -> str:
    """With variables and `~` filled in; empty where only a shell could tell."""
    if word.startswith("~/"):
        word = "$HOME" + word[1:]
    word = re.sub(r"\$(?:(\w+)|\{(\w+)\})", lambda found: values.get(found[1] or found[2], "$"), word)
    return "" if re.search(r"[$`*?\[\]{}~\n]", word) else word


def _is_shells_own(word: str) -> bool:
    from fairlead.handlers.command import SHELL_WORDS

    return "/" not in word and (word in SHELL_WORDS or not re.fullmatch(r"[\w.+-]+", word))
