"""`fairlead init` and `fairlead uninstall` as their user meets them."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from tests.conftest import Home, Ran
from tests.installing.conftest import everything_below

Run = Callable[..., Ran]
SETTINGS = '{\n  "model": "opus" // mine\n}\n'


@pytest.fixture(autouse=True)
def no_agents_of_this_machine(place: Home) -> None:
    """Only what a test puts there is found."""
    programs = place.root / "bin"
    programs.mkdir()
    place.environ["PATH"] = str(programs)


def program(place: Home, name: str) -> None:
    file = place.root / "bin" / name
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)


def test_where_no_agent_is_found_it_says_which_were_looked_for(fairlead: Run) -> None:
    ran = fairlead("init")
    assert ran.code == 1
    text = ran.out.decode()
    assert "No agent was found" in text
    assert all(name in text for name in ("Claude Code", "Codex", "Gemini CLI", "Amp"))
    assert fairlead("init", "--json").json["found"] == []


def test_programs_and_folders_show_an_agent(fairlead: Run, place: Home) -> None:
    program(place, "codex")
    place.write("~/.claude/settings.json", SETTINGS)
    place.write(".cursor/rules/x.md", "x")
    found = fairlead("init", "--json").json["found"]
    assert found == [
        {"agent": "claude-code", "because": ["~/.claude"]},
        {"agent": "codex", "because": ["codex"]},
        {"agent": "cursor", "because": [".cursor"]},
    ]


def test_without_a_terminal_and_without_yes_nothing_is_written(fairlead: Run, place: Home) -> None:
    file = place.write("~/.claude/settings.json", SETTINGS)
    before = everything_below(place.home)
    ran = fairlead("init")
    assert ran.code == 1
    text = ran.out.decode()
    assert "Nothing was written: there is nobody to ask. --yes writes 1 file." in text
    assert '-  "model": "opus" // mine' in text
    assert '+  "model": "opus", // mine' in text
    assert everything_below(place.home) == before
    assert file.read_text() == SETTINGS


def test_a_dry_run_shows_and_writes_nothing(fairlead: Run, place: Home) -> None:
    place.write("~/.claude/settings.json", SETTINGS)
    before = everything_below(place.home)
    ran = fairlead("init", "--dry-run", "--yes")
    assert ran.code == 0
    assert b"Nothing was written: this was a dry run." in ran.out
    assert everything_below(place.home) == before


def test_the_diff_is_the_change(fairlead: Run, place: Home) -> None:
    """Every line of the new file that was not in the old one is shown."""
    file = place.write("~/.claude/settings.json", SETTINGS)
    shown = fairlead("init", "--dry-run").out.decode()
    assert fairlead("init", "--yes").code == 0
    new = [line for line in file.read_text().splitlines() if line not in SETTINGS.splitlines()]
    assert new
    assert all(f"  +{line}" in shown for line in new)


def test_in_twice_and_out(fairlead: Run, place: Home) -> None:
    place.write("~/.claude/settings.json", SETTINGS)
    (place.home / ".codex").mkdir()
    before = everything_below(place.home)
    first = fairlead("init", "--yes")
    assert first.code == 0
    assert first.err == ""
    text = first.out.decode()
    assert "done      Claude Code: ~/.claude/settings.json" in text
    assert "What is left for you" in text
    assert "10 hooks not trusted yet" in text
    assert "/hooks" in text
    second = fairlead("init", "--yes")
    assert second.code == 0
    assert "in place  Claude Code, Codex: nothing to change" in second.out.decode()
    out = fairlead("uninstall", "--yes")
    assert out.code == 0
    assert "done      Codex: Fairlead is out" in out.out.decode()
    assert everything_below(place.home) == before
    again = fairlead("uninstall", "--yes")
    assert (again.code, again.out) == (0, b"Fairlead is not installed in any agent for your user.\n")


def test_one_broken_file_does_not_stop_the_others(fairlead: Run, place: Home) -> None:
    broken = place.write("~/.claude/settings.json", '{\n  "a": 1\n  "b": 2\n}')
    (place.home / ".codex").mkdir()
    ran = fairlead("init", "--yes")
    assert ran.code == 1
    text = ran.out.decode()
    assert "not done  Claude Code: ~/.claude/settings.json:3:3: not JSON: expected ',' or '}'" in text
    assert "done      Codex: ~/.codex/hooks.json" in text
    assert broken.read_text() == '{\n  "a": 1\n  "b": 2\n}'


def test_only_the_agents_that_are_named(fairlead: Run, place: Home) -> None:
    place.write("~/.claude/settings.json", SETTINGS)
    (place.home / ".codex").mkdir()
    assert fairlead("init", "--yes", "--agent", "codex", "--agent", "grok").code == 0
    assert (place.home / ".claude/settings.json").read_text() == SETTINGS
    assert (place.home / ".codex/hooks.json").exists()
    assert (place.home / ".grok/hooks/fairlead.json").exists()
    assert fairlead("uninstall", "--yes", "--agent", "grok").code == 0
    assert not (place.home / ".grok").exists()
    assert (place.home / ".codex/hooks.json").exists()


def test_a_project_of_its_own(fairlead: Run, place: Home) -> None:
    (place.project / ".claude").mkdir()
    ran = fairlead("init", "--yes", "--scope", "project")
    assert ran.code == 0
    assert "the file names this machine's Python" in ran.out.decode()
    assert (place.project / ".claude/settings.json").exists()
    assert fairlead("uninstall", "--yes").out.startswith(b"Fairlead is not installed")
    assert fairlead("uninstall", "--yes", "--scope", "project").code == 0
    assert everything_below(place.project) == {".claude": everything_below(place.project)[".claude"]}


USAGE = {
    "an unknown agent": (["--agent", "claud-code"], "did you mean 'claude-code'?"),
    "an agent that is only called": (["--agent", "m"], "unknown agent 'm'"),
    "an unknown scope": (["--scope", "world"], "invalid choice"),
    "an unknown option": (["--force"], "unrecognized arguments"),
    "no such directory": (["--project", "/no/such"], "there is no directory"),
}


@pytest.mark.parametrize("command", ["init", "uninstall"])
@pytest.mark.parametrize(("words", "message"), USAGE.values(), ids=USAGE)
def test_a_slip_in_the_command_line(command: str, words: list[str], message: str, fairlead: Run) -> None:
    ran = fairlead(command, *words)
    assert ran.code == 64
    assert message in ran.err


def test_json_tells_a_program_everything(fairlead: Run, place: Home) -> None:
    place.write("~/.claude/settings.json", SETTINGS)
    waiting = fairlead("init", "--json")
    assert waiting.code == 1
    [agent] = waiting.json["agents"]
    assert (agent["agent"], agent["scope"], agent["status"]) == ("claude-code", "user", "to do")
    assert agent["files"][0]["file"] == str(place.home / ".claude/settings.json")
    assert '+  "model": "opus", // mine' in agent["files"][0]["diff"]
    assert (place.home / ".claude/settings.json").read_text() == SETTINGS
    done = fairlead("init", "--json", "--yes")
    assert done.code == 0
    assert done.json["agents"][0]["status"] == "written"
    assert done.json["agents"][0]["next"]
    assert fairlead("init", "--json", "--yes").json["agents"][0]["status"] == "in place"
    assert fairlead("uninstall", "--json").code == 1
    out = fairlead("uninstall", "--json", "--yes")
    assert out.code == 0
    assert out.json["agents"][0]["status"] == "removed"


def test_hooks_that_are_switched_off_are_noticed(fairlead: Run, place: Home) -> None:
    place.write("~/.claude/settings.json", {"disableAllHooks": True})
    place.write("~/.gemini/settings.json", {"hooksConfig": {"enabled": False}})
    text = fairlead("init", "--yes").out.decode()
    assert "Claude Code: disableAllHooks is true in this file" in text
    assert "Gemini CLI: hooksConfig.enabled is false in this file" in text


def test_guard_is_written_and_kept(fairlead: Run, place: Home) -> None:
    place.write("~/.claude/settings.json", SETTINGS)
    assert fairlead("init", "--yes", "--guard").code == 0
    written = (place.home / ".claude/settings.json").read_text()
    assert " --guard" in written
    assert fairlead("init", "--yes").code == 0
    assert (place.home / ".claude/settings.json").read_text() == written
    assert fairlead("init", "--yes", "--no-guard").code == 0
    assert " --guard" not in (place.home / ".claude/settings.json").read_text()


def test_what_an_agent_cannot_enforce_is_said(fairlead: Run, place: Home) -> None:
    (place.home / ".codex").mkdir()
    assert "--enforce: it has no such option" in fairlead("init", "--yes", "--enforce").out.decode()


def test_letters_that_steer_a_terminal_are_shown_and_not_obeyed(fairlead: Run, place: Home) -> None:
    place.write("~/.claude/settings.json", '{\n  "a": "\x1b[31m"\n}'.replace("\x1b", "\\u001b") + "\n// \x1b[2J\n")
    ran = fairlead("init")
    assert b"\x1b" not in ran.out


def test_a_fairlead_that_will_be_gone_tomorrow_is_noticed(fairlead: Run, place: Home) -> None:
    place.write("~/.claude/settings.json", SETTINGS)
    folder = os.path.dirname(sys.executable)
    text = fairlead("init", "--dry-run", env={"XDG_CACHE_HOME": folder, "TMPDIR": str(place.project)}).out.decode()
    assert "is in a temporary place: when it goes, no hook can run" in text


def test_twice_on_one_machine_is_noticed(fairlead: Run, place: Home) -> None:
    place.write("~/.claude/settings.json", SETTINGS)
    fairlead("init", "--yes")
    text = fairlead("init", "--dry-run", "--scope", "project").out.decode()
    assert "it is installed for your user too: every hook runs twice; `fairlead uninstall --scope user`" in text


# --- on a terminal -----------------------------------------------------------------------------------


_IN_ITS_OWN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "fairlead", *sys.argv[1:]])
"""
"""So that Ctrl-C reaches it."""


def on_a_terminal(place: Home, answer: bytes, *words: str) -> tuple[int, str]:
    """Run in a terminal of 80 columns, and answer the question."""
    leader, follower = pty.openpty()
    environ = {**place.environ, "TERM": "xterm", "COLUMNS": "80"}
    process = subprocess.Popen(
        [sys.executable, "-c", _IN_ITS_OWN_TERMINAL, *words],
        stdin=follower, stdout=follower, stderr=follower, cwd=place.project, env=environ, start_new_session=True,
    )  # fmt: skip
    os.close(follower)
    shown, end, interrupts = b"", time.monotonic() + 60, answer == b"\x03"
    while time.monotonic() < end:
        if not select.select([leader], [], [], 1)[0]:
            if interrupts and not answer:  # a signal just before a read waits for the next one, as at any prompt
                os.write(leader, b"\x03")
            continue
        try:
            shown += os.read(leader, 65536)
        except OSError:  # the terminal has gone: it has ended
            break
        if b"[y/N] " in shown and answer:
            os.write(leader, answer)
            answer = b""
    else:
        process.kill()
        pytest.fail(f"it did not end: {shown.decode()}")
    os.close(leader)
    return process.wait(60), shown.decode()


ANSWERS = {
    "y": (b"y\n", True),
    "yes": (b"yes\n", True),
    "Enter": (b"\n", False),
    "n": (b"n\n", False),
    "Ctrl-D": (b"\x04", False),
}


@pytest.mark.parametrize(("answer", "writes"), ANSWERS.values(), ids=ANSWERS)
def test_it_asks_and_the_answer_is_no_unless_it_is_yes(answer: bytes, writes: bool, place: Home) -> None:
    file = place.write("~/.claude/settings.json", SETTINGS)
    code, shown = on_a_terminal(place, answer, "init")
    assert (code == 0) is writes
    assert (file.read_text() != SETTINGS) is writes
    assert "Write 1 file? [y/N]" in shown
    assert ("Nothing was written." in shown) is not writes


def test_a_terminal_gets_colour_and_the_long_command_once(place: Home) -> None:
    place.write("~/.claude/settings.json", SETTINGS)
    _, shown = on_a_terminal(place, b"n\n", "init")
    assert "\x1b[32m" in shown
    assert shown.count("__main__.py") == 1
    assert "…" in shown


def test_ctrl_c_at_the_question_changes_nothing(place: Home) -> None:
    file = place.write("~/.claude/settings.json", SETTINGS)
    code, shown = on_a_terminal(place, b"\x03", "init")
    assert code != 0
    assert "Traceback" not in shown
    assert file.read_text() == SETTINGS


# --- Codex's trust -----------------------------------------------------------------------------------


def test_hooks_that_codex_trusts_are_not_mentioned(fairlead: Run, place: Home) -> None:
    import hashlib

    (place.home / ".codex").mkdir()
    fairlead("init", "--yes")
    file = place.home / ".codex/hooks.json"
    lines = []
    for event, groups in json.loads(file.read_text())["hooks"].items():
        snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in event)[1:]
        one = groups[0]["hooks"][0]
        text = json.dumps(
            {"event_name": snake, "hooks": [{"async": False, **one}]}, sort_keys=True, separators=(",", ":")
        )
        digest = hashlib.sha256(text.encode()).hexdigest()
        lines.append(f'[hooks.state."{file}:{snake}:0:0"]\ntrusted_hash = "sha256:{digest}"\n')
    config = place.write("~/.codex/config.toml", "\n".join(lines))
    assert "trusted" not in fairlead("init", "--yes").out.decode()
    config.write_text(config.read_text().replace("sha256:", "sha256:0", 1))
    assert "1 hook not trusted yet" in fairlead("init", "--yes").out.decode()


def test_the_state_of_a_user_without_a_home_folder_is_made(fairlead: Run, place: Home) -> None:
    place.write("~/.claude/settings.json", SETTINGS)
    state = place.root / "state"
    assert fairlead("init", "--yes", env={"XDG_STATE_HOME": str(state)}).code == 0
    assert [path.name for path in sorted((state / "fairlead/installed").iterdir())] == ["claude-code-user.json", "lock"]
    assert not (place.home / ".local").exists()
