"""`fairlead check`: every problem with its place, what was meant, and what it leads to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Home, Ran


def settings(*hooks: dict[str, Any], matcher: str = "Bash", event: str = "PreToolUse") -> dict[str, Any]:
    return {"hooks": {event: [{"matcher": matcher, "hooks": list(hooks)}]}}


def command(line: str) -> dict[str, Any]:
    return {"type": "command", "command": line}


def problems(ran: Ran) -> list[tuple[str, str]]:
    return [(problem["level"], problem["message"]) for problem in ran.json]


def test_all_well_says_what_was_looked_at(mixed: Home, fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("check")
    assert ran.code == 0
    assert ran.out.decode() == "All is well: 3 files, 5 hooks.\n"


def test_all_well_is_an_empty_list_for_programs(mixed: Home, fairlead: Callable[..., Ran]) -> None:
    assert fairlead("check", "--json").json == []


def test_a_problem_has_file_line_column_level_message_and_hint(place: Home, fairlead: Callable[..., Ran]) -> None:
    file = place.write(".claude/settings.json", settings(command("true"), event="PreTooluse"))
    ran = fairlead("check", "--json")
    assert ran.code == 1
    assert ran.json == [
        {
            "file": str(file),
            "line": 3,
            "column": 5,
            "level": "error",
            "message": "unknown event 'PreTooluse'",
            "hint": "did you mean 'PreToolUse'?",
        }
    ]


def test_a_person_reads_it_as_compilers_write_it(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(".claude/settings.json", settings(command("true"), event="PreTooluse"))
    lines = fairlead("check").out.decode().splitlines()
    assert lines[0] == ".claude/settings.json:3:5: error: unknown event 'PreTooluse'"
    assert lines[1].strip() == "did you mean 'PreToolUse'?"
    assert lines[-1] == "1 error in 1 file, 0 hooks."


@pytest.mark.parametrize(
    ("file", "content", "place_of_it"),
    [
        ("~/.codemie/codemie-cli.config.json", '{"profiles": {"a": {}}, "activeProfile": "b"}', (1, 25)),
        (".amcp/hooks.toml", "[hooks.PreToolUse]\nhandlers = 3\n", (2, 1)),
        (".amcp/hooks.json", '{"hooks": \n  {"Nonsense": {}}}', (2, 4)),
        ("fairlead.toml", '[[hook]]\nrun = "true"\n', (1, 1)),
        ("~/.config/fairlead/fairlead.toml", "[[hook]\n", (1, 7)),
        (".claude/settings.local.json", '{"hooks": {"preToolUse": {"a": 3}}}', (1, 27)),
        (".claude/skills/x/SKILL.md", "---\nname: x\nhooks:\n  Nonsense: []\n---\n", (4, 3)),
    ],
    ids=["codemie", "amcp-toml", "amcp-json", "fairlead", "broken-toml", "claude-agent", "front-matter"],
)
def test_every_system_and_layer_is_looked_at(
    place: Home, fairlead: Callable[..., Ran], file: str, content: str, place_of_it: tuple[int, int]
) -> None:
    written = place.write(file, content)
    ran = fairlead("check", "--json")
    assert ran.code == 1, ran.err
    assert [(p["file"], p["line"], p["column"]) for p in ran.json] == [(str(written), *place_of_it)]


def test_one_bad_entry_does_not_hide_the_next(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write("fairlead.toml", '[[hook]]\non = "Stop"\n\n[[hook]]\nrun = "true"\n')
    assert [problem["line"] for problem in fairlead("check", "--json").json] == [1, 4]


def test_a_matcher_that_does_not_compile_is_an_error_where_it_stands(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write("fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "true"\ntool = "(Edit"\n')
    ran = fairlead("check", "--json")
    assert ran.code == 1
    [problem] = ran.json
    assert (problem["line"], problem["column"], problem["level"]) == (4, 1, "error")
    assert "(Edit" in problem["message"]
    assert "runs for everything" in problem["hint"]


@pytest.mark.parametrize(
    ("matcher", "message", "hint"),
    [
        ("Bash(rm *)", "never matches", 'write "Bash"'),
        ("bash", "no tool 'bash'", "'Bash'"),
        ("edit|Write", "no tool 'edit'", "'Edit'"),
    ],
)
def test_a_matcher_of_claude_code_that_never_matches_is_a_warning(
    place: Home, fairlead: Callable[..., Ran], matcher: str, message: str, hint: str
) -> None:
    place.write(".claude/settings.json", settings(command("true"), matcher=matcher))
    ran = fairlead("check", "--json")
    assert ran.code == 0
    [problem] = ran.json
    assert (problem["level"], problem["line"]) == ("warning", 5)
    assert message in problem["message"]
    assert hint in problem["hint"]


@pytest.mark.parametrize("matcher", ["Edit, Write", "Edit | Write", "Edit,Write"])
def test_a_list_of_names_that_is_none_here_is_a_warning(
    place: Home, fairlead: Callable[..., Ran], matcher: str
) -> None:
    place.write("fairlead.toml", f'[[hook]]\non = "PreToolUse"\nrun = "true"\ntool = "{matcher}"\n')
    [problem] = fairlead("check", "--json").json
    assert problem["hint"] == 'write "Edit|Write"'


@pytest.mark.parametrize("matcher", ["Bash", "", "*", "mcp__(a|b)__.*", "Edit.*", "Notebook(Edit|Read)", "my_tool"])
def test_a_matcher_that_can_match_is_no_problem(place: Home, fairlead: Callable[..., Ran], matcher: str) -> None:
    place.write(".claude/settings.json", settings(command("true"), matcher=matcher))
    assert fairlead("check", "--json").json == []


PROGRAMS = {
    "relative": ("hooks/gone.sh", "no program 'hooks/gone.sh'"),
    "absolute": ("/nowhere/gone.sh --flag", "no program '/nowhere/gone.sh'"),
    "variable": ('"$CLAUDE_PROJECT_DIR"/hooks/gone.sh', "/hooks/gone.sh'"),
    "braces": ("${CLAUDE_PROJECT_DIR}/hooks/gone.sh", "/hooks/gone.sh'"),
    "home": ("~/hooks/gone.sh", "/home/hooks/gone.sh'"),
    "assignment": ("MODE=strict hooks/gone.sh", "no program 'hooks/gone.sh'"),
    "name": ("no-such-program-anywhere -q", "no program 'no-such-program-anywhere'"),
    "in-a-row": ("hooks/gone.sh && echo ok", "no program 'hooks/gone.sh'"),
    "script": ("sh hooks/gone.sh", "no script 'hooks/gone.sh'"),
    "not-executable": ("hooks/plain.sh", "'hooks/plain.sh' is not executable"),
}


@pytest.mark.parametrize(("line", "message"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_that_cannot_be_started_is_a_warning(
    place: Home, fairlead: Callable[..., Ran], line: str, message: str
) -> None:
    place.write("hooks/plain.sh", "true\n")
    place.write(".claude/settings.json", settings(command(line)))
    ran = fairlead("check", "--json")
    assert ran.code == 0
    [(level, said)] = problems(ran)
    assert level == "warning"
    assert message in said


FINE = {
    "builtin": "test -n x",
    "keyword": "if true; then exit 0; fi",
    "pipeline": "cat | sh",
    "unknown-variable": "$TOOLS/gone.sh",
    "substitution": "$(which sh) -c true",
    "bracket": "[ -n x ] && exit 0",
    "unfinished-quote": "echo 'oh",
    "option-of-the-interpreter": "sh -c hooks/gone.sh",
    "there": "hooks/there.sh",
}


@pytest.mark.parametrize("line", FINE.values(), ids=FINE)
def test_what_only_a_shell_could_judge_is_left_alone(place: Home, fairlead: Callable[..., Ran], line: str) -> None:
    place.script("hooks/there.sh", "true")
    place.write(".claude/settings.json", settings(command(line)))
    assert fairlead("check", "--json").json == []


@pytest.mark.parametrize(
    ("agent", "leads_to"), [("claude-code", "lets everything through"), ("code-agent", "refuses every PreToolUse")]
)
def test_the_hint_says_what_the_failure_leads_to_in_that_system(
    place: Home, fairlead: Callable[..., Ran], agent: str, leads_to: str
) -> None:
    place.write(".claude/settings.json", settings(command("hooks/gone.sh")))
    [problem] = fairlead("check", "--json", "--agent", agent).json
    assert leads_to in problem["hint"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('python = "gone.py"', "no such script"),
        ('python = "no_such_package_anywhere.module:check"', "no Python module 'no_such_package_anywhere'"),
        ('run = ["no-such-program-anywhere", "-q"]', "no program 'no-such-program-anywhere'"),
        ('prompt = "is this fine?"', "language model"),
        ('mcp_tool = "nowhere/check"', "nowhere"),
    ],
    ids=["script", "function", "words", "prompt", "server"],
)
def test_a_hook_that_can_never_answer_is_a_warning(
    place: Home, fairlead: Callable[..., Ran], entry: str, message: str
) -> None:
    place.write("fairlead.toml", f'[[hook]]\non = "PreToolUse"\n{entry}\n')
    [(level, said)] = problems(fairlead("check", "--json"))
    assert level == "warning"
    assert message in said


def test_a_prompt_hook_of_another_system_is_a_warning(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(".claude/settings.json", settings({"type": "prompt", "prompt": "is this fine?"}))
    [(level, said)] = problems(fairlead("check", "--json"))
    assert level == "warning"
    assert "language model" in said


def test_checking_imports_and_runs_nothing(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write("side_effect.py", "open('ran', 'w').close()\ndef hook(event): pass\n")
    place.write(
        "fairlead.toml",
        '[[hook]]\non = "Stop"\npython = "side_effect:hook"\n\n[[hook]]\non = "Stop"\nrun = "touch ran"\n',
    )
    ran = fairlead("check", "--trust-project", env={"PYTHONPATH": str(place.project)})
    assert ran.code == 0
    assert not (place.project / "ran").exists()


def test_check_explains_itself_without_a_project_of_its_own(place: Home, fairlead: Callable[..., Ran]) -> None:
    other = place.root / "other"
    other.mkdir()
    (other / "fairlead.toml").write_text("[[hook]]\n")
    ran = fairlead("check", "--project", str(other))
    assert ran.code == 1
    assert f"{other}/fairlead.toml:1:1: error" in ran.out.decode()
