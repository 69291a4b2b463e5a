"""Whatever the server does: the agent hears its reply, the cold answer or a refusal, whole and in time."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.relay.conftest import SOURCES, Caller, file_of
from tests.relay.scripted import Conversation, Said, Script, Server, ack, reply

GOOD = Said(0, b'{"decision": "\x00\xff"}\n', "fairlead: eine Notiz ü\n".encode())
FAILURE = Said(2, b"", b"fairlead: it took too long\n")
NEVER = 600_000


def answering(*parts: bytes) -> Script:
    """Reads the request, sends each part by itself, and closes."""

    def script(talk: Conversation) -> None:
        talk.read()
        for part in parts:
            talk.send(part)

    return script


def hanging(*parts: bytes) -> Script:
    """The same, but the connection stays until the relay has gone."""

    def script(talk: Conversation) -> None:
        answering(*parts)(talk)
        talk.wait_for_the_end()

    return script


def bytewise(data: bytes) -> list[bytes]:
    return [data[place : place + 1] for place in range(len(data))]


# --- all is well -------------------------------------------------------------------------------------


def test_the_reply_of_the_server_comes_out_to_the_byte(call: Caller, server: Server) -> None:
    server.script = answering(ack(FAILURE), reply(GOOD))
    assert call() == GOOD


@pytest.mark.parametrize("code", [0, 1, 2, 255])
def test_the_exit_code_is_the_servers(call: Caller, server: Server, code: int) -> None:
    server.script = answering(ack(FAILURE) + reply(GOOD._replace(code=code)))
    assert call() == GOOD._replace(code=code)


def test_a_reply_that_comes_byte_by_byte_is_whole_in_the_end(call: Caller, server: Server) -> None:
    server.script = answering(*bytewise(ack(FAILURE) + reply(GOOD)))
    assert call() == GOOD


def test_what_the_server_gets_is_what_the_agent_gave(call: Caller, server: Server) -> None:
    server.script = answering(ack(FAILURE), reply(GOOD))
    args = ["--agent", "claude-code", "", "two\nlines", "ü"]
    environ = {b"EMPTY": b"", b"NOT_TEXT": b"\xff\xfe", b"LINES": b"a\nb=c", b"LC_ALL": b"C.UTF-8"}
    words = [os.fsencode(word) for word in call.words(*args)]
    with file_of(b'{"a": "\x00\xff"}') as stdin:
        subprocess.run(words, stdin=stdin, capture_output=True, cwd=call.folder, env=environ, timeout=90, check=True)
    request = server.requests.get(timeout=60)
    assert request is not None
    assert request.args == [os.fsencode(word) for word in args]
    assert request.environ == environ
    assert request.cwd == os.fsencode(call.folder.resolve())
    assert request.stdin == b'{"a": "\x00\xff"}'


def test_a_large_event_and_a_large_reply_arrive_whole(call: Caller, server: Server) -> None:
    large = Said(0, os.urandom(1 << 20) * 8, os.urandom(1 << 20))
    server.script = answering(ack(FAILURE), reply(large))
    event = b'{"a": "' + b"x" * (8 << 20) + b'"}'
    assert call(event) == large
    request = server.requests.get(timeout=60)
    assert request is not None
    assert request.stdin == event


def test_no_event_at_all_is_passed_on_as_none(call: Caller, server: Server) -> None:
    server.script = answering(ack(FAILURE), reply(GOOD))
    assert call(b"") == GOOD


# --- the server does not answer as it should ---------------------------------------------------------

WRONG: dict[str, Script] = {
    "closes at once": lambda talk: None,
    "closes without an ack": answering(),
    "closes after the ack": answering(ack(FAILURE)),
    "sends something else than an ack": answering(b"HTTP/1.1 200 OK\r\n\r\n{}" * 9),
    "sends the reply without an ack": answering(reply(GOOD)),
    "sends two acks": answering(ack(FAILURE) * 2),
    "sends an ack of the next version": answering(b"FLA2" + ack(FAILURE)[4:], reply(GOOD)),
    "sends a reply of the next version": answering(ack(FAILURE), b"FLR2" + reply(GOOD)[4:]),
    "sends another end": answering(ack(FAILURE), reply(GOOD)[:-4] + b"DONT"),
    "promises more than it sends": answering(ack(FAILURE), b"FLR1" + struct.pack("<III", 0, 99, 0) + b"{}DONE"),
    "promises less than it sends": answering(ack(FAILURE), b"FLR1" + struct.pack("<III", 0, 1, 0) + b"{}DONE"),
    "promises gigabytes": answering(ack(FAILURE), b"FLR1" + struct.pack("<III", 0, 0xFFFFFFFF, 0) + b"{}DONE"),
    "promises gigabytes in the ack": answering(b"FLA1" + struct.pack("<IIII", NEVER, 2, 0, 0xFFFFFFFF)),
    "has an exit code that there is not": answering(ack(FAILURE), reply(GOOD._replace(code=256))),
    "has such an exit code in the ack": answering(ack(FAILURE._replace(code=256)), reply(GOOD)),
}


@pytest.mark.parametrize("script", WRONG.values(), ids=WRONG.keys())
def test_a_server_that_answers_wrongly_is_not_believed(call: Caller, server: Server, script: Script) -> None:
    server.script = script
    assert call(b'{"a": 1}', ["--guard"]) == call.cold_answer(b'{"a": 1}', ["--guard"])


def test_an_answer_that_ends_at_any_byte_is_no_answer(call: Caller, server: Server) -> None:
    whole = ack(FAILURE) + reply(Said(0, b"{}", b"!"))
    for length in range(len(whole)):
        server.script = answering(whole[:length])
        assert call() == call.cold_answer(), length
    server.script = answering(whole)
    assert call() == Said(0, b"{}", b"!")


def test_a_server_that_sends_no_ack_is_left_and_the_cold_command_has_the_time_that_is_left(
    call: Caller, server: Server
) -> None:
    server.script = hanging()
    said = call(b"{}", ["--timeout", "500"], ack_seconds=0.2)
    head, _, event = said.out.partition(b"\n")
    assert (said.code, event) == (7, b"{}")
    left = float(head.removeprefix(b"cold <hook> <--timeout> <").removesuffix(b">"))
    assert 300 < left < 500


def test_the_same_where_the_time_is_written_with_an_equals_sign(call: Caller, server: Server) -> None:
    server.script = hanging(ack(FAILURE)[:7])
    said = call(b"{}", ["--timeout=500", "--guard"], ack_seconds=0.2)
    left = float(said.out.removeprefix(b"cold <hook> <--timeout=").partition(b">")[0])
    assert 300 < left < 500


def test_an_impatient_agent_is_not_kept_for_a_whole_second(call: Caller, server: Server) -> None:
    server.script = hanging()
    assert call(b"{}", ["--timeout", "0.3"]).code == 7  # of the sixty seconds that this relay would wait


def test_a_server_too_busy_to_let_anybody_in_is_left(call: Caller, socket_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as full:
        full.bind(str(socket_path))
        full.listen(0)
        waiting: list[socket.socket] = []
        while len(waiting) < 100:
            line = socket.socket(socket.AF_UNIX)
            line.setblocking(False)
            waiting.append(line)
            try:
                line.connect(str(socket_path))
            except BlockingIOError:
                break
        assert call(ack_seconds=0.2) == call.cold_answer()
        for line in waiting:
            line.close()


@pytest.mark.parametrize("part", [0, 1, 15, 20], ids=lambda part: f"after {part} bytes of the reply")
def test_a_server_that_hangs_after_its_ack_is_given_up_with_the_refusal_that_it_sent_before(
    call: Caller, server: Server, part: int
) -> None:
    server.script = hanging(ack(FAILURE, 200), reply(GOOD)[:part])
    assert call() == FAILURE


def test_a_reply_that_trickles_past_the_deadline_is_given_up(call: Caller, server: Server) -> None:
    def trickle(talk: Conversation) -> None:
        answering(ack(FAILURE, 300), b"FLR1" + struct.pack("<III", 0, 1 << 20, 0))(talk)
        while True:
            talk.send(b"x")
            time.sleep(0.01)

    server.script = trickle
    assert call() == FAILURE


def test_a_reply_cut_short_with_no_time_left_is_the_refusal(call: Caller, server: Server) -> None:
    server.script = answering(ack(FAILURE, 0), reply(GOOD)[:10])
    assert call() == FAILURE


ANSWERS = st.builds(Said, st.integers(0, 255), st.binary(max_size=40), st.binary(max_size=40))
SLOW = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@SLOW
@given(said=ANSWERS, failure=ANSWERS, data=st.data())
def test_any_reply_cut_anywhere_is_the_reply_or_the_cold_answer(
    call: Caller, server: Server, said: Said, failure: Said, data: st.DataObject
) -> None:
    whole = ack(failure) + reply(said)
    length = data.draw(st.integers(0, len(whole)))
    pieces = sorted(data.draw(st.lists(st.integers(0, length), max_size=3)))
    server.script = answering(*(whole[a:b] for a, b in zip([0, *pieces], [*pieces, length], strict=True)))
    assert call() == (said if length == len(whole) else call.cold_answer())


@SLOW
@example(noise=reply(Said(0, b"", b""))[4:])
@given(noise=st.binary(max_size=60))
def test_any_bytes_in_the_place_of_a_reply_give_the_cold_answer(call: Caller, server: Server, noise: bytes) -> None:
    server.script = answering(ack(FAILURE), noise)
    assert call() == call.cold_answer()


# --- who may be behind the socket --------------------------------------------------------------------


def test_where_there_is_no_server_the_cold_command_answers(call: Caller) -> None:
    assert call(b"{} ", ["--x", ""]) == call.cold_answer(b"{} ", ["--x", ""])


def test_a_socket_with_nobody_behind_it_is_passed_by(call: Caller, socket_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(socket_path))
    assert call(b"[1]") == call.cold_answer(b"[1]")


def test_a_symbolic_link_to_a_socket_is_passed_by(call: Caller, server: Server) -> None:
    server.script = answering(ack(FAILURE), reply(GOOD))
    link = server.path.with_suffix(".link")
    link.symlink_to(server.path)
    call.socket = link
    assert call() == call.cold_answer()


@pytest.mark.parametrize("what", ["file", "folder", "pipe"])
def test_something_else_in_the_place_of_the_socket_is_passed_by(call: Caller, socket_path: Path, what: str) -> None:
    if what == "file":
        socket_path.touch()
    elif what == "folder":
        socket_path.mkdir()
    else:
        os.mkfifo(socket_path)
    assert call() == call.cold_answer()


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777], ids=oct)
def test_a_socket_in_a_folder_that_others_can_write_is_passed_by(call: Caller, own_folder: Path, mode: int) -> None:
    folder = own_folder / os.urandom(4).hex()
    folder.mkdir()
    call.socket = folder / "s"
    with Server(call.socket) as server:
        server.script = answering(ack(FAILURE), reply(GOOD))
        assert call() == GOOD
        folder.chmod(mode)
        assert call() == call.cold_answer()


def test_a_path_that_is_too_long_for_a_socket_is_passed_by(call: Caller, own_folder: Path) -> None:
    folder = own_folder / ("x" * 120)
    folder.mkdir(exist_ok=True)
    call.socket = folder / "s"
    with Server(own_folder / os.urandom(4).hex()) as server:
        server.path.rename(call.socket)
        server.script = answering(ack(FAILURE), reply(GOOD))
        assert call() == call.cold_answer()


root_only = pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to somebody else")


@root_only
@pytest.mark.parametrize("what", ["socket", "folder"])
def test_what_belongs_to_somebody_else_is_passed_by(call: Caller, own_folder: Path, what: str) -> None:
    folder = own_folder / os.urandom(4).hex()
    folder.mkdir(0o755)
    call.socket = folder / "s"
    with Server(call.socket) as server:
        server.script = answering(ack(FAILURE), reply(GOOD))
        os.chown(call.socket if what == "socket" else folder, 65534, 65534)
        assert call() == call.cold_answer()


LISTEN = """
import os, socket, sys
line = socket.socket(socket.AF_UNIX)
line.bind(sys.argv[1])
os.setresuid(65534, 65534, 65534)
line.listen(9)
print("ready", flush=True)
while True:
    other, _ = line.accept()
    print("called", flush=True)
    try:
        while other.recv(65536):
            pass
    except OSError:
        pass
    print("left", flush=True)
"""


@root_only
def test_a_process_of_somebody_else_behind_our_socket_hears_nothing(call: Caller, own_folder: Path) -> None:
    call.socket = own_folder / os.urandom(4).hex()
    words = [sys.executable, "-I", "-S", "-c", LISTEN, str(call.socket)]
    listening = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert listening.stdout is not None
    try:
        assert listening.stdout.readline() == b"ready\n"
        assert call() == call.cold_answer()
        assert [listening.stdout.readline() for _ in range(2)] == [b"called\n", b"left\n"]
    finally:
        listening.kill()
        listening.wait()
        listening.stdout.close()


# --- the agent's side --------------------------------------------------------------------------------


class Agent:
    """Writes its event before anybody reads it, and keeps the pipe open."""

    def __init__(self, call: Caller, event: bytes, *args: str, ack_seconds: float = 60, silence: float = 0.2) -> None:
        read, self._write = os.pipe()
        os.write(self._write, event)
        self.process = subprocess.Popen(
            call.words(*args, silence=silence, ack_seconds=ack_seconds),
            stdin=read,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=call.folder,
        )
        os.close(read)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process.wait(60)

    def hears(self, size: int = -1) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.read(size)

    def goes_on(self, event: bytes) -> None:
        os.write(self._write, event)

    def close(self) -> None:
        if self._write >= 0:
            os.close(self._write)
            self._write = -1


def test_an_agent_that_never_closes_its_pipe_is_answered_when_its_event_is_whole(call: Caller, server: Server) -> None:
    server.script = answering(ack(FAILURE), reply(GOOD))
    event = b'{"a": "}\\"]", "b": [1, {}]}\n'
    with Agent(call, event, "--timeout", "600") as agent:
        assert agent.hears() == GOOD.out
    request = server.requests.get(timeout=60)
    assert request is not None
    assert request.stdin == event


def test_the_server_is_told_how_much_is_left_of_the_agents_time_when_its_event_has_come(
    call: Caller, server: Server
) -> None:
    """It counts from then on, and would answer after the agent has gone."""
    server.script = answering(ack(FAILURE), reply(GOOD))
    with Agent(call, b"{}", "--guard", "--timeout=600") as agent:  # which it waits for the end of: 0.2 seconds
        assert agent.hears() == GOOD.out
    request = server.requests.get(timeout=60)
    assert request is not None
    assert request.args[0] == b"--guard"
    assert 300 < float(request.args[1].removeprefix(b"--timeout=")) < 599.9


def test_what_was_taken_off_once_is_not_taken_off_again(call: Caller, server: Server) -> None:
    server.script = hanging()
    began = time.monotonic()
    with Agent(call, b"{}", "--timeout", "5000", ack_seconds=0.2, silence=1) as agent:
        cold = agent.hears()
    gone = time.monotonic() - began
    request = server.requests.get(timeout=60)
    assert request is not None
    asked, left = float(request.args[1]), float(cold.split(b"<")[-1].partition(b">")[0])
    assert 5000 - gone - 0.01 <= left <= asked - 0.1  # less by what the server has had


def test_half_an_event_is_not_taken_for_all_of_it(call: Caller, server: Server) -> None:
    server.script = answering(ack(FAILURE), reply(GOOD))
    with Agent(call, b'{"a": 1, "b": "}', "--timeout", "600") as agent:
        time.sleep(0.5)  # longer than the silence after which a whole event would be sent
        assert agent.process.poll() is None
        assert server.requests.empty()
        agent.goes_on(b'"}')
        agent.close()
        assert agent.hears() == GOOD.out
    request = server.requests.get(timeout=60)
    assert request is not None
    assert request.stdin == b'{"a": 1, "b": "}"}'


def test_where_no_event_comes_the_cold_command_waits_for_it(call: Caller, server: Server) -> None:
    with Agent(call, b"", "--timeout", "600") as agent:
        assert agent.hears(13) == b"cold <hook> <"
        agent.goes_on(b"late")
        agent.close()
        assert agent.hears().endswith(b">\nlate")
        assert agent.process.wait(60) == 7


def test_half_an_event_and_no_more_is_left_to_the_cold_command(call: Caller, server: Server) -> None:
    with Agent(call, b'{"a": ', "--timeout", "0.6") as agent:
        assert agent.hears(13) == b"cold <hook> <"
        agent.close()
        assert agent.hears().endswith(b'>\n{"a": ')
        assert agent.process.wait(60) == 7


def test_an_event_too_large_for_the_server_goes_to_the_cold_command(call: Caller, server: Server) -> None:
    server.script = answering(ack(FAILURE), reply(GOOD))
    event = b" " * ((64 << 20) + 1)
    said = call(event)
    assert said.code == 7
    assert said.out.endswith(b"\n" + event)


TOO_MUCH = {"many words": ["x"] * 65, "a long word": ["x" * 4097]}


@pytest.mark.parametrize("args", TOO_MUCH.values(), ids=TOO_MUCH.keys())
def test_what_the_server_would_not_take_goes_to_the_cold_command(call: Caller, server: Server, args: list[str]) -> None:
    server.script = answering(ack(FAILURE), reply(GOOD))
    assert call(args=args) == call.cold_answer(args=args)


def test_a_folder_that_has_gone_is_left_to_the_cold_command(call: Caller, server: Server) -> None:
    server.script = answering(ack(FAILURE), reply(GOOD))
    words = ["sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', "sh", *call.words()]
    assert call.run(words).code == 7


@pytest.mark.parametrize(("code", "shown"), [(0, 2), (3, 3)])
def test_a_reply_that_cannot_be_delivered_is_no_permission(call: Caller, server: Server, code: int, shown: int) -> None:
    server.script = answering(ack(FAILURE), reply(GOOD._replace(code=code)))
    words = ["sh", "-c", '"$@" > /dev/full', "sh", *call.words()]
    assert call.run(words).code == shown


def test_an_agent_that_has_gone_is_no_reason_to_die_of_a_signal(call: Caller, server: Server) -> None:
    server.script = answering(ack(FAILURE), reply(GOOD))
    read, write = os.pipe()
    os.close(read)
    with open(write, "wb") as closed:
        done = subprocess.run(call.words(), stdin=subprocess.DEVNULL, stdout=closed, check=False, timeout=90)
    assert done.returncode == 2


@pytest.mark.parametrize("closed", ["0", "1", "2"])
def test_a_closed_stream_changes_nothing_about_who_answers(call: Caller, server: Server, closed: str) -> None:
    """A socket in the place of stdout would get the answer, and the agent none."""
    server.script = answering(ack(FAILURE), reply(GOOD))
    call.cold.write_text(f"#!/bin/sh\necho cold > {call.folder}/said\nexit 7\n")
    words = ["sh", "-c", f'exec "$@" {"<" if closed == "0" else closed + ">"}&-', "sh", *call.words()]
    assert call.run(words).code == 7
    assert (call.folder / "said").read_text() == "cold\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda one: one.name)
@pytest.mark.parametrize("sends", [b"", ack(FAILURE), ack(FAILURE) + reply(GOOD)[:9]], ids=["early", "acked", "half"])
def test_a_signal_ends_it_and_the_server_learns_of_it(
    call: Caller, server: Server, number: signal.Signals, sends: bytes
) -> None:
    waiting, left = threading.Event(), threading.Event()

    def script(talk: Conversation) -> None:
        answering(sends)(talk)
        waiting.set()
        talk.wait_for_the_end()
        left.set()

    server.script = script
    with file_of(b"{}") as stdin:
        process = subprocess.Popen(call.words(), stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert waiting.wait(60)
    process.send_signal(number)
    assert left.wait(60)
    assert process.communicate(timeout=60)[0] == b""
    assert process.returncode == 128 + number


# --- the cold command --------------------------------------------------------------------------------


def without_cold(call: Caller) -> None:
    call.cold.unlink()


def not_executable(call: Caller) -> None:
    call.cold.chmod(0o644)


def without_its_interpreter(call: Caller) -> None:
    call.cold.write_text("#!/no/such/interpreter\n")


@pytest.mark.parametrize("spoil", [without_cold, not_executable, without_its_interpreter], ids=lambda one: one.__name__)
@pytest.mark.parametrize("event", [b"", b"{}"], ids=["unread", "read"])
def test_where_the_cold_command_has_gone_the_answer_is_a_refusal_that_says_what_to_do(
    call: Caller, socket_path: Path, spoil: Callable[[Caller], None], event: bytes
) -> None:
    if event:
        with socket.socket(socket.AF_UNIX) as gone:
            gone.bind(str(socket_path))
    spoil(call)
    said = call(event)
    assert (said.code, said.out) == (2, b"")
    assert str(call.cold).encode() in said.err
    assert b"fairlead init" in said.err


def test_called_with_too_few_words_it_refuses(call: Caller) -> None:
    assert call.run(call.words()[:-2]).code == 2


def test_a_command_without_the_word_hook_is_started_as_it_is(call: Caller, server: Server) -> None:
    server.script = answering(ack(FAILURE), reply(GOOD))
    words = [*call.words()[:-1], "check", "--json"]
    assert call.run(words) == Said(7, b"cold <check> <--json>\n{}", b"")


def test_a_command_without_a_path_is_looked_for(call: Caller) -> None:
    words = call.words("--x")
    environ = {"PATH": f"/nowhere:{call.folder}:/usr/bin:/bin"}
    assert call.run([*words[:-3], "cold", *words[-2:]], env=environ) == call.cold_answer(args=["--x"])
    assert call.run([*words[:-3], "no-such-command", *words[-2:]], env=environ).code == 2


def test_the_cold_command_starts_with_the_signals_as_they_were(call: Caller) -> None:
    """What is ignored is inherited: a hook at the end of the chain would not notice a closed pipe."""
    call.cold.write_text("#!/bin/sh\ngrep SigIgn /proc/self/status\n")
    direct = call.run([str(call.cold)])
    assert call() == direct


@pytest.mark.parametrize("name", ["relay.c", "relay.py"])
def test_both_are_shipped_with_a_second_of_patience(name: str) -> None:
    text = (SOURCES / name).read_text()
    assert ("#define ACK_SECONDS 1.0" in text) or ("\nACK_SECONDS = 1.0\n" in text)


def test_the_python_relay_refuses_where_half_of_it_is_missing(call: Caller) -> None:
    if call.kind == "compiled":
        pytest.skip("is one file")
    words = call.words()
    copy = call.folder / "fairlead-relay.py"
    copy.write_bytes(Path(words[3]).read_bytes())
    said = call.run([*words[:3], str(copy), *words[4:]])
    assert said.code == 2
    assert b"fairlead init" in said.err
