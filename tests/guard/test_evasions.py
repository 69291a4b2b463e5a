"""Forty spellings of twenty-five denied commands: none may pass in silence."""

from __future__ import annotations

import pytest

from fairlead.guard import Guard

from .transforms import DENIED, MENTIONS, TRANSFORMS

GUARD = Guard(packs="all", project="/home/u/project", home="/home/u")


def test_there_are_a_thousand_spellings() -> None:
    assert len(TRANSFORMS) * len(DENIED) >= 1000


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_denied_command_is_denied_in_every_spelling(name: str) -> None:
    spelled = [TRANSFORMS[name](command) for command in DENIED]
    passed = [command for command in spelled if GUARD.command(command).decision != "deny"]
    assert passed == []


@pytest.mark.parametrize("name", MENTIONS)
def test_a_command_that_is_only_mentioned_is_left_alone(name: str) -> None:
    mentioned = [MENTIONS[name](command) for command in DENIED]
    stopped = [(command, GUARD.command(command).reason) for command in mentioned if GUARD.command(command).stops]
    assert stopped == []
