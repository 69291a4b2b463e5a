"""The fixture `hooks` for pytest.

It stands outside of the package on purpose: pytest loads this in every run of everybody who has Fairlead installed, and
nothing of Fairlead is imported until a test asks for its hooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fairlead import Hooks


@pytest.fixture
def fairlead_project(request: pytest.FixtureRequest) -> Path:
    """Which project's hooks are tested; override it where that is not pytest's root directory."""
    return request.config.rootpath


@pytest.fixture
def hooks(fairlead_project: Path, tmp_path: Path) -> Iterator[Hooks]:
    """The project's hooks, in a scratch copy of it that is the working directory as long as the test takes."""
    from fairlead.testing import Scratch

    with Scratch(fairlead_project, tmp_path / "fairlead") as scratch, scratch.inside():
        yield scratch.hooks()
