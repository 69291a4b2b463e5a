"""One fairlead.toml, and every real agent keeps to it; and the hooks of one agent guard all of the others."""

from __future__ import annotations

import pytest

from tests.agents.installing import add_hook, install, trust_in_codex
from tests.agents.playing import Played, Plays, play
from tests.agents.programs import Codex, Program
from tests.conftest import Home

DENIED, REWRITTEN, DELETED, WRITTEN, ASKED, HARMLESS = range(6)
RULES = """
guard = ["filesystem", "git"]

[[rule]]
effect = "write"
path = "migrations/**"
decision = "deny"
reason = "migrations are reviewed"

[[rule]]
effect = "write"
path = "schema/**"
decision = "ask"
reason = "somebody looks at the schema first"

[[hook]]
name = "a person deploys"
on = "PreToolUse"
tool = "Bash"
run = "if grep -q deploy-now; then echo 'a person deploys here'; exit 1; fi"

[[hook]]
name = "softly"
on = "PreToolUse"
tool = "Bash"
run = "~/softly"

[[hook]]
on = "SessionStart"
run = "echo the-harbour-is-open"

[[hook]]
on = "UserPromptSubmit"
run = "echo mind-the-buoys"

[[hook]]
on = "PostToolUse"
run = "~/turning"

[[hook]]
on = "Stop"
run = "[ -e ~/refused-once ] || { touch ~/refused-once; echo the-log-is-not-written; exit 1; }"
"""
SOFTLY = """
jq -c 'select(.tool_input.command | test("loud")) | {hookSpecificOutput: {hookEventName: "PreToolUse",
  permissionDecision: "allow", updatedInput: (.tool_input | .command |= gsub("loud"; "soft"))}}'
"""
TURNING = """
echo '{"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "the-tide-turns"}}'
"""


def work(program: Program, place: Home) -> Played:
    program.prepare(place)
    place.script("~/softly", SOFTLY)
    place.script("~/turning", TURNING)
    place.write("~/.config/fairlead/fairlead.toml", RULES)
    install(program, place)
    script = [
        program.shell("touch deployed # deploy-now"),
        program.shell("echo loud > loud.txt"),
        program.shell(f"[ ~ = {place.home} ] && rm -rf ~"),  # nobody's home but this test's
        program.write(place.project / "migrations/1.sql", "drop table users;\n"),
        program.write(place.project / "schema/users.sql", "create table users;\n"),
        program.shell("echo harmless > harmless.txt"),
    ]
    return play(program, place, script)


def test_a_denied_command_does_not_run_and_the_model_sees_why(scene: Plays) -> None:
    done = scene(work)
    assert not done.exists("deployed"), done.story
    assert "a person deploys here" in done.result(DENIED), done.story


def test_a_rewritten_command_runs_as_rewritten_or_not_at_all(scene: Plays, program: Program) -> None:
    done = scene(work)
    assert not done.exists("loud.txt"), done.story
    assert done.exists("soft.txt") == program.rewrites, done.story
    if not program.rewrites:
        assert "echo soft > soft.txt" in done.result(REWRITTEN), done.story


def test_the_guard_keeps_the_home_from_a_command(scene: Plays) -> None:
    done = scene(work)
    assert done.place.home.is_dir(), done.story
    assert "filesystem.delete-home" in done.result(DELETED), done.story


def test_the_guard_keeps_a_file_from_the_agents_own_tool(scene: Plays) -> None:
    done = scene(work)
    assert not done.exists("migrations/1.sql"), done.story
    assert "migrations are reviewed" in done.result(WRITTEN), done.story


def test_what_a_person_has_to_agree_to_does_not_happen_without_one(scene: Plays) -> None:
    done = scene(work)
    assert not done.exists("schema/users.sql"), done.story
    assert "somebody looks at the schema first" in done.result(ASKED), done.story


def test_a_harmless_command_runs(scene: Plays) -> None:
    done = scene(work)
    assert done.exists("harmless.txt"), done.story


@pytest.mark.parametrize(
    "words",
    [
        pytest.param("the-harbour-is-open", id="SessionStart"),
        pytest.param("mind-the-buoys", id="UserPromptSubmit"),
        pytest.param("the-tide-turns", id="PostToolUse"),
    ],
)
def test_context_reaches_the_model(scene: Plays, words: str) -> None:
    done = scene(work)
    assert done.played.model.heard(words), done.story


def test_stop_is_refused_once_and_the_model_goes_on(scene: Plays) -> None:
    done = scene(work)
    assert done.played.model.heard("the-log-is-not-written"), done.story
    assert len(done.played.model.turns) == 8, done.story  # six calls, and twice "done"
    assert done.played.session.code == 0, done.story


def endless(program: Program, place: Home) -> Played:
    program.prepare(place)
    place.write("~/.config/fairlead/fairlead.toml", '[[hook]]\non = "Stop"\nrun = "echo never-enough; exit 1"\n')
    install(program, place)
    return play(program, place)


def test_a_stop_hook_that_always_refuses_comes_to_an_end(scene: Plays) -> None:
    done = scene(endless)
    assert done.played.session.ended, done.story
    assert done.played.model.heard("never-enough"), done.story
    assert 2 <= len(done.played.model.turns) <= 10, done.story


def foreign(program: Program, place: Home) -> Played:
    """Hooks that were written for Claude Code and for Gemini CLI, each in its own settings."""
    program.prepare(place)
    claude, gemini = "~/.claude/settings.json", "~/.gemini/settings.json"
    add_hook(place, claude, "PreToolUse", _refuse(place, "sail-away", ".command"), matcher="Bash")
    add_hook(place, claude, "PreToolUse", _refuse(place, "chart", ".file_path"), matcher="Edit|Write")
    add_hook(place, gemini, "BeforeTool", _refuse(place, "anchor", ".command"), matcher="run_shell_command")
    install(program, place)
    script = [
        program.shell("touch sailed # sail-away"),
        program.write(place.project / "chart.txt", "here be dragons\n"),
        program.shell("touch dropped # anchor"),
        program.shell("touch allowed"),
    ]
    return play(program, place, script)


def _refuse(place: Home, word: str, field: str) -> str:
    """A hook in the old style: exit 2 refuses, stderr is the reason. It keeps count of its runs."""
    count = f"echo ran >> {place.home}/{word}.runs"
    test = f"jq -r '.tool_input{field}' | grep -q {word}"
    return str(place.script(f"~/{word}", f"{count}\nif {test}; then echo 'the hook {word} refuses' >&2; exit 2; fi"))


@pytest.mark.parametrize(
    ("call", "word", "made"),
    [
        pytest.param(0, "sail-away", "sailed", id="Claude Code's Bash"),
        pytest.param(1, "chart", "chart.txt", id="Claude Code's Edit|Write"),
        pytest.param(2, "anchor", "dropped", id="Gemini CLI's run_shell_command"),
    ],
)
def test_a_hook_written_for_one_agent_guards_every_other(scene: Plays, call: int, word: str, made: str) -> None:
    done = scene(foreign)
    assert not done.exists(made), done.story
    assert f"the hook {word} refuses" in done.result(call), done.story


def test_what_no_hook_refuses_runs(scene: Plays) -> None:
    done = scene(foreign)
    assert done.exists("allowed"), done.story


@pytest.mark.parametrize(("word", "calls"), [("sail-away", 3), ("chart", 1)])
def test_no_hook_runs_twice_for_one_call(scene: Plays, word: str, calls: int) -> None:
    done = scene(foreign)
    assert (done.place.home / f"{word}.runs").read_text().count("ran") == calls, done.story


@pytest.mark.agents
@pytest.mark.skipif(bool(Codex().why_not), reason=Codex().why_not)
def test_codex_runs_no_hook_before_it_is_trusted_and_init_says_so(place: Home) -> None:
    program = Codex(bypass_trust=False)
    place.write("~/.config/fairlead/fairlead.toml", RULES)
    said = install(program, place)
    assert "not trusted yet" in said
    assert "/hooks" in said
    before = play(program, place, [program.shell("touch before # deploy-now")])
    assert (place.project / "before").exists(), before.story
    trust_in_codex(place)
    assert "not trusted yet" not in install(program, place)
    after = play(program, place, [program.shell("touch after # deploy-now")])
    assert not (place.project / "after").exists(), after.story
    assert "a person deploys here" in after.model.results[0], after.story
