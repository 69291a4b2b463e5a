"""Long histories of questions, answers, time and restarts: the store says what a simple model of it says."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule, run_state_machine_as_test

from fairlead.server.records import DECIDED, EXPIRED, PENDING, Interaction, Refused, Run
from fairlead.server.rules import Rule
from fairlead.server.sql_store import LATE_ANSWERS_LIVE, SqlStore
from tests.server.conftest import START, Clock, Stores, answer, asked

RUNS = ("run", "other")
COMMANDS = ("ls", "make check", "rm -rf build")
PEOPLE = ("ann", "bob", "eve")
TABLES = ("audit", "interactions", "rules", "logins", "runs")


@dataclass(frozen=True)
class Known:
    """What the model remembers of one question."""

    run: str
    command: str
    people: int
    expires_at: float
    digest: str
    state: str = PENDING
    allow: bool | None = None
    agreed: tuple[str, ...] = ()
    by: str = ""
    message: str = ""
    decided_at: float = 0.0
    used: bool = False


@dataclass
class Model:
    """The rules in a few lines, without a database."""

    now: float = START
    ended: set[str] = field(default_factory=set)
    questions: dict[str, Known] = field(default_factory=dict)
    ids: dict[tuple[str, str], str] = field(default_factory=dict)
    allowed: set[str] = field(default_factory=set)

    def given_before(self, question: Known) -> Known:
        late = [
            (known.decided_at, name)
            for name, known in self.questions.items()
            if (known.run, known.command) == (question.run, question.command)
            and known.state == EXPIRED
            and known.allow is not None
            and not known.used
            and known.people >= question.people
            and known.decided_at > self.now - LATE_ANSWERS_LIVE
        ]
        if late:
            name = max(late)[1]
            taken = self.questions[name]
            self.questions[name] = replace(taken, used=True)
            return self.decided(replace(question, agreed=taken.agreed), bool(taken.allow), taken.by, taken.message)
        if question.people == 1 and question.command in self.allowed:
            return self.decided(question, True, f"rule {question.command[:8]} of ann", "")
        return question

    def decided(self, known: Known, allow: bool, by: str, message: str) -> Known:
        state = EXPIRED if known.state == EXPIRED else DECIDED
        return replace(known, state=state, allow=allow, by=by, message=message, decided_at=self.now)

    def answered(self, known: Known, allow: bool, by: str, message: str) -> Known | None:
        """None if the answer comes after another."""
        if known.state == PENDING and known.expires_at <= self.now:
            known = replace(known, state=EXPIRED, message="nobody answered in time")
        if known.allow is None and not allow:
            return self.decided(known, False, by, message)
        if known.allow is None:
            agreed = known.agreed if by in known.agreed else (*known.agreed, by)
            known = replace(known, agreed=agreed)
            return self.decided(known, True, by, message) if len(agreed) >= known.people else known
        if allow and known.allow and known.people > 1 and by in known.agreed:
            return known
        return known if (known.allow, known.by, known.message) == (allow, by, message) else None


def as_known(found: Interaction, known: Known) -> Known:
    """The parts of a stored question that the model knows."""
    return replace(
        known,
        state=found.state,
        allow=found.allow,
        agreed=found.agreed,
        by=found.decided_by,
        message=found.message,
        decided_at=found.decided_at or 0.0,
        used=found.used,
    )


def _as_expected(refused: Refused, status: int) -> None:
    assert refused.status == status, refused


class Machine(RuleBasedStateMachine):
    requests = Bundle("requests")

    def __init__(self, stores: Stores, kind: type[Any] | None = None) -> None:
        super().__init__()
        self.stores = stores
        self.kind = kind
        self.clock = Clock()
        self.store = self.opened()
        for table in TABLES:
            self.store._change(f"DELETE FROM {table}")
        self.model = Model()
        for name in RUNS:
            self.store.add_run(Run(id=name, project="/p", created_at=START), f"key of {name}")

    def opened(self) -> SqlStore:
        opened: SqlStore = self.stores.open_as(self.kind, self.clock) if self.kind else self.stores.open(self.clock)
        return opened

    def teardown(self) -> None:
        self.stores.close(self.store)

    # --- what happens ----------------------------------------------------------------------------

    @rule(
        target=requests,
        run=st.sampled_from(RUNS),
        request=st.sampled_from("abcdefgh"),
        command=st.sampled_from(COMMANDS),
        people=st.sampled_from((1, 1, 2)),
        expires_in=st.sampled_from((5.0, 60.0)),
    )
    def ask(self, run: str, request: str, command: str, people: int, expires_in: float) -> Any:
        question = asked(request, command, run_id=run, people=people, expires_in=expires_in)
        name = self.model.ids.get((run, request), "")
        known = self.model.questions.get(name)
        another = known is not None and (known.command, known.people) != (command, people)  # its time may differ
        status = 409 if run in self.model.ended else 422 if another else 0
        try:
            found, new = self.store.ask(question)
        except Refused as refused:
            _as_expected(refused, status)
            return multiple()
        assert status == 0
        assert new == (known is None)
        if known is None:
            self.model.ids[run, request] = found.id
            known = Known(run, command, people, self.model.now + expires_in, question.digest)
            self.model.questions[found.id] = self.model.given_before(known)
        assert as_known(found, known) == self.model.questions[found.id]
        return found.id

    @rule(
        name=requests,
        by=st.sampled_from(PEOPLE),
        allow=st.booleans(),
        message=st.sampled_from(("", "why")),
        shown=st.sampled_from((True, True, True, False)),
    )
    def answer(self, name: str, by: str, allow: bool, message: str, shown: bool) -> None:
        known = self.model.questions[name]
        about = self.store.interaction(name)
        assert about is not None
        said = answer(about, by, allow=allow, message=message)
        wanted = self.model.answered(known, allow, by, message) if shown else None
        try:
            found = self.store.answer(name, said if shown else said.but(digest="0" * 64))
        except Refused as refused:
            _as_expected(refused, 0 if wanted else 409 if shown else 422)
            return
        assert wanted is not None
        assert as_known(found, known) == wanted
        self.model.questions[name] = wanted

    @rule(seconds=st.sampled_from((1.0, 5.0, 60.0, LATE_ANSWERS_LIVE)))
    def time_passes(self, seconds: float) -> None:
        self.clock.passes(seconds)
        self.model.now += seconds

    @rule()
    def expire(self) -> None:
        due = {
            name: replace(known, state=EXPIRED, message="nobody answered in time")
            for name, known in self.model.questions.items()
            if known.state == PENDING and known.expires_at <= self.model.now
        }
        assert {one.id for one in self.store.expire()} == due.keys()
        self.model.questions.update(due)

    @rule(run=st.sampled_from(RUNS))
    def end_run(self, run: str) -> None:
        ended = {
            name: replace(known, state=EXPIRED, message="the run has ended")
            for name, known in self.model.questions.items()
            if known.state == PENDING and known.run == run
        }
        assert {one.id for one in self.store.end_run(run)} == ended.keys()
        self.model.questions.update(ended)
        self.model.ended.add(run)

    @rule(command=st.sampled_from(COMMANDS))
    def always_allow(self, command: str) -> None:
        if command not in self.model.allowed:
            self.store._change("DELETE FROM rules WHERE id = ?", command)
            self.store.add_rule(
                Rule(
                    id=command,
                    scope="user",
                    within="",
                    tool="Bash",
                    command=command,
                    folder="/p",
                    created_by="ann",
                    created_at=0.0,
                )
            )
            self.model.allowed.add(command)

    @rule(command=st.sampled_from(COMMANDS))
    def take_back(self, command: str) -> None:
        assert self.store.end_rule(command) == (command in self.model.allowed)
        self.model.allowed.discard(command)

    @rule()
    def restart(self) -> None:
        self.stores.close(self.store)
        self.store = self.opened()

    # --- what always holds -----------------------------------------------------------------------

    @invariant()
    def the_store_says_what_the_model_says(self) -> None:
        found = [*self.store.interactions(pending=True), *self.store.interactions(pending=False)]
        said = {one.id: as_known(one, self.model.questions[one.id]) for one in found}
        assert said == self.model.questions

    @invariant()
    def a_waiter_is_told_what_is_decided(self) -> None:
        decided = {name for name, known in self.model.questions.items() if known.state != PENDING}
        assert {one.id for one in self.store.states(list(self.model.questions))} == decided


def _histories(count: int, **more: Any) -> settings:
    return settings(
        max_examples=count, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck), **more
    )


def _check(stores: Stores, how: settings, kind: type[Any] | None = None) -> None:
    made: Any = lambda: Machine(stores, kind)  # noqa: E731
    run_state_machine_as_test(made, settings=how)


def test_short_histories(stores: Stores) -> None:
    _check(stores, _histories(200 if stores.kind == "sqlite" else 40))


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_long_histories(stores: Stores) -> None:
    _check(stores, _histories(5000))


WRONG = ("one is enough for two", "another body is the same", "too late is in time")


@pytest.mark.parametrize("wrong", WRONG)
def test_a_store_that_is_wrong_is_found(stores: Stores, wrong: str) -> None:
    """The control: each of these lets something through that the model does not."""
    base: Any = type(stores.open())

    class Wrong(base):  # type: ignore[misc]
        def _agreed(self, known: Any, answer: Any, now: float) -> Any:
            return super()._agreed(known.but(people=1) if wrong == WRONG[0] else known, answer, now)

        def _known(self, asked: Any, rows: Any) -> Any:
            found = self._one("run_id = ? AND request_id = ?", asked.run_id, asked.request_id)
            return found if wrong == WRONG[1] else super()._known(asked, rows)

        def _ended(self, known: Any, now: float, message: str) -> Any:
            return known if wrong == WRONG[2] else super()._ended(known, now, message)

    with pytest.raises(AssertionError):
        _check(stores, _histories(500, phases=(Phase.generate,), derandomize=True, database=None), Wrong)
