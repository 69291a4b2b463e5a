"""Every block of the document of AMCP, as it is printed."""

from __future__ import annotations

import json
import subprocess
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

TOML, JSON = 0, 1
COMMAND, SCRIPT, FUNCTION = 2, 3, 4
INPUT, OUTPUT = 5, 6
BLOCK_WRITES, LOG_CALLS, LINT = 7, 8, 9
LIBRARY = 10


@pytest.fixture
def doc() -> Document:
    return document("003")


def test_no_block_is_left_out(doc: Document) -> None:
    used = {TOML, JSON, COMMAND, SCRIPT, FUNCTION, INPUT, OUTPUT, BLOCK_WRITES, LOG_CALLS, LINT, LIBRARY}
    assert used == set(range(len(doc)))


def sent(doc: Document, **more: Any) -> Json:
    return {**json.loads(doc[INPUT]), **more}


def denied(reason: str) -> Json:
    specific = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": reason,
    }
    return {"continue": True, "hookSpecificOutput": specific}


VALIDATE = """grep -q forbidden && { echo "forbidden content" >&2; exit 2; }; exit 0"""


@pytest.fixture
def log(doc: Document, place: Home) -> Path:
    """The logging example, with its file in a folder of ours."""
    file = place.root / "amcp_tool_calls.log"
    place.write("scripts/log_all_tools.py", doc[LOG_CALLS].replace("/tmp/amcp_tool_calls.log", str(file)))
    return file


@pytest.mark.parametrize("level", [".amcp", "~/.config/amcp"])
@pytest.mark.parametrize("content", ["fine", "forbidden"])
def test_the_toml_configuration_before_a_tool(
    content: str, level: str, doc: Document, place: Home, log: Path, fire: Fire
) -> None:
    place.write(f"{level}/hooks.toml", doc[TOML])
    place.script("scripts/validate-writes.sh", VALIDATE)
    event = sent(doc, tool_input={"path": "/f.py", "content": content})

    answer = fire("amcp", event)

    if content == "forbidden":
        assert answer == denied("forbidden content")
        assert not log.exists(), "a denial ends the row"
    else:
        assert answer == {"continue": True}
        entry = json.loads(log.read_text())
        del entry["timestamp"]
        assert entry == {key: event[key] for key in ("session_id", "tool_name", "tool_input")}


@pytest.mark.parametrize(
    ("lint", "feedback"),
    [
        pytest.param("", None, id="nothing to say"),
        pytest.param("f.py:1:1 F401 unused", "Lint issues: f.py:1:1 F401 unused", id="one issue"),
        pytest.param("f.py:1:1 F401\\nf.py:2:1 E711", "Lint issues: f.py:1:1 F401\nf.py:2:1 E711", id="two issues"),
    ],
)
def test_the_toml_configuration_after_a_tool(
    lint: str, feedback: str | None, doc: Document, place: Home, stub: Stub, fire: Fire
) -> None:
    place.write(".amcp/hooks.toml", doc[TOML])
    place.script("scripts/lint-file.sh", doc[LINT])
    stub("ruff", f"printf '{lint}'")

    answer = fire("amcp", sent(doc, hook_event_name="PostToolUse", tool_response="ok"))

    assert answer == {"continue": True, **({"feedback": feedback} if feedback else {})}


@pytest.mark.parametrize(("tool", "content", "runs"), [
    ("write_file", "forbidden", True), ("apply_patch", "forbidden", True), ("read_file", "forbidden", False),
])  # fmt: skip
def test_the_json_configuration(tool: str, content: str, runs: bool, doc: Document, place: Home, fire: Fire) -> None:
    place.write(".amcp/hooks.json", doc[JSON])
    place.script("scripts/validate-writes.sh", VALIDATE)

    answer = fire("amcp", sent(doc, tool_name=tool, tool_input={"content": content}))

    assert answer == (denied("forbidden content") if runs else {"continue": True})


def test_a_command_handler(doc: Document, place: Home, fire: Fire) -> None:
    place.write(".amcp/hooks.toml", doc[COMMAND])
    variables = ("AMCP_PROJECT_DIR", "AMCP_SESSION_ID", "AMCP_HOOK_EVENT", "AMCP_TOOL_NAME")
    place.script("scripts/my-hook.sh", f'cat > "$HOME/stdin"; echo {" ".join(f"${name}" for name in variables)}')

    answer = fire("amcp", sent(doc))

    assert answer == {"continue": True, "feedback": f"{place.project} abc123 PreToolUse write_file"}
    assert json.loads((place.home / "stdin").read_text()) == sent(doc)


@pytest.mark.parametrize(
    ("tool", "path", "reason"),
    [
        ("write_file", "/path/to/file.py", ""),
        ("write_file", "/x/.ENV", "Writing to '/x/.env' is blocked for security"),
        ("apply_patch", "/root/.ssh/config", "Writing to '/root/.ssh/config' is blocked for security"),
        ("read_file", "/x/.env", ""),
    ],
)
def test_a_script_handler_blocks_writes_to_sensitive_files(
    tool: str, path: str, reason: str, doc: Document, place: Home, fire: Fire
) -> None:
    place.write(".amcp/hooks.toml", doc[SCRIPT])
    place.write("scripts/validate.py", doc[BLOCK_WRITES])

    answer = fire("amcp", sent(doc, tool_name=tool, tool_input={"path": path, "content": "c"}))

    assert answer == (denied(reason) if reason else {"continue": True})


def test_a_function_handler(doc: Document, place: Home, fire: Fire) -> None:
    place.write(".amcp/hooks.toml", doc[FUNCTION])
    place.write("~/lib/mypackage/__init__.py", "")
    place.write("~/lib/mypackage/hooks.py", "def validate_tool(given):\n    return 'saw ' + given['tool_use_id']\n")

    answer = fire("amcp", sent(doc), env={"PYTHONPATH": str(place.home / "lib")})

    assert answer == {"continue": True, "feedback": "saw toolu_01ABC123..."}


def test_the_printed_output_is_understood(doc: Document, place: Home, fire: Fire) -> None:
    place.write("answer.json", doc[OUTPUT])
    place.write(".amcp/hooks.toml", '[[hooks.PreToolUse.handlers]]\ncommand = "cat answer.json"\n')

    answer = fire("amcp", sent(doc))

    wanted = json.loads(doc[OUTPUT])
    assert wanted.pop("suppressOutput") is False
    assert answer == wanted


RUN = """
import ast, asyncio, sys
code = compile(sys.stdin.read(), "<document>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
names = {"tool_input": {"path": "/test.py", "content": "..."}}
asyncio.run(eval(code, names))
print(names["tool_input"])
"""


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("echo not now >&2; exit 2", "Blocked: not now\n{'path': '/test.py', 'content': '...'}\n"),
        (
            """echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"path": "/b.py"}}}'""",
            "{'path': '/b.py', 'content': '...'}\n",
        ),
        ("true", "{'path': '/test.py', 'content': '...'}\n"),
    ],
    ids=["denied", "rewritten", "allowed"],
)
def test_programs_need_another_import_and_nothing_else(command: str, printed: str, doc: Document, place: Home) -> None:
    place.write("~/.config/amcp/hooks.json", {"hooks": {"PreToolUse": {"handlers": [{"command": command}]}}})
    program = doc[LIBRARY].replace("from amcp.hooks import", "from fairlead.compat.amcp import")

    ran = subprocess.run(
        [sys.executable, "-c", RUN], input=program, cwd=place.project, env=place.environ, text=True, check=False,
        capture_output=True,
    )  # fmt: skip

    assert ran.stdout == printed, ran.stderr
