"""Which values a hook inherits, and the words that set its limits."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fairlead.confining import Limits, environment, limiting, ways

ALL = Limits(cpu=5, memory=1 << 30, processes=10, file_size=1 << 20, open_files=64)

INHERITED: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "an empty word": ({"NO_COLOR": ""}, {"NO_COLOR": ""}),
    "an address": ({"LANG": "https://example.org"}, {"LANG": "https://example.org"}),
    "an address of a person": ({"USER": "ada@example.org"}, {"USER": "ada@example.org"}),
    "an address with a password": ({"LANG": "https://ada:secret@example.org"}, {}),
    "several lines": ({"LANG": "a\nb"}, {}),
    "a key in one line": ({"LANG": "-----BEGIN PRIVATE KEY-----"}, {}),
    "another variable": ({"TOKEN": "x"}, {}),
    "folders": ({"PATH": "/bin:.::bin:/usr/bin"}, {"PATH": "/bin:/usr/bin"}),
    "no folder that counts": ({"PATH": ".:bin"}, {}),
}


@pytest.mark.parametrize("case", INHERITED)
def test_what_a_hook_of_a_project_inherits(case: str) -> None:
    environ, expected = INHERITED[case]
    assert environment.harmless(environ, (), ()) == expected
    assert environment.harmless(environ, (), ("*",)) == environ
    assert environment.harmless(environ, ("TOKEN",), ()) == (
        expected or {k: v for k, v in environ.items() if k == "TOKEN"}
    )


def test_each_limit_has_one_that_warns_and_one_that_ends() -> None:
    found = {name: (soft, hard) for name, soft, hard in limiting.wanted(ALL, own_count=True)}
    assert found == {
        "CORE": (0, 0), "CPU": (5, 6), "DATA": (1 << 30,) * 2, "FSIZE": (1 << 20,) * 2, "NOFILE": (64, 64),
        "NPROC": (11, 11),
    }  # fmt: skip
    assert list(limiting.wanted(Limits())) == [("CORE", 0, 0)]


def test_without_a_count_of_its_own_the_processes_of_the_user_count_too() -> None:
    own = subprocess.Popen(["sleep", "60"])
    try:
        (most,) = [soft for name, soft, _ in limiting.wanted(ALL) if name == "NPROC"]
    finally:
        own.kill()
        own.wait()
    assert most >= 12  # this process and the other one


def test_the_systems_program_sets_the_limits_where_there_is_one() -> None:
    program = ways.system_program("prlimit")
    if not program:
        pytest.skip("there is no prlimit")
    assert limiting.words(Limits(open_files=64), own_count=True) == [program, "--core=0:0", "--nofile=64:64", "--"]


def test_without_such_a_program_the_same_limits_are_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ways, "_FOLDERS", (str(tmp_path),))
    words = limiting.words(Limits(open_files=64, cpu=5), own_count=True)
    said = subprocess.run([*words, "sh", "-c", "ulimit -n; ulimit -t; ulimit -Hc"], capture_output=True, check=True)
    assert said.stdout.split() == [b"64", b"5", b"0"]
    gone = subprocess.run([*words, str(tmp_path / "gone")], capture_output=True, check=False)
    assert (gone.returncode, gone.stderr.strip().endswith(b"No such file or directory")) == (127, True)
