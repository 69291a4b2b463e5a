"""Claude Code: three-level settings, JSON on stdin, exit 2 or JSON to decide."""

from __future__ import annotations

import os

from fairlead import documents, verdicts, wire
from fairlead.dialects import HookInput, Reading, Reply, Source, _claude_files
from fairlead.dialects._common import (
    Reader,
    exit_2,
    given,
    json_output,
    never_again,
    once_each,
    read_groups,
    replace_input,
    text_in,
    text_of,
)
from fairlead.events import EVENTS as ALL_EVENTS
from fairlead.events import Event
from fairlead.handlers.command import Command
from fairlead.handlers.missing import Missing
from fairlead.hooks import Hook, HookFailed, Origin
from fairlead.matchers import name_list
from fairlead.verdicts import NONE, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from fairlead.dialects import Places
    from fairlead.dialects._common import Path
    from fairlead.hooks import Handler, Setting
    from fairlead.matchers import Matcher
    from fairlead.process import Result
    from fairlead.verdicts import Decision

NAME = "claude-code"
EVENTS: Mapping[str, str] = {
    name: name
    for name in ALL_EVENTS
    if name
    not in (
        "Interrupt",
        "BeforeModel",
        "AfterModel",
        "BeforeToolSelection",
        "PreModelRequest",
        "PostModelRequest",
    )
}

again = never_again
log = None
rewritten = replace_input

_DEFAULT_TIMEOUTS = {
    "UserPromptSubmit": 30.0,
    "PreModelSwitch": 30.0,
    "PostModelSwitch": 30.0,
    "MessageDisplay": 10.0,
}
_TYPES = ("command", "prompt", "agent", "http", "mcp_tool")
_TEXT_IS_CONTEXT = frozenset({"SessionStart", "UserPromptSubmit", "UserPromptExpansion", "PostModelSwitch"})


# --- the hook half -----------------------------------------------------------------------------------


def sources(places: Places) -> list[Source]:
    return [
        *_claude_files.managed(places),
        *_claude_files.settings(places),
        *_claude_files.plugins(places),
        *_claude_files.front_matter(places),
    ]


def read(source: Source, text: str, places: Places) -> Reading:
    reader = Reader(source, text)
    if source.format == "front-matter":
        data = documents.parse_front_matter(text)
    else:
        data = documents.parse_json(text)
    if not reader.expect(data, dict, (), "settings must be an object"):
        return reader.reading()
    if "hooks" in data:
        for event, group, handler, path in read_groups(reader, data["hooks"], EVENTS):
            _read_handler(reader, event, group, handler, path, places, data)
    return reader.reading(
        off=data.get("disableAllHooks") is True,
        managed_only=source.owner == "managed" and data.get("allowManagedHooksOnly") is True,
    )


def _read_handler(reader: Reader, event: str, group: Any, entry: Any, path: Path, places: Places, data: Any) -> None:
    source = reader.source
    handler = _handler(reader, entry, path, places)
    if handler is None:
        return
    if entry.get("async") is True or entry.get("asyncRewake") is True:
        reader.warn(path, "an async hook is waited for, and what it decides is ignored")
    if source.layer == "subagent" and event == "Stop":
        event = "SubagentStop"
    reader.hooks.append(
        Hook(
            name=_name(handler, source),
            events=(event,),
            handler=handler,
            origin=Origin(dialect=NAME, layer=source.layer, file=source.path, path=path),
            matcher=matcher_for(event, reader.matcher_text(group.get("matcher"), (*path[:-2], "matcher"))),
            matcher_path=(*path[:-2], "matcher"),
            timeout=reader.timeout(entry, path, "timeout", _DEFAULT_TIMEOUTS.get(event, 600.0), 1),
            on_error="deny" if entry.get("onFailure") == "block" else "",
            condition=_claude_files.scope(source, data, places),
            options={"async": entry.get("async") is True or entry.get("asyncRewake") is True,
                     "root": _claude_files.plugin_root(source)},
        )
    )  # fmt: skip


def _handler(reader: Reader, entry: Any, path: Path, places: Places) -> Handler | None:
    kind = entry.get("type", "command")
    if kind not in _TYPES:
        reader.problem((*path, "type"), f"unknown type {kind!r}", f"one of: {', '.join(_TYPES)}")
        return None
    if kind != "command":
        return Missing(wanted=kind, text=str(entry.get("prompt") or entry.get("url") or entry.get("tool") or ""))
    command = reader.text_field(entry, "command", path)
    if not command:
        return None
    args = entry.get("args")
    if args is None:
        return Command(command=command)
    if not reader.expect(args, list, (*path, "args"), "args must be a list"):
        return None
    names = {
        "CLAUDE_PROJECT_DIR": places.project,
        "CLAUDE_PLUGIN_ROOT": _claude_files.plugin_root(reader.source),
    }
    return Command(command=_fill(command, names), args=tuple(_fill(str(word), names) for word in args))


def _fill(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(f"${{{name}}}", value)
    return word


def matcher_for(event: str, pattern: str) -> Matcher:
    if event in ("FileChanged", "StopFailure"):
        return name_list(pattern, separators="|", plain="." if event == "FileChanged" else "")
    return name_list(pattern)


def _name(handler: Handler, source: Source) -> str:
    words = handler.describe().split() or [handler.kind]
    name = os.path.basename(words[0])
    return f"{os.path.basename(_claude_files.plugin_root(source))}:{name}" if source.format == "plugin" else name


def arrange(hooks: Sequence[Hook], readings: Sequence[tuple[Source, Reading]]) -> list[Hook]:
    """All levels add. `disableAllHooks` counts by its nearest value; managed hooks only heed their own."""
    off = {source.layer: reading.settings.get("off") for source, reading in readings if reading.settings}
    nearest = next((off[layer] for layer in ("managed", "local", "project", "user") if layer in off), False)
    managed_only = any(reading.settings.get("managed_only") for _, reading in readings)
    return [
        hook.but(enabled=False)
        if (off.get("managed") if hook.origin.layer == "managed" else nearest or managed_only)
        else hook
        for hook in hooks
    ]


def batches(_event: Event, hooks: Sequence[Hook]) -> list[list[Hook]]:
    """Side by side. A settings file's hook runs once; a plugin's or skill's copy is its own."""
    of_settings = once_each(hook for hook in hooks if hook.origin.layer in ("managed", "user", "project", "local"))
    kept = {id(hook) for hook in of_settings}
    return [[h for h in hooks if id(h) in kept or h.origin.layer in ("plugin", "skill", "subagent")]]


def hook_input(hook: Hook, event: Event, setting: Setting) -> HookInput:
    env = {"CLAUDE_PROJECT_DIR": setting.project}
    if event.session_id:
        env["CLAUDE_CODE_SESSION_ID"] = event.session_id
    if hook.options.get("root"):
        env["CLAUDE_PLUGIN_ROOT"] = hook.options["root"]
    payload = {
        "session_id": "",
        "transcript_path": "",
        "cwd": event.cwd or setting.project,
        **event.payload(),
    }
    return HookInput(stdin=wire.encode(payload), env=env)


def read_verdict(hook: Hook, event: Event, result: Result) -> Verdict:
    verdict = _read_result(event, result)
    if hook.options.get("async"):
        return Verdict(context=verdict.context, user_message=verdict.user_message)
    return verdict


def _read_result(event: Event, result: Result) -> Verdict:
    text = text_of(result.stdout)
    output = json_output(result) if text.endswith("}") or result.truncated else None
    said = read_output(event, output) if output is not None else NONE
    if result.exit_code == 2:
        reason = said.reason if said.denies else text_of(result.stderr)
        return verdicts.block(reason or "Blocked by hook", context=said.context, user_message=said.user_message)
    if output is not None:
        return said
    if result.exit_code:
        first_line = text_of(result.stderr).partition("\n")[0]
        raise HookFailed(f"exit {result.exit_code}" + (f": {first_line}" if first_line else ""))
    if text.startswith("{") and text.endswith("}"):
        raise HookFailed("its output is not JSON that can be read")
    return verdicts.context(text) if text and event.name in _TEXT_IS_CONTEXT else NONE


def read_value(_hook: Hook, event: Event, value: object) -> Verdict:
    if isinstance(value, dict):
        return read_output(event, value)
    return NONE if value is None else verdicts.context(str(value))


_COMMON = frozenset({"continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason"})
_SPECIFIC = frozenset(
    {"hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext",
     "updatedToolOutput", "updatedMCPToolOutput", "decision"}
)  # fmt: skip


def read_output(event: Event, output: dict[str, Any]) -> Verdict:
    """A verdict from Claude Code's JSON. A refusal counts also where the rest of the object is wrong."""
    specific = output.get("hookSpecificOutput")
    specific = specific if isinstance(specific, dict) else {}
    word, reason, update = _decision(event, output, specific)
    extra = {key: value for key, value in specific.items() if key not in _SPECIFIC}
    if isinstance(output.get("terminalSequence"), str):
        extra["terminalSequence"] = output["terminalSequence"]
    fields = {
        "reason": reason,
        "context": text_in(specific, "additionalContext"),
        "user_message": text_in(output, "systemMessage"),
        "updated_input": update,
        "updated_output": specific.get("updatedToolOutput", specific.get("updatedMCPToolOutput")),
        "stop": output.get("continue") is False,
        "stop_reason": text_in(output, "stopReason"),
        "suppress_output": output.get("suppressOutput") is True,
        "extra": {**extra, **_permission_extra(specific)},
    }
    fields = {key: value for key, value in fields.items() if value not in (None, "", False, {})}
    return Verdict.of(word, **fields) if word != "none" or fields else NONE


def _decision(event: Event, output: dict[str, Any], specific: dict[str, Any]) -> tuple[str, str, Any]:
    nested = specific.get("decision")
    if event.name == "PermissionRequest" and isinstance(nested, dict):
        return _known(nested.get("behavior")), text_in(nested, "message"), _object(nested, "updatedInput")
    update = _object(specific, "updatedInput")
    word = _known(specific.get("permissionDecision"))
    if word != "none":
        return word, text_in(specific, "permissionDecisionReason") or text_in(output, "reason"), update
    if event.name.startswith("Elicitation") and specific.get("action") in ("decline", "cancel"):
        return "deny", text_in(output, "reason"), update
    legacy = _known(output.get("decision"))
    if legacy in ("block", "deny") or (legacy in ("approve", "allow") and event.name == "PreToolUse"):
        return legacy, text_in(output, "reason"), update
    return "none", "", update


def _permission_extra(specific: dict[str, Any]) -> dict[str, Any]:
    nested = specific.get("decision")
    if not isinstance(nested, dict):
        return {}
    return {key: nested[key] for key in ("updatedPermissions", "interrupt") if key in nested}


def _known(word: object) -> str:
    return word if word in ("allow", "deny", "ask", "defer", "block", "approve") else "none"


def _object(fields: dict[str, Any], key: str) -> dict[str, Any] | None:
    value = fields.get(key)
    return value if isinstance(value, dict) else None


def on_failure(_event: Event) -> str:
    return "allow"


def ends_row(_event: Event, _verdict: Verdict) -> bool:
    return False


def merge(_event: Event, said: Sequence[Verdict]) -> Verdict:
    return verdicts.merge(said)


# --- the agent half ----------------------------------------------------------------------------------

_TALKS = frozenset({"user_message", "stop"})
CAN: Mapping[str, frozenset[str]] = {
    "PreToolUse": frozenset({"deny", "ask", "allow", "defer", "rewrite", "context"}) | _TALKS,
    "PermissionRequest": frozenset({"deny", "allow", "rewrite"}) | _TALKS,
    "PermissionDenied": _TALKS,
    "PostToolUse": frozenset({"deny", "output", "context"}) | _TALKS,
    "PostToolUseFailure": frozenset({"deny", "context"}) | _TALKS,
    "PostToolBatch": frozenset({"deny", "context"}) | _TALKS,
    "UserPromptSubmit": frozenset({"deny", "context"}) | _TALKS,
    "UserPromptExpansion": frozenset({"deny", "context"}) | _TALKS,
    "SessionStart": frozenset({"context"}) | _TALKS,
    "SubagentStart": frozenset({"context"}) | _TALKS,
    "Stop": frozenset({"deny", "context"}) | _TALKS,
    "SubagentStop": frozenset({"deny", "context"}) | _TALKS,
    "TaskCreated": frozenset({"deny", "user_message"}),
    "TaskCompleted": frozenset({"deny"}) | _TALKS,
    "TeammateIdle": frozenset({"deny"}) | _TALKS,
    "ConfigChange": frozenset({"deny"}),
    "PreCompact": frozenset({"deny"}),
    "PreModelSwitch": frozenset({"deny", "ask", "allow"}) | _TALKS,
    "PostModelSwitch": frozenset({"context"}) | _TALKS,
    "Elicitation": frozenset({"deny", "allow"}),
    "ElicitationResult": frozenset({"deny", "allow"}),
    "WorktreeCreate": frozenset({"deny"}),
    "WorktreeRemove": frozenset({"deny"}),
    "CwdChanged": frozenset({"user_message"}),
    "DirectoryAdded": frozenset({"user_message"}),
    "FileChanged": frozenset({"user_message"}),
    "*": frozenset(),
}

DEADLINES: Mapping[str, float] = {**_DEFAULT_TIMEOUTS, "SessionEnd": 1.5, "*": 600.0}
CAPS_STOPS = True
INPUT_VARIABLE = ""


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    return Event.from_payload(wire.decode_object(raw), event_name)


def write_reply(event: Event, decision: Decision) -> Reply:
    if event.name.startswith("Worktree") and decision.denies:
        return Reply(stderr=decision.reason, exit_code=2)
    if event.name == "WorktreeCreate" and isinstance(decision.extra.get("worktreePath"), str):
        return Reply(stdout=decision.extra["worktreePath"].encode() + b"\n")
    answer = write_result(event, decision)
    return Reply(stdout=wire.encode(answer) + b"\n" if answer else b"")


def write_result(event: Event, decision: Decision) -> dict[str, Any]:
    """One hook's JSON, with exactly the keys that Claude Code knows for this event."""
    specific = given({**_specific(event, decision), "additionalContext": decision.for_model})
    answer: dict[str, Any] = {}
    if specific:
        answer["hookSpecificOutput"] = {"hookEventName": event.name, **specific}
    if decision.denies and not _decides_inside(event):
        answer |= {"decision": "block", "reason": decision.reason or "Blocked by hook"}
    if decision.stop:
        answer |= given({"continue": False, "stopReason": decision.stop_reason})
    return answer | given(
        {
            "systemMessage": decision.user_message,
            "suppressOutput": decision.suppress_output or None,
            "terminalSequence": decision.extra.get("terminalSequence"),
        }
    )


def _decides_inside(event: Event) -> bool:
    return event.name in (
        "PreToolUse",
        "PermissionRequest",
        "PreModelSwitch",
        "Elicitation",
        "ElicitationResult",
    )


def _specific(event: Event, decision: Decision) -> dict[str, Any]:
    own = {key: value for key, value in decision.extra.items() if key != "terminalSequence"}
    if event.name == "PermissionRequest":
        return _permission(decision, own)
    if event.name in ("PreToolUse", "PreModelSwitch"):
        return {**own, **_tool_permission(event, decision)}
    if event.name.startswith("Elicitation") and decision.denies:
        return {"action": "decline", **own}
    return {**own, "updatedToolOutput": decision.updated_output}


def _tool_permission(event: Event, decision: Decision) -> dict[str, Any]:
    word, reason = decision.decision, decision.reason
    if decision.stop and event.name == "PreToolUse" and word != "deny":
        # Claude Code runs the tool before it stops on `continue: false`.
        word, reason = "deny", decision.stop_reason or "a hook has ended the turn"
    if word == "deny":
        reason = reason or "Blocked by hook"
    return {
        "permissionDecision": word if word != "none" else None,
        "permissionDecisionReason": reason if word != "none" else None,
        "updatedInput": decision.updated_input if word != "deny" else None,
    }


def _permission(decision: Decision, own: dict[str, Any]) -> dict[str, Any]:
    if decision.decision not in ("allow", "deny"):
        return {}
    nested = {"behavior": decision.decision, "message": decision.reason if decision.denies else None,
              "updatedInput": None if decision.denies else decision.updated_input,
              "updatedPermissions": own.get("updatedPermissions"), "interrupt": own.get("interrupt")}  # fmt: skip
    return {"decision": given(nested)}


write_failure = exit_2
