"""The store for several replicas: any of them holds a wait, any takes the answer.

What must hold is held by row locks in the database and by its clock. NOTIFY only makes it quick: it reaches who
listens at that moment and nobody else, so `server.desk` looks by itself as well.
"""

from __future__ import annotations

import random
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from fairlead.errors import UsageError
from fairlead.server.records import Refused
from fairlead.server.sql_store import SqlStore, storable

try:
    import psycopg
    from psycopg import pq
except ImportError:
    raise UsageError("a PostgreSQL store needs the extra `postgres`", hint="pip install 'fairlead[postgres]'") from None

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

CHANNEL = "fairlead"
_LOCK = 0x6661_6972_6C65_6164
"""Held while the tables are made or changed: "fairlead" in ASCII."""
_KINDS = {
    "time": "DOUBLE PRECISION",
    "bytes": "BYTEA",
    "flag": "BOOLEAN",
    "false": "FALSE",
    "counter": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "strict": "",
}
_SETTINGS = {
    "search_path": "fairlead",
    "statement_timeout": "5s",
    "lock_timeout": "3s",
    "idle_in_transaction_session_timeout": "10s",
    "default_transaction_isolation": "read committed",
}
_CONNECTION = {
    "connect_timeout": 3,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 8000,
    "application_name": "fairlead",
    "client_encoding": "utf8",
}
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
_LISTEN_FOR = 0.5
"""Seconds; then we look whether we should stop, and whether the server is still there."""

Connection = psycopg.Connection[tuple[Any, ...]]


class PostgresStore(SqlStore):
    shared = True
    _noting = (
        "WITH noted AS (INSERT INTO audit (at, about, what, who) VALUES (?, ?, ?, ?) RETURNING about) "
        "SELECT pg_notify('fairlead', about) FROM noted"
    )
    """Every change is noted, so this is where the others are told; they hear it when it is committed."""
    _position = "strpos"
    _locked = " FOR UPDATE"
    _locked_for_readers = " FOR SHARE"
    _locked_or_left = " FOR UPDATE SKIP LOCKED"

    def __init__(self, url: str, *, clock: Callable[[], float] | None = None) -> None:
        """`clock` instead of the database's own."""
        self._clock = clock
        self._server = _Server(url)
        self._listener: _Listener | None = None
        try:
            connection = self._server.connected()
        except psycopg.Error as error:
            raise _unreachable(error) from None
        try:
            self._prepare(connection)
        except BaseException as error:
            self._server.close()
            if isinstance(error, Refused):
                raise _unreachable(error) from None
            raise

    def close(self) -> None:
        if self._listener is not None:
            self._listener.stop()
        self._server.ended = True
        self._server.close()

    def watch(self, changed: Callable[[str], None]) -> None:
        self._listener = _Listener(self._server, changed)
        self._listener.start()

    # --- the tables ------------------------------------------------------------------------------

    def _prepare(self, connection: Connection) -> None:
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise UsageError(
                f"the database is encoded in {encoding}, which cannot hold every text",
                hint="create it with: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
            )
        with self._transaction():
            self._change("SET LOCAL statement_timeout = 0")
            self._change("SET LOCAL lock_timeout = 0")
            self._rows("SELECT pg_advisory_xact_lock(?)", _LOCK)
            self._migrate(self._version(), _KINDS, self._set_version)

    def _version(self) -> int:
        if self._rows("SELECT to_regclass('fairlead.version')") == [(None,)]:
            self._change("CREATE SCHEMA IF NOT EXISTS fairlead")
            self._change("CREATE TABLE version (number INTEGER NOT NULL)")
            self._change("INSERT INTO version VALUES (0)")
        ((version,),) = self._rows("SELECT number FROM version")
        return int(version)

    def _set_version(self, number: int) -> None:
        self._change("UPDATE version SET number = ?", number)

    # --- statements ------------------------------------------------------------------------------

    def _rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._execute(statement, values).fetchall()

    def _change(self, statement: str, *values: Any) -> int:
        return self._execute(statement, values).rowcount

    def _execute(self, statement: str, values: tuple[Any, ...] = ()) -> psycopg.Cursor[tuple[Any, ...]]:
        with _or_unavailable():
            given = [storable(value) for value in values]
            return self._server.connected().execute(statement.replace("?", "%s").encode(), given)

    def _change_all(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        with _or_unavailable():
            given = [[storable(value) for value in row] for row in rows]
            self._server.connected().cursor().executemany(statement.replace("?", "%s").encode(), given)

    def _now(self) -> float:
        if self._clock is not None:
            return self._clock()
        ((now,),) = self._rows("SELECT extract(epoch FROM clock_timestamp())::double precision")
        return float(now)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self._execute("BEGIN")
        self._server.busy = True
        try:
            yield
            ended = self._execute("COMMIT").statusmessage
        except BaseException:
            self._server.roll_back()
            raise
        finally:
            self._server.busy = False
        if ended != "COMMIT":  # how PostgreSQL says that it has rolled back
            raise Refused(503, "unavailable", "the database did not keep it; try again")


class _Server:
    """One connection, made again when it is lost: at once, then with pauses."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.busy = False
        """In the middle of a transaction, the rest of which must not go through another connection."""
        self.ended = False
        self.backend = 0
        """The process of the database that works for us: what it announces we have done ourselves."""
        self._connection: Connection | None = None
        self._pause = 0.0
        self._not_before = 0.0

    def connected(self) -> Connection:
        if self._connection is not None and (self.busy or not _is_lost(self._connection)):
            return self._connection
        self.close()
        if self.ended:
            raise psycopg.OperationalError("this server is ending")
        if time.monotonic() < self._not_before:
            raise psycopg.OperationalError("it could not be reached a moment ago")
        try:
            self._connection = connect(self.url)
            ((self.backend,),) = self._connection.execute("SELECT pg_backend_pid()")
        except psycopg.Error:
            self._pause = min(max(_FIRST_PAUSE, self._pause * 2), _LONGEST_PAUSE)
            self._not_before = time.monotonic() + self._pause
            raise
        self._pause = 0.0
        return self._connection

    def roll_back(self) -> None:
        """A connection that cannot do that is of no use any more."""
        if self._connection is None:
            return
        with suppress(psycopg.Error):
            self._connection.rollback()
        if self._connection.info.transaction_status != pq.TransactionStatus.IDLE:
            self.close()

    def close(self) -> None:
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
        self._connection = None


def connect(url: str) -> Connection:
    """Straight, or through a pooler that keeps sessions apart: settings and LISTEN belong to the session."""
    connection = psycopg.connect(url, autocommit=True, **_CONNECTION)  # type: ignore[arg-type]
    try:
        for name, value in _SETTINGS.items():
            connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        connection.execute(
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
        )
    except BaseException:
        connection.close()
        raise
    return connection


def _is_lost(connection: Connection) -> bool:
    """Seen without asking the server: it has hung up while we did not look."""
    if connection.closed:
        return True
    try:
        for _ in range(2):  # its last words, and then the end
            connection.pgconn.consume_input()
    except psycopg.Error:
        return True
    return connection.pgconn.status != pq.ConnStatus.OK


@contextmanager
def _or_unavailable() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise Refused(503, "unavailable", f"the database cannot be used now ({_said(error)}); try again") from None


def _said(error: psycopg.Error) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _unreachable(error: Exception) -> UsageError:
    why = _said(error) if isinstance(error, psycopg.Error) else str(error)
    return UsageError(f"the database cannot be used: {why}", hint="see --store postgresql://user@host/database")


class _Listener(threading.Thread):
    """Hears what other replicas have changed. What it misses is found by looking."""

    def __init__(self, server: _Server, changed: Callable[[str], None]) -> None:
        super().__init__(name="fairlead-listener", daemon=True)
        self._server = server
        self._changed = changed
        self._stopping = threading.Event()

    def stop(self) -> None:
        self._stopping.set()
        self.join(timeout=10)

    def run(self) -> None:
        pause = _FIRST_PAUSE
        while not self._stopping.is_set():
            with suppress(psycopg.Error), connect(self._server.url) as connection:
                connection.execute(f"LISTEN {CHANNEL}".encode())
                pause = _FIRST_PAUSE
                self._listen(connection)
            self._stopping.wait(pause * random.uniform(0.5, 1.0))  # noqa: S311  # so that replicas do not come all at once
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _listen(self, connection: Connection) -> None:
        while not self._stopping.is_set():
            for notice in connection.notifies(timeout=_LISTEN_FOR):
                if self._stopping.is_set():
                    return
                if notice.pid != self._server.backend:
                    self._changed(notice.payload)
            connection.execute("SELECT 1")
