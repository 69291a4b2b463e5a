"""The journal under many writers, sudden ends and strange disks."""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead import wire
from fairlead.journal import settings, writing
from fairlead.journal.reading import Log, Wanted
from fairlead.journal.verifying import verify
from fairlead.journal.writing import DETAILS, HEAD, LINES, WHOLE, Busy, Journal

ABOUT = {"agent": "codex", "session": "s", "event": "PreToolUse", "tool": "Bash", "decision": "none", "hooks": ["h"],
         "failed": 0, "ms": 1.0}  # fmt: skip


def details(text: str = "ls") -> dict[str, Any]:
    return {"payload": {"tool_input": {"command": text}}}


def filled(folder: Path, count: int = 5, **options: Any) -> Log:
    journal = Journal(str(folder), **options)
    for number in range(count):
        journal.append({**ABOUT, "session": f"s{number}"}, details(f"command {number}"))
    return Log(str(folder))


def commands(log: Log) -> list[str]:
    return [log.whole(entry)["details"]["payload"]["tool_input"]["command"] for entry in log.all(Wanted())]


def wholes(log: Log) -> list[dict[str, Any]]:
    return [log.whole(entry) for entry in log.all(Wanted())]


def test_what_is_appended_is_there_and_whole(tmp_path: Path) -> None:
    log = filled(tmp_path / "journal")
    assert commands(log) == [f"command {number}" for number in range(5)]
    assert verify(log).problems == ()
    assert [path.stat().st_mode & 0o077 for path in (tmp_path / "journal", *(tmp_path / "journal").iterdir())] == [
        0
    ] * 4


WRITER = """
import sys
from fairlead.journal.writing import Journal
journal = Journal(sys.argv[1], segment=int(sys.argv[3]))
about = {"agent": "a", "session": sys.argv[2], "event": "Stop", "tool": "", "decision": "none", "hooks": [],
         "failed": 0, "ms": 0}
number = 0
while number < int(sys.argv[4]):
    more = {"who": sys.argv[2], "number": number, "more": "x" * (number % 5000)}
    print(journal.append(about, more), number, flush=True)
    number += 1
"""


def writer(folder: Path, name: str, *, count: int, segment: int = 1 << 20) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", WRITER, str(folder), name, str(segment), str(count)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def test_many_writers_lose_nothing_and_keep_one_chain(tmp_path: Path) -> None:
    writers = [writer(tmp_path, f"w{number}", count=150, segment=200_000) for number in range(6)]
    acknowledged = [line for one in writers for line in one.communicate(timeout=100)[0].splitlines()]
    numbers = [int(line.split()[0]) for line in acknowledged]
    assert len(set(numbers)) == len(numbers) == 900
    log = Log(str(tmp_path))
    found = verify(log)
    assert found.problems == ()
    assert len(log.segments()) > 1
    assert {entry["n"] for entry in log.all(Wanted())} == set(numbers)
    assert [log.whole(entry)["details"]["number"] for entry in log.all(Wanted(session="w3"))] == list(range(150))


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    chance = random.Random(7)  # for tests
    acknowledged: set[int] = set()
    for _ in range(15):
        one = writer(tmp_path, "w", count=10_000, segment=100_000)
        assert one.stdout is not None
        for _ in range(chance.randint(1, 60)):
            acknowledged.add(int(one.stdout.readline().split()[0]))
        one.send_signal(signal.SIGKILL)
        acknowledged |= {
            int(line.split()[0]) for line in one.communicate()[0].splitlines(keepends=True) if "\n" in line
        }
    log = Log(str(tmp_path))
    assert verify(log).problems == ()
    assert acknowledged <= {entry["n"] for entry in log.all(Wanted())}


@pytest.mark.parametrize("cut", [0, 1, 2, 10, 200])
def test_an_entry_that_was_cut_short_is_passed_over_and_the_rest_stands(tmp_path: Path, cut: int) -> None:
    filled(tmp_path, 3)
    lines, head = tmp_path / f"000001{LINES}", (tmp_path / HEAD).read_bytes()
    Journal(str(tmp_path)).append(ABOUT, details("killed on the way"))
    whole = lines.read_bytes()
    lines.write_bytes(whole[: len(whole) - cut])
    (tmp_path / HEAD).write_bytes(head)
    Journal(str(tmp_path)).append(ABOUT, details("after"))
    Journal(str(tmp_path)).append(ABOUT, details("and after"))
    log = Log(str(tmp_path))
    assert verify(log).problems == ()
    kept = [] if cut > 1 else ["killed on the way"]
    assert commands(log) == ["command 0", "command 1", "command 2", *kept, "after", "and after"]


def test_an_entry_that_the_head_does_not_know_is_kept(tmp_path: Path) -> None:
    filled(tmp_path, 2)
    before = (tmp_path / HEAD).read_bytes()
    Journal(str(tmp_path)).append(ABOUT, details("killed before the head was written"))
    (tmp_path / HEAD).write_bytes(before)
    Journal(str(tmp_path)).append(ABOUT, details("after"))
    log = Log(str(tmp_path))
    assert verify(log).problems == ()
    assert commands(log)[-2:] == ["killed before the head was written", "after"]


def test_a_lost_head_is_made_again(tmp_path: Path) -> None:
    filled(tmp_path, 3)
    (tmp_path / HEAD).unlink()
    assert "the head is missing" in verify(Log(str(tmp_path))).problems[0]
    Journal(str(tmp_path)).append(ABOUT, details("after"))
    assert verify(Log(str(tmp_path))).problems == ()


def test_the_oldest_go_and_it_still_proves_itself(tmp_path: Path) -> None:
    log = filled(tmp_path, 400, segment=20_000, size=100_000)
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert size <= 130_000
    assert log.segments()[0] > 1
    found = verify(log)
    assert found.problems == ()
    assert commands(log)[-1] == "command 399"
    assert found.entries < 400


def test_old_segments_go_by_age(tmp_path: Path) -> None:
    filled(tmp_path, 50, segment=5_000)
    for path in tmp_path.iterdir():
        os.utime(path, (0, 0))
    log = filled(tmp_path, 60, segment=5_000, age=60.0)
    assert log.segments()[0] > 1
    assert verify(log).problems == ()


def test_segments_go_from_the_oldest_on_and_never_from_between(tmp_path: Path) -> None:
    """A clock that was set back makes a later segment look older than those before it."""
    log = filled(tmp_path, 50, segment=5_000)
    middle = log.segments()[3]
    os.utime(tmp_path / f"{middle:06d}{LINES}", (0, 0))
    filled(tmp_path, 20, segment=5_000, age=3600.0)
    assert log.segments()[0] == 1
    assert verify(log).problems == ()


# --- one journal for many -----------------------------------------------------------------------------


def test_threads_share_an_open_journal(tmp_path: Path) -> None:
    journal, numbers = Journal(str(tmp_path), segment=50_000), list[int]()

    def write() -> None:
        numbers.extend(journal.append(ABOUT, details("from a thread")) for _ in range(50))

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(numbers)) == len(numbers) == 200
    assert verify(Log(str(tmp_path))).problems == ()


FORKING = """
import os, sys
from fairlead.journal.writing import Journal
journal = Journal(sys.argv[1], segment=100_000)
about = {"agent": "a", "session": "", "event": "Stop", "tool": "", "decision": "none", "hooks": [], "failed": 0,
         "ms": 0}
journal.append(about, {})
children = []
for number in range(3):
    child = os.fork()
    if not child:
        for _ in range(200):
            journal.append(about, {"child": number})
        os._exit(0)
    children.append(child)
for _ in range(200):
    journal.append(about, {"child": "none"})
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
"""


def test_copies_of_a_process_share_an_open_journal(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", FORKING, str(tmp_path)], capture_output=True, text=True, check=True)
    assert ran.stdout == "[0, 0, 0]\n"
    log = Log(str(tmp_path))
    assert verify(log).problems == ()
    assert sum(1 for _ in log.all(Wanted())) == 801


KILLED_WITH_THE_LOCK = """
import os, sys, fcntl
from fairlead.journal import settings
environ = {"HOME": sys.argv[1]}
settings.journal({}, environ).append({"event": "Stop", "failed": 0}, {})
fcntl.flock(settings.journal({}, environ)._head.opened(), fcntl.LOCK_EX)
if os.fork():
    os.kill(os.getpid(), 9)
print("alive", flush=True)
sys.stdin.read()
"""


def test_a_child_that_lives_on_does_not_keep_the_lock_of_its_parent(tmp_path: Path) -> None:
    words = [sys.executable, "-c", KILLED_WITH_THE_LOCK, str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        assert child.stdout.readline() == b"alive\n"
        assert child.wait(timeout=60) == -signal.SIGKILL
        settings.journal({}, {"HOME": str(tmp_path)}).append(ABOUT, details("after"))
        child.stdin.close()


def test_a_journal_that_is_kept_open_is_opened_once(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    kept = settings.journal({}, environ)
    assert settings.journal({}, environ) is kept
    assert settings.journal({"keep_mb": 5}, environ) is not kept


KILLED = """
import os, sys
from fairlead.journal.writing import Journal
from tests.journal.test_writing import ABOUT, details
write = os.write
def in_the_middle(fd, data):
    if b'"event"' in data:
        write(fd, data[:40])
        os.kill(os.getpid(), 9)
    return write(fd, data)
if sys.argv[2] == "line":
    os.write = in_the_middle
else:
    os.pwrite = lambda *_: os.kill(os.getpid(), 9)
Journal(sys.argv[1]).append(ABOUT, details("killed"))
"""


@pytest.mark.parametrize(
    "ends", [("line", "line"), ("line", "head"), ("head", "line", "line"), ("line", "head", "line")]
)
def test_several_writers_that_are_killed_one_after_the_other_cost_nobody_an_entry(
    tmp_path: Path, ends: list[str]
) -> None:
    """In the middle of their line, or between that and the head."""
    journal = Journal(str(tmp_path))
    journal.append(ABOUT, details("before"))
    for end in ends:
        done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), end], check=False, timeout=60)
        assert done.returncode == -signal.SIGKILL
    numbers = [journal.append(ABOUT, details(text)) for text in ("one", "two")]
    log = Log(str(tmp_path))
    assert commands(log) == ["before", *["killed"] * ends.count("head"), "one", "two"]
    assert len({entry["n"] for entry in log.all(Wanted())}) == 3 + ends.count("head")
    assert verify(log).problems == ()
    found = [log.entry(number) for number in numbers]
    assert [one and one["details"]["payload"] for one in found] == [details(text)["payload"] for text in ("one", "two")]


# --- files that go away -------------------------------------------------------------------------------


def _rename(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def _copy(folder: Path) -> None:
    """As who moves it to another disk does."""
    _rename(folder)
    shutil.copytree(folder.with_name("elsewhere"), folder)


AWAY: dict[str, Callable[[Path], object]] = {
    "the folder is replaced by a copy": _copy,
    "the folder is deleted": shutil.rmtree,
    "the folder is moved": _rename,
    "the head is deleted": lambda folder: (folder / HEAD).unlink(),
    "the lines are deleted": lambda folder: (folder / f"000001{LINES}").unlink(),
    "the wholes are deleted": lambda folder: (folder / f"000001{DETAILS}").unlink(),
}


@pytest.mark.parametrize("go_away", AWAY.values(), ids=AWAY)
def test_what_is_written_after_files_went_away_is_there(tmp_path: Path, go_away: Callable[[Path], object]) -> None:
    folder = tmp_path / "journal"
    journal = Journal(str(folder))
    journal.append(ABOUT, details("before"))
    go_away(folder)
    journal.append(ABOUT, details("after"))
    found = [log_entry.get("details", {}).get("payload") for log_entry in wholes(Log(str(folder)))]
    assert found[-1] == details("after")["payload"]


@pytest.mark.parametrize("left", ["nothing", "a part", "a line", "a line and a part"])
def test_a_segment_that_was_just_begun_when_its_writer_was_killed(tmp_path: Path, left: str) -> None:
    filled(tmp_path, 3)
    head = (tmp_path / HEAD).read_bytes()
    Journal(str(tmp_path), segment=100).append(ABOUT, details("never acknowledged"))
    (tmp_path / HEAD).write_bytes(head)
    begun = tmp_path / f"000002{LINES}"
    first, second = begun.read_bytes().splitlines(keepends=True)
    begun.write_bytes({"nothing": b"", "a part": first[:30], "a line": first}.get(left, first + second[:30]))
    Journal(str(tmp_path), segment=100).append(ABOUT, details("after"))
    log = Log(str(tmp_path))
    assert verify(log).problems == ()
    assert commands(log) == ["command 0", "command 1", "command 2", "after"]


def test_a_lost_head_is_made_again_where_the_last_segment_is_empty(tmp_path: Path) -> None:
    log = filled(tmp_path, 3)
    (tmp_path / HEAD).unlink()
    (tmp_path / f"000002{LINES}").touch()
    number = Journal(str(tmp_path)).append(ABOUT, details("after"))
    assert number == 5
    assert commands(log) == ["command 0", "command 1", "command 2", "after"]


NO_ROOM = """
import resource, sys
from fairlead.journal.writing import Journal
about = {"agent": "a", "session": "s" * int(sys.argv[3]), "event": "Stop", "tool": "", "decision": "none", "hooks": [],
         "failed": 0, "ms": 0}
journal = Journal(sys.argv[1], segment=int(sys.argv[2]))
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
numbers = []
for limit in range(5_000, 40_000, 777):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        for _ in range(20):
            numbers.append(journal.append(about, {"payload": {"text": "x" * int(sys.argv[4])}}))
    except OSError:
        pass
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    numbers.append(journal.append(about, {"payload": {"text": "room again"}}))
print(*numbers)
"""


@pytest.mark.parametrize("longer", ["line", "whole"])
@pytest.mark.parametrize("segment", [1 << 20, 20_000])
def test_where_there_is_no_room_nothing_half_is_left(tmp_path: Path, segment: int, longer: str) -> None:
    """The kernel writes as much as there is room for, and refuses the rest."""
    sizes = ("900", "10") if longer == "line" else ("1", "900")
    words = [sys.executable, "-c", NO_ROOM, str(tmp_path), str(segment), *sizes]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    log = Log(str(tmp_path))
    assert verify(log).problems == ()
    assert [entry["n"] for entry in log.all(Wanted())] == [int(number) for number in ran.stdout.split()]
    for path in (*tmp_path.glob(f"*{LINES}"), *tmp_path.glob(f"*{DETAILS}")):
        assert not any("torn" in json.loads(line) for line in path.read_bytes().splitlines())


# --- how much is kept ---------------------------------------------------------------------------------

HUGE: dict[str, Any] = {
    "many texts": {"payload": {"tool_input": {f"file {number}": "x" * 100_000 for number in range(30)}}},
    "many numbers": {"payload": {"tool_input": {"list": list(range(200_000))}}},
    "many keys": {"payload": {"tool_input": {f"key {number}": number for number in range(80_000)}}},
    "long keys": {"payload": {"tool_input": {str(number) + "k" * 200_000: 1 for number in range(8)}}},
    "lists in lists": {"payload": {"tool_input": [[[["xyz"] * 20] * 100] * 20] * 10}},
    "nothing but escapes": {"payload": {"tool_input": {"text": "\U0001f600" * 100_000}}},
    "many hooks": {"hooks": [{"name": "h", "reason": "r" * 4000}] * 1000, "payload": {"a": 1}},
}


@pytest.mark.parametrize("whole", HUGE.values(), ids=HUGE)
def test_an_entry_that_is_too_long_is_cut_and_says_so(tmp_path: Path, whole: dict[str, Any]) -> None:
    log = Log(str(tmp_path))
    Journal(str(tmp_path)).append(ABOUT, {"project": "/p", "reason": "because", **whole})
    (entry,) = wholes(log)
    kept = entry["details"]
    assert entry["at"][1] <= WHOLE + 100
    assert (kept["cut"], kept["project"], kept["reason"]) == (True, "/p", "because")
    assert kept["size"] == len(wire.encode({"project": "/p", "reason": "because", **whole}))
    assert verify(log).problems == ()


# --- a change shows -----------------------------------------------------------------------------------


def test_every_changed_byte_shows(tmp_path: Path) -> None:
    log = filled(tmp_path, 3)
    for kind in (LINES, DETAILS):
        path = tmp_path / f"000001{kind}"
        whole = path.read_bytes()
        for place in range(0, len(whole), 7):
            changed = bytearray(whole)
            changed[place] ^= 1
            path.write_bytes(bytes(changed))
            assert verify(log).problems, (kind, place)
        path.write_bytes(whole)
    assert verify(log).problems == ()


def _without_line(path: Path, index: int) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    del lines[index]
    path.write_bytes(b"".join(lines))


@pytest.mark.parametrize("index", [0, 1, 2, 3])
def test_every_missing_entry_shows(tmp_path: Path, index: int) -> None:
    log = filled(tmp_path, 3)
    _without_line(tmp_path / f"000001{LINES}", index)
    assert verify(log).problems


def test_two_entries_in_another_order_show(tmp_path: Path) -> None:
    log = filled(tmp_path, 3)
    path = tmp_path / f"000001{LINES}"
    first, one, two, three = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + two + one + three)
    assert verify(log).problems


def test_a_span_of_times_that_is_wrong_shows(tmp_path: Path) -> None:
    """Whoever could write a false one, with a new chain, would hide a segment from a search by time."""
    log = filled(tmp_path, 30, segment=8_000)
    path = tmp_path / f"000002{LINES}"
    line, *rest = path.read_bytes().splitlines(keepends=True)
    entry = json.loads(line)
    false = {**{key: entry[key] for key in ("n", "t", "prev", "first")}, "span": [1.0, 2.0]}
    chained, _ = writing.chained(wire.encode(false), entry["prev"])
    path.write_bytes(chained + b"".join(rest))
    assert any("the times of the segment before" in problem for problem in verify(log).problems)


@pytest.mark.parametrize("which", [0, 1, -1])
def test_every_missing_segment_shows(tmp_path: Path, which: int) -> None:
    log = filled(tmp_path, 100, segment=8_000)
    assert len(log.segments()) > 3
    gone = log.segments()[which]
    (tmp_path / f"{gone:06d}{LINES}").unlink()
    assert verify(log).problems


def test_a_rewritten_end_shows_against_a_line_that_was_kept_elsewhere(tmp_path: Path) -> None:
    """Who can write to the folder can make a new chain; not one that ends in the line that somebody has."""
    kept = verify(filled(tmp_path / "true", 4)).chain
    log = filled(tmp_path / "false", 4)
    assert verify(log).problems == ()
    assert verify(log).chain != kept


# --- strange disks ------------------------------------------------------------------------------------


def test_who_keeps_the_lock_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, 1)
    monkeypatch.setattr(writing, "_PATIENCE", 0.05)
    with (tmp_path / HEAD).open("rb") as head:
        fcntl.flock(head, fcntl.LOCK_EX)
        with pytest.raises(Busy, match="held by another process"):
            Journal(str(tmp_path)).append(ABOUT, details())


def test_the_folders_around_it_are_for_their_owner_alone_too(tmp_path: Path) -> None:
    filled(tmp_path / "state" / "fairlead" / "journal", 1)
    made = [tmp_path / "state" / "fairlead", tmp_path / "state" / "fairlead" / "journal"]
    assert [path.stat().st_mode & 0o777 for path in made] == [0o700, 0o700]


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for name in (HEAD, f"000001{LINES}", f"000001{DETAILS}"):
        link = tmp_path / "journal" / name
        link.symlink_to(victim)
        with pytest.raises(OSError, match="symbolic links"):
            Journal(str(tmp_path / "journal")).append(ABOUT, details())
        link.unlink()
        for path in (tmp_path / "journal").iterdir():
            path.unlink()
    assert victim.read_text() == "mine"


def test_whatever_is_in_an_event_can_be_kept(tmp_path: Path) -> None:
    strange = 'a "quoted" \n line, "chain":"x"}, \ud800, é, \x00'
    Journal(str(tmp_path)).append({**ABOUT, "session": strange, "tool": strange}, details(strange))
    log = Log(str(tmp_path))
    assert verify(log).problems == ()
    (entry,) = log.all(Wanted(session=strange))
    assert json.dumps(log.whole(entry)["details"]["payload"]["tool_input"]["command"]) == json.dumps(strange)
