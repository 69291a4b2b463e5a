"""Auto-allow: what is answered with an explicit allow, and what never is."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fairlead.guard import Guard
from fairlead.guard.readonly_scripts import awk_reads, sed_reads

from .cases import CORPUS, generated, written

GUARD = Guard(packs="all", project="/home/u/project", home="/home/u", auto_allow=["read-only"])
FOREIGN = Path(__file__).parents[2].parent / "shared" / "guard-cases" / "cases.jsonl"

READING = (
    "ls",
    "ls -la src",
    "pwd",
    "cat README.md",
    "head -20 src/a.py",
    "tail -n 5 log.txt",
    "wc -l src/a.py",
    "grep -rn TODO src",
    "rg foo",
    "rg -l foo src | sort",
    "find . -name '*.py'",
    "find src -type f | wc -l",
    "git status",
    "git diff",
    "git diff HEAD~1 -- src",
    "git log --oneline -5",
    "git show HEAD",
    "git blame src/a.py",
    "git branch -a",
    "git branch --show-current",
    "git tag -l",
    "git remote -v",
    "git stash list",
    "git rev-parse HEAD",
    "git ls-files",
    "git config --get user.name",
    "cat a | sort | uniq -c",
    "cd src && ls",
    "stat README.md",
    "file README.md",
    "du -sh src",
    "tree -L 2",
    "diff a b",
    "jq .version package.json",
    "which python",
    "echo hello",
    "cat src/a.py | grep foo | head -3",
    "ls; pwd; git status",
    "basename src/a.py",
    "sha256sum README.md",
    "date",
    "uname -a",
    "test -f a",
    "grep -c x a.txt",
    "cut -d: -f1 a.txt",
    "LC_ALL=C sort a.txt",
    "git log --stat",
    "git describe --tags",
    "cat -n a.py",
    "nl a.py",
    "find",
)

NOT_PROVEN = (
    "ls > x",
    "cat a >> b",
    "cat /etc/passwd",
    "cat ../other/x",
    "cat ~/x",
    "ls /",
    "find / -name x",
    "echo $(ls)",
    "echo `ls`",
    "cat <(ls)",
    "sort -o a b",
    "sort --output=a b",
    "sort --compress-program=sh a",
    "find . -exec cat {} +",
    "find . -delete",
    "find . -fprint x",
    "find . -ok rm {} ;",
    "git log --output=x",
    "git diff --ext-diff",
    "git -c core.pager=x log",
    "git --git-dir=/x log",
    "git -C /x log",
    "git branch foo",
    "git tag v1",
    "git stash",
    "git config user.name x",
    "git remote add a b",
    "git grep -Oless foo",
    "PAGER=x git log",
    "GIT_PAGER=x git log",
    "export PAGER=x; git log",
    "rg --pre cat foo",
    "rg -z foo",
    "fd -x rm",
    "fd foo -X rm",
    "xargs ls",
    "ls | xargs rm",
    "cat $X",
    'cat "$X"',
    "./cat a",
    "/bin/cat a",
    "sudo ls",
    "env ls",
    "bash -c ls",
    "eval ls",
    "command ls",
    "npm test",
    "python x.py",
    "make",
    "node a.js",
    "uniq a b",
    "tree -o x",
    "less +!x a",
    "date -s x",
    "hostname x",
    "jq -f x a",
    "cat .env",
    "cat id_rsa",
    "ls 'unterminated",
    "ls || rm x",
    "f() { ls; }; f",
    "alias ls=rm; ls",
    "cat a; curl x",
    "tee x",
    "touch x",
    "cd / && ls",
    "cd .. && cat x",
    "ssh h ls",
    "docker exec c ls",
    "cat <<E\nx\n",
    "echo ${x:=y}",
    "echo ${x@P}",
    "LD_PRELOAD=x ls",
    "git diff --no-index / x",
    "cat --file=/etc/passwd",
    "wc --files0-from=/x",
    "grep -f /etc/passwd a",
    "git show --textconv",
    "ls\nrm x",
    "printf -v x y; ls",
    "git cat-file --filters HEAD:x",
    "find -L /etc",
    "file -m /x a",
    "diff /etc/passwd a",
    "du -X /etc/x",
)


LISTS = CORPUS / "reading"


def lines(name: str) -> list[str]:
    return [line for line in (LISTS / f"{name}.txt").read_text().splitlines() if line and not line.startswith("# ")]


def allowed(commands: Iterable[str]) -> list[str]:
    return [command for command in commands if GUARD.command(command).decision == "allow"]


def test_most_reading_is_allowed() -> None:
    assert len(allowed(READING)) / len(READING) >= 0.95


@pytest.mark.parametrize("name", ["known", "blind"])
def test_four_of_five_harmless_commands_are_allowed(name: str) -> None:
    commands = lines(name)
    assert len(commands) >= 150
    assert len(allowed(commands)) / len(commands) >= 0.8


def test_nothing_else_is_allowed() -> None:
    assert allowed(NOT_PROVEN) == []


def test_no_near_miss_is_allowed() -> None:
    commands = lines("near-misses")
    assert len(commands) >= 200
    assert allowed(commands) == []


def test_no_case_of_the_corpus_that_should_reach_a_person_is_allowed() -> None:
    assert allowed(case.command for case in [*written(), *generated()] if case.decision != "none") == []


@pytest.mark.parametrize("packs", [(), ("git",), ("filesystem",)], ids=str)
def test_fewer_packs_allow_no_more(packs: tuple[str, ...]) -> None:
    quiet = Guard(packs=packs, project="/home/u/project", home="/home/u", auto_allow=["read-only"])
    commands = [*NOT_PROVEN, *lines("near-misses"), *(case.command for case in written() if case.decision != "none")]
    assert [command for command in commands if quiet.command(command).decision == "allow"] == []


@pytest.mark.skipif(not FOREIGN.exists(), reason="the foreign cases are not beside the project")
def test_no_foreign_case_that_should_reach_a_person_is_allowed() -> None:
    rows = [json.loads(line) for line in FOREIGN.read_text().splitlines()]
    assert allowed(row["command"] for row in rows if row["expected"] == "deny") == []


@pytest.mark.parametrize("command", READING[:10])
def test_without_auto_allow_the_guard_stays_silent(command: str) -> None:
    assert Guard(packs="all", project="/home/u/project", home="/home/u").command(command).decision == "none"


def test_a_link_that_leads_out_of_the_project_is_not_inside(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "outside").write_text("x")
    (project / "link").symlink_to(tmp_path / "outside")
    (project / "file").write_text("x")
    guard = Guard(packs="all", project=str(project), home=str(tmp_path), auto_allow=["read-only"])
    programs = ("cat {}", "nl {}", "xxd {}", "awk 1 {}", "sed -n p {}", "strings {}", "file -L {}", "grep x {}")
    assert [p for p in programs if guard.command(p.format("link")).decision == "allow"] == []
    assert [p for p in programs if guard.command(p.format("file")).decision != "allow"] == []


_SED = [
    "p",
    "d",
    "1",
    "$",
    "/a/",
    "s/a/b/",
    "s|a|b|",
    "w x",
    "e",
    "g",
    "r in",
    "{",
    "}",
    ";",
    "!",
    ",",
    "\n",
    "q",
    " ",
    "I",
    "\\",
    "/",
    "W x",
]


@given(script=st.lists(st.sampled_from(_SED), max_size=8).map("".join))
@example(script="s/a/b/w x")
@example(script="1!w x")
@example(script="s|a|b|gw x")
@example(script="/a/I,/b/{p;w x\n}")
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_sed_script_that_is_called_harmless_leaves_no_trace(script: str, tmp_path: Path) -> None:
    if not sed_reads(script):
        return
    (tmp_path / "in").write_text("a\nb\n")
    sed = shutil.which("sed") or "sed"
    # With an empty search path a script that starts something fails; what it wrote would still be there.
    subprocess.run([sed, script, "in"], cwd=tmp_path, capture_output=True, check=False, timeout=20, env={"PATH": ""})
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert (tmp_path / "in").read_text() == "a\nb\n"


@given(
    pieces=st.lists(
        st.sampled_from(
            ["print", " ", "$1", ">", "=", '"x"', "{", "}", ";", "1", "(", ")", "|", "a", "getline", "BEGIN", "\n"]
        ),
        max_size=10,
    )
)
@example(pieces=["{", "print", ">", '"x"', "}"])
@example(pieces=["{", "print", '"x"', "(", ">", "=", ")", "}"])
@example(pieces=["{", "print", ";", "}", "1", ">", "a"])
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_awk_program_that_is_called_harmless_leaves_no_trace(pieces: list[str], tmp_path: Path) -> None:
    program = "".join(pieces)
    if not awk_reads(program):
        return
    (tmp_path / "in").write_text("a\nb\n")
    subprocess.run(["awk", program, "in"], cwd=tmp_path, capture_output=True, check=False, timeout=20,
                   stdin=subprocess.DEVNULL)  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
