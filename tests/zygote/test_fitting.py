"""Whether there is a zygote for a script: only where nobody can see the difference."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from fairlead import Hooks, PreToolUse, process, zygote
from fairlead.work import Run
from fairlead.zygote import asking, keeping
from fairlead.zygote.program import forking
from tests.zygote.conftest import ENVIRON, Warm, a_run, until

SAY = "print('said')\n"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    script = tmp_path / "hook.py"
    script.write_text(SAY)
    return script


NOT_PLAIN: dict[str, dict[str, Any]] = {
    "another interpreter": {"argv": ("/usr/bin/python3", "{script}")},
    "an option of the interpreter": {"argv": (sys.executable, "-I", "{script}")},
    "another program": {"program": sys.executable},
    "a shell besides": {"otherwise": ("/bin/sh", "-c", "true")},
    "import times": {"env": {**ENVIRON, "PYTHONPROFILEIMPORTTIME": "1"}},
    "an inspector": {"env": {**ENVIRON, "PYTHONINSPECT": "1"}},
    "a variable of a Python to come": {"env": {**ENVIRON, "PYTHON_NEW_THING": "1"}},
    "a relative search path": {"env": {**ENVIRON, "PYTHONPATH": "lib"}},
    "the working directory in the search path": {"env": {**ENVIRON, "PYTHONPATH": "/lib:"}},
    "an environment that may be too large": {"env": {**ENVIRON, "LARGE": "x" * 100_000}},
    "a very long mark": {"env": {**ENVIRON, process.MARK: "/x" * 3000}},
    "a NUL": {"env": {**ENVIRON, "A": "\0"}},
    "no name": {"env": {**ENVIRON, "A=B": "1"}},
    "not text": {"env": {**ENVIRON, "A": 1}},
}


@pytest.mark.parametrize("name", NOT_PLAIN)
def test_other_runs_are_started_without(warm: Warm, script: Path, name: str) -> None:
    fields = dict(NOT_PLAIN[name])
    if "argv" in fields:
        fields["argv"] = tuple(word.format(script=script) for word in fields["argv"])
    warm.wait()
    before = len(warm.taken)
    result = process.run_blocking(a_run(script, stdin=b"", **fields))
    assert len(warm.taken) == before
    cold = process.run_blocking(a_run(script, cold=True, stdin=b"", **fields))
    assert (result.exit_code, result.stdout, result.error) == (cold.exit_code, cold.stdout, cold.error)


def test_whatever_else_a_run_asks_for_is_not_left_out(script: Path) -> None:
    """A field that is not known here, such as one for a sandbox, must not get lost."""
    plain = a_run(script)
    assert keeping._is_plain(plain)
    for name in set(Run._fields) - keeping._PLAIN:
        assert not keeping._is_plain(plain.but(**{name: True})), name


def test_a_relative_script_is_started_without(warm: Warm, script: Path) -> None:
    run = Run(argv=(sys.executable, "hook.py"), cwd=str(script.parent), env=ENVIRON, script="hook.py", timeout=60)
    assert not keeping._is_plain(run)
    assert process.run_blocking(run).stdout == b"said\n"


def test_a_zygote_is_for_the_variables_that_the_interpreter_looked_at(own: Warm, script: Path) -> None:
    (first,) = own.zygotes.pids()
    assert own.run(script, env={**ENVIRON, "ANY": "thing"}).stdout == b"said\n"
    assert own.zygotes.pids() == [first]
    other = {**ENVIRON, "PYTHONHASHSEED": "3"}
    assert own.run(script, env=other).stdout == b"said\n"
    assert len(own.zygotes.pids()) == 2


def test_there_are_never_more_than_a_few(own: Warm, script: Path) -> None:
    for seed in range(keeping.MOST + 2):
        own.wait({**ENVIRON, "PYTHONHASHSEED": str(seed)})
    assert len(own.zygotes.pids()) == keeping.MOST


def test_what_a_start_up_file_looks_at_counts(own: Warm, script: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "sitecustomize.py").write_text("import builtins, os\nbuiltins.found = os.environ.get('LOOKED_AT')\n")
    script.write_text("print(found)\n")
    environ = {**ENVIRON, "PYTHONPATH": str(library)}
    assert own.run(script, env={**environ, "LOOKED_AT": "one"}).stdout == b"one\n"
    before = own.zygotes.pids()
    assert own.run(script, env={**environ, "LOOKED_AT": "one", "OTHER": "x"}).stdout == b"one\n"
    assert own.zygotes.pids()[-1] in before
    assert own.run(script, env={**environ, "LOOKED_AT": "two"}).stdout == b"two\n"
    assert own.zygotes.pids()[-1] not in before


def test_a_start_up_file_that_was_changed_counts_at_once(own: Warm, script: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    startup = library / "sitecustomize.py"
    startup.write_text("import builtins; builtins.found = 1\n")
    script.write_text("print(found)\n")
    environ = {**ENVIRON, "PYTHONPATH": str(library)}
    assert own.run(script, env=environ).stdout == b"1\n"
    startup.write_text("import builtins; builtins.found = 'another'\n")
    assert process.run_blocking(a_run(script, env=environ)).stdout == b"another\n"
    assert own.run(script, env=environ).stdout == b"another\n"


UNFIT = {
    "the whole environment": ("import os; dict(os.environ)", "reads the whole environment"),
    "threads": ("import threading as t; t.Thread(target=t.Event().wait, daemon=True).start()", "threads"),
    "tracing": ("import sys; sys.settrace(lambda *_: None)", "traces"),
    "its own end": ("import os; os._exit(3)", "it has ended"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_start_up_files_with_which_there_can_be_none(script: Path, tmp_path: Path, name: str) -> None:
    code, why = UNFIT[name]
    (tmp_path / "sitecustomize.py").write_text(code)
    environ = {**ENVIRON, "PYTHONPATH": str(tmp_path)}
    zygotes = keeping.Zygotes()
    zygotes.prepare(environ)
    until(lambda: not zygotes.is_ready(environ) and bool(zygotes.why_not), "its reason")
    assert why in zygotes.why_not
    zygotes.prepare(environ)
    assert zygotes.pids() == []  # not at once again
    zygotes.close()


def test_both_sides_look_at_files_in_the_same_way(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    for path in (tmp_path, tmp_path / "x", tmp_path / "missing"):
        assert asking._seen(str(path)) == forking.seen(str(path))


def test_the_script_of_a_hook_is_run_from_the_zygote(warm: Warm, tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    config = home / ".config" / "fairlead"
    config.mkdir(parents=True)
    project.mkdir()
    (config / "guard.py").write_text(
        "import json, sys\nevent = json.load(sys.stdin)\n"
        "print(json.dumps({'decision': 'deny', 'reason': 'from ' + event['tool_name']}))\n"
    )
    (config / "fairlead.toml").write_text('[[hook]]\non = "PreToolUse"\npython = "guard.py"\n')
    environ = {**ENVIRON, "HOME": str(home)}
    warm.wait(environ)
    before = len(warm.taken)
    hooks = Hooks.load(str(project), home=str(home), environ=environ, managed=str(tmp_path / "none"))
    decision = hooks.fire_sync(PreToolUse(session_id="s", tool_name="Bash", tool_input={"command": "ls"}))
    assert (decision.allowed, decision.reason) == (False, "from Bash")
    assert len(warm.taken) > before


def test_current_is_what_was_started_last(script: Path) -> None:
    assert zygote.current() is None
    first = zygote.start(ENVIRON)
    assert zygote.current() is first
    assert zygote.start(ENVIRON) is not first
    zygote.stop()
    zygote.stop()
    assert zygote.current() is None
    assert process.run_blocking(a_run(script)).stdout == b"said\n"
    assert os.path.exists(asking._PROGRAM)
