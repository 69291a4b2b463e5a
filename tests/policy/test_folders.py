"""Our folders are the user's own: no variable leads them into a repository, and nobody else can write there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead import Hooks, Stop, UserPromptSubmit, folders
from fairlead.errors import ConfigError
from tests.conftest import Home, Ran
from tests.policy.conftest import World

Said = Callable[[Hooks], list[str]]
EVENT = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}
OWN = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
THEIRS = {
    "CLAUDE_CONFIG_DIR": ("settings.json", "PreToolUse"),
    "CODEX_HOME": ("hooks.json", "PreToolUse"),
    "GEMINI_CLI_HOME": (".gemini/settings.json", "BeforeTool"),
    "QWEN_HOME": ("settings.json", "PreToolUse"),
    "COPILOT_HOME": ("hooks/a.json", "preToolUse"),
}


def canary(world: World) -> str:
    return world.leaves("canary")


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("trust", [True, False], ids=["trusted", "untrusted"])
def test_a_variable_that_leads_into_the_project_refuses_what_is_guarded(name: str, trust: bool, world: World) -> None:
    world.project(canary(world), "evil/fairlead/fairlead.toml")
    world.project(canary(world), "evil/.config/fairlead/fairlead.toml")
    hooks = world.load(trust=trust, env={name: str(world.place.project / "evil")})
    decision = world.fire(hooks=hooks)
    assert decision.denies
    assert f"{name} is {world.place.project / 'evil'}, which lies in the project" in decision.reason
    assert "unset it" in decision.reason
    assert world.fire(UserPromptSubmit(prompt="hi"), hooks=hooks).denies
    assert not world.fire(Stop(), hooks=hooks).denies
    assert world.ran() == []


def link_to(folder: Path, place: Home) -> Path:
    link = place.root / "innocent"
    link.symlink_to(folder)
    return link


SPELLINGS: dict[str, Callable[[Home], Path]] = {
    "the project itself": lambda place: place.project,
    "below it": lambda place: place.project / "a/b",
    "with dots": lambda place: place.home / ".." / "project" / "x",
    "through a link": lambda place: link_to(place.project, place) / "x",
}


@pytest.mark.parametrize("where", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_however_the_way_into_the_project_is_spelt(where: Callable[[Home], Path], world: World) -> None:
    assert world.fire(env={"XDG_CONFIG_HOME": str(where(world.place))}).denies


def test_a_project_behind_a_link_is_the_same_project(world: World) -> None:
    link = link_to(world.place.project, world.place)
    environ = {**world.environ, "XDG_STATE_HOME": str(world.place.project / "state")}
    assert world.fire(hooks=Hooks.load(link, environ=environ, managed="/nowhere")).denies


def test_the_whole_repository_counts_where_the_agent_works_in_a_part_of_it(world: World) -> None:
    world.project("", ".git/HEAD")
    world.project("", "sub/file")
    environ = {**world.environ, "XDG_CONFIG_HOME": str(world.place.project / ".config")}
    hooks = Hooks.load(world.place.project / "sub", environ=environ, managed="/nowhere")
    assert world.fire(hooks=hooks).denies


@pytest.mark.parametrize("name", OWN)
def test_a_folder_beside_the_project_is_fine(name: str, world: World, said: Said) -> None:
    beside = world.place.root / "project-of-mine"
    beside.mkdir()
    hooks = world.load(env={name: str(beside)})
    assert said(hooks) == []
    assert not world.fire(hooks=hooks).denies


@pytest.mark.parametrize("name", ["XDG_CONFIG_HOME", "XDG_STATE_HOME", *THEIRS])
@pytest.mark.parametrize("value", ["evil", "./evil", ".", ""])
def test_what_counts_from_the_working_directory_counts_for_nothing(
    name: str, value: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.place.project)
    world.project(canary(world), "evil/fairlead/fairlead.toml")
    command = {"type": "command", "command": world.command("canary"), "bash": world.command("canary")}
    for file, event in THEIRS.values():
        hooks = {event: [command if event == "preToolUse" else {"hooks": [command]}]}
        world.project({"hooks": hooks}, f"evil/{file}")
    world.fire(env={name: value})
    assert world.ran() == []


def test_where_the_project_holds_the_real_home_nothing_is_strange(world: World) -> None:
    """Such as an agent that works on all of `/`."""
    assert not folders.lies_in(str(world.place.home), "/")
    folders.check(world.environ, "/")


@pytest.mark.parametrize("name", THEIRS)
def test_another_agents_folder_in_the_project_is_the_projects(name: str, world: World, said: Said) -> None:
    file, event = THEIRS[name]
    command = {"type": "command", "command": world.command("theirs"), "bash": world.command("theirs")}
    world.project({"hooks": {event: [command if event == "preToolUse" else {"hooks": [command]}]}}, f"moved/{file}")
    env = {name: str(world.place.project / "moved")}
    hooks = world.load(env=env)
    assert any(line.startswith(f"warning 0:0 {name} leads into the project") for line in said(hooks))
    world.fire(hooks=hooks)
    assert world.ran() == []
    assert [hook.origin.layer for hook in hooks] == ["project"]
    world.fire(trust=True, env=env)
    assert world.ran() == ["theirs"]


def test_mcp_servers_are_not_looked_for_in_a_folder_that_a_repository_brings(world: World) -> None:
    from fairlead import mcp_servers
    from fairlead.hooks import Hook, Origin, Setting

    moved = world.place.project / "moved"
    for dialect, name in (("codex", "CODEX_HOME"), ("claude-code", "CLAUDE_CONFIG_DIR")):
        environ = {**world.environ, name: str(moved)}
        setting = Setting(project=str(world.place.project), home=str(world.place.home), environ=environ)
        hook = Hook(name="h", events=("Stop",), handler=None, origin=Origin(dialect=dialect, layer="user"))  # type: ignore[arg-type]
        places = mcp_servers._places("x", hook, setting, "/nowhere")
        assert [place.file for place in places if place.file.startswith(str(moved))] == []


# --- whose they are ----------------------------------------------------------------------------------

PLACES = (".config/fairlead", ".config/fairlead/fairlead.toml", ".local/state/fairlead")


@pytest.mark.parametrize("mode", [0o777, 0o702], ids=oct)
@pytest.mark.parametrize("path", PLACES)
def test_where_others_can_write_nothing_counts(path: str, mode: int, world: World) -> None:
    world.mine(canary(world))
    (world.place.home / ".local/state/fairlead").mkdir(parents=True)
    target = world.place.home / path
    target.chmod(mode)
    decision = world.fire()
    assert decision.denies
    assert f"others can write to {target}" in decision.reason
    assert f"chmod go-w {target}" in decision.reason
    assert world.ran() == []


def test_a_group_of_ones_own_is_nobody_else(world: World) -> None:
    """Many systems give each user a group of the same number, and let it write."""
    world.mine(canary(world))
    folder = world.place.home / ".config/fairlead"
    if folder.stat().st_gid != folder.stat().st_uid:
        pytest.skip("this user has no group of the same number")
    folder.chmod(0o775)
    assert not world.fire().denies


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("path", PLACES)
def test_what_belongs_to_somebody_else_does_not_count(path: str, world: World) -> None:
    world.mine(canary(world))
    (world.place.home / ".local/state/fairlead").mkdir(parents=True)
    os.chown(world.place.home / path, 12345, 12345)
    decision = world.fire()
    assert decision.denies
    assert "belongs to another user (12345)" in decision.reason
    assert world.ran() == []


# --- the real program --------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini"])
def test_fairlead_hook_refuses_in_the_agents_own_words(agent: str, place: Home, fairlead: Callable[..., Ran]) -> None:
    event = {**EVENT, "hook_event_name": "BeforeTool"} if agent == "gemini" else EVENT
    ran = fairlead("hook", "--agent", agent, stdin=event, env={"XDG_CONFIG_HOME": str(place.project / "evil")})
    told = ran.out.decode() + ran.err
    assert "XDG_CONFIG_HOME is " in told
    assert "deny" in ran.out.decode() or ran.code == 2
    assert not (place.project / "evil").exists()
    assert "internal error" not in told


def test_commands_that_use_our_folders_say_it_and_stop(place: Home, fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("log", env={"XDG_STATE_HOME": str(place.project / "evil")})
    assert ran.code == 1
    assert ran.err.startswith("fairlead log: XDG_STATE_HOME is ")
    assert not (place.project / "evil").exists()


def test_fairlead_list_shows_what_refuses(place: Home, fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("list", "--json", env={"XDG_CONFIG_HOME": str(place.project / "evil")})
    assert "which lies in the project" in json.dumps(ran.json)


def test_the_check_says_what_to_do(place: Home) -> None:
    with pytest.raises(ConfigError, match="lies in the project") as error:
        folders.check({"HOME": str(place.project)}, str(place.project))
    assert error.value.hint == "unset it, or let it lead out of the project"
