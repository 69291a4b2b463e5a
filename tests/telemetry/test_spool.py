"""What waits: written by many at once, taken by one, and never more than fits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fairlead
from fairlead.telemetry.spool import LARGEST, SENDING, WAITING, Spool
from tests.conftest import Home
from tests.telemetry.conftest import end_exporter

WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from fairlead.telemetry.spool import Spool
spool = Spool(sys.argv[2])
for number in range(300):
    spool.add(f"{sys.argv[3]}-{number}\\n".encode())
"""


def test_nothing_is_lost_between_those_who_write_and_the_one_who_takes(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path / "spool"))
    source = str(Path(fairlead.__file__).parents[1])
    writers = [
        subprocess.Popen([sys.executable, "-I", "-c", WRITER, source, spool.folder, str(name)]) for name in range(4)
    ]
    found: list[bytes] = []
    while any(writer.poll() is None for writer in writers) or spool.size(WAITING):
        if spool.size(WAITING):
            found += _taken(spool)
    assert [writer.wait() for writer in writers] == [0] * 4
    dropped = spool.take_dropped()
    assert len(found) == len(set(found))
    assert len(found) + dropped == 1200  # a writer that the machine stops in its 20 ms may give up, and counts it
    assert {line.count(b"-") for line in found} == {1}


def _taken(spool: Spool) -> list[bytes]:
    spool.take()
    lines, _after = spool.lines(0, 10_000)
    spool.discard()
    return lines


def test_what_does_not_fit_is_dropped_and_counted(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path / "spool"))
    line = b"x" * ((1 << 20) - 1) + b"\n"
    for _ in range(12):
        spool.add(line)
    assert spool.size(WAITING) == LARGEST
    assert spool.take_dropped() == 4
    assert spool.take_dropped() == 0


def test_batches_go_on_where_the_last_has_ended(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path / "spool"))
    lines = [b"%d\n" % number for number in range(10)]
    for line in lines:
        spool.add(line)
    spool.take()
    spool.add(b"later\n")
    found: list[bytes] = []
    batch, offset = spool.lines(0, 3)
    while batch:
        found += batch
        batch, offset = spool.lines(offset, 3)
    assert found == lines
    assert spool.size(WAITING) == len(b"later\n")


def test_who_writes_does_not_wait_for_who_holds_the_file(tmp_path: Path) -> None:
    import fcntl

    spool = Spool(str(tmp_path / "spool"))
    spool.add(b"first\n")
    with open(spool.path(WAITING), "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        spool.add(b"second\n")  # returns, though nobody lets go
    assert spool.size(WAITING) == len(b"first\n")
    assert spool.take_dropped() == 1


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path / "spool"))
    os.mkdir(spool.folder)
    target = tmp_path / "target"
    target.write_text("mine")
    os.symlink(target, spool.path(WAITING))
    try:
        spool.add(b"x\n")
    except OSError:
        pass
    assert target.read_text() == "mine"
    assert not os.path.exists(spool.path(SENDING))


WAKES = """
import fcntl, os, sys
sys.path.insert(0, sys.argv[1])
from fairlead.telemetry.spool import Spool
started = []
sys.addaudithook(lambda name, _arguments: started.append(name) if name == "subprocess.Popen" else None)
spool = Spool(sys.argv[2])
spool.add(b"x")
lock = os.open(spool.path("exporter"), os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(lock, fcntl.LOCK_EX)
spool.wake({}, dict(os.environ))
print(len(started))
fcntl.flock(lock, fcntl.LOCK_UN)
spool.wake({}, dict(os.environ))
print(len(started))
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("held")
spool.wake({}, dict(os.environ))
print(len(started))
"""


def test_an_exporter_is_started_where_there_is_none_and_has_the_lock_at_once(place: Home) -> None:
    folder = place.home / "spool"
    source = str(Path(fairlead.__file__).parents[1])
    program = [sys.executable, "-I", "-c", WAKES, source, str(folder)]
    try:
        done = subprocess.run(program, capture_output=True, env=place.environ, check=True, timeout=90)
    finally:
        end_exporter(folder)
    assert done.stdout.decode().split() == ["0", "1", "held", "1"]


def test_nobody_is_started_while_the_collector_wants_to_be_left_alone(place: Home) -> None:
    spool = Spool(str(place.home / "spool"))
    spool.add(b"x")
    spool.pause(600)
    spool.wake({}, place.environ)
    assert not os.path.exists(spool.path("exporter"))
    assert 0 < spool.pause_left() <= 600
    spool.go_on()
    assert spool.pause_left() == 0
