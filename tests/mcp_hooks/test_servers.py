"""Which server a name means, for whom; and what it is given."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fairlead.hooks import HookFailed
from fairlead.mcp_process import Ending
from fairlead.mcp_servers import Server, find
from tests.mcp_hooks.conftest import PLAIN, Desk


def claude(command: str = "x", **fields: Any) -> dict[str, Any]:
    return {"mcpServers": {"s": {"command": command, **fields}}}


def found(desk: Desk, name: str = "s", **fields: Any) -> Server:
    fields.setdefault("dialect", "claude-code")
    return find(name, desk.hook(**fields), desk.setting, managed=str(desk.place.root / "etc"))


# --- where ---------------------------------------------------------------------------------------------


PLACES = {
    "managed fairlead.toml": ("../etc/fairlead/fairlead.toml", '[mcp_servers.s]\ncommand = "managed"'),
    "user's fairlead.toml": ("~/.config/fairlead/fairlead.toml", '[mcp_servers.s]\ncommand = "user"'),
    "managed-mcp.json": ("../etc/claude-code/managed-mcp.json", claude("managed-mcp")),
    "local in .claude.json": ("~/.claude.json", {"projects": {"<PROJECT>": claude("local")}}),
    "user's .claude.json": ("~/.claude.json", claude("claude-user")),
    "the project's .mcp.json": (".mcp.json", claude("project")),
}
COMMANDS = ["managed", "user", "managed-mcp", "local", "claude-user", "project"]


def write(desk: Desk, path: str, content: Any) -> Path:
    text = content if isinstance(content, str) else json.dumps(content)
    return desk.place.write(path, text.replace("<PROJECT>", str(desk.place.project)))


@pytest.mark.parametrize("first", range(len(PLACES)), ids=list(PLACES))
def test_the_users_own_files_come_first_and_the_projects_last(desk: Desk, first: int) -> None:
    for path, content in list(PLACES.values())[first:]:
        if not (path == "~/.claude.json" and (desk.place.home / ".claude.json").exists()):
            write(desk, path, content)
    assert found(desk, layer="project").command == COMMANDS[first]


@pytest.mark.parametrize("layer", ["user", "managed", "code"])
@pytest.mark.parametrize("dialect", ["claude-code", "codex", "fairlead"])
def test_a_hook_that_is_not_the_projects_never_starts_what_only_the_project_defines(
    desk: Desk, layer: str, dialect: str
) -> None:
    write(desk, ".mcp.json", claude())
    write(desk, ".codex/config.toml", '[mcp_servers.s]\ncommand = "x"')
    write(desk, "fairlead.toml", '[mcp_servers.s]\ncommand = "x"')
    with pytest.raises(HookFailed) as failed:
        found(desk, layer=layer, dialect=dialect)
    assert str(desk.config) in str(failed.value)
    assert ("defined only by the project" in str(failed.value)) == (dialect != "fairlead")


@pytest.mark.parametrize("layer", ["project", "local"])
@pytest.mark.parametrize(
    ("dialect", "path", "content"),
    [
        ("claude-code", ".mcp.json", claude("mine")),
        ("codex", ".codex/config.toml", '[mcp_servers.s]\ncommand = "mine"'),
    ],
)
def test_a_hook_of_the_project_may_use_its_servers(
    desk: Desk, layer: str, dialect: str, path: str, content: Any
) -> None:
    write(desk, path, content)
    assert found(desk, layer=layer, dialect=dialect).command == "mine"


@pytest.mark.parametrize(
    ("layer", "owner", "inside", "may"),
    [
        ("plugin", "user", True, False),
        ("plugin", "project", True, True),
        ("skill", "project", True, True),
        ("subagent", "user", False, False),
        ("skill", "", True, True),
        ("skill", "", False, False),
        ("user", "project", False, True),
    ],
)
def test_what_carries_hooks_is_the_projects_if_it_lies_in_it(
    desk: Desk, layer: str, owner: str, inside: bool, may: bool
) -> None:
    write(desk, ".mcp.json", claude())
    file = str((desk.place.project if inside else desk.place.home) / "SKILL.md")
    options = {"owner": owner} if owner else {}
    if may:
        assert found(desk, layer=layer, file=file, options=options).command == "x"
    else:
        with pytest.raises(HookFailed):
            found(desk, layer=layer, file=file, options=options)


def test_a_project_cannot_define_servers_in_fairlead_toml(desk: Desk) -> None:
    write(desk, "fairlead.toml", '[mcp_servers.s]\ncommand = "x"')
    with pytest.raises(HookFailed, match="not configured"):
        found(desk, layer="project", dialect="fairlead")


def test_a_server_that_the_user_has_rejected_is_not_started(desk: Desk) -> None:
    write(desk, ".mcp.json", claude())
    write(desk, "~/.claude.json", {"projects": {"<PROJECT>": {"disabledMcpjsonServers": ["s"]}}})
    with pytest.raises(HookFailed, match="rejected by the user"):
        found(desk, layer="project")


@pytest.mark.parametrize("path", ["~/.config/fairlead/fairlead.toml", "~/.claude.json"])
def test_a_broken_file_of_the_user_does_not_leave_the_name_to_the_project(desk: Desk, path: str) -> None:
    write(desk, ".mcp.json", claude())
    broken = write(desk, path, "{ = broken")
    with pytest.raises(HookFailed, match="MCP servers are looked for in it") as failed:
        found(desk, layer="project")
    assert str(broken) in str(failed.value)


def test_the_homes_of_claude_code_and_codex_can_be_elsewhere(desk: Desk) -> None:
    desk.environ |= {"CLAUDE_CONFIG_DIR": str(desk.place.root / "c"), "CODEX_HOME": str(desk.place.root / "x")}
    write(desk, "../c/.claude.json", claude("of claude"))
    write(desk, "../x/config.toml", '[mcp_servers.s]\ncommand = "of codex"')
    assert found(desk).command == "of claude"
    assert found(desk, dialect="codex").command == "of codex"


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (".mcp.json", {"mcpServers": {"s": {"command": "${CLAUDE_PLUGIN_ROOT}/run"}}}),
        (".mcp.json", {"s": {"command": "${CLAUDE_PLUGIN_ROOT}/run"}}),
        (".claude-plugin/plugin.json", {"mcpServers": {"s": {"command": "${CLAUDE_PLUGIN_ROOT}/run"}}}),
    ],
)
def test_servers_of_plugins_are_found_by_their_plugin(desk: Desk, path: str, content: Any) -> None:
    root = desk.place.home / ".claude" / "plugins" / "tools"
    write(desk, f"~/.claude/plugins/tools/{path}", content)
    assert found(desk, "plugin:tools:s").command == f"{root}/run"
    own = {"plugin": "tools", "root": str(root), "owner": "user"}
    assert found(desk, "plugin:tools:s", layer="plugin", options=own).command == f"{root}/run"


def test_a_plugin_of_the_project_is_the_projects(desk: Desk) -> None:
    write(desk, ".claude/plugins/tools/.mcp.json", claude())
    with pytest.raises(HookFailed, match="only by the project"):
        found(desk, "plugin:tools:s")
    assert found(desk, "plugin:tools:s", layer="project").command == "x"


@pytest.mark.parametrize("name", ["plugin:../../x:s", "plugin::s", "plugin:..:s", "plugin:s", ""])
def test_a_name_cannot_lead_out_of_the_plugins(desk: Desk, name: str) -> None:
    write(desk, "~/x/.mcp.json", claude())
    write(desk, "~/.claude/.mcp.json", claude())
    with pytest.raises(HookFailed, match="not configured"):
        found(desk, name)


# --- what it says --------------------------------------------------------------------------------------


def test_variables_are_filled_in_as_claude_code_does(desk: Desk) -> None:
    desk.environ |= {"TOOL": "scan", "EMPTY": "", "TRICK": "${TOOL}"}
    env = {"A": "${EMPTY:-b}", "B": "$TOOL", "C": "${TRICK}", "D": "${NONE:-}"}
    write(desk, "~/.claude.json", claude("${TOOL}-${NONE:-1}", args=["${TOOL}", "${CLAUDE_PROJECT_DIR}/x"], env=env))
    server = found(desk)
    assert (server.command, server.args) == ("scan-1", ("scan", f"{desk.place.project}/x"))
    assert {key: server.env[key] for key in env} == {"A": "b", "B": "$TOOL", "C": "${TOOL}", "D": ""}


def test_codex_has_its_own_way_to_pass_variables_on(desk: Desk) -> None:
    desk.environ |= {"KEY": "k", "TOKEN": "t"}
    write(
        desk,
        "~/.codex/config.toml",
        """
[mcp_servers.s]
command = "x"
env = { A = "${KEY}" }
env_vars = ["KEY"]
[mcp_servers.h]
url = "https://example.org/mcp"
bearer_token_env_var = "TOKEN"
http_headers = { X-A = "1" }
env_http_headers = { X-K = "KEY" }
""",
    )
    server = found(desk, dialect="codex")
    assert (server.env["A"], server.env["KEY"]) == ("${KEY}", "k")
    assert found(desk, "h", dialect="codex").headers == {"X-A": "1", "X-K": "k", "Authorization": "Bearer t"}


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        pytest.param("x", "must be an object", id="not-an-object"),
        pytest.param({}, "either a command or a url", id="empty"),
        pytest.param({"command": "x", "url": "http://x"}, "either a command or a url", id="both"),
        pytest.param({"command": 1}, "command that is not a string", id="command"),
        pytest.param({"command": "x", "args": "y"}, "not a list of strings", id="args"),
        pytest.param({"command": "x", "env": {"A": 1}}, "not names with strings", id="env"),
        pytest.param({"command": "x", "cwd": 1}, "cwd that is not a string", id="cwd"),
        pytest.param({"command": "x", "disabled": True}, "switched off", id="off"),
        pytest.param({"command": "${NONE}"}, "environment variable NONE, which is not set", id="variable"),
        pytest.param({"type": "ws", "url": "ws://x"}, "stdio, http and sse", id="type"),
        pytest.param({"url": "file:///etc/passwd"}, "a URL begins with http:// or https://", id="url"),
        pytest.param({"url": "http://x/\nHost: y"}, "no blanks", id="url-with-line"),
        pytest.param({"url": "http://x", "headers": {"A": "b\r\nc: d"}}, "cannot be sent", id="header"),
        pytest.param({"url": "http://x", "headers": {"A: b\n": "c"}}, "cannot be sent", id="header-name"),
    ],
)
def test_a_definition_that_cannot_be_used_is_a_failure_in_words(desk: Desk, definition: Any, words: str) -> None:
    write(desk, "~/.claude.json", {"mcpServers": {"s": definition}})
    with pytest.raises(HookFailed) as failed:
        found(desk)
    assert words in str(failed.value)
    assert "b\r\nc" not in str(failed.value)


def test_in_fairlead_toml_only_allowed_variables_are_filled_in(desk: Desk) -> None:
    desk.environ |= {"TOKEN": "s3cret-token", "OTHER": "other-secret"}
    desk.serve("s", url="https://x.example/", headers={"A": "$TOKEN ${TOKEN} $OTHER"}, allowed_env=["TOKEN"])
    assert found(desk).headers == {"A": "s3cret-token s3cret-token $OTHER"}
    desk.serve("t", url="https://x.example/", headers={"A": "${OTHER}"}, allowed_env=["TOKEN"])
    with pytest.raises(HookFailed, match="OTHER, which is not in its allowed_env"):
        found(desk, "t")


def test_secrets_are_in_no_representation(desk: Desk) -> None:
    desk.environ["TOKEN"] = "s3cret-token"
    desk.serve("s", url="https://u:pass-word@x.example/p?key=${TOKEN}", allowed_env=["TOKEN"])
    server = found(desk)
    shown = server.without_secrets(f"for url {server.url} and s3cret-token and pass-word")
    for text in (repr(server), str(server), server.address, shown):
        assert "s3cret" not in text
        assert "pass-word" not in text
    assert "x.example/p" in shown


# --- what it is given ----------------------------------------------------------------------------------


def test_a_server_gets_no_more_of_our_environment_than_it_needs(desk: Desk) -> None:
    desk.environ |= {"ANTHROPIC_API_KEY": "s3cret-key", "LD_PRELOAD": "/x.so", "USER": "ada", "SHELL": "() { x; }"}
    desk.plain("environment", env={"MINE": "1"})
    given = json.loads(desk.fire().reason)
    given.pop("LC_CTYPE", None)  # set by Python itself
    assert given.pop("FAIRLEAD_HOOK_RUN")
    assert given == {"HOME": desk.environ["HOME"], "PATH": desk.environ["PATH"], "USER": "ada", "MINE": "1"}


@pytest.mark.parametrize(("cwd", "where"), [(None, "PROJECT"), ("~/here", "HOME/here"), ("sub", "PROJECT/sub")])
def test_a_server_starts_in_the_project_or_where_it_says(desk: Desk, cwd: str | None, where: str) -> None:
    (desk.place.home / "here").mkdir()
    (desk.place.project / "sub").mkdir()
    desk.serve("s", command="x", **({"cwd": cwd} if cwd else {}))
    expected = where.replace("PROJECT", str(desk.place.project)).replace("HOME", str(desk.place.home))
    assert found(desk).cwd == expected


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param({"command": "no-such-program-anywhere"}, "No such file", id="no-program"),
        pytest.param({"command": "/etc/passwd"}, "Permission denied", id="not-executable"),
        pytest.param({"command": sys.executable, "cwd": "/no/such/folder"}, "anything in /no/such/folder", id="cwd"),
        pytest.param({"command": "a\u0000b"}, "no program can be given", id="nul"),
    ],
)
def test_what_cannot_be_started_is_a_failure_that_names_the_file(desk: Desk, fields: Any, words: str) -> None:
    desk.serve(**fields)
    said = desk.fire()
    assert said.decision == "deny"
    assert "cannot be started" in said.reason
    assert words in said.reason
    assert str(desk.config) in said.reason


def test_nothing_is_started_for_a_call_that_nobody_waits_for(desk: Desk) -> None:
    notes = desk.place.root / "notes"
    desk.plain("deny", str(notes))
    ending = Ending()
    ending.set()
    with pytest.raises(HookFailed, match="nobody waits"):
        ending.start(found(desk, "judge"))
    assert not notes.exists()


def test_an_unknown_server_is_a_failure(desk: Desk) -> None:
    said = desk.fire(server="nobody")
    assert said.decision == "deny"
    assert "[mcp_servers.nobody]" in said.reason


def test_what_a_server_says_of_its_secrets_is_not_passed_on(desk: Desk) -> None:
    desk.plain("crash", env={"TOKEN": "s3cret-token"})
    said = desk.fire()
    assert "it hurts, says the server with its token ***" in said.reason
    assert "s3cret" not in said.reason + repr(said)


WITHOUT_SDK = """
import sys
sys.modules["mcp"] = None
from fairlead import Hooks, PreToolUse
from fairlead.handlers.mcp_tool import McpTool
from fairlead.hooks import Hook, Origin, Setting
handler = McpTool(server="judge", tool="look")
hook = Hook(name="h", events=("*",), handler=handler, origin=Origin(dialect="fairlead", layer="user"))
setting = Setting(project=sys.argv[1], home=sys.argv[2], environ={})
print(Hooks([hook], setting=setting).fire_sync(PreToolUse(session_id="s", tool_name="Bash", tool_input={})).reason)
"""


def test_without_the_sdk_the_error_says_what_to_install(desk: Desk) -> None:
    notes = desk.place.root / "notes"
    desk.serve(command=sys.executable, args=[PLAIN, "deny", str(notes)])
    words = [sys.executable, "-c", WITHOUT_SDK, str(desk.place.project), str(desk.place.home)]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert 'pip install "fairlead[mcp]"' in ran.stdout
    assert ran.stderr == ""
    assert not notes.exists()


def test_importing_the_handler_imports_nothing_heavy() -> None:
    heavy = "{'mcp', 'mcp_types', 'asyncio', 'pydantic', 'anyio', 'json', 'typing', 'logging'}"
    script = f"import fairlead.handlers.mcp_tool, sys; print(sorted({heavy} & set(sys.modules)))"
    words = [sys.executable, "-SE", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {script}"]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout == "[]\n", ran.stderr
