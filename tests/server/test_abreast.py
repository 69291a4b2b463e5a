"""Calls that walk side by side through a shared database: quicker than one by one, and no different."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.server.desk import Desk
from fairlead.server.postgres_line import Line
from fairlead.server.records import Answer, Asked, Refused
from fairlead.server.transactions import Walk
from fairlead.server.writer import _abreast
from tests.server.conftest import Clock, Stores, answer, asked, new_run
from tests.server.postgres import Postgres
from tests.server.test_writer import AWHILE, Busy, WatchedPostgres, _cut, _forgotten

WAITING = ("a", "b", "c")


class Work:
    """A call in both of its forms."""

    def __init__(self, work: Callable[[], Any], steps: Callable[[], Any], about: str) -> None:
        self.work, self.steps, self.about = work, steps, about


def _asking(store: Any, question: Asked, about: str = "") -> Work:
    about = about or f"{question.run_id} {question.likeness}"
    return Work(partial(store.ask, question), partial(store.asking, question), about)


def _answering(store: Any, name: str, said: Answer, about: str = "") -> Work:
    return Work(partial(store.answer_in_run, name, said), partial(store.answering, name, said), about or name)


@pytest.fixture
def store(postgres_stores: Stores) -> Any:
    made = postgres_stores.open_as(WatchedPostgres, Clock())
    new_run(made)
    return made


async def _at_once(stores: Stores, store: Any, works: list[Work]) -> list[Any]:
    """What came of each, when all came while the thread was busy."""
    busy = Busy(store)
    with _forgotten(stores, store):
        await busy.until_held()
        waiting = [busy.writer.do(one.work, steps=one.steps, about=one.about) for one in works]
        busy.let_go()
        async with asyncio.timeout(AWHILE):
            found = await asyncio.gather(*waiting, return_exceptions=True)
        await busy.writer.end()
    return found


@pytest.fixture
def journeys(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many statements went on each."""
    counted: list[int] = []
    go = Line.go

    def counting(line: Line) -> None:
        if line.waiting:
            counted.append(line.waiting)
        go(line)

    monkeypatch.setattr(Line, "go", counting)
    return counted


async def test_many_questions_are_one_transaction_and_as_many_journeys_as_one(
    postgres_stores: Stores, store: Any, journeys: list[int]
) -> None:
    before = store.transactions
    found = await _at_once(postgres_stores, store, [_asking(store, asked(str(n), f"make {n}")) for n in range(30)])
    assert all(new for _, new in found)
    assert store.transactions == before + 1
    assert len(journeys) == 3
    again = postgres_stores.open(Clock())
    assert {one.request_id for one in again.interactions(pending=True)} == {str(n) for n in range(30)}


async def test_many_answers_are_two_journeys(postgres_stores: Stores, store: Any, journeys: list[int]) -> None:
    questions = [store.ask(asked(str(number), f"make {number}"))[0] for number in range(30)]
    journeys.clear()
    works = [_answering(store, one.id, answer(one)) for one in questions]
    found = await _at_once(postgres_stores, store, works)
    assert [(one.id, one.allow, run.id) for one, run in found] == [(one.id, True, "run") for one in questions]
    assert len(journeys) == 2


def test_looks_share_a_journey(store: Any, journeys: list[int]) -> None:
    store.ask(asked())
    journeys.clear()
    walks = [Walk(partial(store.finding_run, "key of run")) for _ in range(10)]
    lists = [Walk(partial(store.listing, pending=True)) for _ in range(10)]
    store.abreast([*walks, *lists])
    assert [walk.result.id for walk in walks] == ["run"] * 10
    assert [(len(found), list(runs)) for found, runs in (one.result for one in lists)] == [(1, ["run"])] * 10
    assert len(journeys) == 2


# --- one winner --------------------------------------------------------------------------------------


async def _answers_to_one(stores: Stores, store: Any, about: Callable[[str, int], str]) -> list[Any]:
    question, _ = store.ask(asked())
    works = [_answering(store, question.id, answer(question, f"person {n}"), about(question.id, n)) for n in range(20)]
    found = await _at_once(stores, store, works)
    return [one for one in found if not isinstance(one, Refused)]


async def test_of_many_answers_to_one_question_one_counts(postgres_stores: Stores, store: Any) -> None:
    (winner,) = await _answers_to_one(postgres_stores, store, lambda name, _number: name)
    left = postgres_stores.open(Clock()).interaction(winner[0].id)
    assert left is not None
    assert left.decided_by == winner[0].decided_by


async def test_if_they_walked_abreast_several_would_win(postgres_stores: Stores, store: Any) -> None:
    """The control: what keeps them apart is what they say that they are about."""
    assert len(await _answers_to_one(postgres_stores, store, lambda _name, number: str(number))) > 1


async def _late_answers_taken(stores: Stores, store: Any, about: Callable[[Asked], str]) -> int:
    question, _ = store.ask(asked("first", expires_in=1))
    store._clock.passes(2)
    store.expire()
    store.answer(question.id, answer(question))
    again = [asked(str(number)) for number in range(10)]
    found = await _at_once(stores, store, [_asking(store, one, about(one)) for one in again])
    return sum(one.allow is True for one, _ in found)


async def test_a_late_answer_is_taken_once_by_many_at_once(postgres_stores: Stores, store: Any) -> None:
    assert await _late_answers_taken(postgres_stores, store, lambda one: f"{one.run_id} {one.likeness}") == 1


async def test_if_the_same_question_walked_beside_itself_it_would_be_taken_twice(
    postgres_stores: Stores, store: Any
) -> None:
    """The control."""
    assert await _late_answers_taken(postgres_stores, store, lambda one: one.request_id) > 1


async def test_the_desk_says_what_a_call_is_about(postgres_stores: Stores) -> None:
    """Through the front: the same question from fifty, and fifty answers to it."""
    store = postgres_stores.open()
    new_run(store)
    desk = Desk(store)
    with _forgotten(postgres_stores, store):
        found = await asyncio.gather(*(desk.ask(asked("1")) for _ in range(50)))
        assert sum(new for _, new in found) == 1
        (question,) = {one.id: one for one, _ in found}.values()
        said = [desk.answer(question.id, answer(question, f"person {number}")) for number in range(50)]
        answered = await asyncio.gather(*said, return_exceptions=True)
        await desk.stop()
    assert sum(not isinstance(one, Refused) for one in answered) == 1
    assert {one.status for one in answered if isinstance(one, Refused)} == {409}


async def test_large_questions_travel_alone(postgres_stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    store = postgres_stores.open()
    new_run(store)
    walked: list[int] = []
    abreast = store.abreast

    def watched(walks: Any) -> None:
        walked.append(len(walks))
        abreast(walks)

    monkeypatch.setattr(store, "abreast", watched)
    desk = Desk(store)
    with _forgotten(postgres_stores, store):
        large = "x" * (300 * 1024)
        found = await asyncio.gather(*(desk.ask(asked(str(number), large + str(number))) for number in range(8)))
        await desk.stop()
    assert all(new for _, new in found)
    assert walked == []


# --- trouble -----------------------------------------------------------------------------------------


def _stumbles() -> Any:
    yield "SELECT * FROM nowhere", ()


def _alone() -> str:
    return "alone"


async def test_what_fails_beside_others_is_done_again_alone_like_they_are(postgres_stores: Stores, store: Any) -> None:
    works = [_asking(store, asked(str(n), f"make {n}")) for n in range(4)]
    works.insert(2, Work(_alone, _stumbles, "x"))
    found = await _at_once(postgres_stores, store, works)
    assert found.pop(2) == "alone"
    assert all(new for _, new in found)
    assert len(postgres_stores.open(Clock()).interactions(pending=True)) == 4


async def test_who_is_refused_takes_nobody_along(postgres_stores: Stores, store: Any) -> None:
    decided, _ = store.ask(asked("old"))
    store.answer(decided.id, answer(decided, "bob"))
    before = store.transactions
    works = [
        _asking(store, asked("1", "make 1")),
        _asking(store, asked("old", "another body")),
        _asking(store, asked("2", "make 2", run_id="nobody's")),
        _answering(store, "none", answer(decided)),
        _answering(store, decided.id, answer(decided, "ann", allow=False)),
        _asking(store, asked("3", "make 3")),
    ]
    one, other, nobodys, none, late, three = await _at_once(postgres_stores, store, works)
    assert (one[1], three[1]) == (True, True)
    assert [found.status for found in (other, nobodys, none, late)] == [422, 404, 404, 409]
    assert store.transactions == before + 1


async def test_half_of_a_refused_call_is_not_kept(postgres_stores: Stores, store: Any) -> None:
    def half() -> Any:
        yield "SELECT 1", ()
        store._change_later("UPDATE runs SET title = 'half'")
        raise Refused(409, "no", "no")

    def alone() -> None:
        raise Refused(409, "no", "no")

    works = [_asking(store, asked("1", "make 1")), Work(alone, half, "x"), _asking(store, asked("2", "make 2"))]
    one, refused, two = await _at_once(postgres_stores, store, works)
    assert (one[1], two[1], refused.status) == (True, True, 409)
    (run,) = postgres_stores.open(Clock()).runs()
    assert run.title == "a title"


async def test_nothing_is_told_before_the_commit(postgres_stores: Stores, store: Any) -> None:
    store.watch_commits()
    busy = Busy(store)
    with _forgotten(postgres_stores, store):
        await busy.until_held()
        works = [_asking(store, asked(str(n), f"make {n}")) for n in range(5)]
        waiting = [busy.writer.do(one.work, steps=one.steps, about=one.about) for one in works]
        busy.let_go()
        assert await asyncio.to_thread(store.at_the_gate.wait, AWHILE)
        await asyncio.sleep(0)
        assert not any(one.done() for one in waiting)
        store.gate.set()
        assert all(new for _, new in await asyncio.gather(*waiting))
        await busy.writer.end()


async def test_a_commit_that_may_have_happened_is_not_tried_again(
    postgres: Postgres, postgres_stores: Stores, store: Any
) -> None:
    before = store.transactions
    store.before_commit = lambda: _cut(postgres, postgres_stores.url)
    found = await _at_once(postgres_stores, store, [_asking(store, asked(str(n), f"make {n}")) for n in range(3)])
    assert [(one.status, one.code) for one in found] == [(503, "unavailable")] * 3
    assert store.transactions == before + 1
    assert postgres_stores.open(Clock()).interactions(pending=True) == []


async def test_a_database_that_is_away_is_asked_once_for_all(
    postgres: Postgres, postgres_stores: Stores, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = 0

    def unreachable() -> Any:
        nonlocal tries
        tries += 1
        raise Refused(503, "unavailable", "away")

    monkeypatch.setattr(store, "_alone", unreachable)
    found = await _at_once(postgres_stores, store, [_asking(store, asked(str(n), f"make {n}")) for n in range(9)])
    assert [one.status for one in found] == [503] * 9
    assert tries == 1


def test_a_statement_that_comes_thrice_in_one_journey_is_prepared_once(postgres_stores: Stores) -> None:
    store = postgres_stores.open(Clock())
    select = "SELECT ?::integer"
    for _ in range(3):
        found = [store._rows_later(select, number) for number in range(5)]
        assert [one() for one in found] == [[(number,)] for number in range(5)]


def test_what_was_prepared_behind_a_failure_is_prepared_again(postgres_stores: Stores) -> None:
    store: Any = postgres_stores.open(Clock())
    select = "SELECT ?::integer + 40"
    assert store._rows(select, 2) == [(42,)]
    store._later("SELECT * FROM nowhere")
    with pytest.raises(Refused, match="nowhere"):
        store._rows(select, 2)
    for _ in range(3):
        assert store._rows(select, 2) == [(42,)]


# --- no different ------------------------------------------------------------------------------------

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.sampled_from("abcdef"), st.sampled_from(("ls", "rm", "make"))),
        st.tuples(st.just("answer"), st.sampled_from(WAITING), st.booleans()),
    ),
    min_size=2,
    max_size=10,
)


def _work(store: Any, step: tuple[str, str, Any], ids: dict[str, Any]) -> Work:
    what, name, more = step
    if what == "ask":
        return _asking(store, asked(name, more))
    return _answering(store, ids[name].id, answer(ids[name], allow=more))


def _outcome(found: Any) -> Any:
    if isinstance(found, Exception):
        return found.status if isinstance(found, Refused) else repr(found)
    one, more = found
    return one.request_id, one.state, one.allow, more if isinstance(more, bool) else more.id


def _serially(works: list[Work]) -> list[Any]:
    found: list[Any] = []
    for one in works:
        try:
            found.append(_outcome(one.work()))
        except Refused as refused:
            found.append(_outcome(refused))
    return found


def _side_by_side(store: Any, works: list[Work]) -> list[Any]:
    walks = [Walk(one.steps) for one in works]
    with store.together() as group:
        group.begin()
        store.abreast(walks)
    return [_outcome(walk.error or walk.result) for walk in walks]


def _left(store: Any) -> list[Any]:
    rows = store._rows("SELECT request_id, state, allow, decided_by FROM interactions ORDER BY request_id")
    return [rows, sorted(store._rows("SELECT what, who FROM audit"))]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_side_by_side_is_as_one_after_the_other(postgres_stores: Stores, steps: list[Any]) -> None:
    store: Any = postgres_stores.open(Clock())
    outcomes = []
    try:
        for way in (_serially, partial(_side_by_side, store)):
            for table in ("audit", "interactions", "runs"):
                store._change(f"DELETE FROM {table}")
            new_run(store)
            ids = {name: store.ask(asked(name, f"make {name}"))[0] for name in WAITING}
            works: list[Any] = [_work(store, step, ids) for step in steps]
            abreast: list[Any] = _abreast(works)[0]
            outcomes.append((sorted(map(str, way(abreast))), _left(store)))
        assert outcomes[0] == outcomes[1]
    finally:
        postgres_stores.close(store)
