"""Whatever is judged arrives at the model as data: the requests of all attempts, in the three wire formats."""

from __future__ import annotations

import json
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from fairlead.events import Event
from fairlead.handlers import _judging
from fairlead.handlers.prompt import Prompt
from fairlead.hooks import Hook, Origin, Setting
from fairlead.models import framing
from tests.models.provider import WIRES, Asked, Provider, says
from tests.prompts.attempts import ALL, GROUPS, events

TEMPLATE = "Is this safe? $TOOL_NAME in ${CWD} does $COMMAND with $TOOL_INPUT, $TOOL_OUTPUT, $PROMPT. All: $ARGUMENTS"
STYLES = {"ok": "claude-code", "word": "code-agent", "decision": "codemie"}
PLACES = ("command", "file", "key", "name", "output", "prompt")
HARMLESS = "ls -la"


def test_there_are_two_hundred_attempts_and_no_two_are_the_same() -> None:
    assert len(ALL) >= 200
    assert len(set(ALL)) == len(ALL)


def arrived(provider: Provider, wire: str, event: Event, style: str, home: Path) -> Asked:
    """Ask as a hook does, and see what the server saw."""
    handler = Prompt(prompt=TEMPLATE, style=style)
    hook = Hook(
        name="judge", events=("*",), handler=handler, origin=Origin(dialect=STYLES[style], layer="user"), timeout=100.0
    )
    setting = Setting(project="/work", home=str(home), environ={"HOME": str(home), **provider.environ(wire)})
    provider.script(says({"ok": False, "decision": "block", "reason": "no"}, tokens=(0, 0)))
    call = handler.start(hook, event, setting)
    verdict = handler.conclude(hook, event, call, call.function(*call.arguments))
    assert verdict.denies
    (asked,) = provider.asked
    return asked


def skeleton(asked: Asked) -> Any:
    """The request without what was said in the user's message."""
    (said,) = asked.user
    body = json.dumps(asked.body)
    assert body.count(json.dumps(said)) == 1
    return json.loads(body.replace(json.dumps(said), '"…"'))


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("wire", WIRES)
def test_an_attempt_changes_nothing_but_values_in_the_data(
    provider: Provider, tmp_path: Path, wire: str, group: str
) -> None:
    style = dict(zip(WIRES, STYLES, strict=True))[wire]
    calm = {place: arrived(provider, wire, event, style, tmp_path) for place, event in events(HARMLESS).items()}
    for place, text in zip(cycle(PLACES), GROUPS[group], strict=False):
        asked = arrived(provider, wire, events(text)[place], style, tmp_path)
        assert asked.system.encode() == calm[place].system.encode()
        assert skeleton(asked) == skeleton(calm[place])
        assert_is_data(asked, text, place)


def assert_is_data(asked: Asked, text: str, place: str) -> None:
    (said,) = asked.user
    data = json.loads(said)
    assert list(data) == ["TOOL_NAME", "CWD", "COMMAND", "TOOL_INPUT", "TOOL_OUTPUT", "PROMPT", "ARGUMENTS"]
    own = json.loads(json.dumps(text))
    values = {
        "command": lambda: data["COMMAND"].endswith(f" # {own}"),
        "file": lambda: data["TOOL_INPUT"]["content"] == own,
        "key": lambda: data["TOOL_INPUT"] == {own: {own: [own]}},
        "name": lambda: data["TOOL_NAME"] == data["COMMAND"] == own,
        "output": lambda: data["TOOL_OUTPUT"] == {"stdout": own},
        "prompt": lambda: data["PROMPT"] == own,
    }
    assert values[place]()


@pytest.mark.parametrize("place", PLACES)
def test_every_attempt_is_framed_alike_at_every_place(place: str, tmp_path: Path) -> None:
    """Without a server: the wire formats change nothing about it, as the test above shows."""
    for text in ALL:
        assert_is_framed_alike("fairlead", place, text, tmp_path)


@pytest.mark.parametrize("dialect", ["code-agent", "codex", "gemini", "amcp"])
def test_every_attempt_is_framed_alike_for_systems_with_words_of_their_own(dialect: str, tmp_path: Path) -> None:
    for place, text in zip(cycle(PLACES), ALL, strict=False):
        assert_is_framed_alike(dialect, place, text, tmp_path)


def assert_is_framed_alike(dialect: str, place: str, text: str, home: Path) -> None:
    calm, tried = (question(dialect, events(said)[place], home) for said in (HARMLESS, text))
    assert tried.system.encode() == calm.system.encode()
    assert (tried.schema, tried.tools, len(tried.messages)) == (calm.schema, calm.tools, 1)
    content = tried.messages[0]["content"]
    assert framing.as_data(json.loads(content)) == content
    assert "\n" not in content


def question(dialect: str, event: Event, home: Path) -> Any:
    handler = Prompt(prompt=TEMPLATE)
    hook = Hook(name="judge", events=("*",), handler=handler, origin=Origin(dialect=dialect, layer="user"))
    return _judging.question(TEMPLATE, "ok", hook, event, Setting(project="/work", home=str(home), environ={}))
