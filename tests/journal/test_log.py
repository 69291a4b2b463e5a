"""`fairlead log`, and what is recorded by whom."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead import Hooks, PreToolUse
from fairlead.journal.writing import Journal
from tests.conftest import Home, Ran
from tests.models.provider import Provider, provider, says

__all__ = ["provider"]
Fairlead = Callable[..., Ran]


def event(command: str = "ls", **fields: Any) -> dict[str, Any]:
    call = {"tool_name": "Bash", "tool_input": {"command": command}}
    return {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": "/", **call, **fields}


def guarded(place: Home, more: str = "") -> None:
    place.write("~/.config/fairlead/fairlead.toml", f'guard = "all"\n{more}')


def folder(place: Home) -> Path:
    return place.home / ".local/state/fairlead/journal"


def test_every_event_is_there_with_its_hooks_and_its_answer(place: Home, fairlead: Fairlead) -> None:
    guarded(place, '[[hook]]\non = "PreToolUse"\ntool = "Write"\nrun = "true"\n')
    fairlead("hook", "--agent", "claude-code", stdin=event("ls"))
    said = fairlead("hook", "--agent", "claude-code", stdin=event("rm -rf /"))
    shown = fairlead("log")
    assert (shown.code, shown.err) == (0, "")
    lines = shown.out.decode().splitlines()
    assert len(lines) == 2
    assert "ls" in lines[0]
    assert all(word in lines[1] for word in ("deny", "claude-code", "PreToolUse Bash", "rm -rf /", "by guard"))

    (last,) = [json.loads(line) for line in fairlead("log", "--decision", "deny", "--json").out.splitlines()]
    details = last["details"]
    assert details["reply"]["stdout"].encode() == said.out
    assert [(hook["name"], hook["verdict"]) for hook in details["hooks"]] == [("guard", "deny")]
    assert details["others"] == 1
    assert details["payload"]["tool_input"] == {"command": "rm -rf /"}

    whole = fairlead("log", str(last["n"])).out.decode()
    assert all(word in whole for word in ("deletes every", "fairlead · user", "1 hook for other", "exit 0"))


def test_what_cannot_be_read_is_there_too(place: Home, fairlead: Fairlead) -> None:
    guarded(place)
    assert fairlead("hook", "--agent", "claude-code", stdin=b"{nonsense").code != 0
    (entry,) = [json.loads(line) for line in fairlead("log", "--json").out.splitlines()]
    assert (entry["decision"], entry["agent"], entry["failed"]) == ("deny", "claude-code", 1)
    assert "JSON" in entry["details"]["reason"]


def test_an_engine_records_too(place: Home, fairlead: Fairlead) -> None:
    guarded(place)
    fairlead("fire", "--agent", "amcp", stdin={**event(), "hook_event_name": "PreToolUse"})
    assert "amcp" in fairlead("log").out.decode()


FILTERS: list[tuple[tuple[str, ...], list[str]]] = [
    ((), ["ls one", "rm -rf /", "Stop", "ls two"]),
    (("-n", "1"), ["ls two"]),
    (("--tool", "Bash"), ["ls one", "rm -rf /", "ls two"]),
    (("--event", "Stop"), ["Stop"]),
    (("--session", "s2"), ["ls two"]),
    (("--decision", "deny"), ["rm -rf /"]),
    (("--hook", "guard", "--text", "LS"), ["ls one", "ls two"]),
    (("--agent", "codex"), []),
    (("--since", "1h"), ["ls one", "rm -rf /", "Stop", "ls two"]),
    (("--until", "2020-01-01"), []),
    (("--failed",), []),
]


def test_filters(place: Home, fairlead: Fairlead) -> None:
    guarded(place)
    stop = {"hook_event_name": "Stop", "session_id": "s1"}
    for one in (event("ls one"), event("rm -rf /"), stop, event("ls two", session_id="s2")):
        fairlead("hook", "--agent", "claude-code", stdin=one)
    for words, expected in FILTERS:
        shown = [json.loads(line) for line in fairlead("log", "--json", *words).out.splitlines()]
        payloads = [entry["details"]["payload"] for entry in shown]
        found = [one["tool_input"]["command"] if "tool_input" in one else "Stop" for one in payloads]
        assert found == expected, words


def test_it_follows_what_happens(place: Home, fairlead: Fairlead) -> None:
    guarded(place)
    fairlead("hook", "--agent", "claude-code", stdin=event("before"))
    words = [sys.executable, "-m", "fairlead", "log", "-f", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=place.environ, cwd=place.project) as follower:
        assert follower.stdout is not None
        assert b"before" in follower.stdout.readline()
        fairlead("hook", "--agent", "claude-code", stdin=event("after"))
        assert b"after" in follower.stdout.readline()
        follower.send_signal(signal.SIGINT)
        assert follower.wait(timeout=60) == 130


def next_line(follower: subprocess.Popen[bytes]) -> bytes:
    assert follower.stdout is not None
    return follower.stdout.readline()


def test_it_goes_on_following_when_segments_go_and_when_somebody_begins_anew(place: Home) -> None:
    def write(text: str, **options: Any) -> None:
        about = {"agent": "codex", "session": "", "event": "Stop", "tool": "", "decision": "none", "hooks": []}
        Journal(str(folder(place)), **options).append({**about, "failed": 0, "ms": 1}, {"payload": {"text": text}})

    write("before")
    words = [sys.executable, "-m", "fairlead", "log", "-f", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=place.environ, cwd=place.project) as follower:
        assert b"before" in next_line(follower)
        for number in range(30):
            write(f"turned over {number}", segment=400, size=2_000)
        # What goes before anybody has looked is shown without its details; what is shown comes once, the last always.
        seen: list[int] = []
        text = ""
        while text != "turned over 29":
            row = json.loads(next_line(follower))
            seen.append(row["n"])
            text = row.get("details", {}).get("payload", {}).get("text", "")
        assert len(set(seen)) == len(seen)
        for path in folder(place).iterdir():
            path.unlink()
        write("begun anew")
        assert b"begun anew" in next_line(follower)
        follower.send_signal(signal.SIGINT)
        assert follower.wait(timeout=60) == 130


def test_follow_finds_a_text_too(place: Home, fairlead: Fairlead) -> None:
    guarded(place)
    words = [sys.executable, "-m", "fairlead", "log", "-f", "--json", "--text", "WANTED"]
    fairlead("hook", "--agent", "claude-code", stdin=event("wanted at first"))
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=place.environ, cwd=place.project) as follower:
        assert b"wanted at first" in next_line(follower)
        fairlead("hook", "--agent", "claude-code", stdin=event("another"))
        fairlead("hook", "--agent", "claude-code", stdin=event("wanted later"))
        assert b"wanted later" in next_line(follower)
        follower.send_signal(signal.SIGINT)
        follower.wait(timeout=60)


def test_none_of_them_is_none_of_them(place: Home, fairlead: Fairlead) -> None:
    guarded(place)
    fairlead("hook", "--agent", "claude-code", stdin=event())
    assert (fairlead("log", "-n", "0").out, fairlead("log", "-n", "-3").out) == (b"", b"")


def test_a_refusal_for_an_answer_that_nobody_understands_is_a_failure(
    place: Home, fairlead: Fairlead, provider: Provider
) -> None:
    hook = '[[hook]]\non = "PreToolUse"\nname = "careful"\nprompt = "Safe? $COMMAND"\ntimeout = "5m"\n'
    place.write("~/.config/fairlead/fairlead.toml", hook)
    provider.script(says({"ok": False, "reason": "no"}), says("hm"))
    for command in ("clear", "unclear"):
        fairlead("hook", "--agent", "claude-code", stdin=event(command), env=provider.environ("anthropic"))
    (entry,) = [json.loads(line) for line in fairlead("log", "--failed", "--json").out.splitlines()]
    assert entry["details"]["payload"]["tool_input"]["command"] == "unclear"
    assert (entry["decision"], entry["failed"], entry["said"]) == ("deny", 1, ["failed"])
    assert fairlead("replay", "--json").json["differences"] == []


def test_an_event_that_is_too_long_as_a_whole_is_cut_and_says_so(place: Home, fairlead: Fairlead) -> None:
    guarded(place)
    edits = [{"old_string": "x" * 50_000, "new_string": "y"}] * 60
    long = event(tool_name="MultiEdit", tool_input={"file_path": "a.py", "edits": edits})
    fairlead("hook", "--agent", "claude-code", stdin=long)
    assert sum(path.stat().st_size for path in folder(place).iterdir()) < 1_200_000
    shown = fairlead("log", "2").out.decode()
    assert "a part: the whole had 3," in shown
    assert fairlead("replay", "--json").json["not_judged"] == {"it was too long to be kept whole": 1}
    assert "too long to be kept whole" in fairlead("explain", "--entry", "2").err
    assert "too long to be kept whole" in fairlead("test", "--record", "2").err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_only_be_read_can_be_searched(place: Home, fairlead: Fairlead) -> None:
    guarded(place)
    fairlead("hook", "--agent", "claude-code", stdin=event("rm -rf /"))
    folder(place).chmod(0o500)
    try:
        assert b"rm -rf /" in fairlead("log", "--text", "rm").out
        assert fairlead("log", "--verify").code == 0
        answer = fairlead("hook", "--agent", "claude-code", stdin=event("rm -rf /"))
        assert b"deny" in answer.out
    finally:
        folder(place).chmod(0o700)


def test_the_library_records_where_that_is_wanted(place: Home, fairlead: Fairlead) -> None:
    guarded(place)
    call = PreToolUse(session_id="s", tool_name="Bash", tool_input={"command": "rm -rf /"})
    for record in (False, True):
        hooks = Hooks.load(place.project, environ=place.environ, managed="/nowhere", record=record, agent="amcp")
        assert hooks.fire_sync(call).denies
    (entry,) = [json.loads(line) for line in fairlead("log", "--json").out.splitlines()]
    assert (entry["agent"], entry["decision"]) == ("amcp", "deny")


@pytest.mark.parametrize("how", ["configuration", "environment"])
def test_it_can_be_switched_off(place: Home, fairlead: Fairlead, how: str) -> None:
    guarded(place, '[journal]\nmode = "off"\n' if how == "configuration" else "")
    env = {} if how == "configuration" else {"FAIRLEAD_JOURNAL": "off"}
    fairlead("hook", "--agent", "claude-code", stdin=event(), env=env)
    assert not folder(place).exists()
    assert b"The journal is empty" in fairlead("log").out


def test_without_payloads_nothing_of_the_call_is_kept(place: Home, fairlead: Fairlead) -> None:
    guarded(place, '[journal]\nmode = "without-payloads"\n')
    fairlead("hook", "--agent", "claude-code", stdin=event("echo sekret-word"))
    assert all(b"sekret-word" not in path.read_bytes() for path in folder(place).iterdir())
    (entry,) = [json.loads(line) for line in fairlead("log", "--json").out.splitlines()]
    assert entry["hooks"] == ["guard"]


def test_a_project_cannot_have_itself_left_out(place: Home, fairlead: Fairlead) -> None:
    guarded(place)
    place.write("fairlead.toml", '[journal]\nmode = "off"\n')
    fairlead("hook", "--agent", "claude-code", "--project", str(place.project), stdin=event())
    assert len(fairlead("log", "--json").out.splitlines()) == 1
    (problem,) = json.loads(fairlead("check", "--json").out)
    assert "of a project is ignored" in problem["message"]


def test_a_journal_that_cannot_be_written_is_said_and_changes_nothing(place: Home, fairlead: Fairlead) -> None:
    guarded(place)
    folder(place).parent.mkdir(parents=True)
    folder(place).write_text("a file stands here")
    answer = fairlead("hook", "--agent", "claude-code", stdin=event("rm -rf /"))
    assert b"deny" in answer.out
    assert "not in the journal" in answer.err


def test_it_proves_itself_and_names_what_was_changed(place: Home, fairlead: Fairlead) -> None:
    guarded(place)
    fairlead("hook", "--agent", "claude-code", stdin=event("rm -rf /"))
    assert fairlead("log", "--verify").code == 0
    lines = next(folder(place).glob("*.jsonl"))
    lines.write_bytes(lines.read_bytes().replace(b'"deny"', b'"none"'))
    found = fairlead("log", "--verify")
    assert found.code == 1
    assert b"entry 2 was changed" in found.out


def test_a_recorded_event_can_be_explained(place: Home, fairlead: Fairlead) -> None:
    guarded(place)
    payload = event("rm -rf /", hook_event_name="BeforeTool", tool_name="run_shell_command")
    fairlead("hook", "--agent", "gemini", stdin=payload)
    found = fairlead("explain", "--entry", "2", "--json").json
    assert (found["agent"], found["decision"], found["payload"]["tool_input"]) == (
        "gemini", "deny", {"command": "rm -rf /"}
    )  # fmt: skip
    assert fairlead("explain", "--entry", "2", "--as", "codex", "--json").json["agent"] == "codex"
    assert fairlead("explain", "--entry", "77").code == 64


def test_exports(place: Home, fairlead: Fairlead, tmp_path: Path) -> None:
    guarded(place)
    for command in ("ls", "=cmd|' /C calc'!A0"):
        fairlead("hook", "--agent", "claude-code", stdin=event(command))
    for kind in ("jsonl", "csv"):
        path = tmp_path / f"out.{kind}"
        assert fairlead("log", "--export", str(path)).code == 0
        assert path.stat().st_mode & 0o077 == 0
    assert len([json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]) == 2
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["tool"] for row in rows] == ["Bash", "Bash"]
    assert fairlead("log", "--export", str(tmp_path / "out.xml")).code == 64


def test_parquet(place: Home, fairlead: Fairlead, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    guarded(place)
    fairlead("hook", "--agent", "claude-code", stdin=event())
    path = tmp_path / "out.parquet"
    assert fairlead("log", "--export", str(path)).code == 0
    (row,) = parquet.read_table(path).to_pylist()
    assert (row["agent"], row["decision"], json.loads(row["input"])) == ("claude-code", "none", {"command": "ls"})


@pytest.mark.parametrize(
    "words", [("--since", "noon"), ("--since", "0001-01-01"), ("99",), ("--decision", "maybe"), ("--wat",)]
)
def test_a_slip_is_a_sentence(fairlead: Fairlead, words: tuple[str, ...]) -> None:
    ran = fairlead("log", *words)
    assert ran.code == 64
    assert "Traceback" not in ran.err
    assert os.linesep in ran.err
