"""One session of a real agent with a scripted model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.agents.isolation import Session, on_loopback_only, run
from tests.agents.model import Model, Step, Told
from tests.agents.programs import Program
from tests.conftest import Home


@dataclass(frozen=True)
class Played:
    """What the program did, and what its model was told."""

    session: Session
    model: Told

    @property
    def story(self) -> str:
        """For a person who wants to know why a test failed."""
        told = "\n".join(f"result {number}: {result}" for number, result in enumerate(self.model.results, 1))
        asked = f"{len(self.model.turns)} turns, {len(self.model.asides)} asides, unknown: {self.model.unknown}"
        return f"exit {self.session.code}, {asked}\n{told}\n{self.session.out[-3000:]}\n{self.session.err[-3000:]}"


def play(program: Program, place: Home, script: Sequence[Step] = ()) -> Played:
    def alone() -> Played:
        with Model(script) as model:
            session = run(program.argv(model.url), program.environ(place, model.url), place.project)
        return Played(session, model.told)

    return on_loopback_only(alone)


@dataclass(frozen=True)
class Scene:
    """A session that has been played, and where."""

    place: Home
    played: Played

    @property
    def story(self) -> str:
        return self.played.story

    def result(self, number: int) -> str:
        """What the model saw of its call."""
        results = self.played.model.results
        assert len(results) > number, self.story
        return results[number]

    def exists(self, name: str) -> bool:
        return (self.place.project / name).exists()


Stage = Callable[[Program, Home], Played]
Plays = Callable[[Stage], Scene]
