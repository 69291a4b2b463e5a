"""`fairlead doctor` says what is wrong with the way from an agent to Fairlead."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fairlead.dialects import Places
from fairlead.doctor import run
from fairlead.doctor.finding import Finding
from fairlead.doctor.scene import look
from tests.relay.test_choosing import CLAUDE, Installing, needs_the_program
from tests.relay.test_choosing import here as here  # noqa: PLC0414  # a fixture
from tests.relay.test_choosing import short as short  # noqa: PLC0414  # the same


def findings(here: Installing, agent: str = CLAUDE, check: str = "way_in") -> list[Finding]:
    machine = here.machine
    places = Places(
        home=machine.home, project=machine.project, environ=machine.environ, managed=str(here.place.root / "etc")
    )
    return list(run(check, look(places, (agent,))))


def one(here: Installing, agent: str = CLAUDE, check: str = "way_in") -> Finding:
    found = findings(here, agent, check)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize("via", ["relay", "process"])
@pytest.mark.parametrize("agent", [CLAUDE, "codex", "augment", "opencode", "cline"])
def test_where_all_is_well_nothing_is_said(here: Installing, agent: str, via: str) -> None:
    here.init(agent, via=via)
    assert findings(here, agent) == []
    assert [found for found in findings(here, agent, "own_entry") if "Fairlead is not installed" in found.message] == []


def removed(program: Path) -> str:
    program.unlink()
    return "not there any more: nothing is guarded"


def not_executable(program: Path) -> str:
    program.chmod(0o600)
    return "not executable: nothing is guarded"


@needs_the_program
@pytest.mark.parametrize("agent", [CLAUDE, "opencode", "cline"])
@pytest.mark.parametrize("spoil", [removed, not_executable], ids=lambda one: one.__name__)
def test_a_relay_that_cannot_be_started_is_an_error(here: Installing, agent: str, spoil: Callable[[Path], str]) -> None:
    here.init(agent, via="relay")
    expected = spoil(here.state / "bin" / "fairlead-relay")
    found = one(here, agent)
    assert found.level == "error"
    assert expected in found.message
    assert "fairlead init" in found.fix


@needs_the_program
def test_a_relay_of_another_version_is_noted(here: Installing) -> None:
    here.init(CLAUDE, via="relay")
    program = here.state / "bin" / "fairlead-relay"
    program.write_bytes(program.read_bytes() + b"!")
    assert (one(here).level, "another version" in one(here).message) == ("note", True)


@needs_the_program
@pytest.mark.parametrize("agent", [CLAUDE, "codex"])
def test_a_relay_whose_fairlead_has_gone_is_an_error_at_its_place(here: Installing, agent: str) -> None:
    here.init(agent, via="relay")
    file = here.file(agent)
    file.write_text(file.read_text().replace("/fairlead/__main__.py", "/elsewhere/fairlead/__main__.py"))
    found = findings(here, agent, "own_entry")[0]
    assert (found.level, found.file) == ("error", str(file))
    assert found.line
    assert "elsewhere/fairlead/__main__.py any more" in found.message


@needs_the_program
def test_a_relay_whose_interpreter_has_gone_is_an_error(here: Installing) -> None:
    import sys

    here.init("codex", via="relay")
    file = here.file("codex")
    file.write_text(file.read_text().replace(sys.executable, "/gone/bin/python"))
    assert (
        "/gone/bin/python, with which Fairlead is called here, is not there any more"
        in findings(here, "codex", "own_entry")[0].message
    )


# --- the socket --------------------------------------------------------------------------------------


@pytest.fixture
def listening(here: Installing) -> Iterator[Path]:
    here.init(CLAUDE, via="relay")
    path = here.state / "hook.sock"
    with socket.socket(socket.AF_UNIX) as line:
        line.bind(str(path))
        yield path


def test_a_socket_of_ours_is_nothing_to_speak_of(here: Installing, listening: Path) -> None:
    assert findings(here) == []


def test_something_else_in_its_place_is_told(here: Installing, listening: Path) -> None:
    listening.unlink()
    listening.touch()
    assert one(here).message.startswith("this is no socket: ")
    assert one(here).level == "warning"


def test_a_folder_that_others_can_write_is_told(here: Installing, listening: Path) -> None:
    listening.parent.chmod(0o770)
    assert one(here).message.startswith("others can write in the folder of this socket: ")
    assert f"chmod 700 {listening.parent}" in one(here).fix


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to somebody else")
def test_a_socket_of_somebody_else_is_told(here: Installing, listening: Path) -> None:
    os.chown(listening, 65534, 65534)
    assert one(here).message.startswith("this socket belongs to somebody else: ")
    os.chown(listening.parent, 65534, 65534)
    os.chown(listening, 0, 0)
    assert one(here).message.startswith("the folder of this socket belongs to somebody else: ")


# --- the server --------------------------------------------------------------------------------------


@pytest.fixture
def port(here: Installing) -> Iterator[int]:
    """Where somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as line:
        port = line.getsockname()[1]
        here.place.write("~/.local/state/fairlead/server.json", {"address": f"http://127.0.0.1:{port}", "pid": 1})
        here.state.chmod(0o700)
        yield port


def test_a_server_that_does_not_run_though_an_agent_asks_it_is_an_error(here: Installing, port: int) -> None:
    here.init(CLAUDE, via="http")
    assert findings(here) == []
    file = here.file(CLAUDE)
    with socket.create_server(("127.0.0.1", 0)) as line:
        free = line.getsockname()[1]
    file.write_text(file.read_text().replace(f":{port}/", f":{free}/"))
    found = one(here)
    assert (found.level, found.file) == ("error", str(file))
    assert "no server runs: its calls pass unguarded" in found.message
    assert f"fairlead serve --port {free}" in found.fix
    file.write_text(file.read_text().replace('"type": "http"', '"onFailure": "block", "type": "http"'))
    assert "no server runs: what it asks is refused" in one(here).message


def test_a_key_that_is_not_the_servers_is_an_error(here: Installing, port: int) -> None:
    here.init(CLAUDE, via="http")
    (here.state / "hook-token").write_text("another" * 9)
    assert (one(here).level, "is turned away" in one(here).message) == ("error", True)


def test_a_key_that_others_can_read_is_told(here: Installing, port: int) -> None:
    here.init(CLAUDE, via="http")
    here.file(CLAUDE).chmod(0o640)
    assert (one(here).level, "others can read it" in one(here).message) == ("warning", True)


def test_fairlead_in_two_places_is_told_whatever_way_it_takes(here: Installing, port: int) -> None:
    here.init(CLAUDE, via="http")
    here.init(CLAUDE, "project", via="relay")
    assert any("runs it twice" in found.message for found in findings(here, check="duplicates"))
