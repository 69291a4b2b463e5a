"""One valid tool call for each agent, and how each of them reads a refusal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fairlead import wire
from fairlead.answering import Request, as_engine, as_hook
from tests.conftest import Ran

AGENTS = ("claude-code", "codex", "code-agent", "codemie", "amcp", "claude-agent", "m")
"""Each way in which an event is written and an answer is read; tests/dialects has the other agents."""


def payload(agent: str, tool_input: Any = None, **more: Any) -> dict[str, Any]:
    tool_input = {"command": "ls"} if tool_input is None else tool_input
    if agent == "code-agent":
        inner = {"toolName": "Bash", "input": tool_input, **more}
        return {"type": "PreToolUse", "timestamp": 1, "sessionId": "s", "payload": inner}
    if agent == "claude-agent":
        return {"event": "pre_tool_use", "session_id": "s", "tool_name": "Bash", "tool_input": tool_input, **more}
    if agent == "m":
        return {"tool": "Bash", "input": tool_input, **more}
    return {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": tool_input, **more}


class Told:
    """An answer without a process around it."""

    def __init__(self, code: int, out: bytes, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err


def told(command: str, agent: str, raw: bytes, home: Path) -> Told:
    """What `fairlead fire` and `fairlead hook` say, in this process."""
    request = Request(agent=agent, raw=raw, project=str(home), environ={"HOME": str(home)}, managed=str(home))
    if command == "fire":
        return Told(0, wire.encode(as_engine(request).answer), "")
    reply = as_hook(request).reply
    return Told(reply.exit_code, reply.stdout, reply.stderr)


def refuses(agent: str, command: str, ran: Ran | Told) -> bool:
    """Whether the agent would not run the tool after this answer."""
    if command == "hook" and agent in ("claude-code", "codex", "codemie", "amcp", "code-agent") and not ran.out.strip():
        return ran.code == (1 if agent == "code-agent" else 2) and bool(ran.err.strip())
    if command == "hook" and agent == "code-agent":
        return ran.code == 1
    if ran.code != 0 or not ran.out:
        return False
    answer = json.loads(ran.out)
    specific = answer.get("hookSpecificOutput", {})
    return (
        specific.get("permissionDecision") == "deny"
        or answer.get("decision") in ("deny", "block")
        or answer.get("allowed") is False
        or answer.get("continue_execution") is False
    )
