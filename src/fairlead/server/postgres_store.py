"""The store for several replicas: any of them holds a wait, any takes the answer.

What must hold is held by row locks in the database and by its clock. NOTIFY only makes it quick: it reaches who
listens at that moment and nobody else, so `server.desk` looks by itself as well.
"""

from __future__ import annotations

import random
import threading
import time
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from fairlead.errors import UsageError
from fairlead.server.records import EXPIRED, Refused
from fairlead.server.sql_store import SqlStore

try:
    import psycopg
    from psycopg import pq

    from fairlead.server.postgres_line import Line, Sent
except ImportError:
    raise UsageError("a PostgreSQL store needs the extra `postgres`", hint="pip install 'fairlead[postgres]'") from None

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fairlead.server.rules import Rule
    from fairlead.server.transactions import Walk

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

_CLOCK = "SELECT extract(epoch FROM clock_timestamp())::double precision"
_IN_ONE_NOTICE = 200
"""Names; a notice holds less than 8,000 bytes."""

Connection = psycopg.Connection[tuple[Any, ...]]


class PostgresStore(SqlStore):
    shared = True
    _noting = (
        "WITH noted AS (INSERT INTO audit (at, about, what, who) VALUES (?, ?, ?, ?) RETURNING about) "
        "SELECT pg_notify('fairlead', about) FROM noted"
    )
    """Every change is noted, so this is where the others are told; they hear it when it is committed."""
    _noting_all = (
        "WITH noted AS (INSERT INTO audit (at, about, what, who) SELECT ?, unnest(?::text[]), ?, '' RETURNING about), "
        "parts AS (SELECT about, (row_number() OVER () - 1) / ? AS part FROM noted), "
        "told AS (SELECT string_agg(about, ',') AS names FROM parts GROUP BY part) "
        "SELECT count(pg_notify('fairlead', names)) FROM told"
    )
    """Of many at once, so many in one notice: ten thousand notices would cost every listener more than the change."""
    _position = "strpos"
    _locked = " FOR UPDATE"
    _locked_for_readers = " FOR SHARE"
    _locked_or_left = " FOR UPDATE SKIP LOCKED"
    _at_once = 20_000
    walks_abreast = True

    def __init__(self, url: str, *, clock: Callable[[], float] | None = None) -> None:
        """`clock` instead of the database's own."""
        self._clock = clock
        self._begun_at: Sent | None = None
        self._abreast = False
        self._rules_of_all: Callable[[], Sequence[Rule]] | None = None
        self._server = _Server(url)
        self._listener: _Listener | None = None
        try:
            connection = self._server.line().connection
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
        return self._done(statement, values).rows

    def _rows_later(self, statement: str, *values: Any) -> Callable[[], list[tuple[Any, ...]]]:
        sent = self._later(statement, values)
        return lambda: self._of(sent).rows

    def _change(self, statement: str, *values: Any) -> int:
        return self._done(statement, values).count

    def _change_later(self, statement: str, *values: Any) -> None:
        self._later(statement, values)

    def _done(self, statement: str, values: Sequence[Any] = ()) -> Sent:
        with _or_unavailable():
            return self._server.line().now(statement, values)

    def _later(self, statement: str, values: Sequence[Any] = ()) -> Sent:
        with _or_unavailable():
            return self._server.line().later(statement, values)

    def _of(self, sent: Sent) -> Sent:
        """When it has arrived."""
        if sent.result is None:
            with _or_unavailable():
                self._server.line().go()
        return sent

    def abreast(self, walks: Sequence[Walk]) -> None:
        """A hundred calls take as many journeys as one."""
        self._abreast = True
        try:
            going = [(walk, self._step(walk, None)) for walk in walks]
            while going := [(walk, sent) for walk, sent in going if sent is not None]:
                with _or_unavailable():
                    self._server.line().go()
                going = [(walk, self._step(walk, sent)) for walk, sent in going]
        finally:
            self._abreast, self._rules_of_all = False, None

    def _step(self, walk: Walk, done: Sent | None) -> Sent | None:
        line = self._server.line()
        before = line.waiting
        wanted = walk.go_on(done)
        if walk.error is not None and line.waiting > before:
            raise walk.error  # what it has half done cannot be taken out of the others' transaction
        return None if wanted is None else self._later(*wanted)

    def _in_force(self) -> Callable[[], Sequence[Rule]]:
        """Once for all who walk abreast."""
        if not self._abreast:
            return super()._in_force()
        if self._rules_of_all is None:
            self._rules_of_all = cache(super()._in_force())
        return self._rules_of_all

    def _among(self, ids: Sequence[str]) -> tuple[str, list[Any]]:
        return "id = ANY(?)", [list(ids)]

    def _end(self, ids: Sequence[str], now: float, message: str) -> None:
        if not ids:
            return
        names = list(ids)
        self._change_later("UPDATE interactions SET state = ?, message = ? WHERE id = ANY(?)", EXPIRED, message, names)
        self._change_later(self._noting_all, now, names, "expired", _IN_ONE_NOTICE)

    # --- transactions ----------------------------------------------------------------------------

    def _now(self) -> float:
        """Of a transaction: when it has begun, which is known from its first journey."""
        if self._clock is not None:
            return self._clock()
        begun = self._of(self._begun_at).rows if self._begun_at is not None else []
        ((now,),) = begun or self._rows(_CLOCK)
        return float(now)

    def _begin(self, statement: str) -> None:
        self._later(statement)
        self._begun_at = self._later(_CLOCK) if self._clock is None else None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with _or_unavailable():
            self._server.line()
        self._server.busy = True
        try:
            self._begin("BEGIN")
            yield
            ended = self._done("COMMIT").status
        except BaseException:
            self._server.roll_back()
            raise
        finally:
            self._server.busy = False
            self._begun_at = None
        if ended != b"COMMIT":  # how PostgreSQL says that it has rolled back
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
        self._line: Line | None = None
        self._pause = 0.0
        self._not_before = 0.0

    def line(self) -> Line:
        if self._line is not None and (self.busy or not _is_lost(self._line.connection)):
            return self._line
        self.close()
        if self.ended:
            raise psycopg.OperationalError("this server is ending")
        if time.monotonic() < self._not_before:
            raise psycopg.OperationalError("it could not be reached a moment ago")
        try:
            connection = connect(self.url)
            ((self.backend,),) = connection.execute("SELECT pg_backend_pid()")
        except psycopg.Error:
            self._pause = min(max(_FIRST_PAUSE, self._pause * 2), _LONGEST_PAUSE)
            self._not_before = time.monotonic() + self._pause
            raise
        self._pause = 0.0
        self._line = Line(connection)
        return self._line

    def roll_back(self) -> None:
        """A connection that cannot do that is of no use any more."""
        if self._line is None:
            return
        self._line.forget()
        with suppress(psycopg.Error):
            self._line.connection.rollback()
        if self._line.connection.info.transaction_status != pq.TransactionStatus.IDLE:
            self.close()

    def close(self) -> None:
        if self._line is not None:
            with suppress(psycopg.Error):
                self._line.connection.close()
        self._line = None


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
                    for name in notice.payload.split(","):
                        self._changed(name)
            connection.execute("SELECT 1")
