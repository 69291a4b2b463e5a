"""Every block of the document of claude-agent that is not Rust, as it is printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Home
from tests.seeds.conftest import Document, document

Json = dict[str, Any]
Fire = Callable[..., Any]
Stub = Callable[[str, str], Path]

SETTINGS, INPUT, OUTPUT, FRONT_MATTER, PLUGIN = 8, 9, 10, 17, 18
DIAGRAM = {0}


@pytest.fixture
def doc() -> Document:
    return document("004")


def test_no_block_is_left_out(doc: Document) -> None:
    rust = {number for number, language in enumerate(doc.languages) if language == "rust"}
    assert {SETTINGS, INPUT, OUTPUT, FRONT_MATTER, PLUGIN} | DIAGRAM | rust == set(range(len(doc)))


CHECK = """import json, pathlib, sys
if "rm -rf" in json.load(sys.stdin)["tool_input"].get("command", ""):
    print(pathlib.Path("output.json").read_text())
"""


@pytest.fixture
def configured(doc: Document, place: Home, stub: Stub) -> Path:
    """The settings as printed; only the log is elsewhere. Returns the log."""
    log = place.root / "audit.log"
    place.write(".claude/settings.json", doc[SETTINGS].replace("/tmp/audit.log", str(log)))
    place.write("check_security.py", CHECK)
    place.write("output.json", doc[OUTPUT])
    stub("python", f'exec {sys.executable} "$@"')
    stub("notify-send", 'echo "$1" > "$HOME/notified"')
    stub("cleanup-temp.sh", 'touch "$HOME/cleaned"')
    return log


def sent(doc: Document, **more: Any) -> Json:
    return {**json.loads(doc[INPUT]), **more}


@pytest.mark.usefixtures("configured")
def test_the_printed_input_gets_the_printed_output(doc: Document, fire: Fire) -> None:
    answer = fire("claude-agent", sent(doc))

    assert {key: answer[key] for key in json.loads(doc[OUTPUT])} == json.loads(doc[OUTPUT])


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize("more", [{"tool_input": {"command": "ls"}}, {"tool_name": "Read"}], ids=["safe", "no match"])
def test_no_output_allows(more: Json, doc: Document, fire: Fire) -> None:
    assert fire("claude-agent", sent(doc, **more))["continue_execution"] is True


def test_a_string_is_a_command(doc: Document, configured: Path, fire: Fire) -> None:
    event = {"event": "post_tool_use", "session_id": "s", "tool_name": "Bash", "tool_result": "x"}

    assert fire("claude-agent", event)["continue_execution"] is True

    assert configured.read_text() == '{"event":"$EVENT"}\n'  # in single quotes, as it is printed


@pytest.mark.usefixtures("configured")
def test_lists_are_commands(place: Home, fire: Fire) -> None:
    for name in ("session_start", "session_end"):
        assert fire("claude-agent", {"event": name, "session_id": "s"})["continue_execution"] is True

    assert (place.home / "notified").read_text() == "Session started\n"
    assert (place.home / "cleaned").exists()


@pytest.mark.parametrize(
    ("path", "words", "runs"),
    [
        (".claude/skills/tidy/SKILL.md", ("--with", "tidy"), True),
        (".claude/agents/tidy.md", ("--with", "tidy"), True),
        (".claude/skills/tidy/SKILL.md", (), False),
    ],
    ids=["skill", "subagent", "not on"],
)
@pytest.mark.parametrize("tool", ["Write", "Edit", "Bash"])
def test_the_front_matter(
    tool: str, path: str, words: tuple[str, ...], runs: bool, doc: Document, place: Home, fire: Fire
) -> None:
    place.write(path, f"---\nname: tidy\n{doc[FRONT_MATTER]}---\nText.\n")
    place.script("scripts/format.sh", "echo formatted")

    answer = fire("claude-agent", sent(doc, tool_name=tool), *words)

    assert answer["additional_context"] == ("formatted" if runs and tool != "Bash" else None)


@pytest.mark.parametrize("tool", ["Write", "Bash"])
def test_the_hooks_of_a_plugin(tool: str, doc: Document, place: Home, stub: Stub, fire: Fire) -> None:
    place.write("~/.claude/plugins/fmt/hooks/hooks.json", doc[PLUGIN])
    stub("fmt.sh", "echo formatted")

    answer = fire("claude-agent", {"event": "post_tool_use", "session_id": "s", "tool_name": tool, "tool_result": ""})

    assert answer["additional_context"] == ("formatted" if tool == "Write" else None)
