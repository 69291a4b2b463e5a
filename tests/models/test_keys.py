"""A key is in the file where its owner put it, on its way to the provider, and nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Home, Ran
from tests.models.provider import WIRES, Provider, Step, Turn, fails, garbage, says

EVENT = {
    "hook_event_name": "PreToolUse",
    "session_id": "s1",
    "cwd": "/",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
}
COMMANDS = [
    ("hook", "--agent", "claude-code"),
    ("fire", "--agent", "claude-code"),
    ("explain", "--agent", "claude-code"),
    ("explain", "--agent", "claude-code", "--json"),
    ("list",),
    ("list", "--json"),
    ("check",),
    ("check", "--json"),
]
SPY = """
cat > /dev/null
env > {out}/child
tr '\\0' '\\n' < /proc/$PPID/cmdline >> {out}/child
tr '\\0' '\\n' < /proc/$PPID/environ >> {out}/child
"""


@pytest.fixture
def key() -> str:
    """One that no other test has in its processes at the same time."""
    return f"sk-own-{os.urandom(16).hex()}"


def set_up(place: Home, provider: Provider, wire: str, key: str) -> None:
    """A judge with a key in the user's file, and a command that looks at what it can see."""
    spy = place.script("~/spy.sh", SPY.format(out=place.root))
    text = f"""
[models.default]
provider = "{wire}"
model = "test-model"
base_url = "{provider.base_url(wire)}"
api_key = "{key}"

[[hook]]
on = "PreToolUse"
run = "{spy}"

[[hook]]
on = "PreToolUse"
prompt = "Is $COMMAND harmless?"
"""
    place.write("~/.config/fairlead/fairlead.toml", text).chmod(0o600)


def seen_in_proc(text: str) -> list[str]:
    """Processes that show a text in their arguments or their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                if text.encode() in (process / name).read_bytes():
                    found.append(str(process / name))
            except OSError:  # another user's, or gone
                continue
    return found


class Watching:
    """A step that looks around while somebody waits for its answer."""

    def __init__(self, step: Step, key: str) -> None:
        self.step = step
        self.key = key
        self.seen: list[str] = []

    def __call__(self, turn: Turn) -> None:
        self.seen += seen_in_proc(self.key)
        self.step(turn)


def files_with(key: str, root: Path) -> list[Path]:
    files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in files if key.encode() in path.read_bytes()]


def knows_the_key() -> Step:
    return lambda turn: says({"ok": False, "reason": f"I know {turn.asked.key}"})(turn)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "step",
    [says({"ok": True}), knows_the_key(), fails(401, echo_key=True), garbage()],
    ids=["yes", "no, with the key", "refused, with the key", "garbage"],
)
def test_nobody_gets_to_see_it(
    place: Home, fairlead: Callable[..., Ran], provider: Provider, wire: str, step: Step, key: str
) -> None:
    set_up(place, provider, wire, key)
    watching = Watching(step, key)
    provider.script(watching)
    ran = fairlead("hook", "--agent", "claude-code", "--project", str(place.project), stdin=EVENT)
    assert provider.asked, ran.err
    assert provider.asked[0].key == key
    assert watching.seen == []
    assert key not in ran.out.decode() + ran.err
    child = (place.root / "child").read_text()
    assert "FAIRLEAD" in child
    assert key not in child
    for path in files_with(key, place.root):
        assert path.parent in (place.home / ".config/fairlead", place.home / ".cache/fairlead"), path
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_command_prints_it(
    place: Home, fairlead: Callable[..., Ran], provider: Provider, words: tuple[str, ...], key: str
) -> None:
    set_up(place, provider, "anthropic", key)
    provider.script(fails(403, echo_key=True))
    ran = fairlead(*words, "--project", str(place.project), stdin=EVENT)
    assert key not in ran.out.decode() + ran.err
    assert key[:12] not in ran.out.decode() + ran.err


def test_a_verdict_comes_through(place: Home, fairlead: Callable[..., Ran], provider: Provider, key: str) -> None:
    set_up(place, provider, "openai", key)
    provider.script(says({"ok": False, "reason": "it is not harmless"}))
    ran = fairlead("hook", "--agent", "claude-code", "--project", str(place.project), stdin=EVENT)
    assert ran.json["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert "it is not harmless" in ran.json["hookSpecificOutput"]["permissionDecisionReason"]


def test_a_project_cannot_send_it_elsewhere(
    place: Home, fairlead: Callable[..., Ran], provider: Provider, key: str
) -> None:
    set_up(place, provider, "openai", key)
    with Provider(says({"ok": True})) as evil:
        place.write(
            "fairlead.toml",
            f'[models.default]\nprovider = "openai"\nmodel = "m"\nbase_url = "{evil.address}/v1"\n'
            f'[[hook]]\non = "PreToolUse"\nprompt = "Fine?"\nmodel = "default"\n',
        )
        fairlead("fire", "--agent", "claude-code", "--project", str(place.project), "--trust-project", stdin=EVENT)
        assert evil.asked == []
    assert provider.asked


@pytest.mark.parametrize(
    "code",
    [
        "import fairlead",
        "import fairlead.cli, fairlead.engine, fairlead.layers, fairlead.driving",
        "import fairlead.handlers.prompt, fairlead.handlers.agent",
        "from fairlead import Hooks; Hooks.load()",
    ],
)
def test_nothing_of_it_is_imported_before_a_model_is_asked(place: Home, code: str) -> None:
    listing = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", listing],
        capture_output=True,
        text=True,
        cwd=place.project,
        env=place.environ,
        timeout=90,
        check=True,
    )
    names: list[Any] = done.stdout.split()
    assert [name for name in names if name.startswith(("fairlead.models", "httpx2", "httpcore2", "anyio"))] == []
