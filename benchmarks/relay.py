"""What an event costs through the relay: a whole process, beside the smallest one that could do the same."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Claim, Suite, interleave, whole_process

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src" / "fairlead" / "relay"
WORKERS = Path(__file__).parent / "workers"
EVENT = {
    "session_id": "s",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "ls -la " + "x" * 1800},
    "tool_use_id": "t",
}
BASH = """
IFS= read -r -d '' event || true
exec 3<>/dev/tcp/127.0.0.1/"$1"
printf '%s\\n%s\\n%s' "$2" "${#event}" "$event" >&3
IFS= read -r -d '' reply <&3 || true
printf '%s' "$reply"
"""
"""Not shipped: Bash knows no Unix sockets, so it needs a port that everybody can reach and a key beside it, takes no
bytes that are not text, and can be given no deadline without another process."""


def run(rounds: int) -> list[Suite]:
    with tempfile.TemporaryDirectory(prefix="fl") as folder:
        return [_suite(Path(folder), rounds)]


def _suite(folder: Path, rounds: int) -> Suite:
    floor, relay, script = (
        _compiled(folder, WORKERS / "floor.c"),
        _compiled(folder, SOURCES / "relay.c"),
        _script(folder),
    )
    socket = str(folder / "s")
    env = {"HOME": str(folder), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    cold = [sys.executable, "-I", str(ROOT / "src" / "fairlead" / "__main__.py"), "hook", "--agent", "claude-code"]
    python = [sys.executable, "-I", "-S"]
    project = folder / "project"  # a home that is the project is refused
    project.mkdir()
    event = json.dumps({**EVENT, "cwd": str(project)}).encode()
    server = subprocess.Popen(
        [sys.executable, WORKERS / "trivial_server.py", socket],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    port = server.stdout.readline().strip()
    contenders = {
        "/bin/true": whole_process(["/bin/true"], env, event),
        "the smallest client in C": whole_process([str(floor), socket], env, event),
        "relay, compiled": whole_process([str(relay), socket, *cold], env, event),
        "bash, /dev/tcp (not shipped)": whole_process(["bash", "-c", BASH, "bash", port, "key"], env, event),
        "python -I -S -c pass": whole_process([*python, "-c", "pass"], env, event),
        "relay, Python": whole_process([*python, str(script), socket, *cold], env, event),
        "no server: relay, then fairlead hook": whole_process([str(relay), f"{socket}-not", *cold], env, event),
        "fairlead hook": whole_process(cold, env, event),
    }
    try:
        figures = interleave(contenders, rounds, warm_up=3)
    finally:
        server.stdin.close()
        server.wait(10)
        server.stdout.close()
    compiled, hook = figures["relay, compiled"], figures["fairlead hook"]
    claims = [
        Claim("relay, against the smallest client", compiled, figures["the smallest client in C"], 2.0),
        Claim(
            "relay in Python, against python -c pass", figures["relay, Python"], figures["python -I -S -c pass"], 1.5
        ),
        Claim("relay, against fairlead hook", compiled, hook, 0.2),
        Claim("without a server, against fairlead hook", figures["no server: relay, then fairlead hook"], hook, 1.15),
    ]
    return Suite(
        "an event through the relay, to a server that answers at once", 1e3, "ms", list(figures.values()), claims
    )


def _compiled(folder: Path, source: Path) -> Path:
    program = folder / source.stem
    subprocess.run(["cc", "-O2", "-static", "-o", program, source], check=True)
    return program


def _script(folder: Path) -> Path:
    shutil.copy(SOURCES / "relay.py", folder / "fairlead_relay.py")
    return Path(shutil.copy(SOURCES / "start.py", folder / "fairlead-relay.py"))
