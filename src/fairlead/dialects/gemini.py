"""Gemini CLI: events and tools with names of their own, milliseconds, and a decision at the top of the answer."""

from __future__ import annotations

from fairlead import verdicts, wire
from fairlead.dialects import HookInput, _gemini_settings
from fairlead.dialects._agents import answer, read_named
from fairlead.dialects._claude_reply import reason
from fairlead.dialects._common import (
    Reader,
    all_run,
    cut_answer,
    exit_2,
    fails_open,
    given,
    is_off,
    moved,
    never_again,
    owners,
    reaches,
    replace_input,
    text_in,
    text_of,
    warn_of_reach,
)
from fairlead.errors import plain
from fairlead.events import EVENTS as ALL_EVENTS
from fairlead.events import ToolEvent, event_class
from fairlead.handlers.command import Command
from fairlead.hooks import Hook, HookFailed, Origin
from fairlead.matchers import Matcher, everything
from fairlead.tools import Vocabulary, output_text, tool
from fairlead.verdicts import NONE, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from fairlead.dialects import Places, Reading, Reply, Source
    from fairlead.dialects._common import Path
    from fairlead.events import Event
    from fairlead.hooks import Setting
    from fairlead.verdicts import Decision
    from fairlead.work import Result

NAME = "gemini"
TOOLS = Vocabulary(
    tool("run_shell_command", "Bash", is_background="run_in_background", dir_path="cwd"),
    tool("write_file", "Write"),
    tool("replace", "Edit", allow_multiple="replace_all"),
    tool("read_file", "Read", absolute_path="file_path"),
    tool("list_directory", "LS", dir_path="path"),
    tool("glob", "Glob", dir_path="path"),
    tool("grep_search", "Grep", dir_path="path", include_pattern="glob"),
    tool("search_file_content", "Grep", dir_path="path", include="glob"),
    tool("google_web_search", "WebSearch"),
    tool("web_fetch", "WebFetch"),
    tool("write_todos", "TodoWrite"),
    tool("invoke_agent", "Agent", agent_name="subagent_type"),
    tool("activate_skill", "Skill", name="skill"),
    tool("ask_user", "AskUserQuestion"),
    tool("exit_plan_mode", "ExitPlanMode"),
    mcp="mcp_{server}_{tool}",
)
EVENTS: Mapping[str, str] = {
    "BeforeTool": "PreToolUse",
    "AfterTool": "PostToolUse",
    "BeforeAgent": "UserPromptSubmit",
    "AfterAgent": "Stop",
    "BeforeModel": "BeforeModel",
    "AfterModel": "AfterModel",
    "BeforeToolSelection": "BeforeToolSelection",
    "SessionStart": "SessionStart",
    "SessionEnd": "SessionEnd",
    "PreCompress": "PreCompact",
    "Notification": "Notification",
}
_OWN = {canonical: own for own, canonical in EVENTS.items()} | {"PostToolUseFailure": "AfterTool"}

again = never_again
ends_row = all_run
on_failure = fails_open
log = None
rewritten = replace_input

_MILLISECONDS = 0.001
_TIMEOUT = 60.0
_SUSPICIOUS = 1000
"""Milliseconds; who writes less has thought of seconds."""
_KEYS = ("type", "command", "name", "description", "timeout", "env")
_REFUSABLE = frozenset(
    {"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "BeforeModel", "AfterModel"}
)
_OWN_KEYS: Mapping[str, tuple[str, ...]] = {
    "BeforeModel": ("llm_request", "llm_response"),
    "AfterModel": ("llm_response",),
    "BeforeToolSelection": ("toolConfig",),
    "PostToolUse": ("tailToolCallRequest",),
    "PostToolUseFailure": ("tailToolCallRequest",),
    "Stop": ("clearContext",),
}
"""What only Gemini CLI can carry out."""


# --- the hook half -----------------------------------------------------------------------------------


def sources(places: Places) -> list[Source]:
    home = f"{moved(places, 'GEMINI_CLI_HOME') or places.home}/.gemini"
    return list(_gemini_settings.files(places, home=home, folder=".gemini", managed="gemini-cli").values())


def read(source: Source, text: str, _places: Places) -> Reading:
    reader = Reader(source, text)
    data = _gemini_settings.settings(reader, text)
    if data is None:
        return reader.reading()
    for event, group, handler, path in _gemini_settings.handlers(reader, data, EVENTS, "Gemini CLI"):
        _read_handler(reader, event, group, handler, path)
    return reader.reading(**{NAME: _switches(reader, data)})


def _switches(reader: Reader, data: dict[str, Any]) -> dict[str, Any]:
    config = data.get("hooksConfig")
    if config is None or not reader.expect(config, dict, ("hooksConfig",), "hooksConfig must be an object"):
        return {}
    switches: dict[str, Any] = {}
    enabled, disabled = config.get("enabled"), config.get("disabled")
    if enabled is not None and reader.expect(
        enabled, bool, ("hooksConfig", "enabled"), "enabled must be true or false"
    ):
        switches["enabled"] = enabled
        if not enabled:
            warn_of_reach(reader, ("hooksConfig", "enabled"))
    if disabled is not None and reader.expect(disabled, list, ("hooksConfig", "disabled"), "disabled must be a list"):
        switches["disabled"] = [name for name in disabled if isinstance(name, str)]
    return switches


def _read_handler(reader: Reader, event: str, group: Any, entry: Any, path: Path) -> None:
    source = reader.source
    if entry is not group:
        reader.slips(entry, _KEYS, path)
    handler = _handler(reader, entry, path)
    if handler is None:
        return
    pattern = reader.matcher_text(group.get("matcher"), (*path[:-2], "matcher"))
    reader.hooks.append(
        Hook(
            name=_gemini_settings.hook_name(entry, handler),
            events=(event, "PostToolUseFailure") if event == "PostToolUse" else (event,),  # one event for both
            handler=handler,
            origin=Origin(dialect=NAME, layer=source.layer, file=source.path, path=path),
            matcher=_matcher(reader, event, pattern, (*path[:-2], "matcher")),
            matcher_path=(*path[:-2], "matcher"),
            timeout=_timeout(reader, entry, path),
            options=given(
                {
                    "named": text_in(entry, "name"),
                    "command": entry["command"],
                    "sequential": _gemini_settings.is_sequential(reader, group, path) or None,
                }
            ),
        )
    )


def _handler(reader: Reader, entry: Any, path: Path) -> Command | None:
    kind = entry.get("type")
    if kind is None and "command" in entry:
        reader.problem(path, "type is missing", 'taken as "type": "command"; Gemini CLI leaves the hook out')
    elif kind != "command":
        reader.problem((*path, "type"), f"unknown type {kind!r}", "it must be command")
        return None
    command = reader.text_field(entry, "command", path)
    if not command:
        return None
    return Command(command=_with_quoted_places(command), env=_gemini_settings.environment(reader, entry, path))


def _with_quoted_places(command: str) -> str:
    """Gemini CLI puts these paths into the command itself, and quotes them there."""
    if '"' in command or "'" in command:
        return command
    for name in ("$GEMINI_PROJECT_DIR", "$GEMINI_CWD", "$GEMINI_PLANS_DIR", "$CLAUDE_PROJECT_DIR"):
        command = command.replace(name, f'"{name}"')
    return command


def _matcher(reader: Reader, event: str, pattern: str, path: Path) -> Matcher:
    pattern = pattern.strip()
    if pattern in ("", "*"):
        return everything(pattern)
    if issubclass(event_class(event), ToolEvent):
        return Matcher(pattern, search=True)
    if not ALL_EVENTS[event].matches_on or event == "Notification":
        own = _OWN[event]
        reader.warn(path, f"{own} has nothing to match: {pattern!r} is ignored and the hook always runs")
        return everything(pattern)
    return Matcher(pattern, names=frozenset({pattern}))


def _timeout(reader: Reader, entry: Any, path: Path) -> float:
    value = entry.get("timeout")
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < _SUSPICIOUS:
        hint = f"write {plain(value * 1000)}, if it should be {plain(value)} seconds"
        reader.warn((*path, "timeout"), f"timeout is in milliseconds: {plain(value)} is {plain(value / 1000)} s", hint)
    return reader.timeout(entry, path, "timeout", _TIMEOUT, _MILLISECONDS)


def arrange(hooks: Sequence[Hook], readings: Sequence[tuple[Source, Reading]]) -> list[Hook]:
    """All levels add, unless somebody whose word reaches them switches them off."""
    said = [(source, reading.settings[NAME]) for source, reading in readings if NAME in reading.settings]
    words = [(_gemini_settings.whose(s), not own["enabled"]) for s, own in said if "enabled" in own]
    whose = owners(readings)
    return [_switched(hook, whose.get(hook.origin.file, "user"), words, said) for hook in hooks]


def _switched(
    hook: Hook, owner: str, words: Sequence[tuple[str, bool]], said: Sequence[tuple[Source, Mapping[str, Any]]]
) -> Hook:
    names = {name for source, own in said if reaches(source.owner, owner) for name in own.get("disabled", ())}
    return hook.but(enabled=False) if is_off(owner, words) or _is_named(hook, names) else hook


def _is_named(hook: Hook, names: set[str]) -> bool:
    return (hook.options.get("named") or hook.options["command"]) in names


def batches(_event: Event, hooks: Sequence[Hook]) -> list[list[Hook]]:
    return _gemini_settings.in_turn(hooks)


_BASE = ("session_id", "transcript_path", "cwd", "hook_event_name", "timestamp")
_CALL = ("tool_name", "tool_input", "mcp_context", "original_request_name")
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "BeforeTool": _CALL,
    "AfterTool": (*_CALL, "tool_response"),
    "BeforeAgent": ("prompt",),
    "AfterAgent": ("prompt", "prompt_response", "stop_hook_active"),
    "BeforeModel": ("llm_request",),
    "AfterModel": ("llm_request", "llm_response"),
    "BeforeToolSelection": ("llm_request",),
    "SessionStart": ("source",),
    "SessionEnd": ("reason",),
    "PreCompress": ("trigger",),
    "Notification": ("notification_type", "message", "details"),
}
_OPTIONAL = ("mcp_context", "original_request_name")
_EMPTY: Mapping[str, Any] = {"tool_input": {}, "stop_hook_active": False, "llm_request": {}, "llm_response": {},
                             "details": {}}  # fmt: skip


def hook_input(_hook: Hook, event: Event, setting: Setting) -> HookInput:
    name, cwd = _OWN.get(event.name, event.name), event.cwd or setting.project
    known = event.payload()
    known |= {"hook_event_name": name, "cwd": cwd, "timestamp": _gemini_settings.timestamp(event.timestamp)}
    if name == "AfterTool":
        known["tool_response"] = _response(event)
    if name == "AfterAgent":
        known["prompt_response"] = known.get("last_assistant_message") or ""
    fields = (*_BASE, *_FIELDS.get(name, tuple(event.extra)))
    payload = {key: known.get(key, _EMPTY.get(key, "")) for key in fields if key in known or key not in _OPTIONAL}
    env = {
        "GEMINI_PROJECT_DIR": setting.project,
        "GEMINI_CWD": cwd,
        "GEMINI_SESSION_ID": event.session_id,
        "CLAUDE_PROJECT_DIR": setting.project,
    }
    return HookInput(stdin=wire.encode(payload), env=env)


def _response(event: Event) -> Any:
    if event.name == "PostToolUseFailure":
        error = text_in(event.as_dict(), "error")
        own = event.extra.get("tool_response")
        return own if own is not None else {**_gemini_settings.result_shape(None, error), "error": {"message": error}}
    response = getattr(event, "tool_response", None)
    return _gemini_settings.result_shape(response, output_text(response))


def read_verdict(hook: Hook, event: Event, result: Result) -> Verdict:
    """Any exit but 0 and 1 refuses. With nothing on stdout, stderr is the answer."""
    from fairlead.dialects._answers import buried, json_answer, restraint

    cut = cut_answer(result)
    text = text_of(result.stdout) or text_of(result.stderr)
    value = None if cut is not None else json_answer(text)
    said = read_value(hook, event, value) if value is not None else cut
    if said is None:
        left = [kept for each in buried(text) if (kept := restraint(read_value(hook, event, each))) is not None]
        said = verdicts.merge(left) if left else None
    if result.exit_code:
        return _failed(event, result, restraint(said) if said is not None else None, "" if value else text)
    if said is not None:
        return said
    return Verdict(user_message=text) if text else NONE


def _failed(event: Event, result: Result, said: Verdict | None, text: str) -> Verdict:
    from fairlead.dialects._claude_output import failure

    if said is not None and (said.denies or result.exit_code == 1):
        return said
    if result.exit_code == 1 or event.name not in _REFUSABLE:
        raise HookFailed(failure(result))
    why = text or text_of(result.stderr) or f"the hook exited with code {result.exit_code}"
    return (said or NONE).but(decision="deny", said="", reason=why)


def read_value(_hook: Hook, event: Event, value: object) -> Verdict:
    if not isinstance(value, dict):
        return NONE if value is None else Verdict(user_message=str(value))
    specific = value.get("hookSpecificOutput")
    specific = specific if isinstance(specific, dict) else {}
    word, why = _decision(event, value, specific)
    stops = value.get("continue") is False
    fields = given(
        {
            "reason": why,
            "context": text_in(specific, "additionalContext"),
            "user_message": text_in(value, "systemMessage"),
            "stop": stops or None,
            "stop_reason": (text_in(value, "stopReason") or text_in(value, "reason")) if stops else "",
            "suppress_output": value.get("suppressOutput") is True or None,
            "extra": given({key: specific.get(key) for key in _OWN_KEYS.get(event.name, ())}),
        }
    )
    update = specific.get("tool_input")
    if event.name == "PreToolUse" and isinstance(update, dict):
        fields["updated_input"] = update
    return Verdict.of(word, **fields) if fields or word != "none" else NONE


def _decision(event: Event, value: Mapping[str, Any], specific: Mapping[str, Any]) -> tuple[str, str]:
    """`allow` is its word for "nothing against it". Claude Code's word for a refusal is understood as one."""
    said = {text_in(value, "decision").lower(), text_in(specific, "permissionDecision").lower()}
    why = text_in(value, "reason") or text_in(specific, "permissionDecisionReason")
    if event.name in _REFUSABLE and said & {"deny", "block"}:
        return "deny", why or text_in(value, "stopReason")
    return ("ask", why) if event.name == "PreToolUse" and "ask" in said else ("none", "")


def merge(_event: Event, said: Sequence[Verdict]) -> Verdict:
    merged = verdicts.merge(said)
    chosen = [verdict.extra["toolConfig"] for verdict in said if isinstance(verdict.extra.get("toolConfig"), dict)]
    return merged.but(extra={**merged.extra, "toolConfig": _tool_config(chosen)}) if len(chosen) > 1 else merged


def _tool_config(chosen: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All the tools that somebody allows; none at all if somebody says so."""
    modes = [config.get("mode") for config in chosen]
    if "NONE" in modes:
        return {"mode": "NONE", "allowedFunctionNames": []}
    lists = [config.get("allowedFunctionNames") for config in chosen]
    names = {name for each in lists if isinstance(each, list) for name in each if isinstance(name, str)}
    return {"mode": "ANY" if "ANY" in modes else "AUTO", "allowedFunctionNames": sorted(names)}


# --- the agent half ----------------------------------------------------------------------------------

_SAYS = frozenset({"user_message"})
CAN: Mapping[str, frozenset[str]] = {
    # `ask` without a terminal ends the whole program in silence; `allow` skips no question, and context is overlooked.
    "PreToolUse": frozenset({"deny", "rewrite", "stop"}) | _SAYS,
    # The reason takes the place of the result.
    "PostToolUse": frozenset({"deny", "context", "stop"}) | _SAYS,
    "PostToolUseFailure": frozenset({"deny", "context", "stop"}) | _SAYS,
    "UserPromptSubmit": frozenset({"deny", "context", "stop"}) | _SAYS,
    "Stop": frozenset({"deny", "stop"}) | _SAYS,
    "BeforeModel": frozenset({"deny", "stop"}) | _SAYS,
    "AfterModel": frozenset({"deny", "stop"}) | _SAYS,
    "SessionStart": frozenset({"context"}) | _SAYS,
    "*": _SAYS,
}
DEADLINES: Mapping[str, float] = {"*": _TIMEOUT}
CAPS_STOPS = False
INPUT_VARIABLE = ""


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    payload = wire.decode_object(raw)
    name = event_name or payload.get("hook_event_name")
    response = payload.get("tool_response")
    error = response.get("error") if isinstance(response, dict) else None
    if name == "AfterTool" and error:
        payload["error"] = text_in(error, "message") if isinstance(error, dict) else str(error)
        event_name = "PostToolUseFailure"
    keys = {"prompt_response": "last_assistant_message"}
    event = read_named(payload, event_name, events=EVENTS, vocabulary=TOOLS, keys=keys, tool=_mcp_name(payload))
    return _gemini_settings.with_shell_output(event)


def _mcp_name(payload: Mapping[str, Any]) -> str:
    """Ours for an MCP tool: its own does not say where the server's name ends."""
    context = payload.get("mcp_context")
    context = context if isinstance(context, dict) else {}
    server, name = text_in(context, "server_name"), text_in(context, "tool_name")
    return f"mcp__{server}__{name}" if server and name else ""


def write_reply(event: Event, decision: Decision) -> Reply:
    # With nothing on stdout, our notes on stderr would be the answer.
    return answer(write_result(event, decision), always=True)


def write_result(event: Event, decision: Decision) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if decision.denies:
        found |= {"decision": "deny", "reason": reason(decision)}
    if decision.stop:
        found |= given({"continue": False, "stopReason": decision.stop_reason})
    elif decision.denies and event.name == "AfterModel":
        found |= {"continue": False, "stopReason": reason(decision)}  # there, a refusal alone has no effect
    specific = _specific(event, decision)
    if specific:
        found["hookSpecificOutput"] = {"hookEventName": _OWN.get(event.name, event.name), **specific}
    return found | given({"systemMessage": decision.user_message, "suppressOutput": decision.suppress_output or None})


def _specific(event: Event, decision: Decision) -> dict[str, Any]:
    found = given({key: decision.extra.get(key) for key in _OWN_KEYS.get(event.name, ())})
    if event.name == "PreToolUse" and decision.updated_input is not None and not decision.denies:
        found["tool_input"] = decision.updated_input
    return found | given({"additionalContext": decision.for_model})


write_failure = exit_2
