"""The examples in docs/dialects run as they stand there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Home

PAGES = Path(__file__).resolve().parents[2] / "docs" / "dialects"
FILE = re.compile(r"^`([^`\n]+)`:\n\n```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n\$ ([^\n]+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", ["code-agent", "codemie", "amcp", "claude-agent", "codex", "gemini", "qwen"])
def test_the_example_of_the_page_answers_as_printed(name: str, place: Home) -> None:
    page = (PAGES / f"{name}.md").read_text()
    for path, content in FILE.findall(page):
        place.write(path, content, executable=content.startswith("#!"))
    place.script("~/bin/fairlead", f'exec {sys.executable} -m fairlead "$@"')
    runs = CONSOLE.findall(page)

    assert runs
    for command, output in runs:
        env = {**place.environ, "PATH": f"{place.home}/bin:{place.environ['PATH']}"}
        ran = subprocess.run(["/bin/sh", "-c", command], cwd=place.project, env=env, capture_output=True, check=True)
        assert json.loads(ran.stdout) == json.loads(output), ran.stderr.decode()
