"""What the programs that a hook runs pull in of their own project. Looked up when somebody is asked for trust."""

from __future__ import annotations

import os

from fairlead.errors import ConfigError
from fairlead.trust import naming

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST = 500
"""Files of one hook: nobody looks at more, and what is left out would run unseen."""
_LARGEST_TEXT = 1 << 20
_LONGEST_PATH = 1024
_SHELLS = (".sh", ".bash", ".zsh", ".ksh")
_SCRIPTS = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")
_DATA = (
    ".json", ".jsonc", ".json5", ".jsonl", ".toml", ".yaml", ".yml", ".txt", ".csv", ".tsv", ".ini", ".cfg", ".conf",
    ".md", ".xml", ".sql", ".html", ".tmpl", ".j2", ".list", ".rules", ".re", ".rego", ".env",
)  # fmt: skip
"""What a script reads where it lies itself. No logs and no state: these it writes."""


def all_of(paths: Iterable[str], project: str) -> list[str]:
    """These files, and those of the project that they import, source or start; seen from the project. Raises
    ConfigError where there are too many to look at."""
    found: dict[str, None] = {}
    waiting = list(paths)
    while waiting:
        path = waiting.pop(0)
        if len(found) > MOST:
            raise ConfigError(
                f"{next(iter(found))} pulls in more than {MOST} files of the project: no trust covers that"
            )
        if path not in found:
            found[path] = None
            waiting += _named_by(path, project)
    return sorted(found)


def _named_by(path: str, project: str) -> Iterator[str]:
    text = _text(os.path.join(project, path))
    kind = _kind(path, text)
    folder = os.path.dirname(path)
    yield from _interpreter(text, project)
    if kind == "python":
        yield from _imports(text, folder, project)
    elif kind == "shell":
        yield from _started(text, folder, project)
    elif kind == "script":
        yield from _required(text, folder, project)
    elif kind == "other":
        yield from _started(text, folder, project, os.path.splitext(path)[1])


def _interpreter(text: str, project: str) -> Iterator[str]:
    """`#!./x`: the kernel looks for it where the hook runs."""
    words = text.partition("\n")[0][2:].split() if text.startswith("#!") else []
    path = naming.inside(project, words[0]) if words else ""
    if path:
        yield path


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST_TEXT)
    except OSError:
        return ""
    return "" if b"\0" in data else data.decode("utf-8", "replace")


def _kind(path: str, text: str) -> str:
    first = text.partition("\n")[0] if text.startswith("#!") else ""
    if path.endswith((".py", ".pyw")) or "python" in first:
        return "python"
    if path.endswith(_SHELLS) or first.endswith("sh") or "sh " in first:
        return "shell"
    if path.endswith(_SCRIPTS) or "node" in first:
        return "script"
    if "." not in os.path.basename(path):  # `sh hooks/check`
        return "shell"
    return "other" if path.endswith(naming.CODE) or first else ""


def _imports(text: str, folder: str, project: str) -> Iterator[str]:
    """Modules beside it, and files that it names."""
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as `"\d"`, which is for its author
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield from module_files(name.name, folder, project)
        elif isinstance(node, ast.ImportFrom):
            base = os.path.join(folder, *[".."] * (node.level - 1)) if node.level else folder
            module = node.module or ""
            yield from module_files(module, base, project)
            for name in node.names:
                yield from module_files(f"{module}.{name.name}" if module else name.name, base, project)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _path_in(node.value, folder, project)


def module_files(name: str, folder: str, project: str) -> Iterator[str]:
    parts = [part for part in name.split(".") if part]
    for count in range(1, len(parts) + 1):
        base = os.path.join(folder, *parts[:count])
        for candidate in (f"{base}.py", os.path.join(base, "__init__.py")):
            path = naming.inside(project, candidate)
            if path:
                yield path


def _started(text: str, folder: str, project: str, ending: str = "") -> Iterator[str]:
    """`ending` is what a language leaves out: `require_relative "lib"`."""
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            continue
        for word in line.replace('"', " ").replace("'", " ").split():
            yield from _path_in(word, folder, project)
            if ending:
                yield from _path_in(word + ending, folder, project)


def _path_in(word: str, folder: str, project: str) -> Iterator[str]:
    """A program that is named: from the script's own folder (`$(dirname "$0")/lib.sh`) or from the project."""
    word = word.strip("\"'`;()&|")
    for start in ("$", "{", "}"):
        word = word.rpartition(start)[2] if start in word else word
    beside = (os.path.join(folder, word.lstrip("/")), _after_first(word, folder))
    for candidate in (*beside, word, word.lstrip("/"), _after_first(word, "")):
        path = naming.inside(project, candidate) if candidate else ""
        if path and (naming.is_program(project, path) or _is_data_beside(path, folder)):
            yield path


def _is_data_beside(path: str, folder: str) -> bool:
    """In the project's own folder lies what everybody works on."""
    return bool(folder) and path.startswith(f"{folder}/") and path.endswith(_DATA)


def _after_first(word: str, folder: str) -> str:
    """`DIR/lib.sh`, where DIR came out of a variable."""
    tail = word.partition("/")[2]
    return os.path.join(folder, tail) if tail else ""


def _required(text: str, folder: str, project: str) -> Iterator[str]:
    for quote in "\"'`":
        for word in text.split(quote)[1::2]:
            if word.startswith(("./", "../")):
                for end in ("", *_SCRIPTS, "/index.js", "/index.mjs", "/index.ts", ".json"):
                    path = naming.inside(project, os.path.join(folder, word + end))
                    if path:
                        yield path
            elif len(word) <= _LONGEST_PATH:
                yield from _path_in(word, folder, project)
