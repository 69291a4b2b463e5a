"""`check` and `doctor` say what a hook wants that this machine does not have, before the hook is needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fairlead
from fairlead.confining import filtering
from tests.confining.conftest import Confined, missing

SOURCE = str(Path(fairlead.__file__).parents[1])
STARTED = """
import os, sys
sys.path.insert(0, {source!r})
from fairlead.confining import filtering, kernel
lines = [(0x20, 0, 0, 0)]
for number, error in {refused!r}:
    lines += [(0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | error)]
kernel.give_up_new_privileges()
kernel.filter_calls(b"".join(filtering._line(*line) for line in [*lines, (0x06, 0, 0, 0x7FFF0000)]))
os.execv(sys.executable, [sys.executable, "-I", "-m", "fairlead", *sys.argv[1:]])
"""
NO_LANDLOCK = (444, 38)
NO_MOUNTS = {"x86_64": (165, 1), "aarch64": (40, 1)}.get(os.uname().machine, (-1, 1))
"""As in many containers."""
WITHOUT_PROGRAM = ("bwrap", "--dev-bind", "/", "/", "--ro-bind", "/dev/null", "/usr/bin/bwrap", "--")
known = pytest.mark.skipif(not filtering.is_known(), reason="no numbers of system calls for this machine")


def said(place: Confined, command: str, *refused: tuple[int, int], before: tuple[str, ...] = ()) -> Any:
    """What a command finds on a machine where these calls are refused."""
    code = STARTED.format(source=SOURCE, refused=refused)
    words = [*before, sys.executable, "-c", code, command, "--json"]
    done = subprocess.run(words, capture_output=True, cwd=place.project, env=place.environ, timeout=100, check=False)
    found = json.loads(done.stdout)
    if command == "doctor":
        found = [one for one in found["findings"] if "sandbox" in one["message"] or "processes" in one["message"]]
    return found


def line_of(place: Confined, key: str) -> int:
    lines = (place.home / ".config/fairlead/fairlead.toml").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.startswith(key))


@known
@pytest.mark.parametrize(("command", "level"), [("check", "warning"), ("doctor", "error")])
def test_a_sandbox_that_cannot_be_built_is_said(place: Confined, command: str, level: str) -> None:
    place.hook(["/bin/true"], sandbox=True, name="tidy")
    (found,) = said(place, command, NO_LANDLOCK, NO_MOUNTS)
    assert (found["level"], found["line"]) == (level, line_of(place, "sandbox"))
    assert "the sandbox of the hook tidy cannot be built on this machine, so it is never run" in found["message"]
    assert "bubblewrap" in found["message"]
    assert "no Landlock" in found["message"]
    what = found["hint"] if command == "check" else found["fix"]
    assert "container" in what or "user namespaces" in what or "install" in what
    assert "Linux 6.2" in what


@known
def test_a_program_that_is_missing_is_to_be_installed(place: Confined) -> None:
    if missing("bubblewrap"):
        pytest.skip(missing("bubblewrap"))
    place.hook(["/bin/true"], sandbox={"by": "bubblewrap"})
    (found,) = said(place, "check", before=WITHOUT_PROGRAM)
    assert "bubblewrap is not installed" in found["message"]
    assert "install the package bubblewrap" in found["hint"]


@known
@pytest.mark.parametrize(
    ("by", "refused", "other"),
    [("landlock", NO_LANDLOCK, "bubblewrap"), ("bubblewrap", NO_MOUNTS, "landlock")],
    ids=["landlock", "bubblewrap"],
)
def test_the_other_one_is_proposed_where_it_works(
    place: Confined, by: str, refused: tuple[int, int], other: str
) -> None:
    if missing(other):
        pytest.skip(missing(other))
    place.hook(["/bin/true"], sandbox={"by": by})
    (found,) = said(place, "check", refused)
    assert f"leave `by` out: {other} works here" in found["hint"]


@pytest.mark.parametrize("command", ["check", "doctor"])
def test_nothing_is_said_where_it_can_be_built(place: Confined, way: str, command: str) -> None:
    place.hook(["/bin/true"], sandbox={"by": way}, limits={"cpu": "9s"})
    assert said(place, command) == []


@known
@pytest.mark.parametrize("keys", [{}, {"sandbox": True, "enabled": False}], ids=["none asked for", "switched off"])
def test_nothing_is_said_of_hooks_that_want_none(place: Confined, keys: dict[str, Any]) -> None:
    place.hook(["/bin/true"], **keys)
    assert said(place, "check", NO_LANDLOCK, NO_MOUNTS) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="about root")
def test_root_hears_that_its_processes_are_not_counted(place: Confined) -> None:
    place.hook(["/bin/true"], limits={"processes": 9})
    for command in ("check", "doctor"):
        (found,) = said(place, command)
        assert "root is never refused a process" in found["message"]
