"""What reaches a terminal: wrapped, coloured only there, and never steered by what is in a file."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.cli import _show
from tests.conftest import Home, Ran

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_no_text_can_steer_a_terminal(text: str) -> None:
    shown = _show.visible(text)
    assert not {unicodedata.category(letter) for letter in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_ordinary_text_is_shown_as_it_is(text: str) -> None:
    assert _show.visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("a\nb", "a\\nb"),
        ("a\tb\r", "a\\tb\\r"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\x9b31m", "\\x9b31m"),
        ("\ud800", "\\ud800"),
        ("naïve 漢字 🎉", "naïve 漢字 🎉"),
    ],
    ids=["escape", "newline", "tab", "right-to-left", "c1", "surrogate", "letters"],
)
def test_what_would_steer_stands_there_escaped(text: str, shown: str) -> None:
    assert _show.visible(text) == shown


HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202e[bold]x[/bold] :smile: "


@pytest.fixture
def hostile(place: Home) -> Home:
    line = f": '{HOSTILE}'; echo '{HOSTILE}' >&2; exit 2"
    handler = {"type": "command", "command": line}
    place.write(
        "~/.claude/settings.json",
        {"hooks": {"PreToolUse": [{"matcher": HOSTILE, "hooks": [handler]}, {"hooks": [handler]}]}},
    )
    return place


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(
    "words", [["check"], ["list"], ["explain", "--command", HOSTILE]], ids=["check", "list", "explain"]
)
def test_files_and_hooks_cannot_steer_it(
    hostile: Home, on_terminal: Callable[..., str], words: list[str], width: int
) -> None:
    text = COLOUR.sub("", on_terminal(*words, width=width))
    assert not set(text) & {"\x1b", "\x07", "\u202e"}
    if words != ["check"]:
        assert "\\x1b[2J" in text.replace("\n", "").replace(" ", "")
        assert "[bold]" in text


@pytest.mark.parametrize(
    "words", [["check"], ["list"], ["explain", "--command", HOSTILE]], ids=["check", "list", "explain"]
)
def test_nor_when_it_is_piped(hostile: Home, fairlead: Callable[..., Ran], words: list[str]) -> None:
    text = fairlead(*words).out.decode()
    assert not set(text) & {"\x1b", "\x07", "\u202e"}


LONG = "echo " + "a-rather-long-argument-without-any-space/" * 6 + " --flag"


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("words", [["list"], ["explain", "--event", "Stop"], ["demo"]], ids=["list", "explain", "demo"])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_cut(
    place: Home, on_terminal: Callable[..., str], words: list[str], width: int
) -> None:
    place.write("~/.config/fairlead/fairlead.toml", f'[[hook]]\non = "Stop"\nrun = "{LONG}"\n')
    text = COLOUR.sub("", on_terminal(*words, width=width))
    assert max(map(len, text.splitlines())) <= width
    if words != ["demo"]:
        assert LONG.replace(" ", "") in re.sub(r"\s", "", text)
    assert "…" not in text.replace("API_KEY=…", "")


def test_colour_is_for_terminals(mixed: Home, on_terminal: Callable[..., str], fairlead: Callable[..., Ran]) -> None:
    assert COLOUR.search(on_terminal("list"))
    assert b"\x1b" not in fairlead("list", env={"FORCE_COLOR": "1", "TERM": "xterm"}).out


def test_no_color_is_respected(mixed: Home, on_terminal: Callable[..., str]) -> None:
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", on_terminal("list", env={"NO_COLOR": "1"}))


def test_json_on_a_terminal_is_plain(mixed: Home, on_terminal: Callable[..., str]) -> None:
    assert "\x1b" not in on_terminal("list", "--json")


def test_piped_lines_are_whole(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write("~/.config/fairlead/fairlead.toml", f'[[hook]]\non = "Stop"\nrun = "{LONG}"\n')
    assert LONG in fairlead("list").out.decode()


def test_a_narrow_encoding_is_no_crash(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write("~/.config/fairlead/fairlead.toml", '[[hook]]\non = "Stop"\nname = "prüfen"\nrun = "true"\n')
    ran = fairlead("list", env={"PYTHONIOENCODING": "ascii"})
    assert ran.code == 0
    assert b"pr\\xfcfen" in ran.out


def test_rich_is_not_imported_for_a_pipe(mixed: Home) -> None:
    import subprocess
    import sys

    program = "import sys; from fairlead.cli import main; main(['list']); sys.exit('rich' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        cwd=mixed.project,
        env=mixed.environ,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
