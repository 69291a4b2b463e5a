"""A thousand hooks of which three look at an event cost what three do: the others are counted, and named when asked."""

from __future__ import annotations

import pytest

from fairlead.api import Hooks
from fairlead.events import Event
from fairlead.hooks import Report, Reports
from fairlead.journal import recording
from fairlead.verdicts import Decision, deny
from tests.conftest import Home

EVENT = Event.from_payload(
    {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}, ""
)


@pytest.fixture
def hooks(place: Home) -> Hooks:
    found = Hooks.load(place.project, environ=place.environ, managed=str(place.root))
    for number in range(3):
        found.on("PreToolUse", tool="Bash", name=f"looks {number}")(lambda _event: None)
    for number in range(5):
        found.on("Stop", name=f"for another event {number}")(lambda _event: None)
        found.on("PreToolUse", tool="Read", name=f"for another tool {number}")(lambda _event: None)
    return found


def with_one_switched_off(hooks: Hooks) -> Hooks:
    (first, *_) = [hook for hook in hooks if hook.name == "looks 1"]
    return Hooks([hook.but(enabled=False) if hook is first else hook for hook in hooks], setting=hooks.setting)


def test_each_hook_has_its_report_in_the_order_of_the_files(hooks: Hooks) -> None:
    decision = with_one_switched_off(hooks).fire_sync(EVENT)
    reports = list(decision.reports)
    assert len(decision.reports) == len(reports) == 13
    assert {report.hook.name for report in reports} == {hook.name for hook in hooks}
    skipped = [report.hook.name for report in reports if not report.ran]
    in_files = [hook.name for hook in hooks if hook.name in skipped]
    assert skipped == in_files
    assert all(report.why for report in reports if not report.ran)
    assert decision.reports[0].hook.name == "looks 0"
    assert decision.reports[-1].hook.name == skipped[-1]


def test_those_that_an_event_is_for_are_told_apart(hooks: Hooks) -> None:
    decision = with_one_switched_off(hooks).fire_sync(EVENT)
    assert [(report.hook.name, report.ran) for report in decision.met] == [
        ("looks 0", True),
        ("looks 2", True),
        ("looks 1", False),
    ]
    switched_off = next(report for report in decision.reports if report.hook.name == "looks 1")
    assert switched_off is decision.met[-1]
    assert switched_off.why == "is switched off"


def test_the_journal_names_those_and_counts_the_others(hooks: Hooks) -> None:
    decision = with_one_switched_off(hooks).fire_sync(EVENT)
    entry = recording.details(EVENT, decision, None, "/p", None)
    assert [hook["name"] for hook in entry["hooks"]] == ["looks 0", "looks 2", "looks 1"]
    assert entry["others"] == 10


def test_a_report_of_one_event_speaks_of_no_other(hooks: Hooks) -> None:
    one = hooks.fire_sync(EVENT)
    two = hooks.fire_sync(EVENT.but(session_id="t"))
    assert {report.event.session_id for report in one.reports} == {"s"}
    assert {report.event.session_id for report in two.reports} == {"t"}


def test_what_is_not_asked_for_is_not_made(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost of an event is that of the hooks that it is for."""
    made: list[Report] = []
    real = Reports._report

    def noted(self: Reports, index: int) -> Report:
        made.append(real(self, index))
        return made[-1]

    monkeypatch.setattr(Reports, "_report", noted)
    decision = hooks.fire_sync(EVENT)
    recording.summary("claude-code", EVENT, decision, 1.0)
    recording.details(EVENT, decision, None, "/p", b"{}")
    assert made == []
    assert len(list(decision.reports)) == 13
    assert len(made) == 10


def test_a_decision_of_ones_own_has_reports_as_before() -> None:
    report = Report(next(iter(Hooks([]) or ()), None), EVENT)  # type: ignore[arg-type]  # nobody looks at its hook
    decision = Decision(**{**deny("x").__dict__, "reports": (report,)})
    assert decision.met == (report,)
