"""What was acknowledged survives a power failure at any moment.

A real writer runs under strace, which writes down each write, sync and acknowledgement. From that record the disk is
built as it may be after a failure at any of them: what was synced is there; of what was written since, each part is
there, lost or torn. It shows what the program and SQLite ask of the disk; a disk that lies about a sync is not shown.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fairlead.server.sqlite_store import SqliteStore

WRITER = """
import json, os, sys
from fairlead.server.sqlite_store import SqliteStore
from tests.server.conftest import answer, asked, new_run

def acknowledge(*said):
    os.write(1, b"ack " + json.dumps(said).encode() + b"\\n")

path, mode, way, count = sys.argv[1:]
store = SqliteStore(path)
store._database.execute(f"PRAGMA synchronous = {mode}")
store._database.execute("PRAGMA wal_autocheckpoint = 40")
new_run(store)
acknowledge("run", "run", None)


def one(number):
    question, _ = store.ask(asked(str(number), "x" * (number * 997 % 6000)))
    yield "asked", question.id, None
    if number % 3:
        decided = store.answer(question.id, answer(question, allow=bool(number % 2)))
        yield "answered", question.id, decided.allow

def alone(first):
    for number in range(first, first + 5):
        for said in one(number):
            acknowledge(*said)

def together(first):
    with store.together():
        done = [said for number in range(first, first + 5) for said in one(number)]
    for said in done:
        acknowledge(*said)

def too_soon(first):
    with store.together():
        alone(first)

for first in range(0, int(count), 5):
    globals()[way](first)
os._exit(0)
"""


WAYS = ("alone", "together")
"""Each change by itself, or five at once."""


class Happened(NamedTuple):
    what: str
    """`write`, `truncate`, `sync`, `unlink` or `ack`"""
    file: str
    place: int = 0
    data: bytes = b""


@pytest.fixture(scope="module")
def strace() -> str:
    found = shutil.which("strace")
    if found is None:
        pytest.skip("strace is not installed: scripts/packages strace")
    if subprocess.run([found, "-qq", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("strace may not look at programs here")
    return found


def recorded(strace: str, folder: Path, mode: str, way: str, count: int) -> list[Happened]:
    folder.mkdir()
    trace = folder / "trace"
    calls = "pwrite64,write,fsync,fdatasync,ftruncate,unlink"
    command = [strace, "-qq", "-y", "-xx", "-s", "100000", "-e", f"trace={calls}", "-o", str(trace)]
    words = [sys.executable, "-c", WRITER, str(folder / "a.db"), mode, way, str(count)]
    root = Path(__file__).resolve().parents[2]
    subprocess.run([*command, *words], cwd=root, check=True, capture_output=True, timeout=100)
    return list(_read(trace.read_text()))


_CALL = re.compile(r"^(\w+)\((.*)\) += (\d+)$")
_STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_FILE = re.compile(r"^\d+<([^>]*)>")


def _read(trace: str) -> Iterator[Happened]:
    for line in trace.splitlines():
        match = _CALL.match(line)
        if match is None:
            continue
        name, words, result = match.groups()
        text = _STRING.search(words)
        data = bytes.fromhex(text[1].replace("\\x", "")) if text else b""
        target = _FILE.match(words)
        file = _name(bytes.fromhex(target[1].replace("\\x", "")).decode() if target else data.decode("latin-1"))
        if name == "write" and data.startswith(b"ack "):
            yield Happened("ack", "", data=data[4:])
        elif file and name == "pwrite64":
            assert len(data) == int(result)
            yield Happened("write", file, int(words.rpartition(", ")[2]), data)
        elif file and name == "ftruncate":
            yield Happened("truncate", file, int(words.rpartition(", ")[2]))
        elif file and name in ("fsync", "fdatasync"):
            yield Happened("sync", file)
        elif file and name == "unlink":
            yield Happened("unlink", file)


def _name(path: str) -> str:
    """Of the files that must survive; the index of the log is made anew."""
    name = path.rpartition("/")[2]
    return name if name in ("a.db", "a.db-wal", "a.db-journal") else ""


def after_failure(history: list[Happened], chance: random.Random) -> dict[str, bytes]:
    """The files as a disk may hold them after this."""
    safe: dict[str, bytearray] = {"a.db": bytearray()}
    unsafe: dict[str, list[Happened]] = {}
    for happened in history:
        if happened.what == "unlink":
            safe.pop(happened.file, None)
            unsafe.pop(happened.file, None)
        elif happened.what == "sync":
            for change in unsafe.pop(happened.file, []):
                _apply(safe.setdefault(change.file, bytearray()), change)
        elif happened.what != "ack":
            unsafe.setdefault(happened.file, []).append(happened)
    for name, changes in unsafe.items():
        for change in changes:
            if chance.random() < 0.5:
                _apply(safe.setdefault(name, bytearray()), _torn(change, chance))
    return {name: bytes(content) for name, content in safe.items()}


def _torn(change: Happened, chance: random.Random) -> Happened:
    if change.what == "truncate" or chance.random() < 0.7:
        return change
    return change._replace(data=change.data[: chance.randrange(0, len(change.data) + 1, 512) or len(change.data)])


def _apply(content: bytearray, change: Happened) -> None:
    if change.what == "truncate":
        content[change.place :] = bytes(max(0, change.place - len(content)))
        return
    content.extend(bytes(max(0, change.place - len(content))))
    content[change.place : change.place + len(change.data)] = change.data


def wrong_with(folder: Path, files: dict[str, bytes], acknowledged: list[Any]) -> list[str]:
    """What is broken or lost when the server starts again on these files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    try:
        store = SqliteStore(str(folder / "a.db"))
    except Exception as error:  # noqa: BLE001  # whatever it is, it is wrong
        return [f"does not open: {error}"]
    try:
        checked = store._rows("PRAGMA integrity_check")
        broken = [] if checked == [("ok",)] else [f"broken: {checked}"]
        return broken + [f"lost: {said}" for said in acknowledged if not _is_kept(store, said)]
    except sqlite3.Error as error:
        return [f"cannot be read: {error}"]
    finally:
        store.close()


def _is_kept(store: SqliteStore, said: Any) -> bool:
    what, name, allow = said
    if what == "run":
        return store.run(name) is not None
    found = store.interaction(name)
    return found is not None and (what == "asked" or found.allow is allow)


def failures(strace: str, folder: Path, mode: str, way: str, states: int, seed: int) -> list[str]:
    history = recorded(strace, folder / "written", mode, way, 60)
    chance = random.Random(seed)
    moments = [0, len(history), *(chance.randrange(len(history)) for _ in range(states - 2))]
    found: list[str] = []
    for moment in moments:
        past = history[:moment]
        acknowledged = [json.loads(happened.data) for happened in past if happened.what == "ack"]
        found += wrong_with(folder / "after", after_failure(past, chance), acknowledged)
    assert any(happened.what == "ack" for happened in history)
    assert {happened.file for happened in history} >= {"a.db", "a.db-wal"}, "there was no checkpoint"
    return found


@pytest.mark.parametrize("way", WAYS)
def test_no_acknowledgement_is_lost_when_the_power_fails(strace: str, tmp_path: Path, way: str) -> None:
    assert failures(strace, tmp_path, "FULL", way, 100, seed=1) == []


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(20))
def test_no_acknowledgement_is_lost_at_twenty_thousand_moments(
    strace: str, tmp_path: Path, seed: int, way: str
) -> None:
    assert failures(strace, tmp_path, "FULL", way, 500, seed) == []


@pytest.mark.parametrize("mode", ["NORMAL", "OFF"])
def test_without_a_sync_at_every_commit_some_would_be_lost(strace: str, tmp_path: Path, mode: str) -> None:
    """The control: the same failures, found."""
    assert any(one.startswith("lost") for one in failures(strace, tmp_path, mode, "alone", 60, seed=1))


def test_what_is_acknowledged_before_its_group_is_committed_would_be_lost(strace: str, tmp_path: Path) -> None:
    """The control of the groups."""
    assert any(one.startswith("lost") for one in failures(strace, tmp_path, "FULL", "too_soon", 60, seed=1))
