"""One call that does several things: every hook sees all of them, and only what holds for all sets free."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead import Hooks, verdicts
from fairlead.events import PreToolUse
from fairlead.verdicts import Verdict
from tests.conftest import Home
from tests.dialects.conftest import Agents, Recorder
from tests.dialects.speaking import SETTING, Json, read


def reading(*paths: str) -> Json:
    operations = [{"mode": "Line", "path": path} for path in paths]
    return {
        "hook_event_name": "preToolUse",
        "session_id": "s1",
        "cwd": "/project",
        "tool_name": "fs_read",
        "tool_input": {"operations": operations},
    }


def patch(*paths: str) -> Json:
    text = "\n".join(["*** Begin Patch", *(f"*** Add File: {path}\n+x" for path in paths), "*** End Patch"])
    call = {"tool_name": "apply_patch", "tool_input": {"command": text}}
    return {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": "/project", "turn_id": "t", **call}


def decided(agent: str, payload: Json, by_file: dict[str, Verdict]) -> verdicts.Decision:
    hooks = Hooks([], setting=SETTING)
    hooks.register("PreToolUse", lambda event: by_file.get(event.file_path, verdicts.NONE))
    return hooks.fire_sync(read(agent, payload))


@pytest.mark.parametrize(("agent", "payload"), [("kiro", reading("/a", "/b")), ("codex", patch("/a", "/b"))])
@pytest.mark.parametrize(
    ("by_file", "decision"),
    [
        pytest.param({}, "none", id="nothing said"),
        pytest.param({"/a": verdicts.allow()}, "none", id="an allow for the first says nothing about the second"),
        pytest.param({"/b": verdicts.allow()}, "none", id="nor the other way round"),
        pytest.param({"/a": verdicts.allow(), "/b": verdicts.allow()}, "allow", id="an allow for each"),
        pytest.param({"/b": verdicts.deny("no")}, "deny", id="a refusal of one"),
        pytest.param({"/a": verdicts.allow(), "/b": verdicts.deny("no")}, "deny", id="a refusal beside an allow"),
        pytest.param({"/a": verdicts.allow(), "/b": verdicts.ask("?")}, "ask", id="a question beside an allow"),
    ],
)
def test_what_is_said_about_parts_holds_for_the_call(
    agent: str, payload: Json, by_file: dict[str, Verdict], decision: str
) -> None:
    assert decided(agent, payload, by_file).decision == decision


def test_one_part_cannot_be_changed() -> None:
    found = decided("kiro", reading("/a", "/b"), {"/b": verdicts.rewrite({"file_path": "/c"})})
    assert found.decision == "deny"
    assert found.updated_input is None
    assert '{"file_path":"/c"}' in found.reason


def test_the_only_part_can() -> None:
    found = decided("kiro", reading("/a"), {"/a": verdicts.rewrite({"file_path": "/c"})})
    assert (found.decision, found.updated_input) == ("none", {"file_path": "/c"})


def test_auto_allow_looks_at_every_command() -> None:
    from fairlead.handlers.guard import Guarded
    from fairlead.hooks import Hook, Origin

    def judged(*commands: str) -> str:
        origin = Origin(dialect="fairlead", layer="code")
        handler = Guarded(("filesystem",), auto_allow=("read-only",))
        hooks = Hooks([Hook(name="g", events=("PreToolUse",), handler=handler, origin=origin)], setting=SETTING)
        payload: dict[str, Any] = {
            "hookName": "tool_call",
            "taskId": "t",
            "workspaceRoots": ["/project"],
            "tool_call": {"id": "c", "name": "run_commands", "input": {"commands": commands}},
        }
        return hooks.fire_sync(read("cline", payload)).decision

    assert judged("ls") == judged("ls", "pwd") == "allow"
    assert judged("ls", "make install") == judged("make install", "ls") == "none"
    assert judged("ls", "rm -rf /") == "deny"


def test_a_hook_of_another_system_runs_for_every_part(place: Home, agents: Agents, recorder: Recorder) -> None:
    script = recorder.script("hook")
    group = {"matcher": "Read", "hooks": [{"type": "command", "command": script}]}
    place.write("~/.claude/settings.json", {"hooks": {"PreToolUse": [group]}})

    agents.hook("kiro", reading("/a", "/b"))

    assert recorder.order == ["hook", "hook"]
    assert recorder.stdin("hook")["tool_input"] in ({"file_path": "/a"}, {"file_path": "/b"})


def test_a_refusal_of_another_systems_hook_about_the_last_part_counts(place: Home, agents: Agents) -> None:
    script = place.script("~/bin/hook", "if grep -q secret; then echo not that >&2; exit 2; fi")
    group = {"matcher": "Read", "hooks": [{"type": "command", "command": str(script)}]}
    place.write("~/.claude/settings.json", {"hooks": {"PreToolUse": [group]}})

    reply = agents.hook("kiro", reading("/a", "/secret")).reply

    assert reply.exit_code == 2
    assert "not that" in reply.stderr
    assert agents.hook("kiro", reading("/a", "/b")).reply.exit_code == 0


def test_a_hook_sees_the_parts_in_order() -> None:
    seen: list[str] = []

    def look(event: PreToolUse) -> None:
        seen.append(event.file_path)

    hooks = Hooks([], setting=SETTING)
    hooks.register("PreToolUse", look)
    hooks.fire_sync(read("kiro", reading("/c", "/a", "/b")))
    assert seen == ["/c", "/a", "/b"]
