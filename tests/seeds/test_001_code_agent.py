"""Every block of the document of Code Agent, as it is printed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from fairlead import Hooks
from tests.conftest import Home
from tests.seeds.conftest import Document, document

Json = dict[str, Any]
Fire = Callable[..., Any]

SCHEMA, EXAMPLE, PROMPT, VALIDATE, LOG = 0, 1, 7, 10, 11
INTERFACES = {2, 3, 4, 5, 6, 8}
DIAGRAM = {9}


@pytest.fixture
def doc() -> Document:
    return document("001")


def event(name: str, **payload: Any) -> Json:
    return {"type": name, "timestamp": 1, "sessionId": "sess_abc123", "payload": payload}


@pytest.fixture
def example(doc: Document, place: Home) -> None:
    place.write(".claude/settings.json", doc[EXAMPLE])
    place.script("scripts/validate-command.sh", doc[VALIDATE])
    place.script("scripts/log-tool-usage.sh", doc[LOG])
    place.script("scripts/cleanup.sh", 'touch "$HOME/cleaned"')
    (place.home / ".code-agent").mkdir()


def test_no_block_is_left_out(doc: Document) -> None:
    assert {SCHEMA, EXAMPLE, PROMPT, VALIDATE, LOG} | INTERFACES | DIAGRAM == set(range(len(doc)))


@pytest.mark.usefixtures("example")
@pytest.mark.parametrize(
    ("command", "allowed"),
    [("ls", True), ("npm test", True), ("rm -rf /", False), ("cd / && rm -rf / --no-preserve-root", False)],
)
def test_commands_are_validated(command: str, allowed: bool, fire: Fire) -> None:
    result = fire("code-agent", event("PreToolUse", toolName="Bash", input={"command": command}))

    (only,) = result["results"]
    assert result["allowed"] is allowed
    assert only["decision"] == ("allow" if allowed else "block")
    assert only["output"].splitlines()[0] == "Tool: Bash"
    assert only["output"].splitlines()[2] == "Session: sess_abc123"
    assert only.get("error") == (None if allowed else "BLOCKED: Dangerous command")


@pytest.mark.usefixtures("example")
@pytest.mark.parametrize("tool", ["Write", "Edit"])
def test_the_echo_of_the_example_allows(tool: str, fire: Fire) -> None:
    result = fire("code-agent", event("PreToolUse", toolName=tool, input={"file_path": "/path/to/file.ts"}))

    assert result == {
        "allowed": True,
        "results": [
            {
                "hookId": "echo",
                "success": True,
                "output": "File operation: $TOOL_NAME on $FILE_PATH",  # in single quotes, as it is printed
                "decision": "allow",
            }
        ],
    }


@pytest.mark.usefixtures("example")
def test_tools_are_logged(place: Home, fire: Fire) -> None:
    for tool in ("Bash", "Read"):
        sent = event("PostToolUse", toolName=tool, input={"command": "ls"}, output="x")
        assert fire("code-agent", sent)["allowed"] is True

    lines = (place.home / ".code-agent/tool-usage.log").read_text().splitlines()
    assert [re.sub(r"^\S+Z ", "", line) for line in lines] == [
        f'| sess_abc123 | {tool} | {{"command":"ls"}}' for tool in ("Bash", "Read")
    ]


@pytest.mark.usefixtures("example")
def test_the_end_of_a_session_cleans_up(place: Home, fire: Fire) -> None:
    assert fire("code-agent", event("SessionEnd"))["allowed"] is True
    assert (place.home / "cleaned").exists()


@pytest.mark.usefixtures("example")
def test_other_tools_are_nobodys(fire: Fire) -> None:
    assert fire("code-agent", event("PreToolUse", toolName="Read", input={})) == {"allowed": True, "results": []}


def load(place: Home) -> Hooks:
    return Hooks.load(place.project, environ=place.environ, agent="code-agent", dialects=["code-agent"])


def test_the_schema_is_not_mistaken_for_a_configuration(doc: Document, place: Home) -> None:
    place.write("~/.claude/settings.json", doc[SCHEMA])

    hooks = load(place)

    assert list(hooks) == []
    assert [(p.line, p.column, p.message) for p in hooks.problems] == [(3, 5, "unknown event '<EventType>'")]


def test_the_prompt_hook_is_read(doc: Document, place: Home) -> None:
    place.write("~/.claude/settings.json", doc[PROMPT])

    hooks = load(place)

    (hook,) = hooks
    assert hooks.problems == ()
    assert (hook.events, hook.matcher.text, hook.timeout) == (("PreToolUse",), "Bash", 10.0)
    assert "Evaluate if this command is safe to execute: $COMMAND" in hook.handler.describe()
