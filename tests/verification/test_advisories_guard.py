"""Published weaknesses of allow-lists, in commands where nothing else could be noticed: they do no harm themselves."""

from __future__ import annotations

import pytest

from fairlead.guard import Guard


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> Guard:
    root = tmp_path_factory.mktemp("guarded")
    (root / "project").mkdir()
    return Guard(packs="all", project=str(root / "project"), home=str(root), auto_allow=["read-only"])


READING = ("git log", "ls", "git diff", "head a.txt", "x=1; echo $x", "echo $HOME", "cat a.txt")


@pytest.mark.parametrize("command", READING)
def test_what_only_reads_the_project_is_allowed(guard: Guard, command: str) -> None:
    """Else the tests below would prove nothing."""
    assert guard.command(command).decision == "allow"


POISONED = (
    "PAGER=./page git log", "export PAGER=./page; git log", "typeset -x PAGER=./page; git log",
    "declare -x PAGER=./page; git log", "readonly PAGER=./page; git log", "BROWSER=./page ls", "BASH_ENV=./page ls",
    "PYTHONWARNINGS=all:0:antigravity.x:0:0 ls", "PATH=.:$PATH ls", "PATH=./bin; ls", "IFS=x; ls",
    "GIT_PAGER=./page git log", "GIT_EXTERNAL_DIFF=./page git diff", "GIT_CONFIG_COUNT=1 git log",
    "LD_PRELOAD=./page.so ls", "printf -v PAGER ./page; git log", "read PAGER < a.txt; git log",
)  # fmt: skip


@pytest.mark.parametrize("command", POISONED)
def test_a_variable_that_changes_what_programs_do_is_no_reading(guard: Guard, command: str) -> None:
    """CVE-2026-22708: a built-in sets a variable, an allowed command runs what it names."""
    assert guard.command(command).decision != "allow"


EXPANDED = (
    "x=1; echo ${x@P}", "echo ${HOME@P}", "x=a; cat ${x@Q}", "x=y; echo ${!x}", "x=PATH; echo ${!x}",
    "echo ${x:=$(./page)}", "echo $(cat a.txt)", "echo `./page`", "x='a[$(./page)]'; echo $((x))",
    "x='a[$(./page)]'; [[ $x -eq 1 ]]", "x=1; let x=x+1; echo $x", "echo $[ x='a[$(./page)]', x ]",
)  # fmt: skip


@pytest.mark.parametrize("command", EXPANDED)
def test_what_is_evaluated_once_more_is_no_reading(guard: Guard, command: str) -> None:
    """CVE-2026-29783 (GHSA-g8r9-g2v8-jv6f), gemini-cli#25935: the text of a variable runs."""
    assert guard.command(command).decision != "allow"
