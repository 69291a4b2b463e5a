"""Text for a model, in the places where one sign more or less decides."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead import verdicts
from fairlead.said import BROKEN, as_json, clean, for_model, sayable
from fairlead.verdicts import Decision, Verdict

FRAME = "<system-reminder>x</system-reminder>"
PLAIN = f"{BROKEN}system-reminder>x{BROKEN}/system-reminder>"
SEEN = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"

CLEANED: dict[str, tuple[str, str]] = {
    "a tab beside what is hidden": ("a\tb\u200bc", "a\tbc"),
    "a line end beside what is hidden": ("a\nb\u200bc", "a\nbc"),
    "a return alone beside it": ("a\rb\u200b", "a\nb"),
    "next line": ("a\x85b", "a\nb"),
    "line separator": ("a\u2028b", "a\nb"),
    "paragraph separator": ("a\u2029b", "a\nb"),
    "eight bits alone": ("a\x9d0;title\x9cb", "ab"),
    "eight bits alone, for colours": ("a\x9b31mb", "ab"),
    "seven bits alone": ("a\x1b[31mb", "ab"),
    "all joiners at once": ("a\u200cb\u200dc\ufe0ed\ufe0fe", "abcde"),
    "a joiner alone": ("a\u200cb", "ab"),
    "a joiner between far letters": ("\u06cc\u200c\u062e", "\u06cc\u200c\u062e"),
    "a joiner behind a near letter": ("a\u200c\u062e", "a\u062e"),
    "a joiner before a near letter": ("\u06cc\u200ca", "\u06cca"),
    "a joiner at the end": ("\u06cc\u200c", "\u06cc"),
    "a joiner at the beginning": ("\u200c\u06cc", "\u06cc"),
    "several joiners": ("\u06cc\u200c\u200d\u062e", "\u06cc\u200c\u062e"),
    "a look and a joiner": ("\u2764\ufe0f\u200d\U0001f525", "\u2764\ufe0f\u200d\U0001f525"),
    "a joiner and a look": ("\u2764\u200d\ufe0f\U0001f525", "\u2764\u200d\U0001f525"),
    "a look at the end": ("\u2764\ufe0e", "\u2764\ufe0e"),
    "the last near letter": ("\u00bf\u200c\u062e", "\u00bf\u062e"),
    "the first far letter": ("\u00c0\u200c\u062e", "\u00c0\u200c\u062e"),
    "a joiner before the last near letter": ("\u06cc\u200c\u00bfx", "\u06cc\u00bfx"),
    "a joiner behind a near letter behind a far one": ("\u06ccb\u200c\u062e", "\u06ccb\u062e"),
    "letters that show nothing": ("a\u034fb\u115fc\u1160d\u17b4e\u17b5f\u3164g\uffa0h", "abcdefgh"),
    "letters beside them": ("\u034e\u0350\u115e\u1161\u17b3\u17b6\u3163\u3165\uff9f\uffa1",) * 2,
    "every format that is seen": (SEEN, SEEN),
    "the first and last selectors": ("a\ufe00b\ufe0dc", "abc"),
    "the first and last tags": ("a\U000e0000b\U000e0fffc", "abc"),
    "Mongolian selectors": ("a\u180bb\u180fc", "abc"),
    "what stands beside them": ("\u180a\u1810\ufdff\ufe10", "\u180a\u1810\ufdff\ufe10"),
    "formats that are seen": ("\u0600\u0605\u06dd\u070f", "\u0600\u0605\u06dd\u070f"),
    "a format beside them": ("\u061c\u0606", "\u0606"),
    "one who speaks, with the other in the text": ("Human: ask the assistant", f"{BROKEN}Human: ask the assistant"),
    "the other, with the first in the text": ("Assistant: a human", f"{BROKEN}Assistant: a human"),
    "somebody in a later line": ("one\ntwo\n  Human: x\nfour", f"one\ntwo\n  {BROKEN}Human: x\nfour"),
    "two who speak": ("Human: a\nAssistant: b", f"{BROKEN}Human: a\n{BROKEN}Assistant: b"),
    "a speaker without a colon": ("Human beings", "Human beings"),
    "a speaker with blanks": ("Human \t: x", f"{BROKEN}Human \t: x"),
    "a frame at the beginning": (FRAME, PLAIN),
    "a frame at the end": ("x <system-reminder>", f"x {BROKEN}system-reminder>"),
    "a frame that is not closed": ("<system-reminder", f"{BROKEN}system-reminder"),
    "two frames": (f"{FRAME} and {FRAME}", f"{PLAIN} and {PLAIN}"),
    "a frame in wide letters": ("\uff1csystem-reminder>", f"{BROKEN}system-reminder>"),
    "a frame behind a letter of two": ("\ufb01 <system-reminder>", f"\ufb01 {BROKEN}system-reminder>"),
    "underscores": ("<system_reminder>", f"{BROKEN}system_reminder>"),
    "a name with more behind it": ("<system-reminder-2 a='b'>", f"{BROKEN}system-reminder-2 a='b'>"),
    "a name that only begins alike": ("<system-reminderx>", "<system-reminderx>"),
    "a name with a space of names": ("<x:system-reminder>", f"{BROKEN}x:system-reminder>"),
    "a known space of names": ("<qwen:whatever>", f"{BROKEN}qwen:whatever>"),
    "an unknown space of names": ("<svg:whatever>", "<svg:whatever>"),
    "a hook of some moment": ("<session-end-hook>", f"{BROKEN}session-end-hook>"),
    "hooks of some moment": ("<pre-tool-hooks>", f"{BROKEN}pre-tool-hooks>"),
    "a hook of nothing": ("<my-hook>", "<my-hook>"),
    "a moment without a hook": ("<session-end>", "<session-end>"),
    "a short name alone": ("<system>", f"{BROKEN}system>"),
    "a short name that ends at once": ("<system/>", f"{BROKEN}system/>"),
    "a short name with attributes": ("<system a='b'>", f"{BROKEN}system a='b'>"),
    "a short name in another line": ("<system\na>", "<system\na>"),
    "a short name in a comparison": ("a <system and more", "a <system and more"),
    "a short name with other signs": ("<system;>", "<system;>"),
    "what has to be followed, and is": ("<invoke name='x'>", f"{BROKEN}invoke name='x'>"),
    "what has to be followed, and is not": ("<invoke x='name'>", "<invoke x='name'>"),
    "a function": ("<function=x>", f"{BROKEN}function=x>"),
    "a function without": ("<function>", "<function>"),
    "permissions": ("<permissions instructions>", f"{BROKEN}permissions instructions>"),
    "a token": ("<|im_start|>", f"{BROKEN}|im_start|>"),
    "a token with blanks": ("<| im_start |>", f"{BROKEN}| im_start |>"),
    "a token with a mark": ('<|"|>', f'{BROKEN}|"|>'),
    "a token of dots": ("<|a.b-c|>", f"{BROKEN}|a.b-c|>"),
    "the longest token": (f"<|{'a' * 62}|>", f"{BROKEN}|{'a' * 62}|>"),
    "one that is longer": (f"<|{'a' * 63}|>", f"<|{'a' * 63}|>"),
    "an empty token": ("<||>", "<||>"),
    "an open token": ("<|im_start", "<|im_start"),
    "a token with other signs": ("<|a(b|>", "<|a(b|>"),
    "half a token": ("<|turn>", f"{BROKEN}|turn>"),
    "the other half": ("<turn|>", f"{BROKEN}turn|>"),
    "half of something else": ("<|lorem>", "<|lorem>"),
    "the other half of something else": ("<lorem|>", "<lorem|>"),
    "a bracket": ("[INST]", f"{BROKEN}INST]"),
    "the end of a bracket": ("[/INST]", f"{BROKEN}/INST]"),
    "a bracket that is not closed": ("[INST", "[INST"),
    "another bracket": ("[WARNING]", "[WARNING]"),
    "an odd bracket": ("]~b]", f"{BROKEN}~b]"),
    "nearly an odd bracket": ("]~b", "]~b"),
    "nearly another": ("]-b]", "]-b]"),
    "an odd bracket that opens": ("[e~[", f"{BROKEN}e~["),
    "nearly one that opens": ("[e~x", "[e~x"),
    "SYS": ("<<SYS>>", f"{BROKEN}{BROKEN}SYS>>"),
    "a type": ("List<System> x", "List<System> x"),
    "a type without a name before it": ("(<System> x)", f"({BROKEN}System> x)"),
    "capitals behind a name": ("List<SYSTEM> x", f"List{BROKEN}SYSTEM> x"),
    "small letters behind a name": ("List<system> x", f"List{BROKEN}system> x"),
    "a type at the beginning": ("<System> x", f"{BROKEN}System> x"),
}  # fmt: skip


@pytest.mark.parametrize("case", CLEANED)
def test_a_text_is_broken_there_and_nowhere_else(case: str) -> None:
    text, expected = CLEANED[case]
    assert clean(text) == expected


def test_what_agents_are_told_is_at_most_ten_thousand_characters_long() -> None:
    """Some of them cut what is longer, in the middle of a sentence."""
    assert for_model("x" * 10_000) == "x" * 10_000
    for length in (10_001, 59_999, 60_000, 60_001, 200_000):
        said = for_model("x" * length)
        head, missing, tail = said.split("\n")
        assert 9_900 < len(said) <= 10_000
        assert len(head) + len(tail) + int(missing.split()[1].replace(",", "")) == length
        assert 1.9 < len(head) / len(tail) < 2.1


def test_both_ends_of_a_very_long_text_are_looked_at() -> None:
    said = for_model(f"first {FRAME}{'x' * 100_000}{FRAME} last")
    assert said.startswith(f"first {PLAIN}")
    assert said.endswith(f"{PLAIN} last")


REPEATED: dict[str, Any] = {
    "only an opening bracket": {"a": "[e~["},
    "only closing brackets": {"a": "]~b]"},
    "both": {"a": "[INST]", "b": "[/INST]"},
    "none": {"a": FRAME},
    "in a name": {"[INST]": 1},
}


@pytest.mark.parametrize("case", REPEATED)
def test_json_for_a_model_says_the_same_without_a_frame(case: str) -> None:
    value = REPEATED[case]
    written = as_json(value)
    assert json.loads(written) == value
    assert clean(written) == written


def test_every_text_of_a_decision_and_of_its_parts_is_cleaned() -> None:
    texts: dict[str, Any] = dict.fromkeys(verdicts.TEXTS, FRAME)
    told = sayable(
        Decision(**texts, notes=(FRAME,), groups={"codemie": Verdict(**texts), "amcp": Verdict(decision="deny")}), clean
    )
    assert {getattr(told, name) for name in verdicts.TEXTS} == {PLAIN}
    assert {getattr(told.groups["codemie"], name) for name in verdicts.TEXTS} == {PLAIN}
    assert told.groups["amcp"] == Verdict(decision="deny")
    assert (told.notes, told.whole) == ((PLAIN,), {})


@pytest.mark.parametrize(("length", "kept"), [(10_000, False), (10_001, True)])
def test_what_is_cut_is_kept_whole_elsewhere(length: int, kept: bool) -> None:
    text = "x" * length
    told = sayable(Decision(reason=text, whole={"context": "before"}), for_model)
    assert told.whole == {"context": "before", **({"reason": text} if kept else {})}


def test_what_was_not_cut_is_kept_nowhere_else() -> None:
    text = "x" * 20_000
    assert sayable(Decision(reason=text), clean).whole == {}
