"""Cline: one program for each event, in VS Code and, with another payload, in its SDK and CLI.

Its only refusal, `cancel`, ends the whole task.
"""

from __future__ import annotations

from fairlead import tools, wire
from fairlead.dialects._agents import answer, read_named, renamed
from fairlead.dialects._calls import qualified_mcp_name, quoted, read_as, read_parts
from fairlead.dialects._claude_reply import ended_before, reason
from fairlead.dialects._common import given
from fairlead.dialects._payloads import listed, parsed, text, with_folder
from fairlead.tools import Vocabulary, tool
from fairlead.verdicts import join_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.dialects import Reply
    from fairlead.events import Event
    from fairlead.verdicts import Decision

NAME = "cline"
_PATH = {"path": "file_path"}
TOOLS = Vocabulary(
    tool("execute_command", "Bash"),
    tool("run_commands", "Bash", command="command", cmd="command"),
    tool("write_to_file", "Write", **_PATH),
    tool("editor", "Write", {"old_text": None, "insert_line": None}, new_text="content", **_PATH),
    tool("editor", "Edit", old_text="old_string", new_text="new_string", **_PATH),
    tool("replace_in_file", "Edit", **_PATH),
    tool("apply_patch", "apply_patch", input="command"),
    tool("read_file", "Read", **_PATH),
    tool("read_files", "Read", **_PATH),
    tool("search_files", "Grep", regex="pattern", file_pattern="glob"),
    tool("search_codebase", "Grep", queries="pattern"),
    tool("list_files", "LS"),
    tool("web_fetch", "WebFetch"),
    tool("fetch_web_content", "WebFetch"),
    tool("web_search", "WebSearch"),
    tool("spawn_agent", "Agent", task="prompt"),
    mcp="{server}__{tool}",
)
EVENTS: Mapping[str, str] = {
    "TaskStart": "SessionStart", "agent_start": "SessionStart",
    "TaskResume": "SessionStart", "agent_resume": "SessionStart",
    "TaskCancel": "Interrupt", "agent_abort": "Interrupt",
    "TaskComplete": "Stop", "agent_end": "Stop",
    "TaskError": "StopFailure", "agent_error": "StopFailure",
    "SessionShutdown": "SessionEnd", "session_shutdown": "SessionEnd",
    "UserPromptSubmit": "UserPromptSubmit", "prompt_submit": "UserPromptSubmit",
    "PreToolUse": "PreToolUse", "tool_call": "PreToolUse",
    "PostToolUse": "PostToolUse", "tool_result": "PostToolUse",
    "PreCompact": "PreCompact", "pre_compact": "PreCompact",
    "Notification": "Notification", "notification": "Notification",
}  # fmt: skip
"""In VS Code, and in the SDK."""
_KEYS = {"taskId": "session_id", "hookName": "hook_event_name"}
_MCP = "use_mcp_tool"
_SDK = "tool_call"
"""A key of the SDK's payload, which alone can change a call's input."""


# --- the agent half ----------------------------------------------------------------------------------

_CANCELS = frozenset({"deny", "context", "stop"})
CAN: Mapping[str, frozenset[str]] = {
    "PreToolUse": _CANCELS | {"rewrite"},
    "PostToolUse": _CANCELS,
    "PostToolUseFailure": _CANCELS,
    "UserPromptSubmit": _CANCELS,
    "SessionStart": _CANCELS,
    "*": frozenset(),
}
DEADLINES: Mapping[str, float] = {"*": 30.0}
CAPS_STOPS = False
INPUT_VARIABLE = ""


# --- reading -----------------------------------------------------------------------------------------


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    payload = wire.decode_object(raw)
    fields = with_folder(renamed(payload, _KEYS), payload.get("workspaceRoots"))
    own = event_name or text(payload.get("hookName"))
    name = EVENTS.get(own, own)
    if name in ("PreToolUse", "PostToolUse"):
        fields = _call(_with_call(fields))
    if name == "PostToolUse" and fields.get("error") is not None:
        name = "PostToolUseFailure"
    return read_named(fields | _about(own, name, payload), name, events=EVENTS)


def _about(own: str, name: str, payload: dict[str, Any]) -> dict[str, Any]:
    """What events without a tool say, under our names for it."""
    if name == "SessionStart":
        source = "resume" if own in ("TaskResume", "agent_resume") else "startup"
        return {"source": source, "model": text(_inside(payload, "model").get("slug")) or text(payload.get("model"))}
    if name == "UserPromptSubmit":
        return {"prompt": text(_inside(payload, "userPromptSubmit").get("prompt"))}
    if name == "Stop":
        return given({"last_assistant_message": _inside(payload, "turn").get("outputText")})
    if name == "StopFailure":
        return {"error": text(_inside(payload, "error").get("message")), "error_details": payload.get("error")}
    if name == "Notification":
        return given({key: text(_inside(payload, "notification").get(key)) for key in ("message", "title")})
    return {}


def _inside(payload: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = payload.get(key)
    return value if isinstance(value, dict) else {}


def _with_call(fields: dict[str, Any]) -> dict[str, Any]:
    """With the tool call at the top: the SDK's whole one, or VS Code's, in which every value is text."""
    whole = _inside(fields, "tool_call") or _inside(fields, "tool_result")
    as_text = _inside(fields, "preToolUse") or _inside(fields, "postToolUse")
    if whole:
        found = {"tool_name": whole.get("name"), "tool_input": whole.get("input"), "tool_use_id": whole.get("id")}
    else:
        found = {"tool_name": as_text.get("toolName"), "tool_input": _with_values(as_text.get("parameters"))}
    return fields | _given_call(found) | _result(whole, as_text)


def _given_call(found: dict[str, Any]) -> dict[str, Any]:
    """A call may be a bare text or a list, too; an input is an object."""
    tool_input = found["tool_input"]
    if tool_input is None or isinstance(tool_input, dict):
        return given(found) | {"tool_input": tool_input or {}}
    key = {"apply_patch": "input", "read_files": "files"}.get(str(found["tool_name"]), "commands")
    return given(found) | {"tool_input": {key: tool_input}}


_STRUCTURED = ("arguments", "commands", "files", "file_paths", "paths", "requests", "queries")


def _with_values(parameters: object) -> object:
    """With the values that are JSON inside of text; a file's content that looks like it stays text."""
    if not isinstance(parameters, dict):
        return parameters
    return {key: parsed(value) if key in _STRUCTURED else value for key, value in parameters.items()}


def _result(whole: dict[str, Any], as_text: dict[str, Any]) -> dict[str, Any]:
    if "output" in whole or "error" in whole:
        error, response, took = whole.get("error"), whole.get("output"), whole.get("durationMs")
    elif "result" in as_text or "success" in as_text:
        response, took = as_text.get("result"), as_text.get("executionTimeMs")
        error = (text(response) or "failed") if as_text.get("success") is False else None
    else:
        return {}
    error = error if error is None or isinstance(error, str) else tools.output_text(error)
    return {"tool_response": response, "duration_ms": took} | ({} if error is None else {"error": error})


def _call(fields: dict[str, Any]) -> dict[str, Any]:
    own = fields.get("tool_name")
    tool_input: dict[str, Any] = fields["tool_input"]
    if not isinstance(own, str):
        return fields  # the event's own reader says what is wrong
    if own == _MCP:
        return read_as(TOOLS, fields, _mcp_tool(tool_input), _arguments(tool_input))
    if own == "replace_in_file" and isinstance(tool_input.get("diff"), str):
        return _replacements(fields, tool_input)
    parts = _parts(own, tool_input)
    if parts:
        return read_parts(TOOLS, fields, parts)
    return tools.read_call(TOOLS, fields, qualified_mcp_name(TOOLS, own, tool_input))


def _mcp_tool(tool_input: dict[str, Any]) -> str:
    return f"mcp__{text(tool_input.get('server_name'))}__{text(tool_input.get('tool_name'))}"


def _arguments(tool_input: dict[str, Any]) -> dict[str, Any]:
    arguments = parsed(tool_input.get("arguments"))
    return arguments if isinstance(arguments, dict) else given({"arguments": arguments})


def _parts(own: str, tool_input: dict[str, Any]) -> list[dict[str, Any]]:
    """One input for each thing that one of its calls for many does."""
    if own == "run_commands" and "commands" in tool_input:
        return [{"command": _command(each)} for each in _many(tool_input["commands"])]
    if own == "read_files":
        found = [each for key in ("files", "file_paths", "paths") for each in _many(tool_input.get(key))]
        return [each if isinstance(each, dict) else {"path": each} for each in found]
    if own == "fetch_web_content":
        return [each for each in listed(tool_input.get("requests")) if isinstance(each, dict)]
    return []


def _many(value: object) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _command(each: object) -> str:
    """A shell's line, or a program and its arguments."""
    if not isinstance(each, dict):
        return text(each)
    words = [text(each.get("command")), *(str(word) for word in listed(each.get("args")))]
    return " ".join(quoted(word) for word in words) if "args" in each else words[0]


def _replacements(fields: dict[str, Any], tool_input: dict[str, Any]) -> dict[str, Any]:
    """Its blocks of text to be found and text to be put there, each as an edit."""
    read = tools.read_call(TOOLS, fields)
    common: dict[str, Any] = read["tool_input"]
    edits = [common | {"old_string": old, "new_string": new} for old, new in _blocks(tool_input["diff"])]
    return read_as(TOOLS, fields, "Edit", *edits) if edits else read


def _blocks(diff: str) -> list[tuple[str, str]]:
    found: list[tuple[list[str], list[str]]] = []
    side = -1
    for line in diff.split("\n"):
        mark = line.rstrip()
        if mark.startswith(("-------", "<<<<<<<")) and mark.endswith("SEARCH"):
            found.append(([], []))
            side = 0
        elif side == 0 and mark and not mark.strip("="):
            side = 1
        elif side == 1 and mark.startswith(("+++++++", ">>>>>>>")) and mark.endswith("REPLACE"):
            side = -1
        elif side >= 0:
            found[-1][side].append(line)
    return [("\n".join(old), "\n".join(new)) for old, new in found]


# --- answering ---------------------------------------------------------------------------------------


def write_reply(event: Event, decision: Decision) -> Reply:
    return answer(write_result(event, decision))


def write_result(event: Event, decision: Decision) -> dict[str, Any]:
    decision = _possible(event, ended_before(event, decision))
    if decision.stop:
        return _cancelled(decision.stop_reason or decision.reason or "a hook has ended the task")
    if decision.denies and not event.name.startswith("PostToolUse"):
        return _cancelled(join_lines((reason(decision), decision.for_model)))
    told = join_lines((reason(decision) if decision.denies else "", decision.for_model))
    return {"cancel": False} | given({"contextModification": told}) | _override(event, decision)


def _cancelled(message: str) -> dict[str, Any]:
    return {"cancel": True, "errorMessage": message if message.strip() else "Blocked by hook"}


def _possible(event: Event, decision: Decision) -> Decision:
    """VS Code does not look at another input: better no call than the wrong one."""
    if decision.updated_input is None or decision.denies or _SDK in event.extra:
        return decision
    wanted = wire.encode_text(decision.updated_input)
    told = f"a hook wants another input, and {NAME} in VS Code cannot change it; call the tool again with: {wanted}"
    return decision.but(decision="deny", said="", reason=join_lines((told, decision.reason)))


def _override(event: Event, decision: Decision) -> dict[str, Any]:
    update = decision.updated_input
    if update is None or decision.denies:
        return {}
    if getattr(event, "tool_name", "") == _MCP:
        called: dict[str, Any] = getattr(event, "tool_input", {})
        arguments = wire.encode_text(update) if isinstance(called.get("arguments"), str) else update
        update = {**called, "arguments": arguments}
    return {"overrideInput": update}


def write_failure(_event_name: str, message: str) -> Reply:
    return answer(_cancelled(f"Fairlead: {message}"))
