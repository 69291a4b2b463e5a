"""Cases one after the other, each as if it were the only one."""

from __future__ import annotations

import time

from fairlead._record import Record
from fairlead.errors import FairleadError
from fairlead.journal.recording import decided
from fairlead.testing.expecting import Failure, account, failures
from fairlead.testing.judging import judge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from fairlead.api import Hooks
    from fairlead.testing.cases import Case
    from fairlead.testing.judging import Judgement
    from fairlead.testing.scratch import Scratch


class Outcome(Record):
    case: Case
    failures: tuple[Failure, ...] = ()
    decision: str = ""
    reason: str = ""
    hooks: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return not self.failures


def run(cases: Iterable[Case], scratch: Scratch) -> Iterator[Outcome]:
    """What one case leaves behind is taken away before the next one: their order, and their number, do not matter."""
    loaded: dict[tuple[Any, ...], Hooks] = {}
    for case in cases:
        started = time.perf_counter()
        try:
            outcome = _outcome(case, scratch, loaded)
        except FairleadError as error:
            said = f"{error} ({error.hint})" if error.hint else str(error)
            outcome = Outcome(case=case, failures=(Failure(what="case", expected="to be judged", came=said),))
        yield outcome.but(seconds=time.perf_counter() - started)
        scratch.restore()


def _outcome(case: Case, scratch: Scratch, loaded: dict[tuple[Any, ...], Hooks]) -> Outcome:
    key = (case.agent, case.active)
    if key not in loaded:
        loaded[key] = scratch.hooks(agent=case.agent, active=case.active)
    where = scratch.where
    with scratch.inside(alone=True):
        judged = judge(loaded[key], case.build(where), case, online=scratch.online)
    wrong = [*_unknown(case, judged), *failures(case.expected, judged, where)]
    return Outcome(
        case=case,
        failures=tuple(wrong),
        decision=decided(judged.told),
        reason=where.hidden(judged.told.reason),
        hooks=tuple(account(judged, where)),
        notes=tuple(where.hidden(note) for note in judged.told.notes),
        unasked=judged.unasked,
    )


def _unknown(case: Case, judged: Judgement) -> Iterator[Failure]:
    """Whoever speaks for a hook that is not there tests something else than they think."""
    from fairlead.dialects._common import did_you_mean

    names = sorted({hook.name for hook in judged.hooks})
    for name in case.says:
        if name not in names:
            hint = did_you_mean(name, names) if names else "there is no hook at all"
            yield Failure(what="says", expected=f"a hook {name!r}", came=f"there is none; {hint}")
