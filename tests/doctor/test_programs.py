"""Programs and scripts that are missing, cannot be started, or are found only from here."""

from __future__ import annotations

import pytest

from fairlead.doctor import commands, programs
from fairlead.doctor.finding import Finding
from tests.conftest import Home
from tests.doctor.conftest import Machine, command, groups

FILES = {
    "claude-code": ("~/.claude/settings.json", "PreToolUse"),
    "codex": ("~/.codex/hooks.json", "PreToolUse"),
    "gemini": ("~/.gemini/settings.json", "BeforeTool"),
    "copilot": ("~/.copilot/hooks/own.json", "PreToolUse"),
    "hermes": ("~/.hermes/config.yaml", "pre_tool_call"),
}


def look(
    machine: Machine, place: Home, line: str, check: str = "programs", agent: str = "claude-code"
) -> list[Finding]:
    path, event = FILES[agent]
    place.write(path, groups(event, command(line)))
    return machine.findings(agent, check=check)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        pytest.param("nosuchprogram --now", "no program 'nosuchprogram'", id="a name"),
        pytest.param("/nowhere/guard", "no file /nowhere/guard", id="an absolute path"),
        pytest.param("hooks/missing.sh", "hooks/missing.sh", id="a path in the project"),
        pytest.param("~/bin/missing", "bin/missing", id="a path in the home"),
        pytest.param('"$CLAUDE_PROJECT_DIR"/missing.sh', "project/missing.sh", id="below the project's variable"),
        pytest.param("${CLAUDE_PROJECT_DIR}/missing.sh", "project/missing.sh", id="below the variable in braces"),
        pytest.param("MODE=strict exec nosuchprogram", "no program 'nosuchprogram'", id="behind an assignment"),
        pytest.param("env nosuchprogram", "no program 'nosuchprogram'", id="behind env"),
        pytest.param("cd hooks && ./missing.sh", "hooks/missing.sh", id="behind a cd"),
        pytest.param("nosuchprogram || true", "no program 'nosuchprogram'", id="in front of an excuse"),
        pytest.param("bash /nowhere/x.sh", "no script /nowhere/x.sh", id="a script of bash"),
        pytest.param("bash -e /nowhere/x.sh", "no script /nowhere/x.sh", id="behind an option of bash"),
        pytest.param("python3 -Is /nowhere/x.py", "no script /nowhere/x.py", id="behind an option of Python"),
        pytest.param("python3 -u -W ignore /nowhere/x.py", "no script /nowhere/x.py", id="behind options"),
    ],
)
def test_what_is_not_there_is_told(line: str, said: str, machine: Machine, place: Home) -> None:
    found = look(machine, place, line)
    assert [one.level for one in found] == ["error"]
    assert said in found[0].message


@pytest.mark.parametrize(
    "line",
    [
        "true",
        "/bin/true",
        "sh -c 'nosuchprogram'",
        "python3 -c 'print()'",
        "python3 -Ic 'print()'",
        "perl -e 'print 1'",
        "bash -lc nosuchprogram",
        "python3 - <<< x",
        "python3 -m json.tool",
        "[ -x /nowhere/x ] && /nowhere/x",
        "command -v nosuchprogram && nosuchprogram",
        "if true; then nosuchprogram; fi",
        "$MY_OWN_PROGRAM --x",
        "for x in *; do echo $x; done",
        "'unfinished",
        "echo '{}'",
        "cat > /dev/null",
    ],
)
def test_what_is_there_or_only_a_shell_can_tell_is_let_be(line: str, machine: Machine, place: Home) -> None:
    assert look(machine, place, line) == []


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("claude-code", "every PreToolUse goes through unchecked"),
        ("codex", "every PreToolUse goes through unchecked"),
        ("gemini", "every BeforeTool is refused"),
        ("copilot", "every PreToolUse is refused"),
    ],
)
def test_what_a_missing_program_leads_to_depends_on_the_agent(
    agent: str, said: str, machine: Machine, place: Home
) -> None:
    [found] = look(machine, place, "/nowhere/guard", agent=agent)
    assert said in found.message


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini"])
def test_a_missing_python_script_blocks_everything_and_that_is_said(agent: str, machine: Machine, place: Home) -> None:
    [found] = look(machine, place, "python3 /nowhere/guard.py", agent=agent)
    assert "exits with 2" in found.message
    assert f"every {FILES[agent][1]} is blocked" in found.message


def test_a_missing_python_script_blocks_nothing_where_nothing_can_be_blocked(machine: Machine, place: Home) -> None:
    place.write("~/.claude/settings.json", groups("SessionEnd", command("python3 /nowhere/guard.py")))
    [found] = machine.findings("claude-code", check="programs")
    assert found.message.endswith("the hook does nothing")


def test_a_module_that_the_interpreter_does_not_have_is_told(machine: Machine, place: Home) -> None:
    interpreter = place.script("~/venv/bin/python3", "#!/bin/sh")
    (place.home / "venv/lib/python3.11/site-packages/present").mkdir(parents=True)
    [found] = look(machine, place, f"{interpreter} -m absent")
    assert (found.level, "'absent'" in found.message) == ("warning", True)
    assert look(machine, place, f"{interpreter} -m present.sub") == []


@pytest.mark.parametrize(
    ("content", "mode", "said"),
    [
        pytest.param("#!/bin/sh\n", 0o644, "is not executable", id="no permission"),
        pytest.param("#!/nowhere/python\n", 0o755, "wants /nowhere/python", id="no interpreter"),
        pytest.param("#!/usr/bin/env nosuchprogram\n", 0o755, "wants 'nosuchprogram'", id="no interpreter on PATH"),
        pytest.param("#!/usr/bin/env -S nosuchprogram -x\n", 0o755, "wants 'nosuchprogram'", id="env with options"),
        pytest.param("#!/bin/bash\r\nexit\r\n", 0o755, "Windows line ends", id="CRLF"),
        pytest.param("#!python3\n", 0o755, "no absolute path", id="a relative interpreter"),
    ],
)
def test_a_script_that_cannot_be_started_is_told(
    content: str, mode: int, said: str, machine: Machine, place: Home
) -> None:
    script = place.home / "guard"
    script.write_bytes(content.encode())
    script.chmod(mode)
    [found] = look(machine, place, str(script))
    assert (found.level, said in found.message) == ("error", True), found
    assert str(script) in found.fix or found.fix


def test_a_script_that_can_be_started_is_fine(machine: Machine, place: Home) -> None:
    script = place.script("~/my guard", "#!/usr/bin/env -S sh -e\nexit 0\n")
    assert look(machine, place, f"'{script}'") == []


def test_without_a_shell_a_script_needs_its_first_line(machine: Machine, place: Home) -> None:
    script = place.write("~/guard", "exit 0\n", executable=True)
    place.write("~/.claude/settings.json", groups("PreToolUse", command(str(script), args=[])))
    [found] = machine.findings("claude-code", check="programs")
    assert "no #! line" in found.message
    assert look(machine, place, str(script)) == []


def test_a_file_system_that_forbids_it_is_told() -> None:
    assert programs.cannot_start("/proc/self/status", "", in_shell=True) is not None


def test_nothing_that_is_configured_is_ever_run(machine: Machine, place: Home) -> None:
    trace = place.root / "ran"
    script = place.script("~/guard", f"touch {trace}")
    for agent, (path, event) in FILES.items():
        if agent != "hermes":
            place.write(path, groups(event, command(str(script)), command(f'python3 -c \'open("{trace}", "w")\'')))
    place.write("fairlead.toml", f'[[hook]]\non = "PreToolUse"\nrun = "{script}"\n')
    machine.examine()
    assert not trace.exists()


def test_a_relative_path_that_depends_on_the_directory_is_told(machine: Machine, place: Home) -> None:
    place.script("hooks/guard.sh", "exit 0")
    for line in ("./hooks/guard.sh", "bash hooks/guard.sh"):
        [found] = look(machine, place, line, "project_paths")
        assert (found.level, "$CLAUDE_PROJECT_DIR" in found.fix) == ("warning", True)
    assert look(machine, place, '"$CLAUDE_PROJECT_DIR"/hooks/guard.sh', "project_paths") == []


def test_agents_whose_hooks_start_in_the_project_may_have_relative_paths(machine: Machine, place: Home) -> None:
    place.script("hooks/guard.sh", "exit 0")
    place.write(".cursor/hooks.json", {"version": 1, "hooks": {"preToolUse": [{"command": "./hooks/guard.sh"}]}})
    assert machine.findings("cursor", check="project_paths") == machine.findings("cursor", check="programs") == []


def test_a_variable_that_the_agent_does_not_set_is_told(machine: Machine, place: Home) -> None:
    place.script("guard.sh", "exit 0")
    [found] = look(machine, place, '"$CLAUDE_PROJECT_DIR"/guard.sh', "project_paths", "codex")
    assert (found.level, "does not set $CLAUDE_PROJECT_DIR" in found.message) == ("error", True)
    assert look(machine, place, '"$CLAUDE_PROJECT_DIR"/guard.sh', "project_paths", "gemini") == []


def test_a_program_that_only_the_users_shell_finds_is_told(machine: Machine, place: Home) -> None:
    tool = place.script("~/.nvm/versions/node/v22/bin/mynode", "exit 0")
    place.write("~/.claude/settings.json", groups("Stop", command("mynode x"), command("mynode y"), command("sh x")))
    [found] = machine.findings("claude-code", check="search_path", PATH=f"{tool.parent}:/usr/bin:/bin")
    assert (found.level, found.fix) == ("warning", f"write {tool}")


def test_the_interpreter_of_a_script_must_be_found_as_well(machine: Machine, place: Home) -> None:
    tool = place.script("~/.pyenv/shims/mypython", "exit 0")
    script = place.script("~/guard", "#!/usr/bin/env mypython\n")
    place.write("~/.claude/settings.json", groups("Stop", command(str(script))))
    [found] = machine.findings("claude-code", check="search_path", PATH=f"{tool.parent}:/usr/bin:/bin")
    assert "'mypython' is found in" in found.message


def test_the_hooks_of_cline_are_programs_with_the_names_of_events(machine: Machine, place: Home) -> None:
    place.write("~/.cline/hooks/PreToolUse", "#!/bin/sh\n")
    place.script("~/.cline/hooks/PreTooluse2", "exit 0")
    found = machine.findings("cline")
    assert [(one.check, one.level) for one in found if one.level == "error"] == [
        ("programs", "error"),
        ("events", "error"),
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a b; c | d && e", [["a", "b"], ["c"], ["d"], ["e"]]),
        ("a 'b c' > x", [["a", "b c"]]),
        ("'unfinished", []),
    ],
)
def test_a_line_is_taken_apart_as_a_shell_does_it(line: str, expected: list[list[str]]) -> None:
    assert commands.simple_commands(line) == expected
