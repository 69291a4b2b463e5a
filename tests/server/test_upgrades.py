"""An update of Fairlead, and a step back, while agents wait: none of them is lost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.server import security, sql_store
from fairlead.server.postgres_store import PostgresStore
from fairlead.server.sql_store import SqlStore
from fairlead.server.sqlite_store import SqliteStore
from tests.server.conftest import KINDS
from tests.server.replica import Replica
from tests.server.test_load import answer_all, crowd

RUN, KEY = "run-of-before", "key-of-before"
NAMES = ("id", "run_id", "request_id", "kind", "tool", "body", "digest", "likeness", "words")
TIMES = ("created_at", "expires_at", "people")


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres").new_database())
    return str(tmp_path / "approvals.db")


def _opened(url: str) -> SqlStore:
    return PostgresStore(url) if url.startswith("postgresql:") else SqliteStore(url)


def _asked(number: int) -> bytes:
    """As the agents of the benchmarks ask it: the same bytes are the same question."""
    asked = {"run_id": RUN, "type": "approval", "tool": "Bash", "request_id": f"n{number}"}
    return json.dumps({**asked, "payload": {"command": f"make target-{number}"}}).encode()


def _written_by_version(version: int, url: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store as that Fairlead has left it, with so many questions that wait."""
    with monkeypatch.context() as before:
        before.setattr(sql_store, "MIGRATIONS", sql_store.MIGRATIONS[:version])
        old = _opened(url)
    names = "id, agent, project, title, key_hash, created_at"
    old._change(f"INSERT INTO runs ({names}) VALUES (?, ?, ?, ?, ?, ?)", RUN, "a", "/p", "", security.hashed(KEY), 1.0)
    columns = (*NAMES, *TIMES)
    insert = f"INSERT INTO interactions ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    with old._transaction():
        for number in range(count):
            body = _asked(number)
            digest = hashlib.sha256(body).hexdigest()
            values = (f"i{number}", RUN, f"n{number}", "approval", "Bash", body, digest, f"l{number}", "make")
            old._change(insert, *values, float(number), 9e12, 1)
    old.close()


def _set_version(url: str, number: int) -> None:
    store = _opened(url)
    store._set_version(number)  # type: ignore[attr-defined]
    store.close()


def _waiting(url: str) -> int:
    store = _opened(url)
    try:
        return store.waiting()[0]
    finally:
        store.close()


def _updated(start: Callable[..., Replica], url: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _written_by_version(len(sql_store.MIGRATIONS) - 1, url, count, monkeypatch)
    replica = start(store=url)
    with crowd("waiters", replica.port, RUN, KEY, count) as agents:
        assert _waiting_at(replica) == count
        answer_all(replica, count)
        assert agents.answered(count) == set(range(count))
    assert replica.pending() == []


def _waiting_at(replica: Replica) -> int:
    lines = replica.call("GET", "/metrics").body.decode().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("fairlead_waiting_interactions"))


def _stepped_back(start: Callable[..., Replica], url: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older Fairlead does not touch what a newer one has written, and says so; then the newer one goes on."""
    now = len(sql_store.MIGRATIONS)
    _written_by_version(now, url, count, monkeypatch)
    _set_version(url, now + 1)
    with pytest.raises(AssertionError, match="newer Fairlead"):
        start(store=url)
    with monkeypatch.context() as newer:
        newer.setattr(sql_store, "MIGRATIONS", (*sql_store.MIGRATIONS, ""))
        assert _waiting(url) == count


def test_who_waits_through_an_update_is_answered(
    start: Callable[..., Replica], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _updated(start, url, 20, monkeypatch)


def test_a_step_back_is_refused_and_loses_nothing(
    start: Callable[..., Replica], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _stepped_back(start, url, 20, monkeypatch)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_thousand_who_wait_through_an_update_are_answered(
    start: Callable[..., Replica], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _updated(start, url, 1000, monkeypatch)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_step_back_with_a_thousand_who_wait_is_refused_and_loses_nothing(
    start: Callable[..., Replica], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _stepped_back(start, url, 1000, monkeypatch)
