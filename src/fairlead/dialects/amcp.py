"""AMCP: TOML or JSON handlers, one after the other; exit 2 or a permission decision to deny."""

from __future__ import annotations

import os

from fairlead import documents, verdicts, wire
from fairlead.dialects import HookInput, Reading, Reply, Source
from fairlead.dialects._common import (
    Reader,
    cut_answer,
    exit_2,
    fails_open,
    file_name,
    given,
    json_output,
    merge_input,
    merged_update,
    never_again,
    own_update,
    text_in,
    text_of,
    tool_matcher,
    updated_input,
)
from fairlead.events import Event
from fairlead.handlers.command import Command, Script
from fairlead.handlers.function import Named
from fairlead.hooks import Hook, HookFailed, Origin
from fairlead.tools import Vocabulary, read_call, tool
from fairlead.verdicts import NONE, Verdict, join_lines, last_given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from fairlead.dialects import Places
    from fairlead.dialects._common import Path
    from fairlead.hooks import Handler, Setting
    from fairlead.verdicts import Decision
    from fairlead.work import Result

NAME = "amcp"
TOOLS = Vocabulary(
    tool("bash", "Bash"),
    tool("write_file", "Write", path="file_path"),
    tool("edit_file", "Edit", path="file_path"),
    tool("read_file", "Read", path="file_path"),
    tool("apply_patch", "apply_patch", patch="command"),
    tool("grep", "Grep"),
)
EVENTS: Mapping[str, str] = {
    name: name
    for name in (
        "PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart", "SessionEnd", "Stop", "PreCompact",
        "Notification",
    )
}  # fmt: skip

again = never_again
on_failure = fails_open
log = None
rewritten = merge_input

_KEYS = ("matcher", "type", "command", "script", "function", "timeout", "enabled", "reads")
_FIELDS = (
    "session_id", "hook_event_name", "cwd", "tool_name", "tool_input", "tool_response", "tool_use_id", "prompt",
    "message", "notification_type", "metadata",
)  # fmt: skip


# --- the hook half -----------------------------------------------------------------------------------


def sources(places: Places) -> list[Source]:
    user, project = os.path.join(places.config, "amcp"), os.path.join(places.project, ".amcp")
    return [
        Source(path=os.path.join(folder, name), layer=layer, owner=layer)
        for folder, layer in ((user, "user"), (project, "project"))
        for name in ("hooks.toml", "hooks.json")
    ]


def read(source: Source, text: str, places: Places) -> Reading:
    reader = Reader(source, text)
    if source.path.endswith(".toml"):
        data = _parse_toml(reader, text, places)
    else:
        data = documents.parse_json(text)
    if not reader.expect(data, dict, (), "the configuration must be an object"):
        return reader.reading()
    hooks = data.get("hooks", {})
    if reader.expect(hooks, dict, ("hooks",), "hooks must be a table of events"):
        for name, section in hooks.items():
            _read_event(reader, name, section, places)
    return reader.reading()


def _parse_toml(reader: Reader, text: str, places: Places) -> Any:
    try:
        return documents.parse_toml(text, places.environ)
    except documents.BadDocument as error:
        # The matcher "mcp\..*" of AMCP's own manual is no TOML; for it alone the whole file would be lost.
        try:
            data = documents.parse_toml(_with_escaped_backslashes(text), places.environ)
        except documents.BadDocument:
            raise error from None
        hint = "write it in single quotes; until then each backslash is taken as it stands"
        reader.problem_at(error.line, error.column, str(error), hint)
        return data


def _with_escaped_backslashes(text: str) -> str:
    """The text with those backslashes doubled that stand in "…" and mean nothing to TOML."""
    import re

    tokens = re.compile(r"""#[^\n]*|'[^'\n]*'|"(?:\\.|[^"\\\n])*\"""")
    escapes = re.compile(r"""\\([btnfruU"\\])|\\""")

    def double(match: re.Match[str]) -> str:
        token = match.group()
        if not token.startswith('"'):
            return token
        return escapes.sub(lambda escape: escape.group() if escape[1] else r"\\", token)

    return tokens.sub(double, text)


def _read_event(reader: Reader, name: str, section: Any, places: Places) -> None:
    path: Path = ("hooks", name)
    event = reader.event(name, EVENTS, path)
    if not event:
        return
    if isinstance(section, list):
        reader.problem(path, f"{name} is a list", 'its handlers belong under "handlers"; they are taken from here')
        entries = reader.entries(section, path, name)
    elif reader.expect(section, dict, path, f"{name} must be a table"):
        entries = reader.entries(section.get("handlers", []), (*path, "handlers"), "handlers")
    else:
        return
    for entry, place in entries:
        _read_handler(reader, event, entry, place, places)


def _read_handler(reader: Reader, event: str, entry: dict[str, Any], path: Path, places: Places) -> None:
    handler = _handler(reader, entry, path, places)
    if handler is None:
        return
    reader.hooks.append(
        Hook(
            name=file_name(handler),
            events=(event,),
            handler=handler,
            origin=Origin(dialect=NAME, layer=reader.source.layer, file=reader.source.path, path=path),
            matcher=tool_matcher(event, reader.matcher_text(entry.get("matcher", "*"), (*path, "matcher"))),
            matcher_path=(*path, "matcher"),
            timeout=reader.timeout(entry, path, "timeout", 30.0, 1),
            enabled=reader.switched_on(entry, path),
            options={"reads": entry.get("reads", "")},
        )
    )


def _handler(reader: Reader, entry: dict[str, Any], path: Path, places: Places) -> Handler | None:
    reader.slips(entry, _KEYS, path)
    kind = entry.get("type", "command")
    if kind == "command":
        command = reader.text_field(entry, "command", path)
        return Command(command=_with_quoted_project(command), cwd=places.project) if command else None
    if kind != "python":
        reader.problem((*path, "type"), f"unknown type {kind!r}", "one of: command, python")
        return None
    if "function" in entry:
        target = reader.text_field(entry, "function", path)
        roots = (os.path.dirname(reader.source.path), places.project)
        return Named(target=target, roots=roots) if target else None
    if "script" not in entry:
        reader.problem(path, "a python handler needs `script` or `function`")
        return None
    script = reader.text_field(entry, "script", path)
    roots = (os.path.dirname(reader.source.path), places.project)
    return Script(script=script, roots=roots, cwd=places.project) if script else None


def _with_quoted_project(command: str) -> str:
    """A project's path may hold spaces, and nobody wants them to split a command."""
    if '"' in command or "'" in command:
        return command
    for name in ("${AMCP_PROJECT_DIR}", "$AMCP_PROJECT_DIR"):
        if name in command:
            return command.replace(name, f'"{name}"')
    return command


def arrange(hooks: Sequence[Hook], _readings: Sequence[tuple[Source, Reading]]) -> list[Hook]:
    """The project's first; what it says for an event and matcher replaces what the user says, if trusted."""
    of_project = [hook for hook in hooks if hook.origin.layer == "project"]
    replaced = {_subject(hook) for hook in of_project if hook.trusted and hook.enabled}
    of_user = [hook for hook in hooks if hook.origin.layer == "user"]
    return of_project + [hook for hook in of_user if _subject(hook) not in replaced]


def _subject(hook: Hook) -> tuple[object, ...]:
    return (*hook.events, hook.matcher.text or "*")


def batches(_event: Event, hooks: Sequence[Hook]) -> list[list[Hook]]:
    return [[hook] for hook in hooks]


def hook_input(_hook: Hook, event: Event, setting: Setting) -> HookInput:
    payload = event.payload()
    payload["cwd"] = event.cwd or setting.project
    own = {key: payload[key] for key in _FIELDS if key in payload}
    env = {
        "AMCP_PROJECT_DIR": setting.project,
        "AMCP_SESSION_ID": event.session_id,
        "AMCP_HOOK_EVENT": event.name,
    }
    tool = text_in(own, "tool_name")
    if tool:
        env["AMCP_TOOL_NAME"] = tool
    return HookInput(stdin=wire.encode({"session_id": "", **own}), env=env, absent=() if tool else ("AMCP_TOOL_NAME",))


def read_verdict(hook: Hook, event: Event, result: Result) -> Verdict:
    out, err = text_of(result.stdout), text_of(result.stderr)
    if result.exit_code == 2:
        return verdicts.deny(err or "Hook returned blocking error")
    if result.exit_code:
        raise HookFailed(f"exit {result.exit_code}" + (f": {err or out}" if err or out else ""))
    if (cut := cut_answer(result)) is not None:
        return cut
    output = json_output(result)
    if output is not None:
        return read_value(hook, event, output)
    return Verdict(feedback=out) if out else NONE


def read_value(_hook: Hook, event: Event, value: object) -> Verdict:
    if value is None:
        return NONE
    if isinstance(value, Verdict):
        return value
    if not isinstance(value, dict):
        return Verdict(feedback=str(value))
    specific = value.get("hookSpecificOutput")
    specific = specific if isinstance(specific, dict) else {}
    word, reason = _decision(event, value, specific)
    fields = {
        "reason": reason,
        "feedback": text_in(value, "feedback"),
        "context": text_in(specific, "additionalContext"),
        "user_message": text_in(value, "systemMessage"),
        "suppress_output": value.get("suppressOutput") is True,
        "stop": value.get("continue") is False,
        "stop_reason": text_in(value, "stopReason"),
        "updated_input": updated_input(event, specific),
    }
    kept = {key: item for key, item in fields.items() if item}
    output = last_given((value.get("updatedResponse"), specific.get("updatedResponse")))
    if output is not None:
        kept["updated_output"] = output
    return Verdict.of(word, **_only_json(word, kept))


def _only_json(word: str, fields: dict[str, Any]) -> dict[str, Any]:
    """A function may return anything. A refusal stands all the same; a rewrite that cannot be told is a failure."""
    updates = [fields[key] for key in ("updated_input", "updated_output") if key in fields]
    try:
        wire.encode(updates)
    except (TypeError, ValueError, RecursionError) as error:
        if word not in ("deny", "block"):
            raise HookFailed(f"what it returned cannot be used: {error}") from None
        return {key: value for key, value in fields.items() if not key.startswith("updated_")}
    return fields


def _decision(event: Event, value: dict[str, Any], specific: dict[str, Any]) -> tuple[str, str]:
    word = specific.get("permissionDecision")
    if isinstance(word, str):
        reason = text_in(specific, "permissionDecisionReason")
        if word.lower() in ("allow", "deny", "ask"):
            return word.lower(), reason
        return "deny", join_lines((f"unknown permissionDecision {word!r}", reason))
    for place in (specific, value):
        if place.get("decision") in ("block", "deny"):
            return "block" if event.name in ("Stop", "PostToolUse") else "deny", text_in(place, "reason")
    return "none", ""


def ends_row(_event: Event, verdict: Verdict) -> bool:
    return verdict.denies or verdict.stop


def merge(_event: Event, said: Sequence[Verdict]) -> Verdict:
    merged = verdicts.merge(said)
    updates = merged_update(said)
    return merged.but(updated_input=updates) if updates else merged


# --- the agent half ----------------------------------------------------------------------------------

_TALKS = frozenset({"context", "user_message", "stop"})
CAN: Mapping[str, frozenset[str]] = {
    "PreToolUse": frozenset({"deny", "ask", "allow", "rewrite_over"}) | _TALKS,
    "PostToolUse": frozenset({"deny", "output"}) | _TALKS,
    "UserPromptSubmit": frozenset({"deny"}) | _TALKS,
    "Stop": frozenset({"deny"}) | _TALKS,
    "*": _TALKS,
}
DEADLINES: Mapping[str, float] = {"*": 30.0}
CAPS_STOPS = False
INPUT_VARIABLE = ""


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    return Event.from_payload(read_call(TOOLS, wire.decode_object(raw)), event_name)


def write_reply(event: Event, decision: Decision) -> Reply:
    if decision.stop and event.name == "PreToolUse" and not decision.denies:
        # The turn ends after the tool, and the tool must not run either.
        decision = decision.but(decision="deny", said="", reason=decision.stop_reason or "a hook has ended the turn")
    return Reply(stdout=wire.encode(write_result(event, decision)) + b"\n")


def write_result(event: Event, decision: Decision) -> dict[str, Any]:
    refused = decision.denies and event.name == "UserPromptSubmit"
    own = decision.groups.get(NAME, NONE)
    answer: dict[str, Any] = {"continue": not (decision.stop or refused)}
    if decision.denies and event.name in ("Stop", "PostToolUse"):
        answer |= {"decision": "block", "reason": decision.reason}
    answer |= given(
        {
            "stopReason": (decision if decision.stop else own).stop_reason or (decision.reason if refused else ""),
            "feedback": _feedback(event, decision),
            "systemMessage": decision.user_message,
            "suppressOutput": decision.suppress_output or None,
        }
    )
    specific = {key: value for key, value in _specific(event, decision).items() if value is not None}
    if specific:
        answer["hookSpecificOutput"] = {"hookEventName": event.name, **specific}
    return answer


def _feedback(event: Event, decision: Decision) -> str:
    """After a tool a refusal can only be told."""
    refusal = decision.reason if decision.denies and event.name == "PostToolUse" else ""
    return join_lines((decision.for_model, refusal))


def _specific(event: Event, decision: Decision) -> dict[str, Any]:
    if event.name == "PostToolUse":
        return {"updatedResponse": decision.updated_output}
    if event.name == "Stop":
        return {}
    return {
        "permissionDecision": decision.decision if decision.decision != "none" else None,
        "permissionDecisionReason": decision.reason or None if decision.decision != "none" else None,
        "updatedInput": own_update(NAME, event, decision),
    }


write_failure = exit_2
