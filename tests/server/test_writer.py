"""Calls that are committed together: none is told before it is on the disk, and each fails by itself."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.server import writer as writers
from fairlead.server.postgres_store import PostgresStore
from fairlead.server.records import Answer, Refused
from fairlead.server.sqlite_store import SqliteStore
from fairlead.server.writer import Writer
from tests.server.conftest import START, Clock, Stores, answer, asked, new_run
from tests.server.postgres import Postgres

AWHILE = 60.0
"""Seconds; more than anything here takes on a busy machine."""
LARGE = 5000


class Watched:
    """Stops in front of each COMMIT where it is told to; counts transactions."""

    transactions = 0
    watching = False

    def watch_commits(self) -> None:
        self.at_the_gate = threading.Event()
        self.gate = threading.Event()
        self.watching = True

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self.transactions += 1
        with super()._alone():  # type: ignore[misc]
            yield
            self.before_commit()

    def before_commit(self) -> None:
        if self.watching:
            self.at_the_gate.set()
            assert self.gate.wait(AWHILE)


class WatchedSqlite(Watched, SqliteStore):
    pass


class WatchedPostgres(Watched, PostgresStore):
    pass


@pytest.fixture(autouse=True)
def _as_long_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a group would be over before all have joined."""
    monkeypatch.setattr(writers, "LONGEST", 3600.0)


@pytest.fixture
def sqlite_stores(tmp_path: Path) -> Iterator[Stores]:
    made = Stores("sqlite", str(tmp_path / "approvals.db"))
    yield made
    made.close_all()


@pytest.fixture
def watched(stores: Stores) -> Any:
    made = stores.open_as(WatchedPostgres if stores.kind == "postgres" else WatchedSqlite, Clock())
    new_run(made)
    return made


class Busy:
    """A writer whose thread is held, so that what comes is a group."""

    def __init__(self, store: Any) -> None:
        self.writer = Writer(store)
        self._held, self._go_on = threading.Event(), threading.Event()
        self.writer.do(self._hold)

    def _hold(self) -> None:
        self._held.set()
        assert self._go_on.wait(AWHILE)

    async def until_held(self) -> None:
        """The thread has taken it, and it alone."""
        assert await asyncio.to_thread(self._held.wait, AWHILE)

    def let_go(self) -> None:
        self._go_on.set()


@contextmanager
def _forgotten(stores: Stores, store: Any) -> Iterator[None]:
    """The writer closes it."""
    stores._open.remove(store)
    yield


async def together(stores: Stores, store: Any, works: list[Callable[[], Any]]) -> list[Any]:
    """What came of each, when all of them came while the thread was busy."""
    busy = Busy(store)
    with _forgotten(stores, store):
        await busy.until_held()
        waiting = [busy.writer.do(work) for work in works]
        busy.let_go()
        async with asyncio.timeout(AWHILE):
            found = await asyncio.gather(*waiting, return_exceptions=True)
        await busy.writer.end()
    return found


def _ask(store: Any, name: str, command: str = "ls", **fields: Any) -> Callable[[], Any]:
    return lambda: store.ask(asked(name, command, **fields))


def _names(stores: Stores) -> set[str]:
    again = stores.open(Clock())
    return {one.request_id for one in again.interactions(pending=True)}


async def test_what_came_while_the_disk_was_busy_is_one_transaction(stores: Stores, watched: Any) -> None:
    before = watched.transactions
    found = await together(stores, watched, [_ask(watched, str(number)) for number in range(20)])
    assert all(new for _, new in found)
    assert watched.transactions == before + 1
    assert _names(stores) == {str(number) for number in range(20)}


async def test_one_by_one_each_is_a_transaction(stores: Stores, watched: Any) -> None:
    """The control of the count."""
    before = watched.transactions
    writer = Writer(watched)
    with _forgotten(stores, watched):
        for number in range(5):
            await writer.do(_ask(watched, str(number)))
        await writer.end()
    assert watched.transactions == before + 5


async def test_nothing_is_told_before_it_is_on_the_disk(stores: Stores, watched: Any) -> None:
    """Neither what was done, nor what was seen of it; what was seen before is told at once."""
    watched.watch_commits()
    busy = Busy(watched)
    with _forgotten(stores, watched):
        await busy.until_held()
        before = busy.writer.do(watched.runs)
        works = [_ask(watched, "1"), lambda: watched.interactions(pending=True), _ask(watched, "1", "other")]
        after = [busy.writer.do(work) for work in works]
        busy.let_go()
        assert await asyncio.wait_for(before, AWHILE)
        await asyncio.to_thread(watched.at_the_gate.wait, AWHILE)
        await asyncio.sleep(0)
        assert not any(one.done() for one in after)
        watched.gate.set()
        made, seen, refused = await asyncio.gather(*after, return_exceptions=True)
        await busy.writer.end()
    assert [one.id for one in seen] == [made[0].id]  # type: ignore[index, union-attr]
    assert isinstance(refused, Refused)
    assert refused.status == 422


def _broken(store: Any) -> Callable[[], Any]:
    def work() -> None:
        with store._transaction():
            store._change("UPDATE runs SET title = 'half'")
            store._change("INSERT INTO nowhere VALUES (1)")

    return work


def _slip() -> None:
    raise ZeroDivisionError


async def test_each_fails_by_itself(stores: Stores, watched: Any) -> None:
    works = [
        _ask(watched, "1"),
        _ask(watched, "1", "rm -rf /"),
        _broken(watched),
        _ask(watched, "2"),
        _ask(watched, "3", run_id="nobody's"),
        _slip,
        _ask(watched, "4"),
    ]
    one, other_body, broken, two, nobodys, slip, four = await together(stores, watched, works)
    assert [new for _, new in (one, two, four)] == [True] * 3
    assert (other_body.status, nobodys.status) == (422, 404)
    assert isinstance(broken, (sqlite3.Error, Refused))
    assert isinstance(slip, ZeroDivisionError)
    assert _names(stores) == {"1", "2", "4"}
    left = stores.open().run("run")
    assert left is not None
    assert left.title == "a title"


def _lose_sqlite(store: Any) -> None:
    """As SQLite does by itself after some errors of the disk."""
    with store._transaction():
        store._database.execute("ROLLBACK")
        raise sqlite3.OperationalError("disk I/O error")


async def test_when_the_database_gives_up_the_group_each_is_done_alone(
    stores: Stores, watched: Any, request: pytest.FixtureRequest
) -> None:
    lost = 0

    def lose() -> str:
        nonlocal lost
        lost += 1
        if lost > 1:
            return "done alone"
        if stores.kind == "sqlite":
            _lose_sqlite(watched)
        with watched._transaction():
            _cut(request.getfixturevalue("postgres"), stores.url)
            watched._change("UPDATE runs SET title = 'half'")
        return "never here"

    works = [_ask(watched, "1"), _ask(watched, "2"), lose, _ask(watched, "3"), _ask(watched, "4")]
    one, two, alone, three, four = await together(stores, watched, works)
    assert alone == "done alone"
    assert [new for _, new in (one, two, three, four)] == [True] * 4
    assert _names(stores) == {"1", "2", "3", "4"}


def _cut(postgres: Postgres, url: str) -> None:
    database = url.rpartition("/")[2]
    postgres.run(f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{database}'")


class Small(SqliteStore):
    """A disk that has no room for large ones."""

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with super()._alone():
            yield
            if self._rows("SELECT 1 FROM interactions WHERE length(body) > ?", LARGE):
                raise sqlite3.OperationalError("database or disk is full")


async def test_who_asks_too_much_for_the_disk_fails_alone(sqlite_stores: Stores) -> None:
    stores = sqlite_stores
    small = stores.open_as(Small)
    new_run(small)
    works = [_ask(small, "1"), _ask(small, "2", "x" * LARGE), _ask(small, "3")]
    one, large, three = await together(stores, small, works)
    assert (one[1], three[1]) == (True, True)
    assert isinstance(large, sqlite3.OperationalError)
    assert _names(stores) == {"1", "3"}


async def test_a_commit_that_may_have_happened_is_not_tried_again(postgres: Postgres, postgres_stores: Stores) -> None:
    """All are told to try again; with the same id they find what there is."""
    store = postgres_stores.open_as(WatchedPostgres, Clock())
    new_run(store)
    before = store.transactions
    cut = lambda: _cut(postgres, postgres_stores.url)  # noqa: E731
    store.before_commit = cut
    found = await together(postgres_stores, store, [_ask(store, str(number)) for number in range(3)])
    assert [(one.status, one.code) for one in found] == [(503, "unavailable")] * 3
    assert store.transactions == before + 1
    assert _names(postgres_stores) == set()


async def test_a_locked_file_keeps_nobody_waiting_twice(sqlite_stores: Stores) -> None:
    stores, tries = sqlite_stores, 0

    class Counted(SqliteStore):
        def _alone(self) -> Any:
            nonlocal tries
            tries += 1
            return super()._alone()

    store = Counted(stores.url, patience=0.01)
    stores._open.append(store)
    new_run(store)
    before = tries
    other = sqlite3.connect(stores.url, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    found = await together(stores, store, [_ask(store, str(number)) for number in range(5)])
    other.close()
    assert all(isinstance(one, sqlite3.OperationalError) for one in found)
    assert tries == before + 1


async def test_a_group_does_not_grow_without_end(stores: Stores, watched: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "MOST", 4)
    before = watched.transactions
    found = await together(stores, watched, [_ask(watched, str(number)) for number in range(10)])
    assert all(new for _, new in found)
    assert watched.transactions == before + 3


async def test_a_group_does_not_last_without_end(stores: Stores, watched: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call is longer than a group may be."""
    monkeypatch.setattr(writers, "LONGEST", -1.0)
    before = watched.transactions
    found = await together(stores, watched, [_ask(watched, str(number)) for number in range(5)])
    assert all(new for _, new in found)
    assert watched.transactions == before + 5


async def test_what_was_asked_for_before_the_end_is_done_and_nothing_after_it(stores: Stores, watched: Any) -> None:
    busy = Busy(watched)
    with _forgotten(stores, watched):
        await busy.until_held()
        waiting = [busy.writer.do(_ask(watched, str(number))) for number in range(5)]
        ending = asyncio.ensure_future(busy.writer.end())
        await asyncio.sleep(0)
        with pytest.raises(Refused, match="ending"):
            busy.writer.do(watched.runs)
        busy.let_go()
        await asyncio.wait_for(ending, AWHILE)
        assert all(new for _, new in await asyncio.gather(*waiting))
    assert _names(stores) == {str(number) for number in range(5)}


async def test_a_writer_that_was_never_used_ends(stores: Stores, watched: Any) -> None:
    with _forgotten(stores, watched):
        await Writer(watched).end()


async def test_what_nobody_waits_for_any_more_is_not_begun(stores: Stores, watched: Any) -> None:
    busy = Busy(watched)
    with _forgotten(stores, watched):
        await busy.until_held()
        left = busy.writer.do(_ask(watched, "left"))
        kept = busy.writer.do(_ask(watched, "kept"))
        left.cancel()
        busy.let_go()
        await asyncio.wait_for(kept, AWHILE)
        await busy.writer.end()
    assert _names(stores) == {"kept"}


# --- together is as alone ----------------------------------------------------------------------------

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.sampled_from("abc"), st.sampled_from(("ls", "rm"))),
        st.tuples(st.just("answer"), st.sampled_from("abc"), st.booleans()),
        st.tuples(st.just("end"), st.just(""), st.just("")),
        st.tuples(st.just("broken"), st.just(""), st.just("")),
    ),
    min_size=2,
    max_size=8,
)


def _step(store: Any, step: tuple[str, str, Any]) -> Any:
    what, name, more = step
    if what == "ask":
        found, new = store.ask(asked(name, more))
        return found.request_id, found.state, found.allow, new
    if what == "answer":
        known = store._one("request_id = ?", name)
        said = Answer(allow=more, by="ann", digest=known.digest if known else "")
        return store.answer(known.id if known else "none", said).state
    if what == "end":
        return sorted(one.request_id for one in store.end_run("run"))
    return _broken(store)()


def _outcome(error: Exception) -> str:
    return f"refused {error.status}" if isinstance(error, Refused) and error.status != 503 else "broken"


def _one_by_one(store: Any, steps: list[Any]) -> list[Any]:
    found: list[Any] = []
    for step in steps:
        try:
            found.append(_step(store, step))
        except Exception as error:  # noqa: BLE001  # what came of it
            found.append(_outcome(error))
    return found


def _in_a_group(store: Any, steps: list[Any]) -> list[Any]:
    with store.together() as group:
        found = _one_by_one(store, steps)
        assert not group.lost
    return found


def _left(store: Any) -> list[Any]:
    rows = store._rows("SELECT request_id, state, allow, message FROM interactions ORDER BY request_id")
    return [rows, store._rows("SELECT what, who FROM audit ORDER BY number"), store.runs()]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_a_group_does_what_its_calls_do_one_by_one(stores: Stores, steps: list[Any]) -> None:
    store = stores.open(Clock())
    try:
        outcomes = []
        for way in (_one_by_one, _in_a_group):
            for table in ("audit", "interactions", "runs"):
                store._change(f"DELETE FROM {table}")
            new_run(store)
            with suppress(ZeroDivisionError):
                outcomes.append((way(store, steps), _left(store)))
        assert outcomes[0] == outcomes[1]
    finally:
        stores.close(store)


def test_half_a_step_stays_out_of_the_group(stores: Stores) -> None:
    """The control of the parts: what one call has half done is not there, though the group is committed."""
    store = stores.open(Clock())
    new_run(store)

    def half() -> None:
        with store._transaction():
            store._change("UPDATE runs SET title = 'half'")
            raise ZeroDivisionError

    with store.together() as group:
        question, _ = store.ask(asked())
        with pytest.raises(ZeroDivisionError):
            half()
        decided = store.answer(question.id, answer(question))
    assert group.begun
    run = store.run("run")
    assert run is not None
    assert (run.title, run.created_at) == ("a title", START)
    assert store.interaction(question.id) == decided


# --- who only looks ----------------------------------------------------------------------------------


async def test_who_looks_comes_first_and_does_not_wait_for_the_disk(stores: Stores, watched: Any) -> None:
    watched.watch_commits()
    busy = Busy(watched)
    with _forgotten(stores, watched):
        await busy.until_held()
        asking = [busy.writer.do(_ask(watched, str(number))) for number in range(20)]
        look = busy.writer.do(lambda: watched.interactions(pending=True), looks=True)
        busy.let_go()
        assert await asyncio.wait_for(look, AWHILE) == []
        await asyncio.to_thread(watched.at_the_gate.wait, AWHILE)
        assert not any(one.done() for one in asking)
        watched.gate.set()
        assert all(new for _, new in await asyncio.gather(*asking))
        await busy.writer.end()


# --- statements that travel together -----------------------------------------------------------------


def test_what_failed_on_the_way_is_said_and_nothing_behind_it_is_done(postgres_stores: Stores) -> None:
    store = postgres_stores.open(Clock())
    new_run(store)

    def change() -> None:
        with store._transaction():
            store._change_later("UPDATE runs SET title = 'first'")
            store._change_later("UPDATE nowhere SET title = 'second'")
            store._change_later("UPDATE runs SET title = 'third'")

    with pytest.raises(Refused, match="nowhere"):
        change()
    (run,) = store.runs()
    assert run.title == "a title"


def test_a_statement_is_the_same_when_it_comes_again(postgres_stores: Stores) -> None:
    """Sent as it is, prepared, and used again: with every kind of value."""
    store = postgres_stores.open(Clock())
    values = ("ä\u202e'\"\\{}", "", b"\x00\xff'", 2**40, -1, 1.5, True, False, None)
    kinds = ("text", "text", "bytea", "bigint", "integer", "double precision", "boolean", "boolean", "text")
    select = f"SELECT {', '.join(f'?::{kind}' for kind in kinds)}"
    for _ in range(4):
        assert store._rows(select, *values) == [values]
        assert store._rows("SELECT unnest(?::text[])", list(values[:2])) == [(values[0],), (values[1],)]


def test_what_was_not_sent_is_forgotten_with_its_transaction(postgres_stores: Stores) -> None:
    store = postgres_stores.open(Clock())
    new_run(store)

    def change() -> None:
        with store._transaction():
            store._change_later("UPDATE runs SET title = 'half'")
            _slip()

    with pytest.raises(ZeroDivisionError):
        change()
    store.ask(asked("1"))
    (run,) = store.runs()
    assert run.title == "a title"


def test_many_names_are_one_statement(postgres_stores: Stores) -> None:
    store = postgres_stores.open(Clock())
    new_run(store)
    questions = [store.ask(asked(str(number)))[0] for number in range(450)]
    others = ['"', "\\", ",", "{}", "", "a b"]
    assert {one.id for one in store.named([one.id for one in questions] + others)} == {one.id for one in questions}
    heard: list[str] = []
    together = threading.Event()

    def changed(name: str) -> None:
        heard.append(name)
        if len(heard) >= len(questions):
            together.set()

    other = postgres_stores.open(Clock())
    other.watch(changed)
    listening = "query IN ('LISTEN fairlead', 'SELECT 1') AND state = 'idle' AND datname = current_database()"
    while store._rows(f"SELECT count(*) FROM pg_stat_activity WHERE {listening}") == [(0,)]:
        pass
    store.end_run("run")
    assert together.wait(AWHILE)
    assert sorted(heard) == sorted(one.id for one in questions)
