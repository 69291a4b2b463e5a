"""What every store has to do, on both."""

from __future__ import annotations

import json
import queue
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.errors import UsageError
from fairlead.server.postgres_store import PostgresStore
from fairlead.server.records import DECIDED, EXPIRED, PENDING, Answer, Refused, Run
from fairlead.server.rules import Rule
from fairlead.server.sql_store import LATE_ANSWERS_LIVE, SqlStore, storable
from fairlead.server.sqlite_store import SqliteStore
from tests.server.conftest import START, Clock, Stores, answer, asked, new_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fairlead.server.records import Interaction
    from tests.server.postgres import Postgres


def rule(name: str = "r", scope: str = "user", within: str = "", tool: str = "Bash", **fields: str) -> Rule:
    given = fields or {"command": "ls"}
    named = {"id": name, "scope": scope, "within": within, "tool": tool, "folder": "/p"}
    return Rule(**named, created_by="ann", created_at=START, **given)


def listed(*questions: Interaction) -> list[Interaction]:
    """As a list has them: without their bodies."""
    return [question.but(body=b"") for question in questions]


def refused(call: Callable[[], object]) -> Refused:
    with pytest.raises(Refused) as caught:
        call()
    return caught.value


# --- runs and people ---------------------------------------------------------------------------------


def test_a_run_is_found_by_its_name_and_by_its_key_until_it_ends(store: SqlStore, run: Run, clock: Clock) -> None:
    assert store.run("run") == run
    assert store.run_of_key("key of run") == run
    assert store.run("other") is None
    assert store.run_of_key("run") is None
    clock.passes(5)
    store.end_run("run")
    clock.passes(5)
    store.end_run("run")
    ended = store.run_of_key("key of run")
    assert ended is not None
    assert ended.ended_at == START + 5
    assert store.runs() == [ended]


def test_a_run_that_ends_ends_its_questions_and_no_others(store: SqlStore, run: Run) -> None:
    new_run(store, "other")
    mine, _ = store.ask(asked())
    decided = store.answer(store.ask(asked("2"))[0].id, answer(store.ask(asked("2"))[0]))
    others, _ = store.ask(asked(run_id="other"))
    (ended,) = store.end_run("run")
    assert (ended.id, ended.state, ended.allow, ended.message) == (mine.id, EXPIRED, None, "the run has ended")
    assert store.interaction(mine.id) == ended
    assert store.interaction(decided.id) == decided
    assert store.interaction(others.id) == others
    assert store.end_run("run") == []
    assert store.end_run("never there") == []


def test_a_login_is_somebodys_until_it_ends_or_expires(store: SqlStore, clock: Clock) -> None:
    store.add_login("a", "ann", 60)
    store.add_login("b", "bob", 3600)
    assert (store.login("a"), store.login("b"), store.login("c")) == ("ann", "bob", "")
    clock.passes(60)
    assert (store.login("a"), store.login("b")) == ("", "bob")
    store.end_login("b")
    store.end_login("never there")
    assert store.login("b") == ""


# --- asking ------------------------------------------------------------------------------------------


def test_a_question_is_kept_as_it_came(store: SqlStore, run: Run) -> None:
    question = asked(command="rm -rf 'ä\u202e' \x00", expires_in=90, people=2)
    created, new = store.ask(question)
    assert new
    assert store.interaction(created.id) == created
    for name in ("run_id", "request_id", "kind", "tool", "body", "digest", "people"):
        assert getattr(created, name) == getattr(question, name)
    assert (created.created_at, created.expires_at) == (START, START + 90)
    assert (created.state, created.allow, created.agreed) == (PENDING, None, ())


def test_the_same_request_is_the_same_question(store: SqlStore, run: Run) -> None:
    first, _ = store.ask(asked())
    assert store.ask(asked()) == (first, False)
    decided = store.answer(first.id, answer(first))
    assert store.ask(asked()) == (decided, False)


def test_the_same_id_with_another_body_is_refused_and_changes_nothing(store: SqlStore, run: Run) -> None:
    first, _ = store.ask(asked())
    why = refused(lambda: store.ask(asked(command="rm -rf /")))
    assert (why.status, why.interaction) == (422, first)
    assert store.interactions(pending=True) == listed(first)


def test_who_comes_back_with_less_time_left_joins_the_question(store: SqlStore, run: Run) -> None:
    first, _ = store.ask(asked("1", expires_in=600))
    assert store.ask(asked("1", expires_in=570.5)) == (first, False)
    why = refused(lambda: store.ask(asked("1", "rm -rf /", expires_in=570.5)))
    assert (why.status, why.interaction) == (422, first)


def test_two_runs_may_use_the_same_id(store: SqlStore, run: Run) -> None:
    new_run(store, "other")
    first, _ = store.ask(asked())
    second, new = store.ask(asked(run_id="other"))
    assert new
    assert first.id != second.id


def test_an_ended_run_asks_nothing_more(store: SqlStore, run: Run) -> None:
    store.ask(asked())
    store.end_run("run")
    for request_id in ("1", "2"):
        assert refused(lambda: store.ask(asked(request_id))).status == 409  # noqa: B023
    assert store.interactions(pending=True) == []


def test_a_run_that_nobody_knows_asks_nothing(store: SqlStore) -> None:
    assert refused(lambda: store.ask(asked())).status == 404


# --- answering ---------------------------------------------------------------------------------------

ANSWERS: dict[str, dict[str, Any]] = {
    "allow": {"allow": True},
    "block": {"allow": False},
    "with a reason": {"allow": False, "message": "not on a Friday, \u202e please"},
    "with changes": {"allow": True, "updated_input": {"command": "ls -l", "deep": [{"a": None}, 1.5, True]}},
    "with no input left": {"allow": True, "updated_input": {}},
    "a text": {"allow": True, "response": "blue"},
    "an empty text": {"allow": True, "response": ""},
    "false": {"allow": True, "response": False},
    "characters that databases do not take": {"allow": True, "response": {"a\0": "\ud800", "😀": "\0"}},
    "a large number": {"allow": True, "response": 10**400},
}


@pytest.mark.parametrize("fields", ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_is_kept_as_it_was_given(stores: Stores, clock: Clock, fields: dict[str, Any]) -> None:
    store = stores.open(clock)
    new_run(store)
    question, _ = store.ask(asked())
    clock.passes(3)
    decided = store.answer(question.id, answer(question, **fields))
    assert (decided.state, decided.decided_by, decided.decided_at) == (DECIDED, "ann", START + 3)
    for name, value in fields.items():
        assert getattr(decided, name) == value
    stores.close(store)
    assert stores.open(clock).interaction(question.id) == decided


def test_an_answer_to_what_was_not_shown_is_refused(store: SqlStore, run: Run) -> None:
    question, _ = store.ask(asked())
    for digest in ("", question.digest[:-1], question.digest.upper(), asked("2").digest):
        why = refused(lambda: store.answer(question.id, Answer(allow=True, by="ann", digest=digest)))  # noqa: B023
        assert why.status == 422
    assert store.interaction(question.id) == question


def test_an_answer_to_nothing_is_refused(store: SqlStore, run: Run) -> None:
    question, _ = store.ask(asked())
    assert refused(lambda: store.answer("other", answer(question))).status == 404


OTHER_ANSWERS: dict[str, dict[str, Any]] = {
    "somebody else": {"by": "bob"},
    "the opposite": {"allow": False},
    "somebody else, the opposite": {"by": "bob", "allow": False},
    "with changes": {"updated_input": {"command": "rm"}},
    "another text": {"response": "x"},
    "another reason": {"message": "x"},
}


@pytest.mark.parametrize("fields", OTHER_ANSWERS.values(), ids=OTHER_ANSWERS.keys())
def test_the_first_answer_stands_and_the_second_sees_it(store: SqlStore, run: Run, fields: dict[str, Any]) -> None:
    question, _ = store.ask(asked())
    first = store.answer(question.id, answer(question))
    why = refused(lambda: store.answer(question.id, answer(question, **fields)))
    assert (why.status, why.interaction) == (409, first)
    assert "ann" in str(why)
    assert store.interaction(question.id) == first


def test_the_same_answer_again_is_the_same_answer(store: SqlStore, run: Run, clock: Clock) -> None:
    question, _ = store.ask(asked())
    said = answer(question, updated_input={"command": "ls -l"}, message="m")
    first = store.answer(question.id, said)
    clock.passes(1)
    assert store.answer(question.id, said) == first


# --- several people ----------------------------------------------------------------------------------


def test_where_two_have_to_agree_the_second_decides(store: SqlStore, run: Run) -> None:
    question, _ = store.ask(asked(people=2))
    one = store.answer(question.id, answer(question, "ann"))
    assert (one.state, one.allow, one.agreed) == (PENDING, None, ("ann",))
    assert store.answer(question.id, answer(question, "ann")) == one
    two = store.answer(question.id, answer(question, "bob"))
    assert (two.state, two.allow, two.agreed, two.decided_by) == (DECIDED, True, ("ann", "bob"), "bob")
    assert store.interaction(question.id) == two
    assert store.answer(question.id, answer(question, "ann")) == two
    assert refused(lambda: store.answer(question.id, answer(question, "eve"))).status == 409


def test_where_two_have_to_agree_one_refusal_is_enough(store: SqlStore, run: Run) -> None:
    question, _ = store.ask(asked(people=2))
    store.answer(question.id, answer(question, "ann"))
    decided = store.answer(question.id, answer(question, "ann", allow=False))
    assert (decided.state, decided.allow) == (DECIDED, False)
    assert refused(lambda: store.answer(question.id, answer(question, "bob"))).status == 409


@pytest.mark.parametrize("before", [0, 1], ids=["the first", "the last"])
def test_where_several_have_to_agree_none_of_them_changes_it(store: SqlStore, run: Run, before: int) -> None:
    question, _ = store.ask(asked(people=2))
    for name in ("ann", "bob")[:before]:
        store.answer(question.id, answer(question, name))
    changed = answer(question, "eve", updated_input={"command": "rm -rf /"})
    assert refused(lambda: store.answer(question.id, changed)).code == "not_alone"
    now = store.interaction(question.id)
    assert now is not None
    assert (now.state, len(now.agreed)) == (PENDING, before)


def test_several_may_agree_too_late_as_well(store: SqlStore, run: Run, clock: Clock) -> None:
    question, _ = store.ask(asked(people=2, expires_in=10))
    store.answer(question.id, answer(question, "ann"))
    clock.passes(11)
    late = store.answer(question.id, answer(question, "bob"))
    assert (late.late, late.agreed) == (True, ("ann", "bob"))
    again, _ = store.ask(asked("2", people=2, expires_in=10))
    assert (again.state, again.allow, again.agreed) == (DECIDED, True, ("ann", "bob"))


def test_what_one_person_said_too_late_is_not_enough_for_two(store: SqlStore, run: Run, clock: Clock) -> None:
    question, _ = store.ask(asked(expires_in=10))
    clock.passes(11)
    assert store.answer(question.id, answer(question)).late
    again, _ = store.ask(asked("2", people=2))
    assert again.state == PENDING


# --- too late ----------------------------------------------------------------------------------------


def test_what_nobody_answers_expires_as_a_no(store: SqlStore, run: Run, clock: Clock) -> None:
    soon, _ = store.ask(asked("1", expires_in=10))
    later, _ = store.ask(asked("2", expires_in=20))
    assert store.expire() == []
    clock.passes(10)
    (expired,) = store.expire()
    assert (expired.id, expired.state, expired.allow) == (soon.id, EXPIRED, None)
    assert expired.message == "nobody answered in time"
    assert store.expire() == []
    assert store.interactions(pending=True) == listed(later)
    assert store.states([soon.id, later.id, "other"]) == [expired]


@pytest.mark.parametrize("swept", [False, True], ids=["before the sweep", "after the sweep"])
@pytest.mark.parametrize("allow", [True, False], ids=["allow", "block"])
def test_a_late_answer_is_used_by_the_next_try_once(
    store: SqlStore, run: Run, clock: Clock, allow: bool, swept: bool
) -> None:
    question, _ = store.ask(asked(expires_in=10))
    clock.passes(10)
    if swept:
        store.expire()
    late = store.answer(question.id, answer(question, allow=allow, message="why"))
    assert (late.state, late.late, late.allow) == (EXPIRED, True, allow)
    second, new = store.ask(asked("2", expires_in=10))
    assert new
    assert (second.state, second.allow, second.message, second.decided_by) == (DECIDED, allow, "why", "ann")
    third, _ = store.ask(asked("3", expires_in=10))
    assert third.state == PENDING
    used = store.interaction(question.id)
    assert used is not None
    assert used.used


def test_a_late_change_of_the_input_is_used_too(store: SqlStore, run: Run, clock: Clock) -> None:
    question, _ = store.ask(asked(expires_in=10))
    clock.passes(10)
    store.answer(question.id, answer(question, updated_input={"command": "ls -l"}))
    again, _ = store.ask(asked("2"))
    assert again.updated_input == {"command": "ls -l"}


NOT_ALIKE: dict[str, dict[str, Any]] = {
    "another command": {"command": "ls -l"},
    "another tool": {"tool": "PowerShell"},
    "another kind": {"type": "input"},
    "another run": {"run_id": "other"},
}


@pytest.mark.parametrize("fields", NOT_ALIKE.values(), ids=NOT_ALIKE.keys())
def test_a_late_answer_is_for_the_same_question_only(
    store: SqlStore, run: Run, clock: Clock, fields: dict[str, Any]
) -> None:
    new_run(store, "other")
    question, _ = store.ask(asked(expires_in=10))
    clock.passes(10)
    store.answer(question.id, answer(question))
    assert store.ask(asked("2", **fields))[0].state == PENDING


def test_a_late_answer_does_not_live_for_ever(store: SqlStore, run: Run, clock: Clock) -> None:
    question, _ = store.ask(asked(expires_in=10))
    clock.passes(10)
    store.answer(question.id, answer(question))
    clock.passes(LATE_ANSWERS_LIVE)
    assert store.ask(asked("2"))[0].state == PENDING


# --- rules -------------------------------------------------------------------------------------------

RULES: dict[str, tuple[Rule, dict[str, Any], bool]] = {
    "user": (rule(), {}, True),
    "first words": (rule(command="git log *"), {"command": "git log -1"}, True),
    "this session": (rule(scope="session", within="run"), {}, True),
    "another session": (rule(scope="session", within="other"), {}, False),
    "this project": (rule(scope="project", within="/p"), {}, True),
    "another project": (rule(scope="project", within="/q"), {}, False),
    "another command": (rule(), {"command": "ls; rm -rf /"}, False),
    "another tool": (rule(tool="PowerShell"), {}, False),
    "two people": (rule(), {"people": 2}, False),
    "a question": (rule(), {"type": "input"}, False),
}


@pytest.mark.parametrize(("made", "fields", "allowed"), RULES.values(), ids=RULES.keys())
def test_a_rule_allows_what_it_says_at_once(
    store: SqlStore, run: Run, made: Rule, fields: dict[str, Any], allowed: bool
) -> None:
    store.add_rule(made)
    assert store.rules() == [made]
    question, new = store.ask(asked(**fields))
    assert new
    assert (question.state, question.allow) == ((DECIDED, True) if allowed else (PENDING, None))
    if allowed:
        assert question.decided_by == "rule r of ann"
        assert store.interaction(question.id) == question


def test_a_rule_that_was_taken_back_allows_nothing(store: SqlStore, run: Run) -> None:
    store.add_rule(rule())
    assert store.end_rule("r")
    assert not store.end_rule("r")
    assert not store.end_rule("other")
    assert store.rules() == []
    assert store.ask(asked())[0].state == PENDING


def test_a_rule_does_not_answer_what_waits_already(store: SqlStore, run: Run) -> None:
    question, _ = store.ask(asked())
    store.add_rule(rule())
    assert store.ask(asked()) == (question, False)


def test_a_late_refusal_is_stronger_than_a_rule(store: SqlStore, run: Run, clock: Clock) -> None:
    question, _ = store.ask(asked(expires_in=10))
    clock.passes(10)
    store.answer(question.id, answer(question, allow=False))
    store.add_rule(rule())
    assert store.ask(asked("2"))[0].allow is False
    assert store.ask(asked("3"))[0].allow is True


def test_the_rules_of_a_session_end_with_it(store: SqlStore, run: Run) -> None:
    kept = [rule("a"), rule("b", "project", "/p"), rule("c", "session", "other")]
    for one in (*kept, rule("d", "session", "run")):
        store.add_rule(one)
    store.end_run("run")
    assert store.rules() == kept


# --- looking -----------------------------------------------------------------------------------------


def test_what_waits_is_listed_oldest_first_and_what_is_done_newest_first(
    store: SqlStore, run: Run, clock: Clock
) -> None:
    names = []
    for number in range(6):
        question, _ = store.ask(asked(str(number)))
        names.append(question.id)
        clock.passes(1)
        if number % 2:
            store.answer(question.id, answer(question))
    assert [one.id for one in store.interactions(pending=True)] == names[::2]
    assert [one.id for one in store.interactions(pending=False)] == names[5::-2]
    assert [one.id for one in store.interactions(pending=True, limit=2)] == names[:3:2]
    assert store.interactions(pending=True, run_id="other") == []
    assert len(store.interactions(pending=True, run_id="run")) == 3


FOUND = {
    "a word": ("git push origin", "push", True),
    "any case": ("git PUSH origin", "Git Push", True),
    "other letters": ("rm Übung", "übung", True),
    "quotes": ('echo "a b"', 'echo "a b"', True),
    "a line end": ("one\ntwo", "one\ntwo", True),
    "the tool": ("ls", "bash", True),
    "not there": ("ls", "rm", False),
    "no pattern": ("ls", "%", False),
    "no pattern either": ("ls", "l_", False),
    "per cent": ("date +%s", "+%s", True),
    "a question mark": ("ls ?", "?", True),
    "half a character": ("ls \ud800", "\ud800", True),
    "NUL": ("ls \0x", "\0x", True),
}


@pytest.mark.parametrize(("command", "text", "found"), FOUND.values(), ids=FOUND.keys())
def test_a_search_finds_what_a_person_reads(store: SqlStore, run: Run, command: str, text: str, found: bool) -> None:
    question, _ = store.ask(asked(command=command))
    assert store.interactions(pending=True, text=text) == (listed(question) if found else [])


def test_a_search_looks_into_lists_and_objects(store: SqlStore, run: Run) -> None:
    question, _ = store.ask(asked(payload={"edits": [{"new_string": "needle"}, 42]}))
    for text in ("needle", "42", "new_string"):
        assert store.interactions(pending=True, text=text) == listed(question)


def test_the_decided_ones_of_many_are_found(store: SqlStore, run: Run) -> None:
    questions = [store.ask(asked(str(number)))[0] for number in range(3)]
    decided = store.answer(questions[1].id, answer(questions[1]))
    others = [f"other {number}" for number in range(40_000)]
    assert store.states([*others, *(one.id for one in questions)]) == [decided]
    assert store.states([]) == []


def test_what_has_changed_lately_is_found(store: SqlStore, run: Run, clock: Clock) -> None:
    old, _ = store.ask(asked("1"))
    clock.passes(60)
    new, _ = store.ask(asked("2", people=2))
    first = store.recent(10)
    assert first.keys() == {new.id}
    agreed = store.answer(new.id, answer(new))
    second = store.recent(10)
    assert second.keys() == {new.id}
    assert second[new.id] > first[new.id]
    decided = store.answer(old.id, answer(old))
    third = store.recent(10)
    assert third.keys() == {old.id, new.id}
    assert third[new.id] == second[new.id]
    assert sorted(store.named(["other", *third]), key=lambda one: one.created_at) == [decided, agreed]
    clock.passes(60)
    assert store.recent(10) == {}


# --- strange texts -----------------------------------------------------------------------------------

STRANGE = ("", "\0", "a\0b", "\ud800", "\udcff", "😀", "\uffff", "'; DROP TABLE runs; --", "%s", "?", "x" * 100_000)


@pytest.mark.parametrize("text", STRANGE, ids=ascii)
def test_no_text_breaks_a_store(store: SqlStore, run: Run, text: str) -> None:
    assert store.run(f"-{text}") is None
    assert store.run_of_key(f"-{text}") is None
    assert store.interaction(text) is None
    assert store.login(text) == ""
    assert store.end_rule(text) is False
    store.end_login(text)
    store.interactions(pending=True, run_id=text, text=text)
    assert store.states([text]) == []
    question, _ = store.ask(asked(command=text))
    new_run(store, "strange", project=f"/{text}")
    found = store.run("strange")
    assert found is not None
    assert found.project == storable(f"/{text}")
    decided = store.answer(question.id, answer(question, message=text, by=f"b{text}"))
    kept = store.interaction(question.id)
    assert kept == decided.but(message=storable(text), decided_by=storable(f"b{text}"), agreed=kept and kept.agreed)


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_storable_stays_readable(text: str) -> None:
    kept = storable(text)
    assert "\0" not in kept
    assert kept.encode().decode() == kept
    if "\0" not in text and text.encode("utf-8", "replace").decode() == text:
        assert kept == text


# --- staying -----------------------------------------------------------------------------------------


def test_everything_is_there_after_a_restart(stores: Stores, clock: Clock) -> None:
    store = stores.open(clock)
    new_run(store)
    store.add_login("a", "ann", 60)
    store.add_rule(rule(command="true"))
    pending, _ = store.ask(asked("1", people=2))
    pending = store.answer(pending.id, answer(pending))
    decided = store.answer(store.ask(asked("2"))[0].id, answer(store.ask(asked("2"))[0]))
    before = (store.runs(), store.rules(), store.login("a"))
    stores.close(store)
    store = stores.open(clock)
    assert (store.runs(), store.rules(), store.login("a")) == before
    assert store.interactions(pending=True) == listed(pending)
    assert store.interactions(pending=False) == listed(decided)


def test_a_store_of_a_newer_version_is_left_alone(stores: Stores) -> None:
    store = stores.open()
    store._change("PRAGMA user_version = 99" if stores.kind == "sqlite" else "UPDATE version SET number = 99")
    stores.close(store)
    with pytest.raises(UsageError, match="newer Fairlead"):
        stores.open()


def test_several_may_open_a_new_store_at_the_same_time(stores: Stores) -> None:
    with ThreadPoolExecutor(8) as pool:
        opened = list(pool.map(lambda _: stores.open(), range(8)))
    new_run(opened[0])
    assert all(store.run("run") is not None for store in opened)


def test_every_change_leaves_a_trace(store: SqlStore, run: Run, clock: Clock) -> None:
    store.add_rule(rule(command="true"))
    one, _ = store.ask(asked("1", people=2, expires_in=10))
    store.answer(one.id, answer(one, "ann"))
    store.answer(one.id, answer(one, "bob"))
    two, _ = store.ask(asked("2", expires_in=10))
    clock.passes(10)
    store.expire()
    store.answer(two.id, answer(two, "eve", allow=False))
    store.end_rule("r")
    assert store._rows("SELECT about, what, who FROM audit ORDER BY number") == [
        ("r", "rule", "ann"),
        (one.id, "asked", "run"),
        (one.id, "agreed", "ann"),
        (one.id, "allow", "bob"),
        (two.id, "asked", "run"),
        (two.id, "expired", ""),
        (two.id, "late block", "eve"),
        ("r", "rule ended", ""),
    ]


# --- at the same time --------------------------------------------------------------------------------


class Meeting:
    """A clock at which two meet, if nothing keeps them apart: between reading and writing."""

    def __init__(self, people: int = 2) -> None:
        self._barrier = threading.Barrier(people)

    def __call__(self) -> float:
        try:
            self._barrier.wait(timeout=0.5)
        except threading.BrokenBarrierError:
            pass
        return START + 1


def winners(stores: Stores, kinds: list[type[Any]]) -> list[str]:
    """Who is told that their answer stands, when all press in the same moment."""
    first = stores.open(Clock())
    new_run(first)
    question, _ = first.ask(asked())
    meeting = Meeting(len(kinds))
    opened = [stores.open_as(kind) for kind in kinds]
    for store in opened:
        store._clock = meeting

    def press(number: int) -> str:
        name = f"person {number}"
        try:
            return str(opened[number].answer(question.id, answer(question, name)).decided_by)
        except Refused as why:
            return "" if why.status == 409 and why.interaction and why.interaction.decided_by else "confused"

    with ThreadPoolExecutor(len(kinds)) as pool:
        return [name for name in pool.map(press, range(len(kinds))) if name]


class WithoutLocks(PostgresStore):
    _locked = ""


class WithoutTransactions(SqliteStore):
    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with nullcontext():
            yield


def test_of_two_who_answer_at_once_one_wins(stores: Stores) -> None:
    kind = PostgresStore if stores.kind == "postgres" else SqliteStore
    assert len(winners(stores, [kind, kind])) == 1


def test_without_locks_two_would_win(stores: Stores) -> None:
    """The control: the meeting does happen where nothing prevents it."""
    kind = WithoutLocks if stores.kind == "postgres" else WithoutTransactions
    assert len(winners(stores, [kind, kind])) == 2


def test_a_late_answer_is_taken_by_one_of_two_tries_at_once(stores: Stores, clock: Clock) -> None:
    store = stores.open(clock)
    new_run(store)
    for _ in range(10):
        question, _ = store.ask(asked(f"first {clock.now}", expires_in=10))
        clock.passes(10)
        store.answer(question.id, answer(question))
        opened = [stores.open(clock) for _ in range(2)]
        tries = [(opened[n], asked(f"{n} {clock.now}", expires_in=10)) for n in range(2)]
        with ThreadPoolExecutor(2) as pool:
            states = sorted(pool.map(lambda one: one[0].ask(one[1])[0].state, tries))
        assert states == [DECIDED, PENDING]
        store.end_run("run")
        store._change("UPDATE runs SET ended_at = NULL")
        for one in opened:
            stores.close(one)


def test_the_same_request_to_several_at_once_is_one_question(stores: Stores, clock: Clock) -> None:
    opened = [stores.open(clock) for _ in range(8)]
    new_run(opened[0])
    for number in range(20):
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda store: store.ask(asked(str(number))), opened))  # noqa: B023
        assert len({question.id for question, _ in found}) == 1
        assert [new for _, new in found].count(True) == 1


def test_no_question_outlives_its_run(stores: Stores, clock: Clock) -> None:
    """Asking and ending at once: it is refused, or ended with the run."""
    opened = [stores.open(clock) for _ in range(4)]
    new_run(opened[0])

    def ask(store: SqlStore) -> None:
        for number in range(20):
            try:
                store.ask(asked(f"{id(store)} {number}"))
            except Refused as why:
                if why.status != 409:
                    raise

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask, store) for store in opened[1:]]
        opened[0].end_run("run")
        for one in asking:
            one.result()
    assert opened[0].interactions(pending=True) == []


def test_expiry_and_answer_at_once_have_one_outcome(stores: Stores, clock: Clock) -> None:
    one, two = stores.open(clock), stores.open(clock)
    new_run(one)
    for number in range(20):
        question, _ = one.ask(asked(str(number), expires_in=10))
        clock.passes(10)
        with ThreadPoolExecutor(2) as pool:
            swept = pool.submit(one.expire)
            said = pool.submit(two.answer, question.id, answer(question))
            expired = swept.result()
        assert said.result().late
        assert [found.id for found in expired] in ([], [question.id])
        left = one.interaction(question.id)
        assert left is not None
        assert left.late
        notes = "SELECT what FROM audit WHERE about = ? ORDER BY number"
        assert one._rows(notes, question.id) == [("asked",), ("expired",), ("late allow",)]
        one._change("UPDATE interactions SET used = ? WHERE id = ?", True, question.id)


# --- SQLite ------------------------------------------------------------------------------------------


def test_the_file_is_for_its_owner_alone_and_every_commit_is_on_the_disk(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "new" / "a.db"))
    new_run(store)
    for file in (tmp_path / "new").iterdir():
        assert file.stat().st_mode & 0o077 == 0, file
    asked_for = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
    assert {name: store._rows(f"PRAGMA {name}")[0][0] for name in asked_for} == asked_for
    store.close()


@pytest.mark.parametrize("what", ["a folder", "no database", "a link"])
def test_a_file_that_is_no_store_is_explained(tmp_path: Path, what: str) -> None:
    path = tmp_path / "a.db"
    if what == "a folder":
        path.mkdir()
    elif what == "no database":
        path.write_text("hello " * 1000)
    else:
        path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match=r"a\.db cannot be used as a store"):
        SqliteStore(str(path))
    assert not (tmp_path / "elsewhere").exists()


def test_a_locked_file_is_no_answer(tmp_path: Path) -> None:
    """What another program holds is not acknowledged, and works again when it lets go."""
    path = str(tmp_path / "a.db")
    store = SqliteStore(path, patience=0.05)
    new_run(store)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        store.ask(asked())
    other.execute("ROLLBACK")
    other.close()
    question, new = store.ask(asked())
    assert new
    assert store.interaction(question.id) == question
    store.close()


# --- PostgreSQL --------------------------------------------------------------------------------------


def test_another_replica_hears_of_every_change(postgres_stores: Stores, clock: Clock) -> None:
    store, other = postgres_stores.open(clock), postgres_stores.open(clock)
    new_run(store)
    heard: queue.SimpleQueue[str] = queue.SimpleQueue()
    other.watch(heard.put)
    _until_listening(store)
    question, _ = store.ask(asked(people=2, expires_in=10))
    store.answer(question.id, answer(question, "ann"))
    clock.passes(10)
    store.expire()
    store.answer(question.id, answer(question, "bob"))
    assert [heard.get(timeout=30) for _ in range(4)] == [question.id] * 4


def _until_listening(store: SqlStore, backends: int = 1) -> None:
    listening = "SELECT count(*) FROM pg_stat_activity WHERE query IN ('LISTEN fairlead', 'SELECT 1')"
    pause = threading.Event()
    while store._rows(f"{listening} AND datname = current_database()") < [(backends,)]:
        pause.wait(0.02)


def test_what_is_rolled_back_is_not_announced(postgres_stores: Stores, clock: Clock) -> None:
    store, other = postgres_stores.open(clock), postgres_stores.open(clock)
    new_run(store)
    heard: queue.SimpleQueue[str] = queue.SimpleQueue()
    other.watch(heard.put)
    _until_listening(store)

    def undone() -> None:
        with store._transaction():
            store._note("nothing", "asked", "run", START)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        undone()
    question, _ = store.ask(asked())
    assert heard.get(timeout=30) == question.id


def test_time_is_the_databases(postgres: Postgres, postgres_stores: Stores) -> None:
    store = postgres_stores.open()
    new_run(store)
    ((before,),) = postgres.run("SELECT extract(epoch FROM clock_timestamp())::float8")
    question, _ = store.ask(asked(expires_in=0.001))
    ((after,),) = postgres.run("SELECT extract(epoch FROM clock_timestamp())::float8")
    assert float(str(before)) <= question.created_at <= float(str(after))
    while not (expired := store.expire()):
        pass
    assert [one.id for one in expired] == [question.id]


def test_a_lost_connection_is_made_again(postgres: Postgres, postgres_stores: Stores) -> None:
    store = postgres_stores.open()
    new_run(store)
    for number in range(5):
        _cut(postgres, postgres_stores.url)
        assert store.run("run") is not None
        _cut(postgres, postgres_stores.url)
        assert store.ask(asked(str(number)))[1]


def _cut(postgres: Postgres, url: str) -> None:
    """Waits until they are gone."""
    database = url.rpartition("/")[2]
    postgres.run(f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{database}'")


def test_a_database_that_may_only_be_read_promises_nothing(postgres: Postgres, postgres_stores: Stores) -> None:
    """As after a failover to a replica of it."""
    store = postgres_stores.open()
    new_run(store)
    database = postgres_stores.url.rpartition("/")[2]
    postgres.run(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    _cut(postgres, postgres_stores.url)
    assert refused(lambda: store.ask(asked())).status == 503
    assert store.interactions(pending=True) == []
    postgres.run(f"ALTER DATABASE {database} SET default_transaction_read_only = off")
    _cut(postgres, postgres_stores.url)
    assert store.ask(asked())[1]


def test_a_closed_store_stays_closed(postgres: Postgres, postgres_stores: Stores) -> None:
    """What was under way when the server ended does not connect again."""
    store = postgres_stores.open()
    postgres_stores.close(store)
    assert refused(store.runs).status == 503


def test_a_connection_lost_in_the_middle_leaves_nothing_behind(postgres: Postgres, postgres_stores: Stores) -> None:
    """The rest of a transaction does not go through another connection."""
    store = postgres_stores.open()
    new_run(store)

    def half() -> None:
        with store._transaction():
            store._change("UPDATE runs SET title = 'half'")
            _cut(postgres, postgres_stores.url)
            store._change("UPDATE runs SET agent = 'half'")

    assert refused(half).status == 503
    left = store.run("run")
    assert left is not None
    assert (left.title, left.agent) == ("a title", "claude-code")


def test_an_aborted_transaction_is_no_commit(postgres_stores: Stores) -> None:
    """PostgreSQL answers COMMIT with ROLLBACK there, without an error."""
    store = postgres_stores.open()
    new_run(store)

    def aborted() -> None:
        with store._transaction():
            store._change("UPDATE runs SET title = 'half'")
            with pytest.raises(Refused):
                store._change("SELECT 1 / 0")

    assert refused(aborted).status == 503
    left = store.run("run")
    assert left is not None
    assert left.title == "a title"


def test_commits_are_on_the_disk_whatever_the_server_says(postgres: Postgres, postgres_stores: Stores) -> None:
    database = postgres_stores.url.rpartition("/")[2]
    postgres.run(f"ALTER DATABASE {database} SET synchronous_commit = off")
    postgres.run(f"ALTER DATABASE {database} SET default_transaction_isolation = serializable")
    store = postgres_stores.open()
    assert store._rows("SHOW synchronous_commit") == [("on",)]
    assert store._rows("SHOW transaction_isolation") == [("read committed",)]


def test_a_database_that_cannot_hold_every_text_is_refused(postgres: Postgres) -> None:
    postgres.run("DROP DATABASE IF EXISTS narrow")
    postgres.run("CREATE DATABASE narrow ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    with pytest.raises(UsageError, match="LATIN1"):
        PostgresStore(postgres.url("narrow"))


@pytest.mark.parametrize("url", ["postgresql://127.0.0.1:1/x", "postgresql://[", "postgresql://u:secret@127.0.0.1:1/x"])
def test_a_database_that_is_not_there_is_explained(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        PostgresStore(url)
    assert "the database cannot be used" in str(caught.value)
    assert caught.value.hint
    assert "secret" not in str(caught.value)


def test_without_the_package_the_extra_is_named() -> None:
    code = "import sys; sys.modules['psycopg'] = None; import fairlead.server.postgres_store"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert "a PostgreSQL store needs the extra `postgres`" in ran.stderr


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.dictionaries(st.text(max_size=5), st.recursive(st.none() | st.text(), st.lists, max_leaves=5)))
def test_every_payload_is_kept_byte_by_byte(stores: Stores, body: dict[str, Any]) -> None:
    store = stores.open()
    try:
        name = f"run {id(body)} {len(store.runs())}"
        new_run(store, name)
        question = asked(run_id=name, payload=body)
        created, _ = store.ask(question)
        kept: Interaction | None = store.interaction(created.id)
        assert kept is not None
        assert kept.body == question.body
        assert json.loads(kept.body)["payload"] == body
    finally:
        stores.close(store)
