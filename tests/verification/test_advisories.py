"""Published weaknesses of guards, one by one. What others let through is asked about or refused here."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.guard import Guard
from tests.conftest import Home, Ran

HARMLESS = ("ls", "cat README.md", "git status", "echo hello", "pwd", "wc -l a.txt", "head a.txt", "git log", "date",
            "whoami", "uname -a", "which python3", "sort a.txt", "uniq a.txt", "tail a.txt", "file a.txt", "stat a.txt",
            "du -sh .", "basename a", "dirname a/b", "git diff", "git show", "cut -f1 a.txt", "nl a.txt",
            "env")  # fmt: skip


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> Guard:
    root = tmp_path_factory.mktemp("guarded")
    (root / "project").mkdir()
    return Guard(packs="all", project=str(root / "project"), home=str(root), auto_allow=["read-only"])


POISONED = (
    "export PAGER='sh -c \"rm -rf ~\"'; git log", "PAGER='rm -rf ~' git log", "export GIT_PAGER='rm -rf /'; git log",
    "typeset -x PAGER='rm -rf ~'; git log", "declare -x GIT_SSH_COMMAND='rm -rf ~'; git fetch",
    "export PYTHONWARNINGS=all:0:antigravity.x:0:0 BROWSER='rm -rf ~'; python3 a.py",
    "export LD_PRELOAD=/tmp/x.so; ls", "GIT_EXTERNAL_DIFF='rm -rf ~' git diff",
)  # fmt: skip


@pytest.mark.parametrize("command", POISONED)
def test_a_variable_that_a_later_command_runs_is_not_let_pass(guard: Guard, command: str) -> None:
    """CVE-2026-22708: a built-in sets a variable, an allowed command runs it."""
    assert guard.command(command).decision in ("ask", "deny")


EXPANDED = ("{} ${{x@P}}", "{} ${{x:=$(rm -rf ~)}}", "{} ${{!x}}$(rm -rf ~)", "{} $(echo $(rm -rf ~))")


@pytest.mark.parametrize("form", EXPANDED)
def test_what_an_expansion_runs_is_not_let_pass_behind_a_harmless_command(guard: Guard, form: str) -> None:
    """CVE-2026-29783 (GHSA-g8r9-g2v8-jv6f): four families of expansions behind 25 commands that only read."""
    passed = [text for command in HARMLESS if guard.command(text := form.format(command)).decision == "allow"]
    assert passed == []


def test_what_the_reader_cannot_read_is_never_allowed(guard: Guard) -> None:
    """gemini-cli#25935: an error of the parser let the command pass."""
    broken = [
        "echo $[ x='a[$(touch FLAG)]', x ]",
        "ls $((a[$(touch x)]))",
        "ls 'unclosed",
        "ls $(",
        "ls <<E\n$(touch x)",
    ]
    assert [text for text in broken if guard.command(text).decision == "allow"] == []


def test_a_folder_whose_name_begins_the_same_is_another_folder(tmp_path: Path) -> None:
    """CVE-2025-54794: `/srv/app-evil` is not below `/srv/app`."""
    for name in ("app", "app-evil"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text("x")
    guard = Guard(packs="all", project=str(tmp_path / "app"), home=str(tmp_path), auto_allow=["read-only"])
    assert guard.command(f"cat {tmp_path}/app/x", str(tmp_path / "app")).decision == "allow"
    assert guard.command(f"cat {tmp_path}/app-evil/x", str(tmp_path / "app")).decision != "allow"


def test_a_quote_in_an_echo_ends_nothing_unseen(guard: Guard) -> None:
    """CVE-2025-54795: what seemed to be the text of an `echo` was a second command."""
    for text in ('echo "\\""; rm -rf ~; echo "\\""', "echo '\\' ; rm -rf ~; echo '\\'", 'echo "\n" ; rm -rf ~'):
        assert guard.command(text).decision in ("ask", "deny")


SPELT = [
    f"{folder}/{file}"
    for folder, file in itertools.product((".cursor", ".CURSOR", ".Cursor"), ("hooks.json", "HOOKS.JSON", "Hooks.json"))
]


@pytest.mark.parametrize("path", SPELT)
def test_another_spelling_of_a_guarded_file_is_the_same_file(guard: Guard, path: str) -> None:
    """CVE-2025-59944: on many disks `.CURSOR/HOOKS.JSON` is the agent's own settings."""
    finding = guard.tool("Write", {"file_path": f"{guard.project}/{path}", "content": "{}"})
    assert finding.decision in ("ask", "deny")


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 1 << 20, 16 << 20])
def test_an_event_that_is_cut_off_at_any_size_is_refused(place: Home, fairlead: Callable[..., Ran], size: int) -> None:
    """CVE-2026-27780: a gate that could not read a large input let it pass."""
    place.write("~/.config/fairlead/fairlead.toml", '[[hook]]\non = "PreToolUse"\nguard = ["filesystem"]\n')
    whole = b'{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "' + b"x" * size
    ran = fairlead("hook", "--agent", "claude-code", stdin=whole)
    assert ran.code == 2
    assert b"allow" not in ran.out
