"""Tool calls of any agent: commands, edits, patches, reads, fetches, MCP."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.finding import RANK, Finding
from fairlead.guard.paths import join
from fairlead.guard.tool_names import (
    CODE,
    FOLDERS,
    MANY_PATHS,
    PATCHES,
    PATHS,
    SECOND_PATHS,
    command_text,
    every,
    first,
    inner_inputs,
    kind_of_tool,
    listed,
    written_text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fairlead.guard.guard import Guard
    from fairlead.guard.shell.run import Shell

    Input = Mapping[str, object]
    ToolReader = Callable[["Reading", Input], None]

_READING = lazy(r"read|get|list|search|view|fetch|query|find|stat|show|describe|head|tail|cat|open|load")
_WRITING = lazy(r"write|edit|create|update|append|save|put|set|insert|replace|modify|move|rename|copy|upload|patch")
_REMOVING = lazy(r"delete|remove|unlink|rmdir|erase|trash|purge|destroy|drop|truncate")
# Elsewhere a query is a search, and its words are only words.
_DATABASES = lazy(
    r"sql|db|database|postgres|sqlite|query|execute|snowflake|clickhouse|supabase|duck|redshift|spanner|mongo",
    re.IGNORECASE,
)
_EDITOR_READS = frozenset({"view", "read", "open", "cat", "list"})


class Reading:
    """One tool call while it is read."""

    __slots__ = ("guard", "name", "shell")

    def __init__(self, guard: Guard, shell: Shell, name: str) -> None:
        self.guard = guard
        self.shell = shell
        self.name = name

    def path(self, kind: str, path: str) -> None:
        """Report an effect on a path."""
        if path:
            if path.startswith("~"):
                path = self.shell.home + path[1:]
            self.shell.effect(kind, f"{self.name} {path}", path=join(self.shell.cwd, path), note="tool")

    def text(self, path: str, text: str) -> None:
        """Report what a text does in the file that it is written to."""
        if text:
            self._secrets(path, text)
            self.guard.runs_later(self.shell, self.name, path, text)

    def _secrets(self, path: str, text: str) -> None:
        from fairlead.guard.packs.secret_files import is_secret
        from fairlead.guard.packs.secrets import literal_secret

        found = literal_secret(text)
        if found and not is_secret(join(self.shell.cwd, path)):
            self.shell.effect(
                "secret", f"{self.name} {path}", path=join(self.shell.cwd, path), rule="secrets.literal",
                decision="ask",
                reason=f"`{self.name} {path}` writes a credential ({found}) into a file in clear text",
                suggestion="keep it in a secret store or an ignored file",
            )  # fmt: skip


_STRICTNESS = {"allow": 0, "none": 1, "ask": 2, "deny": 3}
"""Of two ways to read one call: it is allowed only if both are."""


def judge_tool(guard: Guard, name: str, tool_input: Input, cwd: str) -> Finding:
    """Return the finding for one tool call; a tool that only thinks or lists has none.

    A folder in the input may be where the tool works, or a key that it ignores: judged in both.
    """
    kind = kind_of_tool(name)
    if kind == "mcp":
        return _handed_on(guard, name, tool_input, cwd)
    folder = first(tool_input, FOLDERS)
    places = dict.fromkeys((join(cwd, folder) if folder else cwd, cwd))
    found = [_judge_in(guard, name, kind, tool_input, place) for place in places]
    return max(found, key=lambda finding: _STRICTNESS[finding.decision])


def _judge_in(guard: Guard, name: str, kind: str, tool_input: Input, cwd: str) -> Finding:
    if kind == "shell":
        command = command_text(tool_input)
        if command and not _is_editor_call(tool_input):
            return guard.command(command, cwd)
        kind = "write" if command else "service"
    reader = _TOOLS.get(kind)
    if reader is None:
        return Finding()
    reading = Reading(guard, guard.shell(cwd), name)
    reader(reading, tool_input)
    return guard.judged(reading.shell.record)


def _is_editor_call(tool_input: Input) -> bool:
    return first(tool_input, ("command",)) in _EDITOR_COMMANDS and bool(first(tool_input, PATHS))


_EDITOR_COMMANDS = _EDITOR_READS | {"create", "str_replace", "insert", "undo_edit", "write", "append", "edit_file"}


def _handed_on(guard: Guard, name: str, tool_input: Input, cwd: str) -> Finding:
    """``use_mcp_tool``: the tool that is meant stands in the input."""
    inner = first(tool_input, ("tool_name", "toolName", "tool", "name"))
    server = first(tool_input, ("server_name", "serverName", "server"))
    arguments = tool_input.get("arguments", tool_input.get("args", tool_input.get("tool_input", {})))
    if isinstance(arguments, str):
        arguments = _decoded(arguments)
    given = arguments if isinstance(arguments, dict) else {}
    known = not server and kind_of_tool(inner) not in ("", "mcp")
    found = [judge_tool(guard, inner if known else f"mcp__{server or 'server'}__{inner or name}", given, cwd)]
    uri = first(tool_input, ("uri",))
    if uri:
        found.append(judge_tool(guard, "Read", {"path": uri}, cwd))
    return max(found, key=lambda finding: RANK[finding.decision])


def _decoded(text: str) -> object:
    import json

    try:
        return json.loads(text)
    except ValueError:
        return {"command": text}


def _powershell(reading: Reading, tool_input: Input) -> None:
    from fairlead.guard import engine, powershell

    assert engine.LOADED  # noqa: S101  the import fills the tables of programs
    powershell.run(reading.shell, command_text(tool_input))


def _code(reading: Reading, tool_input: Input) -> None:
    """A program as text: ``execute_code``, ``run_python``; a command if it is one."""
    from fairlead.guard.code import scan
    from fairlead.guard.shell.run import Call

    words = f"{reading.name} {first(tool_input, ('language', 'kernel', 'runtime'))}".lower()
    language = next((name for name in ("javascript", "ruby", "node", "bash", "shell") if name in words), "python")
    text = first(tool_input, CODE)
    if text and language not in ("bash", "shell"):
        scan(Call([language], reading.shell), text, "javascript" if language == "node" else language)
    commands = text if language in ("bash", "shell") else command_text({**tool_input, "script": ""})
    if commands:
        reading.shell.run_text(commands)


def _write(reading: Reading, tool_input: Input) -> None:
    outer = first(tool_input, PATHS)
    kind = "read" if first(tool_input, ("command", "mode", "operation")) in _EDITOR_READS else "write"
    for path in every(tool_input, PATHS):
        reading.path(kind, path)
    for inner in inner_inputs(tool_input):
        path = first(inner, PATHS) or outer
        for other in every(inner, PATHS) if inner is not tool_input else ():
            reading.path(kind, other)
        if kind == "write":
            from fairlead.guard.patches import replaced_text

            reading.text(path, replaced_text(written_text(inner)))


def _read(reading: Reading, tool_input: Input) -> None:
    for inner in inner_inputs(tool_input):
        for path in [*every(inner, PATHS), *listed(inner, MANY_PATHS)]:
            reading.path("read", path)


def _delete(reading: Reading, tool_input: Input) -> None:
    for path in [*every(tool_input, PATHS), *listed(tool_input, MANY_PATHS)]:
        reading.path("delete", path)


def _move(reading: Reading, tool_input: Input) -> None:
    reading.path("move", first(tool_input, ("source", "old_path", "oldPath", "from", "src", *PATHS)))
    reading.path("write", first(tool_input, SECOND_PATHS))


def _search(reading: Reading, tool_input: Input) -> None:
    """Searching a directory shows names; searching one credential file shows its content."""
    reading.path("read", first(tool_input, ("path", "SearchPath", "file_path")))


def _fetch(reading: Reading, tool_input: Input) -> None:
    from fairlead.guard.programs.network import host_of

    urls = listed(tool_input, ("url", "urls", "Url", "uri")) or re.findall(
        r"https?://\S+", first(tool_input, ("prompt",))
    )
    for url in urls:
        if url.startswith("file:"):
            reading.path("read", url)
        else:
            reading.shell.effect("download", f"{reading.name} {url}", host=host_of(url))


def _patch(reading: Reading, tool_input: Input) -> None:
    from fairlead.guard.patches import changes

    text = first(tool_input, PATCHES)
    found = changes(text)
    for change in found:
        reading.path(change.kind, change.path)
        reading.text(change.path, change.text)
    if not found and first(tool_input, PATHS):
        _write(reading, tool_input)
    elif not found and text.strip():
        raise ValueError("no file is named in the patch")


def _service(reading: Reading, tool_input: Input) -> None:
    """An MCP call is read by the names of the tool and of its inputs."""
    verb = re.split(r"__|[/:]", reading.name)[-1].lower()
    command = command_text(tool_input)
    if command and not _is_editor_call(tool_input):
        reading.shell.run_text(command)
    for statement in listed(tool_input, ("sql", "statement", *(("query",) if _DATABASES.search(reading.name) else ()))):
        _statement(reading, statement)
    kind = _kind_of_verb(verb)
    for path in listed(tool_input, (*PATHS, *MANY_PATHS, *SECOND_PATHS)) if kind else []:
        if not re.match(r"https?:", path):
            reading.path(kind, path)
    if kind == "write":
        reading.text(first(tool_input, PATHS), written_text(tool_input))
    if first(tool_input, ("url",)):
        _fetch(reading, tool_input)


def _kind_of_verb(verb: str) -> str:
    for kind, pattern in (("delete", _REMOVING), ("write", _WRITING), ("read", _READING)):
        if pattern.search(verb):
            return kind
    return ""


def _statement(reading: Reading, text: str) -> None:
    from fairlead.guard.sql import sql

    found = sql(text)
    if found:
        rule = "databases.drop" if found[0] == "deny" else "databases.change"
        reading.shell.effect(
            "drop", reading.name, rule=rule, decision=found[0], reason=f"`{reading.name}` {found[1]}: {text[:80]}"
        )


_TOOLS: dict[str, ToolReader] = {
    "powershell": _powershell,
    "code": _code,
    "write": _write,
    "read": _read,
    "delete": _delete,
    "move": _move,
    "search": _search,
    "fetch": _fetch,
    "patch": _patch,
    "service": _service,
}
