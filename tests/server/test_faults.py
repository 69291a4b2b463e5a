"""Servers that die, databases that go away, full disks, people who press at once: nothing is lost or doubled."""

from __future__ import annotations

import asyncio
import os
import random
import resource
import signal
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fairlead.server import desk as desks
from fairlead.server.desk import Desk
from fairlead.server.postgres_store import PostgresStore
from fairlead.server.records import Interaction
from fairlead.server.sql_store import SqlStore
from fairlead.server.sqlite_store import SqliteStore
from tests.server.conftest import KINDS, Stores, answer, asked, new_run
from tests.server.postgres import Postgres
from tests.server.replica import UNREACHABLE, Replica, Reply

Run = tuple[str, str]
AWHILE = 60.0
"""Seconds; more than anything here takes on a busy machine."""


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of an empty store."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres").new_database())
    return str(tmp_path / "approvals.db")


def until(look: Callable[[], Any], seconds: float = AWHILE) -> Any:
    """What it finds, when it does."""
    pause, ends = threading.Event(), time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < ends, "it does not happen"
        pause.wait(0.01)
    return found


def persistent(call: Callable[[], Reply], *statuses: int) -> Reply:
    """As a client that does not give up: again after every failure that says nothing."""
    while True:
        try:
            got = call()
        except UNREACHABLE:
            time.sleep(0.02)
            continue
        if got.status in statuses:
            return got
        assert got.status == 503, got
        time.sleep(0.02)


# --- a server that is killed -------------------------------------------------------------------------


class Told(NamedTuple):
    """A decision that somebody was told."""

    request: str
    decision: str
    message: str


class Crowd:
    """Agents in pairs that ask the same, and people who race to answer; all of them remember what they were told."""

    def __init__(self, replicas: list[Replica], agents: int = 6, people: int = 4) -> None:
        self._replicas = replicas
        self._run = replicas[0].new_run()
        self._ending = threading.Event()
        self._gone = threading.Event()
        self.agents_told: list[Told] = []
        self.people_told: list[Told] = []
        self._pool = ThreadPoolExecutor(2 * agents + people)
        self._agents = [self._pool.submit(self._ask, number, twin) for number in range(agents) for twin in range(2)]
        self._people = [self._pool.submit(self._answer, number) for number in range(people)]

    def _ask(self, number: int, twin: int) -> None:
        chance = random.Random(number * 2 + twin)
        count = 0
        while not self._ending.is_set():
            count += 1
            request = f"{number}-{count}"
            got = persistent(lambda: self._any(chance).ask(self._run, request, f"ls {request}"), 200, 409)  # noqa: B023
            self.agents_told.append(Told(request, got.json["decision"], got.json.get("message", "")))

    def _any(self, chance: random.Random) -> Replica:
        return chance.choice(self._replicas)

    def _answer(self, number: int) -> None:
        """Each with words of their own, by which they know whether theirs was the one that counted."""
        chance = random.Random(number)
        while not self._gone.is_set():
            try:
                waiting = self._any(chance).pending()
            except (*UNREACHABLE, AssertionError):
                time.sleep(0.02)
                continue
            for item in waiting:
                self._press(item, chance, f"person {number} at {len(self.people_told)}")
            time.sleep(0.005)

    def _press(self, item: dict[str, Any], chance: random.Random, words: str) -> None:
        decision = chance.choice(("allow", "block"))
        press = lambda: self._any(chance).answer(item, decision, message=words)  # noqa: E731
        if persistent(press, 200, 409).status == 200:
            request = item["line"].removeprefix("ls ")
            self.people_told.append(Told(request, decision, words))

    @property
    def done(self) -> int:
        return len(self.agents_told)

    def until_more(self, count: int = 6) -> None:
        """Until so many more agents have gone on."""
        goal = self.done + count
        until(lambda: self.done >= goal or self._failed())

    def _failed(self) -> bool:
        return any(one.done() and one.exception() for one in (*self._agents, *self._people))

    def end(self) -> None:
        self._ending.set()
        try:
            for agent in self._agents:
                agent.result(AWHILE)
        finally:
            self._gone.set()
            for person in self._people:
                person.result(AWHILE)
            self._pool.shutdown()


def contradictions(crowd: Crowd, kept: list[Interaction]) -> list[str]:
    """What was lost, doubled or split between those who asked the same."""
    found = []
    stored = {one.request_id: one for one in kept}
    twice = [name for name, count in Counter(told.request for told in crowd.people_told).items() if count > 1]
    found += [f"doubled: two answers to {name} counted" for name in twice]
    found += [f"lost: the answer {told}" for told in crowd.people_told if not _is_kept(stored, told)]
    found += [f"lost: what the agent was told, {told}" for told in crowd.agents_told if not _is_kept(stored, told)]
    by_request: dict[str, set[tuple[str, str]]] = {}
    for told in crowd.agents_told:
        by_request.setdefault(told.request, set()).add((told.decision, told.message))
    return found + [f"split: {name} was told {said}" for name, said in by_request.items() if len(said) > 1]


def _is_kept(stored: dict[str, Interaction], told: Told) -> bool:
    one = stored.get(told.request)
    words = told.message.removeprefix("User rejected: ")
    return one is not None and (one.allow, one.message) == (told.decision == "allow", words)


def kept_in(url: str) -> list[Interaction]:
    store: SqlStore = PostgresStore(url) if url.startswith("postgresql:") else SqliteStore(url)
    try:
        if isinstance(store, SqliteStore):
            assert store._rows("PRAGMA integrity_check") == [("ok",)]
        pending = store.interactions(pending=True, limit=1_000_000)
        return [*pending, *store.interactions(pending=False, limit=1_000_000)]
    finally:
        store.close()


def _kill_again_and_again(start: Callable[..., Replica], url: str, kills: int) -> tuple[Crowd, list[Interaction]]:
    replica = start(store=url)
    crowd = Crowd([replica])
    try:
        for _ in range(kills):
            crowd.until_more()
            replica.kill(signal.SIGKILL)
            replica.start()
        crowd.until_more()
    finally:
        crowd.end()
    replica.kill()
    return crowd, kept_in(url)


def test_a_server_killed_under_load_loses_nothing(start: Callable[..., Replica], url: str) -> None:
    crowd, kept = _kill_again_and_again(start, url, 5)
    assert contradictions(crowd, kept) == []
    assert len(kept) >= 15


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_server_killed_two_hundred_times_loses_nothing(start: Callable[..., Replica], url: str) -> None:
    crowd, kept = _kill_again_and_again(start, url, 200)
    assert contradictions(crowd, kept) == []


def test_what_is_lost_doubled_or_split_is_found(start: Callable[..., Replica], url: str) -> None:
    """The control: each of these, made on purpose in a true history."""
    crowd, kept = _kill_again_and_again(start, url, 0)
    assert contradictions(crowd, kept) == []
    told, asked_by = crowd.people_told[0], crowd.agents_told[0]
    assert contradictions(crowd, [one for one in kept if one.request_id != told.request])
    assert contradictions(crowd, [one.but(allow=not one.allow) for one in kept])
    crowd.people_told.append(told)
    assert any("doubled" in one for one in contradictions(crowd, kept))
    crowd.agents_told.append(asked_by._replace(decision="neither"))
    assert any("split" in one for one in contradictions(crowd, kept))


def test_an_agent_waits_on_through_a_restart(start: Callable[..., Replica], url: str) -> None:
    """What is asked before it is answered after."""
    replica = start(store=url)
    run = replica.new_run()
    replica.asking(run, "1").leave()
    (item,) = replica.pending()
    for how in (signal.SIGKILL, signal.SIGTERM):
        replica.kill(how)
        replica.start()
        assert replica.pending() == [item]
    waiting = replica.asking(run, "1")
    replica.answer(item, "block", message="no")
    assert waiting.answer() == {"decision": "block", "message": "User rejected: no"}


# --- fifty people ------------------------------------------------------------------------------------


def _race(replica: Replica, pool: ThreadPoolExecutor, run: Run, number: int) -> None:
    waiting = replica.asking(run, str(number), f"ls {number}")
    (item,) = replica.pending()
    together = threading.Barrier(50)

    def press(person: int) -> Reply:
        together.wait(AWHILE)
        return replica.answer(item, "allow" if person % 2 else "block", message=f"person {person}")

    told = list(pool.map(press, range(50)))
    assert Counter(one.status for one in told) == {200: 1, 409: 49}
    (winner,) = (one.json for one in told if one.status == 200)
    losers = [one.json["interaction"] for one in told if one.status == 409]
    outcome = (winner["allow"], winner["message"], winner["decided_by"])
    assert {(one["allow"], one["message"], one["decided_by"]) for one in losers} == {outcome}
    assert waiting.answer()["message"].endswith(winner["message"])


def _races(start: Callable[..., Replica], url: str, rounds: int) -> None:
    replica = start(store=url)
    run = replica.new_run()
    with ThreadPoolExecutor(50) as pool:
        for number in range(rounds):
            _race(replica, pool, run, number)


def test_of_fifty_who_press_at_once_one_wins_and_all_see_who(start: Callable[..., Replica], url: str) -> None:
    _races(start, url, 4)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_of_fifty_one_wins_a_thousand_times(start: Callable[..., Replica], url: str) -> None:
    _races(start, url, 1000)


# --- several replicas on PostgreSQL ------------------------------------------------------------------


def _cut_listeners(postgres: Postgres) -> None:
    postgres.run(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
        "WHERE application_name = 'fairlead' AND query IN ('LISTEN fairlead', 'SELECT 1')"
    )


def _cut_everybody(postgres: Postgres) -> None:
    postgres.run("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'fairlead'")


def _crash(postgres: Postgres) -> None:
    postgres.stop(signal.SIGQUIT)
    postgres.start()


def _restart(postgres: Postgres) -> None:
    postgres.stop(signal.SIGINT)
    postgres.start()


FAULTS: dict[str, Callable[[Postgres], None]] = {
    "listeners cut": _cut_listeners,
    "all connections cut": _cut_everybody,
    "database crashes": _crash,
    "database restarts": _restart,
}


@pytest.fixture
def replicas(own_postgres: Postgres, start: Callable[..., Replica]) -> list[Replica]:
    url = own_postgres.new_database()
    return [start(store=url), start(store=url)]


def _wake_through_faults(postgres: Postgres, replicas: list[Replica], faults: list[str]) -> None:
    """A wait that began before each fault ends soon after an answer through another replica."""
    one, two = replicas
    run = one.new_run()
    for number, fault in enumerate(faults):
        one, two = two, one
        waiting = one.asking(run, str(number), f"ls {number}")
        FAULTS[fault](postgres)
        item = until(lambda: [found for found in _patiently(two) if found["run"]["id"] == run[0]])[0]  # noqa: B023
        assert persistent(lambda: two.answer(item), 200).status == 200  # noqa: B023
        answered = time.monotonic()
        assert waiting.answer() == {"decision": "allow"}
        assert time.monotonic() - answered < 10, fault


def _patiently(replica: Replica) -> list[dict[str, Any]]:
    return list(persistent(lambda: replica.call("GET", "/api/interactions"), 200).json["interactions"])


def test_waiters_wake_after_every_fault_of_the_database(own_postgres: Postgres, replicas: list[Replica]) -> None:
    _wake_through_faults(own_postgres, replicas, list(FAULTS))


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_waiters_wake_after_two_hundred_faults(own_postgres: Postgres, replicas: list[Replica]) -> None:
    _wake_through_faults(own_postgres, replicas, list(FAULTS) * 50)


def _faults_under_load(postgres: Postgres, replicas: list[Replica], rounds: int) -> None:
    crowd = Crowd(replicas, agents=4, people=3)
    try:
        for number in range(rounds):
            crowd.until_more()
            replicas[number % 2].kill(signal.SIGKILL)
            replicas[number % 2].start()
            crowd.until_more()
            list(FAULTS.values())[number % len(FAULTS)](postgres)
        crowd.until_more()
    finally:
        crowd.end()
    assert contradictions(crowd, kept_in(replicas[0].store)) == []


def test_replicas_and_a_database_that_die_under_load_lose_nothing(
    own_postgres: Postgres, replicas: list[Replica]
) -> None:
    _faults_under_load(own_postgres, replicas, 4)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_replicas_and_a_database_that_die_a_hundred_times_lose_nothing(
    own_postgres: Postgres, replicas: list[Replica]
) -> None:
    _faults_under_load(own_postgres, replicas, 100)


class Deaf(PostgresStore):
    """As behind a pooler that loses every notice."""

    def watch(self, changed: Callable[[str], None]) -> None:
        pass


async def _is_woken(stores: Stores, *, sweeps: bool) -> bool:
    """Whether a waiter of one replica hears of an answer through another, of which it gets no notice."""
    mine, other = stores.open_as(Deaf), stores.open()
    new_run(other)
    desk = Desk(mine)
    await desk.start()
    try:
        if not sweeps:
            assert desk._sweeper is not None
            desk._sweeper.cancel()
        waiter = desk.waiter(asked())
        question, _ = await desk.ask(asked())
        page = desk.watch()
        other.answer(question.id, answer(question))
        done, _ = await asyncio.wait([waiter], timeout=AWHILE if sweeps else 2 * desks.SWEEP)
        if done:
            told = await asyncio.wait_for(page.get(), AWHILE)
            assert told == waiter.result()
        return bool(done)
    finally:
        await desk.stop()
        stores._open.remove(mine)


async def test_the_sweep_finds_what_no_notice_told(postgres_stores: Stores) -> None:
    assert await _is_woken(postgres_stores, sweeps=True)


async def test_without_the_sweep_the_waiter_would_wait(postgres_stores: Stores) -> None:
    """The control."""
    assert not await _is_woken(postgres_stores, sweeps=False)


# --- what the desk promises --------------------------------------------------------------------------


@pytest.fixture
async def desk(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(desks, "SWEEP", 0.1)  # what only a sweep finds is found soon
    made = stores.open()
    new_run(made)
    found = Desk(made)
    await found.start()
    yield found
    stores._open.remove(made)
    await found.stop()


async def test_an_answer_wakes_its_waiters_though_the_one_who_gave_it_went_away(desk: Desk) -> None:
    waiter = desk.waiter(asked())
    question, _ = await desk.ask(asked())
    giving = asyncio.ensure_future(desk.answer(question.id, answer(question)))
    await asyncio.sleep(0)
    giving.cancel()
    told = await asyncio.wait_for(waiter, AWHILE)
    assert told.allow is True


async def test_who_comes_after_the_answer_does_not_wait(desk: Desk) -> None:
    question, _ = await desk.ask(asked())
    decided, _ = await desk.answer(question.id, answer(question))
    waiter = desk.waiter(asked())
    assert await desk.ask(asked()) == (decided, False)
    assert waiter.result() == decided
    desk.leave(asked(), waiter)
    assert desk.waiters == 0


async def test_an_answer_is_heard_from_the_moment_of_the_question(desk: Desk) -> None:
    """It may be given by another replica before we know that the question is stored."""
    waiter = desk.waiter(asked())
    question, _ = await desk.do(desk.store.ask, asked())
    decided, _ = await desk.answer(question.id, answer(question))
    assert waiter.result() == decided


async def test_what_expires_is_told_to_its_waiters(desk: Desk) -> None:
    question = asked(expires_in=0.01)
    waiter = desk.waiter(question)
    await desk.ask(question)
    told = await asyncio.wait_for(waiter, AWHILE)
    assert (told.state, told.allow) == ("expired", None)


async def test_each_change_is_told_once_to_each_page(desk: Desk) -> None:
    page = desk.watch()
    question, _ = await desk.ask(asked())
    decided, _ = await desk.answer(question.id, answer(question))
    await asyncio.sleep(8 * desks.SWEEP)  # several sweeps look at it again
    seen = [page.get_nowait() for _ in range(page.qsize())]
    assert seen == [question, decided]


async def test_a_page_that_does_not_read_is_told_to_start_over(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desks, "_UNREAD", 2)
    page = desk.watch()
    for number in range(4):
        await desk.ask(asked(str(number)))
    seen = [page.get_nowait() for _ in range(page.qsize())]
    assert len(seen) == 3
    assert seen[-1] is None


async def test_an_answer_whose_receipt_was_lost_wakes_its_waiters(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    waiter = desk.waiter(asked())
    question, _ = await desk.ask(asked())
    give = desk.store.answer_in_run

    def kept_and_broken(*values: Any) -> None:
        give(*values)
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(desk.store, "answer_in_run", kept_and_broken)
    with pytest.raises(sqlite3.OperationalError):
        await desk.answer(question.id, answer(question))
    assert (await asyncio.wait_for(waiter, AWHILE)).allow is True


async def test_pages_are_not_told_what_was_before(desk: Desk) -> None:
    """What was read before an answer, and is told after it."""
    page = desk.watch()
    question, _ = await desk.ask(asked(people=2))
    agreed, _ = await desk.answer(question.id, answer(question, "ann"))
    decided, _ = await desk.answer(question.id, answer(question, "bob"))
    if desk.store.shared:
        for old in (question, agreed, decided):
            desk._tell(old)
    assert [page.get_nowait() for _ in range(page.qsize())] == [question, agreed, decided]


async def test_what_another_process_has_changed_is_told_to_pages_and_waiters(desk: Desk) -> None:
    assert desk._sweeper is not None
    desk._sweeper.cancel()  # which would find it too
    waiters = [desk.waiter(asked(str(number))) for number in range(20)]
    questions = [(await desk.ask(asked(str(number))))[0] for number in range(20)]
    page = desk.watch()
    for question in questions:
        await desk.do(desk.store.answer, question.id, answer(question))
        desk._heard(question.id)
    told = [await asyncio.wait_for(waiter, AWHILE) for waiter in waiters]
    assert [one.id for one in told] == [question.id for question in questions]
    seen = [await asyncio.wait_for(page.get(), AWHILE) for _ in questions]
    assert {one.id for one in seen if one} == {question.id for question in questions}


# --- a disk that is full, a file that is locked, a database that is away -----------------------------

LIMIT = 400_000


def _small_disk() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, resource.RLIM_INFINITY))


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="the limit of another process can be changed on Linux")
def test_a_full_disk_is_said_and_nothing_is_promised(start: Callable[..., Replica], tmp_path: Path) -> None:
    url = str(tmp_path / "approvals.db")
    replica = start(store=url, before=_small_disk)
    run = replica.new_run()
    promised = []
    for number in range(1000):
        waiting = replica.asking(run, str(number), "x" * 5000)
        if waiting.status != 200:
            break
        promised.append(str(number))
        waiting.leave()
    assert waiting.status == 503
    refusal = waiting.answer()
    assert refusal["error"]["code"] == "unavailable"
    first = replica.pending()[0]
    assert replica.answer(first).status in (200, 503)
    resource.prlimit(replica.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    again = replica.asking(run, "after")
    assert again.status == 200
    again.leave()
    replica.kill()
    kept = {one.request_id for one in kept_in(url)}
    assert kept >= {*promised, "after"}


def test_a_locked_file_is_said_and_nothing_is_promised(start: Callable[..., Replica], tmp_path: Path) -> None:
    url = str(tmp_path / "approvals.db")
    replica = start(store=url)
    run = replica.new_run()
    waiting = replica.asking(run, "1")
    (item,) = replica.pending()
    other = sqlite3.connect(url, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    refused = replica.answer(item)
    assert (refused.status, refused.json["error"]["code"]) == (503, "unavailable")
    other.execute("ROLLBACK")
    other.close()
    assert persistent(lambda: replica.answer(item, "block"), 200).status == 200
    assert waiting.answer()["decision"] == "block"


def test_a_database_that_is_away_is_said_and_waiters_stay(own_postgres: Postgres, replicas: list[Replica]) -> None:
    one, two = replicas
    run = one.new_run()
    waiting = one.asking(run, "1")
    (item,) = one.pending()
    own_postgres.stop(signal.SIGQUIT)
    for replica in replicas:
        for refused in (replica.ask(run, "2"), replica.answer(item), replica.call("GET", "/api/interactions")):
            assert (refused.status, refused.json["error"]["code"]) == (503, "unavailable")
            assert "try again" in refused.json["error"]["message"]
    own_postgres.start()
    assert persistent(lambda: two.answer(item, "block"), 200).status == 200
    assert waiting.answer()["decision"] == "block"
    assert [kept.request_id for kept in kept_in(one.store)] == ["1"]


def test_a_server_does_not_start_without_its_database(
    own_postgres: Postgres, start: Callable[..., Replica], tmp_path: Path
) -> None:
    url = own_postgres.new_database()
    own_postgres.stop()
    with pytest.raises(AssertionError) as caught:
        start(store=url)
    assert "the database cannot be used" in str(caught.value)
    assert "Traceback" not in str(caught.value)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_full_disk_and_a_locked_file_twenty_times(start: Callable[..., Replica], tmp_path: Path) -> None:
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        if hasattr(resource, "prlimit"):
            test_a_full_disk_is_said_and_nothing_is_promised(start, folder)
        (folder / "approvals.db").rename(folder / "full.db")
        test_a_locked_file_is_said_and_nothing_is_promised(start, folder)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_database_that_is_away_twenty_times(own_postgres: Postgres, start: Callable[..., Replica]) -> None:
    for _ in range(20):
        url = own_postgres.new_database()
        replicas = [start(store=url), start(store=url)]
        test_a_database_that_is_away_is_said_and_waiters_stay(own_postgres, replicas)
        for replica in replicas:
            replica.kill()


# --- one writer --------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="the open files of a process are seen in /proc")
def test_one_connection_writes(start: Callable[..., Replica], tmp_path: Path) -> None:
    """SQLite before 3.51.3 can break a file that two connections checkpoint at once: there is no second one."""
    url = str(tmp_path / "approvals.db")
    replica = start(store=url)
    run = replica.new_run()
    with ThreadPoolExecutor(8) as pool:
        asking: list[Future[Any]] = [pool.submit(replica.asking, run, str(number)) for number in range(30)]
        listing = [pool.submit(replica.pending) for _ in range(20)]
        assert _opened(replica.pid, url) == 1
        for listed in listing:
            listed.result()
        for waiting in asking:
            waiting.result().leave()
    assert _opened(replica.pid, url) == 1
    assert _opened(os.getpid(), url) == 0
    mine = SqliteStore(url)
    assert _opened(os.getpid(), url) == 1
    mine.close()


def _opened(pid: int, path: str) -> int:
    def targets() -> Iterator[str]:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            try:
                yield str(link.readlink())
            except OSError:
                continue

    return list(targets()).count(path)
