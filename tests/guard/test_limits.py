"""The limits of a reading: realistic scripts stay below them, what is beyond is asked about."""

from __future__ import annotations

import pytest

from fairlead.guard import Guard
from fairlead.guard.code_text import plain
from fairlead.guard.packs.secret_files import is_secret
from fairlead.guard.shell.nodes import ANY, STAR

GUARD = Guard(packs="all", project="/home/u/project", home="/home/u")
SCRIPT = "".join(f'echo "step {n}: $(date +%s)"\nif [ -f a{n} ]; then cp a{n} b{n}; fi\n' for n in range(100))


def test_a_long_script_is_read_to_its_end() -> None:
    assert GUARD.command(SCRIPT).decision == "none"
    assert GUARD.command(SCRIPT + "rm -rf ~\n").decision == "deny"


def test_a_long_list_of_files_is_read_to_its_end() -> None:
    files = " ".join(f"src/module_{n}/file.py" for n in range(300))
    assert GUARD.command(f"prettier --check {files}").decision == "none"
    assert GUARD.command(f"cat {files}").decision == "none"
    assert GUARD.command(f"cat {files} ~/.ssh/id_rsa").rule == "secrets.read"


def test_a_long_here_document_is_text() -> None:
    body = "rm -rf / is never right; $5 is cheap\n" * 2000
    assert GUARD.command(f"cat > notes.md <<'E'\n{body}E\n").decision == "none"


@pytest.mark.parametrize(
    "command",
    ["echo " + "$(pwd) " * 301, "echo " + "`pwd` " * 301, "a b;" * 1001, "cat " + "a/b.py " * 1001, "x " * 10_001],
    ids=["substitutions", "backquotes", "commands", "effects", "words"],
)
def test_what_is_beyond_a_limit_is_asked_about(command: str) -> None:
    assert GUARD.command(command).rule == "guard.unreadable"


@pytest.mark.parametrize(
    ("language", "text", "wanted"),
    [
        ("python", "getattr(__import__('os'),'sys'+'tem')('r'+'m x')", "os.system('rm x')"),
        ("python", "from pathlib import Path; (Path.home()/'.aws'/'c').read_text()", "'~/.aws/c'"),
        ("python", "import os; os.path.join(os.environ['HOME'], '.ssh', 'k')", "'~/.ssh/k'"),
        ("python", "print(''.join(['r', 'm']))", "'rm'"),
        ("python", "print('mr'[::-1])", "'rm'"),
        (
            "javascript",
            "require('fs').readFileSync(require('os').homedir() + '/.npmrc')",
            "fs.readFileSync('~/.npmrc')",
        ),
        ("perl", 'open F, "$ENV{HOME}/.netrc"', '"~/.netrc"'),
    ],
)
def test_pieces_of_program_text_are_put_together(language: str, text: str, wanted: str) -> None:
    assert wanted in plain(text, language)


@pytest.mark.parametrize("path", [f"/p/.e{STAR}v", f"/h/.s{ANY}h/id_{STAR}", f"/etc/sh{STAR}w", f"/p/.env{STAR}"])
def test_a_glob_that_can_be_a_credential_file_is_one(path: str) -> None:
    assert is_secret(path)


@pytest.mark.parametrize("path", [f"/p/{STAR}", f"/p/{STAR}.py", f"/etc/{STAR}", "/p/tests/fixtures/secret.json"])
def test_a_glob_that_names_anything_is_none(path: str) -> None:
    assert not is_secret(path)
