"""What the guard costs: typical commands beside reading them only, 10 KB in one command, hostile shapes.

All times are of the processor: nothing here waits, and the machine may be busy.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence

from benchmarks.measure import Claim, Figure, Suite, interleave
from fairlead.guard import Guard

TYPICAL = (
    "ls -la",
    "git status",
    "npm test 2>&1 | tail -20",
    "git add -A && git commit -m 'fix: parse dates' && git push",
    "rm -rf node_modules dist",
    "cat src/app.py | head -50",
    "curl -s https://api.example.com/v1/items | jq .name",
    "docker compose up -d --build",
    "find . -name '*.py' | xargs grep -n TODO",
    'for f in src/*.ts; do npx prettier --write "$f"; done',
    "python3 -c \"import json; print(json.load(open('package.json'))['version'])\"",
    'bash -c "$(echo cm0gLXJmIC8= | base64 -d)"',
)


def _rows(row: str, size: int) -> str:
    """Return numbered rows of about this size together."""
    count = size // len(row) + 1
    return "".join(row.format(n=number) for number in range(count))[:size].rpartition(row[-1])[0] + row[-1]


SHAPES: dict[str, Callable[[int], str]] = {
    "words": lambda size: "echo " + "word " * (size // 5),
    "quotes": lambda size: "echo " + "'a b' " * (size // 6),
    "variables": lambda size: "echo " + '"$a b" ' * (size // 14),
    "files": lambda size: "cat " + _rows("src/module_{n}/file.py ", size),
    "files to delete": lambda size: "rm -f " + _rows("src/module_{n}/file.py ", size),
    "globs": lambda size: "cat " + _rows("src/{n}/*.e?v* ", size),
    "lines of a script": lambda size: _rows("mkdir -p out/dir{n} && cp -r src/mod{n} out/dir{n}/ || exit 1\n", size),
    "here-document": lambda size: "cat > notes.md <<'E'\n" + "a line of text\n" * (size // 15) + "E\n",
    "here-document with variables": lambda size: "cat > notes.md <<E\n" + "a $line of text\n" * (size // 16) + "E\n",
    "python": lambda size: "python3 - <<'E'\n" + _rows("def f{n}(a):\n    return [a + {n}, 'text']\n", size) + "E\n",
    "python with files": lambda size: "python3 - <<'E'\n" + _rows("x = open('a/{n}.txt', 'w')\n", size) + "E\n",
}
HOSTILE = {
    "forty unclosed $(": "echo " + "$(" * 40,
    "10,000 levels of $(": "echo " + "$(" * 10_000 + "ls" + ")" * 10_000,
    "10,000 parentheses": "(" * 10_000,
    "10 KB of commands": "a b;" * 2_500,
    "1 MB of words": "echo " + "word " * 200_000,
    "a variable that doubles": "a=xxxxxxxx;" + "a=$a$a;" * 40 + "echo $a",
}
# On a quiet machine: 5 times Python's own splitter, 9 times a parser written in C that judges nothing.
_OVER_SHLEX = 8.0
_OVER_TREE_SITTER = 15.0
# Twice the text costs twice the time; the rest is noise.
_DOUBLING = 2.6
# A hostile text is given up before Python's own splitter has split it.
_HOSTILE = 1.5


def run(rounds: int) -> list[Suite]:
    guard = Guard(packs="all", project="/home/u/project", home="/home/u")
    return [_typical(guard, rounds), _growth(guard, max(5, rounds // 6)), _hostile(guard, max(5, rounds // 6))]


def _typical(guard: Guard, rounds: int) -> Suite:
    contenders = {"shlex.split": _each(_split), **_tree_sitter(), "guard, all packs": _each(guard.command)}
    figures = interleave(contenders, rounds, warm_up=5)
    ours = figures["guard, all packs"]
    claims = [Claim("judging a command, against shlex.split", ours, figures["shlex.split"], _OVER_SHLEX)]
    if "tree-sitter-bash" in figures:
        parsing = figures["tree-sitter-bash"]
        claims.append(Claim("judging, against parsing with tree-sitter-bash", ours, parsing, _OVER_TREE_SITTER))
    return Suite("the guard: one typical command of twelve", 1e6, "µs", list(figures.values()), claims)


def _each(action: Callable[[str], object]) -> Callable[[], float]:
    """Return a turn over all typical commands, and the seconds of one of them."""

    def turn() -> float:
        started = time.thread_time()
        for command in TYPICAL:
            action(command)
        return (time.thread_time() - started) / len(TYPICAL)

    return turn


def _split(command: str) -> Sequence[str]:
    """Split words; what is no complete shell syntax costs no less."""
    try:
        return shlex.split(command)
    except ValueError:
        return ()


def _tree_sitter() -> dict[str, Callable[[], float]]:
    try:
        import tree_sitter
        import tree_sitter_bash
    except ImportError:
        return {}
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    return {"tree-sitter-bash": _each(lambda command: parser.parse(command.encode()))}


def _growth(guard: Guard, rounds: int) -> Suite:
    contenders = {
        f"{name}, {size // 1000} KB": _one(guard.command, shape(size))
        for name, shape in SHAPES.items()
        for size in (5_000, 10_000)
    }
    figures = interleave(contenders, rounds, warm_up=1)
    claims = [
        Claim(f"{name}: 10 KB, against 5 KB", figures[f"{name}, 10 KB"], figures[f"{name}, 5 KB"], _DOUBLING)
        for name in SHAPES
    ]
    shown = [figure for name, figure in figures.items() if name.endswith("10 KB")]
    return Suite("the guard: 10 KB in one command", 1e3, "ms", shown, claims)


def _hostile(guard: Guard, rounds: int) -> Suite:
    ours = interleave({name: _one(guard.command, text) for name, text in HOSTILE.items()}, rounds, warm_up=1)
    long = [name for name, text in HOSTILE.items() if len(text) >= 10_000]
    floor = interleave({name: _one(_split, HOSTILE[name]) for name in long}, max(2, rounds // 3), warm_up=0)
    claims = [
        Claim(f"{name}, against shlex.split", ours[name], _steady(floor[name], len(ours[name].times)), _HOSTILE)
        for name in long
    ]
    return Suite("the guard: hostile shapes", 1e3, "ms", list(ours.values()), claims)


def _steady(figure: Figure, rounds: int) -> Figure:
    """Return the median of a floor for every round: splitting a megabyte in each would take minutes."""
    return Figure(figure.name, [figure.median] * rounds)


def _one(action: Callable[[str], object], command: str) -> Callable[[], float]:
    def turn() -> float:
        started = time.thread_time()
        action(command)
        return time.thread_time() - started

    return turn
