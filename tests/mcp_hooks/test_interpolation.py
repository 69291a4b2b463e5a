"""`${path.to.field}` in a hook's input: as Claude Code 2.1.325 and Codex fill it, each for its own hooks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.handlers.mcp_tool import Filled
from fairlead.hooks import HookFailed
from tests.mcp_hooks.conftest import Desk

COMMAND = "echo ${tool_name} hi"
TOOL_INPUT = {"command": COMMAND, "timeout": 5000, "background": False, "note": None, "list": ["a", {"b": 1}], "é": "ü"}
EVENT = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": TOOL_INPUT}
COMPACT = json.dumps(TOOL_INPUT, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize(
    ("template", "text", "value"),
    [
        pytest.param("no place", "no place", "no place", id="none"),
        pytest.param("${tool_name}", "Bash", "Bash", id="text"),
        pytest.param("${tool_input.command}", COMMAND, COMMAND, id="values-are-never-scanned"),
        pytest.param("a ${tool_name} b ${tool_name}", "a Bash b Bash", "a Bash b Bash", id="inside"),
        pytest.param("${tool_name}${tool_name}", "BashBash", "BashBash", id="side-by-side"),
        pytest.param("${tool_input.timeout}", "5000", 5000, id="number"),
        pytest.param("in ${tool_input.timeout}", "in 5000", "in 5000", id="number-inside"),
        pytest.param("${tool_input.background}", "false", False, id="bool"),
        pytest.param("${tool_input}", COMPACT, TOOL_INPUT, id="object"),
        pytest.param("=${tool_input}", f"={COMPACT}", f"={COMPACT}", id="object-inside"),
        pytest.param("${tool_input.list.1.b}", "1", 1, id="in-a-list"),
        pytest.param("${tool_input.note}", "", None, id="null"),
        pytest.param("$${tool_name}", "$Bash", "$Bash", id="dollar-before"),
        pytest.param("${}", "${}", "${}", id="empty"),
        pytest.param("${tool_name", "${tool_name", "${tool_name", id="unclosed"),
        pytest.param("${${tool_name}}", "${Bash}", "${Bash}", id="in-one-another"),
        pytest.param("$tool_name {tool_name}", "$tool_name {tool_name}", "$tool_name {tool_name}", id="other-forms"),
    ],
)
def test_places_are_filled_in_one_pass(template: str, text: str, value: Any) -> None:
    assert Filled({"x": template}, EVENT, keeps_types=False).arguments == {"x": text}
    assert Filled({"x": template}, EVENT, keeps_types=True).arguments == {"x": value}


@pytest.mark.parametrize("template", ["${ tool_name }", "${tool-name}", "${é}", "${tool_input[command]}"])
def test_claude_code_leaves_alone_what_is_no_plain_path(template: str) -> None:
    filled = Filled({"x": template}, EVENT, keeps_types=False)
    assert (filled.arguments, filled.missing) == ({"x": template}, ())


def test_places_are_filled_at_any_depth_and_never_in_names() -> None:
    template = {"${tool_name}": {"a": ["${tool_name}", 3, None, True, {"b": "${tool_name}"}]}}
    filled = {"${tool_name}": {"a": ["Bash", 3, None, True, {"b": "Bash"}]}}
    assert Filled(template, EVENT, keeps_types=False).arguments == filled
    assert Filled(template, EVENT, keeps_types=True).arguments == filled


MISSING = [
    "nope",
    "tool_input.nope",
    "tool_input.command.length",
    "tool_input.list.2",
    "tool_input.constructor",
    "a..b",
    "tool_input.",
]


@pytest.mark.parametrize("path", MISSING)
def test_what_the_event_does_not_have_is_empty_for_claude_code_and_a_failure_elsewhere(path: str) -> None:
    filled = Filled({"x": f"<${{{path}}}>"}, EVENT, keeps_types=False)
    assert (filled.arguments, filled.missing) == ({"x": "<>"}, (path,))
    with pytest.raises(HookFailed, match="which this event does not have"):
        Filled({"x": f"<${{{path}}}>"}, EVENT, keeps_types=True)


ANY_TEXT = st.text(st.characters(codec=None)) | st.sampled_from(
    ["${tool_name}", "$", "}", "${x}", "\ud800", '"}', "\\"]
)
PATIENTLY = settings(suppress_health_check=[HealthCheck.too_slow])  # a busy machine is not a failure
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


@PATIENTLY
@given(before=st.text("ab$ {"), value=ANY_TEXT, after=st.text("ab$ }"), keeps_types=st.booleans())
def test_any_value_arrives_whole_and_as_data(before: str, value: str, after: str, keeps_types: bool) -> None:
    event = {"tool_name": "SHOULD NOT APPEAR", "x": "NOR THIS", "v": value}
    filled = Filled({"v": before.replace("${", "") + "${v}" + after}, event, keeps_types=keeps_types).arguments["v"]
    mended = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert filled == before.replace("${", "") + mended + after


@PATIENTLY
@given(template=st.dictionaries(ANY_TEXT, ANY_JSON, max_size=4), event=ANY_JSON, keeps_types=st.booleans())
def test_any_input_can_be_sent_or_is_a_failure_in_words(
    template: dict[str, Any], event: Any, keeps_types: bool
) -> None:
    try:
        filled = Filled(template, event, keeps_types=keeps_types)
    except HookFailed:
        assert keeps_types
    else:
        json.dumps(filled.arguments, ensure_ascii=False).encode()


def test_each_dialect_fills_in_its_own_way(desk: Desk) -> None:
    desk.plain("echo")
    asked = {"all": "${tool_input}", "in": "<${tool_input.command}>"}
    expected = {
        "fairlead": {"all": {"command": "ls"}, "in": "<ls>"},
        "codex": {"all": {"command": "ls"}, "in": "<ls>"},
        "claude-code": {"all": '{"command":"ls"}', "in": "<ls>"},
    }
    assert {dialect: json.loads(desk.fire(input=asked, dialect=dialect).reason) for dialect in expected} == expected


def test_a_missing_field_refuses_where_hooks_fail_closed(desk: Desk) -> None:
    desk.plain("allow")
    said = desk.fire(input={"path": "${tool_input.file_path}"})
    assert said.decision == "deny"
    assert "${tool_input.file_path}" in said.reason


@pytest.mark.parametrize(("how", "decision"), [("allow", "none"), ("deny", "deny")])
def test_who_has_been_told_nothing_can_refuse_but_not_allow(desk: Desk, how: str, decision: str) -> None:
    desk.plain(how)
    assert desk.fire(input={"path": "${tool_input.file_path}"}, dialect="claude-code").decision == decision


def test_half_a_character_does_not_hide_a_command(desk: Desk) -> None:
    desk.plain("echo")
    said = desk.fire("rm \ud800 -rf ~")
    assert json.loads(said.reason) == {"command": "rm \ufffd -rf ~"}
