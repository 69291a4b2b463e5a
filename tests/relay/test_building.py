"""The package with the relay in it is for this kind of machine; where it cannot be compiled, for all."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sysconfig
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.relay.conftest import SOURCES

pytest.importorskip("hatchling")
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "fairlead/relay/fairlead-relay"
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler here")


def hook() -> Any:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def built(folder: Path) -> Path:
    from hatchling.builders.wheel import WheelBuilder

    return Path(next(WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])))


@needs_cc
def test_a_wheel_with_the_relay_says_for_which_machines_it_is(tmp_path: Path) -> None:
    wheel = built(tmp_path)
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    assert wheel.name.endswith(f"-py3-none-{platform}.whl")
    with zipfile.ZipFile(wheel) as archive:
        program = Path(archive.extract(PROGRAM, tmp_path))
        mode = archive.getinfo(PROGRAM).external_attr >> 16
    assert mode & 0o111  # pip makes it executable only then
    program.chmod(0o700)
    assert subprocess.run([program, "--version"], capture_output=True, check=True).stdout == b"fairlead-relay 1\n"


@pytest.mark.parametrize(("name", "value"), [("CC", "/no/such/compiler"), ("CC", "false"), ("FAIRLEAD_PURE", "1")])
def test_a_wheel_without_it_is_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    wheel = built(tmp_path)
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert PROGRAM not in names
    assert {"fairlead/relay/relay.c", "fairlead/relay/relay.py", "fairlead/relay/start.py"} <= set(names)


@needs_cc
def test_a_compiler_whose_programs_do_not_run_here_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho nonsense > "$2"\nchmod +x "$2"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    target = tmp_path / "out" / "fairlead-relay"
    target.parent.mkdir()
    assert hook().compile_relay(str(SOURCES / "relay.c"), str(target)) is False
    assert os.listdir(target.parent) == []


def test_the_source_is_short_enough_to_be_read() -> None:
    assert len((SOURCES / "relay.c").read_text().splitlines()) <= 300
