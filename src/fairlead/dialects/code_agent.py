"""Code Agent: one hook after the other, the project's first; any exit but 0 blocks."""

from __future__ import annotations

import time

from fairlead import documents, verdicts, wire
from fairlead.dialects import HookInput, Reading, Reply, _claude_files
from fairlead.dialects._common import (
    Reader,
    command_or_prompt,
    file_name,
    given,
    json_output,
    merge_all,
    never_again,
    once_each,
    read_groups,
    replace_input,
    text_in,
    text_of,
    tool_matcher,
)
from fairlead.errors import InputError
from fairlead.events import Event, ToolEvent
from fairlead.hooks import Hook, Origin
from fairlead.verdicts import NONE, Verdict
from fairlead.work import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from fairlead.dialects import Places, Source
    from fairlead.dialects._common import Path
    from fairlead.hooks import Report, Setting
    from fairlead.verdicts import Decision

NAME = "code-agent"
TOOLS = None
EVENTS: Mapping[str, str] = {
    name: name
    for name in (
        "PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact",
        "Setup", "SessionStart", "SessionEnd", "Notification",
    )
}  # fmt: skip

again = never_again
merge = merge_all
log = None
rewritten = replace_input

_MILLISECONDS = 0.001
_TIMEOUT, _PROMPT_TIMEOUT = 5.0, 10.0


# --- the hook half -----------------------------------------------------------------------------------


def sources(places: Places) -> list[Source]:
    return [source for source in _claude_files.settings(places) if source.layer in ("user", "project")]


def read(source: Source, text: str, _places: Places) -> Reading:
    reader = Reader(source, text)
    data = documents.parse_json(text)
    if reader.expect(data, dict, (), "settings must be an object") and "hooks" in data:
        for event, group, handler, path in read_groups(reader, data["hooks"], EVENTS):
            _read_handler(reader, event, group, handler, path)
    return reader.reading()


def _read_handler(reader: Reader, event: str, group: Any, entry: Any, path: Path) -> None:
    handler = command_or_prompt(reader, entry, path, "word")
    if handler is None:
        return
    default = _TIMEOUT if "command" in entry else _PROMPT_TIMEOUT
    reader.hooks.append(
        Hook(
            name=file_name(handler),
            events=(event,),
            handler=handler,
            origin=Origin(dialect=NAME, layer=reader.source.layer, file=reader.source.path, path=path),
            matcher=tool_matcher(event, reader.matcher_text(group.get("matcher"), (*path[:-2], "matcher"))),
            matcher_path=(*path[:-2], "matcher"),
            timeout=reader.timeout(entry, path, "timeout", default, _MILLISECONDS),
            options={"reads": entry.get("reads", "")},
        )
    )


def arrange(hooks: Sequence[Hook], _readings: Sequence[tuple[Source, Reading]]) -> list[Hook]:
    ordered = sorted(hooks, key=lambda hook: hook.origin.layer != "project")
    return [hook.but(name=name) for hook, name in zip(ordered, _numbered([h.name for h in ordered]), strict=True)]


def _numbered(names: Sequence[str]) -> list[str]:
    """A result names its hook by `hookId`, so two `jq` get two names."""
    return [f"{name}#{names[:i].count(name) + 1}" if name in names[:i] else name for i, name in enumerate(names)]


def batches(_event: Event, hooks: Sequence[Hook]) -> list[list[Hook]]:
    return [[hook] for hook in once_each(hooks)]


def hook_input(_hook: Hook, event: Event, _setting: Setting) -> HookInput:
    env = {"SESSION_ID": event.session_id}
    if isinstance(event, ToolEvent):
        env |= {"TOOL_NAME": event.tool_name, "TOOL_INPUT": wire.encode_text(event.tool_input)}
        env |= given({"FILE_PATH": event.file_path, "COMMAND": event.command})
    return HookInput(
        stdin=wire.encode(_own_event(event)),
        env=env,
        carries_input=_CARRIES_INPUT,
        absent=tuple(name for name in ("TOOL_NAME", *_CARRIES_INPUT) if name not in env),
    )


_CARRIES_INPUT = ("TOOL_INPUT", "COMMAND", "FILE_PATH")


_OWN_NAMES = {"tool_name": "toolName", "tool_input": "input", "tool_response": "output"}
_CANONICAL_NAMES = {own: name for name, own in _OWN_NAMES.items()}


def _own_event(event: Event) -> dict[str, Any]:
    payload = event.payload()
    for key in ("hook_event_name", "session_id"):
        payload.pop(key, None)
    return {
        "type": event.name,
        "timestamp": payload.pop("timestamp", None) or round(time.time() * 1000),
        "sessionId": event.session_id,
        "payload": {_OWN_NAMES.get(key, key): value for key, value in payload.items()},
    }


def read_verdict(hook: Hook, event: Event, result: Result) -> Verdict:
    if result.exit_code:
        return verdicts.block(
            text_of(result.stderr) or text_of(result.tail) or f"{hook.name} exited with {result.exit_code}"
        )
    output = json_output(result)
    return read_value(hook, event, output) if output is not None else NONE


def read_value(_hook: Hook, _event: Event, value: object) -> Verdict:
    """The document lets commands answer by exit code alone; a block in JSON is honoured all the same."""
    word = value.get("decision", value.get("action")) if isinstance(value, dict) else None
    if word in ("block", "deny"):
        return verdicts.block(text_in(value, "reason") or text_in(value, "message"))  # type: ignore[arg-type]
    return Verdict(said="continue") if word == "continue" else NONE


def on_failure(event: Event) -> str:
    return "deny" if event.name in ("PreToolUse", "UserPromptSubmit") else "allow"


def ends_row(_event: Event, verdict: Verdict) -> bool:
    return verdict.denies


# --- the agent half ----------------------------------------------------------------------------------

CAN: Mapping[str, frozenset[str]] = {"*": frozenset({"deny", "allow"})}
DEADLINES: Mapping[str, float] = {"*": 5.0}
CAPS_STOPS = False
INPUT_VARIABLE = "TOOL_INPUT"


def read_event(raw: bytes, event_name: str, environ: Mapping[str, str]) -> Event:
    """A `HookEvent` in JSON; for one of its hooks, what the environment says."""
    if not raw.strip() and "SESSION_ID" in environ:
        return _event_of_environment(event_name, environ)
    own = wire.decode_object(raw)
    name: object = event_name or own.get("type")
    payload = own.get("payload") or {}
    if not isinstance(name, str) or not name:
        raise InputError("the event has no type", hint="a HookEvent is {type, timestamp, sessionId, payload}")
    if not isinstance(payload, dict):
        raise InputError("the event's payload must be an object")
    fields = {_CANONICAL_NAMES.get(str(key), str(key)): value for key, value in payload.items()}
    fields |= given({"session_id": own.get("sessionId"), "timestamp": own.get("timestamp")})
    return Event.from_payload(fields, name)


def _event_of_environment(event_name: str, environ: Mapping[str, str]) -> Event:
    fields: dict[str, Any] = {"session_id": environ["SESSION_ID"]}
    if "TOOL_NAME" in environ:
        tool_input = wire.decode_object(environ.get("TOOL_INPUT") or "{}", "TOOL_INPUT")
        fields |= {"tool_name": environ["TOOL_NAME"], "tool_input": tool_input}
    return Event.from_payload(fields, event_name)


def write_reply(_event: Event, decision: Decision) -> Reply:
    if not decision.denies:
        return Reply()
    reason = decision.reason or "blocked"
    return Reply(stdout=reason.encode("utf-8", "replace") + b"\n", stderr=reason + "\n", exit_code=1)


def write_result(_event: Event, decision: Decision) -> dict[str, Any]:
    """A `HookResult`; a block that no hook of the list explains is not possible."""
    results = [_one(report) for report in decision.met if report.ran]
    if decision.denies and not any(result["decision"] == "block" for result in results):
        results.append({"hookId": "fairlead", "success": True, "error": decision.reason, "decision": "block"})
    return {"allowed": not decision.denies, "results": results}


def _one(report: Report) -> dict[str, Any]:
    verdict = report.verdict or NONE
    outcome = report.outcome if isinstance(report.outcome, Result) else Result()
    refused = verdict.reason if verdict.denies else ""
    return {
        "hookId": report.hook.name,
        "success": not report.error,
        **given({"output": text_of(outcome.stdout), "error": report.error or refused or text_of(outcome.stderr)}),
        "decision": _word(verdict),
    }


def _word(verdict: Verdict) -> str:
    if verdict.denies:
        return "block"
    return "continue" if verdict.said == "continue" else "allow"


def write_failure(event_name: str, message: str) -> Reply:
    del event_name
    return Reply(stderr=f"Fairlead: {message}\n", exit_code=1)
