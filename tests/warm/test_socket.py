"""The socket: for its owner alone, for many at once, and never half an answer."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.errors import UsageError
from fairlead.warm import framing, listening
from fairlead.warm.listening import AT_ONCE, Listener, listen
from fairlead.warm.loaded import Loaded
from tests.conftest import Home
from tests.dialects import samples
from tests.warm.serving import PATIENCE, Client, Gate, Server, ask, has_ended

WORDS = ["--agent", "claude-code"]
LS = json.dumps(samples.SHELL["claude-code"]("ls")).encode()
RM = json.dumps(samples.SHELL["claude-code"]("rm -rf /")).encode()
GUARDED = '[[hook]]\non = "PreToolUse"\nguard = ["filesystem"]\n'


def hooked(place: Home, run: str) -> Home:
    place.write("~/.config/fairlead/fairlead.toml", f"[[hook]]\non = \"PreToolUse\"\nrun = '''{run}'''\n")
    return place


def calling(path: str, place: Home, raw: bytes = LS) -> Client:
    return Client(path).send(WORDS, place.environ, str(place.project), raw)


# --- whose it is -----------------------------------------------------------------------------------------


def test_it_is_for_its_owner_alone(server: Server) -> None:
    assert stat.S_IMODE(os.stat(server.socket).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(server.socket)).st_mode) == 0o700
    assert server.socket == str(server.folder / "hook.sock")


def test_nothing_else_is_left_beside_it(server: Server) -> None:
    assert [path.name for path in server.folder.iterdir() if path.is_socket()] == ["hook.sock"]


@pytest.fixture
def in_the_open(own_server: Server) -> Iterator[Path]:
    """A socket that others can reach, as it must never be: in a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="fairlead-open-"))
    os.chmod(folder, 0o755)  # that is the point
    reached = folder / "hook.sock"
    os.link(own_server.socket, reached)
    os.chmod(reached, 0o666)  # the same
    yield reached
    shutil.rmtree(folder)


SENDING = """
import socket, sys
found = socket.socket(socket.AF_UNIX)
found.settimeout(60)
found.connect(sys.argv[1])
try:
    found.sendall(sys.stdin.buffer.read())
    while part := found.recv(65536):
        sys.stdout.buffer.write(part)
except ConnectionError:
    pass
"""


def sent_by(prefix: list[str], path: Path | str, raw: bytes) -> bytes:
    """What somebody else is told."""
    python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
    done = subprocess.run(
        [*prefix, python, "-c", SENDING, str(path)], input=raw, capture_output=True, timeout=90, check=False, cwd="/"
    )
    if done.returncode:
        pytest.skip(f"{' '.join(prefix)} does not work here: {done.stderr.decode()[-200:]}")
    return done.stdout


def request_of(place: Home) -> bytes:
    return framing.request(WORDS, place.environ, str(place.project), LS)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_another_user_is_told_nothing(own_server: Server, in_the_open: Path, place: Home) -> None:
    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    assert sent_by(other, in_the_open, request_of(place)) == b""
    assert "hung up on process" in own_server.log.read_text()
    assert sent_by([], in_the_open, request_of(place)).startswith(framing.ACK)


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_who_may_not_gain_rights_stays_behind_that_fence(server: Server, place: Home) -> None:
    """What a sandbox lets out over the socket would run outside of it."""
    assert sent_by(["setpriv", "--no-new-privs"], server.socket, request_of(place)) == b""
    assert sent_by(["setpriv"] if os.getuid() else [], server.socket, request_of(place)).startswith(framing.ACK)


@pytest.mark.parametrize("space", ["--net", "--mount", "--user"])
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_who_lives_in_another_namespace_stays_there(server: Server, place: Home, space: str) -> None:
    assert sent_by(["unshare", space], server.socket, request_of(place)) == b""


def test_a_folder_that_others_write_into_is_not_listened_in(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(UsageError, match="others can write"):
        listen(str(tmp_path / "hook.sock"))


def test_a_path_that_is_too_long_is_said(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 110)
    folder.mkdir()
    with pytest.raises(UsageError, match="107 bytes"):
        listen(str(folder / "hook.sock"))


def test_the_longest_path_that_fits_is_good() -> None:
    folder = tempfile.mkdtemp(prefix="fl", dir="/tmp")
    deep = os.path.join(folder, "x" * (listening.LONGEST_PATH - len(folder) - len("//hook.sock")))
    os.mkdir(deep)
    path = os.path.join(deep, "hook.sock")
    assert len(path) == listening.LONGEST_PATH
    found = listen(path)
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    client.close()
    found.close()
    shutil.rmtree(folder)


def test_a_stale_socket_is_replaced(tmp_path: Path) -> None:
    path = str(tmp_path / "hook.sock")
    listen(path).close()
    with pytest.raises(ConnectionRefusedError):
        Client(path)
    found = listen(path)
    Client(path).close()
    found.close()


def test_a_server_that_ends_leaves_the_socket_of_its_successor(tmp_path: Path) -> None:
    path = str(tmp_path / "hook.sock")
    first, second = Listener(path, Loaded()), Listener(path, Loaded())
    first.close()
    Client(path).close()
    second.close()
    assert not os.path.exists(path)


# --- what it does not answer ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [[], ["--agent", "nobody"], ["--agent"], ["--help"], [*WORDS, "--unknown"], [*WORDS, "--timeout", "0"]],
    ids=["no agent", "an unknown agent", "no value", "help", "an unknown option", "no time"],
)
def test_what_it_does_not_understand_the_program_itself_says(server: Server, place: Home, words: list[str]) -> None:
    assert Client(server.socket).send(words, place.environ, "/", LS).ended() == b""


def test_a_function_is_left_to_a_process(server: Server, place: Home) -> None:
    place.write("~/.config/fairlead/fairlead.toml", '[[hook]]\non = "PreToolUse"\npython = "os:getcwd"\n')
    assert calling(server.socket, place).ended() == b""


def test_an_event_that_takes_long_to_read_gets_a_process(server: Server, place: Home) -> None:
    payload = samples.SHELL["claude-code"]("true " + "x" * listening.LARGEST)
    request = framing.request(WORDS, place.environ, "/", json.dumps(payload).encode())
    assert Client(server.socket).raw(request).ended() == b""


def test_it_is_told_so_before_it_is_sent() -> None:
    beginning = framing.request(WORDS, {}, "/", b"")[:-8] + struct.pack("<Q", listening.LARGEST + 1)
    with pytest.raises(framing.Garbage):
        framing.Reader(listening.LARGEST).feed(beginning)


def test_an_event_just_below_is_answered(server: Server, place: Home) -> None:
    payload = samples.SHELL["claude-code"]("true " + "x" * (listening.LARGEST - 1000))
    client = calling(server.socket, place, json.dumps(payload).encode())
    client.ack()
    assert client.reply().code == 0


def test_garbage_is_hung_up_on_and_the_next_is_answered(server: Server, place: Home) -> None:
    chance = random.Random(1)
    for _ in range(30):
        raw = chance.randbytes(chance.randrange(4, 4000))
        assert Client(server.socket).raw(raw).ended() == b""
    two = framing.request(WORDS, place.environ, "/", LS) * 2
    assert framing.REPLY not in Client(server.socket).raw(two).ended()
    assert ask(server.socket, WORDS, place.environ, "/", LS).code == 0


def test_who_begins_and_falls_silent_is_hung_up_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "SILENCE", 0.2)

    async def told() -> list[bytes]:
        listener = Listener(str(tmp_path / "hook.sock"), Loaded())
        await listener.start()
        clients = [Client(listener.path).raw(raw) for raw in (b"", b"FL", framing.request(WORDS, {}, "/", LS)[:-1])]
        found = [await asyncio.to_thread(client.ended) for client in clients]
        await listener.stop()
        return found

    assert asyncio.run(told()) == [b"", b"", b""]


# --- many at once, and those who go ----------------------------------------------------------------------


def test_sixty_four_are_answered_side_by_side_and_another_is_sent_away_in_time(
    own_server: Server, place: Home, gate: Gate
) -> None:
    hooked(place, gate.command)
    clients = [calling(own_server.socket, place) for _ in range(AT_ONCE)]
    assert all(client.ack().otherwise.code == 2 for client in clients)
    gate.wait_for(AT_ONCE)
    assert calling(own_server.socket, place).ended() == b""
    gate.open()
    assert {client.reply().code for client in clients} == {0}
    assert ask(own_server.socket, WORDS, place.environ, "/", LS).code == 0


def test_who_hangs_up_takes_the_event_back(server: Server, place: Home, gate: Gate) -> None:
    client = calling(server.socket, hooked(place, gate.command))
    client.ack()
    (pid,) = gate.wait_for()
    client.close()
    while not has_ended(pid):
        time.sleep(0.01)


def test_a_server_that_is_killed_answers_nothing_rather_than_half(own_server: Server, place: Home, gate: Gate) -> None:
    client = calling(own_server.socket, hooked(place, gate.command))
    ack = client.ack()
    gate.wait_for()
    own_server.kill()
    assert client.ended() == b""
    assert 0 < ack.deadline < 600
    with pytest.raises(ConnectionRefusedError):
        Client(own_server.socket)


def test_a_server_that_ends_answers_what_runs_and_nothing_else(own_server: Server, place: Home, gate: Gate) -> None:
    running = calling(own_server.socket, hooked(place, gate.command))
    running.ack()
    idle = Client(own_server.socket).raw(b"FLH1")
    gate.wait_for()
    own_server.process.terminate()
    assert idle.ended() == b""
    gate.open()
    assert running.reply().code == 0
    own_server.process.wait(PATIENCE)
    assert not os.path.exists(own_server.socket)


def test_what_is_left_running_is_not_below_a_hook_that_has_started_the_server(server: Server, place: Home) -> None:
    """Which would look like a circle of hooks, and be refused."""
    told = place.root / "told"
    run = f'echo "run $FAIRLEAD_HOOK_RUN" > {told}.part; mv {told}.part {told}'
    place.write(
        "~/.config/fairlead/fairlead.toml",
        f"[[hook]]\non = \"PreToolUse\"\nasync = true\nrun = '''{run}'''\n",
    )
    ask(server.socket, WORDS, place.environ, str(place.project), LS)
    while not told.exists():
        time.sleep(0.01)
    assert server.environ["FAIRLEAD_HOOK_RUN"] not in told.read_text()


# --- what is promised --------------------------------------------------------------------------------------


@pytest.mark.parametrize("patience", [1.5, 5.0, 30.0, 600.0])
def test_the_promise_ends_before_the_patience_of_the_agent_and_after_that_of_the_hooks(
    server: Server, place: Home, patience: float
) -> None:
    words = [*WORDS, "--timeout", f"{patience:g}"]
    client = Client(server.socket).send(words, place.environ, "/", LS)
    deadline, otherwise = client.ack()
    client.reply()
    hooks = max(patience * 0.9 - 1.0, patience * 0.4)
    assert deadline < patience
    assert deadline > hooks - PATIENCE / 10  # what the server had to wait for is no longer there
    assert otherwise.code == 2
    assert b"not answered in time" in otherwise.err


def test_a_hook_that_is_too_slow_is_said_by_the_server_itself(server: Server, place: Home, gate: Gate) -> None:
    hooked(place, gate.command)
    client = Client(server.socket).send([*WORDS, "--timeout", "2"], place.environ, "/", LS)
    client.ack()
    assert b"timed out" in client.reply().out


# --- files change ------------------------------------------------------------------------------------------


def test_a_change_of_the_files_is_seen_by_an_event_soon_after(server: Server, place: Home) -> None:
    said = ask(server.socket, WORDS, place.environ, str(place.project), RM)
    assert said.out == b""
    place.write("~/.config/fairlead/fairlead.toml", GUARDED)
    while not said.out:
        said = ask(server.socket, WORDS, place.environ, str(place.project), RM)
    assert b"deny" in said.out


def test_a_broken_edit_is_told_with_every_answer_and_costs_no_guard(server: Server, place: Home) -> None:
    file = place.write("~/.config/fairlead/fairlead.toml", GUARDED)
    good = ask(server.socket, WORDS, place.environ, str(place.project), RM)
    assert b"deny" in good.out
    file.write_text(GUARDED + "[[hook]\n")
    said = good
    while said.err == good.err:
        said = ask(server.socket, WORDS, place.environ, str(place.project), RM)
    assert said.out == good.out
    assert f"{file}:4:".encode() in said.err
    assert ask(server.socket, WORDS, place.environ, str(place.project), LS).err == said.err


# --- memory ------------------------------------------------------------------------------------------------


def resident(pid: int) -> int:
    """In KiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def _fed(server: Server, place: Home, count: int) -> int:
    for number in range(count):
        raw = json.dumps({**samples.SHELL["claude-code"](f"echo {number}"), "session_id": f"s{number}"}).encode()
        ask(server.socket, WORDS, {**place.environ, "NUMBER": str(number)}, str(place.project), raw)
    return resident(server.process.pid)


@pytest.mark.parametrize(
    "count", [1000, pytest.param(20_000, marks=pytest.mark.soak), pytest.param(100_000, marks=pytest.mark.soak)]
)
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
def test_memory_does_not_grow_with_events(own_server: Server, place: Home, count: int) -> None:
    place.write("~/.config/fairlead/fairlead.toml", GUARDED)
    place.environ["FAIRLEAD_JOURNAL"] = "off"
    before = _fed(own_server, place, max(count // 5, 300))
    assert _fed(own_server, place, count) - before < 8 * 1024
