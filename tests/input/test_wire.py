"""JSON from strangers: what is read is what was written, and nothing but an InputError ever comes out."""

from __future__ import annotations

import codecs
import json
import math
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fairlead import wire
from fairlead.errors import InputError

TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
"""Lone surrogates, NUL and all the rest."""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_what_was_written_is_read_again(value: Any) -> None:
    assert wire.decode(wire.encode(value)) == value
    assert wire.decode(wire.encode_text(value)) == value
    assert json.loads(wire.encode(value)) == value
    assert wire.encode(value).isascii()


@given(JSON, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"]))
def test_every_encoding_that_json_may_have_is_read(value: Any, encoding: str) -> None:
    text = json.dumps(value)
    assert wire.decode(text.encode(encoding)) == value
    assert wire.decode("\ufeff" + text) == value


@given(st.binary(max_size=80) | st.text('{}[]",:0123456789.eE+-truefalsn\\ud8\0 \n', max_size=40).map(str.encode))
@example(b"")
@example(b"\xff\xfe")
@example(b"\0")
@example(b'{"a":')
@example(b"[" * 100_000)
@example(b"9" * 5000)
@example(b'"\\ud800"')
def test_random_bytes_are_read_as_python_reads_them_or_are_an_input_error(raw: bytes) -> None:
    try:
        value = wire.decode(raw)
    except InputError as error:
        message = str(error)
    else:
        assert value == json.loads(raw)
        return
    assert 0 < len(message) < 300


@given(st.binary(max_size=60))
def test_only_an_object_is_an_event(raw: bytes) -> None:
    try:
        assert isinstance(wire.decode_object(raw), dict)
    except InputError:
        pass


@given(JSON, st.integers(0, 40), st.sampled_from('[]{},:"x \\'))
def test_a_changed_byte_never_crashes(value: Any, place: int, byte: str) -> None:
    text = wire.encode_text(value)
    try:
        wire.decode(text[:place] + byte + text[place + 1 :])
    except InputError:
        pass


REFUSED = {
    "NaN": ("[NaN]", "NaN is not a JSON number"),
    "infinity": ("[-Infinity]", "-Infinity is not a JSON number"),
    "too large": ("[1e999]", "the number 1e999 is too large"),
    "too small": ("[-1e999]", "the number -1e999 is too large"),
    "digits": ("9" * 5000, "Exceeds the limit"),
    "key twice": ('{"a": 1, "b": 2, "a": 3}', "the key 'a' is there twice"),
    "key twice, inside": ('[{"x": {"": 1, "": 1}}]', "the key '' is there twice"),
    "key twice, escaped": ('{"a": 1, "\\u0061": 2}', "the key 'a' is there twice"),
    "nested": ("[" * 100_000, "nested too deeply"),
    "nested objects": ('{"a":' * 300 + "1" + "}" * 300, "nested too deeply; the limit is 200"),
    "more": ("{} {}", "Extra data, line 1 column 4"),
    "second line": ("{\n  x}", "line 2 column 3"),
    "control": ('"\n"', "Invalid control character"),
    "half": ('{"a"', "line 1 column 5"),
}


@pytest.mark.parametrize(("raw", "says"), REFUSED.values(), ids=REFUSED)
def test_an_error_says_what_is_wrong_and_where(raw: str, says: str) -> None:
    for form in (raw, raw.encode()):
        with pytest.raises(InputError) as error:
            wire.decode(form)
        assert says in str(error.value)


def test_the_limit_of_nesting_is_exact() -> None:
    for depth, fine in ((wire.DEPTH - 1, True), (wire.DEPTH, True), (wire.DEPTH + 1, False)):
        for text in ("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth):
            if fine:
                assert wire.decode(wire.encode(wire.decode(text))) == json.loads(text)
            else:
                with pytest.raises(InputError, match="nested too deeply"):
                    wire.decode(text)


def test_brackets_in_text_are_not_nesting() -> None:
    assert wire.decode(json.dumps("[{" * 1000)) == "[{" * 1000
    assert wire.decode(json.dumps([[]] * 1000)) == [[]] * 1000


@pytest.mark.parametrize("text", ["", "5", "[1, {}]", '"[[', '{"a": "]"}', '"\\"', "]" * 500, "[" * 500, "[]" * 500])
def test_where_nothing_is_too_deep_a_text_stays_as_it_is(text: str) -> None:
    assert wire.shallow(text) == text


@pytest.mark.parametrize("more", [1, 2, 100_000])
def test_what_is_too_deep_becomes_null_and_the_rest_stays(more: int) -> None:
    deep = "[" * (wire.DEPTH - 1 + more) + '"]"' + "]" * (wire.DEPTH - 1 + more)
    found = wire.decode(wire.shallow(f'{{"a": 1, "b": {deep}, "c\\"[": [{deep}, 2]}}'))
    assert list(found) == ["a", "b", 'c"[']
    assert (found["a"], found['c"['][1]) == (1, 2)
    assert str(found["b"]) == "[" * (wire.DEPTH - 1) + "None" + "]" * (wire.DEPTH - 1)


def test_whatever_can_be_read_can_be_written_deep_in_the_stack() -> None:
    """An event that is read, and cannot be given to a hook, would be one that no hook has seen."""
    value = wire.decode("[" * wire.DEPTH + "]" * wire.DEPTH)

    def deeper(levels: int) -> bytes:
        return deeper(levels - 1) if levels else wire.encode({"payload": {"tool_input": value}})

    assert deeper(500).startswith(b'{"payload"')


def test_control_without_a_limit_there_are_events_that_can_be_read_and_not_written() -> None:
    program = """
import json, sys
def deeper(levels, call): return deeper(levels - 1, call) if levels else call()
value = json.loads("[" * 900 + "]" * 900)
sys.setrecursionlimit(1000)
try: deeper(200, lambda: json.dumps({"payload": value}))
except RecursionError: print("cannot be written")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    if sys.version_info < (3, 12):  # later versions count C calls apart
        assert done.stdout == "cannot be written\n"


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_does_not_have_becomes_null(odd: float) -> None:
    assert wire.encode({"a": [odd, 1.5], "b": (odd,)}) == b'{"a":[null,1.5],"b":[null]}'


def test_a_mark_alone_is_nothing() -> None:
    with pytest.raises(InputError, match="not JSON"):
        wire.decode_object(codecs.BOM_UTF8)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "the event is empty; expected a JSON object"),
        (b" \n", "the event is empty; expected a JSON object"),
        (b"[]", "the event must be a JSON object, not a list"),
        (b'"x"', "not a string"),
        (b"1", "not a number"),
        (b"null", "not null"),
        (b"true", "not true or false"),
    ],
)
def test_what_is_not_an_object_is_named(raw: bytes, says: str) -> None:
    with pytest.raises(InputError) as error:
        wire.decode_object(raw)
    assert says in str(error.value)


def test_errors_are_the_same_in_a_fresh_interpreter() -> None:
    """The error classes of `json` are imported when they are needed, and never before."""
    program = """
import sys
from fairlead import wire
from fairlead.errors import InputError
assert wire.decode('{"a": [1, "x", null, true, 1.5]}') == {"a": [1, "x", None, True, 1.5]}
assert "json" not in sys.modules
for raw in sys.argv[1:]:
    try: print(wire.decode(raw))
    except InputError as error: print(error)
"""
    raws = ['{"a"', "x", "[1,]", '"\\x"', '"\\ud8', "", "{} x", "NaN", "-", "[1e999]"]
    for raw in raws:
        done = subprocess.run(
            [sys.executable, "-c", program, raw], capture_output=True, text=True, timeout=30, check=True
        )
        with pytest.raises(InputError) as error:
            wire.decode(raw)
        assert done.stdout == f"{error.value}\n"
