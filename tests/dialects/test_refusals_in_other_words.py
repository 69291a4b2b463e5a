"""Whatever words an agent's event came in: what was refused is refused in the reply."""

from __future__ import annotations

import json

import pytest

from fairlead import Hooks, Verdict, deny, dialects
from fairlead.answering import told
from fairlead.dialects import AGENT_HALVES
from fairlead.errors import InputError
from fairlead.events import Event

EVENT = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/", "tool_name": "Bash",
         "tool_input": {"command": "git push --force"}}  # fmt: skip


def _refuse(_event: Event) -> Verdict:
    return deny("never force")


@pytest.mark.parametrize("agent", AGENT_HALVES)
def test_a_call_in_our_words_is_refused_by_every_agent_that_can_read_it(agent: str) -> None:
    half = dialects.agent_half(agent)
    try:
        event = half.read_event(json.dumps(EVENT).encode(), "", {})
    except InputError:
        return  # which refuses, too
    hooks = Hooks()
    hooks.register("*", _refuse)
    event, decision = told(half, hooks, event, hooks.fire_sync(event))
    reply = half.write_reply(event, decision)
    assert decision.denies
    assert reply.exit_code == 2 or b"never force" in reply.stdout
