"""Tool calls other than shell commands: edits, patches, reads, fetches, MCP."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.finding import Finding
from fairlead.guard.paths import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fairlead.guard.guard import Guard
    from fairlead.guard.shell.run import Shell

    Input = Mapping[str, object]
    ToolReader = Callable[[Shell, str, Input], None]

_PATCH_LINE = lazy(r"^\*\*\* (Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)
_DIFF_LINE = lazy(r"^(?:---|\+\+\+) (?:[ab]/)?([^\t\n]+)|^(?:rename|copy) to (.+)$|^deleted file mode", re.MULTILINE)
_MCP_COMMAND = ("command", "cmd", "script", "shell_command", "commandLine", "bash")
_MCP_PATH = ("path", "file_path", "filepath", "filename", "file", "destination", "target", "uri")
_MCP_READING = lazy(r"read|get|list|search|view|fetch|query|find|stat|show|describe|head|tail|cat|open|load")
_MCP_WRITING = lazy(r"write|edit|create|update|append|save|put|set|insert|replace|modify|move|rename|copy|upload|patch")
_MCP_REMOVING = lazy(r"delete|remove|unlink|rmdir|erase|trash|purge|destroy|drop|truncate")


def judge_tool(guard: Guard, name: str, tool_input: Input, cwd: str) -> Finding:
    """Return the finding for one tool call; unknown tools have none."""
    if name == "Bash":
        return guard.command(_text(tool_input, "command"), cwd)
    shell = guard.shell(cwd)
    reader = _TOOLS.get(name) or (_mcp if name.startswith("mcp__") else None)
    if reader is None:
        return Finding()
    reader(shell, name, tool_input)
    return guard.judged(shell.record)


def _text(tool_input: Input, key: str) -> str:
    value = tool_input.get(key, "")
    return value if isinstance(value, str) else str(value)


def _path_effect(shell: Shell, kind: str, name: str, path: str) -> None:
    if path:
        if path.startswith("~"):
            path = shell.home + path[1:]
        shell.effect(kind, f"{name} {path}", path=join(shell.cwd, path), note="tool")


def _powershell(shell: Shell, _name: str, tool_input: Input) -> None:
    from fairlead.guard import engine, powershell

    assert engine.LOADED  # noqa: S101  the import fills the tables of programs
    powershell.run(shell, _text(tool_input, "command"))


def _write(shell: Shell, name: str, tool_input: Input) -> None:
    path = _text(tool_input, "file_path") or _text(tool_input, "notebook_path")
    _path_effect(shell, "write", name, path)
    _content(shell, name, path, tool_input)


def _content(shell: Shell, name: str, path: str, tool_input: Input) -> None:
    """Text that goes into a file: no keys in clear text."""
    texts = [_text(tool_input, key) for key in ("content", "new_string", "new_source")]
    edits = tool_input.get("edits")
    if isinstance(edits, list):
        texts += [str(edit.get("new_string", "")) for edit in edits if isinstance(edit, dict)]
    _secret_text(shell, name, path, "\n".join(texts))


def _secret_text(shell: Shell, name: str, path: str, text: str) -> None:
    from fairlead.guard.packs.secret_files import is_secret
    from fairlead.guard.packs.secrets import literal_secret

    found = literal_secret(text)
    if found and not is_secret(join(shell.cwd, path)):
        shell.effect(
            "secret", f"{name} {path}", path=join(shell.cwd, path), rule="secrets.literal", decision="ask",
            reason=f"`{name} {path}` writes a credential ({found}) into a file in clear text",
            suggestion="keep it in a secret store or an ignored file",
        )  # fmt: skip


def _read(shell: Shell, name: str, tool_input: Input) -> None:
    _path_effect(shell, "read", name, _text(tool_input, "file_path") or _text(tool_input, "path"))


def _search(shell: Shell, name: str, tool_input: Input) -> None:
    """Searching a directory shows names; searching one credential file shows its content."""
    if name == "Grep":
        _path_effect(shell, "read", name, _text(tool_input, "path"))


def _fetch(shell: Shell, name: str, tool_input: Input) -> None:
    from fairlead.guard.programs.network import host_of

    url = _text(tool_input, "url")
    if url.startswith("file:"):
        _path_effect(shell, "read", name, url)
    elif url:
        shell.effect("download", f"{name} {url}", host=host_of(url))


def _patch(shell: Shell, name: str, tool_input: Input) -> None:
    text = _text(tool_input, "command") or _text(tool_input, "input") or _text(tool_input, "patch")
    paths: list[str] = []
    for action, path, moved in _PATCH_LINE.findall(text):
        _path_effect(shell, "delete" if action == "Delete" else "write", name, path or moved)
        paths.append(path or moved)
    if not paths:
        paths = [match[1] or match[2] for match in _DIFF_LINE.finditer(text) if match[1] or match[2]]
        for path in paths:
            if path != "/dev/null":
                _path_effect(shell, "write", name, path.strip())
    if not paths and text.strip():
        raise ValueError("no file is named in the patch")
    added = "\n".join(line[1:] for line in text.splitlines() if line.startswith("+"))
    _secret_text(shell, name, paths[0] if paths else "", added)


def _mcp(shell: Shell, name: str, tool_input: Input) -> None:
    """An MCP call is read by the names of the tool and of its inputs."""
    verb = name.rpartition("__")[2].lower()
    for key in _MCP_COMMAND:
        value = tool_input.get(key)
        if isinstance(value, str) and value:
            shell.run_text(value)
    for key in ("sql", "query", "statement"):
        value = tool_input.get(key)
        if isinstance(value, str) and value:
            _statement(shell, name, value)
    kind = (
        "delete"
        if _MCP_REMOVING.search(verb)
        else "write"
        if _MCP_WRITING.search(verb)
        else "read"
        if _MCP_READING.search(verb)
        else ""
    )
    for key in _MCP_PATH:
        value = tool_input.get(key)
        if isinstance(value, str) and value and kind and not re.match(r"https?:", value):
            _path_effect(shell, kind, name, value)
    url = tool_input.get("url")
    if isinstance(url, str) and url:
        _fetch(shell, name, tool_input)


def _statement(shell: Shell, name: str, text: str) -> None:
    from fairlead.guard.sql import sql

    found = sql(text)
    if found:
        rule = "databases.drop" if found[0] == "deny" else "databases.change"
        shell.effect("drop", name, rule=rule, decision=found[0], reason=f"`{name}` {found[1]}: {text[:80]}")


_TOOLS: dict[str, ToolReader] = {
    "PowerShell": _powershell,
    "Write": _write,
    "Edit": _write,
    "MultiEdit": _write,
    "NotebookEdit": _write,
    "Read": _read,
    "NotebookRead": _read,
    "Glob": _search,
    "Grep": _search,
    "WebFetch": _fetch,
    "apply_patch": _patch,
}
