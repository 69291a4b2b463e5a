"""Fairlead in the settings of a real agent."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from typing import Any

from tests.agents.programs import Program
from tests.conftest import Home


def install(program: Program, place: Home) -> str:
    """What `fairlead init` says."""
    done = subprocess.run(
        [sys.executable, "-m", "fairlead", "init", "--yes", "--agent", program.name],
        capture_output=True,
        text=True,
        cwd=place.project,
        env=place.environ,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def trust_in_codex(place: Home) -> None:
    """What Codex writes when its user trusts every hook of the user's hooks.json."""
    file = place.home / ".codex" / "hooks.json"
    lines = []
    for event, groups in json.loads(file.read_text())["hooks"].items():
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
        for number, group in enumerate(groups):
            lines += _trusted(f"{file}:{name}:{number}:0", name, group)
    place.write("~/.codex/config.toml", "\n".join(lines) + "\n")


def _trusted(key: str, event: str, group: dict[str, Any]) -> list[str]:
    hook = group["hooks"][0]
    default, most = (1, 3) if event in ("session_end", "interrupt") else (600, 10**6)
    patience = min(hook.get("timeout", default), most)
    said = {"async": False, "command": hook["command"], "timeout": patience, "type": "command"}
    known = {"event_name": event, "hooks": [said], **({"matcher": group["matcher"]} if "matcher" in group else {})}
    digest = hashlib.sha256(json.dumps(known, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    return [f'[hooks.state."{key}"]', f'trusted_hash = "sha256:{digest}"']


def add_hook(place: Home, file: str, event: str, command: str, matcher: str = "") -> None:
    """A hook in a settings file of the kind that most agents have."""
    path = place.home / file[2:]
    settings = json.loads(path.read_text()) if path.exists() else {}
    group = {**({"matcher": matcher} if matcher else {}), "hooks": [{"type": "command", "command": command}]}
    settings.setdefault("hooks", {}).setdefault(event, []).append(group)
    place.write(file, settings)
