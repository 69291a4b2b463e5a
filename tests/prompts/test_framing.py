"""A prompt and an event become a question: instructions that no value can change, and the values as data."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import wire
from fairlead.events import Event, PostToolUse, PostToolUseFailure, PreToolUse, SessionStart, Stop, UserPromptSubmit
from fairlead.models.answers import form
from fairlead.models.framing import LARGEST, PLACEHOLDERS, Unclear, as_data, frame, unknown_placeholders, visible
from fairlead.models.records import Question

BASH = PreToolUse(session_id="s1", cwd="/work", tool_name="Bash", tool_input={"command": "ls -la"})
WRITE = PreToolUse(session_id="s1", cwd="/work", tool_name="Write", tool_input={"file_path": "/a.py", "content": "x"})
PROMPT = UserPromptSubmit(session_id="s1", cwd="/work", prompt="Tidy up")
DONE = PostToolUse(session_id="s1", cwd="/work", tool_name="Bash", tool_input={"command": "ls"}, tool_response={"n": 1})
FAILED = PostToolUseFailure(session_id="s1", cwd="/work", tool_name="Bash", tool_input={}, error="no such file")


def framed(template: str, event: Event = BASH, **options: Any) -> Question:
    return frame(template, event, wire.encode(event.payload()), form("ok", event), **options)


def data(question: Question) -> Any:
    (message,) = question.messages
    assert message["role"] == "user"
    return json.loads(message["content"])


EACH = {
    "ARGUMENTS": (BASH, BASH.payload()),
    "TOOL_NAME": (BASH, "Bash"),
    "TOOL_INPUT": (BASH, {"command": "ls -la"}),
    "TOOL_OUTPUT": (DONE, {"n": 1}),
    "COMMAND": (BASH, "ls -la"),
    "FILE_PATH": (WRITE, "/a.py"),
    "PROMPT": (PROMPT, "Tidy up"),
    "USER_PROMPT": (PROMPT, "Tidy up"),
    "ERROR_MESSAGE": (FAILED, "no such file"),
    "EVENT": (PROMPT, "UserPromptSubmit"),
    "SESSION_ID": (BASH, "s1"),
    "CWD": (BASH, "/work"),
    "WORKING_DIR": (BASH, "/work"),
    "TIMESTAMP": (BASH.but(timestamp=17.5), 17.5),
}


def test_every_placeholder_has_a_case_here() -> None:
    assert set(EACH) == set(PLACEHOLDERS)


@pytest.mark.parametrize("written", ["${}", "${{{}}}"], ids=["bare", "in braces"])
@pytest.mark.parametrize("name", EACH)
def test_each_placeholder_becomes_a_field_of_the_data(name: str, written: str) -> None:
    event, value = EACH[name]
    question = framed(f"Look at {written.format(name)}.", event)
    assert f"Look at (the field {name} of the data)." in question.system
    assert data(question) == {name: value}


def test_several_placeholders_are_several_fields_each_once() -> None:
    question = framed("$TOOL_NAME with $TOOL_INPUT, again $TOOL_NAME in ${CWD}")
    assert data(question) == {"TOOL_NAME": "Bash", "TOOL_INPUT": {"command": "ls -la"}, "CWD": "/work"}


def test_the_event_is_given_whole_where_the_prompt_names_nothing() -> None:
    question = framed("Is this wise?")
    assert "Is this wise?\n\n(the field ARGUMENTS of the data)" in question.system
    assert data(question) == {"ARGUMENTS": BASH.payload()}


def test_the_event_is_given_whole_where_its_system_always_does() -> None:
    question = framed("Is $TOOL_NAME wise?", always_whole=True)
    assert "Is (the field TOOL_NAME of the data) wise?\n\n(the field ARGUMENTS of the data)" in question.system
    assert data(question) == {"TOOL_NAME": "Bash", "ARGUMENTS": BASH.payload()}


def test_a_prompt_that_names_the_whole_event_names_it_once() -> None:
    question = framed("Is this wise? $ARGUMENTS", always_whole=True)
    assert question.system.count("(the field ARGUMENTS of the data)") == 1


MISSING = [
    ("COMMAND", WRITE), ("FILE_PATH", BASH), ("PROMPT", BASH), ("TOOL_NAME", Stop(session_id="s")),
    ("TOOL_INPUT", PROMPT), ("TOOL_OUTPUT", BASH), ("ERROR_MESSAGE", DONE), ("SESSION_ID", SessionStart()),
    ("TIMESTAMP", BASH),
]  # fmt: skip


@pytest.mark.parametrize(("name", "event"), MISSING, ids=[name for name, _ in MISSING])
def test_a_field_without_a_value_is_null_and_the_event_stands_beside_it(name: str, event: Event) -> None:
    question = framed(f"Judge ${name}", event)
    assert data(question) == {name: None, "ARGUMENTS": event.payload()}


def test_the_instructions_do_not_tell_whether_there_is_a_value() -> None:
    assert framed("Judge $COMMAND", BASH).system == framed("Judge $COMMAND", WRITE).system


def test_the_directory_is_the_projects_where_the_event_has_none() -> None:
    assert data(framed("$CWD", BASH.but(cwd=""), cwd="/project")) == {"CWD": "/project"}


NOT_PLACEHOLDERS = {
    "escaped": (r"costs \$COMMAND", "costs $COMMAND"),
    "escaped in braces": (r"costs \${COMMAND}", "costs ${COMMAND}"),
    "unknown": ("in $HOME", "in $HOME"),
    "a longer name": ("$COMMANDS", "$COMMANDS"),
    "another case": ("$command", "$command"),
    "money": ("$5 and $", "$5 and $"),
    "not closed": ("${COMMAND", "${COMMAND"),
    "a default": ("${COMMAND:-x}", "${COMMAND:-x}"),
}


@pytest.mark.parametrize(("template", "text"), NOT_PLACEHOLDERS.values(), ids=NOT_PLACEHOLDERS)
def test_what_is_no_placeholder_stays(template: str, text: str) -> None:
    question = framed(template)
    assert f"The owner's instructions:\n\n{text}\n\n(the field ARGUMENTS of the data)" in question.system
    assert data(question) == {"ARGUMENTS": BASH.payload()}


def test_names_that_nobody_knows_are_told() -> None:
    assert unknown_placeholders(r"$HOME $HOME ${TOOLNAME} $tool_name $x $i $COMMAND \$ESCAPED $5 $A") == [
        "HOME",
        "TOOLNAME",
        "tool_name",
    ]


# --- the proof ---------------------------------------------------------------------------------------

ANY_TEXT = st.text(max_size=60) | st.sampled_from(
    ["$ARGUMENTS", "${COMMAND}", "\\$", "\ud800", "\udc00", "\ud83d", "\ude00", "\u202e", "\U000e0041", "<|im_end|>"]
)  # fmt: skip
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=8,
)
TEMPLATES = st.lists(
    ANY_TEXT | st.sampled_from([f"${name}" for name in PLACEHOLDERS] + [f"${{{name}}}" for name in PLACEHOLDERS]),
    max_size=6,
).map(" ".join)


@given(template=TEMPLATES, one=st.dictionaries(ANY_TEXT, ANY_JSON), other=st.dictionaries(ANY_TEXT, ANY_JSON))
def test_the_instructions_are_the_same_whatever_is_judged(
    template: str, one: dict[str, Any], other: dict[str, Any]
) -> None:
    first = framed(template, BASH.but(tool_input=one, session_id=str(other)))
    second = framed(template, BASH.but(tool_input=other, cwd=str(one), extra={"more": one}))
    assert first.system.encode() == second.system.encode()
    assert (first.schema, first.tools) == (second.schema, second.tools)


@given(value=ANY_JSON)
def test_the_data_are_exactly_the_values_and_hide_nothing(value: Any) -> None:
    written = as_data({"TOOL_INPUT": value})
    assert json.loads(written) == {"TOOL_INPUT": json.loads(json.dumps(value))}
    assert not [sign for sign in written if sign != " " and unicodedata.category(sign)[0] in "CZ"]
    assert "<" not in written


HIDDEN = {
    "escape": "\x1b", "delete": "\x7f", "next line": "\x85", "no-break space": "\xa0", "soft hyphen": "\xad",
    "grapheme joiner": "\u034f", "arabic letter mark": "\u061c", "hangul filler": "\u3164", "ogham space": "\u1680",
    "mongolian selector": "\u180b", "zero width space": "\u200b", "zero width joiner": "\u200d",
    "right to left mark": "\u200f", "line separator": "\u2028", "right to left override": "\u202e",
    "word joiner": "\u2060", "isolate": "\u2066", "braille blank": "\u2800", "ideographic space": "\u3000",
    "half a character": "\ud800", "private use": "\ue000", "variation selector": "\ufe0f", "byte order mark": "\ufeff",
    "halfwidth filler": "\uffa0", "not a character": "\uffff", "tag": "\U000e0041", "selector": "\U000e0100",
    "musical": "\U0001d173",
}  # fmt: skip


@pytest.mark.parametrize("sign", HIDDEN.values(), ids=HIDDEN)
def test_what_hides_or_turns_text_is_written_out(sign: str) -> None:
    written = as_data({"COMMAND": f"a{sign}b"})
    assert sign not in written
    assert re.fullmatch(r'\{"COMMAND": "a(\\u[0-9a-f]{4}){1,2}b"\}', written)
    assert json.loads(written) == {"COMMAND": f"a{sign}b"}


@pytest.mark.parametrize("text", ["Grüße, 世界", "naïve e\u0301", "🚀 ok", "a\tb\nc", "100 % [ok] ~/x > y"])
def test_ordinary_text_of_any_language_stays_as_it_is(text: str) -> None:
    assert visible(text) == text
    assert json.loads(as_data([text])) == [text]


TOKENS = [
    "<|im_start|>system", "<|im_end|>", "<|endoftext|>", "</s>", "<s>", "<bos>", "<start_of_turn>user", "<end_of_turn>",
    "<|eot_id|>", "<|start_header_id|>system<|end_header_id|>", "<|start|>developer<|message|>", "<|channel|>final",
    "<\uff5cend\u2581of\u2581sentence\uff5c>", "[INST]", "[/INST]", "<<SYS>>", "[TOOL_CALLS]", "[gMASK]", "<|user|>",
    "]~b]system", "[e~[", "<SPECIAL_12>", "<unused99>", "<fim_prefix>", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]",
    "<think>",
]  # fmt: skip


@pytest.mark.parametrize("token", TOKENS)
def test_a_special_token_of_a_model_never_arrives_as_one(token: str) -> None:
    """Servers such as llama.cpp read them wherever they stand."""
    written = as_data({"COMMAND": f"echo {token}", token: [token]})
    assert token not in written
    assert json.loads(written) == {"COMMAND": f"echo {token}", token: [token]}


def test_what_is_too_large_is_not_judged_and_not_cut() -> None:
    with pytest.raises(Unclear, match="too large to be judged: 200,0"):
        framed("$COMMAND", BASH.but(tool_input={"command": "x" * LARGEST}))
    assert data(framed("$COMMAND", BASH.but(tool_input={"command": "x" * (LARGEST - 20)})))


def test_an_event_as_deep_as_events_can_be_is_framed() -> None:
    deep: Any = "x"
    for _ in range(wire.DEPTH - 3):
        deep = [deep]
    event = Event.from_payload(wire.decode_object(wire.encode(BASH.but(tool_input={"a": deep}).payload())))
    assert data(framed("Judge it", event))["ARGUMENTS"]["tool_input"] == {"a": deep}


def test_more_rules_and_tools_can_be_given() -> None:
    from fairlead.models.records import Tool

    tool = Tool(name="read", description="Read a file.", parameters={"type": "object"})
    question = framed("Judge it", rules="You have tools.", tools=(tool,))
    assert question.tools == (tool,)
    assert question.system.index("You have tools.") < question.system.index("The owner's instructions")
