"""What a person sees is the text itself: no two texts look alike, and nothing is hidden, moved or pushed away."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.server import views
from fairlead.server.visible import CLOSE, OPEN, shown

HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Mn", "Me"}
BIDI_CONTROLS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
BLANK = set("\u115f\u1160\u3164\uffa0\u2800\U0001d159")


def is_dangerous(character: str) -> bool:
    if character in "\n\t ":
        return False
    category = unicodedata.category(character)
    return category in HIDDEN | {"Zs"} or unicodedata.bidirectional(character) in BIDI_CONTROLS or character in BLANK


def read_back(text: str) -> str:
    """What was shown, from how it was shown: proof that nothing was lost."""
    lines, found = text.split("\n"), []
    for line in lines:
        if line.startswith(OPEN) and line.endswith(f" empty lines{CLOSE}"):
            found += [""] * int(line[1:].split(" ")[0])
        else:
            found.append(_line_back(line))
    return "\n".join(found)


def _line_back(line: str) -> str:
    first, *rest = line.split(OPEN)
    return first + "".join(_name_back(*part.split(CLOSE, 1)) for part in rest)


def _name_back(name: str, after: str) -> str:
    kind, _, digits = name.partition("+")
    if kind == "U":
        return chr(int(digits, 16)) + after
    if name == "space":
        return " " + after
    count, what = name.split(" ")
    return {"spaces": " ", "tabs": "\t"}[what] * int(count) + after


def test_every_code_point_is_shown_as_itself_or_by_a_name_of_its_own() -> None:
    """CVE-2021-42574."""
    seen: dict[str, int] = {}
    for code in range(sys.maxunicode + 1):
        look = shown(f"a{chr(code)}b")
        assert not any(map(is_dangerous, look)), hex(code)
        assert look not in seen, (hex(code), hex(seen[look]))
        seen[look] = code
    assert len(seen) == 0x110000


def test_the_control_finds_the_dangerous_characters_in_text_that_was_not_escaped() -> None:
    assert sum(is_dangerous(chr(code)) for code in range(sys.maxunicode + 1)) > 900_000
    assert all(map(is_dangerous, "\x1b\x9b\u202e\u2066\u200b\u00ad\ufeff\u3164\U000e0041\ud800\r\x00\u00a0"))


TEXT = st.text(
    st.one_of(st.sampled_from(" \t\n\r\x1b\u202e\u200b⟨⟩U+09spacetblin"), st.characters(exclude_categories=[])),
    max_size=60,
)
RUNS = st.lists(st.tuples(st.sampled_from(" \t\na⟨\u00a0"), st.integers(1, 90)), max_size=8).map(
    lambda runs: "".join(character * count for character, count in runs)
)


@given(TEXT | RUNS)
def test_a_text_can_be_read_back_from_what_is_shown(text: str) -> None:
    look = shown(text)
    assert read_back(look) == text
    assert not any(map(is_dangerous, look))


@given(TEXT | RUNS, TEXT | RUNS)
def test_two_texts_never_look_the_same(one: str, other: str) -> None:
    assert (shown(one) == shown(other)) == (one == other)


@pytest.mark.parametrize("size", [0, 1, 79, 80, 4095, 4096, 65_536, 1_048_576])
@pytest.mark.parametrize("filling", ["x", "é", "\u202e", " ", "\n", "\t", "x\n"])
def test_the_end_of_a_long_text_is_there_at_any_length(size: int, filling: str) -> None:
    """GHSA-xww8-gqvh-92x9."""
    text = (filling * size)[:size] + "; rm -rf ~"
    look = shown(text)
    assert look.endswith("; rm -rf ~")
    assert read_back(look) == text


@pytest.mark.parametrize("count", [10, 100, 10_000])
@pytest.mark.parametrize("blank", [" ", "\t", "\n", "\u00a0", "\u3000"])
def test_blanks_cannot_push_a_command_out_of_sight(blank: str, count: int) -> None:
    """gemini-cli#25865."""
    look = shown(f"ls{blank * count}; rm -rf ~")
    assert max(map(len, _blank_runs(look)), default=0) <= 8
    if blank in " \n":
        assert f"{OPEN}{count if blank == ' ' else count - 1} " in look


def test_deep_tabs_at_the_start_of_a_line_are_counted() -> None:
    assert shown("\t" * 3 + "x") == "\t\t\tx"
    assert shown("\t" * 500 + "x") == "⟨500 tabs⟩x"


def _blank_runs(text: str) -> list[str]:
    return "".join(c if c.isspace() else "x" for c in text).strip("x").split("x")


# --- the whole of a question ------------------------------------------------------------------------------


def _all_text(parts: list[dict[str, object]]) -> str:
    return repr(parts)


@pytest.mark.parametrize(
    ("tool", "payload"),
    [
        ("Bash", {"command": "ls", "dangerouslyDisableSandbox": "SECRET"}),
        ("Write", {"file_path": "/a", "content": "x", "mode": "SECRET"}),
        ("Edit", {"file_path": "/a", "old_string": "x", "new_string": "SECRET", "deleted": True}),
        ("Edit", {"file_path": "/a", "old_string": "SECRET", "new_string": "y", "edits": 5}),
        ("Edit", {"file_path": "/a", "old_string": "SECRET", "new_string": "y", "edits": []}),
        ("MultiEdit", {"file_path": "/a", "edits": [{"old_string": "x", "new_string": "y", "file_path": "SECRET"}]}),
        ("MultiEdit", {"file_path": "/a", "edits": ["SECRET"]}),
        ("MultiEdit", {"file_path": "/a", "edits": {"old_string": "SECRET"}}),
        ("AskUserQuestion", {"questions": [], "answers": "SECRET"}),
        ("apply_patch", {"command": "*** Begin Patch\n*** Delete File: /a\n*** End Patch", "more": "SECRET"}),
        ("apply_patch", {"command": "SECRET\n*** Begin Patch\n*** Delete File: /a\n*** End Patch\n"}),
        ("apply_patch", {"command": "*** Begin Patch\n*** Delete File: /a\n*** End Patch\nSECRET"}),
        ("Bash", {"command": ["SECRET"]}),
        ("mcp__x__y", {"SECRET": 1}),
    ],
)
def test_nothing_that_a_tool_is_given_stays_out_of_sight(tool: str, payload: dict[str, object]) -> None:
    assert "SECRET" in _all_text(views.parts_of(tool, payload, "/"))


@given(
    st.lists(st.sampled_from(["", "a", "b", "c"]), max_size=30), st.lists(st.sampled_from(["", "a", "b"]), max_size=30)
)
def test_a_diff_holds_all_of_the_old_and_all_of_the_new_text(old: list[str], new: list[str]) -> None:
    lines = views.diff_lines(old, new)
    assert [line for mark, line in lines if mark != "+"] == old
    assert [line for mark, line in lines if mark != "-"] == new


def test_a_diff_that_would_take_long_still_holds_everything() -> None:
    old, new = ["", "x"] * 5000, ["x", "", "y"] * 5000
    lines = views.diff_lines(old, new)
    assert [line for mark, line in lines if mark != "+"] == old
    assert [line for mark, line in lines if mark != "-"] == new


def test_one_changed_line_among_thirty_thousand_is_the_only_one_shown_as_changed() -> None:
    old = [f"line {number}" for number in range(30_000)]
    lines = views.diff_lines(old, [*old[:14_000], "another", *old[14_001:]])
    assert [line for line in lines if line[0] != " "] == [("-", "line 14000"), ("+", "another")]
    assert len(lines) == 30_001
