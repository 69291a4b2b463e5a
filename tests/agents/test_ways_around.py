"""What a model may try, knowingly or not, to do a thing that a hook refuses: it is refused there too."""

from __future__ import annotations

import re
import sys

import pytest

from tests.agents.installing import install
from tests.agents.model import Call
from tests.agents.playing import Played, Plays, play
from tests.agents.programs import Codex, Program
from tests.conftest import Home

codex_only = pytest.mark.skipif(bool(Codex().why_not), reason=Codex().why_not)

REFUSE = """
command=$(jq -r .tool_input.command)
case $command in *deploy-now*) echo "refused: $command"; exit 1;; esac
"""
RULES = """
guard = ["filesystem"]

[[hook]]
on = "PreToolUse"
tool = "Bash"
run = "~/refuse"

[[rule]]
effect = "write"
path = "migrations/**"
decision = "deny"
reason = "migrations are reviewed"
"""
UNFIT = """
[[hook]]
on = "PreToolUse"
if = "Bash(touch five*)"
run = "/nowhere/to-be-found"

[[hook]]
on = "PreToolUse"
if = "Bash(touch six*)"
run = "sleep 1000"
timeout = "1s"
"""


def _prepared(program: Program, place: Home, rules: str = RULES) -> None:
    program.prepare(place)
    place.script("~/refuse", REFUSE)
    place.write("~/.config/fairlead/fairlead.toml", rules)
    install(program, place)


def several_ways(program: Program, place: Home) -> Played:
    _prepared(program, place, RULES + UNFIT)
    at_once = [program.shell(f"touch {name}") for name in ("one # deploy-now", "two", "three # deploy-now")]
    others = program.other_shells("mkdir migrations; echo x > migrations/2.sql")
    helper = program.delegate()
    delegated = [helper, program.shell("touch four # deploy-now")] if helper else []
    unfit = [program.shell("touch five"), program.shell("touch six")]
    return play(program, place, [at_once, *unfit, *others, *delegated])


def test_of_several_calls_at_once_each_is_judged(scene: Plays) -> None:
    done = scene(several_ways)
    assert done.exists("two"), done.story
    for name in ("one", "three"):
        assert not done.exists(name), done.story
        assert done.played.model.heard(f"refused: touch {name} # deploy-now"), done.story


@pytest.mark.parametrize(
    ("name", "why"),
    [pytest.param("five", "cannot be run", id="not there"), pytest.param("six", "timed out", id="too slow")],
)
def test_a_hook_that_cannot_answer_lets_nothing_through(scene: Plays, name: str, why: str) -> None:
    done = scene(several_ways)
    assert not done.exists(name), done.story
    assert done.played.model.heard(why), done.story


def test_the_guard_reads_every_tool_that_runs_commands(scene: Plays, program: Program) -> None:
    if not program.other_shells(""):
        pytest.skip(f"{program.name} has one such tool")
    done = scene(several_ways)
    assert not done.exists("migrations/2.sql"), done.story
    assert done.played.model.heard("migrations are reviewed"), done.story


def test_a_subagent_is_held_to_the_same_hooks(scene: Plays, program: Program) -> None:
    if not program.delegate():
        pytest.skip(f"{program.name} has no subagents with this model")
    done = scene(several_ways)
    assert not done.exists("four"), done.story
    assert done.played.model.heard("refused: touch four # deploy-now"), done.story


def refused_prompt(program: Program, place: Home) -> Played:
    program.prepare(place)
    place.write("~/.config/fairlead/fairlead.toml", '[[hook]]\non = "UserPromptSubmit"\nrun = "echo no; exit 1"\n')
    install(program, place)
    return play(program, place)


def test_a_refused_prompt_never_reaches_the_model(scene: Plays) -> None:
    done = scene(refused_prompt)
    assert done.played.session.ended, done.story
    assert done.played.model.turns == [], done.story


def unreadable(program: Program, place: Home) -> Played:
    program.prepare(place)
    place.write("~/.config/fairlead/fairlead.toml", RULES + "[[hook\n")
    install(program, place)
    return play(program, place, [program.shell("touch made")])


def test_a_configuration_that_cannot_be_read_lets_nothing_through(scene: Plays) -> None:
    done = scene(unreadable)
    assert done.played.session.ended, done.story
    assert not done.exists("made"), done.story


def in_another_folder(program: Program, place: Home) -> Played:
    """With the hooks in the project's own file."""
    (place.project / "sub").mkdir()
    place.script("~/refuse", REFUSE)
    place.write("fairlead.toml", '[[hook]]\non = "PreToolUse"\ntool = "Bash"\nrun = "~/refuse"\n')
    command = f"{sys.executable} -I -m fairlead hook --agent {program.name} --trust-project"
    program.prepare(place, {"PreToolUse": command})
    return play(program, place, program.shell_in(place.project / "sub", "touch made # deploy-now"))


def test_the_projects_hooks_hold_in_every_folder_of_it(scene: Plays) -> None:
    done = scene(in_another_folder)
    assert not done.exists("sub/made"), done.story
    assert done.played.model.heard("refused: touch made # deploy-now"), done.story


@codex_only
@pytest.mark.agents
@pytest.mark.parametrize("before", ["", "cd . && "])
def test_a_patch_that_codex_takes_from_the_shell_is_judged_like_any_other(place: Home, before: str) -> None:
    program = Codex()
    _prepared(program, place)
    patch = "*** Begin Patch\n*** Add File: migrations/1.sql\n+drop table users;\n*** End Patch"
    played = play(program, place, [program.shell(f"{before}apply_patch <<'EOF'\n{patch}\nEOF")])
    assert not (place.project / "migrations").exists(), played.story
    assert "migrations are reviewed" in played.model.results[0], played.story


@codex_only
@pytest.mark.agents
def test_nothing_can_be_typed_into_a_shell_where_no_hook_sees_it(place: Home) -> None:
    """Codex asks no hook about `write_stdin`: the shell itself must not be opened."""
    program = Codex()
    _prepared(program, place)

    def type_in(results: list[str]) -> Call:
        session = re.search(r"session ID (\d+)", results[-1])
        return Call("write_stdin", {"session_id": int(session[1]) if session else 0, "chars": "touch typed\n"})

    played = play(program, place, [Call("exec_command", {"cmd": "bash", "tty": True, "yield_time_ms": 500}), type_in])
    assert not (place.project / "typed").exists(), played.story
    assert "guard.open-session" in played.model.results[0], played.story
