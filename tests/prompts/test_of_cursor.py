"""Prompts of Cursor's own events, when another agent asks: they know the call by Cursor's name for its tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Home, Ran

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "beforeShellExecution": ("Bash", {"command": "ls"}),
    "beforeReadFile": ("Read", {"file_path": "/etc/hostname"}),
    "beforeMCPExecution": ("mcp__server__tool", {}),
}


@pytest.mark.parametrize("asked", CALLS)
@pytest.mark.parametrize("event", CALLS)
def test_a_prompt_runs_for_the_calls_that_it_is_about(
    event: str, asked: str, place: Home, fairlead: Callable[..., Ran]
) -> None:
    """There is no model here: a hook that fails closed and was asked refuses."""
    entry = {"type": "prompt", "prompt": "Is it safe?", "failClosed": True}
    place.write("~/.cursor/hooks.json", {"version": 1, "hooks": {event: [entry]}})
    tool, given = CALLS[asked]
    call = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": tool, "tool_input": given}
    reply = fairlead("hook", "--agent", "claude-code", stdin=call)
    assert (b'"deny"' in reply.out) == (event == asked), reply.err
