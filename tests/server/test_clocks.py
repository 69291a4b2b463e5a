"""Clocks that jump, and answers in the moment of expiry: nothing is allowed that nobody has allowed."""

from __future__ import annotations

import os
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fairlead.server.records import DECIDED, EXPIRED
from tests.server.conftest import START, Stores, answer, asked, new_run
from tests.server.postgres import Missing, Postgres
from tests.server.replica import Replica

LIBRARIES = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib/faketime/libfaketimeMT.so.1")
HOUR, DAY = 3600, 24 * 3600
JUMPS = (HOUR, -HOUR, DAY, -DAY, -1, 1)
AWHILE = 60.0


# --- a clock that jumps ------------------------------------------------------------------------------


class Wall:
    """The wall clock of a process that is started with `environ`; its monotonic clock goes on."""

    def __init__(self, library: Path, folder: Path) -> None:
        self._file = folder / "clock"
        self.jump(0)
        self.environ = {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def jump(self, seconds: int) -> None:
        """From the true time."""
        made = self._file.with_suffix(".new")
        made.write_text(f"{seconds:+d}\n")
        os.chmod(made, 0o644)
        made.replace(self._file)


@pytest.fixture
def wall() -> Iterator[Wall]:
    found = [path for pattern in LIBRARIES for path in Path("/").glob(pattern[1:])]
    if not found:
        pytest.skip("there is no libfaketime: scripts/packages faketime")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # the database runs as somebody else
        yield Wall(found[0], Path(folder))


@pytest.fixture(params=("sqlite", "postgres"))
def replica(request: pytest.FixtureRequest, wall: Wall, start: Callable[..., Replica]) -> Iterator[Replica]:
    """Its store's clock is the one that jumps."""
    if request.param == "sqlite":
        yield start(environ=wall.environ)
        return
    try:
        database = Postgres(environ=wall.environ)
    except Missing as missing:
        pytest.skip(str(missing))
    try:
        yield start(store=database.new_database())
    finally:
        database.end()


def _jumps(replica: Replica, wall: Wall, jumps: tuple[int, ...]) -> None:
    """After each: what nobody has answered is not allowed, and what somebody answers is."""
    run = replica.new_run()
    for number, seconds in enumerate(jumps):
        short = replica.asking(run, f"short {number}", f"rm {number}", expires_in=HOUR / 2)
        long = replica.asking(run, f"long {number}", f"ls {number}", expires_in=2 * DAY)
        wall.jump(seconds)
        items = {item["line"]: item for item in replica.pending()}
        assert replica.answer(items[f"ls {number}"]).status == 200
        assert long.answer() == {"decision": "allow"}
        if seconds >= HOUR:
            assert short.answer()["decision"] == "block"
        else:
            (item,) = (one for one in replica.pending() if one["line"] == f"rm {number}")
            assert replica.answer(item, "block", message="no").status == 200
            assert short.answer() == {"decision": "block", "message": "User rejected: no"}
        wall.jump(0)


def test_a_clock_that_jumps_allows_nothing(replica: Replica, wall: Wall) -> None:
    _jumps(replica, wall, (DAY, -DAY))


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_clock_that_jumps_a_hundred_times_allows_nothing(replica: Replica, wall: Wall) -> None:
    _jumps(replica, wall, JUMPS * 17)


# --- answers in the moment of expiry -----------------------------------------------------------------


class Moving:
    """A clock that one thread moves while another reads it."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


def _races(stores: Stores, count: int, expires: Callable[[Any], Any] | None = None) -> set[str]:
    """Somebody answers while the time runs out: the outcomes that were seen."""
    clock = Moving()
    one, two = stores.open(clock), stores.open(clock)
    new_run(one)
    seen, chance = set(), random.Random(count)
    expire = expires or (lambda store: store.expire())
    with ThreadPoolExecutor(1) as pool:
        for number in range(count):
            question, _ = one.ask(asked(str(number), f"ls {number}", expires_in=10))
            together = threading.Barrier(2)

            def end(together: threading.Barrier = together) -> list[str]:
                together.wait(AWHILE)
                time.sleep(chance.uniform(0, 0.004))  # now before the answer, now in the middle of it, now after it
                clock.now += 10
                return [ended.id for ended in expire(two)]

            ending = pool.submit(end)
            together.wait(AWHILE)
            told = one.answer(question.id, answer(question))
            ended = ending.result(AWHILE)
            kept = one.interaction(question.id)
            assert kept == told, number
            assert kept.allow is True
            assert kept.state == (EXPIRED if question.id in ended else kept.state)
            seen.add(kept.state)
            assert two.expire() == []
    return seen


def test_an_answer_in_the_moment_of_expiry_has_one_outcome(stores: Stores) -> None:
    assert _races(stores, 100) <= {DECIDED, EXPIRED}


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_ten_thousand_answers_in_the_moment_of_expiry_have_one_outcome_each(stores: Stores) -> None:
    assert _races(stores, 5000) == {DECIDED, EXPIRED}


def test_a_store_that_does_not_look_before_it_ends_a_question_is_found(stores: Stores) -> None:
    """The control: who has read what is due before the answer, and ends it after."""

    def blindly(store: Any) -> list[Any]:
        with store._transaction():
            store._change("UPDATE interactions SET state = 'expired' WHERE expires_at <= ?", store._now())
        return []

    with pytest.raises(AssertionError):
        _races(stores, 200, blindly)
