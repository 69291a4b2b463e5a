"""The peers, each in an environment of its own below `.bench/`; who cannot be installed is named with the reason."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

CACHE = Path(__file__).parent.parent / ".bench"
PYTHON = {
    "amcp-agent": "amcp-agent==0.13.0",
    "ankaloop": "ankaloop==0.18.5",
    "cchooks": "cchooks==0.1.5",
    "polyhook": "polyhook==0.2.0",
    "agent-hooks": "agent-hooks==0.2.0",
}
NODE = {"cc-safety-net": "cc-safety-net@2.4.5"}
_PATIENCE = 300


class Missing(Exception):  # noqa: N818  # a peer that cannot be had is named, and is no error
    """Why a peer is not there."""


def folder_of(name: str) -> Path:
    """Where it is installed; now, if it was not. Raises Missing."""
    folder = CACHE / name
    version = PYTHON.get(name) or NODE[name]
    done = folder / ".installed"
    if not done.exists() or done.read_text() not in ("", version):
        shutil.rmtree(folder, ignore_errors=True)
        _install_from_npm(folder, version) if name in NODE else _install_from_pypi(folder, version)
        done.write_text(version)
    return folder


def python_of(name: str) -> str:
    return str(folder_of(name) / "bin" / "python")


def version_of(name: str) -> str:
    return (PYTHON.get(name) or NODE[name]).replace("==", " ").replace("@", " ")


def _install_from_pypi(folder: Path, version: str) -> None:
    _do([sys.executable, "-m", "venv", str(folder)])
    _do([str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", version])


def _install_from_npm(folder: Path, version: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise Missing("there is no npm on this machine")
    folder.mkdir(parents=True)
    _do([npm, "install", "--silent", "--ignore-scripts", "--prefix", str(folder), version])


def _do(argv: list[str]) -> None:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{argv[0]}: {error}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
        raise Missing(said[-1])
