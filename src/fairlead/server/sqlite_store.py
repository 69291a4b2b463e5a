"""Everything that must survive, in one SQLite file: one connection writes, every commit is on the disk."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fairlead.errors import UsageError
from fairlead.server.records import EXPIRED
from fairlead.server.sql_store import SqlStore, storable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fairlead.server.sql_store import Done

_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "fullfsync=ON", "foreign_keys=ON", "journal_size_limit=67108864")
_KINDS = {
    "time": "REAL",
    "bytes": "BLOB",
    "flag": "INTEGER",
    "false": "0",
    "counter": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "strict": " STRICT",
}


class _Done:
    def __init__(self, rows: list[tuple[Any, ...]], count: int) -> None:
        self.rows = rows
        self.count = count


class SqliteStore(SqlStore):
    """May be made in one thread and used in another, by one at a time."""

    fails_clean = True

    def __init__(self, path: str, *, clock: Callable[[], float] = time.time, patience: float = 5.0) -> None:
        """`patience`: seconds that we wait for another program that has the file locked."""
        self._clock = clock
        try:
            _private_file(path)
            self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=patience)
        except (OSError, sqlite3.Error) as error:
            raise _unusable(path, error) from None
        try:
            self._prepare()
        except sqlite3.Error as error:
            self._database.close()
            raise _unusable(path, error) from None
        except UsageError:
            self._database.close()
            raise

    def _prepare(self) -> None:
        for pragma in _PRAGMAS:
            self._database.execute(f"PRAGMA {pragma}")
        with self._transaction():
            ((version,),) = self._rows("PRAGMA user_version")
            self._migrate(version, _KINDS, self._set_version)

    def _set_version(self, number: int) -> None:
        self._database.execute(f"PRAGMA user_version = {number}")

    def close(self) -> None:
        self._database.close()

    def watch(self, changed: Callable[[str], None]) -> None:
        """There is one process for one file: nobody else changes it."""

    def _rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._database.execute(statement, [storable(value) for value in values]).fetchall()

    def _change(self, statement: str, *values: Any) -> int:
        return self._database.execute(statement, [storable(value) for value in values]).rowcount

    def _done(self, statement: str, values: Sequence[Any]) -> Done:
        cursor = self._database.execute(statement, [storable(value) for value in values])
        return _Done(cursor.fetchall(), cursor.rowcount)

    def _end(self, ids: Sequence[str], now: float, message: str) -> None:
        ended = "UPDATE interactions SET state = ?, message = ? WHERE id = ?"
        self._database.executemany(ended, [(EXPIRED, message, name) for name in ids])
        self._database.executemany(self._noting, [(now, name, "expired", "") for name in ids])

    def _now(self) -> float:
        return self._clock()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if self._database.in_transaction:  # a rollback that the disk did not let happen
            self._database.execute("ROLLBACK")
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise


def _private_file(path: str) -> None:
    """For its owner alone, from the first moment on; SQLite gives its other files the same mode."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))


def _unusable(path: str, error: Exception) -> UsageError:
    why = getattr(error, "strerror", None) or error
    return UsageError(f"{path} cannot be used as a store: {why}", hint="name another file with --store")
