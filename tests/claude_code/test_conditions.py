"""`if`: one permission rule in front of a hook. Every doubt ends with the hook running."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead import Event, PermissionRequest, PreToolUse
from fairlead.conditions import EVENTS as SUPPORTED
from fairlead.conditions import condition, like, problem
from tests.claude_code.conftest import Claude
from tests.claude_code.payloads import EVENTS, Json
from tests.conftest import Home

CWD, PROJECT, HOME = "/srv/app/inner", "/srv/app", "/home/dev"


def applies(rule: str, tool_input: Json, tool: str = "Bash") -> bool:
    event = PreToolUse(tool_name=tool, tool_input=tool_input, cwd=CWD)
    return condition(rule, home=HOME, project=PROJECT)(event) == ""


APPLY: list[tuple[str, str]] = [
    ("Bash(git *)", "git status"),
    ("Bash(git *)", "git"),
    ("Bash(git *)", "  git   status  "),
    ("Bash(git *)", "cd x && git push"),
    ("Bash(git *)", "true || git push"),
    ("Bash(git *)", "ls; git push"),
    ("Bash(git *)", "ls;git push"),
    ("Bash(git *)", "cat x | git hash-object --stdin"),
    ("Bash(git *)", "sleep 9 & git push"),
    ("Bash(git *)", "ls\ngit push"),
    ("Bash(git *)", "VAR=x git push"),
    ("Bash(git *)", "A=1 B='two words' git push"),
    ("Bash(git *)", "2>/dev/null git push"),
    ("Bash(git *)", "> log git push"),
    ("Bash(git *)", "echo $(git push)"),
    ("Bash(git *)", "echo `git push`"),
    ("Bash(git *)", 'echo "$(git push)"'),
    ("Bash(git *)", 'echo "a `git push` b"'),
    ("Bash(git *)", 'echo "$(ls "$(git push)")"'),
    ("Bash(git *)", "echo ${X:-$(git push)}"),
    ("Bash(git *)", "diff <(git show a) b"),
    ("Bash(git *)", "(cd x; git push)"),
    ("Bash(git *)", "{ git push; }"),
    ("Bash(git *)", "if true; then git push; fi"),
    ("Bash(git *)", "for x in a b; do git push; done"),
    ("Bash(git *)", "! git diff --quiet"),
    ("Bash(git *)", "time git push"),
    ("Bash(git *)", "git \\\n push"),
    ("Bash(git *)", "gi\\\nt push"),
    ("Bash(git *)", "/usr/bin/git push"),
    ("Bash(git *)", "\\git push"),
    ("Bash(git *)", "g'i't push"),
    ("Bash(git *)", '"git" push'),
    ("Bash(git *)", "$'git' push"),
    ("Bash(git *)", "sudo git push"),
    ("Bash(git *)", "sudo -u me git push"),
    ("Bash(git *)", "env -i A=1 git push"),
    ("Bash(git *)", "timeout 5 git push"),
    ("Bash(git *)", "ls | xargs git add"),
    ("Bash(git *)", "find . -exec git add {} ;"),
    ("Bash(git *)", "bash -c 'git push'"),
    ("Bash(git *)", "bash -ec 'cd x; git push'"),
    ("Bash(git *)", "sudo sh -c 'git push'"),
    ("Bash(git *)", "eval git push"),
    # Names that only the shell knows.
    ("Bash(rm *)", "$CMD -rf x"),
    ("Bash(rm *)", "sudo $CMD -rf x"),
    ("Bash(rm *)", "sudo " + "-n " * 300 + "rm x"),
    ("Bash(rm *)", '"$CMD" -rf x'),
    ("Bash(rm *)", "r${EMPTY}m -rf x"),
    ("Bash(rm *)", "A=1 $CMD -rf x"),
    ("Bash(rm *)", "$(echo rm) -rf x"),
    ("Bash(rm *)", "/bin/r? -rf x"),
    ("Bash(rm *)", "{rm,-rf,x}"),
    ("Bash(rm *)", "$'\\x72m' -rf x"),
    # A longer pattern, and something that cannot be seen.
    ("Bash(git push *)", "git $VERB origin"),
    ("Bash(git push *)", "echo $HOME"),
    ("Bash(git push *)", "echo `date`"),
    ("Bash(git push *)", "echo $(date)"),
    ("Bash(rm -rf *)", "rm $FLAGS x"),
    # What cannot be read.
    ("Bash(git *)", "echo 'unclosed"),
    ("Bash(git *)", 'echo "unclosed'),
    ("Bash(git *)", "echo `unclosed"),
    ("Bash(git *)", "echo $(unclosed"),
    ("Bash(git *)", "cat <<END\ngit\nEND"),
    ("Bash(git *)", "(" * 500),
    ("Bash(git *)", "sudo eval " * 80),
    ("Bash(git *)", "x" * 300_000),
    # Patterns.
    ("Bash", "ls"),
    ("Bash(*)", "ls"),
    ("Bash()", "ls"),
    ("Bash(rm:*)", "rm -rf x"),
    ("Bash(rm:*)", "rm"),
    ("Bash(npm run test:*)", "npm run test unit"),
    ("Bash(git push *)", "git push"),
    ("Bash(git push *)", "git push origin main"),
    ("Bash(git push)", "git push"),
    ("Bash(ls*)", "lsof"),
    ("Bash(git * main)", "git push origin main"),
    ("Bash(* --version)", "node --version"),
    ('Bash(git commit -m "x" *)', 'git commit -m "x" --amend'),
    (r"Bash(echo \*)", "echo '*'"),
]
PASS_BY: list[tuple[str, str]] = [
    ("Bash(git *)", "ls"),
    ("Bash(git *)", "gitk"),
    ("Bash(git *)", "echo git push"),
    ("Bash(git *)", "echo 'x; git push'"),
    ("Bash(git *)", 'echo "x; git push"'),
    ("Bash(git *)", "echo x\\;git push"),
    ("Bash(git *)", "echo '$(git push)'"),
    ("Bash(git *)", "echo '`git push`'"),
    ("Bash(git *)", "ls # git push"),
    ("Bash(git *)", "ls 2>&1"),
    ("Bash(git *)", "ls &> git"),
    ("Bash(git *)", "echo $HOME"),
    ("Bash(git *)", "[ -f x ] && [[ -d y ]]"),
    ("Bash(git *)", ""),
    ("Bash(git *)", "GIT=git ls"),
    ("Bash(git *)", "PATTERN=[a-z]* ls"),
    ("Bash(git *)", "find . -name '*.py'"),
    ("Bash(git push *)", "git pull"),
    ("Bash(git push *)", "git pushy"),
    ("Bash(git push *)", "echo '$HOME'"),
    ("Bash(git push *)", "echo 5$"),
    ("Bash(git push)", "git push origin"),
    ("Bash(ls *)", "lsof"),
    ("Bash(rm:*)", "rmdir x"),
    (r"Bash(echo \*)", "echo 'anything'"),
]


@pytest.mark.parametrize(("rule", "command"), APPLY, ids=[f"{rule} {command[:40]!r}" for rule, command in APPLY])
def test_a_rule_applies_to_the_command(rule: str, command: str) -> None:
    assert applies(rule, {"command": command})


@pytest.mark.parametrize(("rule", "command"), PASS_BY, ids=[f"{rule} {command[:40]!r}" for rule, command in PASS_BY])
def test_a_rule_passes_the_command_by(rule: str, command: str) -> None:
    assert not applies(rule, {"command": command})


FILES: list[tuple[str, str, str, bool]] = [
    ("Edit(src/**)", "Edit", f"{CWD}/src/a/b.py", True),
    ("Edit(src/**)", "Edit", "src/a.py", True),
    ("Edit(src/**)", "Edit", f"{CWD}/lib/src/a.py", False),
    ("Edit(src/**)", "Edit", f"{PROJECT}/src/a.py", False),
    ("Edit(src/**)", "Edit", f"{CWD}/src/../lib/a.py", False),
    ("Edit(src/**)", "Edit", f"{CWD}/lib/../src/a.py", True),
    ("Edit(./src/*)", "Edit", f"{CWD}/src/a.py", True),
    ("Edit(src/*.py)", "Edit", f"{CWD}/src/deep/a.py", False),
    ("Edit(src/*/a.py)", "Edit", f"{CWD}/src/deep/a.py", True),
    ("Edit(**/src/**)", "Edit", f"{CWD}/lib/src/a.py", True),
    ("Edit(**/x)", "Edit", f"{CWD}/a/b/x", True),
    ("Edit(**/x)", "Edit", f"{CWD}/a/b/y", False),
    ("Edit(*.ts)", "Edit", f"{CWD}/a/b.ts", True),
    ("Edit(*.ts)", "Edit", f"{CWD}/a/b.tsx", False),
    ("Edit(.env)", "Edit", f"{CWD}/.env", True),
    ("Edit(src)", "Edit", f"{CWD}/src/a/b.py", True),
    ("Edit(/src/**)", "Edit", f"{PROJECT}/src/a.py", True),
    ("Edit(/etc/**)", "Edit", "/etc/passwd", True),
    ("Edit(//etc/**)", "Edit", "/etc/passwd", True),
    ("Edit(//etc/**)", "Edit", f"{PROJECT}/etc/passwd", False),
    ("Edit(~/.ssh/**)", "Edit", f"{HOME}/.ssh/config", True),
    ("Read(~/.ssh/**)", "Read", f"{HOME}/.ssh/id", True),
    ("Read(~/.ssh/**)", "Read", "~/.ssh/id", True),
    ("Read(~/.ssh/**)", "Read", "/home/other/.ssh/id", False),
    ("Read(~/.ssh/**)", "Grep", f"{HOME}/.ssh", True),
    ("Edit(src/**)", "Write", f"{CWD}/src/a.py", True),
    ("Edit(src/**)", "NotebookEdit", f"{CWD}/src/a.ipynb", True),
    ("Edit(src/**)", "Read", f"{CWD}/src/a.py", False),
    ("Write(src/**)", "Write", f"{CWD}/src/a.py", True),
    ("Write(src/**)", "Edit", f"{CWD}/src/a.py", False),
    ("Edit", "Write", f"{CWD}/a.py", True),
    ("Edit(**)", "Write", "/anywhere/a.py", True),
    ("Edit(*.{ts,js})", "Edit", f"{CWD}/a.py", True),
]


@pytest.mark.parametrize(("rule", "tool", "path", "expected"), FILES, ids=[" ".join(map(str, case)) for case in FILES])
def test_a_rule_about_files(rule: str, tool: str, path: str, *, expected: bool) -> None:
    key = "notebook_path" if tool == "NotebookEdit" else "path" if tool == "Grep" else "file_path"
    assert applies(rule, {key: path}, tool) is expected


def test_a_link_is_followed(place: Home) -> None:
    (place.project / "src").mkdir()
    (place.project / "alias").symlink_to("src")
    event = PreToolUse(tool_name="Edit", tool_input={"file_path": "alias/a.py"}, cwd=str(place.project))
    assert condition("Edit(src/**)")(event) == ""


@pytest.mark.parametrize("tool_input", [{}, {"file_path": 5}, {"file_path": "\ud800"}, {"file_path": "a\0b"}])
def test_an_edit_without_a_usable_path_runs_the_hook(tool_input: Json) -> None:
    assert applies("Edit(src/**)", tool_input, "Edit")


@pytest.mark.parametrize("tool_input", [{}, {"command": ["git"]}])
def test_a_shell_call_without_a_command_runs_the_hook(tool_input: Json) -> None:
    assert applies("Bash(git *)", tool_input)


OTHERS: list[tuple[str, str, Json, bool]] = [
    ("mcp__memory__create", "mcp__memory__create", {}, True),
    ("mcp__memory__create", "mcp__memory__delete", {}, False),
    ("mcp__memory__*", "mcp__memory__delete", {}, True),
    ("mcp__memory", "mcp__memory__delete", {}, True),
    ("mcp__memory", "mcp__memory2__delete", {}, False),
    ("PowerShell(Remove-Item *)", "PowerShell", {"command": "remove-item x"}, True),
    ("PowerShell(Remove-Item *)", "PowerShell", {"command": "Get-Item x"}, False),
    ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://docs.example.com/x"}, True),
    ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://EXAMPLE.com."}, True),
    ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://notexample.com"}, False),
    ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://[bad"}, True),
    ("Agent(reviewer)", "Agent", {"subagent_type": "reviewer"}, True),
    ("Agent(reviewer)", "Task", {"subagent_type": "reviewer"}, True),
    ("Agent(reviewer)", "Agent", {"subagent_type": "writer"}, False),
    ("Skill(deploy)", "Skill", {"skill": "deploy"}, True),
    ("Agent(model:large*)", "Agent", {"subagent_type": "reviewer", "model": "large-1"}, True),
    ("Odd(anything)", "Odd", {"a": 1}, True),
    ("Odd", "Even", {}, False),
]


@pytest.mark.parametrize(
    ("rule", "tool", "tool_input", "expected"), OTHERS, ids=[f"{case[0]} {case[1]} {case[2]}" for case in OTHERS]
)
def test_a_rule_about_another_tool(rule: str, tool: str, tool_input: Json, *, expected: bool) -> None:
    assert applies(rule, tool_input, tool) is expected


WRONG: list[Any] = [
    "",
    " ",
    5,
    None,
    [],
    "Bash(git",
    "Bash git)",
    "Bash(git *) || Bash(npm *)",
    "Bash(git *), Edit(x)",
    "Bash, Edit",
    "(git)",
    "Edit(!src/**)",
    "Edit(*.{ts,js})",
]


@pytest.mark.parametrize("rule", WRONG, ids=repr)
def test_a_rule_that_makes_no_sense_is_reported_and_the_hook_runs(rule: Any, claude: Claude) -> None:
    assert problem(rule)
    if rule is None:
        return
    handler = {"type": "command", "command": "exit 2", "if": rule}
    [found] = claude.problems(claude.settings("PreToolUse", handler))
    assert found.startswith("error: ")
    assert claude.fire("PreToolUse").denies


@pytest.mark.parametrize("rule", ["Bash", "Bash(git *)", "Bash(echo (x) *)", "mcp__a__b", "mcp__a-b__*", "Edit(/a/**)"])
def test_a_good_rule_is_not_complained_about(rule: str) -> None:
    assert problem(rule) == ""


@pytest.mark.parametrize("event", EVENTS)
def test_a_hook_with_a_rule_runs_only_on_events_about_tools(event: str, claude: Claude) -> None:
    problems = claude.problems(
        claude.settings(event, {"type": "command", "command": "/bin/true", "if": "Bash(make *)"})
    )
    decision = claude.fire(event)
    assert claude.ran(decision) == (["true"] if event in SUPPORTED else [])
    if event not in SUPPORTED:
        [found] = problems
        assert found == f"warning: `if` means nothing on {event}: this hook never runs"
        assert all(report.why.startswith("has an `if`") for report in decision.reports)


def test_a_rule_that_does_not_apply_is_the_reason_why_a_hook_did_not_run(claude: Claude) -> None:
    claude.configure("PreToolUse", {"type": "command", "command": "exit 2", "if": "Bash(git *)"})
    [report] = claude.fire("PreToolUse").reports
    assert (report.ran, report.why) == (False, "its rule Bash(git *) does not apply")


def test_the_home_directory_is_the_users(claude: Claude, place: Home) -> None:
    claude.configure("PreToolUse", {"type": "command", "command": "exit 2", "if": "Read(~/.ssh/**)"})
    path = str(place.home / ".ssh" / "id")
    assert claude.fire("PreToolUse", tool_name="Read", tool_input={"file_path": path}).denies


def test_nothing_of_this_is_imported_while_no_hook_has_a_rule(claude: Claude, place: Home) -> None:
    claude.configure("PreToolUse", "/bin/true")
    code = (
        "import sys; from fairlead import Hooks; "
        f"Hooks.load({str(place.project)!r}); "
        "print([name for name in ('fairlead.conditions', 'fairlead.dialects._claude_output') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], env=place.environ, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


plain_words = st.text("abcdefgxyz-./", min_size=1, max_size=6).filter(lambda word: not word.startswith("-"))
separators = st.sampled_from([" && ", "; ", " | ", " || ", "\n", " & "])


@settings(deadline=None)
@given(before=st.lists(plain_words, max_size=4), between=separators, after=st.lists(plain_words, max_size=4))
def test_a_command_is_found_wherever_it_stands(before: list[str], between: str, after: list[str]) -> None:
    command = f"{' '.join(['echo', *before])}{between}git push{between}{' '.join(['echo', *after])}"
    assert applies("Bash(git *)", {"command": command})


@settings(deadline=None)
@given(st.text(max_size=60), st.sampled_from(["Bash(git *)", "Bash(git push *)", "Bash(*x*)", "Bash(a:*)"]))
def test_no_command_breaks_the_reader(command: str, rule: str) -> None:
    assert applies(rule, {"command": command}) in (True, False)


@settings(deadline=None)
@given(st.text("()$`'\"\\;&|<>#{} \na", max_size=40))
def test_no_punctuation_breaks_the_reader(command: str) -> None:
    assert applies("Bash(git *)", {"command": command}) in (True, False)


@settings(deadline=None, max_examples=60)
@given(st.text("$`\"'\\ax ()", max_size=20), st.text("$`\"'\\ax ()", max_size=20))
def test_a_command_hidden_between_quotes_is_never_taken_for_another(before: str, after: str) -> None:
    """Whatever surrounds it: where a shell would start `git`, the rule applies."""
    command = f"{before}\ngit push\n{after}"
    shell = subprocess.run(
        ["/bin/bash", "-c", 'git() { echo ran; }; a() { :; }; x() { :; }; eval "$1"', "bash", command],
        capture_output=True, text=True, check=False, env={"PATH": ""}, timeout=20,
    )  # fmt: skip
    if "ran" in shell.stdout:
        assert applies("Bash(git *)", {"command": command})


@settings(deadline=None)
@given(st.text("ab*", max_size=8), st.text("ab", max_size=8))
def test_a_star_is_anything(pattern: str, text: str) -> None:
    import re

    regex = "".join(".*" if char == "*" else char for char in pattern)
    assert like(text, pattern) == (re.fullmatch(regex, text) is not None)


def test_a_permission_request_is_looked_at_too() -> None:
    event: Event = PermissionRequest(tool_name="Bash", tool_input={"command": "git push"})
    assert condition("Bash(git *)")(event) == ""
