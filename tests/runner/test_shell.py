"""No shell where none is needed: and nobody can tell the difference."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead import process
from fairlead.events import PreToolUse
from fairlead.handlers.command import Command
from fairlead.hooks import Hook, Origin, Setting
from fairlead.work import Result, Run

PROGRAMS = {
    "plain": '#!/bin/sh\necho plain "$0" "$@"; pwd; echo "$PWD" >&2\n',
    "no-line": 'echo "no line" "$@"; exit 4\n',
    "bad-line": "#!/no/such/interpreter\n",
    "python.py": "#!/usr/bin/env python3\nimport sys; print(sys.argv[1:]); sys.exit(3)\n",
    "fails": "#!/bin/sh\necho why >&2; exit 2\n",
    "true": "#!/bin/sh\nexit 9\n",
    "if": "#!/bin/sh\nexit 8\n",
    "empty": "",
    "a%b": "#!/bin/sh\necho percent\n",
}


def _folder(root: Path) -> Path:
    """Programs, some of them twice on the path, some not executable."""
    for place in ("near", "far", "cwd/near", "cwd"):
        (root / place).mkdir(parents=True, exist_ok=True)
        for name, text in PROGRAMS.items():
            file = root / place / name
            file.write_text(text + (f"# {place}\n" if text else ""))
            file.chmod(0o755)
    (root / "near" / "plain").chmod(0o644)
    (root / "near" / "python.py").unlink()
    (root / "near" / "python.py").mkdir()
    (root / "near" / "fails").unlink()
    (root / "near" / "fails").symlink_to("/no/such/file")
    (root / "near" / "no-line").write_text("echo the near one\n")
    (root / "cwd" / "near" / "plain").write_text("#!/bin/sh\necho relative\n")
    return root


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _folder(tmp_path_factory.mktemp("programs"))


WORDS = st.text("abcXYZ019_./:@%+,-", min_size=1, max_size=8)
NAMES = st.sampled_from(
    [*PROGRAMS, *(f"./{name}" for name in PROGRAMS), "near/plain", "../far/fails", "ls", "cat", "env", "expr", "sort",
     "missing", "./missing", "near", ".", "/bin/sh", "test", "echo", "printf", "kill", "basename", "seq"]
)  # fmt: skip
COMMANDS = st.tuples(NAMES, st.lists(WORDS, max_size=3), st.sampled_from([" ", "  "])).map(
    lambda parts: parts[2].join([parts[0], *parts[1]])
)
PATHS = st.sampled_from(["{0}/near:{0}/far:/usr/bin:/bin", "near:/usr/bin:/bin", ":/usr/bin:/bin", "/usr/bin:/bin",
                         "{0}/far:{0}/near", "", None])  # fmt: skip


def _started(command: str, cwd: Path, env: dict[str, str]) -> Run:
    hook = Hook(name="x", events=("*",), handler=Command(command=command), origin=Origin(dialect="amcp", layer="user"))
    setting = Setting(project=str(cwd), home=str(cwd), environ=env)
    work = hook.handler.start(hook, PreToolUse(tool_name="Bash"), setting)
    assert isinstance(work, Run)
    return work


def _seen(result: Result) -> tuple[object, ...]:
    """All that a hook can say; `env` may print its lines in any order, and the mark is another one each time."""
    lines = sorted(line for line in result.stdout.splitlines() if not line.startswith(process.MARK.encode()))
    return (result.exit_code, result.signal, lines, result.stderr, result.error)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(command=COMMANDS, path=PATHS)
def test_a_simple_command_does_the_same_with_and_without_a_shell(folder: Path, command: str, path: str | None) -> None:
    env = {"PWD": "/somewhere/else"} | ({} if path is None else {"PATH": path.format(folder)})
    work = _started(command, folder / "cwd", env).but(stdin=b"3\n1\n2\n", timeout=30.0)
    shell = work.but(argv=("/bin/sh", "-c", command), program="", otherwise=())
    assert _seen(process.run_blocking(work)) == _seen(process.run_blocking(shell))


@pytest.mark.parametrize(
    ("command", "uses_shell"),
    [
        ("/bin/ls -la", False), ("ls", False), ("./plain a b", False), ("python.py", True), ("echo hi", True),
        ("true", True), ("no-such-program-at-all", True), ("ls | cat", True), ("ls > x", True), ("A=1 ls", True),
        ("ls ~", True), ("ls *", True), ("$HOME/x", True), ("ls 'a b'", True), ("a; b", True), ("ls\nls", True),
        ("if", True), ("  ls  ", False),
    ],
)  # fmt: skip
def test_a_shell_is_started_only_where_it_does_something(folder: Path, command: str, uses_shell: bool) -> None:
    work = _started(command, folder / "cwd", {"PATH": f"{folder}/near:/usr/bin:/bin"})
    assert (work.argv[:2] == ("/bin/sh", "-c")) == uses_shell


def test_the_program_keeps_the_name_it_was_called_by(folder: Path) -> None:
    work = _started("ls /no/such/file", folder, {"PATH": "/usr/bin:/bin", "LC_ALL": "C"})
    assert process.run_blocking(work).stderr.startswith(b"ls: cannot access")


def test_words_of_their_own_run_a_text_without_an_interpreter_line(folder: Path) -> None:
    """As execvp(3) does, and with it the agents that start hooks so."""
    setting = Setting(project=str(folder), home=str(folder), environ={"PATH": f"{folder}/far:/bin"})
    for command in ("no-line", str(folder / "far" / "no-line"), "far/no-line"):
        handler = Command(command=command, args=("a  b", "$c"))
        hook = Hook(name="x", events=("*",), handler=handler, origin=Origin(dialect="amcp", layer="user"))
        work = handler.start(hook, PreToolUse(tool_name="Bash"), setting)
        result = process.run_blocking(work)
        assert (result.stdout, result.exit_code) == (b"no line a  b $c\n", 4)


def test_the_working_directory_is_also_what_the_environment_says(folder: Path) -> None:
    work = _started("./plain", folder / "cwd", {"PATH": "/bin", "PWD": "/"})
    result = process.run_blocking(work)
    assert result.stderr == f"{folder}/cwd\n".encode()


def test_control_the_lookup_of_popen_takes_another_program_than_a_shell(folder: Path) -> None:
    """A text without an interpreter line hides the program behind it from a shell, and not from Popen."""
    env = {"PATH": f"{folder}/near:{folder}/far"}
    (folder / "far" / "both").write_bytes(Path("/bin/true").read_bytes())
    (folder / "near" / "both").write_text("exit 6\n")
    for place in ("near", "far"):
        (folder / place / "both").chmod(0o755)
    assert subprocess.run(["both"], env=env, check=False).returncode == 0
    assert subprocess.run(["/bin/sh", "-c", "both"], env=env, check=False).returncode == 6
    assert process.run_blocking(_started("both", folder, env)).exit_code == 6
    assert os.access(folder / "far" / "both", os.X_OK)
