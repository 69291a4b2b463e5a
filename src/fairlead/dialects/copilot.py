"""GitHub Copilot CLI: two forms, chosen by how the event's name is written in the settings.

`preToolUse` gets camelCase; `PreToolUse` gets Claude Code's snake_case, and may answer as its hooks do. An answer at
the top level is understood in both, and for most events it is the only one that is.
"""

from __future__ import annotations

import os

from fairlead import documents, verdicts, wire
from fairlead.dialects import Reading, Reply, Source, _claude_reply, _elsewhere
from fairlead.dialects._agents import answer, read_named, renamed
from fairlead.dialects._calls import KeepingMcpNames
from fairlead.dialects._claude_reply import reason
from fairlead.dialects._common import (
    Reader,
    all_run,
    cut_answer,
    file_name,
    given,
    json_output,
    merge_all,
    moved,
    never_again,
    owners,
    replace_input,
    text_in,
    text_of,
    warn_of_reach,
)
from fairlead.dialects._flat_files import entries_of
from fairlead.dialects._payloads import arguments, failed, parsed, with_shell_result
from fairlead.errors import InputError
from fairlead.events import Event
from fairlead.handlers.command import Command
from fairlead.handlers.missing import Missing
from fairlead.hooks import Hook, HookFailed, Origin
from fairlead.matchers import name_list, whole_name
from fairlead.tools import output_text, tool
from fairlead.verdicts import NONE, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from fairlead.dialects import HookInput, Places
    from fairlead.dialects._common import Path
    from fairlead.hooks import Handler, Setting
    from fairlead.verdicts import Decision
    from fairlead.work import Result

NAME = "copilot"
_FILE = {"path": "file_path"}
_CREATE = {**_FILE, "file_text": "content"}
_EDIT = {**_FILE, "old_str": "old_string", "new_str": "new_string"}
TOOLS = KeepingMcpNames(
    *(tool(name, "Bash") for name in ("bash", "powershell", "local_shell")),
    tool("write_bash", "Bash", input="command"),
    tool("write_powershell", "Bash", input="command"),
    tool("create", "Write", **_CREATE),
    tool("edit", "Edit", **_EDIT),
    tool("view", "Read", **_FILE),
    tool("str_replace_editor", "Read", {"command": "view"}, **_FILE),
    tool("str_replace_editor", "Write", {"command": "create"}, **_CREATE),
    tool("str_replace_editor", "Edit", {"command": "str_replace"}, **_EDIT),
    tool("str_replace_editor", "Edit", {"command": "insert"}, **_EDIT),
    tool("str_replace_editor", "Edit", **_EDIT),
    tool("apply_patch", "apply_patch", input="command", patch="command"),
    *(tool(name, "Grep") for name in ("grep", "rg")),
    tool("glob", "Glob"),
    tool("web_fetch", "WebFetch"),
    tool("web_search", "WebSearch"),
    tool("ask_user", "AskUserQuestion"),
    tool("update_todo", "TodoWrite"),
    tool("task", "Agent", agent_type="subagent_type"),
    # Claude Code's names, with which the other form calls the same tools.
    tool("Write", "Write", **_CREATE),
    tool("Edit", "Edit", **_EDIT),
    tool("Read", "Read", **_FILE),
    mcp="{server}-{tool}",
)
_CAMEL = {
    "sessionStart": "SessionStart",
    "sessionEnd": "SessionEnd",
    "userPromptSubmitted": "UserPromptSubmit",
    "preToolUse": "PreToolUse",
    "permissionRequest": "PermissionRequest",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "agentStop": "Stop",
    "subagentStart": "SubagentStart",
    "subagentStop": "SubagentStop",
    "errorOccurred": "StopFailure",
    "preCompact": "PreCompact",
    "notification": "Notification",
    "preMcpToolCall": "PreToolUse",
    # Nobody else has it.
    "userPromptTransformed": "userPromptTransformed",
}
_PASCAL = {name: name for name in _CAMEL.values() if name not in ("StopFailure", "userPromptTransformed")}
EVENTS: Mapping[str, str] = {**_CAMEL, **_PASCAL, "ErrorOccurred": "StopFailure"}

again = never_again
ends_row = all_run
merge = merge_all
log = None
rewritten = replace_input


# --- the hook half -----------------------------------------------------------------------------------

_KEYS = (
    "type", "bash", "powershell", "command", "exec", "args", "cwd", "env", "timeoutSec", "timeout", "matcher", "url",
    "headers", "allowedEnvVars", "prompt", "windows", "linux", "osx", "version",
)  # fmt: skip
_TIMEOUT = 30.0
_OF_VS_CODE = ("windows", "linux", "osx")


def sources(places: Places) -> list[Source]:
    home = moved(places, "COPILOT_HOME") or os.path.join(places.home, ".copilot")
    github = os.path.join(places.project, ".github")
    return [
        *_folder(os.path.join(places.managed, "github-copilot", "policy.d"), "managed"),
        *_folder(os.path.join(home, "hooks"), "user"),
        Source(path=os.path.join(home, "settings.json"), layer="user", owner="user", format="settings"),
        *_folder(os.path.join(github, "hooks"), "project"),
        *(
            Source(path=os.path.join(github, "copilot", name), layer=layer, owner="project", format="settings")
            for name, layer in (("settings.json", "project"), ("settings.local.json", "local"))
        ),
    ]


def _folder(folder: str, layer: str) -> list[Source]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except OSError:
        return []
    return [Source(path=os.path.join(folder, name), layer=layer, owner=layer) for name in names]


def read(source: Source, text: str, places: Places) -> Reading:
    reader = Reader(source, text)
    data = documents.parse_json(text)
    if not reader.expect(data, dict, (), "the file must be an object"):
        return reader.reading()
    for name, entry, path, matcher_path in entries_of(reader, data.get("hooks") or {}, EVENTS, groups=True):
        _read_entry(reader, name, entry, path, matcher_path, places)
    off = data.get("disableAllHooks", False)
    reader.expect(off, bool, ("disableAllHooks",), "disableAllHooks must be true or false")
    if off is True and source.format == "settings":
        warn_of_reach(reader, ("disableAllHooks",))
    return reader.reading(**{NAME: {"off": off is True}})


def _read_entry(
    reader: Reader, name: str, entry: dict[str, Any], path: Path, matcher_path: Path, places: Places
) -> None:
    reader.slips(entry, _KEYS, path)
    handler = _handler(reader, entry, path, places)
    if handler is None:
        return
    camel = name in _CAMEL
    pattern = reader.matcher_text(entry.get("matcher"), matcher_path)
    limit = "timeoutSec" if "timeoutSec" in entry else "timeout"
    reader.hooks.append(
        Hook(
            name=file_name(handler),
            events=(EVENTS[name],),
            handler=handler,
            origin=Origin(dialect=NAME, layer=reader.source.layer, file=reader.source.path, path=path),
            matcher=whole_name(pattern) if camel else name_list(pattern),
            matcher_path=matcher_path,
            timeout=reader.timeout(entry, path, limit, _TIMEOUT, 1),
            on_error="allow" if handler.kind in ("missing", "http") else "",  # as Copilot does
            condition=_only_mcp if name == "preMcpToolCall" else None,
            options={"event": name, "folder": os.path.dirname(reader.source.path)},
        )
    )


def _only_mcp(event: Event) -> str:
    return "" if str(getattr(event, "tool_name", "")).startswith("mcp__") else "is for MCP tools"


def _handler(reader: Reader, entry: dict[str, Any], path: Path, places: Places) -> Handler | None:
    kind = entry.get("type", "command")
    if kind == "http":
        return _elsewhere.handler(reader, kind, entry, path)
    if kind == "prompt":  # words for Copilot itself, which nobody answers
        return Missing(wanted=kind, text=str(entry.get("prompt") or ""))
    if kind != "command":
        reader.problem((*path, "type"), f"unknown type {kind!r}", "one of: command, http, prompt")
        return None
    key = next((key for key in ("exec", "bash", "command") if entry.get(key)), "")
    if not key:
        _no_command(reader, entry, path)
        return None
    text = reader.text_field(entry, key, path)
    return _command(reader, key, text, entry, path, places) if text else None


def _no_command(reader: Reader, entry: dict[str, Any], path: Path) -> None:
    if "powershell" in entry:
        reader.warn(path, "a hook for PowerShell alone: it is not run here", "give it a `bash` or `command`, too")
    elif not any(key in entry for key in _OF_VS_CODE):  # else it is VS Code's
        reader.problem(path, "command is missing", "one of: bash, command, exec")


def _command(reader: Reader, key: str, text: str, entry: dict[str, Any], path: Path, places: Places) -> Command | None:
    cwd = entry.get("cwd")
    if cwd is not None and not reader.expect(cwd, str, (*path, "cwd"), "cwd must be a string"):
        cwd = None
    folder = os.path.join(places.project, cwd) if cwd else ""
    env = _env(reader, entry.get("env"), (*path, "env"), places.environ)
    if key != "exec":
        return Command(command=text, shell="bash", cwd=folder, env=env)  # noqa: S604  # it runs hooks with Bash
    args = entry.get("args", [])
    if not reader.expect(args, list, (*path, "args"), "args must be a list"):
        return None
    return Command(command=text, args=tuple(map(str, args)), cwd=folder, env=env)


def _env(reader: Reader, value: Any, path: Path, environ: Mapping[str, str]) -> dict[str, str]:
    if value is None or not reader.expect(value, dict, path, "env must be an object"):
        return {}
    return {name: _expanded(str(text), environ) for name, text in value.items()}


def _expanded(text: str, environ: Mapping[str, str]) -> str:
    if "$" not in text:
        return text
    import re

    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda found: environ.get(found[1] or found[2], ""), text)


def arrange(hooks: Sequence[Hook], readings: Sequence[tuple[Source, Reading]]) -> list[Hook]:
    """All levels add. A file's switch is about its own hooks; the repository's settings switch off all of its own."""
    off = {source.path for source, reading in readings if reading.settings.get(NAME, {}).get("off")}
    whole = any(s.path in off and s.format == "settings" and s.owner == "project" for s, _ in readings)
    whose = owners(readings)
    return [
        hook.but(enabled=False)
        if hook.origin.file in off or (whole and whose.get(hook.origin.file) == "project")
        else hook
        for hook in hooks
    ]


def batches(_event: Event, hooks: Sequence[Hook]) -> list[list[Hook]]:
    return [[hook] for hook in hooks]


def hook_input(hook: Hook, event: Event, setting: Setting) -> HookInput:
    from fairlead.dialects._copilot_input import hook_input as written

    return written(str(hook.options.get("event", "")) or event.name, event, setting, hook.options.get("folder", ""))


def read_verdict(hook: Hook, event: Event, result: Result) -> Verdict:
    from fairlead.dialects import _copilot_output

    if event.name in ("PreToolUse", "PermissionRequest") and (cut := cut_answer(result)) is not None:
        return cut
    result = result.but(stdout=_copilot_output.without_progress(result.stdout))
    output = json_output(result)
    said = NONE if output is None else read_value(hook, event, output)
    if result.exit_code:
        return _copilot_output.of_exit(event, result, said, _is_camel(hook))
    if output is None and text_of(result.stdout).startswith("{"):
        raise HookFailed("its output begins like JSON and cannot be read")
    return said


def read_value(hook: Hook, event: Event, value: object) -> Verdict:
    from fairlead.dialects import _copilot_output

    if not isinstance(value, dict):
        return NONE if value is None else verdicts.context(str(value))
    return _copilot_output.read_output(event, value, _is_camel(hook), TOOLS)


def _is_camel(hook: Hook) -> bool:
    return hook.options.get("event", "PreToolUse") in _CAMEL


def on_failure(event: Event) -> str:
    return "deny" if event.name == "PreToolUse" else "allow"


# --- the agent half ----------------------------------------------------------------------------------

_CONTEXT = frozenset({"context"})
CAN: Mapping[str, frozenset[str]] = {
    # `ask` lets the call through where all tools are allowed.
    "PreToolUse": frozenset({"deny", "allow", "rewrite", "context"}),
    "PermissionRequest": frozenset({"deny", "allow"}),
    "PostToolUse": frozenset({"deny", "output", "context"}),
    "PostToolUseFailure": _CONTEXT,
    "UserPromptSubmit": frozenset({"deny", "context"}),
    "SessionStart": _CONTEXT,
    "SubagentStart": _CONTEXT,
    "Notification": _CONTEXT,
    "Stop": frozenset({"deny"}),
    "SubagentStop": frozenset({"deny"}),
    "*": frozenset(),
}
DEADLINES: Mapping[str, float] = {"*": 30.0}
CAPS_STOPS = True
INPUT_VARIABLE = ""
BARE = "bare_text"
"""In an event's `extra`: that the tool's input came as text, and goes back so."""

_NAMES = {
    "sessionId": "session_id", "transcriptPath": "transcript_path", "toolName": "tool_name", "toolArgs": "tool_input",
    "toolInput": "tool_input", "toolResult": "tool_response", "tool_result": "tool_response",
    "stopReason": "stop_reason", "stopHookActive": "stop_hook_active", "initialPrompt": "initial_prompt",
    "customInstructions": "custom_instructions", "agentId": "agent_id", "agentType": "agent_type",
    "agentName": "agent_name", "agentDescription": "description", "response": "last_assistant_message",
    "errorContext": "error_context", "toolUseId": "tool_use_id", "toolCallId": "tool_use_id",
}  # fmt: skip


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    payload = wire.decode_object(raw)
    name = event_name or text_in(payload, "hook_event_name") or text_in(payload, "hookName")
    if not name:
        raise InputError("the event is not named", hint="name it with --event, such as --event preToolUse")
    fields = renamed(payload, _NAMES)
    if "tool_input" in fields:
        fields["tool_input"] = arguments(fields["tool_input"])
    if _is_bare_text(payload.get("toolArgs", payload.get("tool_input"))):
        fields[BARE] = True
    name, fields = _outcome(name, fields)
    event = read_named(fields, name, events=EVENTS, vocabulary=TOOLS, tool=_mcp_name(fields))
    return with_shell_result(event, "textResultForLlm" if "toolResult" in payload else "text_result_for_llm")


def _is_bare_text(value: object) -> bool:
    """A patch comes as it is, and not as an object."""
    return isinstance(value, str) and isinstance(parsed(value), str)


def _outcome(name: str, fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Errors as text, and a failed call as what it is."""
    error = fields.get("error")
    if isinstance(error, dict):
        fields |= {"error": text_in(error, "message") or output_text(error), "error_details": error}
    response = fields.get("tool_response")
    if EVENTS.get(name) != "PostToolUse" or not isinstance(response, dict):
        return name, fields
    if response.get("resultType", response.get("result_type")) != "failure":
        return name, fields
    return "PostToolUseFailure", failed(fields, response.get("textResultForLlm", response.get("text_result_for_llm")))


def _mcp_name(fields: Mapping[str, Any]) -> str:
    server = text_in(fields, "serverName") or text_in(fields, "mcpServerName") or text_in(fields, "mcp_server_name")
    own = text_in(fields, "tool_name")
    return f"mcp__{server}__{own.removeprefix(f'{server}-')}" if server and own else ""


def write_reply(event: Event, decision: Decision) -> Reply:
    """Always with exit 0: what else it is told with another exit code, it does not read."""
    return answer(write_result(event, decision))


def write_result(event: Event, decision: Decision) -> dict[str, Any]:
    decision = _claude_reply.ended_before(event, decision)
    context = given({"additionalContext": decision.for_model})
    if event.name == "PreToolUse":
        return _tool_permission(event, decision) | context
    if event.name == "PermissionRequest":
        return _behavior(decision)
    refused = {"decision": "block", "reason": reason(decision)} if decision.denies else {}
    return refused | context | _new_result(event, decision)


def _tool_permission(event: Event, decision: Decision) -> dict[str, Any]:
    found = _claude_reply.tool_permission(decision)
    update = found.pop("updatedInput", None)
    if update is not None:
        found["modifiedArgs"] = update.get("input") if BARE in event.extra else update
    return found


def _behavior(decision: Decision) -> dict[str, Any]:
    if decision.denies:
        return {"behavior": "deny", "message": reason(decision)}
    return {"behavior": "allow"} if decision.decision == "allow" else {}


def _new_result(event: Event, decision: Decision) -> dict[str, Any]:
    if decision.updated_output is None or event.name != "PostToolUse":
        return {}
    return {"modifiedResult": {"resultType": "success", "textResultForLlm": output_text(decision.updated_output)}}


def write_failure(event_name: str, message: str) -> Reply:
    """A refusal in every form. Where the event is not known, exit 2 makes sure of it, at the price of the reason."""
    said = f"Fairlead: {message}"
    refused = {"permissionDecision": "deny", "permissionDecisionReason": said}
    whole = {
        **refused,
        "behavior": "deny",
        "message": said,
        "hookSpecificOutput": {"hookEventName": "PreToolUse", **refused},
    }
    known = EVENTS.get(event_name) == "PreToolUse"
    return Reply(stdout=wire.encode(whole) + b"\n", stderr=f"{said}\n", exit_code=0 if known else 2)
