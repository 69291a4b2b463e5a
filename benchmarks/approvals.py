"""The approval service under load: many agents that wait, how soon an answer arrives, how many fit into a second."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measure import Claim, Figure, Suite

WAITERS = Path(__file__).parent / "workers" / "waiters.py"
IDLE = 15.0
"""Seconds of watching: the interval in which every waiter is kept alive once."""
KEPT_OPEN = 10.0
"""Seconds after which a line that nobody used is not used again: the server may hang up."""
DECISIONS = 200
RATE_THREADS, RATE_EACH = 8, 40
# Sized for two cores that the agents of the benchmark share with the server.
_MEGABYTES = 300.0
_IDLE_SHARE = 0.05
_LATENCY_MEDIAN, _LATENCY_LAST = 0.010, 0.050
_WAKE_ALL = 2.0
_EACH = 1 / 300


class Server:
    def __init__(self, home: Path) -> None:
        env = {"HOME": str(home), "PATH": os.environ["PATH"]}
        argv = [sys.executable, "-m", "fairlead", "serve", "--port", "0", "--json"]
        self._process = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        said = json.loads(b"".join(iter(self._process.stdout.readline, b"}\n")) + b"}")
        self.port = int(said["address"].rpartition(":")[2])
        self._token = (home / ".local" / "state" / "fairlead" / "token").read_text()
        self._lines = threading.local()

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(60)

    def call(self, method: str, path: str, fields: object = None) -> Any:
        line, used = getattr(self._lines, "line", (None, 0.0))
        if line is None or time.monotonic() - used > KEPT_OPEN:
            line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        self._lines.line = (line, time.monotonic())
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        line.request(method, path, json.dumps(fields or {}), headers)
        return json.loads(line.getresponse().read())

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


class Waiters:
    def __init__(self, server: Server, count: int) -> None:
        self.run, key = server.new_run()
        argv = [sys.executable, str(WAITERS), str(server.port), self.run, key, str(count)]
        self._process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self._out = self._process.stdout
        assert self._out.readline() == "ready\n", "the agents could not all wait"

    def arrival(self) -> float:
        return float(self._out.readline().split()[1])

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(60)
        self._out.close()


@contextmanager
def _service() -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as home:
        server = Server(Path(home))
        try:
            yield server
        finally:
            server.close()


def run(rounds: int) -> list[Suite]:
    """So many agents wait at once."""
    with _service() as server:
        waiters = Waiters(server, rounds)
        try:
            memory, idle = server.megabytes, _idle(server)
            latencies = _decide(server, waiters, min(DECISIONS, rounds // 2))
            woken = _wake(server, waiters, rounds - len(latencies))
        finally:
            waiters.close()
    with _service() as server:
        each = _rate(server)
    return [_suite(rounds, memory, idle, latencies, woken, each)]


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
    server.call("POST", f"/api/interactions/{item['id']}/answer", {"decision": "allow", "digest": item["digest"]})
    return waiters.arrival() - started


def _wake(server: Server, waiters: Waiters, count: int) -> float:
    started = time.monotonic()
    server.call("POST", f"/api/runs/{waiters.run}/end")
    return max(waiters.arrival() for _ in range(count)) - started


def _rate(server: Server) -> float:
    """Seconds for one question that is asked, stored, found, answered, stored and told."""
    threads = [threading.Thread(target=_ask_and_answer, args=(server,)) for _ in range(RATE_THREADS)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (time.monotonic() - started) / (RATE_THREADS * RATE_EACH)


def _ask_and_answer(server: Server) -> None:
    run_id, key = server.new_run()
    agent = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for number in range(RATE_EACH):
        asked = {"run_id": run_id, "type": "approval", "tool": "Bash", "request_id": str(number), "payload": {}}
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        agent.request("POST", "/api/internal/interaction-request", json.dumps(asked), headers)
        answer = agent.getresponse()
        (item,) = server.call("GET", f"/api/interactions?run={run_id}")["interactions"]
        server.call("POST", f"/api/interactions/{item['id']}/answer", {"decision": "allow", "digest": item["digest"]})
        assert b"allow" in answer.read()
    agent.close()


def _suite(count: int, memory: float, idle: float, latencies: Sequence[float], woken: float, each: float) -> Suite:
    ordered = sorted(latencies)
    median, late = ordered[len(ordered) // 2], ordered[-max(1, len(ordered) // 100)]
    figures = {
        "an answer reaches its agent": Figure("an answer reaches its agent", ordered),
        "the slowest of a hundred": Figure("the slowest of a hundred", [late]),
        "all are woken": Figure(f"all {count - len(ordered):,} are woken", [woken]),
        "asked and answered": Figure("asked and answered, eight at once", [each]),
    }
    claims = [
        _claim(f"memory with {count:,} waiting, against {_MEGABYTES:.0f} MB", memory, _MEGABYTES),
        _claim(f"idle with {count:,} waiting, against 5 % of a core", idle, _IDLE_SHARE),
        _claim("an answer reaches its agent, against 10 ms", median, _LATENCY_MEDIAN),
        _claim("the slowest of a hundred, against 50 ms", late, _LATENCY_LAST),
        _claim("all are woken, against 2 s", woken, _WAKE_ALL),
        _claim("asked and answered, against 300 in a second", each, _EACH),
    ]
    return Suite(f"the approval service: {count:,} agents wait", 1e3, "ms", list(figures.values()), claims)


def _claim(text: str, value: float, limit: float) -> Claim:
    return Claim(text, Figure(text, [value]), Figure("limit", [limit]), 1.0)
