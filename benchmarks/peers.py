"""Each peer at its own job, whole processes: an event in, a decision out.

cchooks, polyhook and agent-hooks are libraries for hook scripts: their own example, which refuses `rm -rf`, beside the
same check as a script of ours. cc-safety-net is a guard: beside ours. amcp-agent and ankaloop run the hooks of an agent
in its process: they are in `spawning`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import installed, warm
from benchmarks.measure import Claim, Figure, Suite, answers, interleave, whole_process

CONFIG = """
[[hook]]
on = ["PreToolUse", "PermissionRequest"]
tool = "Bash"
python = "refuse.py"
"""
OURS = """\
import json
import sys

event = json.load(sys.stdin)
if "rm -rf" in event["tool_input"].get("command", ""):
    print(json.dumps({"decision": "deny", "reason": "deletes"}))
"""
CCHOOKS = """\
from cchooks import create_context, PreToolUseContext

c = create_context()
assert isinstance(c, PreToolUseContext)
if c.tool_name == "Bash" and "rm -rf" in c.tool_input.get("command", ""):
    c.output.deny(reason="deletes")
else:
    c.output.allow()
"""
POLYHOOK = """\
import polyhook

event = polyhook.read()
if event.tool == "bash" and "rm -rf" in (event.input or {}).get("command", ""):
    polyhook.respond(polyhook.block("deletes"))
else:
    polyhook.respond(polyhook.approve())
"""
AGENT_HOOKS = """\
from agent_hooks import AgentHook, PermissionRequestEvent, build_permission_response
from agent_hooks.enums import DialogButton

app = AgentHook()


@app.permission()
def permission_handler(hook_event: PermissionRequestEvent):
    if hook_event.tool_name == "Bash" and "rm -rf" in str(hook_event.tool_input):
        return build_permission_response(DialogButton.DENY, hook_event)
    return build_permission_response(DialogButton.ALLOW_ONCE, hook_event)
"""
SCRIPTS = {"cchooks": CCHOOKS, "polyhook": POLYHOOK, "agent-hooks": AGENT_HOOKS}
WARM, COLD = "fairlead, relay and server", "fairlead hook, no server"


class Contender(NamedTuple):
    argv: Sequence[str]
    event: bytes


def run(rounds: int) -> list[Suite]:
    return [_beside_scripts(rounds), _beside_guards(rounds)]


def _beside_scripts(rounds: int) -> Suite:
    with warm.home_with(CONFIG, {"refuse.py": OURS}) as home, warm.server_in(home) as server:
        theirs, missing = _scripts(home)
        title = "a hook script that refuses rm -rf, one event"
        return _suite(title, _ours(home, server) | theirs, missing, warm.environment(home), rounds)


def _beside_guards(rounds: int) -> Suite:
    with warm.home_with("") as home, warm.server_in(home) as server:
        theirs, missing = _guards(home)
        title = "a guard that refuses rm -rf, one event"
        return _suite(title, _ours(home, server, "--guard") | theirs, missing, warm.environment(home), rounds)


def _ours(home: Path, server: warm.Server, *words: str) -> dict[str, Contender]:
    relay = warm.compiled(home, warm.SOURCES / "relay.c")
    event = _event(home)
    return {
        WARM: Contender([relay, server.socket, *warm.COLD, *words], event),
        COLD: Contender([*warm.COLD, *words], event),
    }


def _event(home: Path, name: str = "PreToolUse") -> bytes:
    fields = {"command": "rm -rf /srv/data"}
    more = {"transcript_path": str(home / "t"), "permission_mode": "default"}
    return warm.call("Bash", fields, home / "project", **{**more, "hook_event_name": name})


def _scripts(home: Path) -> tuple[dict[str, Contender], list[str]]:
    found: dict[str, Contender] = {}
    missing: list[str] = []
    for name, text in SCRIPTS.items():
        script = home / f"hook_{name.replace('-', '_')}.py"
        script.write_text(text)
        try:
            argv = _argv(name, str(script))
        except installed.Missing as why:
            missing.append(f"{installed.version_of(name)} could not be installed: {why}")
            continue
        event = _event(home, "PermissionRequest" if name == "agent-hooks" else "PreToolUse")
        found[installed.version_of(name)] = Contender(argv, event)
    return found, missing


def _argv(name: str, script: str) -> list[str]:
    if name == "agent-hooks":
        words = ["--app-dir", os.path.dirname(script), "--provider", "claude-code"]
        return [str(installed.folder_of(name) / "bin" / name), "run", script, *words]
    return [installed.python_of(name), script]


def _guards(home: Path) -> tuple[dict[str, Contender], list[str]]:
    name = "cc-safety-net"
    try:
        program = installed.folder_of(name) / "node_modules" / ".bin" / name
    except installed.Missing as why:
        return {}, [f"{installed.version_of(name)} could not be installed: {why}"]
    return {installed.version_of(name): Contender([str(program), "hook", "--coding-cli"], _event(home))}, []


def _suite(
    title: str, contenders: dict[str, Contender], missing: Sequence[str], env: dict[str, str], rounds: int
) -> Suite:
    for one in contenders.values():
        answers(one.argv, env, one.event, b'"deny"')
    turns: dict[str, Callable[[], float]] = {
        name: whole_process(one.argv, env, one.event) for name, one in contenders.items()
    }
    figures = interleave(turns, rounds, warm_up=3)
    notes = [*missing, *(_BEHIND.format(name) for name in _ahead_of_cold(figures))]
    return Suite(title, 1e3, "ms", list(figures.values()), _claims(title, figures), notes)


_BEHIND = "Where no server runs, {} is ahead: `fairlead hook` starts, reads the configuration, and starts the script."


def _ahead_of_cold(figures: dict[str, Figure]) -> list[str]:
    return [
        name for name, figure in figures.items() if name not in (WARM, COLD) and figure.median < figures[COLD].median
    ]


def _claims(title: str, figures: dict[str, Figure]) -> list[Claim]:
    what = title.split(" that ", maxsplit=1)[0]
    return [
        Claim(
            f"{what}: {ours.partition(', ')[2]}, against {name}", figures[ours], figure, 1.0 if ours == WARM else None
        )
        for ours in (WARM, COLD)
        for name, figure in figures.items()
        if name not in (WARM, COLD)
    ]
