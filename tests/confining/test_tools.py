"""Ordinary tools in a sandbox: what they write on the side must not keep them from their work."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from fairlead.hooks import Report
from tests.confining.conftest import Confined, output

PYTHON = [sys.executable, "-I", "-S", "-c"]
TOOLS = Path(sys.executable).parent
CACHES = ("RUFF_CACHE_DIR", "MYPY_CACHE_DIR")
SHOW = f"import json, os\nprint(json.dumps([os.environ.get(name) for name in {(*CACHES, 'TMPDIR')!r}]))"


def installed(name: str) -> str:
    if not (TOOLS / name).exists():
        pytest.skip(f"{name} is not installed")
    return str(TOOLS / name)


def words(report: Report) -> tuple[int, str]:
    return report.outcome.exit_code, (report.outcome.stdout + report.outcome.stderr).decode()


def linted(place: Confined, way: str, command: str) -> tuple[int, str]:
    """What a linter says about a file with a mistake in it."""
    place.write("pyproject.toml", "[project]\nname = 'x'\nversion = '1'\n")
    place.write("a.py", 'import os\n\nx: int = "a"\n')
    before = sorted(place.project.rglob("*"))
    found = words(place.run(command, sandbox={"by": way}, timeout="100s"))
    assert sorted(place.project.rglob("*")) == before
    return found


def test_ruff_finds_what_is_wrong_and_leaves_no_cache_behind(place: Confined, way: str) -> None:
    ruff = installed("ruff")
    code, said = linted(place, way, f"{ruff} check --select F .")
    assert (code, "F401" in said) == (1, True), said
    code, said = linted(place, way, f"unset RUFF_CACHE_DIR; {ruff} check --select F .")
    assert code == 2, "it would not have worked without our help"


@pytest.mark.soak
def test_mypy_finds_what_is_wrong_and_leaves_no_cache_behind(place: Confined, way: str) -> None:
    code, said = linted(place, way, f"{installed('mypy')} a.py")
    assert (code, "Incompatible types" in said) == (1, True), said


def test_caches_are_in_the_temporary_folder(place: Confined, way: str) -> None:
    *caches, temporary = json.loads(output(place.run([*PYTHON, SHOW], sandbox={"by": way})))
    assert caches == [f"{temporary}/.ruff_cache", f"{temporary}/.mypy_cache"]


def test_they_stay_where_the_hook_may_write(place: Confined, way: str) -> None:
    (place.root / "mine").mkdir()
    place.environ["MYPY_CACHE_DIR"] = str(place.root / "mine")
    wish = {"by": way, "write": [".ruff_cache", str(place.root / "mine")]}
    ruff, mypy, _ = json.loads(output(place.run([*PYTHON, SHOW], sandbox=wish)))
    assert (ruff, mypy) == (None, str(place.root / "mine"))


def test_a_folder_for_a_cache_that_it_may_not_write_to_is_replaced(place: Confined, way: str) -> None:
    place.environ["RUFF_CACHE_DIR"] = str(place.home / "ruff")
    ruff, _, temporary = json.loads(output(place.run([*PYTHON, SHOW], sandbox={"by": way})))
    assert ruff == f"{temporary}/.ruff_cache"


# --- times of files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["old", "new"])
def test_what_cannot_be_touched_does_not_seem_to_be(place: Confined, way: str, name: str) -> None:
    """Landlock knows nothing of the times of files."""
    old = place.write("old", "x")
    os.utime(old, (1_000_000, 1_000_000))
    code, said = words(place.run(f"touch {name}", sandbox={"by": way}))
    assert code == 1
    assert "cannot touch" in said
    assert old.stat().st_mtime == 1_000_000
    assert not (place.project / "new").exists()


TIMES = """
import os, pathlib, sys
def tried(change):
    try:
        change()
    except OSError:
        return "refused"
    return "done"
old = sys.argv[1]
reading = os.open(old, os.O_RDONLY)
print(tried(lambda: os.utime(old, (5, 5))), tried(lambda: os.utime(old, (5, 5), follow_symlinks=False)))
tried(lambda: os.utime(reading, (5, 5)))
own = pathlib.Path(os.environ["TMPDIR"], "own")
own.touch()
own.touch()
print(own.exists())
"""


def test_no_way_to_set_a_time_changes_one_and_files_of_its_own_are_made(place: Confined, way: str) -> None:
    old = place.write("old", "x")
    os.utime(old, (1_000_000, 1_000_000))
    assert output(place.run([*PYTHON, TIMES, str(old)], sandbox={"by": way})) == "refused refused\nTrue\n"
    assert old.stat().st_mtime == 1_000_000
