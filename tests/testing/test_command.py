"""`fairlead test`: real projects, real hooks, real processes."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from fairlead.dialects import AGENT_HALVES
from fairlead.testing import reading
from fairlead.testing.cases import DECISIONS
from fairlead.testing.reading import SCHEMA, read
from tests.conftest import Home, Ran

Fairlead = Callable[..., Ran]
CASES = "fairlead.tests.toml"

HOOKS = """\
guard = ["git", "filesystem"]

[[hook]]
name = "no-sudo"
on = "PreToolUse"
tool = "Bash"
run = "if grep -q sudo; then echo 'no sudo here'; exit 1; fi"

[[hook]]
name = "npm-ci"
on = "PreToolUse"
tool = "Bash"
run = '''if grep -q 'npm install'; then echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", \
"updatedInput": {"command": "npm ci"}}}'; fi'''

[[hook]]
name = "judge"
on = "UserPromptSubmit"
prompt = "Is it nice?"

[[hook]]
name = "greeter"
on = "SessionStart"
run = "echo 'be careful'"

[[hook]]
name = "boss"
on = "PreToolUse"
tool = "Deploy"
approval = "look at it"

[[hook]]
name = "broken"
on = "PreToolUse"
tool = "Broken"
run = "no-such-program-anywhere"
"""


@pytest.fixture
def project(place: Home) -> Home:
    place.write("fairlead.toml", HOOKS)
    return place


PASSING = {
    "refused": 'command = "git push --force"\ndecision = "deny"',
    "refused for a reason": 'command = "sudo ls"\nreason = "sudo"',
    "refused for a reason by pattern": 'command = "sudo ls"\nreason = "/no s.do/"',
    "several reasons": 'command = "sudo ls"\nreason = ["no", "here"]',
    "let through": 'command = "ls"\ndecision = "none"',
    "not refused": 'command = "ls"\ndecision = "allowed"',
    "one of several": 'command = "ls"\ndecision = ["ask", "none"]',
    "another input": 'command = "npm install"\nrewrite = { command = "npm ci" }',
    "any other input": 'command = "npm install"\nrewrite = true',
    "the same input": 'command = "ls"\nrewrite = false',
    "an agent that cannot take another input": 'command = "npm install"\nagent = "code-agent"\ndecision = "deny"',
    "a tool by its agent's name": 'agent = "gemini"\ntool = "run_shell_command"\ninput = { command = "sudo ls" }\n'
    'decision = "deny"',
    "a tool by our name, from another agent": 'agent = "gemini"\ncommand = "sudo ls"\ndecision = "deny"',
    "the whole event": 'decision = "deny"\npayload = { hook_event_name = "PreToolUse", tool_name = "Bash", '
    'tool_input = { command = "sudo" } }',
    "the whole event of another agent": 'agent = "gemini"\ndecision = "deny"\npayload = { '
    'hook_event_name = "BeforeTool", tool_name = "run_shell_command", tool_input = { command = "sudo" } }',
    "an event about no tool": 'event = "SessionStart"\ninput = { source = "startup" }\ncontext = "careful"\n'
    'hooks = ["greeter"]',
    "an event in another spelling": 'event = "session_start"\ncontext = "careful"',
    "hooks that run": 'command = "ls"\nhooks = ["no-sudo", "guard"]',
    "a model that is spoken for": 'prompt = "hi"\nsays = { judge = "deny" }\ndecision = "deny"\nhooks = ["judge"]',
    "a model that says more": 'prompt = "hi"\nsays = { judge = { decision = "deny", reason = "rude" } }\n'
    'reason = "rude"',
    "a command that is spoken for": 'tool = "Broken"\nsays = { broken = "none" }\ndecision = "none"',
    "a person who refuses": 'tool = "Deploy"\ndecision = "deny"\nhooks = ["boss"]',
    "a person who agrees": 'tool = "Deploy"\napproval = "allow"\ndecision = "allow"',
    "a hook that is meant to fail": 'tool = "Broken"\ndecision = "deny"\nfails = ["broken"]',
    "any hook that is meant to fail": 'tool = "Broken"\ndecision = "deny"\nfails = true',
    "a place in the project": 'command = "rm -rf <project>"\ndecision = "deny"',
    "a place in the home": 'command = "rm -rf <home>"\ndecision = "deny"',
    "beside the project is the home": 'command = "rm -rf .."\ndecision = "deny"',
}  # fmt: skip

FAILING = {
    "a wrong decision": ('command = "ls"\ndecision = "deny"', "decision"),
    "asking is not letting through": ('says = { no-sudo = "ask" }\ncommand = "ls"\ndecision = "allowed"', "decision"),
    "a wrong reason": ('command = "sudo ls"\nreason = "force"', "reason"),
    "a pattern that is not found": ('command = "sudo ls"\nreason = "/^force/"', "reason"),
    "one of two reasons": ('command = "sudo ls"\nreason = ["sudo", "force"]', "reason"),
    "no context": ('command = "ls"\ncontext = "careful"', "context"),
    "no other input": ('command = "ls"\nrewrite = { command = "npm ci" }', "rewrite"),
    "another other input": ('command = "npm install"\nrewrite = { command = "npm i" }', "rewrite"),
    "another input where none should be": ('command = "npm install"\nrewrite = false', "rewrite"),
    "an agent that cannot take another input": (
        'command = "npm install"\nagent = "code-agent"\nrewrite = { command = "npm ci" }', "rewrite"),
    "a hook that looks elsewhere": ('command = "ls"\nhooks = ["greeter"]', "hooks"),
    "a hook that is not there": ('command = "ls"\nhooks = ["nobody"]', "hooks"),
    "a model that nobody has asked": ('prompt = "hi"\nhooks = ["judge"]', "hooks"),
    "a hook that fails, though the decision is right": ('tool = "Broken"\ndecision = "deny"', "hooks"),
    "a hook that does not fail": ('command = "ls"\nfails = ["no-sudo"]', "fails"),
    "none that fails": ('command = "ls"\nfails = true', "fails"),
    "speaking for nobody": ('command = "ls"\ndecision = "none"\nsays = { nobody = "deny" }', "says"),
}  # fmt: skip


def test_what_comes_out_as_it_should_passes(project: Home, fairlead: Fairlead) -> None:
    text = "\n".join(f"[[case]]\nname = {json.dumps(name)}\n{case}\n" for name, case in PASSING.items())
    project.write(CASES, text)
    ran = fairlead("test", "--json")
    assert {case["name"]: case["failures"] for case in ran.json["cases"]} == {name: [] for name in PASSING}
    assert ran.code == 0


def test_what_does_not_fails_and_says_in_what(project: Home, fairlead: Fairlead) -> None:
    text = "\n".join(f"[[case]]\nname = {json.dumps(name)}\n{case}\n" for name, (case, _) in FAILING.items())
    project.write(CASES, text)
    ran = fairlead("test", "--json")
    found = {case["name"]: [failure["what"] for failure in case["failures"]] for case in ran.json["cases"]}
    assert found == {name: [what] for name, (_, what) in FAILING.items()}
    assert ran.code == 1


def test_every_case_of_these_fits_the_schema() -> None:
    schema = json.loads(Path(SCHEMA).read_text())
    for text in (*PASSING.values(), *(text for text, _ in FAILING.values())):
        jsonschema.validate(tomllib.loads(f"[[case]]\n{text}\n"), schema)


def test_the_schema_knows_every_key_and_every_agent_and_no_other() -> None:
    case = json.loads(Path(SCHEMA).read_text())["properties"]["case"]["items"]["properties"]
    assert set(case) == set(reading._KEYS)
    assert case["agent"]["enum"] == list(AGENT_HALVES)
    assert set(case["says"]["additionalProperties"]["oneOf"][1]["properties"]) == set(reading._SAYS)
    assert case["decision"]["oneOf"][0]["enum"] == list(DECISIONS)


# --- for people --------------------------------------------------------------------------------------


def test_a_failure_names_what_was_expected_what_came_who_said_it_and_how_to_look_closer(
    project: Home, fairlead: Fairlead
) -> None:
    project.write(CASES, '[[case]]\nname = "sudo is fine"\ncommand = "sudo ls"\ndecision = "allowed"\n')
    ran = fairlead("test")
    shown = ran.out.decode()
    assert ran.code == 1
    for words in ("✗ sudo is fine", "expected none or allow", "came     deny", "no-sudo fairlead.toml:3",
                  "no sudo here", f"{CASES}:1", "explain --trust-project --command 'sudo ls'", "1 failed"):  # fmt: skip
        assert words in shown


def test_the_way_to_look_closer_really_leads_there(project: Home, fairlead: Fairlead) -> None:
    texts = ('command = "sudo ls"', 'tool = "Write"\ninput = { file_path = "it\'s" }', 'prompt = "hi"',
             'payload = { hook_event_name = "PreToolUse", tool_name = "Bash", tool_input = { command = "sudo" } }',
             'agent = "gemini"\nevent = "SessionStart"')  # fmt: skip
    project.write(CASES, "".join(f'[[case]]\n{text}\ndecision = "defer"\n' for text in texts))
    program = project.script("~/bin/fairlead", f'exec "{sys.executable}" -m fairlead "$@"')
    environ = {**project.environ, "PATH": f"{program.parent}:{project.environ['PATH']}"}
    for case in fairlead("test", "--json", env=environ).json["cases"]:
        command = case["explain"] + " --json --dry-run"
        done = subprocess.run(command, shell=True, env=environ, cwd=project.project, capture_output=True, check=False)
        assert done.returncode == 0, (command, done.stderr)


def test_a_terminal_without_these_characters_gets_words(project: Home, fairlead: Fairlead) -> None:
    project.write(CASES, '[[case]]\ncommand = "ls"\ndecision = "none"\n')
    ran = fairlead("test", env={"PYTHONIOENCODING": "ascii"})
    assert ran.out.startswith(b"ok     Bash: ls")


def test_a_hook_that_nobody_has_asked_is_named(project: Home, fairlead: Fairlead) -> None:
    project.write(CASES, '[[case]]\nprompt = "hi"\ndecision = "allowed"\n')
    ran = fairlead("test")
    assert ran.code == 0
    assert b"judge was not asked in 1 case" in ran.out


def test_what_a_hook_prints_is_no_part_of_the_report(project: Home, fairlead: Fairlead) -> None:
    project.write("own.py", "def shout(event):\n    print('loud')\n")
    project.write("fairlead.toml", '[[hook]]\non = "PreToolUse"\npython = "own:shout"\n')
    project.write(CASES, '[[case]]\ncommand = "ls"\ndecision = "none"\nhooks = ["fairlead.toml#1"]\n')
    ran = fairlead("test", "--json")
    assert ran.json["passed"] == 1
    assert "loud" in ran.err


def test_only_some_of_the_cases(project: Home, fairlead: Fairlead) -> None:
    project.write(CASES, '[[case]]\ncommand = "ls"\ndecision = "none"\n[[case]]\ncommand = "pwd"\ndecision = "deny"\n')
    ran = fairlead("test", "-k", "ls")
    assert ran.code == 0
    assert b"1 passed, 1 not tried" in ran.out


def test_another_agent_asks_where_a_case_does_not_say(project: Home, fairlead: Fairlead) -> None:
    text = (
        '[[case]]\ncommand = "npm install"\ndecision = "{}"\n[[case]]\ncommand = "npm install"\nagent = "claude-code"\n'
    )
    project.write(CASES, text.format("none") + 'decision = "none"\n')
    assert fairlead("test").code == 0
    project.write(CASES, text.format("deny") + 'decision = "none"\n')
    assert fairlead("test", "--agent", "code-agent").code == 0


def test_a_slip_in_the_hooks_themselves_is_named(project: Home, fairlead: Fairlead) -> None:
    project.write("fairlead.toml", 'guard = ["git"]\n[[hook]]\non = "PreToolUse"\nrnu = "true"\n')
    project.write(CASES, '[[case]]\ncommand = "ls"\ndecision = "none"\n')
    assert b"fairlead.toml:4:1: error: unknown key 'rnu'" in fairlead("test").out


def test_cases_in_other_files(project: Home, fairlead: Fairlead) -> None:
    project.write("more/a.toml", '[[case]]\ncommand = "ls"\ndecision = "none"\n')
    project.write("more/b.toml", '[[case]]\ncommand = "sudo ls"\ndecision = "deny"\n')
    assert fairlead("test", "more/a.toml", "more/b.toml", "--json").json["passed"] == 2


def test_a_project_elsewhere(project: Home, fairlead: Fairlead, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / CASES).write_text('[[case]]\ncommand = "sudo ls"\ndecision = "none"\n')
    assert fairlead("test", "--project", str(other)).code == 0
    (other / CASES).write_text('[[case]]\ncommand = "ls"\ndecision = "deny"\n')
    assert (
        f"explain --trust-project --project {other} --command ls".encode()
        in fairlead("test", "--project", str(other)).out
    )


# --- what is wrong -----------------------------------------------------------------------------------

WRONG = {
    "a misspelt key": ('comand = "ls"\ndecision = "deny"', ":2:1: error: unknown key 'comand' (did you mean 'c"),
    "a misspelt decision": ('command = "ls"\ndecision = "denny"', ":3:1: error: unknown decision 'denny' (did you"),
    "a misspelt agent": ('command = "ls"\nagent = "codexx"\ndecision = "deny"', ":3:1: error: unknown agent 'codexx'"),
    "a misspelt event": ('event = "PreTolUse"\ncommand = "ls"\ndecision = "deny"', "did you mean 'PreToolUse'?"),
    "no expectation": ('command = "ls"', ":1:1: error: this case expects nothing"),
    "nothing to do": ('decision = "deny"', ":1:1: error: tool is missing"),
    "no decision in a list": ('command = "ls"\ndecision = []', "decision is empty"),
    "a decision of another kind": ('command = "ls"\ndecision = 3', "decision must be a string or a list of strings"),
    "a bad pattern": ('command = "ls"\nreason = "/(/"', "reason is no regular expression"),
    "an empty reason": ('command = "ls"\nreason = ""', "reason is empty"),
    "an input of another kind": ('tool = "Bash"\ninput = "ls"\ndecision = "deny"', "input must be a table"),
    "a tool where there is none": ('event = "Stop"\ntool = "Bash"\ndecision = "deny"', "Stop is not about a tool"),
    "twice the command": ('command = "ls"\ninput = { command = "pwd" }\ndecision = "deny"', "say it once"),
    "a whole event and a half": ('command = "ls"\npayload = {}\ndecision = "deny"', "command and payload cannot both"),
    "an event that cannot be read": ('payload = { hook_event_name = "PreToolUse" }\ndecision = "deny"', "tool_name"),
    "fields of another kind": ('event = "Stop"\ninput = { stop_hook_active = 1 }\ndecision = "deny"', "must be true"),
    "a person of two minds": ('command = "ls"\napproval = "maybe"\ndecision = "deny"', "unknown approval 'maybe'"),
    "a misspelt saying": ('command = "ls"\ndecision = "deny"\nsays = { x = "no" }', "unknown decision 'no'"),
    "a saying with a misspelt key": ('command = "ls"\ndecision = "deny"\nsays = { x = { reson = "" } }', "'reson'"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "said"), WRONG.values(), ids=list(WRONG))
def test_a_bad_case_is_named_with_its_place_and_disables_no_other(text: str, said: str, place: Home) -> None:
    file = place.write(CASES, f'[[case]]\n{text}\n\n[[case]]\ncommand = "sudo ls"\ndecision = "deny"\n')
    suite = read(str(file))
    assert [case.name for case in suite.cases] == ["Bash: sudo ls"]
    (problem,) = suite.problems
    assert said in str(problem)
    assert (problem.file, problem.level) == (str(file), "error")
    assert problem.line > 0
    assert problem.column > 0


def test_a_run_with_a_bad_case_is_not_a_good_one(project: Home, fairlead: Fairlead) -> None:
    project.write(CASES, '[[case]]\ncomand = "x"\n\n[[case]]\ncommand = "sudo ls"\ndecision = "deny"\n')
    ran = fairlead("test")
    assert ran.out.decode().startswith(f"! {CASES}:2:1: error: unknown key 'comand' (did you mean 'command'?)\n")
    assert b"1 passed, 1 error\n" in ran.out
    assert ran.code == 1


def test_a_file_that_is_no_toml_is_an_error_and_the_others_count(project: Home, fairlead: Fairlead) -> None:
    project.write("bad.toml", "[[case]\n")
    project.write("good.toml", '[[case]]\ncommand = "ls"\ndecision = "none"\n')
    ran = fairlead("test", "bad.toml", "good.toml")
    assert ran.code == 1
    assert b"! bad.toml:1:" in ran.out
    assert b"1 passed, 1 error" in ran.out


def test_top_level_slips_are_named(project: Home, fairlead: Fairlead) -> None:
    project.write(CASES, '[[cases]]\ncommand = "ls"\n\n[scratch]\ncoppy = ["x"]\n')
    shown = fairlead("test").out.decode()
    assert "unknown key 'cases' (did you mean 'case'?)" in shown
    assert f"{CASES}:5:1: error: unknown key 'coppy' (did you mean 'copy'?)" in shown


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        (None, (), "there is no fairlead.tests.toml"),
        (None, ("x.toml",), "there is no x.toml"),
        ("", (), "there is no case in fairlead.tests.toml"),
        ('[[case]]\ncommand = "ls"\ndecision = "none"\n', ("-k", "zzz"), "no case has 'zzz' in its name"),
        ('[[case]]\ncommand = "ls"\ndecision = "none"\n', ("--junitt", "x"), "unrecognized arguments"),
        ('[[case]]\ncommand = "ls"\ndecision = "none"\n', ("--project", "nowhere"), "there is no directory"),
    ],
)
def test_bad_usage_says_so(
    text: str | None, words: tuple[str, ...], said: str, place: Home, fairlead: Fairlead
) -> None:
    if text is not None:
        place.write(CASES, text)
    ran = fairlead("test", *words)
    assert ran.code == 64
    assert said in ran.err


def test_who_has_no_cases_gets_one_to_copy(place: Home, fairlead: Fairlead) -> None:
    place.write("fairlead.toml", 'guard = ["git"]\n')
    said, _, example = fairlead("test").err.partition("[[case]]")
    assert said == f"fairlead test: there is no {CASES}\nWrite one, such as:\n\n"
    place.write(CASES, f"[[case]]{example}")
    assert fairlead("test").code == 0


def test_a_configuration_that_cannot_be_read_passes_no_case(place: Home, fairlead: Fairlead) -> None:
    place.write("fairlead.toml", "[[hook]\n")
    place.write(CASES, '[[case]]\ncommand = "ls"\ndecision = "deny"\n')
    ran = fairlead("test")
    assert ran.code == 1
    assert b"failed: " in ran.out


# --- for build servers -------------------------------------------------------------------------------


def test_the_report_for_build_servers(project: Home, fairlead: Fairlead) -> None:
    project.write(
        "fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "printf \'<&\\\\033[31m\\\\001\\\\377]]>\'; exit 1"\n'
    )
    text = '[[case]]\nname = "a \\u0007 bell & <tag>"\ncommand = "ls"\ndecision = "none"\n[[case]]\ncommand = "x"\n'
    project.write(CASES, text + 'decision = "deny"\n[[case]]\nnam = "bad"\n')
    ran = fairlead("test", "--junit", "reports/hooks.xml")
    assert ran.code == 1
    root = ET.parse(project.project / "reports" / "hooks.xml").getroot()
    (suite,) = root
    assert {key: suite.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "3", "failures": "1", "errors": "1"}  # fmt: skip
    first, second, third = suite
    assert first.get("name") == "a \\x07 bell & <tag>"
    assert (first.get("classname"), first.get("file"), first.get("line")) == (CASES, CASES, "1")
    failure = first.find("failure")
    assert failure is not None
    assert failure.get("message") == "decision: expected none; came deny"
    assert "<&\\x1b[31m\\x01\ufffd]]>" in str(failure.text)
    assert list(second) == []
    error = third.find("error")
    assert error is not None
    assert "unknown key 'nam'" in str(error.text)
    assert [path.name for path in (project.project / "reports").iterdir()] == ["hooks.xml"]


def test_a_report_that_cannot_be_written_is_an_error(project: Home, fairlead: Fairlead) -> None:
    project.write(CASES, '[[case]]\ncommand = "ls"\ndecision = "none"\n')
    ran = fairlead("test", "--junit", "fairlead.toml/report.xml")
    assert ran.code == 1
    assert "fairlead test: " in ran.err
    assert "Traceback" not in ran.err
