"""What a sandbox shows where: worked out once, and built in two ways."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.confining import Sandbox, Walls, bubblewrap, landlock
from fairlead.confining.places import HIDDEN, PRIVATE, READ, SECRETS, WRITE, kind_of, places
from fairlead.hooks import Setting
from fairlead.work import Run

NAMES = ("a", "b", "c")
FOLDERS = ["/".join(path) for n in (1, 2, 3) for path in itertools.product(NAMES, repeat=n)]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / "file").touch()
    return root


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(FOLDERS), st.sampled_from([READ, WRITE, HIDDEN, PRIVATE]), max_size=6))
def test_landlock_grants_what_holds_for_each_file_and_nothing_more(tree: Path, chosen: dict[str, str]) -> None:
    wanted = {"/": READ, **{str(tree / folder): kind for folder, kind in chosen.items()}}
    granted: dict[str, int] = {}
    for path, rights in landlock._grants(wanted):
        granted[path] = granted.get(path, 0) | rights
    for folder in FOLDERS:
        file = str(tree / folder / "file")
        rights = sum_of(granted, file)
        kind = kind_of(file, wanted)
        assert bool(rights & landlock._READ_FILE) is (kind in (READ, WRITE)), (file, kind)
        assert bool(rights & (landlock._WRITE_FILE | landlock._TRUNCATE)) is (kind == WRITE), (file, kind)
        assert bool(rights & landlock._EXECUTE) is (kind in (READ, WRITE)), (file, kind)


def sum_of(granted: dict[str, int], path: str) -> int:
    rights = granted.get(path, 0)
    while path != "/":
        path = os.path.dirname(path)
        rights |= granted.get(path, 0)
    return rights


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(FOLDERS), st.sampled_from([READ, WRITE, HIDDEN, PRIVATE]), max_size=6))
def test_bubblewrap_mounts_what_holds_for_each_folder(tree: Path, chosen: dict[str, str]) -> None:
    """Read back from its words: what was mounted last around a folder is what it is."""
    wanted = {"/": READ, **{str(tree / folder): kind for folder, kind in chosen.items()}}
    words = bubblewrap.words(Run(argv=("true",), cwd="/", env={}), Walls(by="bwrap", places=wanted), None)
    mounted = {"/": READ}
    kinds = {"--ro-bind": READ, "--bind": WRITE, "--tmpfs": PRIVATE, "--remount-ro": HIDDEN}
    for option, path in itertools.pairwise(words):
        if option in kinds:
            mounted[path] = kinds[option]
    for folder in FOLDERS:
        assert kind_of(str(tree / folder), mounted) == kind_of(str(tree / folder), wanted)


def setting(root: Path) -> Setting:
    (root / "home").mkdir(exist_ok=True)
    (root / "home" / "project").mkdir(exist_ok=True)
    return Setting(
        project=str(root / "home" / "project"), home=str(root / "home"), environ={"HOME": str(root / "home")}
    )


@pytest.mark.parametrize("name", SECRETS)
def test_each_secret_of_a_home_is_hidden(tmp_path: Path, name: str) -> None:
    given = setting(tmp_path)
    secret = tmp_path / "home" / name
    secret.parent.mkdir(parents=True, exist_ok=True)
    secret.touch()
    found = places(Sandbox(), given, (), is_confined=False)
    assert kind_of(str(secret), found) == HIDDEN
    assert kind_of(str(secret.parent / "neighbour"), found) == READ


def test_a_program_among_its_words_is_no_way_to_a_secret(tmp_path: Path) -> None:
    given = setting(tmp_path)
    key, script = tmp_path / "home" / ".ssh" / "id", tmp_path / "script"
    key.parent.mkdir()
    key.touch()
    script.touch()
    found = places(Sandbox(), given, (str(key), str(script)), is_confined=False)
    assert kind_of(str(key), found) == HIDDEN
    assert kind_of(str(script), found) == READ


def test_a_home_that_may_be_written_to_keeps_its_secrets_and_the_project_as_they_are(tmp_path: Path) -> None:
    given = setting(tmp_path)
    (tmp_path / "home" / ".ssh").mkdir()
    found = places(Sandbox(write=("~",)), given, (), is_confined=False)
    assert kind_of(str(tmp_path / "home" / "x"), found) == WRITE
    assert kind_of(str(tmp_path / "home" / ".ssh" / "id"), found) == HIDDEN
    assert kind_of(given.project, found) == READ
