"""Both stores, empty and real; and `fairlead serve` as a process that may die."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.server.postgres_store import PostgresStore
from fairlead.server.protocol import read_request
from fairlead.server.records import Answer, Asked, Interaction, Run
from fairlead.server.sql_store import SqlStore
from fairlead.server.sqlite_store import SqliteStore
from tests.server.postgres import Missing, Postgres
from tests.server.replica import Replica

KINDS = ("sqlite", "postgres")
START = 1_000_000.0


class Clock:
    """Stands still until time passes."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now

    def passes(self, seconds: float) -> None:
        self.now += seconds


class Stores:
    """Opens one database as often as a test likes, as replicas or restarts do."""

    def __init__(self, kind: str, url: str) -> None:
        self.kind = kind
        self.url = url
        self._open: list[SqlStore] = []

    def open(self, clock: Callable[[], float] | None = None) -> SqlStore:
        opened: SqlStore = self.open_as(PostgresStore if self.kind == "postgres" else SqliteStore, clock)
        return opened

    def open_as(self, made_by: type[Any], clock: Callable[[], float] | None = None) -> Any:
        opened = made_by(self.url) if clock is None else made_by(self.url, clock=clock)
        self._open.append(opened)
        return opened

    def close(self, store: Any) -> None:
        self._open.remove(store)
        store.close()

    def close_all(self) -> None:
        while self._open:
            self.close(self._open[-1])


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    try:
        running = Postgres()
    except Missing as missing:
        pytest.skip(str(missing))
    yield running
    running.end()


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """One that a test may stop and crash."""
    try:
        running = Postgres()
    except Missing as missing:
        pytest.skip(str(missing))
    yield running
    running.end()


@pytest.fixture(params=KINDS)
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    kind = request.param
    url = request.getfixturevalue("postgres").new_database() if kind == "postgres" else str(tmp_path / "approvals.db")
    made = Stores(kind, url)
    yield made
    made.close_all()


@pytest.fixture
def postgres_stores(postgres: Postgres) -> Iterator[Stores]:
    made = Stores("postgres", postgres.new_database())
    yield made
    made.close_all()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(stores: Stores, clock: Clock) -> SqlStore:
    return stores.open(clock)


@pytest.fixture
def run(store: SqlStore) -> Run:
    return new_run(store)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Replica]]:
    """Starts replicas: start(store=url)."""
    started: list[Replica] = []

    def begin(**options: Any) -> Replica:
        home = tmp_path / f"replica{len(started)}"
        home.mkdir()
        started.append(Replica(home, **options))
        return started[-1]

    yield begin
    for replica in started:
        replica.kill()


def new_run(store: SqlStore, name: str = "run", project: str = "/p") -> Run:
    made = Run(id=name, agent="claude-code", project=project, title="a title", created_at=START)
    store.add_run(made, f"key of {name}")
    return made


def asked(request_id: str = "1", command: str = "ls", **fields: Any) -> Asked:
    """As an agent sends it."""
    body = {"run_id": "run", "type": "approval", "tool": "Bash", "payload": {"command": command}, **fields}
    return read_request(json.dumps({**body, "request_id": request_id}).encode(), {})


def answer(about: Interaction, by: str = "ann", *, allow: bool = True, **fields: Any) -> Answer:
    return Answer(**{"digest": about.digest, "allow": allow, "by": by, **fields})
