"""Everything that must survive, in one SQLite file: one connection writes, every commit is on the disk."""

from __future__ import annotations

import json
import os
import sqlite3
import time
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fairlead.server.records import DECIDED, EXPIRED, PENDING, Answer, Asked, Interaction, Refused, Run
from fairlead.server.rules import Rule, applies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LATE_ANSWERS_LIVE = 3600.0
"""Seconds: an answer given too late is used by the agent's next try within this time, once."""

_MIGRATIONS = (
    """
    CREATE TABLE runs (
        id TEXT PRIMARY KEY, agent TEXT NOT NULL, project TEXT NOT NULL, title TEXT NOT NULL,
        key_hash TEXT NOT NULL UNIQUE, created_at REAL NOT NULL, ended_at REAL
    ) STRICT;
    CREATE TABLE interactions (
        id TEXT PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs(id), request_id TEXT NOT NULL,
        kind TEXT NOT NULL, tool TEXT NOT NULL, body BLOB NOT NULL, digest TEXT NOT NULL, likeness TEXT NOT NULL,
        created_at REAL NOT NULL, expires_at REAL NOT NULL, people INTEGER NOT NULL, agreed TEXT NOT NULL DEFAULT '[]',
        state TEXT NOT NULL DEFAULT 'pending', allow INTEGER,
        message TEXT NOT NULL DEFAULT '', response TEXT, updated_input TEXT, decided_by TEXT NOT NULL DEFAULT '',
        decided_at REAL, used INTEGER NOT NULL DEFAULT 0, UNIQUE (run_id, request_id)
    ) STRICT;
    CREATE INDEX waiting ON interactions (expires_at) WHERE state = 'pending';
    CREATE INDEX late ON interactions (run_id, likeness) WHERE state = 'expired' AND allow IS NOT NULL AND used = 0;
    CREATE INDEX by_time ON interactions (created_at);
    CREATE TABLE rules (
        id TEXT PRIMARY KEY, scope TEXT NOT NULL, within TEXT NOT NULL, tool TEXT NOT NULL, command TEXT NOT NULL,
        path TEXT NOT NULL, created_by TEXT NOT NULL, created_at REAL NOT NULL, ended_at REAL
    ) STRICT;
    CREATE TABLE logins (
        token_hash TEXT PRIMARY KEY, name TEXT NOT NULL, expires_at REAL NOT NULL
    ) STRICT;
    CREATE TABLE audit (
        number INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, interaction_id TEXT NOT NULL,
        what TEXT NOT NULL, who TEXT NOT NULL
    ) STRICT;
    """,
)
_COLUMNS = (
    "id", "run_id", "request_id", "kind", "tool", "body", "digest", "created_at", "expires_at", "people",
    "agreed", "state", "allow", "message", "response", "updated_input", "decided_by", "decided_at", "used",
)  # fmt: skip
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM interactions"  # noqa: S608  # our own names
_RUN = "SELECT id, agent, project, title, created_at, ended_at FROM runs"


class SqliteStore:
    """May be made in one thread and used in another, by one at a time."""

    shared = False

    def __init__(self, path: str, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        _private_file(path)
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "journal_size_limit=67108864"):
            self._database.execute(f"PRAGMA {pragma}")
        self._migrate()

    def close(self) -> None:
        self._database.close()

    def watch(self, changed: Callable[[str], None]) -> None:
        """There is one process for one file: nobody else changes it."""

    def _migrate(self) -> None:
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if version > len(_MIGRATIONS):
            raise Refused(500, "newer_store", "the store was written by a newer Fairlead; update this one")
        for number, script in enumerate(_MIGRATIONS[version:], version + 1):
            self._database.executescript(f"BEGIN IMMEDIATE; {script} PRAGMA user_version = {number}; COMMIT;")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise

    # --- runs ------------------------------------------------------------------------------------

    def add_run(self, run: Run, key_hash: str) -> None:
        with self._writing():
            self._database.execute(
                "INSERT INTO runs (id, agent, project, title, key_hash, created_at) VALUES (?, ?, ?, ?, ?, ?)",
                (run.id, run.agent, run.project, run.title, key_hash, run.created_at),
            )

    def run(self, run_id: str) -> Run | None:
        return self._one_run("id = ?", run_id)

    def run_of_key(self, key_hash: str) -> Run | None:
        return self._one_run("key_hash = ?", key_hash)

    def _one_run(self, where: str, value: str) -> Run | None:
        row = self._database.execute(f"{_RUN} WHERE {where}", (value,)).fetchone()
        return _run(row) if row else None

    def runs(self) -> list[Run]:
        rows = self._database.execute(f"{_RUN} ORDER BY created_at DESC LIMIT 200").fetchall()
        return [_run(row) for row in rows]

    def end_run(self, run_id: str) -> list[Interaction]:
        with self._writing():
            self._database.execute(
                "UPDATE runs SET ended_at = ? WHERE id = ? AND ended_at IS NULL", (self._clock(), run_id)
            )
            return self._expire("run_id = ?", run_id, "the run has ended")

    def add_login(self, token_hash: str, name: str, expires_in: float) -> None:
        with self._writing():
            now = self._clock()
            self._database.execute("DELETE FROM logins WHERE expires_at <= ?", (now,))
            self._database.execute("INSERT INTO logins VALUES (?, ?, ?)", (token_hash, name, now + expires_in))

    def login(self, token_hash: str) -> str:
        found = "SELECT name FROM logins WHERE token_hash = ? AND expires_at > ?"
        row = self._database.execute(found, (token_hash, self._clock())).fetchone()
        return str(row[0]) if row else ""

    def end_login(self, token_hash: str) -> None:
        with self._writing():
            self._database.execute("DELETE FROM logins WHERE token_hash = ?", (token_hash,))

    # --- asking ----------------------------------------------------------------------------------

    def ask(self, asked: Asked) -> tuple[Interaction, bool]:
        with self._writing():
            known = self._one("run_id = ? AND request_id = ?", asked.run_id, asked.request_id)
            if known is not None:
                return _same(known, asked), False
            created = self._insert(asked)
            given = self._given_before(asked, created)
            return (created if given is None else self._decide(created, given)), True

    def _given_before(self, asked: Asked, created: Interaction) -> Answer | None:
        """What a person has said to it already: too late for the last try, or as a rule."""
        late = self._take_late(asked, created.created_at)
        if late is not None:
            return _again(late, created)
        run = self.run(asked.run_id)
        project = run.project if run else ""
        for rule in self.rules() if asked.kind == "approval" and asked.people == 1 else ():
            if applies(rule, tool=asked.tool, payload=asked.payload, run_id=asked.run_id, project=project):
                return Answer(allow=True, by=f"rule {rule.id[:8]} of {rule.created_by}", digest=asked.digest)
        return None

    def _insert(self, asked: Asked) -> Interaction:
        now = self._clock()
        names = ("run_id", "request_id", "kind", "tool", "body", "digest", "people")
        fixed = {name: getattr(asked, name) for name in names}
        created = Interaction(id=uuid.uuid4().hex, **fixed, created_at=now, expires_at=now + asked.expires_in)
        values = {**created.as_dict(), "likeness": asked.likeness}
        columns, marks = ", ".join(values), ", ".join("?" * len(values))
        self._database.execute(f"INSERT INTO interactions ({columns}) VALUES ({marks})", tuple(values.values()))  # noqa: S608
        self._audit(created, "asked", asked.run_id)
        return created

    def _take_late(self, asked: Asked, now: float) -> Interaction | None:
        late = self._one(
            "run_id = ? AND likeness = ? AND state = 'expired' AND allow IS NOT NULL AND used = 0 AND decided_at > ? "
            "ORDER BY decided_at DESC LIMIT 1",
            asked.run_id,
            asked.likeness,
            now - LATE_ANSWERS_LIVE,
        )
        return None if late is None else self._set(late, used=True)

    # --- answering -------------------------------------------------------------------------------

    def answer(self, interaction_id: str, answer: Answer) -> Interaction:
        with self._writing():
            known = self._one("id = ?", interaction_id)
            if known is None:
                raise Refused(404, "not_found", "there is no such question")
            if answer.digest != known.digest:
                raise Refused(422, "not_what_was_shown", "this answer is about something else than the question", known)
            if known.state == PENDING and known.expires_at <= self._clock():
                known = self._ended(known, "nobody answered in time")
            if known.allow is None:
                return self._agreed(known, answer) if answer.allow else self._decide(known, answer)
            if (known.allow, known.decided_by) == (answer.allow, answer.by):
                return known
            raise Refused(409, "already_decided", f"{known.decided_by} has answered already", known)

    def _agreed(self, known: Interaction, answer: Answer) -> Interaction:
        agreed = tuple(dict.fromkeys((*known.agreed, answer.by)))
        if len(agreed) >= known.people:
            return self._decide(known.but(agreed=agreed), answer)
        if answer.updated_input is not None:
            raise Refused(
                422, "not_alone", "several people have to agree to this, so nobody can change it alone", known
            )
        self._audit(known, "agreed", answer.by)
        return self._set(known, agreed=agreed)

    def _decide(self, known: Interaction, answer: Answer) -> Interaction:
        late = known.state == EXPIRED
        self._audit(known, f"{'late ' if late else ''}{'allow' if answer.allow else 'block'}", answer.by)
        return self._set(
            known,
            agreed=known.agreed,
            state=EXPIRED if late else DECIDED,
            allow=answer.allow,
            message=answer.message,
            response=answer.response,
            updated_input=answer.updated_input,
            decided_by=answer.by,
            decided_at=self._clock(),
        )

    def add_rule(self, rule: Rule) -> None:
        values = rule.as_dict()
        marks = ", ".join("?" * len(values))
        with self._writing():
            self._database.execute(f"INSERT INTO rules ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))  # noqa: S608
            self._note(rule.id, "rule", rule.created_by)

    def rules(self) -> list[Rule]:
        rows = self._database.execute(_RULES).fetchall()
        return [Rule(**dict(zip(_RULE, row, strict=True))) for row in rows]

    def end_rule(self, rule_id: str) -> bool:
        with self._writing():
            ended = "UPDATE rules SET ended_at = ? WHERE id = ? AND ended_at IS NULL"
            return self._database.execute(ended, (self._clock(), rule_id)).rowcount == 1

    def expire(self) -> list[Interaction]:
        now = self._clock()
        due = "SELECT 1 FROM interactions WHERE state = 'pending' AND expires_at <= ? LIMIT 1"
        if self._database.execute(due, (now,)).fetchone() is None:
            return []
        with self._writing():
            return self._expire("expires_at <= ?", now, "nobody answered in time")

    def _expire(self, where: str, value: Any, message: str) -> list[Interaction]:
        return [self._ended(one, message) for one in self._all(f"state = 'pending' AND {where}", value)]

    def _ended(self, known: Interaction, message: str) -> Interaction:
        self._audit(known, "expired", "")
        return self._set(known, state=EXPIRED, message=message)

    # --- looking ---------------------------------------------------------------------------------

    def interaction(self, interaction_id: str) -> Interaction | None:
        return self._one("id = ?", interaction_id)

    def interactions(self, *, pending: bool, run_id: str = "", text: str = "", limit: int = 200) -> list[Interaction]:
        where, values = ["state = 'pending'" if pending else "state != 'pending'"], []
        if run_id:
            where.append("run_id = ?")
            values.append(run_id)
        if text:
            where.append("(instr(lower(CAST(body AS TEXT)), lower(?)) OR instr(lower(tool), lower(?)))")
            values += [text, text]
        order = "created_at" if pending else "created_at DESC"
        return self._all(f"{' AND '.join(where)} ORDER BY {order} LIMIT {int(limit)}", *values)

    def states(self, ids: Sequence[str]) -> list[Interaction]:
        marks = ", ".join("?" * len(ids))
        return self._all(f"state != 'pending' AND id IN ({marks})", *ids) if ids else []

    def _one(self, where: str, *values: Any) -> Interaction | None:
        row = self._database.execute(f"{_SELECT} WHERE {where}", values).fetchone()
        return _interaction(row) if row else None

    def _all(self, where: str, *values: Any) -> list[Interaction]:
        return [_interaction(row) for row in self._database.execute(f"{_SELECT} WHERE {where}", values).fetchall()]

    def _set(self, known: Interaction, **changes: Any) -> Interaction:
        names = ", ".join(f"{name} = ?" for name in changes)
        values = [
            json.dumps(value) if name in _JSON and value is not None else value for name, value in changes.items()
        ]
        self._database.execute(f"UPDATE interactions SET {names} WHERE id = ?", (*values, known.id))  # noqa: S608
        return known.but(**changes)

    def _audit(self, about: Interaction, what: str, who: str) -> None:
        self._note(about.id, what, who)

    def _note(self, about: str, what: str, who: str) -> None:
        values = (self._clock(), about, what, who)
        self._database.execute("INSERT INTO audit (at, interaction_id, what, who) VALUES (?, ?, ?, ?)", values)


_JSON = ("response", "updated_input", "agreed")
_RULE = ("id", "scope", "within", "tool", "command", "path", "created_by", "created_at")
_RULES = f"SELECT {', '.join(_RULE)} FROM rules WHERE ended_at IS NULL ORDER BY created_at"  # noqa: S608  # our own names


def _private_file(path: str) -> None:
    """For its owner alone, from the first moment on; SQLite gives its other files the same mode."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))


def _run(row: tuple[Any, ...]) -> Run:
    return Run(**dict(zip(("id", "agent", "project", "title", "created_at", "ended_at"), row, strict=True)))


def _interaction(row: tuple[Any, ...]) -> Interaction:
    fields = dict(zip(_COLUMNS, row, strict=True))
    for name in _JSON:
        fields[name] = None if fields[name] is None else json.loads(fields[name])
    fields["agreed"] = tuple(fields["agreed"])
    fields["allow"] = None if fields["allow"] is None else bool(fields["allow"])
    fields["used"] = bool(fields["used"])
    return Interaction(**fields)


def _same(known: Interaction, asked: Asked) -> Interaction:
    if known.digest != asked.digest:
        raise Refused(422, "another_body", "this X-M-Request-ID was used for another request; make a new one", known)
    return known


def _again(late: Interaction, created: Interaction) -> Answer:
    """What a person said to the same question before, when the agent waited no longer."""
    return Answer(
        allow=bool(late.allow),
        by=late.decided_by,
        digest=created.digest,
        message=late.message,
        response=late.response,
        updated_input=late.updated_input,
    )
