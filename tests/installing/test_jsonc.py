"""JSON with comments, edited as text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.documents import BadDocument
from fairlead.installing import jsonc
from fairlead.installing.edits import Edit, apply, reverted
from tests.installing.conftest import plain_json

BROKEN = {
    "an unquoted key": ("{a: 1}", 1, 2),
    "no colon": ('{"a" 1}', 1, 6),
    "no comma": ('{\n  "a": 1\n  "b": 2\n}', 3, 3),
    "two commas": ('{"a": 1,, "b": 2}', 1, 9),
    "a comma alone": ("[,]", 1, 2),
    "no end": ('{"a": [1, 2', 1, 12),
    "nothing": ("", 1, 1),
    "a comment without end": ('{ /* "a": 1 }', 1, 3),
    "something after the end": ("{} x", 1, 4),
    "a single quote": ("{'a': 1}", 1, 2),
    "a word": ('{"a": yes}', 1, 7),
    "too deep": ("[" * 300 + "]" * 300, 1, 202),
}


@pytest.mark.parametrize(("text", "line", "column"), BROKEN.values(), ids=BROKEN)
def test_what_is_broken_is_refused_with_its_place(text: str, line: int, column: int) -> None:
    with pytest.raises(BadDocument) as caught:
        jsonc.parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)


ADDED = {
    "an empty object": ("{}", '{\n  "x": 1\n}'),
    "an empty object with space": ("{ \n\n }\n", '{\n  "x": 1\n}\n'),
    "two spaces": ('{\n  "a": 1\n}\n', '{\n  "a": 1,\n  "x": 1\n}\n'),
    "tabs": ('{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"x": 1\n}\n'),
    "three spaces": ('{\n   "a": 1\n}', '{\n   "a": 1,\n   "x": 1\n}'),
    "one line": ('{"a": 1}', '{"a": 1, "x": 1}'),
    "carriage returns": ('{\r\n  "a": 1\r\n}\r\n', '{\r\n  "a": 1,\r\n  "x": 1\r\n}\r\n'),
    "a mark at the start": ('\ufeff{\n  "a": 1\n}', '\ufeff{\n  "a": 1,\n  "x": 1\n}'),
    "a trailing comma": ('{\n  "a": 1,\n}', '{\n  "a": 1,\n  "x": 1,\n}'),
    "a comment behind the last": ('{\n  "a": 1 // one\n}', '{\n  "a": 1, // one\n  "x": 1\n}'),
    "a comment on its own line": ('{\n  "a": 1\n  // "b": 2\n}', '{\n  "a": 1,\n  // "b": 2\n  "x": 1\n}'),
    "a comment with a carriage return": ('{\r\n  "a": 1 // one\r\n}', '{\r\n  "a": 1, // one\r\n  "x": 1\r\n}'),
    "a comment in brackets": ('{"a": 1 /* one */}', '{"a": 1, /* one */ "x": 1}'),
    "a comment in an empty object": ("{\n  // nothing\n}", '{\n  // nothing\n  "x": 1\n}'),
    "a comment after a trailing comma": ('{\n  "a": 1, // one\n}', '{\n  "a": 1, // one\n  "x": 1,\n}'),
    "letters of all kinds": ('{\n  "ä": "€ \\u00e9 //"\n}', '{\n  "ä": "€ \\u00e9 //",\n  "x": 1\n}'),
}


@pytest.mark.parametrize(("text", "expected"), ADDED.values(), ids=ADDED)
def test_an_entry_is_added_in_the_files_own_style(text: str, expected: str) -> None:
    root = jsonc.parse(text)
    style = jsonc.style_of(text, root)
    assert apply(text, jsonc.insertion(text, root, [("x", 1)], depth=0, style=style)) == expected


REMOVED = {
    "the only one": ('{\n  "x": 1\n}', "{\n}"),
    "the first": ('{\n  "x": 1,\n  "b": 2\n}', '{\n  "b": 2\n}'),
    "the last": ('{\n  "a": 1,\n  "x": 1\n}', '{\n  "a": 1\n}'),
    "one between": ('{"a": 1, "x": 1, "b": 2}', '{"a": 1, "b": 2}'),
    "the last with a trailing comma": ('{\n  "a": 1,\n  "x": 1,\n}', '{\n  "a": 1,\n}'),
    "comments stay": (
        '{\n  "a": 1, // one\n  // about x\n  "x": 1 // x\n}',
        '{\n  "a": 1 // one\n  // about x\n // x\n}',
    ),
    "what follows is not swallowed by a comment": (
        '{ // all\n  "x": 1, "b": 2\n}',
        '{ // all\n "b": 2\n}',
    ),
    "nor the end of the object": ('{ // all\n  "x": 1}', "{ // all\n}"),
    "nor a comment before the comma": ('{ // all\n"x": 1 /* one */, "b": 2}', '{ // all\n /* one */ "b": 2}'),
    "a comment before the comma": ('{"x": 1 /* one */, "b": 2}', '{ /* one */ "b": 2}'),
}


@pytest.mark.parametrize(("text", "expected"), REMOVED.values(), ids=REMOVED)
def test_an_entry_is_taken_out_and_all_else_stays(text: str, expected: str) -> None:
    root = jsonc.parse(text)
    number = next(number for number, member in enumerate(root.members) if member.key == "x")
    changed = apply(text, jsonc.removal(text, root, {number}))
    assert changed == expected
    assert plain_json(changed) == {key: value for key, value in plain_json(text).items() if key != "x"}


def test_of_several_that_go_none_leaves_the_end_in_a_comment() -> None:
    text = "[ // all\n1,\n2]"
    assert apply(text, jsonc.removal(text, jsonc.parse(text), {0, 1})) == "[ // all\n]"


# --- any document, in any style ----------------------------------------------------------------------

scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6)
keys = st.text(min_size=1, max_size=5).filter(lambda key: key != "x")
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=8
)
documents = st.dictionaries(keys, values, max_size=4)


@st.composite
def rendered(draw: st.DrawFn, contents: st.SearchStrategy[dict[str, Any]] = documents) -> tuple[str, dict[str, Any]]:
    """A document as some person or program might have written it."""
    value = draw(contents)
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    trivia = st.sampled_from(
        [
            "",
            " ",
            newline,
            f"{newline}  ",
            f"{newline}\t",
            " /* { , */ ",
            f' // "x": [{newline}',
            f"{newline}{newline}   ",
        ]
    )

    def show(inner: Any) -> str:
        if isinstance(inner, dict):
            parts = [
                f"{json.dumps(k, ensure_ascii=draw(st.booleans()))}{draw(trivia)}:{draw(trivia)}{show(v)}"
                for k, v in inner.items()
            ]
            return "{" + joined(parts) + "}"
        if isinstance(inner, list):
            return "[" + joined([show(item) for item in inner]) + "]"
        return json.dumps(inner, ensure_ascii=draw(st.booleans()))

    def joined(parts: list[str]) -> str:
        text = draw(trivia)
        for number, part in enumerate(parts):
            is_last = number == len(parts) - 1
            comma = "" if is_last and draw(st.booleans()) else ","
            text += f"{part}{draw(trivia)}{comma}{draw(trivia)}"
        return text

    mark = draw(st.sampled_from(["", "\ufeff"]))
    return f"{mark}{draw(trivia)}{show(value)}{draw(trivia)}", value


@given(rendered())
def test_any_document_is_read_as_it_is_meant(made: tuple[str, dict[str, Any]]) -> None:
    text, value = made
    assert jsonc.parse(text).value == value == plain_json(text)


@given(rendered(), st.data())
def test_what_is_added_anywhere_can_be_taken_back_exactly(
    made: tuple[str, dict[str, Any]], data: st.DataObject
) -> None:
    text, _ = made
    root = jsonc.parse(text)
    containers = [(path, node) for path, node in jsonc.walk(root) if node.kind != "scalar"]
    path, node = data.draw(st.sampled_from(containers))
    entries: list[tuple[str, object]] = [("x" if node.kind == "object" else "", {"x": [{"mine": True}]})]
    depth = data.draw(st.integers(0, 3))
    edits = jsonc.insertion(text, node, entries, depth=depth, style=jsonc.style_of(text, root))
    added = apply(text, edits)
    assert reverted(text, edits, added) == text
    there = jsonc.at(added, jsonc.parse(added), path)
    assert there is not None
    assert there.value == (
        {**node.value, "x": entries[0][1]} if node.kind == "object" else [*node.value, entries[0][1]]
    )
    assert plain_json(added) == jsonc.parse(added).value


@settings(max_examples=300)
@given(rendered(), st.data())
def test_taking_out_any_entries_leaves_the_others(made: tuple[str, dict[str, Any]], data: st.DataObject) -> None:
    text, _ = made
    root = jsonc.parse(text)
    containers = [(path, node) for path, node in jsonc.walk(root) if node.members]
    if not containers:
        return
    path, node = data.draw(st.sampled_from(containers))
    numbers = data.draw(st.sets(st.integers(0, len(node.members) - 1), min_size=1))
    left = apply(text, jsonc.removal(text, node, numbers))
    there = jsonc.at(left, jsonc.parse(left), path)
    kept = [member for number, member in enumerate(node.members) if number not in numbers]
    assert there is not None
    if node.kind == "object":
        assert there.value == {member.key: member.node.value for member in kept}
    else:
        assert there.value == [member.node.value for member in kept]
    assert plain_json(left) == jsonc.parse(left).value


@given(st.text(max_size=40), st.data())
def test_edits_are_taken_back_after_somebody_edited_elsewhere(text: str, data: st.DataObject) -> None:
    """Our edits come first, theirs somewhere else: without ours, exactly theirs are left."""
    middle = data.draw(st.integers(0, len(text)))
    start = data.draw(st.integers(0, middle))
    end = data.draw(st.integers(start, middle))
    ours = Edit(start=start, end=end, new=data.draw(st.text(max_size=9)))
    theirs = data.draw(st.text(max_size=9))
    both = apply(text, [ours]) + theirs
    back = reverted(text, [ours], both)
    assert back is None or back == text + theirs
