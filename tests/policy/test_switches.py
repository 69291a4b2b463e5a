"""How far a switch in some system's settings reaches: a project's never to hooks of the user or of the organisation."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fairlead import Hooks
from tests.policy.conftest import World

Said = Callable[[Hooks], list[str]]
Json = dict[str, Any]


def groups(event: str, command: str) -> Json:
    return {"hooks": {event: [{"hooks": [{"type": "command", "command": command}]}]}}


def flat(event: str, command: str) -> Json:
    return {"version": 1, "hooks": {event: [{"type": "command", "bash": command, "command": command}]}}


class System:
    """Where one system keeps its hooks, and how a file of it switches hooks off."""

    def __init__(self, event: str, files: tuple[str, str, str], switch: tuple[str, str, str], off: str | Json) -> None:
        self.event = event
        self.managed, self.user, self.project = files
        self.switch = switch
        self.off = off

    def hooks(self, command: str) -> Json:
        return flat(self.event, command) if "copilot" in self.user else groups(self.event, command)


SYSTEMS = {
    "claude-code": System(
        "PreToolUse",
        ("claude-code/managed-settings.json", "~/.claude/settings.json", ".claude/settings.json"),
        ("claude-code/managed-settings.d/off.json", "~/.claude/settings.json", ".claude/settings.json"),
        {"disableAllHooks": True},
    ),
    "codex": System(
        "PreToolUse",
        ("codex/hooks.json", "~/.codex/hooks.json", ".codex/hooks.json"),
        ("codex/config.toml", "~/.codex/config.toml", ".codex/config.toml"),
        "[features]\nhooks = false\n",
    ),
    "gemini": System(
        "BeforeTool",
        ("gemini-cli/settings.json", "~/.gemini/settings.json", ".gemini/settings.json"),
        ("gemini-cli/settings.json", "~/.gemini/settings.json", ".gemini/settings.json"),
        {"hooksConfig": {"enabled": False}},
    ),
    "qwen": System(
        "PreToolUse",
        ("qwen-code/settings.json", "~/.qwen/settings.json", ".qwen/settings.json"),
        ("qwen-code/settings.json", "~/.qwen/settings.json", ".qwen/settings.json"),
        {"disableAllHooks": True},
    ),
}


def set_up(system: System, world: World) -> None:
    world.managed(system.hooks(world.command("managed")), system.managed)
    world.mine(system.hooks(world.command("user")), system.user)
    world.project(system.hooks(world.command("project")), system.project)


def switch_off(system: System, world: World, layer: str) -> None:
    file = dict(zip(("managed", "mine", "project"), system.switch, strict=True))[layer]
    hooks = dict(zip(("managed", "mine", "project"), (system.managed, system.user, system.project), strict=True))[layer]
    own = system.hooks(world.command({"mine": "user"}.get(layer, layer))) if file == hooks else {}
    getattr(world, layer)(system.off if isinstance(system.off, str) else {**own, **system.off}, file)


REACH = {"project": {"managed", "user"}, "mine": {"managed"}}


@pytest.mark.parametrize("layer", REACH)
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_switch_reaches_what_its_owner_may_switch_off(name: str, layer: str, world: World) -> None:
    set_up(SYSTEMS[name], world)
    switch_off(SYSTEMS[name], world, layer)
    world.fire(trust=True)
    assert set(world.ran()) == REACH[layer]


@pytest.mark.parametrize("name", SYSTEMS)
def test_without_a_switch_all_of_them_run(name: str, world: World) -> None:
    set_up(SYSTEMS[name], world)
    world.fire(trust=True)
    assert set(world.ran()) == {"managed", "user", "project"}


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_projects_switch_is_warned_of_where_it_stands(name: str, world: World, said: Said) -> None:
    set_up(SYSTEMS[name], world)
    switch_off(SYSTEMS[name], world, "project")
    [warning] = said(world.load(trust=True))
    assert "of a project switches off the project's own hooks alone" in warning
    assert not warning.startswith("warning 0:")


@pytest.mark.parametrize("name", SYSTEMS)
def test_no_switch_of_another_system_reaches_fairleads_own(name: str, world: World) -> None:
    set_up(SYSTEMS[name], world)
    for layer in ("managed", "mine", "project"):
        switch_off(SYSTEMS[name], world, layer)
    world.mine(world.leaves("own"))
    world.mine('guard = "all"\n' + world.leaves("own"))
    assert world.fire("rm -rf /", trust=True).decision == "deny"
    assert "own" in world.ran()


def test_the_repositorys_switch_in_copilots_settings_is_about_the_repository(world: World) -> None:
    world.managed(flat("preToolUse", world.command("policy")), "github-copilot/policy.d/a.json")
    world.mine(flat("preToolUse", world.command("user")), "~/.copilot/hooks/a.json")
    world.project(flat("preToolUse", world.command("project")), ".github/hooks/a.json")
    world.project({"disableAllHooks": True}, ".github/copilot/settings.json")
    world.fire(trust=True)
    assert set(world.ran()) == {"policy", "user"}


def test_a_project_does_not_name_the_users_hooks_as_disabled_in_gemini(world: World) -> None:
    command = world.command("user")
    world.mine(groups("BeforeTool", command), "~/.gemini/settings.json")
    world.project({"hooksConfig": {"disabled": [command]}}, ".gemini/settings.json")
    world.fire(trust=True)
    assert world.ran() == ["user"]


def test_a_project_does_not_switch_a_single_hook_of_the_user_off_in_codex(world: World) -> None:
    file = world.mine(groups("PreToolUse", world.command("user")), "~/.codex/hooks.json")
    world.project(f'[hooks.state."{file}:pre_tool_use:0:0"]\nenabled = false\n', ".codex/config.toml")
    world.fire(trust=True)
    assert world.ran() == ["user"]


def test_a_project_does_not_switch_hooks_on_that_the_user_has_off(world: World) -> None:
    world.mine(
        {**groups("BeforeTool", world.command("user")), "hooksConfig": {"enabled": False}}, "~/.gemini/settings.json"
    )
    world.project({"hooksConfig": {"enabled": True}}, ".gemini/settings.json")
    world.fire(trust=True)
    assert world.ran() == []


@pytest.mark.parametrize("dialect", ["claude-code", "claude-agent"])
def test_a_project_does_not_switch_the_users_plugins_off(dialect: str, world: World) -> None:
    named = {"hooks": {"PreToolUse": {"check": {"command": world.command("plugin")}}}}
    hooks = groups("PreToolUse", world.command("plugin")) if dialect == "claude-code" else named
    world.mine(hooks, "~/.claude/plugins/mine/hooks/hooks.json")
    world.project({"enabledPlugins": {"mine@shop": False}}, ".claude/settings.json")
    world.fire(hooks=world.load(trust=True, agent=dialect))
    assert world.ran() == ["plugin"]


# --- the organisation's, as documented ---------------------------------------------------------------


def test_claude_codes_allow_managed_hooks_only_is_for_the_organisation(world: World, said: Said) -> None:
    system = SYSTEMS["claude-code"]
    set_up(system, world)
    world.mine({**system.hooks(world.command("user")), "allowManagedHooksOnly": True}, system.user)
    world.fire(trust=True)
    assert set(world.ran()) == {"managed", "user", "project"}
    assert "counts in the organisation's settings alone" in said(world.load(trust=True))[0]


@pytest.mark.parametrize(
    ("settings", "run"),
    [({"allowManagedHooksOnly": True}, {"managed", "own"}), ({"disableAllHooks": True}, {"own"})],
    ids=["allowManagedHooksOnly", "disableAllHooks"],
)
def test_claude_codes_managed_settings_reach_claude_codes_hooks(settings: Json, run: set[str], world: World) -> None:
    set_up(SYSTEMS["claude-code"], world)
    world.managed(settings, "claude-code/managed-settings.d/50.json")
    world.mine(world.leaves("own"))
    world.fire(trust=True)
    assert set(world.ran()) == run


@pytest.mark.parametrize("text", ["allow_managed_hooks_only = true\n", "[hooks]\nallow_managed_hooks_only = true\n"])
def test_codexs_requirements_leave_only_managed_hooks(text: str, world: World, said: Said) -> None:
    set_up(SYSTEMS["codex"], world)
    world.managed(text, "codex/requirements.toml")
    hooks = world.load(trust=True)
    assert said(hooks) == []
    world.fire(hooks=hooks)
    assert world.ran() == ["managed"]


@pytest.mark.parametrize(("user", "run"), [(None, []), (True, ["user"])], ids=["alone", "and the user says otherwise"])
def test_what_geminis_machine_only_presets_the_user_may_undo(user: bool | None, run: list[str], world: World) -> None:
    world.managed({"hooksConfig": {"enabled": False}}, "gemini-cli/system-defaults.json")
    own = {} if user is None else {"hooksConfig": {"enabled": user}}
    world.mine({**groups("BeforeTool", world.command("user")), **own}, "~/.gemini/settings.json")
    world.fire()
    assert world.ran() == run


def test_in_the_home_directory_the_users_files_are_the_users(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """There the project's files and the user's are the same ones."""
    world.mine(groups("PreToolUse", world.command("user")), "~/.codex/hooks.json")
    world.mine(
        {"version": 1, "hooks": {"beforeShellExecution": [{"command": world.command("cursor")}]}},
        "~/.cursor/hooks.json",
    )
    hooks = Hooks.load(
        world.place.home, home=world.place.home, environ={"PATH": world.environ["PATH"]}, managed="/nowhere"
    )
    assert {(hook.origin.layer, hook.trusted) for hook in hooks} == {("user", True)}


def test_a_url_list_of_a_project_only_narrows(world: World) -> None:
    url = "https://hooks.example.invalid/x"
    world.mine(
        {"allowedHttpHookUrls": [], "hooks": {"PreToolUse": [{"hooks": [{"type": "http", "url": url}]}]}},
        "~/.claude/settings.json",
    )
    world.project({"allowedHttpHookUrls": ["*"]}, ".claude/settings.json")
    [hook] = world.load(trust=True)
    assert hook.handler.allowed_urls == ()  # type: ignore[attr-defined]
    assert json.dumps(hook.handler.describe())
