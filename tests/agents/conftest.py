"""Each real agent that is installed; the others are skipped with the reason."""

from __future__ import annotations

import fcntl
import pickle
import shutil
from pathlib import Path

import pytest

from tests.agents.gaps import GAPS
from tests.agents.playing import Plays, Scene, Stage
from tests.agents.programs import PROGRAMS, Program
from tests.conftest import Home


def _param(program: Program) -> object:
    absent = pytest.mark.skipif(bool(program.why_not), reason=program.why_not)
    return pytest.param(program, id=program.label or program.name, marks=[absent, pytest.mark.agents])


@pytest.fixture(params=[_param(program) for program in PROGRAMS])
def program(request: pytest.FixtureRequest) -> Program:
    chosen: Program = request.param
    gap = GAPS.get((chosen.label or chosen.name, request.node.originalname))
    if gap:
        request.applymarker(pytest.mark.xfail(strict=True, reason=gap))
    return chosen


@pytest.fixture(scope="session")
def scenes(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Shared by all workers of this run."""
    mine = tmp_path_factory.getbasetemp()
    folder = (mine if worker_id == "master" else mine.parent) / "scenes"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def scene(program: Program, scenes: Path) -> Plays:
    """Play a stage with this agent: once, however many tests and workers look at it."""

    def get(stage: Stage) -> Scene:
        root = scenes / f"{program.label or program.name} {stage.__name__}".replace(" ", "-")
        with root.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            kept = root.with_suffix(".scene")
            if not kept.exists():
                kept.write_bytes(pickle.dumps(_played(stage, program, root)))
            played: Scene = pickle.loads(kept.read_bytes())
            return played

    return get


def _played(stage: Stage, program: Program, root: Path) -> Scene:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    place = Home(root)
    return Scene(place, stage(program, place))
