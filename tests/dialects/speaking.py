"""An agent's payload in, our event out; a verdict in, the agent's bytes out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fairlead import dialects
from fairlead.answering import told
from fairlead.api import Hooks
from fairlead.dialects import Reply
from fairlead.events import Event, ToolEvent
from fairlead.hooks import Setting
from fairlead.verdicts import Decision, Verdict

Json = dict[str, Any]
SETTING = Setting(project="/project", home="/home/u", environ={})


def read(agent: str, payload: Mapping[str, Any], event: str = "", **environ: str) -> Event:
    return dialects.agent_half(agent).read_event(json.dumps(payload).encode(), event, environ)


def said(event: Event) -> Json:
    """What an event says in our words, without what the agent sent besides."""
    return event.but(extra={}).payload()


def call(agent: str, payload: Mapping[str, Any]) -> tuple[str, Json]:
    event = read(agent, payload)
    assert isinstance(event, ToolEvent)
    return event.tool_name, event.tool_input


def parts(agent: str, payload: Mapping[str, Any]) -> list[Json]:
    """All that one call does, each as a hook sees it."""
    seen: list[Json] = []
    hooks = Hooks([], setting=SETTING)
    hooks.register("PreToolUse", lambda event: seen.append(event.tool_input))
    hooks.fire_sync(read(agent, payload))
    return seen


def answer(agent: str, payload: Mapping[str, Any], verdict: Verdict, event: str = "") -> Reply:
    """What the agent is told where all hooks together said `verdict`."""
    half = dialects.agent_half(agent)
    fired = read(agent, payload, event)
    seen, decision = told(half, Hooks([], setting=SETTING), fired, Decision(**verdict.__dict__))
    return half.write_reply(seen, decision)


def judged(agent: str, payload: Mapping[str, Any], verdict: Verdict) -> Reply:
    """What the agent is told where a hook said `verdict` about each call that it saw."""
    half = dialects.agent_half(agent)
    hooks = Hooks([], setting=SETTING)
    hooks.register("PreToolUse", lambda _event: verdict)
    fired = read(agent, payload)
    return half.write_reply(*told(half, hooks, fired, hooks.fire_sync(fired)))


def printed(value: Json) -> Reply:
    return Reply(stdout=json.dumps(value, separators=(",", ":")).encode() + b"\n")


def exit_2(text: str) -> Reply:
    return Reply(stderr=f"{text}\n", exit_code=2)


SILENCE = Reply()


# --- for the real program ----------------------------------------------------------------------------

USER = "~/.config/fairlead/fairlead.toml"
GUARD = """
[[hook]]
on = "PreToolUse"
guard = ["filesystem", "git", "secrets", "self"]
"""
REWRITE = """
[[hook]]
on = "PreToolUse"
tool = "Bash"
run = '''
cat > /dev/null
echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "ls -l"}}}'
'''
"""
