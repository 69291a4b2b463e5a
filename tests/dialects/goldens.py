"""What each agent is told: every event that it has, every decision. `python -m tests.dialects.goldens` writes them.

A changed answer then shows as a change of a file that a person reads, beside the agent's page in docs/dialects.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fairlead import dialects, tools, verdicts
from fairlead.answering import told
from fairlead.api import Hooks
from fairlead.dialects import AGENT_HALVES, Reply
from fairlead.events import EVENTS, Event, PostToolUse, ToolEvent
from fairlead.hooks import Setting
from fairlead.verdicts import Decision, Verdict

FOLDER = Path(__file__).parent / "golden"

DECISIONS: dict[str, Verdict] = {
    "nothing": verdicts.NONE,
    "allow": verdicts.allow("it is fine"),
    "ask": verdicts.ask("sure?"),
    "defer": verdicts.defer("not now"),
    "deny": verdicts.deny("not this"),
    "deny, with context and a message": verdicts.deny("not this", context="for the model", user_message="for you"),
    "rewrite": verdicts.rewrite({"command": "ls -l"}),
    "rewrite and allow": verdicts.allow("it is fine", updated_input={"command": "ls -l"}),
    "context": verdicts.context("for the model"),
    "message": Verdict(user_message="for you"),
    "another output": Verdict(updated_output="[hidden]"),
    "stop": verdicts.stop("enough"),
    "stop and deny": Verdict(decision="deny", reason="not this", stop=True, stop_reason="enough"),
}
_ONLY_CALLS = ("rewrite", "rewrite and allow")


def written() -> dict[str, Any]:
    return {agent: golden(agent) for agent in AGENT_HALVES}


def golden(agent: str) -> dict[str, Any]:
    return {name: _event(agent, name) for name in events(agent)}


def events(agent: str) -> list[str]:
    """Ours, in our order: those that the agent has a name for."""
    half = dialects.agent_half(agent)
    known = set(getattr(half, "EVENTS", {}).values()) or {name for name in half.CAN if name != "*"}
    return [name for name in EVENTS if name in known]


def _event(agent: str, name: str) -> dict[str, Any]:
    found = {}
    for said, verdict in DECISIONS.items():
        if said in _ONLY_CALLS and name not in ("PreToolUse", "PermissionRequest"):
            continue
        if said == "another output" and name != "PostToolUse":
            continue
        found[said] = _shown(answer(agent, sample(name), verdict))
    return found


def sample(name: str) -> Event:
    cls = EVENTS[name]
    if cls is PostToolUse:
        return PostToolUse(tool_name="Bash", tool_input={"command": "ls"}, tool_response={"stdout": "a", "stderr": ""})
    return cls(tool_name="Bash", tool_input={"command": "ls"}) if issubclass(cls, ToolEvent) else cls()


def answer(agent: str, event: Event, verdict: Verdict) -> Reply:
    half = dialects.agent_half(agent)
    hooks = Hooks([], setting=Setting(project="/project", home="/home/u", environ={}))
    seen, decision = told(half, hooks, tools.spoken_by(half.TOOLS, event), Decision(**verdict.__dict__))
    return half.write_reply(seen, decision)


def _shown(reply: Reply) -> Any:
    """JSON as it is; an exit code and stderr only where there are some."""
    text = reply.stdout.decode()
    try:
        out: Any = json.loads(text) if text.strip() else ""
    except ValueError:
        out = text
    if not reply.exit_code and not reply.stderr:
        return out
    return {"exit": reply.exit_code, "stderr": reply.stderr, **({"stdout": out} if out else {})}


def render(value: Any) -> str:
    """One line for each answer."""
    lines = ["{"]
    for number, (name, answers) in enumerate(value.items()):
        lines.append(f"  {json.dumps(name)}: {{")
        rows = [f"    {json.dumps(said)}: {json.dumps(reply, ensure_ascii=False)}" for said, reply in answers.items()]
        lines += [",\n".join(rows), "  }" + ("," if number < len(value) - 1 else "")]
    return "\n".join([*lines, "}"]) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for agent, value in written().items():
        (FOLDER / f"{agent}.json").write_text(render(value))
