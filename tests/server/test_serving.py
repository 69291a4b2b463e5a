"""The server as a process: one for one file, many for one PostgreSQL, and where other programs find it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.postgres import Postgres
from tests.server.replica import Replica


@pytest.fixture
def in_one_home(tmp_path: Path) -> Iterator[Callable[..., Replica]]:
    """Starts servers of one user, on ports of their own."""
    started: list[Replica] = []

    def begin(**options: Any) -> Replica:
        started.append(Replica(tmp_path, **options))
        return started[-1]

    yield begin
    for replica in started:
        replica.kill()


def announced(home: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads((home / "state/fairlead/server.json").read_text())
    except FileNotFoundError:
        return None
    return found


def _until(look: Callable[[], object]) -> None:
    """The test's timeout ends a wait for nothing."""
    pause = threading.Event()
    while not look():
        pause.wait(0.02)


def refusal(home: Path, *words: str) -> str:
    """What a server says that does not start."""
    environ = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "PATH": os.environ["PATH"]}
    argv = [sys.executable, "-m", "fairlead", "serve", "--port", "0", *words]
    ended = subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode != 0
    assert "Traceback" not in ended.stderr
    return ended.stderr


def test_there_is_one_server_for_one_file(in_one_home: Callable[..., Replica], tmp_path: Path) -> None:
    replica = in_one_home()
    assert "a server for this store is running already" in refusal(tmp_path)
    assert announced(tmp_path) == {"address": f"http://127.0.0.1:{replica.port}", "pid": replica.pid}
    replica.kill()
    in_one_home()


def test_there_is_one_server_for_one_file_whoever_starts_it(start: Callable[..., Replica], tmp_path: Path) -> None:
    """Two users, or one with two state folders: each would wake its own waiters alone."""
    path = tmp_path / "shared" / "approvals.db"
    start(store=str(path))
    (tmp_path / "link.db").symlink_to(path)
    for name in (str(path), f"{path.parent}/../shared/approvals.db", str(tmp_path / "link.db")):
        assert "a server for this store is running already" in refusal(tmp_path / "other", "--store", name)


def test_a_user_has_one_server_with_a_file(in_one_home: Callable[..., Replica], tmp_path: Path) -> None:
    in_one_home()
    other = str(tmp_path / "other.db")
    assert "running already" in refusal(tmp_path, "--store", other)


def test_a_store_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be used as a store" in refusal(tmp_path, "--store", str(tmp_path / "file" / "approvals.db"))


WRONG = {
    "a kind of store that nobody knows": (("--store", "mysql://x/y"), "a store of the kind mysql:// is not known"),
    "a port that is none": (("--port", "99999"), "a port is a number from 0 to 65535"),
    "an address that is none": (("--host", "nowhere.invalid"), "can be reached from other machines"),
}


@pytest.mark.parametrize(("words", "said"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_is_explained_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert said in refusal(tmp_path / "home", *words)
    assert list((tmp_path / "here").iterdir()) == []


def test_several_servers_of_one_user_share_a_database(
    postgres: Postgres, in_one_home: Callable[..., Replica], tmp_path: Path
) -> None:
    url = postgres.new_database()
    one, two = in_one_home(store=url), in_one_home(store=url)
    assert one.port != two.port
    assert one.token == two.token
    run = one.new_run()
    waiting = one.asking(run, "1")
    (item,) = two.pending()
    assert two.answer(item).status == 200
    assert waiting.answer() == {"decision": "allow"}


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["ended", "killed"])
def test_when_the_announced_server_ends_the_next_is_announced(
    postgres: Postgres, in_one_home: Callable[..., Replica], tmp_path: Path, how: int
) -> None:
    url = postgres.new_database()
    one, two = in_one_home(store=url), in_one_home(store=url)
    first = announced(tmp_path)
    assert first is not None
    assert first["pid"] == one.pid
    one.kill(how)
    _until(lambda: (announced(tmp_path) or {}).get("pid") == two.pid)
    three = in_one_home(store=url)
    three.kill(signal.SIGTERM)
    found = announced(tmp_path)
    assert found == {"address": f"http://127.0.0.1:{two.port}", "pid": two.pid}
    two.kill(signal.SIGTERM)
    assert announced(tmp_path) is None
