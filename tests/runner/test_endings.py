"""How a process can end, or not even start."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairlead import process
from fairlead.work import Result
from tests.runner.conftest import Drive, Token, a_run, until, zombies


def test_every_exit_code_arrives(drive: Drive) -> None:
    assert [drive(f"exit {code}").exit_code for code in range(256)] == list(range(256))


def test_every_signal_arrives_as_a_signal_and_never_as_an_exit_code(drive: Drive) -> None:
    harmless = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH}
    stopping = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
    deadly = sorted(signal.valid_signals() - harmless - stopping)
    program = (
        "import os, resource, signal, sys; resource.setrlimit(resource.RLIMIT_CORE, (0, 0));"
        "[signal.signal(s, signal.SIG_DFL) for s in (1, 2, 13, 25)]; os.kill(os.getpid(), int(sys.argv[1]))"
    )
    for number in deadly:
        result = drive(argv=(sys.executable, "-I", "-S", "-c", program, str(int(number))))
        assert (result.signal, result.exit_code) == (number, 0)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        ("missing", "No such file or directory"),
        ("not executable", "Permission denied"),
        ("bad interpreter", "No such file or directory"),
        ("directory", "Permission denied"),
        ("text without an interpreter line", "Exec format error"),
        ("empty file", "Exec format error"),
    ],
)
def test_what_cannot_be_started_says_why(drive: Drive, tmp_path: Path, make: str, says: str) -> None:
    program = tmp_path / "program"
    if make == "directory":
        program.mkdir()
    elif make != "missing":
        program.write_text({"bad interpreter": "#!/no/such/shell\n", "empty file": ""}.get(make, "echo hello\n"))
        program.chmod(0o644 if make == "not executable" else 0o755)
    result = drive(argv=(str(program),))
    assert result.error == f"cannot start {str(program)!r}: {says}"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"argv": ("",)}, "cannot start ''"),
        ({"argv": ()}, "cannot start ''"),
        ({"argv": ("/bin/echo", "a\0b")}, "null byte"),
        ({"argv": ("/bin/echo", "\ud800")}, "surrogate"),
        ({"cwd": "/no/such/folder"}, "cannot start in '/no/such/folder'"),
        ({"cwd": "/etc/passwd"}, "cannot start in '/etc/passwd'"),
        ({"cwd": "/\0"}, "null byte"),
        ({"env": {"A=B": "x"}}, "cannot be the name of an environment variable"),
        ({"env": {"A": "x\0"}}, "null byte"),
        ({"env": {"A": "\ud800"}}, "surrogate"),
        ({"env": {"A": 1}}, "int"),
        ({"env": {"A": "x" * 131_071}}, "Argument list too long"),
    ],
    ids=str,
)
def test_a_start_that_python_refuses_is_an_error_of_the_hook(
    drive: Drive, fields: dict[str, object], says: str
) -> None:
    result = drive("true", **fields)
    assert says in result.error
    assert zombies() == []


def test_odd_names_in_the_environment_arrive(drive: Drive) -> None:
    odd = {"ü": "ö", "a b": "1", "BASH_FUNC_x%%": "() { :; }", "1": "2", "\udcff": "\udcfe", "A": "", "-x": "\n"}
    result = drive(argv=("/usr/bin/env", "-0"), env=odd)
    given = dict(os.fsdecode(entry).split("=", 1) for entry in result.stdout.split(b"\0") if entry)
    assert odd.items() <= given.items()
    assert set(given) - set(odd) == {process.MARK}


def test_a_shell_is_tried_where_the_kernel_refuses(drive: Drive, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("echo from a shell; exit 3\n")
    script.chmod(0o755)
    result = drive(argv=(str(script),), otherwise=("/bin/sh", "-c", str(script)))
    assert (result.stdout, result.exit_code, result.error) == (b"from a shell\n", 3, "")


def test_a_program_may_have_another_name(drive: Drive) -> None:
    assert drive(argv=("my-shell", "-c", "echo $0"), program="/bin/sh").stdout == b"my-shell\n"


_HOST_THAT_LOSES_EXIT_CODES = """
import asyncio, os, signal, sys
from fairlead import process
{0}
run = process.Run(argv=("/bin/sh", "-c", "echo said; exit 2"), cwd="/", env={{}}, timeout=20)
result = process.run_blocking(run) if sys.argv[1] == "poll" else asyncio.run(process.run(run))
print(result.exit_code, result.stdout, result.error)
"""


@pytest.mark.parametrize("driver", ["poll", "asyncio"])
@pytest.mark.parametrize(
    "habit",
    [
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
        "signal.signal(signal.SIGCHLD, lambda *_: os.waitpid(-1, os.WNOHANG))",
    ],
    ids=["ignores SIGCHLD", "collects all children"],
)
def test_an_exit_code_that_the_host_has_thrown_away_is_not_taken_for_0(driver: str, habit: str) -> None:
    program = _HOST_THAT_LOSES_EXIT_CODES.format(habit)
    done = subprocess.run(
        [sys.executable, "-c", program, driver], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert done.stdout.startswith("2 b'said") or "exit code was lost" in done.stdout


def test_control_popen_takes_a_lost_exit_code_for_0() -> None:
    program = (
        "import signal, subprocess; signal.signal(signal.SIGCHLD, signal.SIG_IGN);"
        "print(subprocess.Popen(['/bin/sh', '-c', 'exit 2']).wait())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "0\n"


async def test_a_process_that_was_started_does_not_run_on_when_watching_it_fails(
    monkeypatch: pytest.MonkeyPatch, token: Token
) -> None:
    loop = asyncio.get_running_loop()

    def full(*_: object) -> None:
        raise OSError(28, "no room for another watch")

    monkeypatch.setattr(loop, "add_reader", full)
    with pytest.raises(OSError, match="no room"):
        await process.run(a_run(token.sleep))
    assert zombies() == []
    assert token.is_gone()


def test_a_process_that_was_started_does_not_run_on_without_descriptors() -> None:
    """pidfd_open and the pipe behind it both fail when the table of open files is full."""
    program = """
import os, resource
from fairlead import exits, process
results = []
for spare in range(0, 16):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    first = os.open("/dev/null", os.O_RDONLY); os.close(first)
    resource.setrlimit(resource.RLIMIT_NOFILE, (first + spare, hard))
    result = process.run_blocking(process.Run(argv=("/bin/sh", "-c", "exit 7"), cwd="/", env={}, timeout=20))
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    assert result.error or result.exit_code == 7, result
    results.append(bool(result.error))
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        continue
    raise SystemExit("something is left")
assert results[0] and not results[-1], results
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_verdict_that_was_given_in_time_counts_though_nobody_looked_in_time() -> None:
    """A laptop that slept, or a host that was busy: the hook has been done for long when the time is up."""
    child = process.Child(a_run("echo said; exit 3", timeout=0.3))
    assert until(lambda: child._pid in zombies())
    assert child.wake_at is not None
    end = child.wake_at
    assert until(lambda: time.monotonic() > end)
    child.tick()
    while child.result is None:
        process.wait_for_any([child])
    result = child.result
    assert (result.timed_out, result.stdout, result.exit_code) == (False, b"said\n", 3)


def test_a_host_that_sleeps_over_the_end_of_a_hook_keeps_its_verdict() -> None:
    async def main() -> Result:
        hook = asyncio.create_task(process.run(a_run("echo said; exit 3", timeout=0.5)))
        await asyncio.sleep(0.01)
        time.sleep(1)  # noqa: ASYNC251  # the blocked loop is what is tested
        return await hook

    result = asyncio.run(main())
    assert (result.timed_out, result.stdout, result.exit_code) == (False, b"said\n", 3)
