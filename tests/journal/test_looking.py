"""What a person sees who looks into the journal: on a terminal, in a pipe, with a slip, and with nothing to see."""

from __future__ import annotations

import csv
import datetime as dt
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead.cli import _journal
from fairlead.errors import UsageError
from fairlead.journal.writing import Journal
from tests.cli.conftest import on_terminal
from tests.conftest import Home, Ran

__all__ = ["on_terminal"]
Fairlead = Callable[..., Ran]
STYLE = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = "echo \x1b[31mred \x1b]0;title\x07 \x9b2J \u202e \x00 \r\n end"


def folder(place: Home) -> Path:
    return place.home / ".local/state/fairlead/journal"


def recorded(place: Home, *commands: str, **fields: Any) -> None:
    journal = Journal(str(folder(place)))
    for command in commands:
        about = {"agent": "claude-code", "session": "s", "event": "PreToolUse", "tool": "Bash", "decision": "none",
                 "hooks": ["guard"], "times": [1.0], "failed": 0, "ms": 1.0, **fields}  # fmt: skip
        payload = {"hook_event_name": about["event"], "tool_name": about["tool"], "tool_input": {"command": command}}
        journal.append(about, {"project": "/", "cwd": "/", "reason": "", "notes": [], "hooks": [], "payload": payload})


# --- on a terminal --------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [72, 80, 200])
def test_an_event_takes_one_line_where_there_is_room(place: Home, on_terminal: Callable[..., str], width: int) -> None:
    recorded(place, "ls one", "ls two")
    shown = STYLE.sub("", on_terminal("log", width=width)).splitlines()
    assert [line.rstrip()[-6:] for line in shown] == ["ls one", "ls two"]


def test_where_there_is_little_room_nothing_is_torn_apart(place: Home, on_terminal: Callable[..., str]) -> None:
    recorded(place, "git commit -m 'a line of some length'")
    shown = [line.rstrip() for line in STYLE.sub("", on_terminal("log", width=40)).splitlines()]
    assert re.fullmatch(r"2  \d\d \w{3} \d\d:\d\d:\d\d  -  claude-code", shown[0])
    assert " ".join(shown[1:]) == "PreToolUse Bash  git commit -m 'a line of some length'"
    assert max(map(len, shown)) <= 40


@pytest.mark.parametrize("words", [("log",), ("log", "2"), ("stats",), ("replay",)], ids=" ".join)
def test_nothing_in_an_event_steers_the_terminal(
    place: Home, on_terminal: Callable[..., str], words: tuple[str, ...]
) -> None:
    place.write("~/.config/fairlead/fairlead.toml", 'guard = "all"\n')
    recorded(place, HOSTILE, tool="Ba\x1b[2Jsh", session="s\x07", hooks=["h\x1b[1m"], decision="deny")
    shown = STYLE.sub("", on_terminal(*words, width=120))
    shown = re.sub(r"\x1b\[(2K|1A|\?25[lh])|\r", "", shown)  # of the progress bar, which is ours
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", shown), repr(shown)


def test_a_pipe_gets_no_colour(place: Home, fairlead: Fairlead) -> None:
    recorded(place, HOSTILE)
    for words in (("log",), ("log", "2"), ("stats",), ("log", "--verify"), ("replay",)):
        assert b"\x1b" not in fairlead(*words).out


# --- one event ------------------------------------------------------------------------------------------


def test_an_event_that_could_not_be_read_is_not_blamed_on_a_hook(place: Home, fairlead: Fairlead) -> None:
    fairlead("hook", "--agent", "claude-code", stdin=b'{"a":')
    listed = fairlead("log").out.decode()
    assert "claude-code an event that could not be read  not JSON: Expecting value, line 1 column 6" in listed
    assert "a hook failed" not in listed
    assert fairlead("log", "2").out.decode().startswith("An event that could not be read  asked by claude-code\n")


def test_one_event_has_its_year_and_its_time_zone(place: Home, fairlead: Fairlead) -> None:
    recorded(place, "ls")
    shown = fairlead("log", "2", env={"TZ": "Asia/Kolkata"}).out.decode()
    assert re.search(r"when +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d IST, 1\.0 ms", shown)


def test_a_value_that_was_cut_says_so(place: Home, fairlead: Fairlead) -> None:
    event = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash",
             "tool_input": {"command": "echo " + "a" * 300_000}}  # fmt: skip
    fairlead("hook", "--agent", "claude-code", stdin=event)
    assert b"kept       a part: what was longer than 256 KiB was cut" in fairlead("log", "2").out


# --- nothing found --------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["log", "stats", "replay"])
def test_who_finds_an_empty_journal_reads_what_to_do(fairlead: Fairlead, command: str) -> None:
    ran = fairlead(command)
    assert ran.code == 0
    assert b"The journal is empty" in ran.out
    assert b"fairlead doctor" in ran.out


NAMES = {
    "a tool in the wrong case": (("--tool", "bash"), "No tool 'bash' is in the latest event; did you mean 'Bash'?"),
    "a hook with a slip": (("--hook", "gaurd"), "No hook 'gaurd' is in the latest event; did you mean 'guard'?"),
    "an event of another name": (("--event", "Foo"), "No event 'Foo' is in the latest event; known: PreToolUse"),
    "another agent": (("--agent", "codex"), "No agent 'codex' is in the latest event; known: claude-code"),
}


@pytest.mark.parametrize(("words", "said"), NAMES.values(), ids=list(NAMES))
@pytest.mark.parametrize("command", ["log", "stats", "replay"])
def test_a_name_that_is_nowhere_is_pointed_out(
    place: Home, fairlead: Fairlead, command: str, words: tuple[str, ...], said: str
) -> None:
    recorded(place, "ls")
    assert said in fairlead(command, *words).out.decode()


def test_a_name_that_is_there_is_not(place: Home, fairlead: Fairlead) -> None:
    recorded(place, "ls")
    shown = fairlead("log", "--tool", "Bash", "--text", "nowhere").out
    assert shown == b"Nothing in the journal is like that.\n"


# --- slips ----------------------------------------------------------------------------------------------

SLIPS = {
    "fewer than none": ("log", "-n", "-3"),
    "half an event": ("log", "-n", "1.5"),
    "fewer rows than none": ("stats", "-n", "-1"),
    "fewer differences than none": ("replay", "-n", "-1"),
    "one event and a file": ("log", "2", "--export", "x.csv"),
    "a proof and a file": ("log", "--verify", "--export", "x.csv"),
    "one event, and to follow": ("log", "2", "--follow"),
    "an end before the beginning": ("log", "--since", "2026-01-02", "--until", "2026-01-01"),
    "a line that nobody has printed": ("log", "--kept", "abc"),
    "no time": ("stats", "--since", "noon"),
}


@pytest.mark.parametrize("words", SLIPS.values(), ids=list(SLIPS))
def test_a_slip_is_said_and_nothing_is_done(place: Home, fairlead: Fairlead, words: tuple[str, ...]) -> None:
    recorded(place, "ls")
    ran = fairlead(*words)
    assert (ran.code, ran.out) == (64, b"")
    assert "Traceback" not in ran.err
    assert list(place.project.iterdir()) == []


def test_no_rows_are_no_error(place: Home, fairlead: Fairlead) -> None:
    recorded(place, "ls")
    for command in ("log", "stats", "replay"):
        assert fairlead(command, "-n", "0").code == 0


# --- when -----------------------------------------------------------------------------------------------

AGO = {"90s": 90, "30m": 1800, "2h": 7200, "3d": 259_200, "1w": 604_800, "1h30m": 5400, "1.5h": 5400, "1D12H": 129_600}


@pytest.mark.parametrize(("text", "seconds"), AGO.items(), ids=list(AGO))
def test_a_time_ago(text: str, seconds: float) -> None:
    before = time.time()
    found = _journal.moment(text)
    assert before - seconds <= found <= time.time() - seconds


def test_days_begin_where_the_person_is() -> None:
    midnight = dt.datetime.combine(dt.date.today(), dt.time())  # noqa: DTZ011  # here
    found = {text: _journal.moment(text) for text in ("today", "yesterday", "12:30", "Today")}
    if dt.date.today() != midnight.date():  # noqa: DTZ011  # it has just become tomorrow
        pytest.skip("at midnight")
    assert found["today"] == found["Today"] == midnight.timestamp()
    assert found["yesterday"] == (midnight - dt.timedelta(days=1)).timestamp()
    assert found["12:30"] == midnight.replace(hour=12, minute=30).timestamp()


def test_a_date_may_name_its_time_zone() -> None:
    assert _journal.moment("2026-11-16T12:30:00+02:00") == _journal.moment("2026-11-16T10:30:00Z")


@pytest.mark.parametrize("text", ["noon", "h", "1x", "1h30", "-1h", "1.2.3h", "25:00", "2026-13-01", "٣h"])
def test_what_is_no_time_is_said(text: str) -> None:
    with pytest.raises(UsageError, match="is no time"):
        _journal.moment(text)


# --- exports and proofs ---------------------------------------------------------------------------------


def test_a_spreadsheet_can_read_every_cell(place: Home, fairlead: Fairlead) -> None:
    recorded(place, "x" * 200_000, HOSTILE)
    path = place.root / "out.csv"
    assert fairlead("log", "--export", str(path)).code == 0
    with path.open(newline="") as file:
        long, hostile = csv.DictReader(file)
    assert len(long["input"]) <= 32_767
    assert long["input"].endswith("… (cut: 200,015 characters)")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", hostile["input"])
    assert dt.datetime.fromisoformat(long["time"]).timestamp() == pytest.approx(float(long["t"]), abs=0.001)


def test_an_export_for_programs_says_what_it_did(place: Home, fairlead: Fairlead) -> None:
    recorded(place, "ls")
    path = place.root / "out.jsonl"
    assert fairlead("log", "--export", str(path), "--json").json == {"file": str(path), "events": 1}


def test_a_line_that_was_kept_proves_what_came_before_it(place: Home, fairlead: Fairlead) -> None:
    recorded(place, "ls")
    whole, line, *_ = fairlead("log", "--verify").out.decode().splitlines()
    assert whole == "whole  1 event, numbers 1 to 2"
    recorded(place, "ls again")
    found = fairlead("log", "--kept", line)
    assert (found.code, found.out.decode().splitlines()[0]) == (
        0, "whole  2 events, numbers 1 to 3; as it was up to 2, whose line you kept"
    )  # fmt: skip
    for path in folder(place).iterdir():
        path.unlink()
    recorded(place, "rm -rf /", "ls again")
    assert fairlead("log", "--verify").code == 0
    found = fairlead("log", "--kept", line)
    assert found.code == 1
    assert b"entry 2 has another line than the one that you kept" in found.out
    assert fairlead("log", "--kept", line, "--json").json["problems"]


def test_of_very_many_changes_a_person_reads_the_first(place: Home, fairlead: Fairlead) -> None:
    recorded(place, *("ls" for _ in range(30)))
    (folder(place) / "000001.details").write_bytes(b"")
    shown = fairlead("log", "--verify").out.decode().splitlines()
    assert len(shown) == 21
    assert shown[-1] == "… and 10 more"
    assert len(fairlead("log", "--verify", "--json").json["problems"]) == 30


def test_only_json_is_on_stdout_where_json_was_asked_for(place: Home, fairlead: Fairlead) -> None:
    recorded(place, HOSTILE)
    for words in (
        ("log", "2"),
        ("log", "--verify"),
        ("stats",),
        ("replay",),
        ("log", "--export", str(place.root / "x.csv")),
    ):
        json.loads(fairlead(*words, "--json").out)
    for line in fairlead("log", "--json").out.splitlines():
        assert line.isascii()
        json.loads(line)
