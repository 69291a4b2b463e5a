"""Tool calls in the words of every agent: the same act is the same finding."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.guard import Guard

GUARD = Guard(packs="all", project="/home/u/project", home="/home/u")
PATCH = (
    "*** Begin Patch\n*** Update File: src/a.py\n@@\n-a\n+b\n*** Delete File: old.py\n"
    "*** Update File: b.py\n*** Move to: {path}\n@@\n+c\n*** End Patch"
)

SHELLS: list[tuple[str, str]] = [
    ("Bash", "command"), ("run_shell_command", "command"), ("Shell", "command"), ("Execute", "command"),
    ("execute_bash", "command"), ("shell", "command"), ("execute_command", "command"), ("launch-process", "command"),
    ("developer__shell", "command"), ("bash", "command"), ("run_command", "CommandLine"), ("exec", "command"),
    ("terminal", "command"), ("pre_run_command", "command_line"), ("run_in_terminal", "command"),
    ("exec_command", "cmd"),
    ("run_terminal_cmd", "command"), ("local_shell", "command"), ("mcp__box__run_shell", "command"),
    ("mcp_box_exec", "cmd"), ("MCP:execute", "command"), ("@box/terminal", "command"), ("box__run", "script"),
    ("my_bash_tool", "cmd"), ("RemoteShell", "script"), ("sandbox.execute_command", "command"),
    ("write_stdin", "chars"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "key"), SHELLS, ids=[tool for tool, _ in SHELLS])
def test_a_command_is_read_under_every_name_of_the_shell(tool: str, key: str) -> None:
    assert GUARD.tool(tool, {key: "cd / && rm -rf *"}).rule == "filesystem.delete-root"
    assert GUARD.tool(tool, {key: "npm test"}).decision == "none"


@pytest.mark.parametrize(
    ("tool", "tool_input", "rule"),
    [
        ("shell", {"command": ["bash", "-lc", "rm -rf ~"]}, "filesystem.delete-home"),
        ("shell", {"command": ["rm", "-rf", "src dir"], "workdir": "/home/u/project"}, ""),
        ("exec_command", {"cmd": "rm -rf *", "workdir": "/"}, "filesystem.delete-root"),
        ("Execute", {"commands": ["ls", "rm -rf ~"]}, "filesystem.delete-home"),
        ("process", {"command": "rm", "args": ["-rf", "/"]}, "filesystem.delete-root"),
        ("powershell", {"command": "Remove-Item -Recurse -Force C:\\"}, "filesystem.delete-root"),
        ("executePwsh", {"command": "rm -rf ~"}, "filesystem.delete-home"),
        ("execute_code", {"code": "import shutil; shutil.rmtree('/home/u')"}, "filesystem.delete-home"),
        ("run_python", {"code": "print(1)"}, ""),
        ("code_interpreter_run", {"language": "bash", "code": "rm -rf ~"}, "filesystem.delete-home"),
        ("use_mcp_tool", {"server_name": "s", "tool_name": "run", "arguments": {"command": "rm -rf ~"}},
         "filesystem.delete-home"),
        ("use_mcp_tool", {"server_name": "s", "tool_name": "delete_file", "arguments": '{"path": "/etc/hosts"}'},
         "filesystem.delete-system"),
        ("use_mcp_tool", {"server_name": "s", "tool_name": "get_weather", "arguments": {"city": "Rome"}}, ""),
        ("access_mcp_resource", {"server_name": "s", "uri": "file:///home/u/.ssh/id_rsa"}, "secrets.read"),
        ("fs_write", {"command": "create", "path": "/etc/hosts", "file_text": "x"}, "filesystem.write-system"),
        ("fs_write", {"command": "create", "path": "src/a.py", "file_text": "rm -rf /"}, ""),
        ("str_replace_editor", {"command": "view", "path": "src/a.py"}, ""),
        ("str_replace_editor", {"command": "view", "path": "/home/u/.ssh/id_rsa"}, "secrets.read"),
        ("str_replace_editor", {"command": "str_replace", "path": "fairlead.toml", "new_str": ""}, "self.settings"),
        ("developer__text_editor", {"command": "write", "path": ".claude/settings.json", "file_text": "{}"},
         "self.settings"),
        ("write_file", {"file_path": "/etc/hosts", "content": "x"}, "filesystem.write-system"),
        ("create", {"path": "/etc/hosts", "file_text": "x"}, "filesystem.write-system"),
        ("Create", {"file_path": "src/k.py", "content": "ghp_" + "a" * 36}, "secrets.literal"),
        ("save-file", {"path": "/etc/hosts", "file_content": "x"}, "filesystem.write-system"),
        ("write_to_file", {"TargetFile": "/etc/hosts", "CodeContent": "x"}, "filesystem.write-system"),
        ("replace_file_content", {"TargetFile": ".codex/config.toml", "ReplacementChunks": []}, "self.settings"),
        ("replace_in_file", {"path": "src/k.py",
                             "diff": "<<<<<<< SEARCH\na\n=======\nk = 'ghp_" + "a" * 36 + "'\n>>>>>>> REPLACE"},
         "secrets.literal"),
        ("multi_replace_string_in_file", {"replacements": [{"filePath": "/etc/hosts", "newString": "x"}]},
         "filesystem.write-system"),
        ("view_file", {"AbsolutePath": "/home/u/.aws/credentials"}, "secrets.read"),
        ("read_file", {"path": "/home/u/.netrc"}, "secrets.read"),
        ("fs_read", {"operations": [{"mode": "Line", "path": "/home/u/.ssh/id_rsa"}]}, "secrets.read"),
        ("read_many_files", {"paths": ["README.md", ".env"]}, "secrets.read"),
        ("remove-files", {"file_paths": ["src/a.py", "/etc/hosts"]}, "filesystem.delete-system"),
        ("delete_file", {"target_file": "fairlead.toml"}, "self.settings"),
        ("delete_file", {"target_file": "src/a.py"}, ""),
        ("move_file", {"source": "src/a.py", "destination": "/etc/cron.d/x"}, "filesystem.write-system"),
        ("ApplyPatch", {"input": PATCH.format(path="/etc/cron.d/x")}, "filesystem.write-system"),
        ("apply_patch", {"input": PATCH.format(path="c.py")}, ""),
        ("patch", {"patch": "--- a/fairlead.toml\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"}, "self.settings"),
        ("patch", {"path": "/etc/hosts", "old_string": "a", "new_string": "b"}, "filesystem.write-system"),
        ("web_fetch", {"prompt": "read http://169.254.169.254/latest/meta-data"}, "network.metadata"),
        ("FetchUrl", {"url": "https://docs.python.org"}, ""),
        ("grep_search", {"SearchPath": "/home/u/.ssh/id_rsa", "Query": "BEGIN"}, "secrets.read"),
        ("mcp__pg__execute_sql", {"query": "DROP TABLE users"}, "databases.change"),
        ("execute_sql", {"query": "DROP TABLE users"}, "databases.change"),
        ("mcp__github__search_issues", {"q": "x", "query": "drop table fails"}, ""),
        ("mcp__browser__evaluate", {"script": "() => { window.scrollTo(0, 0); }"}, ""),
        ("run", {"command": "rm -rf ~"}, "filesystem.delete-home"),
        ("Monitor", {"command": "rm -rf ~", "description": "x"}, "filesystem.delete-home"),
        ("tool_call", {"name": "monitor", "arguments": {"command": "rm -rf ~"}}, "filesystem.delete-home"),
        ("tool_call", {"name": "tool_call", "arguments": {"name": "tool_call"}}, ""),
        ("exec_command", {"cmd": "bash", "tty": True}, "guard.open-session"),
        ("exec_command", {"cmd": "apply_patch <<'E'\n" + PATCH.format(path="fairlead.toml") + "\nE"}, "self.settings"),
        ("exec_command", {"cmd": "apply_patch <<'E'\n" + PATCH.format(path="c.py") + "\nE"}, ""),
        ("TaskOutput", {"task_id": "1"}, ""),
        ("Unknown", {"command": "rm -rf /"}, ""),
        ("ask_user", {"text": "may I run rm -rf / ?"}, ""),
    ],
)  # fmt: skip
def test_calls_of_many_agents(tool: str, tool_input: dict[str, object], rule: str) -> None:
    assert GUARD.tool(tool, tool_input).rule == rule


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
_KEYS = st.sampled_from(
    ["command", "cmd", "path", "file_path", "edits", "operations", "patch", "content", "args", "url"]
)


@given(
    tool=st.sampled_from(
        [tool for tool, _ in SHELLS] + ["Write", "apply_patch", "fs_read", "use_mcp_tool", "remove-files"]
    ),
    tool_input=st.dictionaries(_KEYS, _JSON, max_size=4),
)
def test_no_input_of_whatever_shape_ends_in_an_exception_or_an_allow(tool: str, tool_input: dict[str, object]) -> None:
    assert GUARD.tool(tool, tool_input).decision in ("none", "ask", "deny")


@pytest.mark.parametrize(
    ("name", "tool_input", "cwd"),
    [
        ("Bash", {"command": "rm -rf *", "cwd": "/tmp/x"}, "/etc"),
        ("Bash", {"command": "rm -rf *", "cwd": "/etc"}, "/home/dev/project"),
        ("Write", {"file_path": "a", "path": "/etc/passwd", "content": "x"}, "/home/dev/project"),
        ("Write", {"path": "a", "file_path": "/etc/passwd", "content": "x"}, "/home/dev/project"),
        ("Bash", {"command": "python3 -c 'import os; os.\u017fystem(\"rm -rf /\")'"}, "/home/dev/project"),
    ],
    ids=["a folder that may be ignored", "a folder that may count", "two paths", "two paths, turned", "a long s"],
)
def test_a_second_reading_does_not_hide_the_first(name: str, tool_input: dict[str, object], cwd: str) -> None:
    guard = Guard(packs="all", project="/home/dev/project", home="/home/dev")
    assert guard.tool(name, tool_input, cwd=cwd).decision == "deny"


def test_what_is_read_outside_the_project_is_not_allowed_by_itself() -> None:
    guard = Guard(packs="all", project="/home/dev/project", home="/home/dev", auto_allow=("read-only",))
    assert guard.tool("Bash", {"command": "ls", "cwd": "/etc"}).decision == "none"
    assert guard.command("ls", cwd="/etc").decision == "none"
    assert guard.command("ls").decision == "allow"
