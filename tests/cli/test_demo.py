"""`fairlead demo`: shows the product, and leaves nothing behind."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead import demo, explaining
from tests.conftest import Home, Ran


@pytest.fixture
def temporary(place: Home) -> Path:
    folder = place.root / "tmp"
    folder.mkdir()
    return folder


def test_it_ends_clean(place: Home, temporary: Path, fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("demo", env={"TMPDIR": str(temporary)})
    assert (ran.code, ran.err) == (0, "")
    assert list(temporary.iterdir()) == list(place.project.iterdir()) == list(place.home.iterdir()) == []


def test_the_page_shows_each_scene_with_its_decision(fairlead: Callable[..., Ran]) -> None:
    text = fairlead("demo").out.decode()
    assert all(f"{number}. {scene.title}" in text for number, scene in enumerate(demo.SCENES, 1))
    assert "a force push rewrites what others have pulled" in text
    assert "fairlead explain" in text


def test_all_systems_answer_and_all_agents_hear_it(fairlead: Callable[..., Ran]) -> None:
    scenes: list[dict[str, Any]] = fairlead("demo", "--json").json["scenes"]
    spoke = {hook["origin"]["dialect"] for scene in scenes for hook in scene["hooks"] if hook["verdict"] == "deny"}
    ran = {hook["origin"]["dialect"] for scene in scenes for hook in scene["hooks"] if hook["order"]}
    assert ran == {"claude-code", "code-agent", "codemie", "amcp", "claude-agent", "fairlead"}
    assert spoke == {"claude-code", "code-agent", "claude-agent", "fairlead"}
    seeds = {"claude-code", "code-agent", "codemie", "amcp", "claude-agent", "m"}
    assert {agent for scene in scenes for agent in scene["heard"]} == seeds | {"codex", "gemini", "cursor"}
    assert {scene["agent"] for scene in scenes} == seeds | {"codex"}


def test_what_it_tells_is_what_happens(fairlead: Callable[..., Ran]) -> None:
    scenes = fairlead("demo", "--json").json["scenes"]
    heard = [{agent: said["decision"] for agent, said in scene["heard"].items()} for scene in scenes]
    assert heard == [
        {"claude-code": "none"},
        dict.fromkeys(
            ("m", "claude-code", "codex", "gemini", "cursor", "code-agent", "codemie", "amcp", "claude-agent"), "deny"
        ),
        {"claude-code": "ask", "m": "deny"},
        {"claude-agent": "none", "code-agent": "deny"},
        {"code-agent": "deny"},
        {"codex": "deny", "amcp": "deny"},
        {"amcp": "deny"},
        {"codemie": "deny"},
    ]
    assert "House rules" in json.dumps(scenes[0]["heard"]["claude-code"]["reply"])
    assert scenes[3]["heard"]["claude-agent"]["reply"]["updated_input"] == {"command": "npm ci --ignore-scripts"}
    assert "timed out" in scenes[6]["reason"]


def test_keep_keeps_a_project_that_can_be_looked_at(temporary: Path, fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("demo", "--keep", "--json", env={"TMPDIR": str(temporary)})
    kept = Path(ran.json["kept"])
    assert kept.parent == temporary
    looked = fairlead("check", "--project", str(kept / "project"), env={"HOME": str(kept / "home")})
    assert looked.out.decode() == "All is well: 6 files, 8 hooks.\n"
    shutil.rmtree(kept)


def test_keep_says_where(temporary: Path, fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("demo", "--keep", env={"TMPDIR": str(temporary)})
    [kept] = temporary.iterdir()
    assert ran.out.decode().endswith(f"The scratch project and home are in {kept}\n")


def test_its_own_configuration_has_no_problems(tmp_path: Path) -> None:
    demo.build(str(tmp_path))
    assert explaining.check(demo.load(str(tmp_path))) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_ended_early_it_leaves_nothing_behind_either(place: Home, temporary: Path, number: signal.Signals) -> None:
    child = subprocess.Popen(
        [sys.executable, "-u", "-m", "fairlead", "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**place.environ, "TMPDIR": str(temporary)},
        cwd=place.project,
    )
    assert child.stdout is not None
    assert child.stdout.readline()
    child.send_signal(number)
    _, err = child.communicate(timeout=60)
    assert b"Traceback" not in err
    assert list(temporary.iterdir()) == []


def test_it_needs_nothing_but_a_shell_and_python(place: Home, fairlead: Callable[..., Ran]) -> None:
    tools = place.root / "bin"
    tools.mkdir()
    for name in ("sh", "grep", "sleep"):
        found = shutil.which(name)
        assert found
        (tools / name).symlink_to(found)
    scenes = fairlead("demo", "--json", env={"PATH": str(tools)}).json["scenes"]
    failed = [hook["error"] for scene in scenes for hook in scene["hooks"] if hook["error"]]
    assert failed == ["timed out after 0.3 s"]
