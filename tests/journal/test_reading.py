"""Searching the journal finds what a reader of every line would find."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.journal.reading import Log, Wanted
from fairlead.journal.writing import Journal

_names = st.sampled_from(["a", "ab", "A", 'q"', "é", "deny", "Bash", "x\\y"])
_entries = st.lists(
    st.fixed_dictionaries(
        {
            "agent": _names, "session": _names, "event": _names, "tool": _names,
            "decision": st.sampled_from(["none", "deny"]), "hooks": st.lists(_names, max_size=2),
            "failed": st.integers(0, 1), "text": st.sampled_from(["git push", "GIT status", "é", "rm"]),
        }
    ),
    max_size=12,
)  # fmt: skip
_wanted = st.fixed_dictionaries(
    {},
    optional={
        "agent": _names, "session": _names, "event": _names, "tool": _names, "hook": _names,
        "decision": st.sampled_from(["none", "deny"]), "failed": st.booleans(),
        "text": st.sampled_from(["git", "Git P", "é", "nothing"]),
    },
)  # fmt: skip


ORDER = ("agent", "session", "event", "tool", "decision", "hooks", "failed")
"""Of the fields in a line; searching relies on it."""


def is_wanted(entry: dict[str, Any], wanted: dict[str, Any]) -> bool:
    plain = all(entry[key] == wanted[key] for key in ("agent", "session", "event", "tool", "decision") if key in wanted)
    return (
        plain
        and ("hook" not in wanted or wanted["hook"] in entry["hooks"])
        and (not wanted.get("failed") or bool(entry["failed"]))
        and wanted.get("text", "").lower() in entry["text"].lower()
    )


@settings(max_examples=150)
@given(_entries, _wanted, st.integers(1, 5))
def test_a_search_finds_what_is_there_and_nothing_else(
    entries: list[dict[str, Any]], wanted: dict[str, Any], most: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(folder, segment=1500)
        for entry in entries:
            about = {key: entry[key] for key in ORDER}
            journal.append({**about, "ms": 1}, {"payload": entry["text"]})
        log = Log(folder)
        expected = [entry["text"] for entry in entries if is_wanted(entry, wanted)]
        found = [log.whole(entry)["details"]["payload"] for entry in log.all(Wanted(**wanted))]
        assert found == expected
        latest = [log.whole(entry)["details"]["payload"] for entry in log.latest(Wanted(**wanted), most)]
        assert latest == expected[-most:]


def test_time_limits_a_search(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    about = {"agent": "a", "session": "", "event": "Stop", "tool": "", "decision": "none", "hooks": [], "failed": 0}
    for number in range(4):
        journal.append({**about, "t": 100.0 + number}, {"number": number})
    log = Log(str(tmp_path))
    found = log.all(Wanted(since=101.0, until=103.0))
    assert [log.whole(entry)["details"]["number"] for entry in found] == [1, 2]


def test_one_entry_is_found_by_its_number(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), segment=2000)
    about = {"agent": '{"n":3,', "session": "", "event": "Stop", "tool": "", "decision": "none", "hooks": []}
    numbers = [journal.append({**about, "failed": 0, "ms": 0}, {"number": number}) for number in range(30)]
    log = Log(str(tmp_path))
    for number, expected in zip(numbers, range(30), strict=True):
        entry = log.entry(number)
        assert entry is not None
        assert entry["details"]["number"] == expected
    assert log.entry(10_000) is None


def test_what_comes_later_is_followed_over_segments(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), segment=1500)
    about = {"agent": "a", "session": "", "event": "Stop", "tool": "", "decision": "none", "hooks": [], "failed": 0}
    log, place, seen = Log(str(tmp_path)), (0, 0), []
    for number in range(20):
        journal.append({**about, "ms": number}, {})
        if number % 3 == 0:
            found, place = log.after(place, Wanted())
            seen += [entry["ms"] for entry in found]
    found, place = log.after(place, Wanted())
    assert seen + [entry["ms"] for entry in found] == list(range(20))
    assert log.after(place, Wanted())[0] == []


def test_a_journal_that_was_begun_anew_is_followed_from_its_beginning(tmp_path: Path) -> None:
    about = {"agent": "a", "session": "", "event": "Stop", "tool": "", "decision": "none", "hooks": [], "failed": 0}
    for number in range(5):
        Journal(str(tmp_path)).append({**about, "ms": number}, {})
    log = Log(str(tmp_path))
    place = log.end()
    for path in tmp_path.iterdir():
        path.unlink()
    assert log.after(place, Wanted()) == ([], place)
    Journal(str(tmp_path)).append({**about, "ms": 77}, {})
    assert [entry["ms"] for entry in log.after(place, Wanted())[0]] == [77]


@pytest.mark.parametrize("wanted", [Wanted(), Wanted(text="x"), Wanted(agent="a")])
def test_an_empty_journal_has_nothing(tmp_path: Path, wanted: Wanted) -> None:
    log = Log(str(tmp_path / "nowhere"))
    assert (log.latest(wanted, 5), list(log.all(wanted)), log.entry(1), log.end()) == ([], [], None, (0, 0))
