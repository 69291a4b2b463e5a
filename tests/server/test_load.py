"""Many at once: who waits through a restart, who is woken, who is kept from nobody by hostile clients.

The clients are those of the benchmarks; what things cost is measured there.
"""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import KINDS
from tests.server.replica import Replica

WORKERS = Path(__file__).resolve().parents[2] / "benchmarks" / "workers"
linux = pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is seen in /proc")


@pytest.fixture(params=KINDS)
def replica(request: pytest.FixtureRequest, start: Callable[..., Replica]) -> Replica:
    url = request.getfixturevalue("postgres").new_database() if request.param == "postgres" else ""
    return start(store=url)


class Crowd:
    """So many agents in one process; they wait."""

    def __init__(self, name: str, *words: object) -> None:
        argv = [sys.executable, str(WORKERS / f"{name}.py"), *map(str, words)]
        self._process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self._out = self._process.stdout
        said = self.said()
        if said != ["ready"]:
            self.close()
        assert said == ["ready"]

    def said(self) -> list[str]:
        return self._out.readline().split()

    def answered(self, count: int) -> set[int]:
        """The numbers of the next so many that have their answer."""
        found: set[int] = set()
        while len(found) < count:
            line = self.said()
            assert line, "the agents have ended"
            assert line[0] != "error", line
            if line[0] != "back":
                found.add(int(line[0]))
        return found

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(60)
        self._out.close()


@contextmanager
def crowd(name: str, *words: object) -> Iterator[Crowd]:
    made = Crowd(name, *words)
    try:
        yield made
    finally:
        made.close()


def megabytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def answer_all(replica: Replica, count: int) -> None:
    """The inbox shows some at a time."""
    left = count
    while left:
        for item in replica.pending():
            assert replica.answer(item).status == 200
            left -= 1


# --- woken -------------------------------------------------------------------------------------------


def test_all_who_wait_are_woken_when_their_run_ends(replica: Replica) -> None:
    run, key = replica.new_run()
    with crowd("waiters", replica.port, run, key, 300) as agents:
        assert replica.call("POST", f"/api/runs/{run}/end", {}).status == 200
        assert agents.answered(300) == set(range(300))
    assert replica.pending() == []


# --- a restart ---------------------------------------------------------------------------------------


def _through_restarts(replica: Replica, count: int, restarts: int) -> None:
    """Every agent comes back by itself and has its answer in the end; none sees an error."""
    run, key = replica.new_run()
    with crowd("waiters", replica.port, run, key, count, "again") as agents:
        for _ in range(restarts):
            replica.kill()
            replica.start()
        answer_all(replica, count)
        assert agents.answered(count) == set(range(count))


def test_all_who_wait_come_back_after_a_restart(replica: Replica) -> None:
    _through_restarts(replica, 100, 2)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_ten_thousand_come_back_after_a_restart(replica: Replica) -> None:
    _through_restarts(replica, 10_000, 1)


def test_who_does_not_come_back_is_seen(replica: Replica) -> None:
    """The control: agents that give up when their line breaks."""
    run, key = replica.new_run()
    with crowd("waiters", replica.port, run, key, 5) as agents:
        replica.kill()
        assert agents.said()[0] == "error"


# --- hostile clients ---------------------------------------------------------------------------------


def _among_hostile(replica: Replica, count: int) -> None:
    """A person and an agent get on with their work, and memory stays bounded."""
    run = replica.new_run()
    before = megabytes(replica.pid)
    other = replica.new_run()
    with crowd("hostile", replica.port, *other, count):
        for number in range(10):
            waiting = replica.asking(run, str(number))
            (item,) = replica.call("GET", f"/api/interactions?run={run[0]}").json["interactions"]
            assert replica.answer(item).status == 200
            assert waiting.answer() == {"decision": "allow"}
        assert megabytes(replica.pid) - before < 50 + 0.1 * count


@linux
def test_hostile_clients_keep_nobody_from_their_work(replica: Replica) -> None:
    _among_hostile(replica, 100)


@linux
@pytest.mark.soak
@pytest.mark.timeout(600)
def test_two_thousand_hostile_clients_keep_nobody_from_their_work(replica: Replica) -> None:
    _among_hostile(replica, 2000)


def test_a_page_that_never_reads_keeps_nobody_from_their_work(replica: Replica) -> None:
    run = replica.new_run()
    deaf = [http.client.HTTPConnection("127.0.0.1", replica.port, timeout=60) for _ in range(5)]
    for line in deaf:
        line.request("GET", "/api/stream", headers={"Authorization": f"Bearer {replica.token}"})
    for number in range(20):
        waiting = replica.asking(run, str(number), "x" * 200_000)
        (item,) = replica.call("GET", f"/api/interactions?run={run[0]}").json["interactions"]
        assert replica.answer(item).status == 200
        assert waiting.answer() == {"decision": "allow"}
    for line in deaf:
        line.close()


# --- a long time -------------------------------------------------------------------------------------


def _day(replica: Replica, waits: int, until: Callable[[int], bool]) -> tuple[int, float, float]:
    """Agents that ask again and again, one person: how many answers, memory when it is warm, and at the end."""
    run, ending = replica.new_run(), threading.Event()
    counts = [0] * waits

    def agent(number: int) -> None:
        while not ending.is_set():
            counts[number] += 1
            told = replica.ask(run, f"{number}-{counts[number]}", f"ls {number}", timeout=600)
            assert told.json == {"decision": "allow"}, told

    warm = 0.0
    with ThreadPoolExecutor(waits) as pool:
        working = [pool.submit(agent, number) for number in range(waits)]
        answered = 0
        while not until(answered):
            answered += _some(replica)
            if not warm and answered >= 3 * waits:
                warm = megabytes(replica.pid)
            assert not any(one.done() for one in working)
        ending.set()
        while not all(one.done() for one in working):
            answered += _some(replica)
        for one in working:
            one.result()
    return answered, warm, megabytes(replica.pid)


def _some(replica: Replica) -> int:
    items = replica.pending()
    for item in items:
        assert replica.answer(item).status == 200
    return len(items)


@linux
def test_memory_does_not_grow_with_what_was_answered(replica: Replica) -> None:
    answered, warm, end = _day(replica, 10, lambda count: count >= 200)
    assert answered >= 200
    assert end - warm < 20, f"{warm:.0f} MB became {end:.0f} MB"


@linux
@pytest.mark.soak
@pytest.mark.timeout(4200)
def test_an_hour_of_a_thousand_waits(replica: Replica) -> None:
    run, key = replica.new_run()
    seconds = float(os.environ.get("SOAK_SECONDS", "3600"))
    with crowd("waiters", replica.port, run, key, 1000) as idle:
        ends = time.monotonic() + seconds
        answered, warm, end = _day_beside(replica, run, lambda _count: time.monotonic() > ends)
        assert replica.call("POST", f"/api/runs/{run}/end", {}).status == 200
        assert idle.answered(1000) == set(range(1000))
    assert answered > seconds
    assert end < warm * 1.05 + 5, f"{warm:.0f} MB became {end:.0f} MB"


def _day_beside(replica: Replica, waiting: str, until: Callable[[int], bool]) -> tuple[int, float, float]:
    """Ten decisions in a second, beside those who wait."""
    run, answered, warm = replica.new_run(), 0, 0.0
    while not until(answered):
        begun = time.monotonic()
        agent: Any = replica.asking(run, str(answered), f"ls {answered}")
        (item,) = replica.call("GET", f"/api/interactions?run={run[0]}").json["interactions"]
        assert replica.answer(item).status == 200
        assert agent.answer() == {"decision": "allow"}
        answered += 1
        if answered == 300:
            warm = megabytes(replica.pid)
        time.sleep(max(0.0, 0.1 - (time.monotonic() - begun)))
    return answered, warm, megabytes(replica.pid)
