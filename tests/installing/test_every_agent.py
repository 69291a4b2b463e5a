"""For every agent: in, in again, out; and nothing else on the machine has changed."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.dialects import AGENT_HALVES
from fairlead.installing import commands
from fairlead.installing.specs import SPECS, events
from tests.installing.conftest import Agents, everything_below, plain_json

IN_SETTINGS = [name for name, spec in SPECS.items() if spec.format in ("json", "toml", "yaml")]
WITH_PROJECT = [name for name, spec in SPECS.items() if spec.project]

CODEMIE = """{
  "activeProfile": "work",
  "profiles": {
    "work": {
      "model": "m"
    }
  }
}
"""
FULL: dict[str, str] = {
    "json": """{
    // kept as it is
    "model": "opus",   /* odd   spacing */
    "unknown": {"a": [1, 2,], },
    "ünïcode": "€"
}
""",
    "toml": """# kept as it is
model   =  "k2"

[tools]   # odd spacing
bash = {allow = ["ls"]}

[[hooks]]
event = "PreToolUse"
type = "pre_tool"
command = "./mine.sh"
""",
    "yaml": """# kept as it is
model:   opus   # odd spacing
hooks:
    # mine
    pre_tool_call:
    -   command: ./mine.sh
        timeout: 5

    other_event: []
tools: [a,   b]
""",
}


def settings_text(agent: str) -> str:
    return CODEMIE if agent == "codemie" else FULL[SPECS[agent].format]


def parsed(file: Path) -> Any:
    text = file.read_text()
    if file.suffix == ".toml":
        return tomllib.loads(text)
    return yaml.safe_load(text) if file.suffix == ".yaml" else plain_json(text)


def known(value: Any) -> commands.Call | None:
    if isinstance(value, dict) and str(value.get("command")).endswith("/.augment/fairlead-hook.sh"):
        return commands.Call(agent="augment")
    return commands.known(value)


def calls(value: Any) -> list[commands.Call]:
    """Every call of Fairlead in a value, wherever it stands."""
    found = known(value)
    if found is not None:
        return [found]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [call for item in inner for call in calls(item)]


def without_calls(value: Any) -> Any:
    """A value without our entries and without what they leave empty."""
    if isinstance(value, dict):
        cleaned = {key: without_calls(item) for key, item in value.items() if known(item) is None}
        return {key: item for key, item in cleaned.items() if item not in ({}, [], None)}
    if isinstance(value, list):
        return [i for i in (without_calls(item) for item in value if known(item) is None) if i not in ({}, [])]
    return value


def test_every_agent_of_the_map_has_its_place() -> None:
    assert set(SPECS) >= set(AGENT_HALVES) - {"m"}


@pytest.mark.parametrize("agent", SPECS)
def test_it_goes_in_stays_and_leaves_no_trace(agent: str, agents: Agents) -> None:
    if agent == "codemie":
        agents.write(agent, CODEMIE)
    before = everything_below(agents.place.home)
    first = agents.install(agent)
    assert first.needed
    installed = everything_below(agents.place.home)
    assert agents.plan(agent).needed == []
    assert installed == everything_below(agents.place.home)
    agents.uninstall(agent)
    assert everything_below(agents.place.home) == before


@pytest.mark.parametrize("agent", WITH_PROJECT)
def test_a_project_gets_it_back_as_it_was(agent: str, agents: Agents) -> None:
    agents.place.write("README", "x")
    before = everything_below(agents.place.project)
    agents.install(agent, "project")
    assert everything_below(agents.place.project) != before
    assert everything_below(agents.place.home) == {}
    agents.uninstall(agent, "project")
    assert everything_below(agents.place.project) == before


@pytest.mark.parametrize("agent", IN_SETTINGS)
@pytest.mark.parametrize("every", [False, True], ids=["usual events", "all events"])
def test_what_is_not_ours_means_the_same_and_each_event_calls_us_once(agent: str, every: bool, agents: Agents) -> None:
    file = agents.write(agent, settings_text(agent))
    before = parsed(file)
    agents.install(agent, all_events=every)
    after = parsed(file)
    spec = SPECS[agent]
    rest = {key: value for key, value in without_calls(after).items() if key not in spec.root}
    assert rest == without_calls(before)
    wanted = len(events(spec, every=every))
    assert [call.agent for call in calls(after)] == [agent] * wanted


@pytest.mark.parametrize("agent", IN_SETTINGS)
def test_every_line_that_was_there_is_still_there(agent: str, agents: Agents) -> None:
    text = settings_text(agent)
    file = agents.write(agent, text)
    agents.install(agent)
    after = iter(file.read_text().splitlines())
    for line in text.splitlines():
        bare = line.rstrip()
        assert any(other.rstrip().rstrip(",") == bare.rstrip(",") or other.startswith(bare) for other in after), line


@pytest.mark.parametrize("agent", IN_SETTINGS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("end", [True, False], ids=["final newline", "no final newline"])
def test_uninstall_is_exact_to_the_byte(agent: str, newline: str, end: bool, agents: Agents) -> None:
    text = settings_text(agent).replace("\n", newline)
    file = agents.write(agent, text if end else text.removesuffix(newline))
    before = everything_below(agents.place.home)
    agents.install(agent)
    if newline == "\r\n":
        lines = file.read_bytes().split(b"\n")
        assert all(line.endswith(b"\r") for line in lines[:-1])
    agents.uninstall(agent)
    assert everything_below(agents.place.home) == before


EDITED = {
    "json": ('"model": "opus"', '"model": "sonnet", "added": {"later": [1]}'),
    "toml": ('model   =  "k2"', 'model = "k3"\nadded = 1'),
    "yaml": ("model:   opus", "added: later\nmodel: sonnet"),
}


@pytest.mark.parametrize("agent", [name for name in IN_SETTINGS if name != "codemie"])
def test_what_others_changed_in_the_meantime_stays(agent: str, agents: Agents) -> None:
    text = settings_text(agent)
    file = agents.write(agent, text)
    agents.install(agent)
    old, new = EDITED[SPECS[agent].format]
    file.write_text(file.read_text().replace(old, new))
    agents.uninstall(agent)
    assert file.read_text() == text.replace(old, new)


@pytest.mark.parametrize("agent", [name for name in IN_SETTINGS if name != "codemie"])
def test_init_after_somebodys_change_and_uninstall_keeps_it_too(agent: str, agents: Agents) -> None:
    text = settings_text(agent)
    file = agents.write(agent, text)
    agents.install(agent)
    old, new = EDITED[SPECS[agent].format]
    file.write_text(file.read_text().replace(old, new))
    agents.install(agent, guard=True)
    assert "--guard" in "".join(path.read_text() for path in file.parent.glob("*"))
    agents.uninstall(agent)
    assert file.read_text() == text.replace(old, new)


@pytest.mark.parametrize("agent", IN_SETTINGS)
def test_without_our_record_the_entries_still_come_out(agent: str, agents: Agents) -> None:
    file = agents.write(agent, settings_text(agent))
    before = parsed(file)
    agents.install(agent)
    Path(agents.machine.record_path(agent, "user")).unlink()
    agents.uninstall(agent)
    after = parsed(file)
    assert calls(after) == []
    assert without_calls({k: v for k, v in after.items() if k not in SPECS[agent].root}) == without_calls(before)


@pytest.mark.parametrize("agent", [name for name, spec in SPECS.items() if spec.format != "plugin"])
def test_an_older_interpreter_is_replaced_in_place(agent: str, agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    if agent == "codemie":
        agents.write(agent, CODEMIE)
    monkeypatch.setattr("sys.executable", "/old place/python3")
    agents.install(agent)
    monkeypatch.undo()
    agents.install(agent)
    texts = [path.read_text() for path in agents.place.home.rglob("*") if path.is_file() and ".local" not in str(path)]
    assert not any("/old place" in text for text in texts)
    if SPECS[agent].format in ("json", "toml", "yaml"):
        assert len(calls(parsed(agents.file(agent)))) == len(SPECS[agent].events)


@pytest.mark.parametrize("agent", SPECS)
def test_what_was_asked_for_once_is_kept(agent: str, agents: Agents) -> None:
    """A plain second `init` must not switch a guard off."""
    if agent == "codemie":
        agents.write(agent, CODEMIE)
    agents.install(agent, guard=True, enforce=True)
    assert agents.plan(agent).needed == []
    assert agents.plan(agent, guard=False).needed != []


def test_enforce_adds_the_agents_own_words(agents: Agents) -> None:
    found = {}
    for agent, spec in SPECS.items():
        if spec.enforce:
            agents.install(agent, enforce=True)
            text = agents.file(agent).read_text()
            found[agent] = all(key in text for key in spec.enforce)
            agents.install(agent, enforce=False)
            assert not any(key in agents.file(agent).read_text() for key in spec.enforce)
    assert found == {"claude-code": True, "cursor": True, "junie": True, "hermes": True, "vibe": True}


def test_claude_code_is_never_hooked_where_a_hook_replaces_git() -> None:
    spec = SPECS["claude-code"]
    assert not {"WorktreeCreate", "WorktreeRemove", "FileChanged"} & {*spec.events, *spec.more_events}


FREQUENT = {
    "claude-code": {"MessageDisplay"},
    "gemini": {"BeforeModel", "AfterModel", "BeforeToolSelection", "PreCompress"},
    "codex": {"PreModelRequest", "PostModelRequest"},
}


@pytest.mark.parametrize(("agent", "names"), FREQUENT.items(), ids=FREQUENT)
def test_frequent_events_are_only_for_those_who_ask(agent: str, names: set[str]) -> None:
    spec = SPECS[agent]
    assert not names & set(spec.events)
    assert names <= set(spec.more_events)


UNITS = {"gemini": 600_000, "qwen": 600_000, "augment": 60_000, "code-agent": 600_000, "codemie": 600_000,
         "claude-code": 600, "codex": 600, "grok": 60}  # fmt: skip


@pytest.mark.parametrize(("agent", "limit"), UNITS.items(), ids=UNITS)
def test_the_time_limit_is_in_the_agents_unit_and_ours_in_seconds(agent: str, limit: int, agents: Agents) -> None:
    if agent == "codemie":
        agents.write(agent, CODEMIE)
    agents.install(agent)
    text = agents.file(agent).read_text()
    assert f'"timeout": {limit}' in text
    if SPECS[agent].form == "shell":
        assert f"--timeout {SPECS[agent].timeout:g}" in text


@pytest.mark.parametrize("agent", ["cline", "augment"])
def test_programs_of_ours_can_be_started_and_nothing_else_can_write_them(agent: str, agents: Agents) -> None:
    agents.install(agent)
    scripts = [path for path in agents.place.home.rglob("*") if path.is_file() and path.read_bytes().startswith(b"#!")]
    assert scripts
    assert {stat.S_IMODE(path.stat().st_mode) for path in scripts} == {0o755}


def test_a_script_of_somebody_else_is_not_replaced(agents: Agents) -> None:
    script = agents.file("cline") / "PreToolUse"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\n")
    plan = agents.plan("cline")
    assert plan.problem == f"{script} is there already"
    assert script.read_text() == "#!/bin/sh\n"


MOVED = {
    "claude-code": ("CLAUDE_CONFIG_DIR", "settings.json"),
    "codex": ("CODEX_HOME", "hooks.json"),
    "copilot": ("COPILOT_HOME", "hooks/fairlead.json"),
    "crush": ("XDG_CONFIG_HOME", "crush/crush.json"),
    "opencode": ("XDG_CONFIG_HOME", "opencode/plugins/fairlead.js"),
    "hermes": ("HERMES_HOME", "config.yaml"),
}


@pytest.mark.parametrize(("agent", "moved"), MOVED.items(), ids=MOVED)
def test_a_variable_that_moves_the_settings_is_heeded(agent: str, moved: tuple[str, str], agents: Agents) -> None:
    variable, name = moved
    elsewhere = agents.place.root / "else where"
    agents.place.environ[variable] = str(elsewhere)
    agents.install(agent)
    assert (elsewhere / name).is_file()
    assert everything_below(agents.place.home) == {}


def test_settings_that_have_moved_are_put_back_in_both_places(agents: Agents) -> None:
    first = agents.write("claude-code", "{}")
    agents.install("claude-code")
    agents.place.environ["CLAUDE_CONFIG_DIR"] = str(agents.place.root / "elsewhere")
    second = agents.write("claude-code", '{"a": 1}')
    agents.install("claude-code")
    assert "fairlead" in first.read_text()
    assert "fairlead" in second.read_text()
    agents.uninstall("claude-code")
    assert (first.read_text(), second.read_text()) == ("{}", '{"a": 1}')


def test_agents_that_share_a_file_are_not_installed_together(agents: Agents) -> None:
    agents.install("claude-code")
    assert "already calls Fairlead for Claude Code" in agents.plan("code-agent").problem
    agents.uninstall("claude-code")
    agents.install("code-agent")
    assert "already calls Fairlead for Code Agent" in agents.plan("claude-code").problem


def test_what_somebody_added_to_our_entry_stays(agents: Agents) -> None:
    mine = {"matcher": "Bash", "command": "fairlead hook --agent cursor --trust-project", "loop_limit": 3}
    file = agents.write("cursor", json.dumps({"version": 1, "hooks": {"preToolUse": [mine]}}))
    agents.install("cursor")
    entry = parsed(file)["hooks"]["preToolUse"]
    assert len(entry) == 1
    assert (entry[0]["matcher"], entry[0]["loop_limit"]) == ("Bash", 3)
    assert entry[0]["command"].endswith("--trust-project")
    assert commands.program()[0] in entry[0]["command"]


def test_a_new_file_has_a_line_for_each_event(agents: Agents) -> None:
    for agent, spec in SPECS.items():
        if spec.format == "json" and agent != "codemie":
            text = agents.plan(agent).changes[-1].after or b""
            assert max(line.count(b'"timeout') + line.count(b"hook --agent") for line in text.splitlines()) <= 3
            assert len(text.splitlines()) >= len(spec.events)


VERSIONS = {
    "old": ("2.1.100 (Claude Code)", False, False),
    "with arguments": ("2.1.139 (Claude Code)", True, False),
    "of today": ("2.1.325 (Claude Code)", True, True),
    "unknown": ("no idea", False, True),
}


@pytest.mark.parametrize(("says", "has_arguments", "has_all"), VERSIONS.values(), ids=VERSIONS)
def test_claude_code_gets_what_its_version_understands(
    says: str, has_arguments: bool, has_all: bool, agents: Agents
) -> None:
    agents.place.script("~/bin/claude", f"echo '{says}'")
    agents.place.environ["PATH"] = f"{agents.place.home}/bin:{agents.place.environ['PATH']}"
    plan = agents.install("claude-code")
    hooks = parsed(agents.file("claude-code"))["hooks"]
    assert ("args" in hooks["PreToolUse"][0]["hooks"][0]) is has_arguments
    assert ("PreModelSwitch" in hooks) is has_all
    assert commands.known(hooks["PreToolUse"][0]["hooks"][0]) == commands.Call(agent="claude-code")
    assert bool(plan.notes) is not has_all
    assert agents.plan("claude-code").needed == []


@pytest.mark.parametrize(("says", "key"), [("1.0.101", "bash"), ("GitHub Copilot CLI 1.0.102.", "exec"), ("?", "bash")])
def test_copilot_gets_the_form_that_its_version_runs(says: str, key: str, agents: Agents) -> None:
    agents.place.script("~/.local/bin/copilot", f"echo '{says}'")
    agents.install("copilot")
    [entry] = parsed(agents.file("copilot"))["hooks"]["PreToolUse"]
    assert key in entry
    assert ("args" in entry) is (key == "exec")
    assert commands.known(entry) == commands.Call(agent="copilot")


def test_an_entry_changes_its_form_with_the_agents_version(agents: Agents) -> None:
    agents.install("claude-code")
    agents.place.script("~/.local/bin/claude", "echo 2.1.325")
    agents.install("claude-code")
    [group] = parsed(agents.file("claude-code"))["hooks"]["PreToolUse"]
    (hook,) = group["hooks"]
    assert commands.program()[0] in (hook["command"], *hook["args"])  # alone, or behind the relay
    agents.uninstall("claude-code")
    assert not agents.file("claude-code").exists()


def test_a_program_that_does_not_answer_is_not_waited_for(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.installing.versions._PATIENCE", 0.2)
    agents.place.script("~/.local/bin/claude", "exec sleep 60")
    agents.install("claude-code")
    (hook,) = parsed(agents.file("claude-code"))["hooks"]["PreToolUse"][0]["hooks"]
    assert commands.line(commands.program()) in hook["command"]
    assert "args" not in hook
