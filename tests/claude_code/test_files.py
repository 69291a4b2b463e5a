"""Where Claude Code's hooks come from, which of them run, and what switches them off."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.claude_code.conftest import Claude
from tests.claude_code.payloads import Json
from tests.conftest import Home

PROJECT = ".claude/settings.json"
LOCAL = ".claude/settings.local.json"
USER = "~/.claude/settings.json"


def named(place: Home, name: str) -> str:
    """A program whose name tells in the reports which file it came from."""
    return str(place.script(f"~/bin/{name}", "exit 0"))


def every_level(claude: Claude) -> None:
    place = claude.place
    claude.manage(claude.settings("PreToolUse", named(place, "managed")))
    claude.manage(claude.settings("PreToolUse", named(place, "drop-in-b")), "managed-settings.d/20-b.json")
    claude.manage(claude.settings("PreToolUse", named(place, "drop-in-a")), "managed-settings.d/10-a.json")
    claude.configure("PreToolUse", named(place, "user"), file=USER)
    claude.configure("PreToolUse", named(place, "project"), file=PROJECT)
    claude.configure("PreToolUse", named(place, "local"), file=LOCAL)
    claude.configure("PreToolUse", named(place, "hook"), file="~/.claude/plugins/mine/hooks/hooks.json")
    claude.configure("PreToolUse", named(place, "hook"), file=".claude/plugins/ours/hooks/hooks.json")


MANAGED = ["managed", "drop-in-a", "drop-in-b"]
ALL = [*MANAGED, "user", "project", "local", "mine:hook", "ours:hook"]
YOURS = [*MANAGED, "user", "mine:hook"]


def test_all_levels_add(claude: Claude) -> None:
    every_level(claude)
    assert claude.ran(claude.fire("PreToolUse")) == ALL


def test_without_trust_what_comes_from_the_project_does_not_run_and_is_named(claude: Claude) -> None:
    every_level(claude)
    decision = claude.fire("PreToolUse", hooks=claude.load(trust=False))
    assert claude.ran(decision) == [*MANAGED, "user", "mine:hook"]
    [note] = decision.notes
    assert all(name in note for name in ("project", "local", "ours:hook"))


def test_the_users_files_are_where_the_variable_says(claude: Claude, place: Home) -> None:
    claude.configure("PreToolUse", named(place, "elsewhere"), file="~/cfg/settings.json")
    claude.configure("PreToolUse", named(place, "usual"), file=USER)
    hooks = claude.load(env={"CLAUDE_CONFIG_DIR": str(place.home / "cfg")})
    assert claude.ran(claude.fire("PreToolUse", hooks=hooks)) == ["elsewhere"]


def test_the_same_hook_in_several_settings_files_runs_once(claude: Claude, place: Home) -> None:
    command = named(place, "guard")
    for file in (USER, PROJECT, LOCAL):
        claude.configure("PreToolUse", command, file=file)
    assert claude.ran(claude.fire("PreToolUse")) == ["guard"]


def test_an_untrusted_copy_does_not_take_the_place_of_the_users_own(claude: Claude, place: Home) -> None:
    command = named(place, "guard")
    for file in (USER, PROJECT):
        claude.configure("PreToolUse", command, file=file)
    assert claude.ran(claude.fire("PreToolUse", hooks=claude.load(trust=False))) == ["guard"]


def test_a_plugins_copy_is_its_own(claude: Claude, place: Home) -> None:
    command = named(place, "guard")
    claude.configure("PreToolUse", command, command, file=USER)
    for plugin in ("one", "two"):
        claude.configure("PreToolUse", command, file=f"~/.claude/plugins/{plugin}/hooks/hooks.json")
    assert claude.ran(claude.fire("PreToolUse")) == ["guard", "one:guard", "two:guard"]


@pytest.mark.parametrize(
    "difference",
    [{"if": "Bash(make *)"}, {"timeout": 7}, {"onFailure": "block"}, {"args": []}, {"shell": "bash"}, {"async": True}],
    ids=lambda difference: next(iter(difference)),
)
def test_a_hook_that_differs_is_another_hook(difference: Json, claude: Claude, place: Home) -> None:
    handler = {"type": "command", "command": named(place, "guard")}
    claude.configure("PreToolUse", handler, {**handler, **difference})
    assert claude.ran(claude.fire("PreToolUse")) == ["guard", "guard"]


def test_two_rules_for_one_program_are_both_looked_at(claude: Claude) -> None:
    handler = {"type": "command", "command": "echo no >&2; exit 2"}
    claude.configure("PreToolUse", {**handler, "if": "Bash(git *)"}, {**handler, "if": "Bash(make *)"})
    assert claude.fire("PreToolUse").denies


# --- what switches them off --------------------------------------------------------------------------


def switch(claude: Claude, layer: str, **settings: Any) -> None:
    """Add settings to a level's own file."""
    files = {"user": USER, "project": PROJECT, "local": LOCAL}
    if layer == "managed":
        file = claude.managed / "claude-code" / "managed-settings.d" / "90-switch.json"
        file.write_text(json.dumps(settings))
        return
    path = files[layer]
    file = claude.place.home / path[2:] if path.startswith("~/") else claude.place.project / path
    file.write_text(json.dumps({**json.loads(file.read_text()), **settings}))


SWITCHES: list[tuple[str, dict[str, bool], list[str]]] = [
    ("user", {"user": True}, MANAGED),
    ("a project reaches its own, not local", {"project": True}, [*MANAGED, "user", "local", "mine:hook"]),
    ("local reaches the project's", {"local": True}, YOURS),
    ("a project's false leaves the user's true", {"user": True, "project": False}, MANAGED),
    ("local false beats project true", {"project": True, "local": False}, ALL),
    ("local true leaves what the user has on", {"user": False, "local": True}, YOURS),
    ("managed false beats all", {"managed": False, "user": True, "local": True}, ALL),
    ("managed true", {"managed": True}, []),
    ("managed true beats local false", {"managed": True, "local": False}, []),
]


@pytest.mark.parametrize(("values", "expected"), [case[1:] for case in SWITCHES], ids=[case[0] for case in SWITCHES])
def test_disable_all_hooks_reaches_as_far_as_its_owners_word(
    values: dict[str, bool], expected: list[str], claude: Claude
) -> None:
    every_level(claude)
    for layer, value in values.items():
        switch(claude, layer, disableAllHooks=value)
    assert claude.ran(claude.fire("PreToolUse")) == expected


@pytest.mark.parametrize("layer", ["project", "local"])
def test_an_untrusted_project_switches_nothing_off(layer: str, claude: Claude) -> None:
    every_level(claude)
    switch(claude, layer, disableAllHooks=True, enabledPlugins={"mine@shop": False})
    decision = claude.fire("PreToolUse", hooks=claude.load(trust=False))
    assert claude.ran(decision) == [*MANAGED, "user", "mine:hook"]


def test_another_systems_files_do_not_undo_the_users_switch(claude: Claude, place: Home) -> None:
    claude.configure("PreToolUse", named(place, "user"), disableAllHooks=True)
    place.write("~/.config/amcp/hooks.json", {"enabled": True, "hooks": {}})
    place.write("~/.config/fairlead/fairlead.toml", "")
    hooks = claude.load()
    every = type(hooks).load(place.project, environ=place.environ, managed=str(claude.managed))
    for found in (hooks, every):
        assert claude.ran(claude.fire("PreToolUse", hooks=found)) == []


@pytest.mark.parametrize("value", ["yes", 1, "true"])
def test_a_switch_that_is_neither_true_nor_false_is_reported_and_switches_nothing(value: Any, claude: Claude) -> None:
    problems = claude.problems(claude.settings("PreToolUse", "/bin/true", disableAllHooks=value))
    assert len(problems) == 1
    assert problems[0].startswith("error: disableAllHooks must be true or false")
    assert claude.ran(claude.fire("PreToolUse")) == ["true"]


def test_allow_managed_hooks_only_leaves_the_managed_ones(claude: Claude) -> None:
    every_level(claude)
    switch(claude, "managed", allowManagedHooksOnly=True)
    assert claude.ran(claude.fire("PreToolUse")) == MANAGED


def test_allow_managed_hooks_only_keeps_the_plugins_that_management_forces(claude: Claude) -> None:
    every_level(claude)
    claude.configure("PreToolUse", named(claude.place, "hook"), file=".claude/plugins/mine/hooks/hooks.json")
    switch(claude, "managed", allowManagedHooksOnly=True, enabledPlugins={"mine@shop": True})
    assert claude.ran(claude.fire("PreToolUse")) == [*MANAGED, "mine:hook"]


@pytest.mark.parametrize("layer", ["user", "project", "local"])
def test_allow_managed_hooks_only_is_heeded_in_managed_settings_alone(layer: str, claude: Claude) -> None:
    every_level(claude)
    switch(claude, layer, allowManagedHooksOnly=True)
    assert claude.ran(claude.fire("PreToolUse")) == ALL


PLUGINS: list[tuple[str, dict[str, Json], bool]] = [
    ("off", {"user": {"mine@shop": False}}, False),
    ("on", {"user": {"mine@shop": True}}, True),
    ("another plugin", {"user": {"yours@shop": False}}, True),
    ("without a marketplace", {"user": {"mine": False}}, False),
    ("one of two marketplaces", {"user": {"mine@a": False, "mine@b": True}}, True),
    ("a project does not switch it on", {"user": {"mine@shop": False}, "local": {"mine@shop": True}}, False),
    ("a project does not switch it off", {"project": {"mine@shop": False}}, True),
    ("management's word", {"local": {"mine@shop": False}, "managed": {"mine@shop": True}}, True),
]


@pytest.mark.parametrize(("values", "runs"), [case[1:] for case in PLUGINS], ids=[case[0] for case in PLUGINS])
def test_a_plugin_can_be_switched_off_by_name(values: dict[str, Json], *, runs: bool, claude: Claude) -> None:
    every_level(claude)
    for layer, value in values.items():
        switch(claude, layer, enabledPlugins=value)
    assert ("mine:hook" in claude.ran(claude.fire("PreToolUse"))) is runs


# --- one bad entry -----------------------------------------------------------------------------------

BAD: list[tuple[str, Json, str]] = [
    ("unknown type", {"type": "magic", "command": "x"}, "unknown type 'magic'"),
    ("no command", {"type": "command"}, "command is missing"),
    ("command of a wrong kind", {"type": "command", "command": 5}, "command must be a string"),
    ("args of a wrong kind", {"type": "command", "command": "x", "args": "y"}, "args must be a list"),
]


@pytest.mark.parametrize(("entry", "problem"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_one_bad_entry_never_disables_the_rest(entry: Json, problem: str, claude: Claude) -> None:
    problems = claude.problems(claude.settings("PreToolUse", entry, "/bin/true"))
    assert len(problems) == 1
    assert problem in problems[0]
    assert claude.ran(claude.fire("PreToolUse")) == ["true"]


def test_a_plugins_events_at_the_top_of_its_file_are_reported_and_taken(claude: Claude) -> None:
    content = {"description": "mine", **claude.settings("PreToolUse", "/bin/true")["hooks"]}
    problems = claude.problems(content, "~/.claude/plugins/kit/hooks/hooks.json")
    assert problems == ["error: events stand at the top of the file"]
    assert claude.ran(claude.fire("PreToolUse")) == ["kit:true"]


def test_an_unknown_event_loses_only_itself(claude: Claude) -> None:
    content = claude.settings("PreToolUse", "/bin/true")
    content["hooks"]["PreTooluse"] = content["hooks"]["PreToolUse"]
    [problem] = claude.problems(content)
    assert "PreTooluse" in problem
    assert claude.ran(claude.fire("PreToolUse")) == ["true"]


def test_a_file_that_is_not_json_is_reported_and_the_other_files_count(claude: Claude, place: Home) -> None:
    place.write(PROJECT, "{ // mine\n}")
    claude.configure("PreToolUse", "/bin/true", file=USER)
    hooks = claude.load()
    [problem] = hooks.problems
    assert (problem.line, problem.column) == (1, 3)
    assert claude.ran(claude.fire("PreToolUse", hooks=hooks)) == ["true"]


@pytest.mark.parametrize("text", ["[]", '"hooks"', "null", '{"hooks": []}', '{"hooks": {"PreToolUse": {}}}'])
def test_a_file_of_another_shape_is_reported(text: str, claude: Claude, place: Home) -> None:
    place.write(USER, text)
    [problem] = claude.load().problems
    assert problem.level == "error"


def test_a_typing_slip_in_a_key_is_pointed_out(claude: Claude) -> None:
    handler = {"type": "command", "command": "/bin/true", "timeuot": 3}
    assert claude.problems(claude.settings("PreToolUse", handler)) == ["warning: unknown key 'timeuot'"]


# --- front matter ------------------------------------------------------------------------------------

FRONT_MATTER = """---
name: {name}
hooks:
  {event}:
    - matcher: "{matcher}"
      hooks:
        - type: command
          command: "{command}"
          once: {once}
---
Words for the model.
"""


def front_matter(claude: Claude, path: str, event: str = "PreToolUse", *, once: bool = False, **fields: str) -> None:
    values = {"name": "tidy", "matcher": "", "command": "/bin/true", **fields}
    claude.place.write(path, FRONT_MATTER.format(event=event, once=str(once).lower(), **values))


@pytest.mark.parametrize("home", ["~/.claude", ".claude"])
def test_a_subagents_hooks_apply_to_its_own_events(home: str, claude: Claude) -> None:
    front_matter(claude, f"{home}/agents/tidy.md")
    assert claude.ran(claude.fire("PreToolUse", agent_type="tidy")) == ["true"]
    assert claude.ran(claude.fire("PreToolUse", agent_type="other")) == []


def test_a_subagents_stop_is_its_subagent_stop_whatever_its_matcher(claude: Claude) -> None:
    front_matter(claude, "~/.claude/agents/tidy.md", event="Stop", matcher="nothing")
    assert claude.ran(claude.fire("SubagentStop", agent_type="tidy")) == ["true"]
    assert claude.ran(claude.fire("SubagentStop", agent_type="other")) == []
    assert claude.ran(claude.fire("Stop", agent_type="tidy")) == []


NAMING: list[tuple[str, str, Json]] = [
    ("the tool", "PreToolUse", {"tool_name": "Skill", "tool_input": {"skill": "tidy"}}),
    ("the older tool", "PreToolUse", {"tool_name": "Skill", "tool_input": {"command": "/tidy"}}),
    ("a typed command", "UserPromptExpansion", {"command_name": "tidy"}),
    ("the agent", "PreToolUse", {"skill": "tidy"}),
]


@pytest.mark.parametrize(("event", "more"), [case[1:] for case in NAMING], ids=[case[0] for case in NAMING])
def test_a_skills_hooks_apply_where_the_event_names_it(event: str, more: Json, claude: Claude) -> None:
    front_matter(claude, "~/.claude/skills/tidy/SKILL.md", event=event)
    assert claude.ran(claude.fire(event, **more)) == ["true"]
    assert claude.ran(claude.fire("PreToolUse", tool_name="Bash", tool_input={"command": "tidy"})) == []


@pytest.mark.parametrize("path", ["~/.claude/skills/tidy/SKILL.md", "~/.claude/agents/tidy.md"])
def test_front_matter_can_be_switched_on_by_name(path: str, claude: Claude) -> None:
    front_matter(claude, path)
    assert claude.ran(claude.fire("PreToolUse")) == []
    assert claude.ran(claude.fire("PreToolUse", hooks=claude.load(active=["tidy"]))) == ["true"]


def test_a_projects_front_matter_needs_trust(claude: Claude) -> None:
    front_matter(claude, ".claude/skills/tidy/SKILL.md")
    assert claude.ran(claude.fire("PreToolUse", hooks=claude.load(active=["tidy"], trust=False))) == []


def test_once_ends_after_the_first_good_run(claude: Claude, place: Home) -> None:
    flag = place.root / "flag"
    front_matter(claude, "~/.claude/skills/tidy/SKILL.md", once=True, command=f"test -e {flag}")
    hooks = claude.load(active=["tidy"])
    assert claude.ran(claude.fire("PreToolUse", hooks=hooks)) == ["test"]
    flag.touch()
    assert claude.ran(claude.fire("PreToolUse", hooks=hooks)) == ["test"]
    last = claude.fire("PreToolUse", hooks=hooks)
    assert claude.ran(last) == []
    assert [report.why for report in last.reports] == ["has `once`, and has run in this session"]


def test_once_means_nothing_in_a_settings_file(claude: Claude) -> None:
    claude.configure("PreToolUse", {"type": "command", "command": "/bin/true", "once": True})
    hooks = claude.load()
    for _ in range(2):
        assert claude.ran(claude.fire("PreToolUse", hooks=hooks)) == ["true"]
