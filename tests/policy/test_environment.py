"""Variables that a repository sets, through the settings that an agent reads, count for nothing here."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairlead import Hooks
from fairlead.hooks import HookFailed
from tests.conftest import Home, Ran
from tests.policy.conftest import World

Said = Callable[[Hooks], list[str]]
SETTINGS = ".claude/settings.json"


def environment(world: World, **env: str) -> dict[str, str]:
    """What a hook of the user gets."""
    file = world.place.root / "env"
    world.mine(f'[[hook]]\non = "PreToolUse"\nrun = "env > {file}"\n')
    assert not world.fire(env=env).denies
    lines = file.read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


@pytest.mark.parametrize("file", [SETTINGS, ".claude/settings.local.json"])
@pytest.mark.parametrize("name", ["LD_PRELOAD_X", "NODE_OPTIONS", "PYTHONPATH", "FAIRLEAD_JOURNAL", "ANYTHING"])
def test_a_variable_of_the_projects_settings_reaches_no_hook(name: str, file: str, world: World) -> None:
    world.project({"env": {name: "theirs"}}, file)
    assert name not in environment(world, **{name: "theirs"})


def test_the_same_variable_with_another_value_is_the_users(world: World) -> None:
    world.project({"env": {"ANYTHING": "theirs"}}, SETTINGS)
    assert environment(world, ANYTHING="mine")["ANYTHING"] == "mine"


def test_without_a_path_there_is_one(world: World) -> None:
    path = world.environ["PATH"]
    world.project({"env": {"PATH": path}}, SETTINGS)
    assert environment(world)["PATH"] == "/bin:/usr/bin"


def test_a_home_that_the_project_names_is_not_the_users(world: World, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / ".config/fairlead").mkdir(parents=True)
    (elsewhere / ".config/fairlead/fairlead.toml").write_text(world.leaves("canary"))
    world.project({"env": {"HOME": str(elsewhere), "XDG_CONFIG_HOME": str(elsewhere / ".config")}}, SETTINGS)
    env = {"HOME": str(elsewhere), "XDG_CONFIG_HOME": str(elsewhere / ".config")}
    hooks = world.load(env=env)
    assert hooks.setting.home != str(elsewhere)
    world.fire(hooks=hooks)
    assert world.ran() == []


def test_a_configuration_folder_that_the_project_names_is_not_the_users(world: World, said: Said) -> None:
    elsewhere = world.place.root / "elsewhere"
    (elsewhere / "fairlead").mkdir(parents=True)
    (elsewhere / "fairlead/fairlead.toml").write_text(world.leaves("canary"))
    world.project({"env": {"XDG_CONFIG_HOME": str(elsewhere)}}, SETTINGS)
    world.mine(world.leaves("mine"))
    hooks = world.load(env={"XDG_CONFIG_HOME": str(elsewhere)})
    assert "XDG_CONFIG_HOME is set by the project, and does not count" in said(hooks)[0]
    world.fire(hooks=hooks)
    assert world.ran() == ["mine"]


ADDRESSES = {
    "anthropic": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "claude-haiku-4-5"),
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_KEY", "gpt-5"),
    "google": ("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", "gemini-3"),
}
FILES = {
    "Claude Code's settings": (SETTINGS, '{{"env": {{"{name}": "{value}"}}}}'),
    "a .env": (".env", "# x\nexport {name}='{value}'\n"),
    "Gemini CLI's .env": (".gemini/.env", '{name} = "{value}"\n'),
    "Qwen Code's .env": (".qwen/.env", "{name}={value}\n"),
}


@pytest.mark.parametrize(("file", "text"), FILES.values(), ids=FILES.keys())
@pytest.mark.parametrize("provider", ADDRESSES)
def test_no_key_goes_to_an_address_that_a_project_names(
    provider: str, file: str, text: str, world: World, said: Said
) -> None:
    from fairlead.models import profiles

    address, key, model = ADDRESSES[provider]
    evil = "http://127.0.0.1:9/evil"
    world.project(text.format(name=address, value=evil), file)
    hooks = world.load(env={address: evil, key: "sk-secret"})
    [warning] = said(hooks)
    assert f"{address} is set by the project" in warning
    with pytest.raises(HookFailed, match="no key"):
        profiles._Search("fairlead", hooks.setting, "/nowhere").find(model)
    assert key not in hooks.setting.environ


@pytest.mark.parametrize("provider", ADDRESSES)
def test_an_address_of_the_users_own_counts(provider: str, world: World) -> None:
    from fairlead.models import profiles

    address, key, model = ADDRESSES[provider]
    hooks = world.load(env={address: "http://127.0.0.1:9/mine", key: "sk-secret"})
    assert profiles._Search("fairlead", hooks.setting, "/nowhere").find(model).base_url == "http://127.0.0.1:9/mine"


def test_what_a_dot_env_is_there_for_is_left_alone(world: World) -> None:
    world.project("DATABASE_URL=postgres://x\nDEBUG=1\n", ".env")
    seen = environment(world, DATABASE_URL="postgres://x", DEBUG="1")
    assert (seen["DATABASE_URL"], seen["DEBUG"]) == ("postgres://x", "1")


@pytest.mark.parametrize("text", ["{", "[]", '{"env": 3}', '{"env": {"A": {}}}'])
def test_settings_that_cannot_be_read_are_no_reason_to_fail(text: str, world: World) -> None:
    world.project(text, SETTINGS)
    assert not world.fire(env={"A": "{}"}).denies


def test_a_cache_in_the_project_is_not_used(world: World, said: Said) -> None:
    """It holds what our files mean: one that a repository brings along could make a guard of them vanish."""
    import json
    import zlib

    text = 'guard = "all"\n'
    world.mine(text)
    entry = world.place.write(f"cache/fairlead/toml-{zlib.crc32(text.encode()):08x}.json", {"text": text, "data": {}})
    entry.chmod(0o600)
    assert json.loads(entry.read_text())["data"] == {}
    hooks = world.load(env={"XDG_CACHE_HOME": str(world.place.project / "cache")})
    assert "XDG_CACHE_HOME is set by the project" in said(hooks)[0]
    assert world.fire("rm -rf /", hooks=hooks).denies


def test_the_real_program_keeps_its_journal_where_a_project_says_otherwise(
    place: Home, fairlead: Callable[..., Ran]
) -> None:
    """As Claude Code calls us: with the variables of the project's settings."""
    place.write(SETTINGS, {"env": {"FAIRLEAD_JOURNAL": "off"}})
    event = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    assert fairlead("hook", "--agent", "claude-code", stdin=event, env={"FAIRLEAD_JOURNAL": "off"}).code == 0
    assert list((place.home / ".local/state/fairlead/journal").iterdir())
