"""A server that is killed can end nothing; the next one does, and touches nobody else. (Row R11.)"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fairlead import process
from fairlead.warm import noted
from tests.conftest import Home
from tests.dialects import samples
from tests.warm.serving import PATIENCE, Client, Gate, Server, gate_in, has_ended

HOOKS = 50
WORDS = ["--agent", "claude-code"]
LS = json.dumps(samples.SHELL["claude-code"]("ls")).encode()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "o").mkdir()
    with closing(Server(tmp_path / "o")) as found:
        yield found


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with gate_in(tmp_path) as found:
        yield found


def hooked(place: Home, command: str) -> None:
    place.write("~/.config/fairlead/fairlead.toml", f"[[hook]]\non = \"PreToolUse\"\nrun = '''{command}'''\n")


def calling(server: Server, place: Home) -> Client:
    return Client(server.socket).send(WORDS, place.environ, str(place.project), LS)


def start_again(server: Server) -> None:
    """Another one in its place, until it is ready; and then it ends."""
    words = [sys.executable, "-m", "fairlead", "serve", "--port", "0", "--json"]
    with subprocess.Popen(words, env=server.environ, stdout=subprocess.PIPE) as again:
        assert again.stdout is not None
        try:
            assert again.stdout.readline(), "it did not start"
        finally:
            again.terminate()
            again.wait(PATIENCE)


def wait_for_the_end_of(pids: list[int]) -> None:
    for pid in pids:
        try:
            held = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            assert has_ended(pid) or select.select([held], [], [], PATIENCE)[0], f"{pid} still runs"
        finally:
            os.close(held)


def kill_with_hooks_running(server: Server, place: Home, gate: Gate) -> list[int]:
    """Each hook has a child with a session of its own; both wait for ever."""
    waits = f"echo $$ > {gate.arrived}; read x < {gate.path}"
    place.write("waits.sh", waits)
    hooked(place, f"setsid sh {place.project}/waits.sh & {waits}")
    clients = [calling(server, place) for _ in range(HOOKS)]
    pids = gate.wait_for(2 * HOOKS)
    server.kill()
    for client in clients:
        client.close()
    assert not any(has_ended(pid) for pid in pids), "the control: nothing has ended them"
    return pids


def test_what_a_killed_server_left_running_ends_with_the_next_start(
    own_server: Server, place: Home, gate: Gate
) -> None:
    pids = kill_with_hooks_running(own_server, place, gate)
    start_again(own_server)
    wait_for_the_end_of(pids)
    assert [path.name for path in own_server.folder.glob("running-*")] == []


@pytest.mark.soak
@pytest.mark.parametrize("_round", range(20))
def test_soak_what_a_killed_server_left_running_ends_with_the_next_start(
    own_server: Server, place: Home, gate: Gate, _round: int
) -> None:
    pids = kill_with_hooks_running(own_server, place, gate)
    start_again(own_server)
    wait_for_the_end_of(pids)


def test_what_a_hook_left_behind_on_purpose_lives_on(own_server: Server, place: Home, gate: Gate) -> None:
    place.write("waits.sh", f"echo $$ > {gate.arrived}; read x < {gate.path}")
    hooked(place, f"setsid sh {place.project}/waits.sh >/dev/null 2>&1 </dev/null &")
    with closing(calling(own_server, place)) as client:
        client.ack()
        client.reply()
    (pid,) = gate.wait_for()
    own_server.kill()
    start_again(own_server)
    assert not has_ended(pid)


def test_the_hooks_of_a_server_that_lives_are_left_alone(own_server: Server, place: Home, gate: Gate) -> None:
    hooked(place, gate.command)
    with closing(calling(own_server, place)) as client:
        (pid,) = gate.wait_for()
        noted.end_what_the_dead_have_left(str(own_server.folder))
        assert not has_ended(pid)
        gate.open()
        client.ack()
        assert client.reply().code == 0


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PATH=",
        b"FAIRLEAD_HOOK_RUN",
        b"\0" * 160,
        b"/" * 16,
        b"0123456789abcde",
        b"0123456789ABCDEF",
        b"x" * 99_999,
    ],
    ids=["nothing", "a variable", "our variable", "zeros", "slashes", "too short", "capitals", "long"],
)
def test_a_damaged_note_ends_nobody(tmp_path: Path, content: bytes) -> None:
    mark = f"{os.urandom(7).hex()}ab"  # another in each case, since they run beside each other; with letters
    content = content.replace(b"0123456789abcde", mark[:15].encode()).replace(
        b"0123456789ABCDEF", mark.upper().encode()
    )
    environ = {"PATH": os.environ["PATH"], process.MARK: f"/{mark}", "X": "x" * 64 + "/" * 64}
    with subprocess.Popen(["sleep", "1000"], env=environ) as other:
        try:
            (tmp_path / "running-1").write_bytes(content)
            noted.end_what_the_dead_have_left(str(tmp_path))
            assert other.poll() is None
            (tmp_path / "running-1").write_bytes(mark.encode())
            noted.end_what_the_dead_have_left(str(tmp_path))  # the control: a note that is whole
            assert other.wait(PATIENCE) == -9
        finally:
            other.kill()


def test_a_note_that_is_a_link_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789abcdef")
    (tmp_path / "running-link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "running-pipe")
    noted.end_what_the_dead_have_left(str(tmp_path))
    assert (tmp_path / "file").read_bytes() == b"0123456789abcdef"


def test_notes_are_for_their_owner_alone_and_gone_after_the_end(tmp_path: Path) -> None:
    with noted.noted(str(tmp_path)):
        (path,) = tmp_path.iterdir()
        assert path.stat().st_mode & 0o777 == 0o600
        assert process.note_start is not None
        first, second = process.note_start("a" * 16), process.note_start("b" * 16)
        assert path.read_bytes() == b"a" * 16 + b"b" * 16
        first()
        assert path.read_bytes() == bytes(16) + b"b" * 16
        second()
        forget = [process.note_start(f"{number:016x}") for number in range(noted.MOST + 1)]  # the last has no place
        assert path.stat().st_size == 16 * noted.MOST
        for each in forget:
            each()
        assert path.read_bytes().strip(b"\0") == b""
    assert list(tmp_path.iterdir()) == []
    assert process.note_start is None


def test_where_no_note_can_be_written_hooks_run_all_the_same() -> None:
    with noted.noted("/proc"):  # where not even root makes files
        assert process.note_start is None
