"""Command hooks beside the floor and beside engines that do the same job."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from benchmarks import installed
from benchmarks.measure import Claim, Figure, Suite, Worker, interleave

HERE = Path(__file__).parent
PEERS = {"amcp-agent": "amcp", "ankaloop": "ankaloop"}
"""By the name of their module."""
COUNTS = (1, 5, 10)
LIMIT = 1.3


def run(rounds: int) -> list[Suite]:
    with tempfile.TemporaryDirectory() as folder:
        return [_suite(Path(folder), count, rounds if count == 1 else rounds // 2) for count in COUNTS]


def _suite(folder: Path, count: int, rounds: int) -> Suite:
    home = folder / str(count)
    _write_hooks(home, count)
    (home / "project").mkdir()
    env = {**os.environ, "HOME": str(home)}
    env.pop("XDG_CONFIG_HOME", None)
    ours = [sys.executable, str(HERE / "workers" / "fairlead_hooks.py")]
    floor = [sys.executable, str(HERE / "workers" / "floor.py"), str(count)]
    workers = {
        "floor, together": Worker([*floor, "together"], env),
        "floor, in a row": Worker([*floor, "row"], env),
        "fairlead (claude-code: together)": Worker([*ours, "claude-code", str(count)], env),
        "fairlead (amcp: in a row)": Worker([*ours, "amcp", str(count)], env),
    }
    missing = _add_peers(workers, env)
    figures = interleave(workers, rounds, warm_up=10)
    for worker in workers.values():
        worker.close()
    title = f"{count} command hook{'s' if count > 1 else ''} (`/bin/true`), one event"
    return Suite(title, 1e3, "ms", list(figures.values()), _claims(figures, count), missing)


def _claims(figures: dict[str, Figure], count: int) -> list[Claim]:
    together, row = figures["fairlead (claude-code: together)"], figures["fairlead (amcp: in a row)"]
    claims = [
        Claim(f"{count} together, against the floor", together, figures["floor, together"], LIMIT),
        Claim(f"{count} in a row, against the floor", row, figures["floor, in a row"], LIMIT),
    ]
    claims += [Claim(f"{count} in a row, against {name}", row, figures[name], 1.0) for name in PEERS if name in figures]
    return claims


def _add_peers(workers: dict[str, Worker], env: dict[str, str]) -> list[str]:
    """Those that are missing, with the reason."""
    missing = []
    for name, module in PEERS.items():
        try:
            python = installed.python_of(name)
        except installed.Missing as why:
            missing.append(f"{installed.version_of(name)} could not be installed: {why}")
            continue
        workers[name] = Worker([python, str(HERE / "workers" / "amcp_hooks.py"), module], env)
    return missing


def _write_hooks(home: Path, count: int) -> None:
    """The same program as often as asked for. Two arguments keep the hooks from being identical; with a single
    one, GNU true would load its locale, and be another program than the floor's."""
    commands = [f"/bin/true {number} {number}" for number in range(count)]
    handlers = [{"type": "command", "command": command} for command in commands]
    claude = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": handlers}]}}
    amcp = "".join(
        f'[[hooks.PreToolUse.handlers]]\nmatcher = "Bash"\ntype = "command"\ncommand = "{command}"\n'
        for command in commands
    )
    _write(home / ".claude" / "settings.json", json.dumps(claude))
    for path in (".config/amcp", ".config/ankaloop"):
        _write(home / path / "hooks.toml", amcp)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
