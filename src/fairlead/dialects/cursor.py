"""Cursor: flat entries, an event for each kind of call, and one JSON object with a permission."""

from __future__ import annotations

import os

from fairlead import documents, wire
from fairlead.degrade import degrade
from fairlead.dialects import Reading, Reply, Source, _elsewhere
from fairlead.dialects._agents import answer, read_named
from fairlead.dialects._calls import KeepingMcpNames, as_patch, patch_of_edits, patch_of_files, refused_as_patch
from fairlead.dialects._claude_reply import reason
from fairlead.dialects._common import (
    Reader,
    all_run,
    fails_open,
    file_name,
    given,
    merge_all,
    never_again,
    replace_input,
    text_in,
)
from fairlead.dialects._flat_files import entries_of
from fairlead.dialects._payloads import arguments, parsed, with_folder, with_shell_result
from fairlead.events import Event, ToolEvent
from fairlead.handlers.command import Command
from fairlead.hooks import Hook, Origin
from fairlead.matchers import Matcher, everything
from fairlead.tools import output_text, tool
from fairlead.verdicts import Verdict, join_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from fairlead.dialects import HookInput, Places
    from fairlead.dialects._common import Path
    from fairlead.hooks import Handler, Setting
    from fairlead.verdicts import Decision
    from fairlead.work import Result

NAME = "cursor"
TOOLS = KeepingMcpNames(
    tool("Shell", "Bash"),
    tool("Read", "Read", path="file_path"),
    tool("Write", "Write", path="file_path", contents="content"),
    tool("StrReplace", "Edit", path="file_path"),
    tool("Write", "Edit", path="file_path"),  # so that a matcher for it knows an edit, too
    tool("EditNotebook", "NotebookEdit", target_notebook="notebook_path", new_string="new_source"),
    tool("Grep", "Grep"),
    tool("Glob", "Glob", glob_pattern="pattern", target_directory="path"),
    tool("WebFetch", "WebFetch"),
    tool("WebSearch", "WebSearch", search_term="query"),
    tool("Task", "Agent"),
    tool("TodoWrite", "TodoWrite"),
    mcp="MCP:{tool}",
)
EVENTS: Mapping[str, str] = {
    "sessionStart": "SessionStart",
    "sessionEnd": "SessionEnd",
    "beforeSubmitPrompt": "UserPromptSubmit",
    "preToolUse": "PreToolUse",
    "beforeShellExecution": "PreToolUse",
    "beforeMCPExecution": "PreToolUse",
    "beforeReadFile": "PreToolUse",
    "beforeTabFileRead": "PreToolUse",
    "postToolUse": "PostToolUse",
    "afterShellExecution": "PostToolUse",
    "afterMCPExecution": "PostToolUse",
    "afterFileEdit": "PostToolUse",
    "afterTabFileEdit": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "subagentStart": "SubagentStart",
    "subagentStop": "SubagentStop",
    "preCompact": "PreCompact",
    "stop": "Stop",
    # Nobody else has these.
    "afterAgentResponse": "afterAgentResponse",
    "afterAgentThought": "afterAgentThought",
    "workspaceOpen": "workspaceOpen",
}
ASKED_AS = "cursor_event"
"""In an event's `extra`: which of Cursor's events it was. Several of them are one event to us."""

again = never_again
ends_row = all_run
merge = merge_all
on_failure = fails_open
log = None
rewritten = replace_input


# --- the hook half -----------------------------------------------------------------------------------

_KEYS = ("command", "type", "prompt", "model", "timeout", "loop_limit", "failClosed", "matcher")
_TIMEOUT = 60.0
LOOPS = 5
"""How often one hook may keep a turn going, where it does not say so itself."""
ENDS = {"Stop": "completed", "StopFailure": "error", "Interrupt": "aborted"}
"""How a turn ended: one event to Cursor."""
_ON_TOOL_NAME = frozenset(
    {"preToolUse", "postToolUse", "postToolUseFailure", "beforeMCPExecution", "afterMCPExecution", "subagentStart",
     "subagentStop"}
)  # fmt: skip
_ON_COMMAND = frozenset({"beforeShellExecution", "afterShellExecution"})
_TOOL_NAMES = frozenset(known.own for known in TOOLS.tools)
PERMITS = frozenset(
    {"preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "beforeTabFileRead",
     "subagentStart"}
)  # fmt: skip
"""Events whose answer is a permission."""


def sources(places: Places) -> list[Source]:
    return [
        Source(path=os.path.join(folder, "hooks.json"), layer=layer, owner=layer)
        for layer, folder in _folders(places).items()
    ]


def _folders(places: Places) -> dict[str, str]:
    return {
        "managed": os.path.join(places.managed, "cursor"),
        "project": os.path.join(places.project, ".cursor"),
        "user": os.path.join(places.home, ".cursor"),
    }


def read(source: Source, text: str, places: Places) -> Reading:
    reader = Reader(source, text)
    data = documents.parse_json(text)
    if not reader.expect(data, dict, (), "hooks.json must be an object"):
        return reader.reading()
    for name, entry, path, matcher_path in entries_of(reader, data.get("hooks", {}), EVENTS):
        _read_entry(reader, name, entry, path, matcher_path, places)
    return reader.reading()


def _read_entry(
    reader: Reader, name: str, entry: dict[str, Any], path: Path, matcher_path: Path, places: Places
) -> None:
    reader.slips(entry, _KEYS, path)
    handler = _handler(reader, entry, path, places)
    if handler is None:
        return
    matcher = _matcher(name, reader.matcher_text(entry.get("matcher"), matcher_path))
    reader.hooks.append(
        Hook(
            name=file_name(handler),
            events=tuple(ENDS) if name == "stop" else (EVENTS[name],),
            handler=handler,
            origin=Origin(dialect=NAME, layer=reader.source.layer, file=reader.source.path, path=path),
            matcher=matcher,
            matcher_path=matcher_path,
            timeout=reader.timeout(entry, path, "timeout", _TIMEOUT, 1),
            on_error="deny" if _fails_closed(reader, entry, path) else "",
            condition=_condition(name, matcher),
            options={"event": name, "loop_limit": _loop_limit(reader, entry, path)},
        )
    )


def _handler(reader: Reader, entry: dict[str, Any], path: Path, places: Places) -> Handler | None:
    kind = entry.get("type", "command")
    if kind not in ("command", "prompt"):
        reader.problem((*path, "type"), f"unknown type {kind!r}", "one of: command, prompt")
        return None
    text = reader.text_field(entry, kind, path)
    if not text:
        return None
    if kind == "prompt":
        return _elsewhere.handler(reader, kind, entry, path)
    folder = places.project if reader.source.layer == "project" else _folders(places)[reader.source.layer]
    return Command(command=text, cwd=folder)


def _fails_closed(reader: Reader, entry: dict[str, Any], path: Path) -> bool:
    value = entry.get("failClosed", False)
    if not isinstance(value, bool):
        reader.problem((*path, "failClosed"), "failClosed must be true or false", "true is used")
    return value is not False


def _loop_limit(reader: Reader, entry: dict[str, Any], path: Path) -> float:
    value = entry.get("loop_limit", LOOPS)
    if value is None:
        return float("inf")
    return value if reader.expect(value, int, (*path, "loop_limit"), "loop_limit must be a number or null") else LOOPS


class OnCommand(Matcher):
    """A pattern for the text of a command; no tool's name says anything to it."""

    __slots__ = ()

    def __call__(self, _value: str) -> bool:
        return True

    def finds(self, command: str) -> bool:
        return super().__call__(command)

    def check(self) -> str:
        self.finds("")
        return self.problem


def _matcher(name: str, pattern: str) -> Matcher:
    if pattern in ("", "*") or name not in _ON_TOOL_NAME | _ON_COMMAND:
        return everything(pattern)
    if name in _ON_COMMAND:
        return OnCommand(pattern, search=True)
    words = frozenset(pattern.split("|"))
    return Matcher(pattern, names=words) if words <= _TOOL_NAMES else Matcher(pattern, search=True)


def _condition(name: str, matcher: Matcher) -> Callable[[Event], str]:
    """Which calls a hook is about, beside what its matcher says: several of Cursor's events are one of ours."""

    def why_not(event: Event) -> str:
        asked_as = event.extra.get(ASKED_AS)
        if asked_as is not None and asked_as != name:
            return f"is for {name}, and this is {asked_as}"
        if asked_as is None and not _is_about(name, event):
            return f"is for {name}"
        if isinstance(matcher, OnCommand) and not matcher.finds(getattr(event, "command", "")):
            return f"its matcher {matcher.text!r} does not match the command"
        return ""

    return why_not


_KINDS = {
    "beforeShellExecution": ("Shell",),
    "afterShellExecution": ("Shell",),
    "beforeReadFile": ("Read",),
    "afterFileEdit": ("Write", "StrReplace"),
    "beforeTabFileRead": (),
    "afterTabFileEdit": (),
}
"""The tools, in Cursor's words, whose calls have an event of their own."""


def _is_about(name: str, event: Event) -> bool:
    own = getattr(event, "tool_name", "")
    if name in ("beforeMCPExecution", "afterMCPExecution"):
        return is_mcp(event)
    return name not in _KINDS or own in _KINDS[name]


def arrange(hooks: Sequence[Hook], _readings: Sequence[tuple[Source, Reading]]) -> list[Hook]:
    """All run: the machine's first, then the project's, then the user's."""
    return sorted(hooks, key=lambda hook: _ORDER.get(hook.origin.layer, len(_ORDER)))


_ORDER = {"managed": 0, "project": 1, "user": 2}


def batches(_event: Event, hooks: Sequence[Hook]) -> list[list[Hook]]:
    """What may rewrite, one after the other; the events that come after it see what is left, side by side."""
    first = [[hook] for hook in hooks if hook.options.get("event") == "preToolUse"]
    others = [hook for hook in hooks if hook.options.get("event") != "preToolUse"]
    return [*first, others] if others else first


def hook_input(hook: Hook, event: Event, setting: Setting) -> HookInput:
    from fairlead.dialects._cursor_input import hook_input as written

    return written(_own_name(hook, event), event, setting)


def _own_name(hook: Hook, event: Event) -> str:
    return str(hook.options.get("event") or _usual_name(event))


def _usual_name(event: Event) -> str:
    return next((name for name, ours in EVENTS.items() if ours == event.name), event.name)


def read_verdict(hook: Hook, event: Event, result: Result) -> Verdict:
    from fairlead.dialects import _cursor_output

    return _cursor_output.read_result(hook, _own_name(hook, event), event, result)


def read_value(hook: Hook, event: Event, value: object) -> Verdict:
    from fairlead.dialects import _cursor_output

    return _cursor_output.read_value(hook, _own_name(hook, event), event, value)


def is_completed(event: Event) -> bool:
    return bool(event.extra.get("status", "completed") == "completed")


def is_mcp(event: Event) -> bool:
    return str(getattr(event, "tool_name", "")).startswith(("MCP:", "mcp__"))


# --- the agent half ----------------------------------------------------------------------------------

CAN: Mapping[str, frozenset[str]] = {
    # `ask` has been seen to let the call through, and `allow` skips none of Cursor's own questions.
    "PreToolUse": frozenset({"deny", "rewrite", "user_message"}),
    # A refusal after the fact is told as context; another output is taken from an MCP tool alone, and told otherwise.
    "PostToolUse": frozenset({"deny", "output", "context"}),
    "UserPromptSubmit": frozenset({"deny", "context", "user_message"}),
    "SessionStart": frozenset({"context"}),
    "SubagentStart": frozenset({"deny", "user_message"}),
    "Stop": frozenset({"deny"}),
    "SubagentStop": frozenset({"deny"}),
    "PreCompact": frozenset({"user_message"}),
    "*": frozenset(),
}
_ONLY_PERMITS = {"PreToolUse": frozenset({"deny", "user_message"})}
"""The events of single kinds of call; `preToolUse` alone takes another input."""
DEADLINES: Mapping[str, float] = {"*": 30.0}
CAPS_STOPS = True
INPUT_VARIABLE = ""

_NAMES = {
    "conversation_id": "session_id", "generation_id": "prompt_id", "tool_output": "tool_response",
    "error_message": "error", "duration": "duration_ms", "subagent_id": "agent_id", "subagent_type": "agent_type",
    "task": "description", "summary": "last_assistant_message",
}  # fmt: skip
_AS_PATCH = ("Write", "StrReplace", "Delete", "ApplyPatch", "apply_patch", "MultiEdit")
"""Tools whose calls may be read as a patch."""


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    payload = wire.decode_object(raw)
    name = event_name or text_in(payload, "hook_event_name")
    asked_as = {ASKED_AS: name} if name in EVENTS else {}  # else a refusal would be written for an event that is none
    fields = {**_READERS.get(name, _plain)(payload), **asked_as}
    fields = with_folder(fields, payload.get("workspace_roots"))
    if "loop_count" in fields:
        fields["stop_hook_active"] = bool(fields["loop_count"])
    ours = fields.pop("our_name", "")
    event = read_named(fields, _ended(name, payload), events=EVENTS, vocabulary=TOOLS, keys=_NAMES, tool=ours)
    return with_shell_result(as_patch(event, _patch(event)))


def _ended(name: str, payload: Mapping[str, Any]) -> str:
    """Only a turn that was completed can be kept going."""
    if name != "stop":
        return name
    return {"aborted": "Interrupt", "error": "StopFailure"}.get(text_in(payload, "status"), name)


def _plain(payload: dict[str, Any]) -> dict[str, Any]:
    fields = dict(payload)
    for key in ("tool_output", "tool_input"):
        if key in fields:
            fields[key] = arguments(fields[key]) if key == "tool_input" else parsed(fields[key])
    return fields


def _shell(payload: dict[str, Any]) -> dict[str, Any]:
    fields = {key: value for key, value in payload.items() if key not in ("command", "output")}
    output = {"tool_output": payload["output"]} if "output" in payload else {}
    return {**fields, "tool_name": "Shell", "tool_input": {"command": payload.get("command", "")}, **output}


def _mcp(payload: dict[str, Any]) -> dict[str, Any]:
    fields = {key: value for key, value in payload.items() if key != "result_json"}
    own, server = text_in(payload, "tool_name"), text_in(payload, "mcp_server_name")
    fields |= {"tool_name": f"MCP:{own}" if own else "", "tool_input": arguments(payload.get("tool_input", {}))}
    if server and own:
        fields["our_name"] = f"mcp__{server}__{own}"
    if "result_json" in payload:
        fields["tool_output"] = parsed(payload["result_json"])
    return fields


def _file(payload: dict[str, Any]) -> dict[str, Any]:
    fields = {key: value for key, value in payload.items() if key not in ("file_path", "edits")}
    tool_input = {key: payload[key] for key in ("file_path", "edits") if key in payload}
    return {**fields, "tool_name": "Write" if "edits" in payload else "Read", "tool_input": tool_input}


_READERS: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "beforeShellExecution": _shell,
    "afterShellExecution": _shell,
    "beforeMCPExecution": _mcp,
    "afterMCPExecution": _mcp,
    "beforeReadFile": _file,
    "beforeTabFileRead": _file,
    "afterFileEdit": _file,
    "afterTabFileEdit": _file,
}


def _patch(event: Event) -> str:
    """`Write` is its word for every change of a file."""
    if not isinstance(event, ToolEvent) or event.spoken is None or event.spoken.tool_name not in _AS_PATCH:
        return ""
    own, sent = event.spoken.tool_name, event.tool_input
    path = sent.get("file_path", sent.get("path"))
    if own == "Delete":
        return patch_of_files([path], "Delete")
    if own in ("ApplyPatch", "apply_patch"):
        return next((text for key in ("patch", "input", "command") if (text := text_in(sent, key))), "")
    if "edits" in sent:
        return patch_of_edits(path, sent["edits"])
    return patch_of_edits(path, [sent]) if own == "Write" and "old_string" in sent else ""


def write_reply(event: Event, decision: Decision) -> Reply:
    return answer(write_result(event, decision))


def write_result(event: Event, decision: Decision) -> dict[str, Any]:
    name = event.extra.get(ASKED_AS) or _usual_name(event)
    if name in PERMITS:
        return _permit(name, event, decision)
    if event.name == "UserPromptSubmit":
        return _prompt(decision)
    if event.name in ("Stop", "SubagentStop"):
        return {"followup_message": reason(decision)} if decision.denies and is_completed(event) else {}
    if name == "postToolUse":
        return _after(event, decision)
    if event.name == "PreCompact":
        return given({"user_message": decision.user_message})
    return given({"additional_context": decision.for_model}) if event.name == "SessionStart" else {}


def _permit(name: str, event: Event, decision: Decision) -> dict[str, Any]:
    """Always an object with a permission: newer versions block where it is missing."""
    if name != "preToolUse":
        decision = degrade(event, decision, {**CAN, **_ONLY_PERMITS}, NAME)
    decision = refused_as_patch(event, decision, _AS_PATCH)
    if not decision.denies:
        found = given({"permission": "allow", "user_message": decision.user_message})
        update = decision.updated_input
        return found if update is None else {**found, "updated_input": update}
    said = reason(decision)
    found = {"permission": "deny", "user_message": join_lines((said, decision.user_message))}
    has_agent_message = name in ("preToolUse", "beforeShellExecution", "beforeMCPExecution")
    return {**found, "agent_message": said} if has_agent_message else found


def _prompt(decision: Decision) -> dict[str, Any]:
    message = join_lines((reason(decision) if decision.denies else "", decision.user_message))
    context = "" if decision.denies else decision.for_model
    return given({"continue": not decision.denies, "user_message": message, "additional_context": context})


def _after(event: Event, decision: Decision) -> dict[str, Any]:
    parts = [decision.for_model, reason(decision) if decision.denies else ""]
    output = decision.updated_output
    if output is not None and not is_mcp(event):
        parts.append(f"A hook has replaced this output; go by this instead: {output_text(output)}")
        output = None
    found = given({"additional_context": join_lines(parts)})
    return found if output is None else {**found, "updated_mcp_tool_output": output}


def write_failure(_event_name: str, message: str) -> Reply:
    """Exit 2 refuses, and so does the object, whichever event it was."""
    said = f"Fairlead: {message}"
    refused = {"permission": "deny", "continue": False, "user_message": said, "agent_message": said}
    return Reply(stdout=wire.encode(refused) + b"\n", stderr=f"{said}\n", exit_code=2)
