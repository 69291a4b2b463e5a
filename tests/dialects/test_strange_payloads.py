"""Payloads of any shape, in the keys and tools that these agents use: an event or a clear error, never a crash."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead import Event, Hooks, InputError, dialects
from fairlead.answering import told
from fairlead.verdicts import Decision
from tests.dialects.speaking import SETTING, read

AGENTS = ("devin", "cline", "droid", "kiro", "augment", "goose", "crush", "kimi")
EVENTS = sorted({name for agent in AGENTS for name in getattr(dialects.agent_half(agent), "EVENTS", ())})
NAMES = sorted(
    {known.own for agent in AGENTS if (words := dialects.agent_half(agent).TOOLS) is not None for known in words.tools}
    | {
        "use_aws",
        "remove-files",
        "use_mcp_tool",
        "deleteFile",
        "mcp:a_b",
        "mcp_a_b",
        "@a/b",
        "a__b",
        "@",
        "mcp:",
        "mcp_",
    }
)
INPUT_KEYS = """
    command commands cmd args path paths file_paths files operations image_paths requests url diff old_text new_text
    insert_line old_str old_str_1 new_str_1 old_str_2 new_str_2 file_text content arguments server_name tool_name
    service_name operation_name parameters region cwd working_dir exec_dir input queries text
""".split()
KEYS = """
    hook_event_name hookName event tool_name tool_input tool_response tool_output tool_error tool_call tool_result
    preToolUse postToolUse toolName name id input output error success result durationMs userPromptSubmit prompt message
    workspace_roots workspaceRoots working_dir cwd session_id taskId conversation_id conversation agentTextResponse
    agent_stop_cause hook_events assistant_response turn outputText model slug summary turn_id notification spoken extra
""".split()
WORDS = st.sampled_from([*EVENTS, *NAMES, "", "/a", "{", "[", '["a"]', '{"a": 1}', "\0", "\ud800", "a\nb"])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS
JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KEYS, *INPUT_KEYS]), inner, max_size=4)
    ),
    max_leaves=20,
)
INPUTS = st.dictionaries(st.sampled_from(INPUT_KEYS), JSON, max_size=4) | JSON
CALL_KEYS = ("tool_name", "tool_input", "toolName", "parameters", "name", "input")


@st.composite
def payloads(draw: st.DrawFn) -> dict[str, object]:
    """Mostly a call of a known tool with a strange input; sometimes just anything."""
    found: dict[str, object] = draw(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=4))
    if draw(st.booleans()):
        name, value = draw(st.sampled_from(NAMES)), draw(INPUTS)
        call = dict(zip(CALL_KEYS, [name, value] * 3, strict=True))
        found |= {"tool_name": name, "tool_input": value, "preToolUse": call, draw(st.sampled_from(KEYS)): call}
    if draw(st.booleans()):
        found |= dict.fromkeys(("hook_event_name", "hookName", "event"), draw(st.sampled_from(EVENTS)))
    return found


@pytest.mark.parametrize("agent", AGENTS)
@settings(max_examples=50, deadline=None)
@given(payload=payloads(), prompt=st.sampled_from([{}, {"USER_PROMPT": "go"}]))
def test_a_payload_is_an_event_or_an_error_in_words(
    agent: str, payload: dict[str, object], prompt: dict[str, str]
) -> None:
    half = dialects.agent_half(agent)
    try:
        event = half.read_event(json.dumps(payload).encode(), "", prompt)
    except InputError:
        return
    assert isinstance(event, Event)
    json.dumps(event.payload())
    hooks = Hooks([], setting=SETTING)
    hooks.register("*", lambda _event: None)
    for decision in (hooks.fire_sync(event), Decision(decision="deny"), Decision(updated_input={"command": "x"})):
        seen, told_decision = told(half, hooks, event, decision)
        half.write_reply(seen, told_decision)


BROKEN = "a\n*** Update File: b"
NAMED = {
    "cursor": {"tool_name": "Delete", "tool_input": {"path": BROKEN}, "hook_event_name": "preToolUse"},
    "vscode": {"tool_name": "editFiles", "tool_input": {"files": ["a", BROKEN]}, "hook_event_name": "PreToolUse"},
    "augment": {"tool_name": "remove-files", "tool_input": {"file_paths": [BROKEN]}, "hook_event_name": "PreToolUse"},
    "kiro": {"tool_name": "deleteFile", "tool_input": {"path": BROKEN}, "hook_event_name": "preToolUse"},
}


@pytest.mark.parametrize(("agent", "payload"), NAMED.items(), ids=NAMED.keys())
def test_a_file_whose_name_no_patch_can_hold_is_refused(agent: str, payload: dict[str, object]) -> None:
    with pytest.raises(InputError, match="no usable name"):
        read(agent, {"session_id": "s", **payload})
