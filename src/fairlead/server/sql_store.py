"""What both stores do, in SQL that both databases read: every rule about questions and answers is written once.

A database adds how it begins and ends a transaction, how it locks a row, what time it is, and how others are told.
"""
# ruff: noqa: S608  # the parts of the statements are our own names; every value is a parameter

from __future__ import annotations

import json
import uuid
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, cast

from fairlead import wire
from fairlead.errors import UsageError
from fairlead.server.records import DECIDED, EXPIRED, PENDING, Answer, Asked, Interaction, Login, Refused, Run
from fairlead.server.rules import Rule, applies, asked_in
from fairlead.server.transactions import Transactions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fairlead.server.transactions import Steps

    Row = tuple[Any, ...]
    Listed = tuple[list[Interaction], dict[str, Run]]

LATE_ANSWERS_LIVE = 3600.0
"""Seconds: an answer given too late is used by the agent's next try within this time, once."""

MIGRATIONS = (
    """
    CREATE TABLE runs (
        id TEXT PRIMARY KEY, agent TEXT NOT NULL, project TEXT NOT NULL, title TEXT NOT NULL,
        key_hash TEXT NOT NULL UNIQUE, created_at {time} NOT NULL, ended_at {time}
    ){strict};
    CREATE TABLE interactions (
        id TEXT PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs(id), request_id TEXT NOT NULL,
        kind TEXT NOT NULL, tool TEXT NOT NULL, body {bytes} NOT NULL, digest TEXT NOT NULL, likeness TEXT NOT NULL,
        words TEXT NOT NULL, created_at {time} NOT NULL, expires_at {time} NOT NULL, people INTEGER NOT NULL,
        agreed TEXT NOT NULL DEFAULT '[]', state TEXT NOT NULL DEFAULT 'pending', allow {flag},
        message TEXT NOT NULL DEFAULT '', response TEXT, updated_input TEXT, decided_by TEXT NOT NULL DEFAULT '',
        decided_at {time}, used {flag} NOT NULL DEFAULT {false}, UNIQUE (run_id, request_id)
    ){strict};
    CREATE INDEX waiting ON interactions (expires_at) WHERE state = 'pending';
    CREATE INDEX late ON interactions (run_id, likeness) WHERE state = 'expired' AND allow IS NOT NULL AND NOT used;
    CREATE INDEX by_time ON interactions (created_at);
    CREATE TABLE rules (
        id TEXT PRIMARY KEY, scope TEXT NOT NULL, within TEXT NOT NULL, tool TEXT NOT NULL, command TEXT NOT NULL,
        path TEXT NOT NULL, created_by TEXT NOT NULL, created_at {time} NOT NULL, ended_at {time}
    ){strict};
    CREATE TABLE logins (
        token_hash TEXT PRIMARY KEY, name TEXT NOT NULL, expires_at {time} NOT NULL
    ){strict};
    CREATE TABLE audit (
        number {counter}, at {time} NOT NULL, about TEXT NOT NULL, what TEXT NOT NULL, who TEXT NOT NULL
    ){strict};
    CREATE INDEX audit_by_time ON audit (at);
    """,
    """
    ALTER TABLE runs ADD COLUMN host TEXT NOT NULL DEFAULT '';
    ALTER TABLE runs ADD COLUMN process TEXT NOT NULL DEFAULT '';
    CREATE INDEX supervised ON runs (id) WHERE ended_at IS NULL AND process != '';
    ALTER TABLE interactions ADD COLUMN line TEXT NOT NULL DEFAULT '';
    ALTER TABLE interactions ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
    UPDATE interactions SET size = length(body);
    ALTER TABLE interactions ADD COLUMN approvers TEXT NOT NULL DEFAULT '[]';
    ALTER TABLE interactions ADD COLUMN escalate_at {time};
    ALTER TABLE interactions ADD COLUMN escalate_to TEXT NOT NULL DEFAULT '[]';
    ALTER TABLE interactions ADD COLUMN escalated {flag} NOT NULL DEFAULT {false};
    CREATE INDEX to_escalate ON interactions (escalate_at) WHERE state = 'pending' AND NOT escalated;
    ALTER TABLE rules ADD COLUMN folder TEXT NOT NULL DEFAULT '';
    ALTER TABLE rules ADD COLUMN host TEXT NOT NULL DEFAULT '';
    UPDATE rules SET folder = within WHERE scope = 'project';
    ALTER TABLE logins ADD COLUMN created_at {time} NOT NULL DEFAULT 0;
    CREATE TABLE login_keys (
        key_hash TEXT PRIMARY KEY, name TEXT NOT NULL, expires_at {time} NOT NULL
    ){strict};
    """,
)
_COLUMNS = (
    "id", "run_id", "request_id", "kind", "tool", "body", "digest", "created_at", "expires_at", "people",
    "agreed", "state", "allow", "message", "response", "updated_input", "decided_by", "decided_at", "used",
    "line", "size", "approvers", "escalate_at", "escalate_to", "escalated",
)  # fmt: skip
_NAMES = ("agreed", "approvers", "escalate_to")
_JSON = ("response", "updated_input", *_NAMES)
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM interactions"
_SELECT_ROWS = f"SELECT {', '.join(name if name != 'body' else 'NULL' for name in _COLUMNS)} FROM interactions"
"""Without the bodies, which may be large."""
_FIRST = (
    "id", "run_id", "request_id", "kind", "tool", "body", "digest", "created_at", "expires_at", "people", "line",
    "size", "approvers", "escalate_at", "escalate_to",
)  # fmt: skip
"""What is known of a question when it is asked."""
_INSERT = (
    f"INSERT INTO interactions ({', '.join(_FIRST)}, likeness, words) VALUES ({', '.join('?' * (len(_FIRST) + 2))}) "
    "ON CONFLICT (run_id, request_id) DO NOTHING"
)
_RUN = ("id", "agent", "project", "title", "created_at", "ended_at", "host", "process")
_RUNS = f"SELECT {', '.join(_RUN)} FROM runs"
_RULE = ("id", "scope", "within", "tool", "command", "path", "folder", "host", "created_by", "created_at")
_RULES = f"SELECT {', '.join(_RULE)} FROM rules WHERE ended_at IS NULL ORDER BY created_at, id"
_LISTED = 200
_TOO_LATE = "nobody answered in time"


class Done(Protocol):
    """A statement that was carried out."""

    @property
    def rows(self) -> list[Row]: ...

    @property
    def count(self) -> int:
        """The rows that it has changed."""


class SqlStore(Transactions):
    """Everything but the database."""

    shared = False
    _noting = "INSERT INTO audit (at, about, what, who) VALUES (?, ?, ?, ?)"
    """When, about what, what, who."""
    _position = "instr"
    """The function that finds a text in another."""
    _locked = ""
    """After a SELECT: nobody else changes these rows until we are done."""
    _locked_for_readers = ""
    """The same, for a row that others may read along with us."""
    _at_once = 500
    """How many ids one statement names; every database has its limit."""
    _locked_or_left = ""
    """The same, without the rows that somebody else is changing now."""

    # --- what a database adds --------------------------------------------------------------------

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def watch(self, changed: Callable[[str], None]) -> None: ...

    @abstractmethod
    def _rows(self, statement: str, *values: Any) -> list[Row]: ...

    @abstractmethod
    def _change(self, statement: str, *values: Any) -> int:
        """How many rows it has changed."""

    @abstractmethod
    def _done(self, statement: str, values: Sequence[Any]) -> Done: ...

    def _walked(self, steps: Steps) -> Any:
        """By itself, one statement after the other."""
        done: Done | None = None
        try:
            while True:
                done = self._done(*steps.send(done))
        except StopIteration as end:
            return end.value

    @abstractmethod
    def _end(self, ids: Sequence[str], now: float, message: str) -> None:
        """These questions have expired, and it is noted; there may be ten thousand."""

    def _rows_later(self, statement: str, *values: Any) -> Callable[[], list[Row]]:
        """Of a statement that may travel with the next one."""
        return lambda: self._rows(statement, *values)

    def _change_later(self, statement: str, *values: Any) -> None:
        """One that may travel with the next one, at the latest with the end of the transaction."""
        self._change(statement, *values)

    def _among(self, ids: Sequence[str]) -> tuple[str, list[Any]]:
        """The condition that it is one of these."""
        return f"id IN ({', '.join('?' * len(ids))})", list(ids)

    @abstractmethod
    def _now(self) -> float:
        """One clock for all who use the store."""

    # --- runs ------------------------------------------------------------------------------------

    def add_run(self, run: Run, key_hash: str) -> None:
        with self._transaction():
            self._change(
                "INSERT INTO runs (id, agent, project, title, key_hash, created_at, host, process) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                *(run.id, run.agent, run.project, run.title, key_hash, run.created_at, run.host, run.process),
            )

    def run(self, run_id: str) -> Run | None:
        return _one_run(self._rows(f"{_RUNS} WHERE id = ?", run_id))

    def run_of_key(self, key_hash: str) -> Run | None:
        return cast("Run | None", self._walked(self.finding_run(key_hash)))

    def finding_run(self, key_hash: str) -> Steps:
        return _one_run((yield f"{_RUNS} WHERE key_hash = ?", (key_hash,)).rows)

    def runs(self) -> list[Run]:
        return [_run(row) for row in self._rows(f"{_RUNS} ORDER BY created_at DESC, id LIMIT 200")]

    def runs_with_a_process(self) -> list[Run]:
        return [_run(row) for row in self._rows(f"{_RUNS} WHERE ended_at IS NULL AND process != ''")]

    def end_run(self, run_id: str) -> list[Interaction]:
        with self._transaction():
            now = self._now()
            self._change("UPDATE runs SET ended_at = ? WHERE id = ? AND ended_at IS NULL", now, run_id)
            ended = "UPDATE rules SET ended_at = ? WHERE scope = 'session' AND within = ? AND ended_at IS NULL"
            self._change(ended, now, run_id)
            waiting = self._all(f"state = 'pending' AND run_id = ?{self._locked}", run_id)
            return self._all_ended(waiting, now, "the run has ended")

    # --- people ----------------------------------------------------------------------------------

    def add_login(self, token_hash: str, name: str, expires_in: float) -> None:
        with self._transaction():
            self._add_login(token_hash, name, expires_in)

    def _add_login(self, token_hash: str, name: str, expires_in: float) -> None:
        now = self._now()
        self._change("DELETE FROM logins WHERE expires_at <= ?", now)
        insert = "INSERT INTO logins (token_hash, name, expires_at, created_at) VALUES (?, ?, ?, ?)"
        self._change(insert, token_hash, name, now + expires_in, now)

    def login(self, token_hash: str) -> str:
        rows = self._rows("SELECT name, expires_at FROM logins WHERE token_hash = ?", token_hash)
        return str(rows[0][0]) if rows and rows[0][1] > self._now() else ""

    def end_login(self, token_hash: str) -> None:
        with self._transaction():
            self._change("DELETE FROM logins WHERE token_hash = ?", token_hash)

    def logins(self) -> list[Login]:
        select = "SELECT token_hash, name, created_at, expires_at FROM logins WHERE expires_at > ? ORDER BY name, 3, 1"
        rows = self._rows(select, self._now())
        return [Login(id=row[0][:12], name=row[1], created_at=row[2], expires_at=row[3]) for row in rows]

    def end_logins(self, name: str) -> int:
        with self._transaction():
            keys = self._change("DELETE FROM login_keys WHERE name = ?", name)
            ended = self._change("DELETE FROM logins WHERE name = ?", name)
            self._note("", "logged out", name, self._now())
            return keys + ended

    def add_login_key(self, key_hash: str, name: str, expires_in: float) -> None:
        with self._transaction():
            now = self._now()
            self._change("DELETE FROM login_keys WHERE expires_at <= ?", now)
            insert = "INSERT INTO login_keys (key_hash, name, expires_at) VALUES (?, ?, ?)"
            self._change(insert, key_hash, name, now + expires_in)

    def use_login_key(self, key_hash: str, token_hash: str, expires_in: float) -> str:
        with self._transaction():
            rows = self._rows("SELECT name, expires_at FROM login_keys WHERE key_hash = ?", key_hash)
            # Of two who use it at once, one deletes it.
            taken = bool(rows) and self._change("DELETE FROM login_keys WHERE key_hash = ?", key_hash) == 1
            if not taken or rows[0][1] <= self._now():
                return ""
            name = str(rows[0][0])
            self._add_login(token_hash, name, expires_in)
            return name

    # --- asking ----------------------------------------------------------------------------------

    def ask(self, asked: Asked) -> tuple[Interaction, bool]:
        with self._transaction():
            return cast("tuple[Interaction, bool]", self._walked(self.asking(asked)))

    def asking(self, asked: Asked) -> Steps:
        """A run cannot end before we are done: a question of an ended run would wait for nobody."""
        rules = self._in_force()
        late = self._late(asked)
        run = _active((yield f"{_RUNS} WHERE id = ?{self._locked_for_readers}", (asked.run_id,)).rows)
        created = self._new(asked)
        if (yield self._insertion(asked, created)).count == 0:
            known = yield f"{_SELECT} WHERE run_id = ? AND request_id = ?", (asked.run_id, asked.request_id)
            return self._known(asked, known.rows), False
        self._note(created.id, "asked", asked.run_id, created.created_at)
        return self._given_before(asked, created, run, late, rules) or created, True

    def _known(self, asked: Asked, rows: Sequence[Row]) -> Interaction:
        known = _interaction(rows[0]) if rows else None
        if known is None or not (known.digest == asked.digest or _differs_in_time_alone(known.body, asked.body)):
            why = "this X-M-Request-ID was used for another request; make a new one"
            raise Refused(422, "another_body", why, known)
        return known

    def _new(self, asked: Asked) -> Interaction:
        now = self._now()
        names = ("run_id", "request_id", "kind", "tool", "body", "digest", "people", "line", "approvers", "escalate_to")
        fixed = {name: getattr(asked, name) for name in names}
        times: dict[str, Any] = {"created_at": now, "expires_at": now + asked.expires_in}
        if asked.escalate_after is not None:
            times["escalate_at"] = now + asked.escalate_after
        return Interaction(id=uuid.uuid4().hex, **fixed, **times, size=len(asked.body))

    def _insertion(self, asked: Asked, created: Interaction) -> tuple[str, tuple[Any, ...]]:
        """Changes nothing if the run has used this id already."""
        fields = {name: getattr(created, name) for name in _FIRST}
        values = {**_written(fields), "likeness": asked.likeness, "words": _words(asked)}
        return _INSERT, tuple(values.values())

    def _given_before(
        self,
        asked: Asked,
        created: Interaction,
        run: Run,
        late: Callable[[], list[Row]],
        rules: Callable[[], Sequence[Rule]],
    ) -> Interaction | None:
        """Decided by what a person has said already: too late for the last try, or as a rule."""
        now = created.created_at
        said = self._take_late(asked, late(), now)
        if said is not None:
            return self._decide(created.but(agreed=said.agreed), _again(said), now)
        possible = [rule for rule in rules() if created.may_be_decided_by(rule.created_by)]
        if not possible or asked.kind != "approval" or asked.people != 1:
            return None
        call = asked_in(asked, run)  # looks at files
        for rule in possible:
            if applies(rule, call):
                by = f"rule {rule.id[:8]} of {rule.created_by}"
                return self._decide(created, Answer(allow=True, by=by, digest=asked.digest), now)
        return None

    def _late(self, asked: Asked) -> Callable[[], list[Row]]:
        """The last answer to this that came too late and that nobody has taken; nobody else takes it meanwhile."""
        return self._rows_later(
            f"{_SELECT} WHERE run_id = ? AND likeness = ? AND people >= ? AND state = 'expired' AND allow IS NOT NULL "
            f"AND NOT used ORDER BY decided_at DESC LIMIT 1{self._locked}",
            *(asked.run_id, asked.likeness, asked.people),
        )

    def _take_late(self, asked: Asked, rows: list[Row], now: float) -> Interaction | None:
        """Once: the agent that tries a third time asks again."""
        late = _interaction(rows[0]) if rows else None
        if late is None or (late.decided_at or 0.0) <= now - LATE_ANSWERS_LIVE or not asked_again_of(asked, late):
            return None
        return self._set(late, used=True)

    # --- answering -------------------------------------------------------------------------------

    def answer(self, interaction_id: str, answer: Answer) -> Interaction:
        return self.answer_in_run(interaction_id, answer)[0]

    def answer_in_run(self, interaction_id: str, answer: Answer) -> tuple[Interaction, Run | None]:
        with self._transaction():
            return cast("tuple[Interaction, Run | None]", self._walked(self.answering(interaction_id, answer)))

    def answering(self, interaction_id: str, answer: Answer) -> Steps:
        run = self._rows_later(f"{_RUNS} WHERE id = (SELECT run_id FROM interactions WHERE id = ?)", interaction_id)
        known = yield from self._answering(interaction_id, answer)
        return known, _one_run(run())

    def _answering(self, interaction_id: str, answer: Answer) -> Steps:
        rows = (yield f"{_SELECT} WHERE id = ?{self._locked}", (interaction_id,)).rows
        if not rows:
            raise Refused(404, "not_found", "there is no such question")
        known = _interaction(rows[0])
        _check(known, answer)
        if known.allow is not None:
            return known
        now = self._now()
        if known.state == PENDING and known.expires_at <= now:
            known = self._ended(known, now, _TOO_LATE)
        return self._agreed(known, answer, now) if answer.allow else self._decide(known, answer, now)

    def _agreed(self, known: Interaction, answer: Answer, now: float) -> Interaction:
        agreed = tuple(dict.fromkeys((*known.agreed, answer.by)))
        if len(agreed) >= known.people:
            return self._decide(known.but(agreed=agreed), answer, now)
        if agreed == known.agreed:
            return known
        self._note(known.id, "agreed", answer.by, now)
        return self._set(known, agreed=agreed)

    def _decide(self, known: Interaction, answer: Answer, now: float) -> Interaction:
        late = known.state == EXPIRED
        self._note(known.id, f"{'late ' if late else ''}{'allow' if answer.allow else 'block'}", answer.by, now)
        return self._set(
            known,
            agreed=known.agreed,
            state=EXPIRED if late else DECIDED,
            allow=answer.allow,
            message=answer.message,
            response=answer.response,
            updated_input=answer.updated_input,
            decided_by=answer.by,
            decided_at=now,
        )

    def expire(self) -> list[Interaction]:
        now = self._now()
        if not self._rows("SELECT 1 FROM interactions WHERE state = 'pending' AND expires_at <= ? LIMIT 1", now):
            return []
        with self._transaction():
            due = self._all(f"state = 'pending' AND expires_at <= ?{self._locked_or_left}", now)
            return self._all_ended(due, now, _TOO_LATE)

    def escalate(self) -> list[Interaction]:
        now = self._now()
        due = "state = 'pending' AND NOT escalated AND escalate_at <= ?"
        if not self._rows(f"SELECT 1 FROM interactions WHERE {due} LIMIT 1", now):
            return []
        with self._transaction():
            return [self._escalated(one, now) for one in self._all(f"{due}{self._locked_or_left}", now)]

    def _escalated(self, known: Interaction, now: float) -> Interaction:
        self._note(known.id, "escalated", ", ".join(known.escalate_to), now)
        return self._set(known, escalated=True)

    def _ended(self, known: Interaction, now: float, message: str) -> Interaction:
        return self._all_ended([known], now, message)[0]

    def _all_ended(self, known: list[Interaction], now: float, message: str) -> list[Interaction]:
        self._end([one.id for one in known], now, message)
        return [one.but(state=EXPIRED, message=message) for one in known]

    # --- rules -----------------------------------------------------------------------------------

    def add_rule(self, rule: Rule) -> None:
        marks = ", ".join("?" * len(_RULE))
        with self._transaction():
            insert = f"INSERT INTO rules ({', '.join(_RULE)}) VALUES ({marks})"
            self._change(insert, *(getattr(rule, name) for name in _RULE))
            self._note(rule.id, "rule", rule.created_by, self._now())

    def rules(self) -> list[Rule]:
        return [_rule(row) for row in self._rows(_RULES)]

    def _in_force(self) -> Callable[[], Sequence[Rule]]:
        """The rules, when the next statement has arrived."""
        rows = self._rows_later(_RULES)
        return lambda: [_rule(row) for row in rows()]

    def end_rule(self, rule_id: str) -> bool:
        with self._transaction():
            now = self._now()
            ended = self._change("UPDATE rules SET ended_at = ? WHERE id = ? AND ended_at IS NULL", now, rule_id) == 1
            if ended:
                self._note(rule_id, "rule ended", "", now)
            return ended

    # --- looking ---------------------------------------------------------------------------------

    def interaction(self, interaction_id: str) -> Interaction | None:
        return self._one("id = ?", interaction_id)

    def interactions(
        self, *, pending: bool, run_id: str = "", text: str = "", limit: int = _LISTED
    ) -> list[Interaction]:
        statement, values = self._list(pending=pending, run_id=run_id, text=text, limit=limit)
        return [_interaction(row) for row in self._rows(statement, *values)]

    def listing(self, *, pending: bool, run_id: str = "", text: str = "") -> Steps:
        rows = (yield self._list(pending=pending, run_id=run_id, text=text, limit=_LISTED)).rows
        found = [_interaction(row) for row in rows]
        among, values = self._among(sorted({one.run_id for one in found}))
        runs = (yield f"{_RUNS} WHERE {among}", tuple(values)).rows if found else []
        return found, {run.id: run for run in map(_run, runs)}

    def listed(self, *, pending: bool, run_id: str = "", text: str = "") -> Listed:
        return cast("Listed", self._walked(self.listing(pending=pending, run_id=run_id, text=text)))

    def _list(self, *, pending: bool, run_id: str, text: str, limit: int) -> tuple[str, tuple[Any, ...]]:
        where, values = ["state = 'pending'" if pending else "state != 'pending'"], []
        if run_id:
            where.append("run_id = ?")
            values.append(run_id)
        if text:
            where.append(f"{self._position}(words, ?) > 0")
            values.append(text.casefold())
        order = "created_at, id" if pending else "created_at DESC, id"
        return f"{_SELECT_ROWS} WHERE {' AND '.join(where)} ORDER BY {order} LIMIT {int(limit)}", tuple(values)

    def waiting(self) -> tuple[int, float | None]:
        ((count, first),) = self._rows("SELECT COUNT(*), MIN(created_at) FROM interactions WHERE state = 'pending'")
        return int(count), None if first is None else float(first)

    def states(self, ids: Sequence[str]) -> list[Interaction]:
        return self._named(ids, "state != 'pending' AND ")

    def named(self, ids: Sequence[str]) -> list[Interaction]:
        return self._named(ids)

    def _named(self, ids: Sequence[str], which: str = "") -> list[Interaction]:
        found: list[Interaction] = []
        for start in range(0, len(ids), self._at_once):
            among, values = self._among(ids[start : start + self._at_once])
            found += self._all(f"{which}{among}", *values)
        return found

    def recent(self, seconds: float) -> dict[str, int]:
        since = self._now() - seconds
        return dict(self._rows("SELECT about, max(number) FROM audit WHERE at >= ? GROUP BY about", since))

    def _one(self, where: str, *values: Any) -> Interaction | None:
        found = self._all(where, *values)
        return found[0] if found else None

    def _all(self, where: str, *values: Any) -> list[Interaction]:
        return [_interaction(row) for row in self._rows(f"{_SELECT} WHERE {where}", *values)]

    def _set(self, known: Interaction, **changes: Any) -> Interaction:
        names = ", ".join(f"{name} = ?" for name in changes)
        self._change_later(f"UPDATE interactions SET {names} WHERE id = ?", *_written(changes).values(), known.id)
        return known.but(**changes)

    def _note(self, about: str, what: str, who: str, now: float) -> None:
        self._change_later(self._noting, now, about, what, who)

    # --- migrations ------------------------------------------------------------------------------

    def _migrate(self, version: int, kinds: dict[str, str], done: Callable[[int], None]) -> None:
        """Inside a transaction that nobody else has at the same time."""
        if version > len(MIGRATIONS):
            raise UsageError("this store was written by a newer Fairlead", hint="update this one")
        for number, script in enumerate(MIGRATIONS[version:], version + 1):
            for statement in _statements(script.format_map(kinds)):
                self._change(statement)
            done(number)


def storable(value: Any) -> Any:
    """What no database takes in a text, NUL and halves of characters, by its name."""
    if not isinstance(value, str) or (value.isascii() and "\0" not in value):
        return value
    return value.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()


def _statements(script: str) -> Iterator[str]:
    return (statement for statement in script.split(";") if statement.strip())


def _rule(row: Row) -> Rule:
    return Rule(**dict(zip(_RULE, row, strict=True)))


def _one_run(rows: Sequence[Row]) -> Run | None:
    return _run(rows[0]) if rows else None


def _run(row: Row) -> Run:
    return Run(**dict(zip(_RUN, row, strict=True)))


def _written(fields: dict[str, Any]) -> dict[str, Any]:
    """As the columns hold them."""
    encoded = {name: json.dumps(value) for name, value in fields.items() if name in _JSON and value is not None}
    return {**fields, **encoded}


def _interaction(row: Row) -> Interaction:
    fields = dict(zip(_COLUMNS, row, strict=True))
    for name in _JSON:
        fields[name] = None if fields[name] is None else json.loads(fields[name])
    for name in _NAMES:
        fields[name] = tuple(fields[name])
    fields["body"] = fields["body"] or b""
    fields["escalated"] = bool(fields["escalated"])
    fields["allow"] = None if fields["allow"] is None else bool(fields["allow"])
    fields["used"] = bool(fields["used"])
    return Interaction(**fields)


def asked_again_of(asked: Asked, late: Interaction) -> bool:
    """Whether those who answered too late may decide what is asked now."""
    if not late.allow or not asked.approvers:
        return True
    circle = {*asked.approvers, *(asked.escalate_to if late.escalated else ())}
    return circle.issuperset(late.agreed or (late.decided_by,))


def _again(late: Interaction) -> Answer:
    """What a person said to the same question before, when the agent waited no longer."""
    return Answer(
        allow=bool(late.allow),
        by=late.decided_by,
        digest=late.digest,
        message=late.message,
        response=late.response,
        updated_input=late.updated_input,
    )


def _active(rows: Sequence[Row]) -> Run:
    run = _one_run(rows)
    if run is None:
        raise Refused(404, "not_found", "there is no such run")
    if not run.active:
        raise Refused(409, "invalid_state", "this run has ended; start another one")
    return run


def _differs_in_time_alone(body: bytes, other: bytes) -> bool:
    """Who comes back waits for less long than before."""
    first, second = ({**wire.decode_object(one), "expires_in": 0} for one in (body, other))
    return first == second


def _check(known: Interaction, answer: Answer) -> None:
    """Whether this answer may be given, or was given already."""
    if answer.digest != known.digest:
        raise Refused(422, "not_what_was_shown", "this answer is about something else than the question", known)
    if not known.may_be_decided_by(answer.by):
        raise Refused(403, "not_yours", f"{' or '.join(known.deciders)} may decide this, nobody else", known)
    if known.allow is not None and not _is_said_again(known, answer):
        raise Refused(409, "already_decided", f"{known.decided_by} has answered already", known)
    if known.allow is None and answer.allow and known.people > 1 and answer.updated_input is not None:
        why = "several people have to agree to this, so nobody can change it alone"
        raise Refused(422, "not_alone", why, known)


def _is_said_again(known: Interaction, answer: Answer) -> bool:
    """The same person's same answer, whose receipt was lost; or one of several who had agreed."""
    if answer.allow and known.allow and known.people > 1 and answer.by in known.agreed:
        return True
    names = ("allow", "message", "response", "updated_input")
    return known.decided_by == answer.by and all(getattr(known, name) == getattr(answer, name) for name in names)


def _words(asked: Asked) -> str:
    """What a search looks at: the text as a person reads it, not as JSON writes it."""
    return "\n".join((asked.tool, *_texts(asked.payload))).casefold()


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif value is not None:
        yield str(value)
