"""What the guard costs: typical commands warm, the worst of 10 KB, growth, import.

Run ``python benchmarks/guard.py``.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

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
SHAPES: dict[str, Callable[[int], str]] = {
    "words": lambda size: "echo " + "word " * (size // 5),
    "commands": lambda size: "a b;" * (size // 4),
    "quotes": lambda size: "echo " + "'a b' " * (size // 6),
    "paths": lambda size: "cat " + "src/a.py " * (size // 9),
    "here-document": lambda size: "cat > notes.md <<'E'\n" + "a line of text\n" * (size // 15) + "E\n",
    "globs": lambda size: "cat " + "src/*.e?v* " * (size // 11),
    "python strings": lambda size: "python3 - <<'E'\n" + "x = open('a/b.txt', 'w')\n" * (size // 24) + "E\n",
    "substitutions": lambda size: "echo " + "$(pwd) " * (size // 7),
}
HOSTILE = {
    "forty unclosed $(": "echo " + "$(" * 40,
    "10,000 levels of $(": "echo " + "$(" * 10_000 + "ls" + ")" * 10_000,
    "1 MB of words": "echo " + "word " * 200_000,
    "500 no-ops and rm -rf /": "true; " * 500 + "rm -rf /",
}


def _best(action: Callable[[], object], runs: int) -> float:
    """Return the best of several runs in seconds: the machine is shared."""
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best


def _judging(guard: Guard, command: str, runs: int) -> float:
    return _best(lambda: guard.command(command), runs)


def _import_cost() -> float:
    code = "import time; s=time.perf_counter(); import fairlead.guard; print(time.perf_counter()-s)"
    runs = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout) for _ in range(5)
    ]
    return min(runs)


def main() -> None:
    guard = Guard(packs="all", project="/home/u/project", home="/home/u")
    print(f"import fairlead.guard: {_import_cost() * 1e3:.2f} ms")
    first = _judging(guard, "ls", 1)
    print(f"first question (loads the packs): {first * 1e3:.1f} ms\n")
    print("warm, typical")
    costs = [(_judging(guard, command, 200), command) for command in TYPICAL]
    for cost, command in costs:
        print(f"  {cost * 1e6:8.1f} µs  {command[:80]}")
    print(f"  {sorted(cost for cost, _ in costs)[len(costs) // 2] * 1e6:8.1f} µs  median\n")
    print("growth (1 KB, 10 KB, 40 KB)")
    for name, shape in SHAPES.items():
        row = [_judging(guard, shape(size), 5) * 1e3 for size in (1_000, 10_000, 40_000)]
        print(f"  {row[0]:8.2f} {row[1]:8.2f} {row[2]:8.2f} ms  {name}")
    print("\nhostile")
    for name, command in HOSTILE.items():
        finding = guard.command(command)
        print(f"  {_judging(guard, command, 3) * 1e3:8.2f} ms  {finding.decision:5} {name}")


if __name__ == "__main__":
    main()
