"""Which programs of the project a command names, and where in its text.

Nothing is run, and nothing has to be understood exactly: whatever looks like the path of a program that is there
counts. One that is named without being run costs a question more; one that is not found would run unseen.
"""

from __future__ import annotations

import os
import stat

from fairlead._record import Record
from fairlead.trust.words import BLANK, bare, glued, joined, quoted, unquoted, variable_end, without_variable
from fairlead.trust.words import words as words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_INSTALLED = frozenset({"node_modules", ".venv", "venv", ".tox", ".nox", "__pypackages__", ".git", "site-packages"})
"""Folders that an installer fills: what lies there only works where it lies, and no repository brings it."""
CODE = (
    ".sh", ".bash", ".zsh", ".fish", ".py", ".pyw", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".rb", ".pl", ".php",
    ".lua", ".ps1", ".awk", ".jq", ".sed", ".tcl", ".r", ".jl", ".exs", ".go", ".pyz", ".jar",
)  # fmt: skip
RUNNERS = frozenset(
    """
    sh bash dash zsh ksh fish ash busybox python python3 pypy pypy3 node nodejs deno bun tsx ts-node ruby perl php lua
    pwsh powershell awk gawk jq sed Rscript julia elixir go java osascript tclsh uv uvx pipx poetry pipenv hatch run
    exec env sudo doas time timeout nice nohup setsid stdbuf xargs source . command builtin eval if then else elif while
    until do not and or ! { npx run-parts
    """.split()
)
"""Words after which a file is run, or read as a program."""
_STARTS_FOLDERS = frozenset({"python", "pypy", "node", "nodejs", "deno", "bun", "tsx", "ts-node", "run-parts"})
_BEGINNINGS = frozenset({"__main__.py", *(f"index{end}" for end in CODE if end[-2:] in ("js", "ts"))})
"""What is run of the project's own folder: the rest of it is what everybody works on."""
_ENDS_COMMAND = ";|&(\n`{"
_PIPED = ("| sh", "|sh", "| bash", "|bash", "| zsh", "|zsh", "| python", "|python", "| node", "|node", "eval ", "<(")
_SEARCHED_FOR_PROGRAMS = frozenset({"PATH", "core.hooksPath", "GIT_EXEC_PATH", "LD_LIBRARY_PATH"})
_SEARCHED_FOR_MODULES = frozenset({"PYTHONPATH", "NODE_PATH", "PERL5LIB", "RUBYLIB", "CLASSPATH", "LUA_PATH"})


class Named(Record):
    """A program of the project, and the part of the text that names it."""

    start: int
    end: int
    path: str
    """Seen from the project."""
    runs: bool
    """Whether it is run there; else it is only handed to another program, which may change it."""


def in_text(text: str, project: str, root: str = "", cwd: str = "") -> list[Named]:
    """Without overlap, in order. Quoted words are looked at whole first: they may hold blanks.

    `root` is the folder of a plugin: what stands after a variable of its own is looked for there, too; `cwd` is where
    the command starts, seen from the project.
    """
    folders = [*dict.fromkeys((cwd, *_folders(text, project), "", root))]  # each once: a text may name one very often
    everything = any(mark in text for mark in _PIPED)
    found: list[Named] = []
    for start, end, value in (*joined(text), *quoted(text), *bare(text), *glued(text)):
        path = _file(value, project, folders)
        if not path or any(one.start < end and start < one.end for one in found):
            continue
        runs = everything or _is_run(text[:start])
        if runs or is_program(project, path):
            found.append(Named(start=start, end=end, path=path, runs=runs))
    return sorted(found, key=lambda one: one.start)


def in_words(words: Sequence[str], project: str, root: str = "", cwd: str = "") -> list[tuple[int, Named]]:
    """Of a program and its arguments: the word, and the program in it. A word may be a whole script for a shell."""
    found = []
    for index, word in enumerate(words):
        path = _file(without_variable(word), project, [cwd, "", root])
        before = _without_options(words[:index])
        runs = index == 0 or (bool(before) and _runs(before[-1]))
        if path and (runs or is_program(project, path)):
            found.append((index, Named(start=0, end=len(word), path=path, runs=runs)))
        elif not path:
            found += [(index, named) for named in in_text(word, project, root, cwd)]
    return found


def in_folders(text: str, project: str, cwd: str = "") -> list[str]:
    """Programs that it finds by looking: patterns, folders that are run, and those that `PATH` and its like name."""
    found = [path for pattern in _run_patterns(text) for path in _matching(pattern, project, cwd)]
    for name, folder in _searched(text, project, cwd):
        found += _programs_in(folder, project) if name in _SEARCHED_FOR_PROGRAMS else []
    for folder in _run_folders(text, project, cwd):
        programs = _programs_in(folder, project)
        found += programs if folder != "." or "run-parts" in text else [one for one in programs if one in _BEGINNINGS]
    return found


def _run_patterns(text: str) -> list[str]:
    words = [(at, word) for at, word in words_of(text) if any(mark in word for mark in "*?[")]
    return [without_variable(unquoted(word)) for at, word in words if _is_run(text[:at])]


def _matching(pattern: str, project: str, cwd: str) -> list[str]:
    import glob

    found = sorted(glob.glob(os.path.join(cwd, pattern), root_dir=project))
    return [path for path in (inside(project, one) for one in found) if path]


def _run_folders(text: str, project: str, cwd: str) -> list[str]:
    """`python3 tools`, `run-parts hooks`, `node .`"""
    found = []
    for at, word in words_of(text):
        plain = unquoted(word)
        if plain and _follows_runner(text[:at]) and (plain != "." or _starts_folders(text[:at])):
            found.append(os.path.normpath(os.path.join(cwd, without_variable(plain))))
    return [place for place in found if place == "." or _is_folder(project, place)]


def _starts_folders(before: str) -> bool:
    """`jq .` means something else."""
    runner = "".join(_without_options(before.split())[-1:])
    return os.path.basename(runner).rstrip("0123456789.") in _STARTS_FOLDERS


def _follows_runner(before: str) -> bool:
    words = before.split()
    return bool(words) and before[-1] in BLANK and words[-1] not in ("{", "!") and _is_run(before)


def _is_folder(project: str, path: str) -> bool:
    full = os.path.normpath(os.path.join(project, path))
    return full.startswith(f"{project}/") and os.path.isdir(full) and _INSTALLED.isdisjoint(path.split("/"))


def _programs_in(folder: str, project: str) -> list[str]:
    names = sorted(os.listdir(os.path.join(project, folder)))
    found = (inside(project, os.path.join(folder, name)) for name in names)
    return [path for path in found if path and is_program(project, path)]


def _searched(text: str, project: str, cwd: str) -> list[tuple[str, str]]:
    """Folders of the project in which something is looked for: `PATH=tools:$PATH`."""
    found = []
    for _, word in words_of(text):
        name, _, value = unquoted(word).partition("=")
        if name in _SEARCHED_FOR_PROGRAMS or name in _SEARCHED_FOR_MODULES:
            folders = (os.path.normpath(os.path.join(cwd, without_variable(one))) for one in value.split(":"))
            found += [(name, one) for one in folders if one != "." and _is_folder(project, one)]
    return found


def module_folders(text: str, project: str, cwd: str = "") -> list[str]:
    """Where Python looks for modules."""
    searched = [folder for name, folder in _searched(text, project, cwd) if name in _SEARCHED_FOR_MODULES]
    return [*dict.fromkeys((cwd, "", *searched, *(_folders(text, project) if " -c" in text else ())))]


def uncovered(text: str, project: str, root: str = "", cwd: str = "") -> list[str]:
    """Parts of it that run what is found by then: no digest can cover that, and somebody has to know."""
    found = [f"{name}={folder}" for name, folder in _searched(text, project, cwd) if name in _SEARCHED_FOR_MODULES]
    found += [word for _, word in words_of(text) if _is_installed(without_variable(unquoted(word)), project)]
    found += _computed(text, in_text(text, project, root, cwd))
    found += _handed_on([unquoted(word) for _, word in words_of(text)], project)
    return list(dict.fromkeys(found))


def _handed_on(words: Sequence[str], project: str) -> Iterator[str]:
    """`find -exec sh`, `xargs sh`, `perl -Ilib`"""
    from itertools import pairwise

    for word, following in pairwise(words):
        runs = _runs(following)
        if (word.startswith("-exec") and (runs or following == "{}")) or (os.path.basename(word) == "xargs" and runs):
            yield f"{word} {following}"
        elif word[:2] == "-I" and _is_folder(project, word[2:] or following):
            yield word if word[2:] else f"{word} {following}"


def _is_installed(word: str, project: str) -> bool:
    return not _INSTALLED.isdisjoint(word.split("/")) and os.path.isfile(os.path.join(project, word))


def _computed(text: str, known: Sequence[Named]) -> list[str]:
    """What is run there comes out of a variable or another command."""
    found = []
    for at, word in words_of(text):
        first = at + len(word) - len(word.lstrip("\"'"))
        is_known = any(one.start < at + len(word) and at < one.end for one in known)
        if text[first : first + 1] in ("$", "`") and not is_known and _is_run(text[:at]) and not _is_folder_name(word):
            found.append("$(…)" if text.startswith("$(", first) else word)
    return found


def _is_folder_name(word: str) -> bool:
    """`$HOME/bin/tool`: a program from elsewhere, or one that is not there, which is said."""
    word = word.lstrip("\"'")
    return variable_end(word, 0) > 0


def unseen(text: str, project: str, root: str = "", cwd: str = "") -> list[str]:
    """Words that look like a program of the project and are not there: nothing can be said about what they run."""
    known = in_text(text, project, root, cwd)
    words = [(start, end, value) for start, end, value in bare(text) if _looks_like_code(value)]
    words = [one for one in words if text[one[0] - 1 : one[0]] not in tuple("*?]}%$\\")]
    found = [one for one in words if not any(two.start < one[1] and one[0] < two.end for two in known)]
    return [text[start:end] for start, end, value in found if not _is_known(value, project)]


def _is_known(value: str, project: str) -> bool:
    """It is a file of the project that is not run here, or one from elsewhere that is there."""
    return (
        bool(inside(project, value))
        or _is_installed(value, project)
        or (value[:1] == "/" and project not in value and os.path.exists(value))
    )


def modules(text: str) -> list[str]:
    """`python -m package.module`, `python -c 'import module'`: Python looks for it where the command runs."""
    words = text.replace('"', " ").replace("'", " ").replace(";", " ").replace(",", " import ").split()
    named = [
        name for word, flag, name in zip(words, words[1:], words[2:], strict=False) if flag == "-m" and _runs(word)
    ]
    if "-c" in words and "python" in text:
        named += [words[at + 1] for at, word in enumerate(words[:-1]) if word in ("import", "from")]
    return named


def is_program(project: str, path: str) -> bool:
    return path.endswith(CODE) or os.access(os.path.join(project, path), os.X_OK)


def inside(project: str, path: str) -> str:
    """The path of a regular file of the project, seen from it; empty for everything else."""
    full = os.path.normpath(os.path.join(project, path))
    if not full.startswith(f"{project}/"):
        full = _by_links(full, project)
    if not full:
        return ""
    relative = full[len(project) + 1 :]
    if not _INSTALLED.isdisjoint(relative.split("/")):
        return ""
    try:
        return relative if stat.S_ISREG(os.stat(full).st_mode) else ""
    except (OSError, ValueError):
        return ""


def _by_links(path: str, project: str) -> str:
    """Where it is in the project, if links lead there; else empty."""
    try:
        real, root = os.path.realpath(path), os.path.realpath(project)
    except (OSError, ValueError):
        return ""
    return f"{project}{real[len(root) :]}" if real.startswith(f"{root}/") else ""


def _file(value: str, project: str, folders: Sequence[str]) -> str:
    if not value or value in (".", ".."):
        return ""
    return next((path for folder in folders if (path := inside(project, os.path.join(folder, value)))), "")


def _looks_like_code(value: str) -> bool:
    return value.endswith(CODE) or (value.startswith(("./", "../")) and not value.endswith(("/", "...")))


def _is_run(before: str) -> bool:
    """Whether what follows this text is started, or read as a program."""
    cut = max(before.rfind(mark) for mark in _ENDS_COMMAND)
    words = _without_options([word.strip("\"'") for word in before[cut + 1 :].split()])
    return not words or _runs(words[-1]) or before.rstrip().endswith("<")


def _without_options(words: Sequence[str]) -> list[str]:
    """Nor what belongs to one, nor to a program that starts another: `bash -euo pipefail x`, `timeout 5 x`."""
    found: list[str] = []
    option = ""
    for word in words:
        is_value = option[-1:] in tuple("oOWX") and not {"/", "."} & {*word}
        is_number = word[:1].isdigit() and bool(found) and os.path.basename(found[-1]) in ("timeout", "nice")
        if word and word[0] not in "-+" and "=" not in word and not is_value and not is_number:
            found.append(word)
        option = word if word[:1] in ("-", "+") else ""
    return found


def _runs(word: str) -> bool:
    name = os.path.basename(word)
    return name in RUNNERS or name.rstrip("0123456789.") in RUNNERS


def _folders(text: str, project: str) -> list[str]:
    """Folders of the project that are named: `cd hooks && ./check.sh`."""
    words = [value for _, _, value in (*quoted(text), *bare(text))]
    return [word for word in words if word and word[0] != "/" and os.path.isdir(os.path.join(project, word))]
