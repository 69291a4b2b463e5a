"""Work that is shared among processes comes back in order, or it is said why not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.journal.shared_work import CASES


@pytest.mark.parametrize("case", CASES)
def test_work_is_shared(case: str) -> None:
    words = [sys.executable, str(Path(__file__).with_name("shared_work.py")), case]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
