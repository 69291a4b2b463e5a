"""However a hook reaches a program of its project: other bytes do not run, or somebody was told that they may."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.trust import folder as trust_folder
from fairlead.trust import reviewing
from tests.conftest import Home, Ran
from tests.trust.conftest import BASH, claude_settings, judged, ran, review, trust

GOOD = {".sh": "#!/bin/sh\ntrue\n", ".py": "x = 1\n", "": "#!/bin/sh\ntrue\n"}
EVIL = {
    ".sh": '#!/bin/sh\necho evil >> "$HOME/ran"\n',
    ".py": "import os\nopen(os.environ['HOME'] + '/ran', 'a').write('evil')\n",
    "": '#!/bin/sh\necho evil >> "$HOME/ran"\n',
}


def native(run: object, more: str = "") -> tuple[str, str]:
    return "fairlead.toml", f'[[hook]]\nname = "n"\non = "PreToolUse"\nrun = {json.dumps(run)}\n{more}\n'


def copilot(**fields: object) -> tuple[str, str]:
    hook = {"type": "command", **fields}
    return ".github/hooks/x.json", json.dumps({"version": 1, "hooks": {"preToolUse": [hook]}})


COVERED: dict[str, tuple[tuple[str, str], str]] = {
    "the repository's top": (native("sh $(git rev-parse --show-toplevel)/h/x.sh"), "h/x.sh"),
    "the repository's top, quoted": (native('sh "$(git rev-parse --show-toplevel)/h/x.sh"'), "h/x.sh"),
    "the repository's top, in backticks": (native("sh `git rev-parse --show-toplevel`/h/x.sh"), "h/x.sh"),
    "its own folder": (native("sh x.sh", 'cwd = "h"'), "h/x.sh"),
    "its own folder, for a program": (native(["./x.sh"], 'cwd = "h"'), "h/x.sh"),
    "Copilot's own folder": (copilot(bash="./x.sh", cwd="h"), "h/x.sh"),
    "a variable that a shell runs": (native("bash -c true", 'env = { BASH_ENV = "h/x.sh" }'), "h/x.sh"),
    "a variable as an argument": (native(["env", "BASH_ENV=h/x.sh", "bash", "-c", "true"]), "h/x.sh"),
    "a variable that names it": (native("sh $SCRIPT", 'env = { SCRIPT = "h/x.sh" }'), "h/x.sh"),
    "PATH": (native("PATH=$PWD/h:$PATH; x.sh"), "h/x.sh"),
    "PATH, in place of another": (native("PATH=$PWD/h:$PATH; ls"), "h/ls"),
    "PATH in env": (native("ls", 'env = { PATH = "h:/usr/bin:/bin" }'), "h/ls"),
    "hooks of Git": (
        native("git -c core.hooksPath=h -c user.name=a -c user.email=a@b.example commit -q --allow-empty -m x"),
        "h/pre-commit",
    ),
    "a pattern": (native("sh h/*.sh"), "h/x.sh"),
    "a pattern for a shell": (native(["sh", "-c", "sh h/?.sh"]), "h/x.sh"),
    "a folder of parts": (native("run-parts --regex . h || true"), "h/x.sh"),
    "a folder for Python": (native("python3 h"), "h/__main__.py"),
    "a text for Python": (native("python3 -c 'import x'"), "x.py"),
    "a text for Python with a path": (native("python3 -c \"exec(open('h/x.py').read())\""), "h/x.py"),
    "a text that adds a folder": (native("python3 -c 'import sys; sys.path[:0] = [\"h\"]; import x'"), "h/x.py"),
    "PYTHONPATH": (native("PYTHONPATH=h python3 -m x"), "h/x.py"),
    "PYTHONPATH in env": (native("python3 -m x", 'env = { PYTHONPATH = "h" }'), "h/x.py"),
    "marks in the middle": (native('sh h"/x.sh"'), "h/x.sh"),
    "an escape in the middle": (native("./h/\\x.sh"), "h/x.sh"),
}


def put(place: Home, path: str, texts: dict[str, str]) -> None:
    place.write(path, texts[os.path.splitext(path)[1]], executable=True)


@pytest.mark.parametrize("case", COVERED)
def test_other_bytes_do_not_run_whichever_way_leads_to_them(place: Home, case: str) -> None:
    (file, text), program = COVERED[case]
    subprocess.run(["git", "init", "-q"], cwd=place.project, check=True)
    place.write(file, text)
    put(place, program, GOOD)
    trust(place)
    assert judged(place).decision == "none", "it works as long as nothing has changed"
    put(place, program, EVIL)
    decision = judged(place)
    assert (decision.decision, ran(place)) == ("deny", [])
    assert program in decision.reason


WITHIN = {
    "the project's variable": ("h/a.sh", '. "$FAIRLEAD_PROJECT_DIR/h/x.sh"'),
    "the project's variable in marks": ("h/a.sh", 'exec sh "$FAIRLEAD_PROJECT_DIR"/h/x.sh'),
    "a script without an ending": ("h/a", ". ./h/x.sh"),
    "a text put together": ("h/a.py", 'import os\nroot = os.getcwd()\nos.system(f"sh {root}/h/x.sh")'),
}


@pytest.mark.parametrize("case", WITHIN)
def test_nor_do_they_by_a_trusted_script(place: Home, case: str) -> None:
    script, text = WITHIN[case]
    place.write(*native(f"{'python3' if script.endswith('.py') else 'sh'} {script}"))
    place.write(script, text)
    put(place, "h/x.sh", GOOD)
    trust(place)
    assert judged(place).decision == "none"
    put(place, "h/x.sh", EVIL)
    assert (judged(place).decision, ran(place)) == ("deny", [])


def test_nor_do_they_where_links_from_elsewhere_lead_to_them(place: Home) -> None:
    (place.root / "link").symlink_to(place.project)
    place.write(*native(f"sh {place.root}/link/h/x.sh"))
    put(place, "h/x.sh", GOOD)
    trust(place)
    assert judged(place).decision == "none"
    put(place, "h/x.sh", EVIL)
    assert (judged(place).decision, ran(place)) == ("deny", [])


def test_a_program_of_the_folder_in_which_the_agent_works_does_not_run(place: Home) -> None:
    place.write(*native("sh x.sh || true"))
    trust(place)
    put(place, "packages/a/x.sh", EVIL)
    decision = judged(place, {**BASH, "cwd": str(place.project / "packages/a")})
    assert (decision.decision, ran(place)) == ("deny", [])
    assert "packages/a/x.sh" in decision.reason


SAID = {
    "computed by a command": ("sh $(echo aC94LnNo | base64 -d)", "$(…)"),
    "computed by a variable": ("A=h/x; sh $A.sh", "$A.sh"),
    "a loop": ("for f in h/*.sh; do sh $f; done", "$f"),
    "found": ("find h -exec {} \\;", "-exec {}"),
    "found and run": ("find h -exec sh {} \\;", "-exec sh"),
    "listed": ("ls h/* | xargs -n1 true; ls h | xargs sh", "xargs sh"),
    "a folder of modules": ("PYTHONPATH=h python3 -c 1", "PYTHONPATH=h"),
    "a folder of Perl": ("perl -Ih -Mx -e1", "-Ih"),
    "installed": ("venv/bin/x", "venv/bin/x"),
    "make": ("make lint", "make"),
}


@pytest.mark.parametrize("case", SAID)
def test_what_no_digest_can_cover_is_said(place: Home, case: str) -> None:
    command, expected = SAID[case]
    place.write(*native(command))
    put(place, "h/x.sh", GOOD)
    put(place, "venv/bin/x", GOOD)
    (only,) = review(place).hooks
    assert expected in only.open_ended


ORDINARY = [
    "ruff check src",
    "prettier --check src/*.js",
    "cd src && ruff check .",
    "jq -r '.tool_input.command' | grep -q 'rm -rf' && exit 2 || exit 0",
    'X=$(jq -r .tool_input.file_path); case "$X" in *.py) ruff format "$X";; esac',
    'if [ -n "$CLAUDE_FILE_PATHS" ]; then black "$CLAUDE_FILE_PATHS"; fi',
    "python3 -c \"import json,sys; sys.exit('rm' in json.load(sys.stdin)['tool_input']['command'])\"",
    "for f in $(git diff --name-only); do ruff $f; done",
    "find src -name '*.py' -exec ruff {} +",
    "git diff --name-only | xargs ruff check",
    "[[ $X == *.env ]] && exit 2",
    "vet ./...",
]


@pytest.mark.parametrize("command", ORDINARY)
def test_what_an_agent_works_on_is_no_part_of_a_hook_that_looks_at_it(place: Home, command: str) -> None:
    """Else each of its edits would be a change of the hook, and a question."""
    place.write("src/a.py", "")
    place.write("src/b.js", "")
    place.write(*native(command))
    (only,) = review(place).hooks
    assert only.now is not None
    assert (dict(only.now.files), only.unseen, only.open_ended) == ({}, (), ())


BESIDE = {
    "shell": ("h/a.sh", 'cat "$(dirname "$0")/rules.txt" >&2; exit 2'),
    "python": ("h/a.py", "import pathlib, sys\nsys.exit((pathlib.Path(__file__).parent / 'rules.txt').read_text())"),
}


@pytest.mark.parametrize("case", BESIDE)
def test_data_beside_a_script_that_names_it_is_there_when_its_copy_runs_and_counts(place: Home, case: str) -> None:
    """Settings of other systems have no key in which it could be declared."""
    script, text = BESIDE[case]
    command = f"{'python3' if script.endswith('.py') else 'sh'} {script} || exit 2"
    place.write(".claude/settings.json", claude_settings(command))
    place.write(script, text)
    place.write("h/rules.txt", "no such thing")
    trust(place)
    assert judged(place).reason == "no such thing"
    place.write("h/rules.txt", "")
    assert "h/rules.txt is not what you have trusted" in judged(place).reason


def test_a_script_may_write_over_the_data_beside_it_and_finds_what_was_trusted_the_next_time(place: Home) -> None:
    place.write(*native("sh h/a.sh"))
    place.write("h/a.sh", 'cat "$(dirname "$0")/state.json" >> "$HOME/ran"; echo other > "$(dirname "$0")/state.json"')
    place.write("h/state.json", "first\n")
    trust(place)
    assert [judged(place).decision, judged(place).decision] == ["none", "none"]
    assert ran(place) == ["first", "first"]
    (copy,) = Path(trust_folder(place.environ)).glob("copies/*/h/state.json")
    assert copy.stat().st_mode & 0o777 == 0o600  # root writes whatever the mode is


# --- what is shown -----------------------------------------------------------------------------------


def test_what_is_new_is_shown_whole(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(*native("sh h/x.sh"))
    place.write("h/x.sh", "true\n" * 300 + "rm -rf precious\n")
    assert "rm -rf precious" in fairlead("trust").out.decode()


def test_variables_are_shown_with_their_values(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(*native("true", 'env = { LD_PRELOAD = "h/x.so" }'))
    assert "LD_PRELOAD=h/x.so" in fairlead("trust").out.decode()


@pytest.mark.parametrize("sign", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\r"])
def test_a_line_ends_where_it_ends_for_the_one_who_runs_it(place: Home, sign: str) -> None:
    """Else a part of a comment would look like a command."""
    place.write(*native("sh h/x.sh"))
    (place.project / "h").mkdir()
    (place.project / "h/x.sh").write_bytes(f"# see{sign}exit 1\n".encode())
    found = review(place)
    assert f"+# see{sign}exit 1" in reviewing.difference(found.hooks[0], found)


def test_bytes_that_change_while_they_are_looked_at_are_not_shown_as_those_that_are_asked_about(place: Home) -> None:
    place.write(*native("sh h/x.sh"))
    place.write("h/x.sh", "rm -rf precious\n")
    found = review(place)
    place.write("h/x.sh", "true\n")
    shown = reviewing.difference(found.hooks[0], found)
    assert "+true" not in shown
    assert any("changed while it was looked at" in line for line in shown)


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_a_text_for_node_runs_the_copy_of_what_it_requires(place: Home) -> None:
    place.write(*native("node -e \"require('./h/x.js')\""))
    place.write("h/x.js", "console.error(__filename); process.exit(2)")
    trust(place)
    assert "copies" in judged(place).reason
