"""What the other tests here stand on: the scripted model, the isolation, and each agent with hooks of its own kind."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.agents.isolation import leave_network, on_loopback_only, run
from tests.agents.model import Call, Model
from tests.agents.playing import play
from tests.agents.programs import Program
from tests.conftest import Home

TOOLS = [{"name": "sh"}]
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "anthropic": (
        "/v1/messages",
        {"tools": TOOLS, "messages": []},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": "it ran"}]}]},
    ),
    "anthropic, streamed": (
        "/v1/messages?beta=true",
        {"tools": TOOLS, "stream": True, "messages": [{"role": "user", "content": "hello"}]},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": [{"text": "it ran"}]}]}]},
    ),
    "responses": (
        "/v1/responses",
        {"tools": TOOLS, "stream": True, "input": []},
        {"input": [{"type": "function_call_output", "output": "it ran"}]},
    ),
    "chat": (
        "/v1/chat/completions",
        {"tools": TOOLS, "messages": []},
        {"messages": [{"role": "tool", "content": "it ran"}]},
    ),
    "chat, streamed": (
        "/v1/chat/completions",
        {"tools": TOOLS, "stream": True, "messages": []},
        {"messages": [{"role": "tool", "content": [{"text": "it ran"}]}]},
    ),
    "gemini": (
        "/v1beta/models/pro:generateContent",
        {"tools": TOOLS, "contents": []},
        {"contents": [{"parts": [{"functionResponse": {"response": {"output": "it ran"}}}]}]},
    ),
    "gemini, streamed": (
        "/v1beta/models/pro:streamGenerateContent?alt=sse",
        {"tools": TOOLS, "contents": []},
        {"contents": [{"parts": [{"functionResponse": {"response": {"output": "it ran"}}}]}]},
    ),
}


@pytest.mark.parametrize(("path", "first", "second"), CASES.values(), ids=CASES)
def test_a_script_is_played_turn_by_turn_in_each_wire_format(
    path: str, first: dict[str, Any], second: dict[str, Any]
) -> None:
    with Model([Call("sh", {"command": "ls"}), "that is all"]) as model:
        call = _post(model.url + path, first)
        words = _post(model.url + path, {**first, **second})
        _post(model.url + path, {**first, "tools": []})
    assert "sh" in call
    assert "ls" in call
    assert "that is all" in words
    assert (len(model.told.turns), len(model.told.asides), model.told.results) == (2, 1, ["it ran"])


def test_a_path_that_no_provider_has_is_not_found_and_noted() -> None:
    with Model() as model, pytest.raises(urllib.error.HTTPError, match="404") as refused:
        _post(model.url + "/v1/telemetry", {})
    refused.value.close()
    assert model.told.unknown == ["/v1/telemetry"]


def test_a_program_in_the_harness_sees_no_network_but_loopback(tmp_path: Path) -> None:
    if not on_loopback_only_is_possible():
        pytest.skip("only root may leave the network; the agents run with it")
    show = [sys.executable, "-c", "print(open('/proc/net/dev').read())"]
    seen = on_loopback_only(lambda: run(show, {}, tmp_path)).out.splitlines()[2:]
    assert [line.split(":")[0].strip() for line in seen if line.strip()] == ["lo"]


def test_a_program_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    hangs = "sleep 1000 & setsid sleep 1000 & wait"  # both keep our pipe open: reading ends when they have
    session = run(["bash", "-c", hangs], {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, tmp_path, patience=2)
    assert not session.ended


def test_hooks_of_its_own_kind_hold_in_a_real_agent(program: Program, place: Home) -> None:
    deny = place.script("~/deny", program.refusal("no-touching-here"))
    context = place.script("~/context", program.greeting("the-sea-is-calm"))
    program.prepare(place, {"PreToolUse": str(deny), "SessionStart": str(context)})
    played = play(program, place, [program.shell("touch marker")])
    assert not (place.project / "marker").exists(), played.story
    assert "no-touching-here" in played.model.results[0], played.story
    assert played.model.heard("the-sea-is-calm"), played.story
    assert played.session.code == 0, played.story


def test_without_hooks_a_real_agent_runs_what_the_script_says(program: Program, place: Home) -> None:
    program.prepare(place)
    note = place.project / "note.txt"
    played = play(program, place, [program.shell("echo it-ran | tee marker"), program.write(note, "written\n")])
    assert "it-ran" in played.model.results[0], played.story
    assert (place.project / "marker").exists(), played.story
    assert note.read_text() == "written\n", played.story
    assert played.model.unknown == [], played.story


def on_loopback_only_is_possible() -> bool:
    return on_loopback_only(leave_network)


def _post(url: str, body: Mapping[str, Any]) -> str:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as response:
        return bytes(response.read()).decode()
