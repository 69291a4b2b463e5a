"""`fairlead hook` stands in front of every tool call: what it imports is counted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import fairlead
from tests.conftest import Home

MAIN = Path(fairlead.__file__).parent / "__main__.py"
EVENT = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}
ALWAYS = set(
    """
    _record _version answering api calls cli cli._options cli._signals cli._stdin cli._stdout cli.hook degrade dialects
    dialects._claude_files dialects._claude_reply dialects._common dialects.claude_code dialects.native documents
    driving engine errors events folders handlers handlers.command hooks journal
    journal.keeping journal.recording journal.settings journal.writing layers matchers process spawning stops
    surroundings tools trust verdicts wire work
    """.split()
)
HEAVY = set(
    """
    argparse asyncio base64 collections contextlib dataclasses datetime email enum functools hashlib http inspect json
    logging pathlib pickle random re rich selectors shutil socket sqlite3 ssl subprocess tempfile threading tomllib
    typing urllib uuid yaml
    """.split()
)


def imported(place: Home, *words: str) -> set[str]:
    program = [sys.executable, "-I", "-X", "importtime", str(MAIN), "hook", "--agent", "claude-code", *words]
    done = subprocess.run(
        program, input=json.dumps(EVENT).encode(), capture_output=True, env=place.environ, cwd=place.project, check=True
    )
    # Only what comes after ours begins: before it the interpreter itself is at work.
    lines = [
        line.rpartition(b"|")[2].strip().decode() for line in done.stderr.splitlines() if line.startswith(b"import")
    ]
    return set(lines[next(index for index, name in enumerate(lines) if name.startswith("fairlead")) :])


def ours(found: set[str]) -> set[str]:
    return {name.removeprefix("fairlead.") for name in found if name.startswith("fairlead.")}


def test_an_event_that_nobody_looks_at_imports_nothing_else(place: Home) -> None:
    found = imported(place)
    assert ours(found) == ALWAYS
    assert {name.partition(".")[0] for name in found} & HEAVY == set()


def test_a_command_hook_needs_hardly_more(place: Home) -> None:
    place.write("~/.config/fairlead/fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "true"\n')
    place.write("~/.local/state/fairlead/x", "")
    found = imported(place)
    more = ours(found) - ALWAYS
    assert more <= {"leftovers", "watching", "exits", *READING}
    assert {name.partition(".")[0] for name in found} & (HEAVY - PARSING) == set()


READING = {"handlers.function"} | {f"dialects._native_{name}" for name in ("handlers", "hook", "output", "values")}
PARSING = {"collections", "contextlib", "datetime", "enum", "functools", "re", "tomllib", "typing"}
"""What reading TOML needs."""


def test_the_guard_needs_no_event_loop(place: Home) -> None:
    found = imported(place, "--guard")
    assert "fairlead.guard.engine" in found
    assert {"asyncio", "threading", "subprocess", "ssl"} & found == set()
