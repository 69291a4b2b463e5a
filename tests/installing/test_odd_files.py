"""Settings files as they are found: nothing of them is lost, and what cannot be understood is left alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from fairlead.installing import commands, jsonc
from tests.conftest import Home
from tests.installing.conftest import Agents, everything_below, plain_json

ODD = {
    "empty": "",
    "white space": " \n\n",
    "a mark and nothing": "\ufeff",
    "an empty object": "{}",
    "one line": '{"model":"opus","hooks":{"Stop":[]}}',
    "no hooks yet": '{\n  "hooks": {}\n}',
    "hooks are null": '{\n  "hooks": null,\n  "a": 1\n}\n',
    "an event is null": '{\n  "hooks": {\n    "PreToolUse": null\n  }\n}\n',
    "a mark": '\ufeff{\n  "a": 1\n}',
    "comments everywhere": '// top\n{ // open\n  /* a */ "a": /* b */ 1, // c\n  // d\n}\n// end\n',
    "tabs": '{\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t{"hooks": [{"type": "command", "command": "x"}]}\n\t\t]\n\t}\n}\n',
    "trailing commas": '{\n  "hooks": {\n    "Stop": [\n      {"hooks": [],},\n    ],\n  },\n}\n',
    "carriage returns": '{\r\n  "hooks": {\r\n    "PreToolUse": [ // mine\r\n    ]\r\n  }\r\n}\r\n',
    "keys twice elsewhere": '{"a": 1, "a": 2}',
    "deep": "{" + '"a": {' * 90 + "}" * 90 + "}",
    "long lines": '{"a": "' + "x" * 200_000 + '"}',
    "strings like ours": '{"note": "fairlead hook --agent claude-code // is not called here"}',
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_it_goes_in_and_comes_out_to_the_byte(text: str, agents: Agents) -> None:
    file = agents.write("claude-code", text)
    before = everything_below(agents.place.home)
    agents.install("claude-code")
    after = plain_json(file.read_text())
    assert len(after["hooks"]["PreToolUse"]) == 1
    assert agents.plan("claude-code").needed == []
    agents.uninstall("claude-code")
    assert everything_below(agents.place.home) == before


@pytest.mark.parametrize(
    "text", [text for text in ODD.values() if text.strip()], ids=[k for k, v in ODD.items() if v.strip()]
)
def test_also_after_somebody_added_a_key_at_the_end(text: str, agents: Agents) -> None:
    file = agents.write("claude-code", text)
    meant = {} if jsonc.is_blank(text) else plain_json(text)
    agents.install("claude-code")
    installed = file.read_text()
    root = jsonc.parse(installed)
    style = jsonc.style_of(installed, root)
    edits = jsonc.insertion(installed, root, [("zzz", True)], depth=0, style=style)
    for edit in sorted(edits, key=lambda edit: -edit.start):
        installed = installed[: edit.start] + edit.new + installed[edit.end :]
    file.write_bytes(installed.encode())
    agents.uninstall("claude-code")
    left = plain_json(file.read_text())
    assert left.pop("zzz") is True
    assert {key: value for key, value in left.items() if value} == {key: value for key, value in meant.items() if value}


REFUSED = {
    "a syntax error": ('{\n  "hooks": {,}\n}', ":2:13: not JSON: expected a key in double quotes"),
    "cut off": ('{"hooks": {', ":1:12: not JSON"),
    "a list": ("[]", ":1:1: the file must hold an object"),
    "a number": ("7", ":1:1: the file must hold an object"),
    "hooks is a list": ('{"hooks": []}', ":1:11: hooks must be an object"),
    "hooks is a word": ('{"hooks": "x"}', ":1:11: hooks must be an object"),
    "an event is an object": ('{"hooks": {"PreToolUse": {}}}', ":1:26: hooks.PreToolUse must be a list"),
    "an event is a flag": ('{"hooks": {"Stop": true}}', ":1:20: hooks.Stop must be a list"),
    "hooks twice": ('{"hooks": {},\n "hooks": {}}', ":2:2: the key 'hooks' is there twice"),
    "an event twice": ('{"hooks": {"Stop": [], "Stop": []}}', ":1:24: the key 'Stop' is there twice"),
    "two documents": ("{}\n{}", ":2:1: not JSON: something follows"),
    "too deep": ('{"a":' + "[" * 500 + "]" * 500 + "}", "nested too deeply"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_understood_is_left_alone(text: str, message: str, agents: Agents) -> None:
    file = agents.write("claude-code", text)
    before = everything_below(agents.place.home)
    plan = agents.plan("claude-code")
    assert plan.problem.startswith(str(file))
    assert message in plan.problem
    assert plan.needed == []
    assert everything_below(agents.place.home) == before


TOML_REFUSED = {
    "a syntax error": ("[a\n", ":1:3: not TOML"),
    "hooks is a table": ("[hooks]\na = 1\n", ":1:1: hooks must be an array of tables"),
    "written by hand": (
        '[[hooks]]\nevent = "Stop"\ncommand = "fairlead hook --agent kimi"\n',
        "Fairlead is called here by entries that were written by hand",
    ),
}


@pytest.mark.parametrize(("text", "message"), TOML_REFUSED.values(), ids=TOML_REFUSED)
def test_toml_that_cannot_be_changed_is_left_alone(text: str, message: str, agents: Agents) -> None:
    file = agents.write("kimi", text)
    assert message in agents.plan("kimi").problem
    assert file.read_text() == text


TOML_ODD = {
    "an empty list": 'hooks = []\nmodel = "x"\n',
    "a list of inline tables": 'hooks = [{event = "Stop", command = "x"}]\n[a]\nb = 1\n',
    "a list over lines": 'hooks = [ # mine\n  {event = "Stop", command = "x"}, # x\n]\n',
    "no final newline": "a = 1",
    "blank": "",
    "a mark": "\ufeffa = 1\n",
    "a table at the end": "[a]\nb = 1\n",
    "a multi-line string with our marks": 'a = """\n# <<< fairlead\n"""\n',
}


@pytest.mark.parametrize("text", TOML_ODD.values(), ids=TOML_ODD)
def test_toml_goes_in_and_comes_out_to_the_byte(text: str, agents: Agents) -> None:
    file = agents.write("kimi", text)
    agents.install("kimi")
    assert agents.plan("kimi").needed == []
    agents.uninstall("kimi")
    assert file.read_bytes() == text.encode()


YAML_REFUSED = {
    "a syntax error": ("a: [\n", "not YAML"),
    "a list": ("- a\n", "the file must hold a mapping"),
    "hooks is a word": ("hooks: no idea\n", ":1:8: hooks must be a mapping of lists"),
    "an event is a mapping": ("hooks:\n  pre_tool_call: {a: 1}\n", "hooks must be a mapping of lists"),
    "hooks in braces": ("hooks: {x: [{command: y}]}\n", "cannot be added to"),
}


@pytest.mark.parametrize(("text", "message"), YAML_REFUSED.values(), ids=YAML_REFUSED)
def test_yaml_that_cannot_be_changed_is_left_alone(text: str, message: str, agents: Agents) -> None:
    file = agents.write("hermes", text)
    assert message in agents.plan("hermes").problem
    assert file.read_text() == text


YAML_ODD = {
    "blank": "",
    "a comment": "# nothing\n",
    "hooks without a value": "hooks:\nmodel: x\n",
    "hooks without a value and a comment": "hooks: # mine\nmodel: x\n",
    "hooks in empty braces": "hooks: {}   # none yet\nmodel: x\n",
    "an empty event": "hooks:\n  pre_tool_call: []\n",
    "lists at the margin": "hooks:\n  pre_tool_call:\n  - command: x\n  # end\n\nmodel: x\n",
    "a block of text": "hooks:\n  pre_tool_call:\n    - command: |\n        # not a comment\n        x\nmodel: x\n",
    "no final newline": "hooks:\n  pre_tool_call:\n    - command: x",
    "deep indents": "hooks:\n      pre_tool_call:\n            - command: x\n",
    "anchors": "base: &b {timeout: 3}\nhooks:\n  pre_tool_call:\n    - <<: *b\n      command: x\n",
}


@pytest.mark.parametrize("text", YAML_ODD.values(), ids=YAML_ODD)
def test_yaml_goes_in_and_comes_out_to_the_byte(text: str, agents: Agents) -> None:
    file = agents.write("hermes", text)
    agents.install("hermes")
    assert agents.plan("hermes").needed == []
    agents.uninstall("hermes")
    assert file.read_bytes() == text.encode()


# --- links and rights --------------------------------------------------------------------------------


def test_a_link_stays_a_link_and_its_target_changes(agents: Agents) -> None:
    target = agents.place.write("~/dotfiles/claude.json", '{"a": 1}\n')
    link = agents.file("claude-code")
    link.parent.mkdir()
    link.symlink_to("../dotfiles/claude.json")
    before = everything_below(agents.place.home)
    agents.install("claude-code")
    assert link.is_symlink()
    assert "fairlead" in target.read_text()
    agents.uninstall("claude-code")
    assert everything_below(agents.place.home) == before


def test_a_linked_folder_is_followed(agents: Agents) -> None:
    folder = agents.place.home / "dotfiles" / "claude"
    folder.mkdir(parents=True)
    (agents.place.home / ".claude").symlink_to(folder)
    before = everything_below(agents.place.home)
    agents.install("claude-code")
    assert (folder / "settings.json").is_file()
    agents.uninstall("claude-code")
    assert everything_below(agents.place.home) == before


def test_a_link_to_nothing_gets_its_file_and_loses_it_again(agents: Agents) -> None:
    link = agents.file("claude-code")
    link.parent.mkdir()
    link.symlink_to(agents.place.home / "not" / "there.json")
    before = everything_below(agents.place.home)
    agents.install("claude-code")
    assert (agents.place.home / "not" / "there.json").is_file()
    agents.uninstall("claude-code")
    assert everything_below(agents.place.home) == before


def test_a_link_to_itself_is_reported(agents: Agents) -> None:
    link = agents.file("claude-code")
    link.parent.mkdir()
    link.symlink_to(link)
    assert "cannot be read" in agents.plan("claude-code").problem


@pytest.mark.parametrize("what", ["file", "folder"])
def test_read_only_is_respected(what: str, agents: Agents) -> None:
    file = agents.write("claude-code", "{}")
    (file if what == "file" else file.parent).chmod(0o444 if what == "file" else 0o555)
    try:
        problem = agents.plan("claude-code").problem
    finally:
        file.parent.chmod(0o755)
    assert "read-only" in problem
    assert file.read_text() == "{}"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_the_mode_stays(mode: int, agents: Agents) -> None:
    file = agents.write("claude-code", "{}")
    file.chmod(mode)
    agents.install("claude-code")
    assert stat.S_IMODE(file.stat().st_mode) == mode
    agents.uninstall("claude-code")
    assert stat.S_IMODE(file.stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_the_owner_stays(agents: Agents) -> None:
    file = agents.write("claude-code", "{}")
    os.chown(file, 12345, 54321)
    agents.install("claude-code")
    assert (file.stat().st_uid, file.stat().st_gid) == (12345, 54321)


def test_a_folder_in_the_place_of_the_file_is_reported(agents: Agents) -> None:
    agents.file("claude-code").mkdir(parents=True)
    assert "Is a directory" in agents.plan("claude-code").problem


def test_a_file_in_the_place_of_the_folder_is_reported(agents: Agents) -> None:
    (agents.place.home / ".claude").write_text("x")
    assert ".claude" in agents.plan("claude-code").problem


def test_what_is_not_utf_8_is_left_alone(agents: Agents) -> None:
    file = agents.file("claude-code")
    file.parent.mkdir()
    file.write_bytes('{"a": "é"}'.encode("latin-1"))
    assert "is not UTF-8 text (byte 7)" in agents.plan("claude-code").problem


def test_a_folder_that_somebody_has_filled_stays(agents: Agents) -> None:
    agents.install("grok")
    mine = agents.file("grok").with_name("mine.json")
    mine.write_text("{}")
    agents.uninstall("grok")
    assert list(everything_below(agents.place.home)) == [".grok", ".grok/hooks", ".grok/hooks/mine.json"]


def test_our_records_are_for_the_user_alone(agents: Agents) -> None:
    """They hold the file as it was, and that may hold a key."""
    agents.write("codemie", '{"profiles": {"default": {"apiKey": "secret"}}}')
    agents.install("codemie")
    record = Path(agents.machine.record_path("codemie", "user"))
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert stat.S_IMODE(record.parent.stat().st_mode) == 0o700


ODD_PATHS = ["/opt/my python/bin/python3", "/opt/it's/python", '/opt/"q"/python', "/opt/ünï/python", "/opt/$HOME/`x`/p"]


@pytest.mark.parametrize("agent", ["claude-code", "codex", "copilot", "kimi", "hermes", "kiro", "cline"])
@pytest.mark.parametrize("path", ODD_PATHS)
def test_a_path_with_odd_letters_reaches_the_agent_whole(
    agent: str, path: str, agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shlex

    monkeypatch.setattr("sys.executable", path)
    words = commands.words(commands.Call(agent=agent), 5)
    assert shlex.split(commands.line(words))[0] == path
    assert commands.known(commands.line(words)) == commands.Call(agent=agent)
    agents.install(agent)
    assert agents.plan(agent).needed == []
    agents.uninstall(agent)
    assert everything_below(agents.place.home) == {}


def test_the_command_that_is_written_answers(agents: Agents, place: Home) -> None:
    """As the agent would call it, from a project with a `fairlead` folder of its own."""
    import subprocess

    place.write("fairlead/__init__.py", "raise SystemExit('not me')")
    place.script("~/.local/bin/claude", "echo 2.1.325")
    agents.install("claude-code")
    entry = plain_json(agents.file("claude-code").read_text())["hooks"]["PreToolUse"][0]["hooks"][0]
    done = subprocess.run(
        [entry["command"], *entry["args"]],
        input=b'{"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {}}',
        cwd=place.project,
        env={**place.environ, "PYTHONPATH": str(place.project)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
