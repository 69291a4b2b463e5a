"""The temporary folder of a hook behind Landlock: none is left, however the hook, or who runs it, comes to its end."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead import PreToolUse
from fairlead.confining import scratch
from fairlead.process import Child, run_blocking
from fairlead.warm.noted import noted
from fairlead.work import Run
from tests.confining.conftest import Confined, missing, output

PYTHON = [sys.executable, "-I", "-S", "-c"]
EVENT = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}
WAITS = "import sys, time\nopen(sys.argv[1], 'w').close()\ntime.sleep(300)"


class Counted(Confined):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.temporary = root / "tmp"
        self.temporary.mkdir()
        self.environ["TMPDIR"] = str(self.temporary)

    @property
    def folders(self) -> list[Path]:
        return sorted(self.temporary.iterdir())

    def ready(self, words: object, **keys: object) -> Run:
        """What would be started for it."""
        self.hook(words, sandbox={"by": "landlock"}, **keys)
        hooks = self.load()
        (hook,) = hooks
        event = PreToolUse(session_id="s", cwd=str(self.project), tool_name="Bash", tool_input={})
        work = hook.handler.start(hook, event, hooks.setting)
        assert isinstance(work, Run)
        return work


@pytest.fixture
def counted(tmp_path_factory: pytest.TempPathFactory) -> Counted:
    if missing("landlock"):
        pytest.skip(missing("landlock"))
    return Counted(tmp_path_factory.mktemp("counted"))


def test_it_is_there_while_the_hook_runs_and_not_before(counted: Counted) -> None:
    work = counted.ready('echo x > "$TMPDIR/file" && ls -d "$TMPDIR"')
    assert counted.folders == []
    assert run_blocking(work).stdout.decode().strip() == work.scratch
    assert Path(work.scratch).parent == counted.temporary.resolve()


@pytest.mark.parametrize(
    ("run", "keys"),
    [
        ("true", {}),
        ("exit 3", {}),
        ("kill -9 $$", {}),
        ('mkdir -p "$TMPDIR/a/b" && ln -s "$PWD" "$TMPDIR/link" && echo x > "$TMPDIR/a/b/c"', {}),
        ('mkdir "$TMPDIR/shut" && echo x > "$TMPDIR/shut/file" && umask 0777 && mkdir "$TMPDIR/a"', {}),
        ("sleep 300", {"timeout": 1}),
        (["/nonexistent/program"], {}),
        (["/nonexistent/program"], {"limits": {"cpu": "9s"}}),
    ],
    ids=["ends", "refuses", "dies", "fills it", "shuts it", "takes too long", "cannot start", "cannot start, limited"],
)
def test_it_goes_with_the_hook(counted: Counted, run: object, keys: dict[str, Any]) -> None:
    counted.write("mine", "mine")
    report = counted.run(run, sandbox={"by": "landlock"}, **keys)
    assert report.facts["sandbox"] == "landlock"
    assert counted.folders == []
    assert (counted.project / "mine").read_text() == "mine"


def test_it_goes_with_a_hook_that_was_called_off(counted: Counted) -> None:
    child = Child(counted.ready("sleep 300"))
    assert len(counted.folders) == 1
    child.cancel()
    assert counted.folders == []


def test_it_goes_where_the_walls_cannot_be_built(counted: Counted) -> None:
    original, copy = counted.script("check.sh", "true"), counted.script("copy.sh", "true")
    result = run_blocking(counted.ready([str(original)]).but(binds=((str(copy), str(original)),)))
    assert "bubblewrap can" in result.error
    assert counted.folders == []


# --- who cannot do it any more -----------------------------------------------------------------------


@pytest.fixture
def waiting(counted: Counted) -> Iterator[subprocess.Popen[bytes]]:
    """A call of `fairlead hook` whose hook waits."""
    (counted.project / "out").mkdir()
    started = counted.project / "out" / "started"
    words = [*PYTHON, WAITS, str(started)]
    counted.hook(words, sandbox={"by": "landlock", "write": ["out"]}, timeout="100s")
    command = [sys.executable, "-I", "-m", "fairlead", "hook", "--agent", "claude-code"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=counted.project, env=counted.environ, **pipes) as caller:  # type: ignore[call-overload]
        caller.stdin.write(json.dumps({**EVENT, "cwd": str(counted.project)}).encode())
        caller.stdin.close()
        ends = time.monotonic() + 90
        while not started.exists() and caller.poll() is None and time.monotonic() < ends:
            time.sleep(0.02)
        assert started.exists()
        yield caller
        caller.kill()
    _end_all(str(started))


def _end_all(word: str) -> None:
    for name in os.listdir("/proc"):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes() if name.isdecimal() else b""
        except OSError:
            continue
        if word.encode() in words and int(name) != os.getpid():
            os.kill(int(name), signal.SIGKILL)


def test_it_goes_with_a_caller_who_is_asked_to_end(counted: Counted, waiting: subprocess.Popen[bytes]) -> None:
    assert len(counted.folders) == 1
    waiting.terminate()
    waiting.wait(90)
    assert counted.folders == []


def test_what_a_killed_caller_has_left_goes_with_the_next_hook(
    counted: Counted, waiting: subprocess.Popen[bytes]
) -> None:
    output(counted.run("true", sandbox={"by": "landlock"}))
    assert len(counted.folders) == 1, "it is in use"
    waiting.kill()
    waiting.wait(90)
    assert len(counted.folders) == 1, "nobody could take it away"
    output(counted.run("true", sandbox={"by": "landlock"}))
    assert counted.folders == []


def test_what_a_killed_server_has_left_goes_with_the_next(
    counted: Counted, waiting: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(counted.temporary))
    waiting.kill()
    waiting.wait(90)
    with noted(str(counted.root)):
        assert counted.folders == []


# --- what is not ours --------------------------------------------------------------------------------


def test_what_is_in_use_or_no_folder_of_ours_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("mine")
    left, used = tmp_path / f"{scratch.PREFIX}left", tmp_path / f"{scratch.PREFIX}used"
    left.mkdir()
    (left / "link").symlink_to(tmp_path / "precious")
    used.mkdir()
    (tmp_path / f"{scratch.PREFIX}link").symlink_to(tmp_path / "precious")
    (tmp_path / f"{scratch.PREFIX}file").write_text("mine")
    held = os.open(used, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        scratch.sweep(str(tmp_path))
    finally:
        os.close(held)
    names = {path.name.removeprefix(scratch.PREFIX) for path in tmp_path.iterdir()}
    assert names == {"precious", "used", "link", "file"}
    assert (tmp_path / "precious" / "file").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder that belongs to somebody else")
def test_the_folder_of_another_user_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / f"{scratch.PREFIX}theirs"
    folder.mkdir()
    os.chown(folder, 4242, 4242)
    scratch.sweep(str(tmp_path))
    assert folder.is_dir()


def test_many_at_once_do_not_take_each_others_away(tmp_path: Path) -> None:
    """Whoever makes one sweeps: between making and locking another may do so."""
    code = """
import os, sys
from fairlead.confining import scratch
for _ in range(60):
    path = scratch.name_in(sys.argv[1])
    scratch.make(path)
    assert os.path.isdir(path)
    open(os.path.join(path, "file"), "w").close()
    scratch.drop(path)
    assert not os.path.exists(path)
"""
    words = [sys.executable, "-c", code, str(tmp_path)]
    together = [subprocess.Popen(words) for _ in range(4)]
    assert [one.wait(100) for one in together] == [0] * 4
    assert list(tmp_path.iterdir()) == []


def test_one_that_is_swept_away_before_it_is_locked_is_made_again(tmp_path: Path) -> None:
    code = """
import os, sys
from fairlead.confining import scratch
path, swept = scratch.name_in(sys.argv[1]), []
def sweep_now(event, _arguments):
    if event == "fcntl.flock" and not swept:
        swept.append(path)
        os.rmdir(path)
sys.addaudithook(sweep_now)
scratch.make(path)
assert swept and os.path.isdir(path)
scratch.drop(path)
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=90)
    assert list(tmp_path.iterdir()) == []
