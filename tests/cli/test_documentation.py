"""The examples in README.md and docs/commands are run as they stand.

Each page gets a scratch project of its own, and its marked blocks are taken in order:

    <!-- file: NAME -->   the block is written to this file of the project
    <!-- run -->          a `python` block is run; in a `console` block, the lines after `$ ` are run by sh,
                          and what follows is their output
    <!-- run: N -->       the same, and the last command exits with N

In expected output `…` stands for any text, and a line of its own that is `…` for any lines. How many spaces
there are between two columns does not matter.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.cli import COMMANDS
from tests.conftest import Home

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "commands").glob("*.md"))]
BLOCK = re.compile(r"^<!-- (file|run)(?:: *(\S+))? -->\n```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture
def environ(place: Home) -> dict[str, str]:
    program = place.root / "bin" / "fairlead"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fairlead "$@"\n')
    program.chmod(0o755)
    temporary = place.root / "tmp"  # ours: a checkout below /tmp is no temporary place to the reader of a page
    temporary.mkdir()
    return {**place.environ, "PATH": f"{program.parent}:{place.environ['PATH']}", "TMPDIR": str(temporary)}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_every_example_does_what_the_page_says(page: Path, place: Home, environ: dict[str, str]) -> None:
    blocks = BLOCK.findall(page.read_text())
    assert blocks, "this page shows nothing that can be run"
    for kind, argument, language, text in blocks:
        if kind == "file":
            place.write(argument, text)
        elif language == "python":
            run([sys.executable, "-c", text], place, environ, 0)
        else:
            play(text, int(argument or 0), place, environ)


def play(text: str, last_exit: int, place: Home, environ: dict[str, str]) -> None:
    """A console session, command by command."""
    commands = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    for number, part in enumerate(commands, 1):
        command, _, expected = part.partition("\n")
        output = run(["/bin/sh", "-c", command], place, environ, last_exit if number == len(commands) else 0)
        assert re.fullmatch(pattern(expected), output), f"$ {command}\n{output}\n--- the page says:\n{expected}"


def run(words: list[str], place: Home, environ: dict[str, str], exit_code: int) -> str:
    done = subprocess.run(
        words, capture_output=True, text=True, cwd=place.project, env=environ, timeout=60, check=False
    )
    assert done.returncode == exit_code, done.stdout + done.stderr
    return done.stdout


def pattern(expected: str) -> str:
    lines = expected.splitlines(keepends=True)
    return "".join(
        r"(?:.*\n)*" if line.strip() == "…" else ".*".join(map(literally, line.split("…"))) for line in lines
    )


def literally(text: str) -> str:
    return re.sub(r"(?:\\ ){2,}", " +", re.escape(text))


@pytest.mark.parametrize("page", [*PAGES, *sorted((ROOT / "docs").glob("*.md"))], ids=page_id)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_page_and_every_option_is_on_it(name: str, place: Home) -> None:
    page = (ROOT / "docs" / "commands" / f"{name}.md").read_text()
    shown = run([sys.executable, "-m", "fairlead", name, "--help"], place, place.environ, 0)
    listed = re.findall(r"^  (?:-\w(?: [A-Z]+)?, )?--.*", shown, re.MULTILINE)  # before 3.13 `-n COUNT, --count COUNT`
    options = {option for line in listed for option in re.findall(r"(?:^  |, )(--[a-z-]+)", line)} - {"--help"}
    assert "--json" in options or name in ("fire", "hook")
    assert {option for option in options if option not in page} == set()
