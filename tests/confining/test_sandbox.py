"""`sandbox`: what a hook in it can still do, how it ends, and what happens where there can be none."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

import fairlead
from fairlead import PreToolUse
from fairlead.confining import filtering
from fairlead.process import run_blocking
from tests.confining.conftest import Confined, missing, output

PYTHON = [sys.executable, "-I", "-S", "-c"]
SOURCE = str(Path(fairlead.__file__).parents[1])


# --- doors ------------------------------------------------------------------------------------------


def test_a_network_can_be_asked_for_and_services_of_the_machine_stay_out_of_reach(place: Confined, way: str) -> None:
    code = """
        import json, socket, sys
        def tried(family, kind, address=None):
            try:
                with socket.socket(family, kind) as made:
                    if address:
                        made.settimeout(60)
                        made.connect(address)
            except OSError as error:
                return error.errno
            return 0
        port, path = int(sys.argv[1]), sys.argv[2]
        print(json.dumps({
            "tcp": tried(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port)),
            "name": socket.getaddrinfo("localhost", port, type=socket.SOCK_STREAM)[0][4][0],
            "udp": tried(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", port)),
            "unix": tried(socket.AF_UNIX, socket.SOCK_STREAM, path),
            "raw": tried(socket.AF_INET, socket.SOCK_RAW),
            "packet": tried(socket.AF_PACKET, socket.SOCK_RAW),
        }))
    """
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as service:
        service.bind(str(place.root / "s"))
        service.listen()
        words = [*PYTHON, textwrap.dedent(code), str(server.getsockname()[1]), str(place.root / "s")]
        found = json.loads(output(place.run(words, sandbox={"by": way, "network": True})))
    assert found.pop("name") in ("127.0.0.1", "::1")
    assert found == {"tcp": 0, "udp": 0, "unix": 1, "raw": 1, "packet": 1}


@pytest.mark.parametrize("exists", [True, False], ids=["there already", "made"])
def test_folders_can_be_opened_for_writing(place: Confined, way: str, exists: bool) -> None:
    if exists:
        (place.project / "build").mkdir()
    place.write("keep", "mine")
    report = place.run("echo x > build/out; echo x > keep", sandbox={"by": way, "write": ["build"]})
    assert report.outcome.exit_code != 0
    assert (place.project / "build" / "out").read_text() == "x\n"
    assert (place.project / "keep").read_text() == "mine"


def test_the_real_temporary_folder_can_be_asked_for(place: Confined, way: str) -> None:
    (place.root / "tmp").mkdir()
    place.environ["TMPDIR"] = str(place.root / "tmp")
    output(place.run(f"echo x > {place.root}/tmp/out", sandbox={"by": way, "write": ["$TMPDIR"]}))
    assert (place.root / "tmp" / "out").exists()


def test_its_own_temporary_files_are_gone_when_it_ends(place: Confined, way: str) -> None:
    report = place.run('echo x > "$TMPDIR/out" && cat "$TMPDIR/out" >&2 && echo "$TMPDIR"', sandbox={"by": way})
    folder = output(report).strip()
    assert report.outcome.stderr == b"x\n"
    assert not os.path.exists(os.path.join(folder, "out"))
    assert folder == "/tmp" or not os.path.exists(folder)


@pytest.mark.parametrize("wanted", ["../out", "way-out", "~", "$HOME"])
def test_a_hook_of_a_project_opens_no_door_out_of_it(place: Confined, way: str, wanted: str) -> None:
    (place.project / "way-out").symlink_to(place.home)
    report = place.run("touch ran", confined=True, sandbox={"by": way, "write": [wanted, "."]})
    assert "leads out of the project" in report.error
    assert report.verdict is not None
    assert report.verdict.decision == "deny"
    assert not (place.project / "ran").exists()


def test_a_door_that_is_not_there_is_an_error_and_no_open_wall(place: Confined, way: str) -> None:
    report = place.run("true", sandbox={"by": way, "write": ["/nonexistent/folder"]})
    assert "there is no /nonexistent/folder" in report.error


def test_a_project_behind_a_link_works(place: Confined, way: str) -> None:
    link = place.root / "link"
    link.symlink_to(place.project)
    place.script("check.sh", "pwd -P; cat data")
    place.write("data", "here")
    place.hook([str(link / "check.sh")], sandbox={"by": way})
    hooks = place.load(project=str(link))
    event = PreToolUse(session_id="s", cwd=str(link), tool_name="Bash", tool_input={})
    (report,) = hooks.fire_sync(event).reports
    assert output(report) == f"{place.project}\nhere"


# --- all kinds of hooks -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["script", "function"])
def test_python_hooks_have_sandboxes_too(place: Confined, way: str, kind: str) -> None:
    target, module = str(place.project / "written"), f"told_{kind}_{way}"
    before = "" if kind == "script" else "def look(event):\n    "
    place.write(
        f"~/.config/fairlead/{module}.py", f"import pathlib\n{before}pathlib.Path({target!r}).write_text('x')\n"
    )
    python = f"{module}.py" if kind == "script" else f"{module}:look"
    hook = f'[[hook]]\non = "PreToolUse"\npython = "{python}"\n'
    place.write("~/.config/fairlead/fairlead.toml", f'{hook}sandbox = {{ by = "{way}" }}\n')
    verdict = place.fire().verdict
    assert verdict is not None
    assert verdict.decision == "deny"
    assert not os.path.exists(target)
    place.write("~/.config/fairlead/fairlead.toml", hook)
    place.fire()
    assert os.path.exists(target)


def test_what_was_trusted_is_shown_in_the_place_of_what_lies_there(place: Confined) -> None:
    if missing("bubblewrap"):
        pytest.skip(missing("bubblewrap"))
    original = place.script("check.sh", "echo changed")
    copy = place.script("~/.local/state/fairlead/copy", "echo trusted")
    work = made_ready(place, [str(original)], "bubblewrap")
    assert run_blocking(work).stdout == b"changed\n"
    assert run_blocking(work.but(binds=((str(copy), str(original)),))).stdout == b"trusted\n"


def test_landlock_says_that_it_cannot_show_something_else(place: Confined) -> None:
    if missing("landlock"):
        pytest.skip(missing("landlock"))
    original, copy = place.script("check.sh", "echo changed"), place.script("copy.sh", "echo trusted")
    result = run_blocking(made_ready(place, [str(original)], "landlock").but(binds=((str(copy), str(original)),)))
    assert "bubblewrap can" in result.error


def test_a_copy_in_the_hidden_state_folder_is_shown_when_it_is_asked_for(place: Confined, way: str) -> None:
    copies = place.script("~/.local/state/fairlead/trust/copies/a/check.sh", "echo trusted").parent
    place.write("~/.local/state/fairlead/trust/token", "secret")
    work = made_ready(place, ["sh", "-c", f"cat {copies.parents[1]}/token; {copies}/check.sh"], way)
    result = run_blocking(work.but(binds=((str(copies), str(copies)),)))
    assert result.stdout == b"trusted\n"


def made_ready(place: Confined, words: list[str], way: str) -> Any:
    place.hook(words, sandbox={"by": way})
    hooks = place.load()
    (hook,) = hooks
    event = PreToolUse(session_id="s", cwd=str(place.project), tool_name="Bash", tool_input={})
    return hook.handler.start(hook, event, hooks.setting)


# --- how it ends ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "decision"),
    [
        ("exit 0", "none"),
        ("echo no; exit 3", "deny"),
        ('echo \'{"decision": "block", "reason": "no"}\'', "deny"),
        ("kill -9 $$", "deny"),
        ("kill -TERM $$", "deny"),
        ("no-such-program-anywhere", "deny"),
    ],
)
def test_a_hook_in_a_sandbox_decides_like_any_other(place: Confined, way: str, run: str, decision: str) -> None:
    verdict = place.run(run, sandbox={"by": way}).verdict
    assert verdict is not None
    assert verdict.decision == decision


def test_a_program_that_is_not_there_is_named(place: Confined, way: str) -> None:
    for limits in ({}, {"cpu": "9s"}):
        report = place.run(["/nonexistent/program"], sandbox={"by": way}, limits=limits)
        assert "cannot start '/nonexistent/program'" in report.error


def test_a_large_event_reaches_it_and_large_output_is_bounded(place: Confined, way: str) -> None:
    place.hook("wc -c; head -c 3000000 /dev/zero", sandbox={"by": way})
    report = place.fire(tool_input={"command": "x" * 3_000_000})
    assert int(report.outcome.stdout.split(b"\n")[0]) > 3_000_000
    assert report.outcome.truncated


def test_an_event_that_it_does_not_read_is_no_error(place: Confined, way: str) -> None:
    place.hook("true", sandbox={"by": way})
    assert place.fire(tool_input={"command": "x" * 3_000_000}).error == ""


LEFT_BEHIND = """
import subprocess, sys, time
child = "import time; time.sleep(300)"
for _ in range(3):
    words = [sys.executable, "-I", "-S", "-c", child, sys.argv[2]]
    nowhere = subprocess.DEVNULL
    subprocess.Popen(words, start_new_session=True, stdin=nowhere, stdout=nowhere, stderr=nowhere)
open(sys.argv[1], "w").close()
if sys.argv[3] == "waits":
    time.sleep(300)
"""


def processes_with(word: str) -> list[str]:
    found = []
    for name in os.listdir("/proc"):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes() if name.isdecimal() else b""
            state = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()[0] if words else b"Z"
        except OSError:
            continue
        if word.encode() in words and state != b"Z" and int(name) != os.getpid():
            found.append(name)
    return found


def are_gone(word: str) -> bool:
    """What was killed needs a moment to die."""
    ends = time.monotonic() + 60
    while processes_with(word) and time.monotonic() < ends:
        time.sleep(0.02)
    return not processes_with(word)


def test_after_its_time_nothing_of_it_is_left(place: Confined, way: str) -> None:
    mark = f"left-{os.urandom(6).hex()}"
    (place.project / "out").mkdir()
    started = place.project / "out" / "started"
    for seconds in (1, 5, 25):  # a slow machine needs longer to get there
        words = [*PYTHON, LEFT_BEHIND, str(started), mark, "waits"]
        report = place.run(words, sandbox={"by": way, "write": ["out"]}, timeout=seconds)
        if started.exists():
            break
    assert report.outcome.timed_out
    assert are_gone(mark)


def test_what_it_leaves_behind_ends_with_its_pid_namespace(place: Confined) -> None:
    if missing("bubblewrap"):
        pytest.skip(missing("bubblewrap"))
    mark = f"left-{os.urandom(6).hex()}"
    words = [*PYTHON, LEFT_BEHIND, "/dev/null", mark, "ends"]
    output(place.run(words, sandbox={"by": "bubblewrap"}, timeout="100s"))
    assert are_gone(mark)


def test_it_does_not_outlive_whoever_is_killed_while_it_runs(place: Confined) -> None:
    if missing("bubblewrap"):
        pytest.skip(missing("bubblewrap"))
    mark = f"left-{os.urandom(6).hex()}"
    (place.project / "out").mkdir()
    started = place.project / "out" / "started"
    words = [*PYTHON, LEFT_BEHIND, str(started), mark, "waits"]
    place.hook(words, sandbox={"by": "bubblewrap", "write": ["out"]}, timeout="100s")
    code = WITHOUT.format(source=SOURCE, refused=(), project=str(place.project), environ=place.environ)
    with subprocess.Popen([sys.executable, "-c", code]) as caller:
        ends = time.monotonic() + 90
        while not started.exists() and time.monotonic() < ends:
            time.sleep(0.02)
        caller.kill()
    assert started.exists()
    assert are_gone(mark)


IN_TIME = """
trap 'echo "{\\"decision\\": \\"block\\", \\"reason\\": \\"stopped in time\\"}"; exit 0' TERM
echo x > out/ready
sleep 300 & wait
"""


def test_it_is_asked_to_end_before_it_is_made_to(place: Confined, way: str) -> None:
    """And what it says then counts."""
    (place.project / "out").mkdir()
    ready = place.project / "out" / "ready"
    for seconds in (1, 5, 25):  # a slow machine needs longer to get there
        report = place.run(IN_TIME, sandbox={"by": way, "write": ["out"]}, timeout=seconds)
        if ready.exists():
            break
    assert report.verdict is not None
    assert report.verdict.reason == "stopped in time"


def test_the_report_says_which_sandbox_it_was(place: Confined, way: str) -> None:
    assert place.run("true", sandbox={"by": way}).facts == {"sandbox": way}


# --- where there is none ----------------------------------------------------------------------------

WITHOUT = """
import sys
sys.path.insert(0, {source!r})
from fairlead import Hooks, PreToolUse
from fairlead.confining import filtering, kernel
lines = [(0x20, 0, 0, 0)]
for number, error in {refused!r}:
    lines += [(0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | error)]
kernel.give_up_new_privileges()
kernel.filter_calls(b"".join(filtering._line(*line) for line in [*lines, (0x06, 0, 0, 0x7FFF0000)]))
hooks = Hooks.load({project!r}, environ={environ!r}, managed="/nonexistent")
decision = hooks.fire_sync(PreToolUse(session_id="s", tool_name="Bash", tool_input={{}}))
print(decision.decision, "|", decision.reports[0].error, "|", decision.reports[0].facts)
"""
NO_LANDLOCK = (444, 38)
NO_MOUNTS = {"x86_64": (165, 1), "aarch64": (40, 1)}.get(os.uname().machine, (-1, 1))
"""As in many containers: bubblewrap cannot work then."""
known = pytest.mark.skipif(not filtering.is_known(), reason="no numbers of system calls for this machine")


def without(place: Confined, *refused: tuple[int, int]) -> str:
    code = WITHOUT.format(source=SOURCE, refused=refused, project=str(place.project), environ=place.environ)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@known
def test_where_no_sandbox_can_be_built_the_hook_is_not_run(place: Confined) -> None:
    place.hook(f"touch {place.root}/ran", sandbox=True)
    told = without(place, NO_LANDLOCK, NO_MOUNTS)
    assert told.startswith("deny | its sandbox cannot be built here, so it was not run: bubblewrap")
    assert "this kernel has no Landlock" in told
    assert not (place.root / "ran").exists()


@known
def test_landlock_steps_in_where_bubblewrap_cannot_work(place: Confined) -> None:
    if missing("landlock"):
        pytest.skip(missing("landlock"))
    place.write("keep", "mine")
    place.hook("cat keep; echo x > keep", sandbox=True)
    assert without(place, NO_MOUNTS).endswith("{'sandbox': 'landlock'}\n")
    assert (place.project / "keep").read_text() == "mine"


def test_what_works_is_found_out_once_after_each_boot(place: Confined) -> None:
    if missing("bubblewrap"):
        pytest.skip(missing("bubblewrap"))
    place.hook("true", sandbox={"by": "bubblewrap"})
    kept = place.home / ".local" / "state" / "fairlead" / "sandbox.json"
    assert without(place) == "none |  | {'sandbox': 'bubblewrap'}\n"
    first = kept.stat()
    assert first.st_mode & 0o077 == 0
    without(place)
    assert kept.stat().st_ino == first.st_ino
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "key": "another boot", "options": ["--nonsense"]}))
    assert without(place) == "none |  | {'sandbox': 'bubblewrap'}\n"
