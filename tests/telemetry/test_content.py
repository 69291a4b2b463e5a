"""Nothing of what people and models say leaves the machine, unless they ask for it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Home
from tests.telemetry.conftest import Collector, Hook, attributes, toml

SECRET = "hunter2hunter2"
HOOKS = f"""
[[hook]]
name = "denies"
on = ["PreToolUse", "UserPromptSubmit"]
run = "echo 'because of {SECRET}' >&2; exit 2"

[[hook]]
name = "fails"
on = "PostToolUse"
run = "echo '{SECRET}' >&2; exit 127"
"""
EVENTS: list[tuple[str, dict[str, Any]]] = [
    ("PreToolUse", {"tool_input": {"command": f"curl -H 'x: {SECRET}'"}}),
    ("PreToolUse", {"tool_name": "Write", "tool_input": {"file_path": f"/{SECRET}", "content": SECRET}}),
    ("PostToolUse", {"tool_response": {"stdout": SECRET}}),
    ("PostToolUseFailure", {"error": SECRET}),
    ("UserPromptSubmit", {"prompt": f"my password is {SECRET}"}),
    ("Notification", {"message": SECRET}),
    ("SomethingNew", {"what": SECRET}),
]


def everything(collector: Collector) -> bytes:
    return b"".join(post.raw for post in collector.posts)


def test_it_is_left_out(traced: Home, collector: Collector, hook: Hook) -> None:
    toml(traced, HOOKS)
    settings = {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": f"TOKEN={SECRET} true"}]}]}}
    traced.write("~/.codex/hooks.json", settings)  # its name would be its first word
    for name, fields in EVENTS:
        hook(name, **fields)
    collector.wait_for(lambda: collector.counted() == len(EVENTS))
    collector.wait_for(lambda: len(collector.logs()) >= 4)
    assert SECRET.encode() not in everything(collector)
    assert any(span.name == "hook TOKEN=…" for span in collector.spans())
    assert str(traced.home).encode() not in everything(collector)


def test_it_is_sent_where_the_user_wants_it(traced: Home, collector: Collector, hook: Hook) -> None:
    toml(traced, f"{HOOKS}\n[telemetry]\ncontent = true\n")
    for name, fields in EVENTS:
        hook(name, **fields)
    collector.wait_for(lambda: collector.counted() == len(EVENTS))
    collector.wait_for(lambda: len(collector.logs()) >= 4)
    spans = {
        (span.name, attributes(span.attributes)["fairlead.event"]): attributes(span.attributes)
        for span in collector.spans()
    }
    assert spans["execute_tool Bash", "PreToolUse"]["gen_ai.tool.call.arguments"].count(SECRET) == 1
    assert SECRET in spans["execute_tool Bash", "PreToolUse"]["fairlead.reason"]
    assert SECRET in spans["execute_tool Bash", "PostToolUse"]["gen_ai.tool.call.result"]
    assert spans["execute_tool Bash", "PostToolUseFailure"]["fairlead.tool.error"] == SECRET
    assert SECRET in spans["UserPromptSubmit", "UserPromptSubmit"]["gen_ai.input.messages"]
    failed = next(log for log in collector.logs() if log.event_name == "fairlead.hook.failure")
    assert SECRET in attributes(failed.attributes)["fairlead.hook.error"]


def test_it_is_bounded(traced: Home, collector: Collector, hook: Hook) -> None:
    toml(traced, "[telemetry]\ncontent = true\n")
    hook(tool_input={"command": "x" * 1_000_000})
    (span,) = collector.wait_for(collector.spans)
    assert len(attributes(span.attributes)["gen_ai.tool.call.arguments"]) == 4000


def test_half_characters_are_no_reason_to_lose_a_span(traced: Home, collector: Collector, hook: Hook) -> None:
    toml(traced, "[telemetry]\ncontent = true\n")
    hook(tool_name="Bash\ud83d", tool_input={"command": "\ud83d"}, session_id="\udc00")
    (span,) = collector.wait_for(collector.spans)
    assert span.name == "execute_tool Bash\ufffd"


@pytest.mark.parametrize("layer", ["fairlead.toml", "fairlead.local.toml"])
def test_a_project_cannot_ask_for_it(traced: Home, collector: Collector, fairlead: Any, layer: str) -> None:
    traced.write(layer, "[telemetry]\ncontent = true\nenabled = false\nendpoint = 'http://127.0.0.1:1'\n")
    event = {
        "hook_event_name": "PreToolUse",
        "session_id": "s1",
        "tool_name": "Bash",
        "tool_input": {"command": SECRET},
    }
    fairlead("hook", "--agent", "claude-code", "--trust-project", "--project", str(traced.project), stdin=event)
    collector.wait_for(collector.counted)
    assert collector.spans()
    assert SECRET.encode() not in everything(collector)
    assert "belongs into your own fairlead.toml" in fairlead("check").out.decode()
