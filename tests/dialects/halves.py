"""Agents' halves in this process, and hooks of a user for the real program."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fairlead import dialects, tools
from fairlead.degrade import degrade
from fairlead.events import Event
from fairlead.verdicts import Decision, Verdict
from tests.conftest import Home, Ran

Json = dict[str, Any]


def read(agent: str, payload: Json, event: str = "", environ: Mapping[str, str] | None = None) -> Event:
    return dialects.agent_half(agent).read_event(json.dumps(payload).encode(), event, environ or {})


def fields(event: Event, *names: str) -> Json:
    return {name: getattr(event, name) for name in names}


def said(agent: str, payload: Json, verdict: Verdict, event: str = "") -> tuple[int, Json | None, str]:
    """Exit code, JSON and stderr that the agent gets for a verdict about its event."""
    half = dialects.agent_half(agent)
    seen, decision = tools.for_agent(read(agent, payload, event), Decision(**verdict.as_dict()))
    reply = half.write_reply(seen, degrade(seen, decision, half.CAN, half.NAME))
    return reply.exit_code, json.loads(reply.stdout) if reply.stdout else None, reply.stderr


def refusal_of_failure(agent: str, event: str = "") -> tuple[int, Json | None, str]:
    reply = dialects.agent_half(agent).write_failure(event, "it broke")
    return reply.exit_code, json.loads(reply.stdout) if reply.stdout else None, reply.stderr


HOOKS = """
[[hook]]
on = "PreToolUse"
tool = "Bash"
run = "if grep -q sudo; then echo 'no sudo here'; exit 1; fi"

[[hook]]
on = "PreToolUse"
tool = "Bash"
run = '''
if grep -q 'make clean'; then
  echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "make --dry-run clean"}}}'
fi
'''

[[hook]]
on = "PreToolUse"
guard = ["filesystem"]
"""
"""No sudo; `make clean` only dry; and nobody writes into the system."""


def with_hooks(place: Home) -> None:
    place.write("~/.config/fairlead/fairlead.toml", HOOKS)


def answer(ran: Ran) -> tuple[int, Json | None]:
    return ran.code, json.loads(ran.out) if ran.out else None
