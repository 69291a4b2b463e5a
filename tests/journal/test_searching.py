"""Whatever is written in an entry is found, and nothing that only looks like it."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead import PreToolUse
from fairlead.journal import recording, searching
from fairlead.journal.reading import Log, Wanted
from fairlead.journal.searching import Text, pieces_backwards, pieces_forwards
from fairlead.journal.writing import DETAILS, Journal
from fairlead.verdicts import Decision
from tests.journal.test_reading import ORDER

ABOUT = {"agent": "codex", "session": "s", "event": "PreToolUse", "tool": "Bash", "decision": "none", "hooks": ["h"],
         "failed": 0, "ms": 1.0}  # fmt: skip


def kept(folder: Path | str, *entries: dict[str, Any], segment: int = 1 << 20) -> Log:
    journal = Journal(str(folder), segment=segment)
    for entry in entries:
        journal.append({**ABOUT, **entry.get("about", {})}, {"payload": entry.get("payload", {})})
    return Log(str(folder))


def numbers(log: Log, **wanted: Any) -> list[int]:
    every, latest = [entry["n"] for entry in log.all(Wanted(**wanted))], log.latest(Wanted(**wanted), 1000)
    assert [entry["n"] for entry in latest] == every
    return every


# --- texts ---------------------------------------------------------------------------------------------

FOUND: dict[str, tuple[Any, str]] = {
    "a part of a word": ({"command": "git push --force"}, "push --f"),
    "other case": ({"command": "Git Push"}, "gIT pUSH"),
    "quotes": ({"command": 'say "hi"'}, '"hi"'),
    "a backslash": ({"command": "C:\\Users\\x"}, "\\users\\"),
    "a new line": ({"command": "one\ntwo"}, "e\nt"),
    "a tab": ({"command": "a\tb"}, "\t"),
    "an accent": ({"command": "café"}, "CAFÉ"),
    "another script": ({"command": "удалить всё"}, "УДАЛИТЬ"),
    "no case": ({"command": "删除所有文件"}, "所有"),
    "outside of 16 bits": ({"command": "ok 😀"}, "😀"),
    "half a character": ({"command": "x\ud800y"}, "\ud800"),
    "a Turkish capital": ({"command": "İstanbul"}, "İstanbul"),
    "a sigma at the end": ({"command": "ΟΔΟΣΑ"}, "ΟΔΟΣ"),
    "a control character": ({"command": "\x1b[31mred"}, "\x1b[31M"),
    "a key": ({"notebook_path": 1}, "Notebook_P"),
    "a number": ({"limit": 1234567}, "34567"),
    "inside of lists": ({"edits": [{"old": ["deep"]}]}, "deep"),
    "what looks like an escape": ({"command": "printf '\\u00e9'"}, "\\U00E9"),
}
NOT_FOUND: dict[str, tuple[Any, str]] = {
    "the letter of an escape": ({"command": "\nfoo"}, "nfoo"),
    "the digits of an escape": ({"command": "é"}, "00e9"),
    "between two values": ({"a": "x", "b": "y"}, '","'),
    "what separates values": ({"a": [1, 2]}, "1,2"),
    "a brace": ({"a": {"b": "c"}}, "{"),
    "the number of the entry": ({"a": "b"}, '"n":2'),
    "over two values": ({"a": "one", "b": "two"}, "onetwo"),
}


@pytest.mark.parametrize(("payload", "text"), FOUND.values(), ids=FOUND)
def test_a_text_is_found_however_it_is_written(tmp_path: Path, payload: Any, text: str) -> None:
    log = kept(tmp_path, {"payload": {}}, {"payload": {"tool_input": payload}}, {"payload": {"other": "words"}})
    assert numbers(log, text=text) == [3]
    assert numbers(log, text=text, agent="codex") == [3]
    assert log.after((0, 0), Wanted(text=text))[0][0]["n"] == 3


@pytest.mark.parametrize(("payload", "text"), NOT_FOUND.values(), ids=NOT_FOUND)
def test_what_only_looks_like_it_is_not_found(tmp_path: Path, payload: Any, text: str) -> None:
    assert numbers(kept(tmp_path, {"payload": payload}), text=text) == []


_text = st.text(st.sampled_from('aAnu0 "\\\n\té日😀/{},:'), min_size=1, max_size=6)


@settings(max_examples=200)
@given(st.lists(_text, min_size=1, max_size=6), _text)
def test_a_text_is_found_where_a_value_has_it(values: list[str], text: str) -> None:
    pieces = b"".join(b'{"n":%d,"payload":%s}\n' % (at + 2, json.dumps(value).encode())
                      for at, value in enumerate(values))  # fmt: skip
    expected = [at + 2 for at, value in enumerate(values) if text.lower() in value.lower() or text.lower() in "payload"]
    assert [number for number, _ in Text(text).numbers(pieces)] == expected


def test_what_was_never_acknowledged_is_not_taken_for_what_came_after_it(tmp_path: Path) -> None:
    """Its writer was killed between the whole and the line, and the next entry has its number."""
    log = kept(tmp_path, {"payload": {"command": "first"}})
    with (tmp_path / f"000001{DETAILS}").open("ab") as file:
        file.write(b'{"n":3,"payload":{"command":"never, both"}}\n')
    kept(tmp_path, {"payload": {"command": "second, both"}})
    assert (numbers(log, text="never"), numbers(log, text="both"), numbers(log, text="second")) == ([], [3], [3])


# --- pieces --------------------------------------------------------------------------------------------


@given(st.lists(st.binary(max_size=40).map(lambda raw: raw.replace(b"\n", b"")), max_size=20), st.booleans(),
       st.integers(1, 50))  # fmt: skip
def test_pieces_are_whole_lines_in_both_directions(lines: list[bytes], is_cut: bool, size: int) -> None:
    content = b"".join(line + b"\n" for line in lines) + (b"torn" if is_cut else b"")
    with tempfile.NamedTemporaryFile() as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr(searching, "PIECE", size)
        file.write(content)
        file.flush()
        forwards, backwards = list(pieces_forwards(file.name)), list(pieces_backwards(file.name))
    assert b"".join(piece for _, piece in forwards) == content
    assert b"".join(piece for _, piece in reversed(backwards)) == content
    assert all(content[place : place + len(piece)] == piece for place, piece in (*forwards, *backwards))
    for _, piece in (*forwards[:-1], *backwards[1:]):
        assert piece.endswith(b"\n")


def test_entries_longer_than_a_piece_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = kept(tmp_path, *({"payload": {"text": "x" * size + f" needle{size}"}} for size in (10, 5_000, 70_000, 20)))
    monkeypatch.setattr(searching, "PIECE", 1_000)
    assert [numbers(log, text=f"needle{size}") for size in (10, 5_000, 70_000, 20)] == [[2], [3], [4], [5]]
    assert numbers(log) == [2, 3, 4, 5]


# --- lines ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Bash", "PreToolUse", "none", "failed", "agent", "codex", "s"])
def test_a_hook_with_the_name_of_something_else_is_told_from_it(tmp_path: Path, name: str) -> None:
    others = [["x"], [], ["x", name], [name], [name, "y"], ["a", name, "b"], [f"{name}2"]]
    log = kept(tmp_path, *({"about": {"hooks": hooks}} for hooks in others))
    assert numbers(log, hook=name) == [4, 5, 6, 7]
    assert numbers(log, hook=name, agent="codex") == [4, 5, 6, 7]


def test_what_is_written_has_its_fields_in_the_order_that_searching_relies_on() -> None:
    event = PreToolUse(session_id="s", tool_name="Bash", tool_input={})

    for line in (
        recording.summary("codex", event, Decision(), 1.0),
        recording.failure("codex", "Stop", "x", {}, "")[0],
    ):
        assert tuple(key for key in line if key in ORDER) == ORDER
        assert tuple(line)[: len(ORDER) - 1] == ORDER[:-1]


def test_with_several_processes_the_same_is_found(tmp_path: Path) -> None:
    entries = [{"about": {"session": f"s{number % 7}"}, "payload": {"c": f"word{number % 5}"}} for number in range(200)]
    log = kept(tmp_path, *entries, segment=6_000)
    assert len(log.segments()) > 8
    many = Log(str(tmp_path), workers=3)
    searches: list[dict[str, Any]] = [
        {},
        {"session": "s3"},
        {"text": "WORD4"},
        {"session": "nobody"},
        {"text": "word2", "session": "s1"},
    ]
    for fields in searches:
        for most in (1, 5, 1000):
            assert many.latest(Wanted(**fields), most) == log.latest(Wanted(**fields), most)


# --- times ---------------------------------------------------------------------------------------------


def test_a_clock_that_was_set_back_hides_nothing(tmp_path: Path) -> None:
    times = [*range(1000, 1030), *range(500, 530), *range(1030, 1040)]
    log = kept(tmp_path, *({"about": {"t": float(when)}} for when in times), segment=3_000)
    assert len(log.segments()) > 4
    for since, until in ((1000, 0), (0, 510), (505, 1005), (1035, 0), (0, 1), (2000, 0)):
        expected = [when for when in times if when >= since and (not until or when < until)]
        wanted = Wanted(since=float(since), until=float(until))
        assert [entry["t"] for entry in log.all(wanted)] == expected
        assert [entry["t"] for entry in log.latest(wanted, 1000)] == expected


def test_segments_of_another_time_are_not_read(tmp_path: Path) -> None:
    log = kept(tmp_path, *({"about": {"t": 100.0 + number}} for number in range(60)), segment=4_000)
    first, *_, last = log.segments()
    assert not log.may_have(first, Wanted(since=150.0))
    assert not log.may_have(last - 1, Wanted(until=101.0))
    assert log.may_have(first, Wanted(until=101.0))
    assert log.may_have(last, Wanted(since=1000.0))  # which is not full: who knows


@pytest.mark.parametrize("letters", ["needle", "n\u00e9edle", "\U0001f600\u00c9"], ids=["ascii", "accents", "others"])
def test_a_very_long_text_is_found_whole_or_not_at_all(tmp_path: Path, letters: str) -> None:
    long = letters * 20_000
    log = kept(tmp_path, {"payload": {"text": long}}, {"payload": {"text": letters * 100}})
    assert [entry["n"] for entry in log.all(Wanted(text=long.upper()))] == [2]
    assert [entry["n"] for entry in log.all(Wanted(text=letters * 100))] == [2, 3]
