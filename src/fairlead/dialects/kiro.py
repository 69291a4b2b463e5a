"""Kiro, and Amazon Q CLI before it: exit 2 with stderr refuses, and all of stdout becomes context."""

from __future__ import annotations

from fairlead import tools, wire
from fairlead.dialects import Reply
from fairlead.dialects._agents import answer, read_named, refused, renamed
from fairlead.dialects._calls import in_folder, quoted, read_as, read_parts, removal
from fairlead.dialects._claude_reply import reason
from fairlead.dialects._common import exit_2, text_in
from fairlead.dialects._payloads import listed, text
from fairlead.tools import PATCH, Tool, Vocabulary, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from fairlead.events import Event
    from fairlead.verdicts import Decision

NAME = "kiro"
_PATH = {"path": "file_path"}
_OLD = {"old_str": "old_string", "oldStr": "old_string"}
_NEW = {"new_str": "new_string", "newStr": "new_string", "content": "new_string", "text": "new_string"}


def _writers(own: str) -> Iterator[Tool]:
    """The tool that writes and edits, in the spellings of its versions. A command that nobody knows writes, too."""
    whole = {"file_text": "content", "content": "content", "text": "content", "new_str": "content", "newStr": "content"}
    yield tool(own, "Write", {"command": "create"}, **_PATH, **whole)
    for command in ("str_replace", "strReplace"):
        yield tool(own, "Edit", {"command": command}, **_PATH, **_OLD, **_NEW)
    for command in ("insert", "append"):
        yield tool(own, "Edit", {"command": command}, **_PATH, **_NEW)
    yield tool(own, "Write", **_PATH, **whole)


TOOLS = Vocabulary(
    tool("execute_bash", "Bash", summary="description"),
    tool("shell", "Bash"),
    tool("executeBash", "Bash"),
    tool("execute_cmd", "Bash", summary="description"),
    *_writers("fs_write"),
    *_writers("write"),
    tool("fsWrite", "Write", text="content", **_PATH),
    tool("fsAppend", "Edit", **_NEW, **_PATH),
    tool("strReplace", "Edit", **_OLD, **_NEW, **_PATH),
    tool("fs_read", "Read", **_PATH),
    tool("read", "Read", **_PATH),
    tool("readFile", "Read", **_PATH),
    tool("readMultipleFiles", "Read", **_PATH),
    tool("grep", "Grep"),
    tool("grepSearch", "Grep", query="pattern"),
    tool("glob", "Glob"),
    tool("web_fetch", "WebFetch"),
    tool("web_search", "WebSearch"),
    tool("subagent", "Agent"),
    tool("use_subagent", "Agent"),
    tool("todo_list", "TodoWrite"),
    mcp="@{server}/{tool}",
)
_NAMES = (
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd", "PreTaskExec",
    "PostTaskExec", "PostFileCreate", "PostFileSave", "PostFileDelete", "Manual",
)  # fmt: skip
EVENTS: Mapping[str, str] = {**{name: name for name in _NAMES}, "AgentSpawn": "SessionStart"}


# --- the agent half ----------------------------------------------------------------------------------

_CONTEXT = frozenset({"context"})
CAN: Mapping[str, frozenset[str]] = {
    "PreToolUse": frozenset({"deny"}) | _CONTEXT,
    "UserPromptSubmit": frozenset({"deny"}) | _CONTEXT,
    "PreTaskExec": frozenset({"deny"}) | _CONTEXT,
    "PostToolUse": _CONTEXT,
    "SessionStart": _CONTEXT,
    "Stop": frozenset({"deny"}),
    "*": frozenset(),
}
DEADLINES: Mapping[str, float] = {"*": 30.0}
CAPS_STOPS = False
INPUT_VARIABLE = ""


def read_event(raw: bytes, event_name: str, environ: Mapping[str, str]) -> Event:
    fields = renamed(wire.decode_object(raw), {"assistant_response": "last_assistant_message"})
    name = _name(event_name or text(fields.get("hook_event_name")), fields, environ)
    if name == "PostToolBatch":
        fields["tool_calls"] = listed(fields.pop("hook_events"))
    if name == "UserPromptSubmit":
        fields.setdefault("prompt", environ.get("USER_PROMPT", ""))  # its IDE gives the prompt nowhere else
    if "tool_name" in fields:
        fields = in_folder(_call(fields), "working_dir")
    if name == "PostToolUse":
        name, fields = _after(fields)
    return read_named(fields, name, events=EVENTS)


def _name(name: str, fields: dict[str, Any], environ: Mapping[str, str]) -> str:
    if not name and not fields and environ.get("USER_PROMPT"):
        return "UserPromptSubmit"
    name = name[:1].upper() + name[1:]  # in its files with a capital, in its payloads without
    name = EVENTS.get(name, name)
    return "PostToolBatch" if name == "PostToolUse" and "hook_events" in fields else name


def _call(fields: dict[str, Any]) -> dict[str, Any]:
    own, tool_input = fields.get("tool_name"), fields.get("tool_input")
    if not isinstance(own, str) or not isinstance(tool_input, dict):
        return tools.read_call(TOOLS, fields)
    if own == "use_aws":
        return read_as(TOOLS, fields, "Bash", {"command": _aws(tool_input)})
    if own in ("deleteFile", "delete_file"):
        named = [path for path in (tool_input.get("path"), tool_input.get("targetFile")) if path]
        return read_as(TOOLS, fields, PATCH, removal(named))
    paths = _paths(tool_input) if own in ("fs_read", "read", "readMultipleFiles") else []
    if paths and paths != [tool_input.get("path")]:
        return read_parts(TOOLS, fields, [{"path": path} for path in paths])
    return tools.read_call(TOOLS, fields, _mcp_name(own))


def _paths(tool_input: dict[str, Any]) -> list[str]:
    """What a reading with several operations reads."""
    found: list[Any] = []
    for operation in (tool_input, *listed(tool_input.get("operations"))):
        if isinstance(operation, dict):
            found += [operation.get("path"), *listed(operation.get("image_paths")), *listed(operation.get("paths"))]
    return [path for path in found if isinstance(path, str) and path]


def _aws(tool_input: dict[str, Any]) -> str:
    """The command line that its tool for AWS puts together."""
    words = ["aws", text(tool_input.get("service_name")), text(tool_input.get("operation_name"))]
    parameters = tool_input.get("parameters")
    for name, value in parameters.items() if isinstance(parameters, dict) else ():
        words += [f"--{name.removeprefix('--')}", value if isinstance(value, str) else wire.encode_text(value)]
    words += ["--region", text(tool_input.get("region"))] if tool_input.get("region") else []
    return " ".join(quoted(word) for word in words if word)


def _mcp_name(own: str) -> str:
    server, _, name = own.removeprefix("@").partition("/")
    return f"mcp__{server}__{name}" if own.startswith("@") and server and name else ""


def _after(fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Its one event for a tool that went well and for one that did not."""
    response = fields.get("tool_response")
    if not isinstance(response, dict):
        return "PostToolUse", fields
    if response.get("success") is False:
        return "PostToolUseFailure", {**fields, "error": tools.output_text(response.get("result") or response)}
    results = listed(response.get("result"))
    if fields.get("tool_name") == "Bash" and results and isinstance(results[0], dict) and "stdout" in results[0]:
        output = tools.shell_output(text_in(results[0], "stdout"), text_in(results[0], "stderr"))
        fields = {**fields, "tool_response": output}
    return "PostToolUse", fields


def write_reply(event: Event, decision: Decision) -> Reply:
    if decision.denies:
        return answer(write_result(event, decision)) if event.name == "Stop" else refused(decision)
    return Reply(stdout=f"{decision.for_model}\n".encode("utf-8", "replace")) if decision.for_model else Reply()


def write_result(_event: Event, decision: Decision) -> dict[str, Any]:
    if decision.denies:
        return {"decision": "block", "reason": reason(decision)}
    return {"context": decision.for_model} if decision.for_model else {}


write_failure = exit_2
