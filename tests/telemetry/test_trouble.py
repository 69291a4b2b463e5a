"""Collectors that are away, slow, overloaded, or something else entirely: agents never notice, and little is lost."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

import fairlead as package
from tests.conftest import Home
from tests.telemetry.conftest import (
    Answer,
    Collector,
    Hook,
    Post,
    attributes,
    end_exporter,
    eventually,
    exporter_of,
    is_over,
    spools,
    toml,
)

DENIES = "[[hook]]\nname = 'denies'\non = 'PreToolUse'\nrun = 'echo no >&2; exit 2'\n"


def state(place: Home) -> dict[str, Any]:
    (folder,) = spools(place)
    try:
        found: dict[str, Any] = json.loads((folder / "state.json").read_text())
    except FileNotFoundError:
        return {}
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def sessions(collector: Collector) -> Counter[str]:
    found = (attributes(span.attributes) for span in collector.spans() if span.name.startswith("execute_tool"))
    return Counter(about["gen_ai.conversation.id"] for about in found)


def test_a_collector_that_is_away_gets_it_when_it_is_back(traced: Home, hook: Hook) -> None:
    port = free_port()
    traced.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{port}"
    toml(traced, DENIES)
    answers = {(ran.code, ran.out) for ran in (hook(session_id="a"), hook(session_id="b"))}
    assert len(answers) == 1
    assert b"deny" in answers.pop()[1]
    eventually(lambda: "refused" in state(traced).get("problem", ""))
    late = Collector(port)
    try:
        hook(session_id="c")
        late.wait_for(lambda: sessions(late) == {"a": 1, "b": 1, "c": 1})
        late.wait_for(lambda: late.counted() == 3)
        eventually(lambda: state(traced)["problem"] == "")
        assert state(traced)["failures"] == 0
    finally:
        late.close()


def test_nobody_waits_for_a_collector_that_takes_its_time(traced: Home, collector: Collector, hook: Hook) -> None:
    held = threading.Event()

    def hold(_post: Post) -> Answer:
        held.wait(80)
        return Answer()

    collector.behave = hold
    toml(traced, DENIES)
    hook(session_id="a")
    collector.wait_for(lambda: collector.posts)
    ran = hook(session_id="b")  # it comes to its end, though the collector has not answered
    assert b"deny" in ran.out
    assert collector.accepted == []
    held.set()
    collector.wait_for(lambda: sessions(collector) == {"a": 1, "b": 1})


def test_one_that_never_answers_is_given_up_and_asked_again(traced: Home, collector: Collector, hook: Hook) -> None:
    traced.environ["OTEL_EXPORTER_OTLP_TIMEOUT"] = "2000"
    over = threading.Event()
    first = threading.Event()

    def silent_once(_post: Post) -> Answer:
        if not first.is_set():
            first.set()
            over.wait(80)
        return Answer()

    collector.behave = silent_once
    hook()
    collector.wait_for(lambda: len(collector.posts) >= 2)
    over.set()
    collector.wait_for(collector.counted)
    assert [post.path for post in collector.posts[:2]] == ["/v1/traces", "/v1/traces"]


@pytest.mark.parametrize("wish", ["1", "date"])
def test_an_overloaded_one_is_left_alone_as_long_as_it_wishes(
    traced: Home, collector: Collector, hook: Hook, wish: str
) -> None:
    def busy_once(post: Post) -> Answer:
        if len(collector.posts) > 1:
            return Answer()
        return Answer(503, Retry_After="1" if wish == "1" else formatdate(time.time() + 3, usegmt=True))

    collector.behave = busy_once
    hook()
    collector.wait_for(lambda: len(collector.posts) >= 2)
    first, second = collector.posts[:2]
    assert second.at - first.at > 0.95  # never sooner; later is fine
    collector.wait_for(lambda: sessions(collector) == {"s1": 1})


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, b"<html>Please log in</html>", "text/html"),
        Answer(200, b"\xff\xff\xff\xff"),
        Answer(429),
        Answer(504, b"x" * 100_000, "text/plain"),
        None,
    ],
    ids=["a page", "no message", "too many", "gateway", "hangs up"],
)
def test_what_is_no_receipt_is_sent_again(
    traced: Home, collector: Collector, hook: Hook, answer: Answer | None
) -> None:
    collector.behave = lambda post: answer if len(collector.posts) <= 2 else Answer()
    hook()
    collector.wait_for(lambda: len(collector.posts) >= 3)
    collector.wait_for(lambda: sessions(collector) == {"s1": 1} and collector.counted() == 1)


def test_somebody_who_does_not_speak_http_is_no_collector(traced: Home, hook: Hook) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_babble, args=(server,), daemon=True).start()
        traced.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{server.getsockname()[1]}"
        assert hook().code == 0
        eventually(lambda: state(traced).get("problem"))
        (folder,) = spools(traced)
        assert (folder / "sending").exists()
        end_exporter(folder)


def test_one_that_speaks_too_slowly_to_ever_end_is_given_up(traced: Home, hook: Hook) -> None:
    traced.environ["OTEL_EXPORTER_OTLP_TIMEOUT"] = "2000"
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_drawl, args=(server,), daemon=True).start()
        traced.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{server.getsockname()[1]}"
        hook()
        eventually(lambda: "timed out" in state(traced).get("problem", ""))
        (folder,) = spools(traced)
        end_exporter(folder)


def _drawl(server: socket.socket) -> None:
    """A header that never ends, one character after the other, for as long as somebody listens."""
    with contextlib.suppress(OSError):
        while True:
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
                while True:
                    connection.sendall(b"x")
                    time.sleep(0.02)


def _babble(server: socket.socket) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection:
            connection.recv(65536)
            connection.sendall(b"\x00\x01 SSH-2.0 hello\r\n\r\n")


def test_what_it_refuses_for_good_is_lost_and_counted(traced: Home, collector: Collector, hook: Hook) -> None:
    collector.behave = lambda post: Answer(400 if post.path == "/v1/traces" else 200)
    hook(session_id="a")
    collector.wait_for(lambda: collector.counted() == 1)
    eventually(lambda: state(traced)["sent"] == 1)
    assert "400" in state(traced)["problem"]
    assert state(traced)["lost"] == 1
    collector.behave = lambda post: Answer()
    hook(session_id="b")
    collector.wait_for(lambda: sessions(collector) == {"b": 1})
    collector.wait_for(lambda: collector.counted("fairlead.telemetry.dropped") == 1)
    assert len([post for post in collector.posts if post.path == "/v1/traces"]) == 2  # not asked twice


@pytest.mark.parametrize("status", [302, 307])
def test_a_redirect_is_not_followed(traced: Home, collector: Collector, hook: Hook, status: int) -> None:
    elsewhere = Collector()
    try:
        collector.behave = lambda post: Answer(status, Location=f"{elsewhere.url}{post.path}")
        hook()
        eventually(lambda: state(traced).get("sent") == 1)
        assert (elsewhere.posts, elsewhere.visits) == ([], [])
        assert str(status) in state(traced)["problem"]
    finally:
        elsewhere.close()


def test_what_is_meant_for_one_never_goes_to_another(traced: Home, collector: Collector, hook: Hook) -> None:
    other = Collector()
    try:
        hook(session_id="a")
        hook(session_id="b", env={"OTEL_EXPORTER_OTLP_ENDPOINT": other.url})
        collector.wait_for(lambda: sessions(collector) == {"a": 1})
        other.wait_for(lambda: sessions(other) == {"b": 1})
    finally:
        other.close()


# --- exporters that end too early --------------------------------------------------------------------


def test_a_killed_exporter_loses_nothing_and_counts_nothing_twice(
    traced: Home, collector: Collector, hook: Hook
) -> None:
    held = threading.Event()

    def hold(post: Post) -> Answer:
        if post.path == "/v1/metrics" and not held.is_set():
            held.wait(80)
        return Answer()

    collector.behave = hold
    hook(session_id="a")
    collector.wait_for(lambda: any(post.path == "/v1/metrics" for post in collector.posts))
    (folder,) = spools(traced)
    end_exporter(folder, signal.SIGKILL)
    held.set()
    collector.wait_for(lambda: any(post.path == "/v1/metrics" for post in collector.accepted))
    hook(session_id="b")
    collector.wait_for(lambda: collector.counted() == 2)
    collector.wait_for(lambda: sessions(collector)["b"] == 1)
    assert sessions(collector)["a"] == 1  # it was noted that the spans had arrived


def test_there_is_one_exporter_at_a_time(traced: Home, collector: Collector, hook: Hook) -> None:
    threads = [threading.Thread(target=hook, kwargs={"session_id": f"s{number}"}) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    collector.wait_for(lambda: sessions(collector) == {f"s{number}": 1 for number in range(8)})
    collector.wait_for(lambda: collector.counted() == 8)
    assert collector.most_at_once == 1


def test_it_ends_when_there_is_nothing_to_do(traced: Home, collector: Collector, hook: Hook) -> None:
    hook()
    collector.wait_for(collector.counted)
    eventually(lambda: is_over(traced))
    (folder,) = spools(traced)
    assert sorted(path.name for path in folder.iterdir()) == ["exporter", "state.json"]


def test_it_ends_when_its_folder_is_gone(traced: Home, collector: Collector, hook: Hook) -> None:
    collector.behave = lambda post: Answer(503)
    hook()
    collector.wait_for(lambda: collector.posts)
    (folder,) = spools(traced)
    pid = eventually(lambda: exporter_of(folder))
    aside = folder.with_name("aside")
    folder.rename(aside)
    eventually(lambda: not exporter_of(aside))
    assert pid != os.getpid()


def test_files_are_for_their_owner_alone(traced: Home, collector: Collector, hook: Hook) -> None:
    hook()
    collector.wait_for(collector.counted)
    (folder,) = spools(traced)
    assert folder.stat().st_mode & 0o077 == 0
    assert {path.stat().st_mode & 0o077 for path in folder.iterdir()} == {0}


def test_without_the_extra_a_person_is_told_which(traced: Home, collector: Collector, fairlead: Any) -> None:
    folder = traced.home / ".local/state/fairlead/telemetry/0123456789abcdef"
    folder.mkdir(parents=True)
    (folder / "waiting").write_text('{"a": 1}\n')
    source = str(Path(package.__file__).parents[1])
    program = (
        f"import sys; sys.path.insert(0, {source!r}); sys.modules['opentelemetry.proto'] = None; "
        "from fairlead.telemetry.exporter import main; main()"
    )
    with (folder / "exporter").open("w") as lock:
        subprocess.run(
            [sys.executable, "-c", program, source, str(folder)], stdin=lock, env=traced.environ, check=True, timeout=90
        )
    assert (folder / "waiting").read_text() == '{"a": 1}\n'
    told = fairlead("doctor").out.decode()
    assert "fairlead[otel]" in " ".join(told.split())


def test_lines_that_cannot_be_read_do_not_stop_the_others(traced: Home, collector: Collector, hook: Hook) -> None:
    collector.behave = lambda post: Answer(503)
    hook(session_id="a")
    collector.wait_for(lambda: collector.posts)
    (folder,) = spools(traced)
    end_exporter(folder)
    with (folder / "sending").open("ab") as file:
        file.write(b'{"half": \n{}\n[1]\n\xff\n{"trace": "x", "hooks": []}\n')
    collector.behave = lambda post: Answer()
    (folder / "paused").unlink(missing_ok=True)
    hook(session_id="b")
    collector.wait_for(lambda: sessions(collector) == {"a": 1, "b": 1})
    eventually(lambda: state(traced)["lost"] == 5)


def test_a_spool_that_cannot_be_written_costs_nobody_an_answer(traced: Home, hook: Hook) -> None:
    toml(traced, DENIES)
    traced.write("~/.local/state/fairlead/telemetry", "a file where the folder should be")
    ran = hook()
    assert b"deny" in ran.out
    assert "not sent to OpenTelemetry" in ran.err
    (traced.home / ".local/state/fairlead/telemetry").unlink()
