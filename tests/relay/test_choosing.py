"""`fairlead init` writes the fastest way in that weakens nothing, and whatever it wrote is known again as ours."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import fairlead
from fairlead import dialects, layers, relay
from fairlead.dialects import AGENT_HALVES
from fairlead.installing import applying, commands, planning, restoring, ways
from fairlead.installing.plans import Machine, Plan
from fairlead.installing.specs import SPECS, settings_file
from fairlead.server import PORT
from tests.conftest import Home, Ran
from tests.installing.conftest import everything_below

PACKAGE = Path(fairlead.__file__).parent
needs_the_program = pytest.mark.skipif(
    not (PACKAGE / "relay" / relay.PROGRAM).exists(), reason="the relay was not compiled when Fairlead was installed"
)
CLAUDE = "claude-code"


class Installing:
    def __init__(self, root: Path) -> None:
        root.mkdir(exist_ok=True)
        self.place = Home(root)
        self.machine = Machine(
            home=str(self.place.home),
            project=str(self.place.project),
            environ={**self.place.environ, "PATH": "/nowhere"},
        )
        self.state = self.place.home / ".local" / "state" / "fairlead"

    def plan(self, agent: str, scope: str = "user", **asked: Any) -> Plan:
        return planning.to_install(SPECS[agent], scope, asked, self.machine)

    def init(self, agent: str, scope: str = "user", **asked: Any) -> Plan:
        plan = self.plan(agent, scope, **asked)
        assert plan.problem == ""
        if plan.needed:
            applying.install(plan, self.machine)
        return plan

    def uninstall(self, agent: str) -> None:
        applying.uninstall(restoring.to_uninstall(SPECS[agent], "user", self.machine), self.machine)

    def file(self, agent: str) -> Path:
        where = self.machine
        return Path(settings_file(SPECS[agent], "user", home=where.home, project=where.project, environ=where.environ))

    def words(self, agent: str) -> list[list[str]]:
        """Every command line that the agent would start."""
        file = self.file(agent)
        if SPECS[agent].form == "shim":
            return [_script(file.parent / "fairlead-hook.sh")]
        if SPECS[agent].format == "scripts":
            return [_script(one) for one in sorted(file.iterdir())]
        text = file.read_text()
        if SPECS[agent].format == "plugin":
            found = re.search(r"^const COMMAND = (\[.*\])$", text, re.MULTILINE)
            assert found
            return [json.loads(found[1])]
        read: dict[str, Callable[[str], Any]] = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}
        return list(_command_lines(read[SPECS[agent].format](text)))


def _script(file: Path) -> list[str]:
    return shlex.split(file.read_text().splitlines()[-1])[1:]


def _command_lines(value: Any) -> Iterator[list[str]]:
    if isinstance(value, list):
        for inner in value:
            yield from _command_lines(inner)
    if isinstance(value, str) and "fairlead" in value:
        yield shlex.split(value)
    if not isinstance(value, dict):
        return
    arguments = value.get("args")
    for key, inner in value.items():
        if key in ("command", "exec") and isinstance(arguments, list):
            yield [inner, *arguments]
        elif key in ("command", "bash", "linux", "osx") and isinstance(inner, str):
            yield shlex.split(inner)
        elif key != "args" and isinstance(inner, (dict, list)):
            yield from _command_lines(inner)


@pytest.fixture
def short() -> Iterator[Path]:
    """So that a socket fits behind it."""
    with tempfile.TemporaryDirectory(prefix="fl") as folder:
        yield Path(folder).resolve()


@pytest.fixture
def here(short: Path) -> Installing:
    return Installing(short)


# --- the relay ---------------------------------------------------------------------------------------


@needs_the_program
@pytest.mark.parametrize("agent", [name for name in SPECS if name in AGENT_HALVES])
def test_every_agent_starts_the_relay_with_the_command_that_it_would_start_without_it(agent: str, short: Path) -> None:
    here = Installing(short / "it's a home")
    if agent == "codemie":
        here.place.write("~/.codemie/codemie-cli.config.json", {"profiles": {"default": {}}})
    here.init(agent, via="process")
    direct = here.words(agent)
    plan = here.init(agent, via="auto")
    through = here.words(agent)
    before = [str(here.state / "bin" / "fairlead-relay"), str(here.state / "hook.sock")]
    assert plan.way.name == "relay"
    assert direct
    assert through == [[*before, *words] for words in direct]
    for words in through:
        assert commands.known(shlex.join(words)) == commands.known({"command": words[0], "args": words[1:]})
        assert commands.known(shlex.join(words)) is not None
        assert layers.calls_fairlead(shlex.join(words))
        assert relay.split(words) == (before, words[2:])
    assert not here.plan(agent).needed


@needs_the_program
def test_the_copy_of_the_relay_runs_and_is_its_owners_alone(here: Installing) -> None:
    here.init(CLAUDE)
    program = here.state / "bin" / "fairlead-relay"
    assert program.read_bytes() == (PACKAGE / "relay" / relay.PROGRAM).read_bytes()
    assert stat.S_IMODE(program.stat().st_mode) == 0o700
    assert stat.S_IMODE(program.parent.stat().st_mode) == 0o700
    assert subprocess.run([program, "--version"], capture_output=True, check=True).stdout == b"fairlead-relay 1\n"


@needs_the_program
def test_several_agents_share_it_and_the_last_one_takes_it_along(here: Installing) -> None:
    before = everything_below(here.place.home)
    plans = [here.plan(agent) for agent in (CLAUDE, "codex", "augment")]
    for plan in plans:  # all were made before the first was carried out
        applying.install(plan, here.machine)
    for agent in (CLAUDE, "augment", "codex"):
        assert (here.state / "bin" / "fairlead-relay").exists()
        here.uninstall(agent)
    assert not (here.state / "bin").exists()
    assert everything_below(here.place.home) == before


@needs_the_program
def test_a_relay_that_was_changed_removed_or_made_useless_is_put_back(here: Installing) -> None:
    here.init(CLAUDE)
    program = here.state / "bin" / "fairlead-relay"
    content = program.read_bytes()
    program.write_bytes(b"something else")
    here.init(CLAUDE)
    assert program.read_bytes() == content
    program.chmod(0o600)
    here.init(CLAUDE)
    assert os.access(program, os.X_OK)
    program.unlink()
    here.init(CLAUDE)
    assert program.read_bytes() == content
    assert not here.plan(CLAUDE).needed


@needs_the_program
def test_what_was_chosen_stays_until_something_else_is(here: Installing) -> None:
    assert here.init(CLAUDE, via="process").way.name == "process"
    assert here.plan(CLAUDE).way.name == "process"
    assert here.plan(CLAUDE, guard=True).way.name == "process"
    assert here.init(CLAUDE, via="relay").way.name == "relay"
    assert here.plan(CLAUDE).way.name == "relay"
    here.init(CLAUDE, via="process")
    assert not (here.state / "bin").exists()
    assert here.words(CLAUDE)[0][2].endswith("__main__.py")


def test_an_entry_of_an_older_fairlead_is_brought_up_to_date_where_it_stands(here: Installing) -> None:
    old = f"{sys.executable} -I {PACKAGE}/__main__.py hook --agent codex --timeout 600 --project /x"
    entry = {"type": "command", "command": old, "timeout": 600, "statusMessage": "mine"}
    here.place.write("~/.codex/hooks.json", {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [entry]}]}})
    here.init("codex", via="relay")
    group = json.loads(here.file("codex").read_text())["hooks"]["PreToolUse"]
    assert len(group) == 1
    assert group[0]["matcher"] == "*"
    assert group[0]["hooks"][0]["statusMessage"] == "mine"
    assert "fairlead-relay" in group[0]["hooks"][0]["command"]
    assert group[0]["hooks"][0]["command"].endswith("--timeout 600 --project /x")


def test_a_home_too_deep_for_a_socket_gets_the_command_itself(tmp_path: Path) -> None:
    here = Installing(tmp_path / ("x" * 90))
    assert here.plan(CLAUDE).way.name == "process"
    asked = here.plan(CLAUDE, via="relay")
    assert asked.way.name == "relay"
    assert any("too long for a socket" in note for note in asked.notes)


# --- without a compiler; and after Fairlead has gone -------------------------------------------------


class Copy:
    """Fairlead as it is installed where there was no compiler."""

    def __init__(self, folder: Path) -> None:
        self.package = folder / "fairlead"
        ignored = shutil.ignore_patterns("__pycache__", relay.PROGRAM)
        shutil.copytree(PACKAGE, self.package, ignore=ignored)

    def run(self, place: Home, *words: str) -> Ran:
        environ = {**place.environ, "PATH": "/nowhere", "PYTHONPATH": str(self.package.parent)}
        call = [sys.executable, str(self.package / "__main__.py"), *words]
        return Ran(subprocess.run(call, capture_output=True, cwd=place.project, env=environ, timeout=90, check=False))


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("pure"))


def test_without_a_compiler_the_command_itself_is_written_until_there_is_a_server(copy: Copy, here: Installing) -> None:
    done = copy.run(here.place, "init", "--yes", "--json", "--agent", "codex")
    assert done.json["agents"][0]["via"] == "process", done.err
    (here.state / "hook.sock").touch()
    done = copy.run(here.place, "init", "--yes", "--json", "--agent", "codex")
    assert done.json["agents"][0]["via"] == "relay"
    words = here.words("codex")[0]
    assert words[0] == relay.interpreter()
    assert words[1:5] == ["-I", "-S", str(here.state / "bin" / "fairlead-relay.py"), str(here.state / "hook.sock")]
    assert commands.known(shlex.join(words)) is not None
    assert copy.run(here.place, "init", "--yes", "--agent", "codex").out.count(b"nothing to change") == 1
    subprocess.run([*words[:5], "/bin/true", "hook"], check=True)  # leaves its compiled form behind
    assert copy.run(here.place, "uninstall", "--yes").code == 0
    assert not (here.state / "bin").exists()


@pytest.mark.parametrize("kind", [pytest.param("compiled", marks=needs_the_program), "python"])
def test_when_fairlead_has_gone_every_call_is_refused_with_a_sentence(
    kind: str, here: Installing, tmp_path: Path
) -> None:
    gone = tmp_path / "venv" / "bin" / "python"
    where = Path(relay.folder(here.machine.environ, here.machine.home))
    where.mkdir(parents=True)
    for name, content, mode in relay.parts(kind):
        (where / name).write_bytes(content)
        (where / name).chmod(mode)
    words = [*relay.words(kind, str(where), str(here.state / "hook.sock")), str(gone), "-I", "x/fairlead/__main__.py"]
    done = subprocess.run([*words, "hook", "--agent", "codex"], input=b"{}", capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert f"cannot start {gone}: No such file or directory".encode() in done.stderr
    assert b"fairlead init" in done.stderr


# --- http --------------------------------------------------------------------------------------------


def entry_of(here: Installing, event: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(here.file(CLAUDE).read_text())["hooks"][event][0]["hooks"][0]
    return found


def test_http_is_written_where_it_is_asked_for_and_with_a_loud_word(here: Installing) -> None:
    plan = here.init(CLAUDE, via="http", guard=True)
    assert plan.way.name == "http"
    assert any("NOTHING IS GUARDED" in note for note in plan.notes)
    key = (here.state / "hook-token").read_text().strip()
    assert len(key) >= 32
    assert entry_of(here, "PreToolUse") == {
        "type": "http",
        "url": f"http://127.0.0.1:{PORT}/api/hooks/claude-code?timeout=600&guard=1",
        "headers": {"Authorization": f"Bearer {key}"},
        "timeout": 600,
    }
    assert entry_of(here, "SessionStart")["type"] == "command"  # where Claude Code calls no server
    assert stat.S_IMODE((here.state / "hook-token").stat().st_mode) == 0o600
    assert not here.plan(CLAUDE).needed


def test_http_is_never_chosen_by_itself(here: Installing) -> None:
    """The agent's environment does not get to the server, nor the project that it was started for."""
    assert here.plan(CLAUDE, enforce=True).way.name != "http"
    assert here.plan("grok").way.name != "http"


@pytest.mark.parametrize(
    ("agent", "scope"), [("codex", "user"), ("grok", "user"), (CLAUDE, "project")], ids=lambda one: one
)
def test_where_http_cannot_be_it_is_said_and_something_safe_is_written(
    here: Installing, agent: str, scope: str
) -> None:
    plan = here.init(agent, scope, via="http")
    assert plan.way.name in ("relay", "process")
    assert not plan.way.key
    assert any(note.startswith("--via http: ") and "instead" in note for note in plan.notes)
    assert not (here.state / "hook-token").exists()


def test_the_key_of_the_server_is_used_where_there_is_one(here: Installing) -> None:
    here.state.mkdir(parents=True)
    (here.state / "hook-token").write_text("k" * 43)
    (here.state / "server.json").write_text(json.dumps({"address": "http://127.0.0.1:4321", "pid": 1}))
    plan = here.init(CLAUDE, via="http")
    assert any("always be started with --port 4321" in note for note in plan.notes)
    entry = entry_of(here, "Stop")
    assert entry["headers"] == {"Authorization": f"Bearer {'k' * 43}"}
    assert entry["url"].startswith("http://127.0.0.1:4321/api/hooks/")
    assert (here.state / "hook-token").read_text() == "k" * 43


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o600])
def test_a_file_with_a_key_is_its_owners_alone_until_the_key_has_gone(here: Installing, mode: int) -> None:
    file = here.place.write("~/.claude/settings.json", '{"a": 1} // mine\n')
    file.chmod(mode)
    before = everything_below(here.place.home)
    plan = here.init(CLAUDE, via="http")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert any("only you can read it" in note for note in plan.notes) == bool(mode & 0o077)
    file.chmod(mode)
    here.init(CLAUDE)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    here.uninstall(CLAUDE)
    assert everything_below(here.place.home) == before


def test_from_http_and_back_nothing_of_it_is_left(here: Installing) -> None:
    file = here.place.write("~/.claude/settings.json", "{}")
    file.chmod(0o640)
    here.init(CLAUDE, via="process")
    direct = file.read_bytes()
    here.init(CLAUDE, via="http", enforce=False)
    assert b"Bearer" in file.read_bytes()
    here.init(CLAUDE, via="process")
    assert json.loads(file.read_bytes()) == json.loads(direct)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_new_file_with_a_key_is_private_from_the_start(here: Installing) -> None:
    here.init(CLAUDE, via="http")
    assert stat.S_IMODE(here.file(CLAUDE).stat().st_mode) == 0o600


def test_a_project_that_was_named_by_hand_stays(here: Installing) -> None:
    here.init(CLAUDE, via="http")
    file = here.file(CLAUDE)
    file.write_text(file.read_text().replace("?timeout=600", "?project=%2Fa+b&timeout=600"))
    here.init(CLAUDE, guard=True)
    assert entry_of(here, "Stop")["url"].endswith("?timeout=600&guard=1&project=%2Fa+b")
    here.init(CLAUDE, via="process")
    assert any(words[-2:] == ["--project", "/a b"] for words in here.words(CLAUDE))


def test_neither_the_diff_nor_the_json_shows_the_key(fairlead: Callable[..., Ran], place: Home) -> None:
    for words in (["--dry-run"], ["--dry-run", "--json"], ["--yes"], ["--yes", "--guard"]):
        ran = fairlead("init", "--agent", CLAUDE, "--via", "http", *words)
        assert ran.code == 0, ran.err
        assert re.search(rb"Bearer (?!\xe2\x80\xa6|\\u2026)", ran.out) is None
        assert b"Bearer" in ran.out
    token = (place.home / ".local" / "state" / "fairlead" / "hook-token").read_bytes().strip()
    assert token in (place.home / ".claude" / "settings.json").read_bytes()


def test_the_default_port_is_the_servers() -> None:
    assert ways.PORT == PORT


# --- nothing runs twice ------------------------------------------------------------------------------

URLS = {
    "http://127.0.0.1:8737/api/hooks/claude-code?timeout=600": True,
    "http://localhost:1/api/hooks/grok": True,
    "http://[::1]:8737/api/hooks/claude-code": True,
    "https://127.0.0.1/api/hooks/claude-code": True,
    "http://127.0.0.1:8737/api/other": False,
    "http://127.0.0.1:8737/x?u=/api/hooks/claude-code": False,
    "http://example.com/api/hooks/claude-code": False,
    "http://127.0.0.1.example.com/api/hooks/claude-code": False,
    "http://[broken/api/hooks/claude-code": False,
}


@pytest.mark.parametrize(("url", "ours"), URLS.items())
def test_an_address_is_ours_only_where_our_server_can_be(url: str, ours: bool) -> None:
    assert layers.calls_our_server(url) is ours
    assert (commands.known({"type": "http", "url": url}) is not None) is ours


@pytest.mark.parametrize("via", ["http", "relay", "process"])
def test_what_one_agents_settings_say_about_us_is_no_hook_for_another(here: Installing, via: str) -> None:
    """Else Fairlead would ask itself, and every hook would run twice."""
    here.init(CLAUDE, via=via)
    machine = here.machine
    places = dialects.Places(home=machine.home, project=machine.project, environ=machine.environ)
    sources = {source.path for source in dialects.hook_half(CLAUDE).sources(places)}
    assert str(here.file(CLAUDE)) in sources
    loaded = layers.load(places, agent="codex", own=False)
    assert [hook.name for hook in loaded.hooks] == []
