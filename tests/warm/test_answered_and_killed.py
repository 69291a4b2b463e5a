"""Whoever has had an answer over HTTP finds its event in the journal, though the server was killed in that moment."""

from __future__ import annotations

import contextlib
import json
import random
import time
from pathlib import Path

import pytest

from fairlead.journal.reading import Log, Wanted
from fairlead.journal.verifying import verify
from tests.dialects import samples
from tests.warm.test_at_once import Guarding, Line

MOST = 40
"""Events before the end."""
_MOMENT = 0.0004
"""Seconds that an event may take: within them the server is killed."""


def raw(number: int) -> bytes:
    return json.dumps(samples.SHELL["claude-code"](f"echo {number}")).encode()


def ask_until_killed(guarding: Guarding, chance: random.Random) -> int:
    """How many were answered."""
    count = chance.randint(1, MOST)
    with guarding.line() as line:
        for number in range(count):
            line.send(guarding.head(raw(number)) + raw(number))
            line.answer()
        line.send(guarding.head(raw(count)) + raw(count))
        end = time.perf_counter() + chance.uniform(0, _MOMENT)
        while time.perf_counter() < end:  # a sleep would be longer than all that happens here
            pass
        guarding.server.process.kill()
        return count + _is_answered(line)


def _is_answered(line: Line) -> bool:
    with contextlib.suppress(EOFError, ConnectionError):
        line.answer()
        return True
    return False


@pytest.mark.parametrize("seed", [1, 2, 3, *(pytest.param(number, marks=pytest.mark.soak) for number in range(4, 104))])
def test_what_was_answered_is_in_the_journal(tmp_path: Path, seed: int) -> None:
    guarding = Guarding(tmp_path)
    toml = guarding.server.home / ".config/fairlead/fairlead.toml"
    with contextlib.closing(guarding.server):
        toml.write_text('[journal]\nmode = "on"\n')
        answered = ask_until_killed(guarding, random.Random(seed))
    log = Log(str(guarding.server.folder / "journal"))
    kept = [log.whole(entry)["details"]["payload"]["tool_input"]["command"] for entry in log.all(Wanted())]
    assert kept[:answered] == [f"echo {number}" for number in range(answered)]
    assert len(kept) <= answered + 1
    assert verify(log).problems == ()
