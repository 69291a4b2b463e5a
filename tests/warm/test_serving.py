"""`fairlead serve` says where it hears hooks, or why it does not; and is the same server for people as before."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fairlead.folders import hook_socket, hook_token, state_folder
from tests.conftest import Home
from tests.warm.serving import PATIENCE, Client, Server


def first_lines(place: Home, *words: str, count: int, **environ: str) -> str:
    """What it says until it is ready."""
    server = subprocess.Popen(
        [sys.executable, "-m", "fairlead", "serve", "--port", "0", *words],
        env={**place.environ, "COLUMNS": "400", **environ},
        stdout=subprocess.PIPE,
    )
    assert server.stdout is not None
    try:
        return b"".join(server.stdout.readline() for _ in range(count)).decode()
    finally:
        server.terminate()
        server.wait(PATIENCE)
        server.stdout.close()


def test_it_says_in_one_line_that_hooks_are_answered(place: Home) -> None:
    with tempfile.TemporaryDirectory(prefix="fl", dir="/tmp") as state:  # a socket has 107 bytes for its path
        said = first_lines(place, count=3, XDG_STATE_HOME=state)
    assert f"Hooks are answered from memory, on {state}/fairlead/hook.sock" in said


def test_where_the_socket_cannot_be_the_inbox_is_open_all_the_same(place: Home) -> None:
    far = place.root / ("x" * 120)
    said = first_lines(place, count=3, XDG_STATE_HOME=str(far))
    assert "The inbox is open" in said
    assert "Hooks start a process each" in said
    assert "107 bytes" in said
    assert json.loads(first_lines(place, "--json", count=5, XDG_STATE_HOME=str(far)))["socket"] == ""


def test_a_second_server_leaves_the_socket_of_the_first(own_server: Server, tmp_path: Path) -> None:
    for more in ([], ["--store", str(tmp_path / "other.db")]):
        done = subprocess.run(
            [sys.executable, "-m", "fairlead", "serve", "--port", "0", *more],
            env=own_server.environ,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode != 0
        assert b"running already" in done.stderr
        Client(own_server.socket).close()


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"HOME": "/h"}, "/h/.local/state/fairlead"),
        ({"HOME": "/h", "XDG_STATE_HOME": "/s"}, "/s/fairlead"),
        ({"HOME": "/h", "XDG_STATE_HOME": "relative"}, "/h/.local/state/fairlead"),
    ],
)
def test_everybody_finds_it_in_the_same_place(environ: dict[str, str], folder: str) -> None:
    assert state_folder(environ) == folder
    assert hook_socket(environ) == f"{folder}/hook.sock"
    assert hook_token(environ) == f"{folder}/hook-token"


def test_a_home_that_is_not_said_is_that_of_the_user_and_not_that_of_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = state_folder({})
    monkeypatch.setenv("HOME", "/somebody/else")
    assert state_folder({}) == before
    assert not before.startswith("/somebody")
