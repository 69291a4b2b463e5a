"""A scratch project with hooks of every system, and a few events for them: what `fairlead demo` shows.

`scratch/` holds the files as they are; `dot-` at the start of a name becomes a dot.
"""

from __future__ import annotations

import os

from fairlead._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from fairlead.api import Hooks


class Scene(Record):
    """One event, who brings it, and who else should hear the answer."""

    title: str
    point: str
    """What there is to see."""
    agent: str
    raw: dict[str, Any]
    listeners: tuple[str, ...] = ()


def _call(tool: str, **tool_input: str) -> dict[str, Any]:
    return {"hook_event_name": "PreToolUse", "session_id": "demo", "tool_name": tool, "tool_input": tool_input}


SCENES = (
    Scene(
        title="Claude Code starts a session",
        point="A hook written for CodeMie tells Claude Code's model about the house rules.",
        agent="claude-code",
        raw={"hook_event_name": "SessionStart", "session_id": "demo", "source": "startup"},
    ),
    Scene(
        title="Project M wants to run: git push --force origin main",
        point="A hook written for Code Agent refuses. Every agent hears it in its own words.",
        agent="m",
        raw={"tool": "Bash", "input": {"command": "git push --force origin main"}},
        listeners=("claude-code", "codex", "gemini", "cursor", "code-agent", "codemie", "amcp", "claude-agent"),
    ),
    Scene(
        title="Claude Code wants to run: git push origin main",
        point="A hook written for AMCP wants a person to be asked. Claude Code can do that; Project M cannot, so "
        "there the answer is no, with the reason. What an agent cannot do becomes the nearest safe thing.",
        agent="claude-code",
        raw=_call("Bash", command="git push origin main"),
        listeners=("m",),
    ),
    Scene(
        title="claude-agent wants to run: npm install",
        point="A hook written for CodeMie changes the command. Code Agent cannot change one, so it is told what to "
        "run instead.",
        agent="claude-agent",
        raw={
            "event": "pre_tool_use",
            "session_id": "demo",
            "tool_name": "Bash",
            "tool_input": {"command": "npm install"},
        },
        listeners=("code-agent",),
    ),
    Scene(
        title="Code Agent wants to run: psql -c 'DROP TABLE users'",
        point="A hook written for claude-agent refuses.",
        agent="code-agent",
        raw={
            "type": "PreToolUse",
            "timestamp": 1767225600000,
            "sessionId": "demo",
            "payload": {"toolName": "Bash", "input": {"command": "psql -c 'DROP TABLE users'"}},
        },
    ),
    Scene(
        title="Codex wants to apply a patch that adds: .env",
        point="A hook written for Claude Code's Edit and Write refuses: it sees the patch file by file.",
        agent="codex",
        raw=_call("apply_patch", command="*** Begin Patch\n*** Add File: .env\n+API_KEY=…\n*** End Patch"),
        listeners=("amcp",),
    ),
    Scene(
        title="AMCP wants to call: Deploy",
        point="This hook hangs. After its 300 ms it is ended with everything it started, and since it says "
        'on_error = "deny", the call does not slip through.',
        agent="amcp",
        raw=_call("Deploy", target="staging"),
    ),
    Scene(
        title="CodeMie wants to stop",
        point="A hook in fairlead.toml runs the tests. They fail, so the agent goes on.",
        agent="codemie",
        raw={"hook_event_name": "Stop", "session_id": "demo"},
    ),
)


def build(folder: str) -> None:
    """Write the scratch home and project into `folder`."""
    source = os.path.join(os.path.dirname(__file__), "scratch")
    for place, _, names in os.walk(source):
        inside = os.path.relpath(place, source).replace("dot-", ".")
        target = os.path.normpath(os.path.join(folder, inside))
        os.makedirs(target, exist_ok=True)
        for name in names:
            with open(os.path.join(place, name), "rb") as old, open(os.path.join(target, name), "xb") as new:
                new.write(old.read())
            if name.endswith(".sh"):
                os.chmod(os.path.join(target, name), 0o700)  # a wheel does not keep this


def load(folder: str) -> Hooks:
    """The hooks of the scratch project, and of nothing else on this machine."""
    from fairlead.api import Hooks

    environ = {"HOME": os.path.join(folder, "home"), "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
    project, managed = os.path.join(folder, "project"), os.path.join(folder, "etc")
    return Hooks.load(project, environ=environ, managed=managed, trust_project=True)


def play(folder: str) -> Iterator[dict[str, Any]]:
    """Each scene with what became of it, one after the other."""
    hooks = load(folder)
    for scene in SCENES:
        yield _played(scene, hooks)


def _played(scene: Scene, hooks: Hooks) -> dict[str, Any]:
    from fairlead import explaining, wire
    from fairlead.dialects import agent_half

    event = agent_half(scene.agent).read_event(wire.encode(scene.raw), "", {})
    decision = hooks.fire_sync(event)
    agents = (scene.agent, *scene.listeners)
    return {
        "title": scene.title,
        "point": scene.point,
        **explaining.account(hooks, event, decision, scene.agent),
        "heard": {agent: explaining.heard(hooks, event, decision, agent) for agent in agents},
    }
