"""What a new process costs: importing the library, and `fairlead hook` from cold."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Claim, Suite, interleave, whole_process

CONFIG = """
[[hook]]
on = "PreToolUse"
tool = "Write"
run = "true"

[[hook]]
on = "PreToolUse"
tool = "Edit|MultiEdit"
run = "true"

[[hook]]
on = "Stop"
run = "true"
"""
EVENT = {
    "session_id": "s",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "ls -la"},
    "tool_use_id": "t",
}
CACHE = Path(__file__).parent.parent / ".bench"


def run(rounds: int) -> list[Suite]:
    with tempfile.TemporaryDirectory() as folder:
        return [_suite(Path(folder), rounds)]


def _suite(folder: Path, rounds: int) -> Suite:
    config = folder / ".config" / "fairlead" / "fairlead.toml"
    config.parent.mkdir(parents=True)
    config.write_text(CONFIG)
    env = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    project = folder / "project"  # a home that is the project is refused
    project.mkdir()
    stdin = json.dumps({**EVENT, "cwd": str(project)}).encode()
    python = [str(_python()), "-I", "-S", "-c"]
    libraries = next((CACHE / "clean" / "lib").glob("python*/site-packages"))
    path = f"import sys; sys.path.append({str(libraries)!r}); "
    console = str(CACHE / "clean" / "bin" / "fairlead")
    contenders = {
        "python -I -S -c pass": whole_process([*python, "pass"], env),
        "import msgspec": whole_process([*python, path + "import msgspec"], env),
        "import fairlead": whole_process([*python, path + "import fairlead"], env),
        "fairlead hook, three hooks, none matches": whole_process(
            [console, "hook", "--agent", "claude-code"], env, stdin
        ),
    }
    said = subprocess.run(
        [console, "hook", "--agent", "claude-code"], input=stdin, env=env, capture_output=True, check=True
    )
    assert not said.stdout, f"no hook matches, and it said {said.stdout!r}"
    figures = interleave(contenders, rounds, warm_up=3)
    floor, hook = figures["python -I -S -c pass"], figures["fairlead hook, three hooks, none matches"]
    claims = [
        Claim("import fairlead, against import msgspec", figures["import fairlead"], figures["import msgspec"], 2.0),
        Claim("fairlead hook from cold, against python -I -S -c pass", hook, floor, 4.0),
    ]
    return Suite("a new process", 1e3, "ms", list(figures.values()), claims)


def _python() -> Path:
    """A clean environment with this checkout installed as users install it."""
    python = CACHE / "clean" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", CACHE / "clean"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "msgspec"], check=True)
    root = Path(__file__).parent.parent
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", root], check=True)
    return python
