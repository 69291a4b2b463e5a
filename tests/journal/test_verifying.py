"""What `fairlead log --verify` finds, what it does not take for a change, and what only a line kept elsewhere shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead import wire
from fairlead.journal import writing
from fairlead.journal.reading import Log
from fairlead.journal.verifying import MOST, Kept, Verified, line_to_keep, verify
from fairlead.journal.writing import DETAILS, HEAD, LINES, Journal, Position
from tests.journal.test_writing import ABOUT, details, filled

SEGMENT = 8_000


def lines(folder: Path, segment: int) -> list[bytes]:
    return (folder / f"{segment:06d}{LINES}").read_bytes().splitlines(keepends=True)


def write(folder: Path, segment: int, changed: list[bytes]) -> None:
    (folder / f"{segment:06d}{LINES}").write_bytes(b"".join(changed))


# --- somebody works meanwhile ---------------------------------------------------------------------------


class Lively(Log):
    """Whenever somebody asks which segments there are, another entry has come."""

    def segments(self) -> list[int]:
        found = super().segments()
        Journal(self.folder, segment=SEGMENT).append(ABOUT, details("meanwhile"))
        return found


def test_what_others_write_meanwhile_is_no_change(tmp_path: Path) -> None:
    filled(tmp_path, 30, segment=SEGMENT)
    for _ in range(20):  # over several segments
        assert verify(Lively(str(tmp_path))).problems == ()


class Passing(Log):
    """The oldest segments go just when somebody wants to read the first of them."""

    begun = False

    def path(self, segment: int, kind: str) -> str:
        if not self.begun:
            self.begun = True
            filled(Path(self.folder), 100, segment=SEGMENT, size=3 * SEGMENT)
        return super().path(segment, kind)


def test_segments_that_go_while_we_look_are_no_change(tmp_path: Path) -> None:
    before = filled(tmp_path, 100, segment=SEGMENT).segments()
    log = Passing(str(tmp_path))
    found = verify(log)
    assert found.problems == ()
    assert log.segments()[0] > before[-1]
    assert found.first > 100


def test_what_is_half_there_when_nobody_writes_is_said(tmp_path: Path) -> None:
    log = filled(tmp_path, 3)
    with (tmp_path / f"000001{LINES}").open("ab") as file:
        file.write(b'{"n":5,"t":1')
    (problem,) = verify(log).problems
    assert problem == "000001.jsonl:5: this is no entry, or its writer was killed"


def test_an_end_that_was_cut_short_just_before_a_new_segment_is_no_change(tmp_path: Path) -> None:
    log = filled(tmp_path, 3)
    with (tmp_path / f"000001{LINES}").open("ab") as file:
        file.write(b'{"n":5,"t":1')
    Journal(str(tmp_path), segment=10).append(ABOUT, details("in the next segment"))
    assert log.segments() == [1, 2]
    assert verify(log).problems == ()


def test_several_processes_find_the_same(tmp_path: Path) -> None:
    log = filled(tmp_path, 100, segment=SEGMENT)
    assert verify(log, workers=3) == verify(log)
    (tmp_path / f"000002{DETAILS}").write_bytes(b"")
    found = verify(log, workers=3)
    assert found.problems
    assert found == verify(log)


# --- somebody changes something -------------------------------------------------------------------------


def _swapped(folder: Path) -> None:
    one, two, three, *rest = lines(folder, 2)
    write(folder, 2, [one, three, two, *rest])


def _repeated(folder: Path) -> None:
    one, two, *rest = lines(folder, 2)
    write(folder, 2, [one, two, two, *rest])


def _made_up(folder: Path) -> None:
    one, two, *rest = lines(folder, 2)
    entry = json.loads(two)
    forged, _ = writing.chained(wire.encode({key: entry[key] for key in entry if key != "chain"}), "f" * 64)
    write(folder, 2, [one, forged, *rest])


def _from_another_segment(folder: Path) -> None:
    whole = (folder / f"000001{DETAILS}").read_bytes()
    (folder / f"000002{DETAILS}").write_bytes(whole)


def _without(index: int) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        some = lines(folder, 2)
        del some[index]
        write(folder, 2, some)

    return change


def _without_file(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def _begun_by_another(folder: Path) -> None:
    one, *rest = lines(folder, 2)
    entry = json.loads(one)
    begin = {key: entry[key] for key in ("n", "t", "first", "span")} | {"prev": "0" * 64}
    write(folder, 2, [writing.chained(wire.encode(begin), "0" * 64)[0], *rest])


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "two lines in another order": (_swapped, "000002.jsonl:2: "),
    "a line twice": (_repeated, "000002.jsonl:3: "),
    "a line with a chain of its own": (_made_up, "000002.jsonl:2: "),
    "a line less": (_without(3), "000002.jsonl:4: "),
    "a segment without its first line": (_without(0), "000002.jsonl:1: this is not how a segment begins"),
    "a segment without its last line": (_without(-1), "000003.jsonl:1: "),
    "a segment that follows from another": (_begun_by_another, "000002.jsonl:1: "),
    "a line that is none": (lambda folder: write(folder, 2, [*lines(folder, 2), b"hello\n"]), "this is no entry"),
    "an empty line": (lambda folder: write(folder, 2, [b"\n", *lines(folder, 2)]), "000002.jsonl:1: this is no entry"),
    "wholes of another segment": (_from_another_segment, "000002.jsonl:2: the whole of entry "),
    "no wholes": (_without_file(f"000002{DETAILS}"), "000002.jsonl:2: the whole of entry "),
    "the oldest segment gone": (_without_file(f"000001{LINES}"), "segments 000001 to 000001 are missing"),
    "a segment from between gone": (_without_file(f"000002{LINES}"), "000003.jsonl:1: entry "),
    "the head gone": (_without_file(HEAD), "the head is missing"),
}


@pytest.mark.parametrize(("change", "said"), CHANGES.values(), ids=list(CHANGES))
def test_a_change_is_found_and_named_with_its_place(
    tmp_path: Path, change: Callable[[Path], object], said: str
) -> None:
    log = filled(tmp_path, 100, segment=SEGMENT)
    assert verify(log).problems == ()
    change(tmp_path)
    problems = verify(log).problems
    assert any(said in problem for problem in problems), problems


def test_the_last_segment_gone_shows_by_the_head(tmp_path: Path) -> None:
    log = filled(tmp_path, 100, segment=SEGMENT)
    last = log.segments()[-1]
    (tmp_path / f"{last:06d}{LINES}").unlink()
    (problem,) = verify(log).problems
    assert problem.endswith("are missing at the end")


def test_a_head_that_speaks_of_another_entry_is_found(tmp_path: Path) -> None:
    log = filled(tmp_path, 3)
    (tmp_path / HEAD).write_bytes(bytes(Position(1, 0, 3, "e" * 64)))
    assert verify(log).problems == ("the head and entry 3 do not agree",)


def test_a_place_that_no_file_can_have_is_a_change_and_no_crash(tmp_path: Path) -> None:
    log = filled(tmp_path, 1)
    begin, line = lines(tmp_path, 1)
    entry = {key: value for key, value in json.loads(line).items() if key != "chain"}
    forged, chain = writing.chained(wire.encode({**entry, "at": [2**70, -5]}), json.loads(begin)["chain"])
    write(tmp_path, 1, [begin, forged])
    (tmp_path / HEAD).write_bytes(bytes(Position(1, 0, 2, chain)))
    assert verify(log).problems == ("000001.jsonl:2: the whole of entry 2 was changed",)


def test_very_many_changes_are_counted_and_not_all_named(tmp_path: Path) -> None:
    log = filled(tmp_path, MOST + 50)
    (tmp_path / f"000001{DETAILS}").write_bytes(b"")
    found = verify(log)
    assert (len(found.problems), found.more_problems) == (MOST, 50)


# --- a line that was kept elsewhere ---------------------------------------------------------------------


def kept(found: Verified) -> Kept:
    read = Kept.read(line_to_keep(found))
    assert read is not None
    return read


def computed_anew(folder: Path, count: int) -> None:
    """As somebody does who may write to the folder and knows how the chain is made."""
    for path in list(folder.iterdir()):
        path.unlink()
    filled(folder, count)


def test_a_line_that_was_kept_is_found_among_what_came_after_it(tmp_path: Path) -> None:
    first = verify(filled(tmp_path, 3))
    log = filled(tmp_path, 100, segment=SEGMENT)
    found = verify(log, kept(first))
    assert (found.problems, found.kept) == ((), first.last)
    assert verify(log, Kept(chain=first.chain)).kept == first.last  # without its number, too


@pytest.mark.parametrize("count", [2, 4, 50], ids=["shorter", "as long", "longer"])
def test_only_a_line_that_was_kept_shows_a_chain_that_was_computed_anew(tmp_path: Path, count: int) -> None:
    first = verify(filled(tmp_path, 4))
    computed_anew(tmp_path, count)
    log = Log(str(tmp_path))
    assert verify(log).problems == ()
    (problem,) = verify(log, kept(first)).problems
    assert problem.startswith("entry 5 has another line than the one that you kept")


def test_a_journal_that_is_gone_has_no_line(tmp_path: Path) -> None:
    first = verify(filled(tmp_path / "one", 4))
    assert verify(Log(str(tmp_path / "none")), kept(first)).problems


def test_what_was_turned_over_is_told_from_what_was_changed(tmp_path: Path) -> None:
    first = verify(filled(tmp_path, 3))
    log = filled(tmp_path, 200, segment=SEGMENT, size=3 * SEGMENT)
    (problem,) = verify(log, kept(first)).problems
    assert problem == "entry 4 has been turned over by age or size: the line that you kept proves nothing now"


def test_the_line_before_the_oldest_that_is_left_is_known(tmp_path: Path) -> None:
    log = filled(tmp_path, 200, segment=SEGMENT, size=3 * SEGMENT)
    begin = json.loads(lines(tmp_path, log.segments()[0])[0])
    found = verify(log, Kept(chain=begin["prev"]))
    assert (found.problems, found.kept) == ((), begin["n"] - 1)


@pytest.mark.parametrize("text", ["", "x", "12", "12-", "a" * 63, "g" * 64, "x-" + "a" * 64, "1.5-" + "a" * 64])
def test_what_is_no_such_line_is_not_taken_for_one(text: str) -> None:
    assert Kept.read(text) is None


def test_events_are_counted_without_what_begins_a_segment(tmp_path: Path) -> None:
    log = filled(tmp_path, 100, segment=SEGMENT)
    found = verify(log)
    assert found.events == 100
    assert found.entries == 100 + len(log.segments())
    assert (found.first, found.last) == (1, found.entries)
