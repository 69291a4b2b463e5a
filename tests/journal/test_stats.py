"""`fairlead stats`: the numbers are those of a reader of every line, whatever stands in the journal."""

from __future__ import annotations

import json
import math
import os
import random
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.cli.stats import bar
from fairlead.journal.counting import MOST_ROWS, OTHERS, Counts, Sketch, entries
from fairlead.journal.reading import Log, Wanted
from fairlead.journal.writing import Journal
from tests.conftest import Home, Ran
from tests.journal.test_reading import _entries, _wanted

Fairlead = Callable[..., Ran]
DECISIONS = ("none", "allow", "ask", "defer", "deny")


def event(command: str = "ls", **fields: Any) -> dict[str, Any]:
    call = {"tool_name": "Bash", "tool_input": {"command": command}}
    return {"hook_event_name": "PreToolUse", "session_id": "s1", **call, **fields}


def line(**fields: Any) -> dict[str, Any]:
    """The short line of an entry."""
    about = {"agent": "codex", "session": "s", "event": "PreToolUse", "tool": "Bash", "decision": "none"}
    return {**about, "hooks": ["h"], "times": [2.0], "failed": 0, "ms": 3.0, **fields}


def counted(folder: str | Path, wanted: Wanted | None = None, **options: Any) -> dict[str, Any]:
    counts = Counts(Log(str(folder)), **options)
    counts.count(wanted or Wanted())
    return counts.as_dict()


def rows(found: dict[str, Any], group: str) -> dict[str, int]:
    return {row["name"]: row["count"] for row in found["by"][group]}


# --- percentiles -------------------------------------------------------------------------------------


def exact(values: Sequence[float], percent: float) -> float:
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


_times = st.lists(st.integers(1, 10**9).map(lambda hundredths: hundredths / 100), min_size=1, max_size=200)


@given(_times)
def test_percentiles_are_known_to_two_percent(values: list[float]) -> None:
    sketch = Sketch()
    for value in values:
        sketch.add(value, Sketch.bucket(value))
    for percent in (50, 95, 99):
        assert sketch.at(percent) == pytest.approx(exact(values, percent), rel=0.02, abs=0.006)
    assert sketch.as_dict()["max"] == max(values)


def test_a_sketch_stays_small_whatever_it_is_told() -> None:
    sketch, chance = Sketch(), random.Random(1)
    for _ in range(50_000):
        value = 10 ** chance.uniform(-6, 15)
        sketch.add(value, Sketch.bucket(value))
    assert len(sketch._buckets) < 1300


def test_nothing_has_no_times() -> None:
    assert Sketch().as_dict() == {"p50": 0.0, "p95": 0.0, "p99": 0.0, "max": 0.0}


# --- counting ----------------------------------------------------------------------------------------

_lines = st.lists(
    st.fixed_dictionaries(
        {
            "agent": st.sampled_from(["codex", "claude-code"]),
            "session": st.sampled_from(["", "s1", "s2"]),
            "event": st.sampled_from(["PreToolUse", "Stop"]),
            "tool": st.sampled_from(["", "Bash", 'q"\n']),
            "decision": st.sampled_from(DECISIONS),
            "hooks": st.lists(st.sampled_from(["guard", "é", "x"]), unique=True, max_size=3),
            "failed": st.integers(0, 2),
            "ms": st.floats(0, 1e6),
            "t": st.sampled_from([1_700_000_000.0, 1_700_000_000.0 + 86400, 1_700_000_000.0 + 3 * 86400]),
        }
    ),
    max_size=12,
)


@settings(max_examples=60)
@given(_lines)
def test_every_entry_is_counted_once_in_each_table(lines: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(folder, segment=1500)
        for one in lines:
            journal.append({**one, "times": [1.0] * len(one["hooks"])}, {"project": "/p"})
        found = counted(folder, groups=("agent", "tool", "hook", "decision", "day", "project"))
    assert found["events"] == len(lines)
    assert found["calls"] == sum(one["event"] == "PreToolUse" for one in lines)
    assert found["refused"] == sum(one["decision"] == "deny" for one in lines)
    assert found["failed"] == sum(one["failed"] > 0 for one in lines)
    assert rows(found, "agent") == Counter(one["agent"] for one in lines)
    assert rows(found, "tool") == Counter(one["tool"] for one in lines if one["tool"])
    assert rows(found, "decision") == Counter(one["decision"] for one in lines)
    assert rows(found, "hook") == Counter(name for one in lines for name in one["hooks"])
    assert rows(found, "project") == ({"/p": len(lines)} if lines else {})
    days = Counter(time.strftime("%Y-%m-%d", time.localtime(one["t"])) for one in lines)
    assert rows(found, "day") == days
    assert [row["name"] for row in found["by"]["day"]] == sorted(days)


@settings(max_examples=100)
@given(_entries, _wanted)
def test_it_reads_what_the_log_would_show(lines: list[dict[str, Any]], wanted: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(folder, segment=1500)
        for one in lines:
            journal.append({**{key: one[key] for key in one if key != "text"}, "ms": 1}, {"payload": one["text"]})
        log, which = Log(folder), Wanted(**wanted)
        assert [one["n"] for one in entries(log, which)] == [one["n"] for one in log.all(which)]


def test_a_time_leaves_out_what_is_older(tmp_path: Path) -> None:
    journal, now = Journal(str(tmp_path)), time.time()
    for age in (100_000, 5000, 100):
        journal.append(line(t=now - age), {"project": "/p"})
    assert counted(tmp_path, Wanted(since=now - 86400))["events"] == 2
    assert counted(tmp_path, Wanted(since=now - 86400, until=now - 1000))["events"] == 1


def test_what_a_hook_said_is_counted_with_the_hook(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    journal.append(line(hooks=["a", "b"], times=[1.0, 9.0], said=["deny", "late"], failed=1), {"project": "/p"})
    journal.append(line(hooks=["a", "b"], times=[1.0, 7.0], said=["ask", "failed"], failed=1), {"project": "/p"})
    journal.append(line(hooks=["a", "b"], times=[1.0, 8.0]), {"project": "/p"})
    slow, fast = counted(tmp_path)["by"]["hook"]
    assert (slow["name"], slow["count"], slow["failed"], slow["late"], slow["refused"]) == ("b", 3, 2, 1, 0)
    assert (slow["p50"], slow["max"]) == (pytest.approx(8, rel=0.01), 9.0)
    assert (fast["name"], fast["count"], fast["failed"], fast["refused"], fast["asked"]) == ("a", 3, 0, 1, 1)


def test_lines_without_times_are_looked_up(tmp_path: Path) -> None:
    about = {key: value for key, value in line().items() if key != "times"}
    said = {"name": "h", "verdict": "deny", "ms": 5.0, "error": "timed out after 1 s"}
    Journal(str(tmp_path)).append(about, {"project": "/p", "hooks": [said, {"name": "not run", "why": "…"}]})
    found = counted(tmp_path, groups=["hook"], projects=False)
    assert [(row["name"], row["late"], row["max"]) for row in found["by"]["hook"]] == [("h", 1, 5.0)]
    assert found["details_read"] == 1


def test_short_lines_are_enough_for_everything_but_projects(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    for _ in range(20):
        journal.append(line(), {"project": "/p", "hooks": []})
    groups = ("agent", "tool", "hook", "decision", "day", "hour")
    assert counted(tmp_path, groups=groups, projects=False)["details_read"] == 0
    assert counted(tmp_path, groups=groups, projects=True)["details_read"] == 1  # one look for each session


STRANGE = [
    b"", b"\n", b"nonsense\n", b"[]\n", b"null\n", b'{"event": 1}\n', b'{"n": 1, "t": 1', b"\xff\xfe\n", b"[" * 5000,
    b'{"event":"Stop","t":"x","failed":0,"hooks":[]}\n', b'{"event":"Stop","t":1,"failed":0,"hooks":[]}\n',
    b'{"event":"Stop","t":1e300,"failed":0,"hooks":[],"agent":"a","session":"","decision":"none","ms":1}\n',
    b'{"event":"Stop","t":1,"failed":0,"hooks":5,"times":[1],"agent":"a","session":"","decision":"none","ms":null}\n',
    b'{"event":"Stop","t":1,"failed":0,"hooks":[],"agent":"a","session":"","decision":"none","ms":Infinity}\n',
    b'{"event":"Stop","t":1,"failed":0,"hooks":[],"agent":"a","session":"","decision":"none","ms":NaN}\n',
    b'{"event":"Stop","t":Infinity,"failed":0,"hooks":[],"agent":"a","session":"","decision":"none","ms":1}\n',
    b'{"event":"Stop","t":1,"failed":0,"hooks":[],"agent":"a","session":"","decision":"none","ms":1'
    + b"0" * 400 + b"}\n",
    b'{"event":"Stop","t":1,"failed":0,"hooks":[1],"times":["x"],"agent":{},"session":"","decision":[],"ms":1}\n',
]  # fmt: skip


@pytest.mark.parametrize("raw", STRANGE, ids=lambda raw: raw[:40])
def test_what_nobody_can_read_does_not_keep_the_rest_from_being_counted(tmp_path: Path, raw: bytes) -> None:
    Journal(str(tmp_path)).append(line(), {"project": "/p"})
    with (tmp_path / "000001.jsonl").open("ab") as file:
        file.write(raw)
    found = counted(tmp_path)
    assert rows(found, "agent")["codex"] == 1
    json.dumps(found, allow_nan=False)


def test_memory_does_not_grow_with_the_journal(tmp_path: Path) -> None:
    """Also if every entry has another agent, tool and hook."""

    def peak(count: int) -> int:
        folder = tmp_path / str(count)
        folder.mkdir()
        with (folder / "000001.jsonl").open("w") as file:
            for at in range(count):
                names = {"agent": f"a{at}", "tool": f"t{at}", "hooks": [f"h{at}"], "decision": "none"}
                file.write(json.dumps({"n": at, "t": 1.7e9 + at, **line(**names)}) + "\n")
        tracemalloc.start()
        found = counted(folder, groups=("agent", "tool", "hook", "day", "hour"), projects=False)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert found["events"] == count
        assert {len(found["by"][group]) for group in ("agent", "tool", "hook")} == {MOST_ROWS + 1}
        assert rows(found, "hook")[OTHERS] == count - MOST_ROWS
        return used

    assert peak(12_000) < peak(2_000) * 1.5


# --- the command -------------------------------------------------------------------------------------

CONFIGURED = """
guard = "all"
[[hook]]
name = "breaks"
on = "PreToolUse"
run = "kill -9 $$"
on_error = "allow"
[[hook]]
name = "compacts"
on = "PreCompact"
run = "true"
[[hook]]
name = "writes"
on = "PreToolUse"
tool = "Write"
run = "true"
[[hook]]
name = "off"
on = "PreToolUse"
enabled = false
run = "true"
"""


def configure(place: Home) -> None:
    file = place.write("~/.config/fairlead/fairlead.toml", CONFIGURED)
    os.utime(file, (1_700_000_000, 1_700_000_000))  # long before the events


def test_what_really_happened_is_counted(place: Home, fairlead: Fairlead) -> None:
    configure(place)
    for command in ("ls", "rm -rf /", "pwd"):
        fairlead("hook", "--agent", "claude-code", stdin=event(command))
    fairlead("hook", "--agent", "claude-code", stdin={"hook_event_name": "Stop", "session_id": "s2"})
    ran = fairlead("stats", "--json")
    assert (ran.code, ran.err) == (0, "")
    found = ran.json
    assert (found["events"], found["calls"], found["refused"], found["failed"]) == (4, 3, 1, 3)
    hooks = {row["name"]: row for row in found["by"]["hook"]}
    assert (hooks["guard"]["count"], hooks["guard"]["refused"]) == (3, 1)
    assert (hooks["breaks"]["count"], hooks["breaks"]["failed"]) == (3, 3)
    assert hooks["breaks"]["p50"] > 0
    assert found["unreadable"] == 0

    shown = fairlead("stats").out.decode()
    assert all(word in shown for word in ("4 events", "3 tool calls", "deny 1", "claude-code", "Failing", "█"))
    assert "3 of 3 runs failed" in shown
    assert rows(fairlead("stats", "--by", "tool", "--decision", "deny", "--json").json, "tool") == {"Bash": 1}
    assert rows(fairlead("stats", "--by", "project", "--json").json, "project") == {str(place.project): 4}


def test_a_hook_that_takes_too_long_is_called_late(place: Home, fairlead: Fairlead) -> None:
    place.write(
        "~/.config/fairlead/fairlead.toml",
        '[[hook]]\nname = "slow"\non = "PreToolUse"\nrun = "sleep 60"\ntimeout = "50ms"\n',
    )
    fairlead("hook", "--agent", "claude-code", stdin=event())
    (hook,) = fairlead("stats", "--by", "hook", "--json").json["by"]["hook"]
    assert (hook["name"], hook["failed"], hook["late"]) == ("slow", 1, 1)
    assert "1 of 1 run failed, 1 timed out" in fairlead("stats").out.decode()


def unused(ran: Ran) -> dict[str, str]:
    return {hook["name"]: hook["why"] for hook in ran.json["unused"]}


def test_hooks_that_never_matched_are_named_with_the_reason(place: Home, fairlead: Fairlead) -> None:
    configure(place)
    place.write(".claude/settings.json", {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "bye"}]}]}})
    fairlead("hook", "--agent", "codex", stdin=event())
    found = unused(fairlead("stats", "--json"))
    assert found == {
        "compacts": "no PreCompact has happened",
        "writes": "none of 1 event was one for it",
        "off": "it is switched off",
        "bye": "its project is not trusted",
    }
    shown = fairlead("stats").out.decode()
    assert "Never matched" in shown
    assert "writes  none of 1 event" in shown
    assert "fairlead.toml:" in shown

    fairlead("hook", "--agent", "codex", stdin=event(tool_name="Write", tool_input={"file_path": "/x", "content": ""}))
    assert "writes" not in unused(fairlead("stats", "--json"))


def test_a_hook_that_is_newer_than_the_last_event_is_called_so(place: Home, fairlead: Fairlead) -> None:
    configure(place)
    fairlead("hook", "--agent", "codex", stdin=event())
    later = time.time() + 3600
    os.utime(place.home / ".config/fairlead/fairlead.toml", (later, later))
    assert unused(fairlead("stats", "--json"))["writes"] == "its file has changed since the last event"


def test_the_same_name_in_another_project_is_another_hook(place: Home, fairlead: Fairlead) -> None:
    configure(place)
    fairlead("hook", "--agent", "codex", stdin=event())
    other = place.root / "other"
    other.mkdir()
    found = fairlead("stats", "--json", "--project", str(other)).json
    assert found["events"] == 0
    assert {hook["name"] for hook in found["unused"]} == {"guard", "breaks", "compacts", "writes", "off"}
    assert fairlead("stats", "--json", "--project", ".").json["events"] == 1


def test_unused_hooks_are_not_guessed_from_a_part_of_the_events(place: Home, fairlead: Fairlead) -> None:
    configure(place)
    fairlead("hook", "--agent", "codex", stdin=event())
    assert "unused" not in fairlead("stats", "--json", "--tool", "Bash").json
    assert "unused" in fairlead("stats", "--json", "--since", "1d").json


def test_tables_fit_into_eighty_columns(place: Home, fairlead: Fairlead) -> None:
    journal = Journal(str(place.home / ".local/state/fairlead/journal"))
    long = "a-very-long-name-\x1b[31m-of-a-hook-" * 3
    for ms in (0.0, 0.5, 12.0, 4000.0, 9_999_999.0):
        journal.append(line(hooks=[long], times=[ms], agent=long, tool=long, ms=ms), {"project": "/gone"})
    shown = fairlead("stats").out.decode()
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_an_empty_journal_is_no_error(place: Home, fairlead: Fairlead) -> None:
    ran = fairlead("stats")
    assert (ran.code, ran.out.decode().splitlines()[0], ran.err) == (
        0, "The journal is empty: no agent has asked Fairlead anything yet.", ""
    )  # fmt: skip
    assert fairlead("stats", "--json").json["events"] == 0


def test_what_it_cannot_count_by_is_said(fairlead: Fairlead) -> None:
    ran = fairlead("stats", "--by", "moon")
    assert ran.code == 64
    assert "moon" in ran.err


@pytest.mark.parametrize(
    ("value", "highest", "shown"),
    [(0, 10, ""), (1, 1_000_000, "▏"), (10, 10, "████"), (5, 10, "██"), (3, 8, "█▌"), (0, 0, "")],
)
def test_bars(value: int, highest: int, shown: str) -> None:
    assert bar(value, highest, 4) == shown
