"""What the journal costs: to append beside writing the same bytes under a lock, to search beside reading the files.

Times are of the processor: nothing here waits for a disk, and the machine may be busy.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.measure import Claim, Figure, Suite, interleave
from fairlead import wire
from fairlead.journal.reading import Log, Wanted
from fairlead.journal.writing import DETAILS, LINES, Journal

_ENTRIES = 100_000
_APPENDS = 200
"""In one turn."""
# Measured: 2.6 and 4.7.
_WARM_OVER_FLOOR = 4.0
_COLD_OVER_FLOOR = 7.0
# Measured: 2.9 for what is found by its bytes alone; 6.3 for a hook, 7.4 for failures, 11 for times, which take a look
# at each line.
_FIELD_OVER_READING = 4.5
_LINES_OVER_READING = 16.0
# Measured: 6.2, and 8.7 in another script: to make all letters small takes longer than to read them.
_TEXT_OVER_READING = 12.0
SEARCHES: dict[str, dict[str, Any]] = {
    "agent": {"agent": "gemini"},
    "session": {"session": "nobody's"},
    "tool, decision": {"tool": "Write", "decision": "ask"},
    "hook with the name of a tool": {"hook": "Bash"},
    "failed": {"failed": True},
    "time": {"since": 5.0, "until": 6.0},
}
FIELDS = frozenset({"agent", "session", "tool, decision"})
TEXTS: dict[str, dict[str, Any]] = {
    "text": {"text": "nobody has said this"},
    "text in another script": {"text": "Überraschung"},
    "text of one tool": {"tool": "Bash", "text": "nobody has said this"},
}


def run(rounds: int) -> list[Suite]:
    with tempfile.TemporaryDirectory() as folder:
        return [_appending(folder, rounds * 3), _searching(folder, rounds)]


def _entry(number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    tool = ("Bash", "Edit", "Read")[number % 3]
    command = f"git add -A && git commit -m 'fix: case {number}' && npm test -- src/module{number % 97}.ts | tail -20"
    payload = {"hook_event_name": "PreToolUse", "session_id": f"s{number // 50}", "cwd": "/home/u/project",
               "tool_name": tool, "tool_input": {"command": command, "description": "Run the tests"}}  # fmt: skip
    guard = {"name": "guard", "handler": "guard", "runs": "guard filesystem git secrets", "layer": "user",
             "file": "/home/u/.config/fairlead/fairlead.toml", "place": ["guard"], "dialect": "fairlead",
             "verdict": "none", "reason": "", "ms": 0.3}  # fmt: skip
    summary = {"agent": ("claude-code", "codex")[number % 2], "session": f"s{number // 50}", "event": "PreToolUse",
               "tool": tool, "decision": "none", "hooks": ["guard"], "times": [0.3], "failed": 0,
               "ms": 1.2}  # fmt: skip
    details = {"project": "/home/u/project", "cwd": "/home/u/project", "reason": "", "context": "", "notes": [],
               "hooks": [guard], "others": 1, "payload": payload,
               "reply": {"stdout": "", "stderr": "", "exit_code": 0}}  # fmt: skip
    return summary, details


# --- appending -------------------------------------------------------------------------------------------


def _appending(folder: str, rounds: int) -> Suite:
    entries = [_entry(number) for number in range(_APPENDS)]
    warm = Journal(os.path.join(folder, "warm"))
    cold = os.path.join(folder, "cold")
    floor = _floor(os.path.join(folder, "floor"))
    contenders = {
        "encode, digest, lock, write": _each(entries, floor),
        "append, kept open": _each(entries, warm.append),
        "append, opened for each": _each(entries, lambda summary, details: Journal(cold).append(summary, details)),
    }
    figures = interleave(contenders, rounds, warm_up=2)
    bare = figures["encode, digest, lock, write"]
    claims = [
        Claim("an entry, kept open, against the floor", figures["append, kept open"], bare, _WARM_OVER_FLOOR),
        Claim("an entry, opened for each, against the floor", figures["append, opened for each"], bare,
              _COLD_OVER_FLOOR),
    ]  # fmt: skip
    return Suite("the journal: one entry of 900 bytes", 1e6, "µs", list(figures.values()), claims)


def _each(
    entries: list[tuple[dict[str, Any], dict[str, Any]]], append: Callable[[dict[str, Any], dict[str, Any]], object]
) -> Callable[[], float]:
    def turn() -> float:
        started = time.thread_time()
        for summary, details in entries:
            append(summary, details)
        return (time.thread_time() - started) / len(entries)

    return turn


def _floor(folder: str) -> Callable[[dict[str, Any], dict[str, Any]], object]:
    """The same bytes to the same number of files, and nothing that looks after them."""
    os.makedirs(folder)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
    head, lines, details = (os.open(os.path.join(folder, name), flags, 0o600) for name in ("h", "l", "d"))

    def append(summary: dict[str, Any], more: dict[str, Any]) -> None:
        whole, line = wire.encode(more), wire.encode(summary)
        digests = hashlib.sha256(whole).hexdigest(), hashlib.sha256(line).hexdigest()
        fcntl.flock(head, fcntl.LOCK_EX)
        os.write(details, whole)
        os.write(lines, line + "".join(digests).encode())
        os.pwrite(head, line[:98], 0)
        fcntl.flock(head, fcntl.LOCK_UN)

    return append


# --- searching -------------------------------------------------------------------------------------------


def _searching(folder: str, rounds: int) -> Suite:
    where = os.path.join(folder, "many")
    journal = Journal(where)
    for number in range(_ENTRIES):
        summary, details = _entry(number)
        journal.append({**summary, "t": 1000.0 + number}, details)
    log = Log(where)
    contenders: dict[str, Callable[[], float]] = {
        "reading the lines": _timed(lambda: _read(log, LINES)),
        "reading the wholes": _timed(lambda: _read(log, DETAILS)),
    }
    for name, fields in {**SEARCHES, **TEXTS}.items():
        contenders[name] = _timed(partial(log.latest, Wanted(**fields), 20))
    figures = interleave(contenders, rounds, warm_up=1)
    claims = [
        _claim(figures, name, "reading the lines", _FIELD_OVER_READING if name in FIELDS else _LINES_OVER_READING)
        for name in SEARCHES
    ]
    claims += [_claim(figures, name, "reading the wholes", _TEXT_OVER_READING) for name in TEXTS]
    title = f"the journal: searching {_ENTRIES:,} entries on one core for what is not there"
    return Suite(title, 1e3, "ms", list(figures.values()), claims)


def _claim(figures: dict[str, Figure], name: str, floor: str, limit: float) -> Claim:
    return Claim(f"{name}, against {floor}", figures[name], figures[floor], limit)


def _timed(action: Callable[[], object]) -> Callable[[], float]:
    def turn() -> float:
        started = time.thread_time()
        action()
        return time.thread_time() - started

    return turn


def _read(log: Log, kind: str) -> None:
    for segment in log.segments():
        with open(log.path(segment, kind), "rb", buffering=0) as file:
            while file.read(1 << 18):
                pass
