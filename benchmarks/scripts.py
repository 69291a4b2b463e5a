"""A Python script as a hook: from a server's zygote, beside the same script started cold."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import Claim, Suite, interleave
from fairlead import process, zygote
from fairlead.work import Run

LIMIT = 1 / 5
_READY = 60.0
_GUARD = """\
import json
import re
import sys

event = json.load(sys.stdin)
command = event["tool_input"]["command"]
if re.search(r"--force\\b", command):
    print(json.dumps({"decision": "deny", "reason": "others have pulled this"}))
"""
_EVENT = b'{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "git push --force"}}'
SCRIPTS = {"json and re": _GUARD, "subprocess and pathlib, too": f"import pathlib\nimport subprocess\n{_GUARD}"}


def run(rounds: int) -> list[Suite]:
    environ = dict(os.environ)
    zygotes = zygote.start(environ)
    try:
        end = time.monotonic() + _READY
        while not zygotes.is_ready(environ):
            if time.monotonic() > end:
                raise RuntimeError(f"no zygote became ready: {zygotes.why_not}")
            time.sleep(0.01)
        with tempfile.TemporaryDirectory() as folder:
            return [_suite(Path(folder) / f"{number}.py", name, rounds) for number, name in enumerate(SCRIPTS)]
    finally:
        zygote.stop()


def _suite(script: Path, name: str, rounds: int) -> Suite:
    script.write_text(SCRIPTS[name])
    contenders = {"warm (zygote)": _turn(script, warm=True), "cold": _turn(script, warm=False)}
    figures = interleave(contenders, rounds, warm_up=5)
    claim = Claim(f"{name}: warm against cold", figures["warm (zygote)"], figures["cold"], LIMIT)
    return Suite(f"A Python script hook ({name}), one event", 1e3, "ms", list(figures.values()), [claim])


def _turn(script: Path, *, warm: bool) -> Callable[[], float]:
    argv = (sys.executable, str(script))
    work = Run(argv=argv, cwd="/", env=dict(os.environ), stdin=_EVENT, timeout=60, script=str(script) if warm else "")

    def turn() -> float:
        started = time.perf_counter()
        result = process.run_blocking(work)
        seconds = time.perf_counter() - started
        assert b"deny" in result.stdout, result
        return seconds

    return turn
