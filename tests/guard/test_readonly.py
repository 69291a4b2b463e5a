"""Auto-allow: what is answered with an explicit allow, and what never is."""

from __future__ import annotations

import pytest

from fairlead.guard import Guard

from .cases import written

GUARD = Guard(packs="all", project="/home/u/project", home="/home/u", auto_allow=["read-only"])

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


def test_most_reading_is_allowed() -> None:
    allowed = [command for command in READING if GUARD.command(command).decision == "allow"]
    assert len(allowed) / len(READING) >= 0.95


def test_nothing_else_is_allowed() -> None:
    assert [command for command in NOT_PROVEN if GUARD.command(command).decision == "allow"] == []


def test_no_case_of_the_corpus_that_should_reach_a_person_is_allowed() -> None:
    allowed = [
        case.command
        for case in written()
        if case.decision != "none" and GUARD.command(case.command).decision == "allow"
    ]
    assert allowed == []


@pytest.mark.parametrize("command", READING[:10])
def test_without_auto_allow_the_guard_stays_silent(command: str) -> None:
    assert Guard(packs="all", project="/home/u/project", home="/home/u").command(command).decision == "none"
