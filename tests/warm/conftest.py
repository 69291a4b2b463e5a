"""One server for many tests; each asks from a home of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.warm.serving import Gate, Server, gate_in


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    found = Server(tmp_path_factory.mktemp("w"))
    yield found
    found.close()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """One that a test may end."""
    (tmp_path / "o").mkdir()
    found = Server(tmp_path / "o")
    yield found
    found.close()


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with gate_in(tmp_path) as found:
        yield found
