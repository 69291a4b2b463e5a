"""The journal says what the agent has sent: in its own words where ours are others; never what a hook made of it."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fairlead import Hooks, wire
from fairlead.answering import Request, as_hook
from fairlead.events import Event, PreToolUse
from fairlead.journal import recording, settings
from fairlead.journal.reading import Log, Wanted
from fairlead.journal.verifying import verify
from fairlead.journal.writing import LINES, Journal
from fairlead.verdicts import Decision
from tests.conftest import Home
from tests.journal.test_writing import ABOUT, commands, details, filled

EVENT: dict[str, Any] = {
    "hook_event_name": "PreToolUse",
    "session_id": "s",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
}
CHANGING = """
def change(event):
    event.tool_input["command"] = "echo changed"
"""


def recorded(place: Home, raw: bytes, agent: str = "claude-code") -> dict[str, Any]:
    as_hook(Request(agent=agent, raw=raw, environ=place.environ, project=str(place.project)))
    log = Log(settings.folder(place.environ))
    (entry,) = log.all(Wanted())
    found: dict[str, Any] = log.whole(entry)["details"]
    return found


def test_an_event_in_our_own_words_is_kept_once(place: Home) -> None:
    found = recorded(place, json.dumps({**EVENT, "of_their_own": [1, {"x": None}]}).encode())
    assert found["payload"] == {**EVENT, "of_their_own": [1, {"x": None}]}
    assert "sent" not in found


@pytest.mark.parametrize(
    "more", [{"transcript_path": None}, {"hook_event_name": "preToolUse"}, {"extra": 1}], ids=["null", "name", "extra"]
)
def test_what_is_not_the_same_in_our_words_is_kept_as_it_came(place: Home, more: dict[str, Any]) -> None:
    raw = json.dumps({**EVENT, **more}).encode()
    assert recorded(place, raw)["sent"] == raw.decode()


def test_a_hook_that_changes_the_event_in_its_hands_does_not_change_what_was_sent(place: Home) -> None:
    place.write("~/.config/fairlead/fairlead.toml", '[[hook]]\non = "PreToolUse"\npython = "changing:change"\n')
    place.write("~/.config/fairlead/changing.py", CHANGING)
    raw = json.dumps(EVENT).encode()
    found = recorded(place, raw)
    assert found["hooks"][0]["verdict"] == "none"
    assert json.loads(found.get("sent", "{}")) == EVENT


async def test_nor_where_what_was_read_is_still_at_hand() -> None:
    raw = json.dumps(EVENT).encode()
    event = Event.from_payload(wire.decode_kept(raw))
    hooks = Hooks()
    hooks.register("PreToolUse", lambda event: event.tool_input.update(command="echo changed"))
    found = recording.details(event, await hooks.fire(event), None, "/p", raw)
    assert json.loads(found.get("sent", "{}")) == EVENT


def test_bytes_that_others_were_read_after_are_read_again() -> None:
    raw, other = b'{"a": 1}', b'{"a": 2}'
    first = wire.decode_kept(raw)
    assert wire.decoded(raw) is first
    assert wire.decode_kept(other) == {"a": 2}
    assert wire.decoded(raw) == {"a": 1}


def test_a_long_text_in_a_short_event_of_another_shape_is_cut_all_the_same() -> None:
    """What is bounded is what is kept, not what was sent."""
    event = PreToolUse(tool_name="Bash", tool_input={"command": "x" * (recording.LARGEST + 10)})
    found = recording.details(event, Decision(), None, "/p", b'{"short": true}')
    assert found["cut"] is True
    assert len(found["payload"]["tool_input"]["command"]) < recording.LARGEST + 100
    assert found["sent"] == '{"short": true}'


# --- who goes on where somebody else has stopped ---------------------------------------------------------


def test_two_that_write_by_turns_follow_each_other(tmp_path: Path) -> None:
    one, other = Journal(str(tmp_path)), Journal(str(tmp_path))
    for number, journal in enumerate((one, one, other, one, other, other, one)):
        assert journal.append(ABOUT, details(f"command {number}")) == number + 2
    log = Log(str(tmp_path))
    assert commands(log) == [f"command {number}" for number in range(7)]
    assert verify(log).problems == ()


FULL = """
import json, resource, signal, sys
from fairlead.journal.writing import Journal
from tests.journal.test_writing import ABOUT, details
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
journal = Journal(sys.argv[1])
journal.append(ABOUT, details("before"))
with open(sys.argv[2], "ab") as file:
    file.write(sys.argv[3].encode())
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (1, most))
try:
    journal.append(ABOUT, details("full"))
except OSError as error:
    print(error.strerror)
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
journal.append(ABOUT, details("after"))
"""


@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_FSIZE)[1] != resource.RLIM_INFINITY, reason="files are limited")
@pytest.mark.parametrize("rest", ['{"n', '{"n\n'], ids=["open", "ended"])
def test_a_line_that_was_cut_short_is_marked_also_if_the_disk_was_full_when_it_was_seen(
    tmp_path: Path, rest: str
) -> None:
    filled(tmp_path, 1)
    lines = tmp_path / f"000001{LINES}"
    program = [sys.executable, "-c", FULL, str(tmp_path), str(lines), rest]
    done = subprocess.run(program, capture_output=True, check=True, timeout=100)
    assert done.stdout.decode().strip()
    entries = [json.loads(line) for line in lines.read_text().splitlines() if '"chain"' in line]
    assert [bool(entry.get("torn")) for entry in entries[-2:]] == [False, True]
    assert commands(Log(str(tmp_path)))[-2:] == ["before", "after"]
