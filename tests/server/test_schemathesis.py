"""The description of the service, tried by a program that knows nothing of ours: `pip install schemathesis`."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.service import Service

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "ignored_auth",
)
LEFT_OUT = ("/api/stream", "/api/logout")
"""One never ends, and the other ends what the rest needs."""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    found = Service(tmp_path)
    yield found
    found.close()


def _tried(service: Service, folder: Path, description: str, each: int) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("schemathesis")
    if not program.exists():
        pytest.skip("schemathesis is not installed")
    words = ["-H", f"Authorization: Bearer {service.token}", "--url", service.address, "--checks", ",".join(CHECKS)]
    words += [word for path in LEFT_OUT for word in ("--exclude-path", path)]
    argv = [str(program), "run", description, *words, "-n", str(each), "--request-timeout", "60", "--no-color"]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=3500, check=False)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_ten_thousand_requests_are_answered_as_described(service: Service, tmp_path: Path) -> None:
    done = _tried(service, tmp_path, f"{service.address}/api/openapi.json", 500)
    assert done.returncode == 0, done.stdout[-8000:]
    generated = re.search(r"(\d+) generated", done.stdout)
    assert generated is not None
    assert int(generated[1]) >= 10_000


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_description_that_is_wrong_is_found(service: Service, tmp_path: Path) -> None:
    """The control: one that says less than there is."""
    text = service.send("GET", "/api/openapi.json", {"Host": service.host}).body.decode()
    wrong = tmp_path / "wrong.json"
    wrong.write_text(text.replace('"401"', '"418"').replace('"404"', '"419"'))
    assert _tried(service, tmp_path, str(wrong), 5).returncode == 1
