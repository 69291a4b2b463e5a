"""`fairlead run` with real agents and a scripted model: a person's word counts, and nobody's settings are touched."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

from tests.agents.isolation import Session, on_loopback_only, run
from tests.agents.model import Model
from tests.agents.playing import Played
from tests.agents.programs import PROGRAMS, Program
from tests.approvals.conftest import People
from tests.conftest import Home

SUPERVISED = ("claude-code", "codex", "gemini", "qwen")


def _param(program: Program) -> Any:
    absent = pytest.mark.skipif(bool(program.why_not), reason=program.why_not)
    return pytest.param(program, id=program.label or program.name, marks=[absent, pytest.mark.agents])


def _answers(people: People) -> None:
    people.answer(people.question("allowed.txt"), "allow")
    people.answer(people.question("refused.txt"), "block", message="not today")


def _supervised(program: Program, place: Home) -> Played:
    def alone() -> Played:
        script = [program.shell("echo yes > allowed.txt"), program.shell("echo no > refused.txt")]
        with Model(script) as model:
            environ = {**program.environ(place, model.url), "XDG_STATE_HOME": place.environ["XDG_STATE_HOME"]}
            own = [word for word in program.argv(model.url) if word != "--dangerously-bypass-hook-trust"]
            words = [sys.executable, "-m", "fairlead", "run", "--", *own]
            approver = threading.Thread(target=_answers, args=(People(environ),), daemon=True)
            approver.start()
            session: Session = run(words, environ, place.project)
        return Played(session, model.told)

    return on_loopback_only(alone)


@pytest.mark.parametrize("program", [_param(program) for program in PROGRAMS if program.name in SUPERVISED])
def test_a_person_decides_what_a_real_agent_may_do(program: Program, place: Home) -> None:
    program.prepare(place)

    played = _supervised(program, place)

    assert (place.project / "allowed.txt").exists(), played.story
    assert not (place.project / "refused.txt").exists(), played.story
    assert "not today" in played.model.results[1], played.story
    assert "nobody was asked" not in played.session.err
    assert [path for path in place.home.rglob("*.json") if "fairlead-hook" in path.read_text("utf-8")] == []
    assert list((place.root / "tmp").glob("fairlead-run-*")) == []
