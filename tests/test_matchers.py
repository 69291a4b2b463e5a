from __future__ import annotations

import random
import re
import subprocess
import sys
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fairlead.matchers import Matcher, everything, name_list, whole_name

TOOLS = ("Bash", "BashOutput", "bash", "Edit", "Write", "MultiEdit", "mcp__memory__read", "mcp__a-b__c", "", "Bash\n")


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("", TOOLS),
        ("*", TOOLS),
        ("Bash", ["Bash"]),
        ("Edit|Write", ["Edit", "Write"]),
        ("Edit|", ["Edit", ""]),
        (".*Edit", ["Edit", "MultiEdit"]),
        ("Bash.*", ["Bash", "BashOutput"]),
        ("(?i)bash", ["Bash", "bash"]),
        ("mcp__.*", ["mcp__memory__read", "mcp__a-b__c"]),
        ("mcp__a-b__c", ["mcp__a-b__c"]),
        ("^Bash$", ["Bash"]),
        (r"\QBash", ["Bash"]),
        ("Bash|BashOutput", ["Bash", "BashOutput"]),
        (".", []),
    ],
)
def test_a_whole_name(pattern: str, matches: list[str]) -> None:
    matcher = whole_name(pattern)
    assert [tool for tool in TOOLS if matcher(tool)] == list(matches)
    assert matcher.problem == ""


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("", TOOLS),
        ("*", TOOLS),
        ("Bash", ["Bash"]),
        ("Edit|Write", ["Edit", "Write"]),
        ("Edit, Write", ["Edit", "Write"]),
        ("mcp__a-b__c", ["mcp__a-b__c"]),
        ("Edit.*", ["Edit", "MultiEdit"]),
        ("^Edit", ["Edit"]),
        ("mcp__.*__read", ["mcp__memory__read"]),
    ],
)
def test_a_list_of_names_or_a_pattern_found_anywhere(pattern: str, matches: list[str]) -> None:
    matcher = name_list(pattern)
    assert [tool for tool in TOOLS if matcher(tool)] == list(matches)
    assert matcher.check() == ""


@pytest.mark.parametrize("build", [whole_name, name_list])
@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("(", "missing )"),
        ("a)(b", "unexpected )"),
        ("[", "missing ]"),
        ("(?=a)", "look-ahead (?=…) is not supported"),
        ("(?!Bash).*", "look-ahead (?!…) is not supported"),
        ("(?<=a)b", "look-behind (?<=…) is not supported"),
        ("(?<!a)b", "look-behind (?<!…) is not supported"),
        (r"(a)\1", "invalid escape sequence"),
        ("a{1001}", "invalid repetition size"),
        ("((a{100}){100}){100}", "invalid repetition size"),
        ("\ud800.", "half a character"),
        ("x*+", "bad repetition"),
    ],
)
def test_what_cannot_be_understood_is_explained_and_matches_everything(
    build: type[Matcher], pattern: str, says: str
) -> None:
    matcher = build(pattern)
    assert all(matcher(tool) for tool in TOOLS)
    assert says in matcher.check()


@pytest.mark.parametrize("pattern", [",", "|", " | ", " ", " , |"])
def test_a_list_without_a_name_is_explained_and_matches_everything(pattern: str) -> None:
    matcher = name_list(pattern)
    assert matcher("Bash")
    assert "names nothing" in matcher.check()


def test_a_value_with_half_a_character_is_never_kept_from_a_hook() -> None:
    assert name_list("Ba.h")("\ud800")
    assert whole_name("Ba.h")("\ud800")


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=30) | st.text("ab|,*.()[]{}?+\\^$-", max_size=12)


@given(ANY_TEXT, ANY_TEXT)
@example("\0", "\0")
def test_a_matcher_never_raises(pattern: str, value: str) -> None:
    for build in (whole_name, name_list, everything):
        matcher = build(pattern)
        assert matcher(value) in (True, False)
        assert isinstance(matcher.check(), str)
        if matcher.problem:
            assert matcher(value)


SIMPLE = st.lists(st.sampled_from(["a", "b", "ab", ".", "a*", "b+", "(a|b)", "[ab]", "c?", "x"]), max_size=6).map(
    "".join
)


@given(SIMPLE, st.text("abcx", max_size=10))
def test_a_pattern_means_what_it_means_in_python(pattern: str, value: str) -> None:
    plain = re.fullmatch(r"\w*", pattern)
    assert whole_name(pattern)(value) == (pattern == "" or re.fullmatch(pattern, value) is not None)
    expected = value == pattern if plain else re.search(pattern, value) is not None
    assert name_list(pattern)(value) == (pattern == "" or expected)


@given(st.lists(st.text("abcXYZ_09", min_size=1, max_size=6), min_size=1, max_size=5), st.text("abcXYZ_09", max_size=6))
def test_names_are_compared_as_they_are(names: list[str], value: str) -> None:
    assert whole_name("|".join(names))(value) == (value in names)
    for separator in ("|", ",", " , ", ", "):
        assert name_list(separator.join(names))(value) == (value in names)


# --- patterns made to hang -----------------------------------------------------------------------------

_TRAPS = (
    "(a+)+", "(a*)*", "(a|a)*", "(a|aa)+", "(a|a?)+", "(.*a){12}", "(a?){60}a{60}", "(x+x+)+y", "([a-z]+)*",
    "(a+){10}", "((a+)+)+", "(.*)(.*)(.*)(.*)(.*)", "(a|b|ab)*", "(?:a+b?)+", "(\\w+\\s?)+", "(.+)+", "(a.?)*",
    "[ab]*a[ab]{60}", "(a{0,40}){20}", "(ab?a?)*",
)  # fmt: skip
_ENDS = ("$", "b$", "[^a]{3}$", "c", "\\d+$")
_BEGINS = ("", "^")
PATTERNS = [begin + trap + end for begin in _BEGINS for trap in _TRAPS for end in _ENDS]
MEGABYTE = 1_000_000


def _values() -> list[str]:
    return ["a" * MEGABYTE + "!", "ab" * (MEGABYTE // 2) + "\n", "aä" * (MEGABYTE // 3) + "!"]


def test_there_are_two_hundred_patterns_made_to_hang() -> None:
    assert len(set(PATTERNS)) == 200
    assert sum(bool(name_list(pattern).check()) for pattern in PATTERNS) == 0


def test_no_pattern_hangs_on_a_megabyte() -> None:
    """The bound detects a hang: a search that backtracks would need longer than the universe has been there."""
    values = _values()
    started = time.monotonic()
    for number, pattern in enumerate(PATTERNS):
        name_list(pattern)(values[number % 3])
        whole_name(pattern)(values[(number + 1) % 3])
    assert time.monotonic() - started < 60


@pytest.mark.soak
def test_soak_every_pattern_and_every_value_within_50_milliseconds() -> None:
    slow = {}
    for pattern in PATTERNS:
        for build in (name_list, whole_name):
            matcher = build(pattern)
            matcher.check()
            for value in _values():
                started = time.perf_counter()
                matcher(value)
                taken = time.perf_counter() - started
                if taken > 0.05:
                    slow[pattern, build.__name__, value[:2]] = taken
    assert slow == {}


def test_control_the_re_module_hangs_on_thirty_characters() -> None:
    program = "import re; re.search('^(a+)+$', 'a' * 30 + '!')"
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run([sys.executable, "-I", "-S", "-c", program], timeout=2, check=False)


def test_random_patterns_never_hang() -> None:
    dice = random.Random(7)
    value = "ab" * 50_000 + "!"
    started = time.monotonic()
    for _ in range(200):
        pattern = "".join(
            dice.choice(["a", "b", "(", ")", "*", "+", "?", "|", ".", "{2,9}", "^", "$"]) for _ in range(14)
        )
        name_list(pattern)(value)
    assert time.monotonic() - started < 60
