"""The approval service under load: agents that wait, how soon an answer arrives, how many fit into a second, and what
a restart or a few thousand hostile clients do to all this.

What the machine can do at best is measured in the same run, since disks and neighbours differ: two commits of SQLite
for each question, and a bare ASGI application that wakes as many.
"""

from __future__ import annotations

import http.client
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from benchmarks.measure import Claim, Figure, Suite

WORKERS = Path(__file__).parent / "workers"
IDLE = 15.0
"""Seconds of watching: the interval in which every waiter is kept alive once."""
KEPT_OPEN = 10.0
"""Seconds after which a line that nobody used is not used again: the server may hang up."""
DECISIONS = 200
ROUNDS = 3
PAIRS = ((8, 40), (64, 20))
"""So many agents and people at once, and how often each."""
# Sized for two cores that the agents of the benchmark share with the server.
_MEGABYTES = 300.0
_IDLE_SHARE = 0.05
_LATENCY_MEDIAN, _LATENCY_LAST = 0.010, 0.050
_WAKE_ALL = 2.0
_EACH = 1 / 300
_ATTACHED = 30.0
_HOSTILE = 0.100


class Server:
    def __init__(self, home: Path, store: str = "") -> None:
        self._home = home
        self._words = ["--store", store] if store else []
        self.port = 0
        self._lines = threading.local()
        self.start()

    def start(self) -> None:
        """Again: on the same port."""
        env = {"HOME": str(self._home), "PATH": os.environ["PATH"]}
        argv = [sys.executable, "-m", "fairlead", "serve", "--port", str(self.port), "--json", *self._words]
        self._process = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        said = _said(self._process.stdout)
        self.port = int(said["address"].rpartition(":")[2])
        self.token = (self._home / ".local" / "state" / "fairlead" / "token").read_text()
        self._lines.line = (None, 0.0)

    def kill(self) -> None:
        self._process.kill()
        self._wait()

    def close(self) -> None:
        self._process.terminate()
        self._wait()

    def _wait(self) -> None:
        self._process.wait(60)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def call(self, method: str, path: str, fields: object = None) -> Any:
        return json.loads(self.read(path, method, fields))

    def read(self, path: str, method: str = "GET", fields: object = None) -> bytes:
        line, used = getattr(self._lines, "line", (None, 0.0))
        if line is None or time.monotonic() - used > KEPT_OPEN:
            line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        self._lines.line = (line, time.monotonic())
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        line.request(method, path, json.dumps(fields or {}), headers)
        return bytes(line.getresponse().read())

    def new_run(self) -> tuple[str, str]:
        made = self.call("POST", "/api/runs", {"agent": "benchmark"})
        return made["run"]["id"], made["key"]

    @property
    def megabytes(self) -> float:
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))

    @property
    def processor(self) -> float:
        """Seconds that it has used."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Worker:
    """A process of clients; it says `ready` when all of them are there."""

    def __init__(self, name: str, *words: object) -> None:
        argv = [sys.executable, str(WORKERS / f"{name}.py"), *map(str, words)]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._in, self._out = _pipe(self._process.stdin), _pipe(self._process.stdout)
        self.wait_for("ready")

    def wait_for(self, line: str) -> None:
        said = self._out.readline().strip()
        assert said == line, f"{line!r} was expected of the clients, and they said {said!r}"

    def go(self) -> None:
        self._in.write("\n")
        self._in.flush()

    def said(self) -> str:
        line = self._out.readline().strip()
        assert line, "the clients have ended"
        return line

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(60)
        self._in.close()
        self._out.close()


def _said(stdout: IO[bytes]) -> Any:
    """A JSON object over some lines; a server that could not start ends before."""
    lines = b""
    while line := stdout.readline():
        lines += line
        if line == b"}\n":
            return json.loads(lines)
    raise RuntimeError(f"the server ended at once; it said {lines!r}")


def _pipe(found: IO[str] | None) -> IO[str]:
    assert found is not None
    return found


class Waiters(Worker):
    def __init__(self, server: Server, count: int, *words: str) -> None:
        self.run, key = server.new_run()
        self.count = count
        super().__init__("waiters", server.port, self.run, key, count, *words)

    def arrival(self) -> float:
        """When the next agent has its answer."""
        number, at = self.said().split()
        assert number != "error", at
        return float(at)


@contextmanager
def _service(store: str = "") -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as home:
        server = Server(Path(home), store)
        try:
            yield server
        finally:
            server.close()


class Store(NamedTuple):
    """A kind of store, and how to get an empty one."""

    name: str
    new: Any


def run(rounds: int) -> list[Suite]:
    """So many agents wait at once."""
    return [_measured(Store("SQLite", lambda: ""), rounds)]


def run_postgres(rounds: int) -> list[Suite]:
    from tests.server.postgres import Postgres

    postgres = Postgres(safe=True)
    try:
        return [_measured(Store("PostgreSQL", postgres.new_database), rounds)]
    finally:
        postgres.end()


def _measured(store: Store, count: int) -> Suite:
    figures, claims = [], []
    for part in (_waiting, _rates, _restarted, _besieged):
        more_figures, more_claims = part(store, count)
        figures += more_figures
        claims += more_claims
    return Suite(f"the approval service on {store.name}: {count:,} agents wait", 1e3, "ms", figures, claims)


Part = tuple[list[Figure], list[Claim]]


# --- agents that wait --------------------------------------------------------------------------------


def _waiting(store: Store, count: int) -> Part:
    bare = _bare(count)
    with _service(store.new()) as server:
        waiters = Waiters(server, count)
        try:
            memory, idle = server.megabytes, _idle(server)
            latencies = sorted(_decide(server, waiters, min(DECISIONS, count // 2)))
            used = server.processor
            woken = _wake(server, waiters, count - len(latencies))
            used = server.processor - used
        finally:
            waiters.close()
    late = _late(latencies)
    figures = [
        Figure("an answer reaches its agent", latencies),
        Figure("the slowest of a hundred", [late]),
        Figure(f"all {count - len(latencies):,} are woken", [woken]),
        Figure("… processor time of the server", [used]),
        Figure(f"a bare application wakes {count:,}", [bare]),
    ]
    claims = [
        _claim(f"memory with {count:,} waiting, against {_MEGABYTES:.0f} MB", memory, _MEGABYTES),
        _claim(f"idle with {count:,} waiting, against 5 % of a core", idle, _IDLE_SHARE),
        _claim("an answer reaches its agent, against 10 ms", statistics.median(latencies), _LATENCY_MEDIAN),
        _claim("the slowest of a hundred, against 50 ms", late, _LATENCY_LAST),
        _claim("all are woken, against 2 s", woken, _WAKE_ALL),
    ]
    return figures, claims


def _late(ordered: Sequence[float]) -> float:
    return ordered[-max(1, len(ordered) // 100)]


def _idle(server: Server) -> float:
    before = server.processor
    time.sleep(IDLE)
    return (server.processor - before) / IDLE


def _decide(server: Server, waiters: Waiters, count: int) -> list[float]:
    """From the person's key to the agent's answer, one after the other."""
    items = server.call("GET", f"/api/interactions?run={waiters.run}")["interactions"]
    return [_decided(server, waiters, item) for item in items[:count]]


def _decided(server: Server, waiters: Waiters, item: dict[str, Any]) -> float:
    started = time.monotonic()
    _answer(server, item)
    return waiters.arrival() - started


def _answer(server: Server, item: dict[str, Any]) -> None:
    server.call("POST", f"/api/interactions/{item['id']}/answer", {"decision": "allow", "digest": item["digest"]})


def _wake(server: Server, waiters: Waiters, count: int) -> float:
    started = time.monotonic()
    server.call("POST", f"/api/runs/{waiters.run}/end")
    return max(waiters.arrival() for _ in range(count)) - started


def _bare(count: int) -> float:
    """The floor: the same clients, and an application that does nothing but wait and answer."""
    argv = [sys.executable, str(WORKERS / "bare.py")]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    port = int(_pipe(process.stdout).readline())
    try:
        waiters = Worker("waiters", port, "run", "key", count)
        started = time.monotonic()
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        line.request("GET", "/wake")
        line.getresponse().read()
        line.close()
        woken = max(float(waiters.said().split()[1]) for _ in range(count)) - started
        waiters.close()
        return woken
    finally:
        process.terminate()
        process.wait(60)
        _pipe(process.stdout).close()


# --- how many in a second ----------------------------------------------------------------------------


def _rates(store: Store, _count: int) -> Part:
    """Seconds for one question that is asked, stored, found, answered, stored and told."""
    floors: list[float] = []
    taken: dict[int, list[float]] = {at_once: [] for at_once, _ in PAIRS}
    slowest: dict[int, list[float]] = {at_once: [] for at_once, _ in PAIRS}
    for _ in range(ROUNDS):
        floors.append(_floor())
        for at_once, each in PAIRS:
            with _service(store.new()) as server:
                whole, times = _pairs(server, at_once, each)
            taken[at_once].append(whole / (at_once * each))
            slowest[at_once].append(_late(sorted(times)))
    figures = [Figure("two commits of SQLite, the floor of one at a time", floors)]
    figures += [Figure(f"asked and answered, {at_once} at once, each", times) for at_once, times in taken.items()]
    figures += [Figure(f"… the slowest of a hundred, {at_once} at once", times) for at_once, times in slowest.items()]
    best = min(taken, key=lambda at_once: statistics.median(taken[at_once]))
    limit = Figure("limit", [_EACH] * ROUNDS)
    claims = [
        Claim(f"asked and answered, {best} at once, against 300 in a second", Figure("", taken[best]), limit, 1.0)
    ]
    return figures, claims


def _floor() -> float:
    """Of a question and its answer, if nothing were between them and the disk."""
    with tempfile.TemporaryDirectory() as folder:
        database = sqlite3.connect(f"{folder}/floor.db", isolation_level=None)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        database.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, body BLOB)")
        started = time.perf_counter()
        for _ in range(200):
            database.execute("INSERT INTO rows (body) VALUES (?)", (b"x" * 400,))
        database.close()
        return (time.perf_counter() - started) / 100


def _pairs(server: Server, at_once: int, each: int) -> tuple[float, list[float]]:
    worker = Worker("pairs", server.port, server.token, at_once, each)
    try:
        worker.go()
        found = json.loads(worker.said())
    finally:
        worker.close()
    return found["whole"], found["each"]


# --- a restart, and guests that nobody invited -------------------------------------------------------


def _restarted(store: Store, count: int) -> Part:
    """Killed with all of them waiting, and started again: until the last of them waits again."""
    with _service(store.new()) as server:
        waiters = Waiters(server, count, "again")
        try:
            server.kill()
            started = time.monotonic()
            server.start()
            items = server.call("GET", f"/api/interactions?run={waiters.run}")["interactions"]
            answering = [_timed(server, item) for item in items[: min(50, count // 2)]]
            attached = _until_back(waiters) - started
        finally:
            waiters.close()
    late = _late(sorted(answering))
    figures = [
        Figure(f"killed and started again: all {count:,} wait again", [attached]),
        Figure("… an answer meanwhile, the slowest of a hundred", [late]),
    ]
    claims = [
        _claim("after a restart all wait again, against 30 s", attached, _ATTACHED),
        _claim("an answer meanwhile, against 500 ms", late, 0.5),
    ]
    return figures, claims


def _until_back(waiters: Waiters) -> float:
    """When the last of them waits again, or has its answer."""
    missing = set(range(waiters.count))
    last = 0.0
    while missing:
        *what, number, at = waiters.said().split()
        assert what in ([], ["back"]), what
        if int(number) in missing:
            missing.remove(int(number))
            last = max(last, float(at))
    return last


def _timed(server: Server, item: dict[str, Any]) -> float:
    started = time.monotonic()
    _answer(server, item)
    return time.monotonic() - started


def _besieged(store: Store, count: int) -> Part:
    """Half send byte by byte, half do not read; a person works on: while they come, and when all are there."""
    many = min(count, 2000)
    with _service(store.new()) as server:
        run_id, key = server.new_run()
        before = server.megabytes
        hostile = Worker("hostile", server.port, run_id, key, many)
        try:
            coming = _until_all_wait(server, many // 2)
            times = sorted(_looked(server) for _ in range(200))
            grown = server.megabytes - before
        finally:
            hostile.close()
    figures = [
        Figure(f"a list, while {many:,} hostile clients come all at once, the slowest", [max(coming)]),
        Figure(f"a list, with {many:,} hostile clients", times),
    ]
    claims = [
        _claim("a list among hostile clients, the slowest of a hundred, against 100 ms", _late(times), _HOSTILE),
        _claim("memory for hostile clients, against 100 MB", grown, 100.0),
    ]
    return figures, claims


def _until_all_wait(server: Server, count: int) -> list[float]:
    """How long each look took until the questions of all who do not read were stored."""
    times = []
    while True:
        times.append(_looked(server))
        lines = server.read("/metrics").decode().splitlines()
        if next(int(line.split()[1]) for line in lines if line.startswith("fairlead_waiting_interactions")) >= count:
            return times


def _looked(server: Server) -> float:
    started = time.monotonic()
    server.call("GET", "/api/runs")
    time_taken = time.monotonic() - started
    time.sleep(0.02)
    return time_taken


def _claim(text: str, value: float, limit: float) -> Claim:
    return Claim(text, Figure(text, [value]), Figure("limit", [limit]), 1.0)
