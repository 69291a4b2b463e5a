"""`fairlead check` looks at the cases too."""

from __future__ import annotations

from collections.abc import Callable

from tests.conftest import Home, Ran

GOOD = '[[case]]\nevent = "PreToolUse"\ncommand = "ls"\ndecision = "none"\n'


def test_a_problem_in_the_cases_has_its_place(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write("fairlead.tests.toml", f'{GOOD}\n[[case]]\nevent = "PreToolUse"\ncomand = "ls"\n')
    ran = fairlead("check", "--json")
    found = [(one["file"], one["line"], one["column"], one["level"]) for one in ran.json if "comand" in one["message"]]
    assert (ran.code, found) == (1, [(str(place.project / "fairlead.tests.toml"), 8, 1, "error")])
    assert "did you mean 'command'?" in fairlead("check").out.decode()


def test_what_is_no_toml_is_said(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write("fairlead.tests.toml", "[[case]\n")
    ran = fairlead("check", "--json")
    assert (ran.code, [one["line"] for one in ran.json]) == (1, [1])


def test_good_cases_are_one_more_file(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write("fairlead.tests.toml", GOOD)
    ran = fairlead("check")
    assert (ran.code, "1 file, 0 hooks" in ran.out.decode()) == (0, True)
