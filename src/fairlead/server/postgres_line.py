"""One connection to PostgreSQL, as a line on which several statements travel together.

What nobody needs the result of yet waits for the next statement that somebody does: a question costs four journeys
instead of ten. What comes a second time is prepared. Values are read as the database keeps them.
"""

from __future__ import annotations

import select
import struct
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import errors, pq

from fairlead.server.sql_store import storable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from psycopg.pq.abc import PGconn, PGresult

    Connection = psycopg.Connection[tuple[Any, ...]]
    Given = tuple[list[bytes | None], list[int]]
    Statement = tuple[bytes, bytes]

_PREPARED = 200
"""Statements that are remembered; ours are fewer."""


class Sent:
    """A statement, and what came of it."""

    def __init__(self, statement: str, values: Sequence[Any]) -> None:
        self.statement = statement
        self.values, self.formats = _given(values)
        self.result: PGresult | None = None

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        result = self.result
        if result is None:
            return []
        readers = [_READERS.get(result.ftype(column), _as_it_is) for column in range(result.nfields)]
        return [_row(result, number, readers) for number in range(result.ntuples)]

    @property
    def count(self) -> int:
        """The rows that it has changed or found."""
        return (self.result.command_tuples if self.result else None) or 0

    @property
    def status(self) -> bytes:
        """What the database calls what it has done."""
        return (self.result.command_status if self.result else None) or b""


class Line:
    """Used by one thread at a time. Raises psycopg.Error."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._waiting: list[Sent] = []
        self._texts: dict[str, Statement] = {}
        """Name and text of each statement that was seen before."""
        self._prepared: set[str] = set()
        self._preparing: set[str] = set()
        """On their way, perhaps behind something that fails."""

    def later(self, statement: str, values: Sequence[Any] = ()) -> Sent:
        """Goes with the next one."""
        sent = Sent(statement, values)
        self._waiting.append(sent)
        return sent

    def now(self, statement: str, values: Sequence[Any] = ()) -> Sent:
        sent = self.later(statement, values)
        self.go()
        return sent

    @property
    def waiting(self) -> int:
        """How many have not gone yet."""
        return len(self._waiting)

    def forget(self) -> None:
        """What has not gone yet."""
        self._waiting.clear()

    def go(self) -> None:
        """All that wait, in their order. After one that fails none of the others is done, nor were they."""
        sent, self._waiting = self._waiting, []
        if not sent:
            return
        line = self.connection.pgconn
        try:
            line.enter_pipeline_mode()
            wanted = [one for statement in sent for one in self._send(line, statement)]
            line.pipeline_sync()
            _flush(line)
            failed = _received(line, wanted)
            line.exit_pipeline_mode()
        except BaseException:
            self.connection.close()  # nobody knows what is still on its way
            raise
        self._preparing.clear()
        if failed is not None:
            raise errors.error_from_result(failed)

    def _send(self, line: PGconn, sent: Sent) -> Iterator[Callable[[PGresult], None]]:
        """Who wants each of the results."""

        def keep(result: PGresult) -> None:
            sent.result = result

        if sent.statement not in self._texts:
            name, text = self._remember(sent.statement)
            line.send_query_params(text, sent.values, None, sent.formats, _BINARY)
        else:
            name, text = self._texts[sent.statement]
            if sent.statement not in self._prepared and sent.statement not in self._preparing:
                self._preparing.add(sent.statement)
                line.send_prepare(name, text)
                yield lambda _result: self._prepared.add(sent.statement)
            line.send_query_prepared(name, sent.values, sent.formats, _BINARY)
        yield keep

    def _remember(self, statement: str) -> Statement:
        parts = statement.split("?")
        text = parts[0] + "".join(f"${number}{part}" for number, part in enumerate(parts[1:], 1))
        made = f"fairlead{len(self._texts)}".encode(), text.encode()
        if len(self._texts) < _PREPARED:
            self._texts[statement] = made
        return made


_TEXT, _BINARY = int(pq.Format.TEXT), int(pq.Format.BINARY)
_DONE = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK, pq.ExecStatus.EMPTY_QUERY)


def _flush(line: PGconn) -> None:
    while line.flush():
        if _ready(line, select.POLLIN | select.POLLOUT) & select.POLLIN:
            line.consume_input()


def _received(line: PGconn, wanted: Sequence[Callable[[PGresult], None]]) -> PGresult | None:
    """The first that failed."""
    failed: PGresult | None = None
    for keep in wanted:
        result = _next(line)
        if result.status in _DONE:
            keep(result)
        elif result.status != pq.ExecStatus.PIPELINE_ABORTED and failed is None:
            failed = result
        if _taken(line) is not None:
            raise psycopg.OperationalError("the database has said more than it was asked")
    if _next(line).status != pq.ExecStatus.PIPELINE_SYNC:
        raise psycopg.OperationalError("the database has said more than it was asked")
    return failed


def _next(line: PGconn) -> PGresult:
    result = _taken(line)
    if result is None:
        raise psycopg.OperationalError("the database has hung up")
    if line.status == pq.ConnStatus.BAD:
        raise errors.error_from_result(result)
    return result


def _taken(line: PGconn) -> PGresult | None:
    while line.is_busy():
        _ready(line, select.POLLIN)
        line.consume_input()
    return line.get_result()


def _ready(line: PGconn, events: int) -> int:
    waiting = select.poll()
    waiting.register(line.socket, events)
    ((_, found),) = waiting.poll()
    return found


# --- values ------------------------------------------------------------------------------------------


def _given(values: Sequence[Any]) -> Given:
    written = [_written(value) for value in values]
    return written, [_BINARY if isinstance(value, bytes) else _TEXT for value in values]


def _written(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return bytes(storable(value), "utf-8")
    if isinstance(value, list):
        return _array(value).encode()
    return repr(value).encode()


def _array(values: Sequence[str]) -> str:
    quoted = [storable(value).replace("\\", "\\\\").replace('"', '\\"') for value in values]
    return "{" + ",".join(f'"{value}"' for value in quoted) + "}"


def _row(result: PGresult, number: int, readers: Sequence[Callable[[bytes], Any]]) -> tuple[Any, ...]:
    found = (result.get_value(number, column) for column in range(len(readers)))
    return tuple([None if value is None else read(value) for value, read in zip(found, readers, strict=True)])


def _as_it_is(value: bytes) -> bytes:
    return bytes(value)


def _whole_number(value: bytes) -> int:
    return int.from_bytes(value, "big", signed=True)


def _float(value: bytes) -> float:
    (found,) = struct.unpack("!d", value)
    return float(found)


def _flag(value: bytes) -> bool:
    return value != b"\0"


_READERS: dict[int, Callable[[bytes], Any]] = {
    16: _flag,
    17: _as_it_is,
    20: _whole_number,
    21: _whole_number,
    23: _whole_number,
    25: bytes.decode,
    701: _float,
}
"""By the numbers that PostgreSQL has given its types: boolean, bytea, bigint, smallint, integer, text, double."""
