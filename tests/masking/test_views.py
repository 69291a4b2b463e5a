"""R10: more than fifty secrets go through Fairlead, and stand in nothing that anybody looks at."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.answering import Request, as_hook
from fairlead.journal.reading import Log, Wanted
from tests.conftest import Home, Ran
from tests.masking.canaries import SECRETS, TEXTS
from tests.masking.test_masking import is_told

TOML = "~/.config/fairlead/fairlead.toml"
HOOK = f"""
[[hook]]
name = "asks"
on = "PreToolUse"
run = "{{script}}"

[[hook]]
name = "never"
on = "PreToolUse"
tool = "Write"
run = "curl -H 'X-Api-Key: {SECRETS["a header of its own"]}' https://ci:{SECRETS["a password in a URL"]}@x.example"
"""


SAYS = """
import json, sys
print("refused: " + json.load(sys.stdin)["tool_input"]["command"], file=sys.stderr)
sys.exit(2)
"""


@pytest.fixture(scope="module")
def leaky(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A journal in which every one of them is: in the command, and in what a hook says about it."""
    place = Home(tmp_path_factory.mktemp("leaky"))
    script = place.script("says.py", f"#!{sys.executable} -IS\n{SAYS}")
    place.write(TOML, HOOK.format(script=script))
    place.write(".claude/settings.json", {"hooks": {"Stop": [{"hooks": [
        {"type": "http", "url": f"http://ci:{SECRETS['a password in a URL']}@x.example/hook"}]}]}})  # fmt: skip
    place.write("~/.claude/settings.json", {"hooks": {"Nope": [{"hooks": [
        {"type": "command", "command": f"TOKEN={SECRETS['a bearer']} /nowhere/x"}]}]}})  # fmt: skip
    for text in TEXTS.values():
        call = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "cwd": str(place.project),
                "tool_input": {"command": text}}  # fmt: skip
        answer = as_hook(Request(agent="claude-code", raw=json.dumps(call).encode(), environ=place.environ))
        assert b"refused" in answer.reply.stdout
    return place


@pytest.fixture(scope="module")
def run(leaky: Home) -> Callable[..., Ran]:
    def run(*words: str) -> Ran:
        program = [sys.executable, "-m", "fairlead", *words]
        return Ran(subprocess.run(program, capture_output=True, cwd=leaky.project, env=leaky.environ, check=False))

    return run


def journal(place: Home) -> Log:
    return Log(str(place.home / ".local/state/fairlead/journal"))


def told(text: str) -> list[str]:
    return [name for name, secret in SECRETS.items() if is_told(secret, text)]


LAST = "last"
VIEWS = {
    "log": ["log", "-n", "100"],
    "log --json": ["log", "-n", "100", "--json"],
    "one event": ["log", LAST],
    "one event as JSON": ["log", LAST, "--json"],
    "stats": ["stats"],
    "stats --json": ["stats", "--json"],
    "explain": ["explain", "--entry", LAST],
    "explain --json": ["explain", "--entry", LAST, "--json"],
    "replay": ["replay", "--run-all", "--text", "curl", "--json"],
    "list": ["list"],
    "list --json": ["list", "--json"],
    "check": ["check"],
    "doctor": ["doctor"],
    "doctor --json": ["doctor", "--json"],
    "an error": ["log", "--export", f"/nowhere/ci:{SECRETS['a GitHub token alone']}/x.csv"],
    "another error": ["serve", "--store", f"postgresql://app:{SECRETS['a password in a URL']}@127.0.0.1:1/x"],
}


@pytest.mark.parametrize("words", VIEWS.values(), ids=VIEWS.keys())
def test_no_secret_is_shown(words: list[str], leaky: Home, run: Callable[..., Ran]) -> None:
    number = max(entry["n"] for entry in journal(leaky).all(Wanted()) if "event" in entry)
    ran = run(*(str(number) if word == LAST else word for word in words))
    out = ran.out.decode() + ran.err
    assert out.strip()
    assert "Traceback" not in out
    assert told(out) == []


def test_whoever_says_so_sees_them(run: Callable[..., Ran]) -> None:
    shown = run("log", "-n", "100", "--json", "--show-secrets").out.decode()
    listed = [json.loads(line)["details"]["payload"]["tool_input"]["command"] for line in shown.splitlines()]
    assert listed == list(TEXTS.values())


def test_the_journal_itself_keeps_what_was_asked_for_its_owner_alone(leaky: Home) -> None:
    folder = leaky.home / ".local/state/fairlead"
    kept = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    assert SECRETS["a GitHub token alone"].encode() in kept
    assert [file for file in folder.rglob("*") if file.stat().st_mode & 0o077] == []


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_exports_hold_no_secret(kind: str, leaky: Home, run: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / f"x.{kind}"
    assert run("log", "--export", str(file)).code == 0
    assert told(exported(file)) == []
    assert run("log", "--export", str(file), "--show-secrets").code == 0
    assert len(told(exported(file))) > 40


def exported(file: Path) -> str:
    if file.suffix != ".parquet":
        return file.read_text()
    parquet = pytest.importorskip("pyarrow.parquet")
    return json.dumps(parquet.read_table(file).to_pylist(), default=str)


def test_a_recorded_case_has_a_stand_in_and_comes_out_as_before(leaky: Home, run: Callable[..., Ran]) -> None:
    entry = next(one for one in journal(leaky).all(Wanted(text=SECRETS["a GitHub token alone"])) if "event" in one)
    cases = leaky.project / "fairlead.tests.toml"
    recorded = run("test", "--record", str(entry["n"]))
    assert "holds what looks like a secret (gho…(40))" in recorded.err
    assert "another one of the same form" in recorded.err
    assert told(cases.read_text() + recorded.err + recorded.out.decode()) == []
    assert "gho_XXXX" in cases.read_text()
    tried = run("test", "--user", "--json")
    cases.unlink()
    assert (tried.code, tried.json["passed"]) == (0, 1), tried.out.decode() + tried.err


def test_a_recorded_case_keeps_it_where_that_is_wanted(leaky: Home, run: Callable[..., Ran]) -> None:
    entry = next(one for one in journal(leaky).all(Wanted(text=SECRETS["a GitHub token alone"])) if "event" in one)
    cases = leaky.project / "fairlead.tests.toml"
    recorded = run("test", "--record", str(entry["n"]), "--show-secrets")
    assert "before you share it" in recorded.err
    assert SECRETS["a GitHub token alone"] in cases.read_text()
    cases.unlink()


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =cmd|' /C calc'!A0", "\n=1", "\uff1d1+1", "\u200b=1"]


@pytest.mark.parametrize("text", FORMULAS, ids=ascii)
def test_a_spreadsheet_calculates_nothing_and_a_terminal_obeys_nothing(text: str, place: Home) -> None:
    from fairlead.journal.exporting import export

    payload = {"hook_event_name": "UserPromptSubmit", "session_id": text, "prompt": f"{text}\x1b]0;x\x07\x9b2J\u202e"}
    as_hook(
        Request(agent="claude-code", raw=json.dumps(payload).encode(), environ=place.environ, cwd=str(place.project))
    )
    file = place.root / "x.csv"
    assert export(journal(place), Wanted(), str(file)) == 1
    (row,) = csv.DictReader(file.read_text().splitlines(keepends=True))
    for cell in (row["session"], row["input"]):
        assert cell[0] == "'" or cell.lstrip()[:1] == "\\", ascii(cell)
    assert not set(file.read_text()) & set("\x1b\x07\x9b\u202e\u200b")
    assert os.stat(file).st_mode & 0o077 == 0
