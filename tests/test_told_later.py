"""What a hook in the background says about what it would have refused; `once` without a session or a disk."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.journal.reading import Log, Wanted
from fairlead.journal.writing import LINES, Journal
from tests.conftest import Home, Ran

USER = "~/.config/fairlead/fairlead.toml"
CALL = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}
DONE = {**CALL, "hook_event_name": "PostToolUse", "tool_response": {"stdout": ""}}
STATE = ".local/state/fairlead"


def eventually(look: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


@pytest.mark.parametrize(
    "body",
    [
        "echo two tests fail; exit 1",
        "echo two tests fail >&2; exit 2",
        """echo '{"decision": "block", "reason": "two tests fail"}'""",
        """echo '{"continue": false, "stopReason": "two tests fail"}'""",
    ],
    ids=["exit 1", "exit 2", "block", "stop"],
)
def test_a_refusal_in_the_background_is_told_with_its_reason(
    body: str, place: Home, fairlead: Callable[..., Ran]
) -> None:
    gate = place.root / "gate"  # else it may be done before the event that has started it
    script = place.script("tests.sh", f"until [ -e {gate} ]; do sleep 0.01; done; {body}")
    place.write(USER, f'[[hook]]\non = "PostToolUse"\nname = "tests"\nrun = "{script}"\nasync = true\n')
    assert fairlead("hook", "--agent", "claude-code", stdin=DONE).out.strip() == b""
    gate.touch()
    eventually(lambda: list((place.home / STATE / "background").rglob("*.json")))
    reply = fairlead("hook", "--agent", "claude-code", stdin=CALL)
    assert "two tests fail" in reply.json["hookSpecificOutput"]["additionalContext"]
    assert "permissionDecision" not in reply.json["hookSpecificOutput"]


def test_without_a_session_once_keeps_no_hook_from_running(place: Home, fairlead: Callable[..., Ran]) -> None:
    count = place.root / "count"
    place.write(USER, f'[[hook]]\non = "PreToolUse"\nrun = "echo x >> {count}"\nonce = true\n')
    for _ in range(2):
        fairlead("hook", "--agent", "claude-code", stdin={**CALL, "session_id": ""})
    assert count.read_text() == "x\nx\n"


def test_once_refuses_nothing_where_it_cannot_be_written_down(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(USER, '[[hook]]\non = "PreToolUse"\nrun = "true"\nonce = true\n')
    place.write(f"~/{STATE}", "no folder")
    reply = fairlead("hook", "--agent", "claude-code", stdin=CALL)
    assert (reply.code, reply.out.strip()) == (0, b"")
    assert "not in the journal" in reply.err


@pytest.mark.parametrize(
    "line", [b'x,"chain":"0"}\n', b'{"n":"x","chain":"0"}\n', b'{"m":1,"chain":"0"}\n', b'[1],"chain":"0"}\n']
)
def test_a_strange_line_does_not_keep_the_next_entry_out(line: bytes, tmp_path: Path) -> None:
    about = {"agent": "codex", "session": "s", "event": "PreToolUse", "tool": "Bash", "decision": "none",
             "hooks": [], "failed": 0, "ms": 1.0}  # fmt: skip
    journal = Journal(str(tmp_path))
    first = journal.append(about, {})
    with (tmp_path / f"000001{LINES}").open("ab") as file:
        file.write(line)
    assert journal.append(about, {}) == first + 1
    assert [entry["n"] for entry in Log(str(tmp_path)).all(Wanted())] == [first, first + 1]
    assert json.loads((tmp_path / f"000001{LINES}").read_text().splitlines()[-1])["torn"] is True
