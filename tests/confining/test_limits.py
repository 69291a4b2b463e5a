"""`limits`: what a hook's processes may use, with and without a sandbox around them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

import fairlead
from fairlead import process, surroundings
from fairlead.confining import Limits, limiting, ways
from fairlead.work import Result
from tests.confining.conftest import Confined, missing, output

PYTHON = [sys.executable, "-I", "-S", "-c"]
SOURCE = str(Path(fairlead.__file__).parents[1])
SHOW = """
import json, resource
names = ("CORE", "CPU", "DATA", "FSIZE", "NOFILE")
print(json.dumps({name: resource.getrlimit(getattr(resource, "RLIMIT_" + name)) for name in names}))
"""
EVERY = {"cpu": "10s", "memory": "512MB", "file_size": "1MB", "open_files": 64}
SET = {"CORE": [0, 0], "CPU": [10, 11], "DATA": [512_000_000] * 2, "FSIZE": [1_000_000] * 2, "NOFILE": [64, 64]}


@pytest.fixture(params=["", *ways.WAYS])
def walls(request: pytest.FixtureRequest) -> dict[str, Any]:
    name = str(request.param)
    if name and missing(name):
        pytest.skip(missing(name))
    return {"sandbox": {"by": name}} if name else {}


def test_every_limit_holds_from_the_first_moment(place: Confined, walls: dict[str, Any]) -> None:
    assert json.loads(output(place.run([*PYTHON, SHOW], limits=EVERY, **walls))) == SET


def test_without_the_program_of_the_system_python_does_it(place: Confined) -> None:
    words = limiting.launcher(
        [*limiting.wanted(Limits(cpu=10, memory=512_000_000, file_size=1_000_000, open_files=64))]
    )
    done = subprocess.run([*words, *PYTHON, SHOW], capture_output=True, check=True)
    assert json.loads(done.stdout) == SET
    lost = subprocess.run([*words, "/nonexistent/program"], capture_output=True, check=False)
    assert lost.returncode == 127
    assert b"/nonexistent/program" in lost.stderr


def outcome(place: Confined, code: str, limits: dict[str, Any], walls: dict[str, Any]) -> Result:
    report = place.run([*PYTHON, code], limits=limits, **walls)
    assert report.verdict is not None
    assert report.verdict.decision == "deny"
    result: Result = report.outcome
    return result


def test_a_hook_that_works_for_ever_is_ended(place: Confined) -> None:
    result = outcome(place, "while True: pass", {"cpu": "1s"}, {})
    assert (result.timed_out, result.signal) == (False, 24)


@pytest.mark.soak
def test_a_hook_that_does_not_hear_the_warning_is_ended_too(place: Confined, walls: dict[str, Any]) -> None:
    code = "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    result = outcome(place, code, {"cpu": "1s"}, walls)
    assert result.signal == 9 or result.exit_code == 128 + 9


def test_a_hook_that_wants_all_memory_gets_none(place: Confined, walls: dict[str, Any]) -> None:
    code = "kept = []\nwhile True: kept.append(bytearray(1 << 20))"
    result = outcome(place, code, {"memory": "200MB"}, walls)
    assert b"MemoryError" in result.stderr


def test_a_file_does_not_grow_beyond_its_limit(place: Confined, walls: dict[str, Any]) -> None:
    code = """
import os, tempfile
with tempfile.TemporaryFile() as file:
    while True:
        os.write(file.fileno(), bytes(100_000))
"""
    result = outcome(place, code, {"file_size": "1MB"}, walls)
    assert b"File too large" in result.stderr or result.signal == 25 or result.exit_code == 128 + 25


def test_only_so_many_files_are_open(place: Confined, walls: dict[str, Any]) -> None:
    code = "import os\nwhile True: os.open('/dev/null', os.O_RDONLY)"
    assert b"Too many open files" in outcome(place, code, {"open_files": 32}, walls).stderr


# --- processes: the kernel counts those of root, too, and never refuses it one -----------------------

BOMB = """
import os, sys, time
started = 0
try:
    while started < 100:
        if os.fork() == 0:
            time.sleep(300)
            os._exit(0)
        started += 1
except BlockingIOError:
    pass
print(started, flush=True)
os._exit(0)
"""
AS_SOMEBODY = """
import sys
sys.path.insert(0, {source!r})
from fairlead.confining import Bounds, Limits, Sandbox
from fairlead.events import PreToolUse
from fairlead.handlers.command import Command
from fairlead.hooks import Hook, Origin, Setting
from fairlead.process import run_blocking
options = {{"bounds": Bounds(limits={limits}, sandbox={sandbox}), "confined": {confined}}}
handler = Command(command={words!r}[0], args=tuple({words!r}[1:]))
hook = Hook(name="h", events=("PreToolUse",), handler=handler, origin=Origin(dialect="fairlead", layer="user"),
            timeout=100, options=options)
setting = Setting(project={project!r}, home={project!r}, environ={{"PATH": "/usr/bin:/bin", "HOME": {project!r}}})
work = handler.start(hook, PreToolUse(tool_name="Bash", tool_input={{}}), setting)
result = run_blocking(work)
print(result.stdout.decode(), end="")
print(result.stderr.decode(), result.error, end="", file=sys.stderr)
sys.exit(result.exit_code)
"""
SYSTEM_PYTHON = "/usr/bin/python3"
SOMEBODY = 100_000 + os.getpid() % 100_000


@pytest.fixture
def as_somebody(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Runs a hook as a user who is not root; where we are root, as one who has no other processes."""
    is_root = os.getuid() == 0
    python = SYSTEM_PYTHON if is_root else sys.executable
    ids = [f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups"]
    before = ["/usr/bin/setpriv", *ids] if is_root else []
    _must_be_possible([*before, python, "-I", "-c", f"import sys; sys.path.insert(0, {SOURCE!r}); import fairlead"])
    project = _public_folder()

    def run(words: list[str], *, limits: str = "None", sandbox: str = "None", confined: bool = False) -> Any:
        code = AS_SOMEBODY.format(
            source=SOURCE, words=words, limits=limits, sandbox=sandbox, confined=confined, project=str(project)
        )
        words = [*before, python, "-I", "-c", code]
        return subprocess.run(words, capture_output=True, text=True, cwd="/", check=False, timeout=110)

    yield run
    _remove(project)


def _must_be_possible(words: list[str]) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, cwd="/", check=False)
    except OSError as error:
        pytest.skip(f"nothing can be run as another user: {error}")
    if done.returncode:
        pytest.skip(f"another user cannot run Fairlead from here: {done.stderr[-200:]}")


def _public_folder() -> Path:
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="fairlead-test-", dir="/tmp"))
    folder.chmod(0o755)
    if os.getuid() == 0:
        os.chown(folder, SOMEBODY, SOMEBODY)
    return folder


def _remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("by", ["", *ways.WAYS])
def test_a_fork_bomb_fizzles_out(as_somebody: Any, by: str) -> None:
    python = SYSTEM_PYTHON if os.getuid() == 0 else sys.executable
    words = [python, "-I", "-S", "-c", BOMB]
    sandbox = f"Sandbox(by={by!r})" if by else "None"
    free = as_somebody(words, sandbox=sandbox)
    if "sandbox cannot be built" in free.stderr:
        pytest.skip(free.stderr)
    assert free.stdout == "100\n", free
    bounded = as_somebody(words, limits="Limits(processes=10)", sandbox=sandbox)
    most = 10 if by == "bubblewrap" else 60  # elsewhere those of the user are counted, too, and come and go
    assert 0 < int(bounded.stdout) <= most, bounded


def test_a_program_with_more_rights_gives_none_to_a_hook_of_a_project(as_somebody: Any) -> None:
    """A copy of `id` that belongs to root and runs as root, whoever starts it."""
    import shutil

    if os.getuid() != 0:
        pytest.skip("only root can make such a program")
    folder = _public_folder()
    try:
        program = folder / "id"
        shutil.copy("/usr/bin/id", program)
        program.chmod(0o4755)
        os.chown(program, 0, 0)
        program.chmod(0o4755)
        assert as_somebody([str(program), "-u"]).stdout == "0\n"
        assert as_somebody([str(program), "-u"], confined=True).stdout == f"{SOMEBODY}\n"
    finally:
        _remove(folder)


# --- hooks of a project, without asking for anything ------------------------------------------------

STATUS = ["sh", "-c", "grep NoNewPrivs /proc/self/status; ulimit -c"]


def test_hooks_of_a_project_get_no_new_privileges_and_leave_no_core(place: Confined) -> None:
    assert output(place.run(STATUS, confined=True)).split() == ["NoNewPrivs:", "1", "0"]


def test_hooks_of_the_user_keep_what_they_had(place: Confined) -> None:
    before = subprocess.run(STATUS, capture_output=True, text=True, check=True).stdout
    assert output(place.run(STATUS)) == before


def test_we_ourselves_keep_what_we_had(place: Confined, walls: dict[str, Any]) -> None:
    """What a thread gives up for a hook is given up by nobody else."""

    def status() -> str:
        text = Path("/proc/self/status").read_text()
        return "".join(line for line in text.splitlines() if line.startswith(("NoNew", "Cap", "Seccomp")))

    before = status()
    place.run("true", confined=True, **walls)
    assert status() == before
    (place.project / "still").write_text("mine")
    output(place.run("true"))


def test_the_umask_of_whom_we_answer_for_counts_in_every_room(place: Confined, walls: dict[str, Any]) -> None:
    def answer() -> str:
        surroundings.enter(surroundings.Surroundings(environ=place.environ, umask=0o027))
        return output(place.run("umask", confined=True, **walls))

    assert copy_context().run(answer) == "0027\n"


def test_a_bounded_script_is_never_forked_from_a_process_without_bounds(
    place: Confined, walls: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(process, "fork_script", lambda *words: asked.append(words))
    script = place.write("~/check.py", "print('ran')")
    place.hook("true", **walls)
    text = (place.home / ".config/fairlead/fairlead.toml").read_text()
    place.write("~/.config/fairlead/fairlead.toml", text.replace('run = "true"', f'python = "{script}"'))
    assert output(place.fire(confined=True)) == "ran\n"
    assert asked == []


@pytest.mark.parametrize("confined", [True, False])
def test_a_hook_inherits_no_descriptor(place: Confined, walls: dict[str, Any], confined: bool) -> None:
    with open(os.devnull, "rb") as ours:
        os.set_inheritable(ours.fileno(), True)
        words = [*PYTHON, "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd'))[:3])"]
        count = [*PYTHON, "import os; print(len(os.listdir('/proc/self/fd')))"]
        assert output(place.run(words, confined=confined, **walls)) == "[0, 1, 2]\n"
        assert output(place.run(count, confined=confined, **walls)) == "4\n"  # with that of the listing itself
