"""CodeMie Code: hooks per profile, side by side, failing open; exit 2 or JSON to block."""

from __future__ import annotations

import os

from fairlead import documents, verdicts, wire
from fairlead.dialects import HookInput, Reading, Reply, Source
from fairlead.dialects._common import (
    Reader,
    all_run,
    command_or_prompt,
    cut_answer,
    did_you_mean,
    exit_2,
    fails_open,
    file_name,
    given,
    json_output,
    merge_input,
    merged_update,
    once_each,
    own_update,
    read_groups,
    text_in,
    text_of,
    tool_matcher,
    updated_input,
)
from fairlead.events import Event
from fairlead.hooks import Hook, HookFailed, Origin
from fairlead.verdicts import NONE, Verdict, join_lines, unique_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from fairlead.dialects import Places
    from fairlead.dialects._common import Path
    from fairlead.hooks import Report, Setting
    from fairlead.verdicts import Decision
    from fairlead.work import Result

NAME = "codemie"
TOOLS = None
EVENTS: Mapping[str, str] = {
    name: name
    for name in (
        "PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart", "SessionEnd", "Stop", "SubagentStop",
    )
}  # fmt: skip

on_failure = fails_open
ends_row = all_run
rewritten = merge_input

_RANK = {"none": 0, "allow": 1, "approve": 2, "deny": 3, "block": 4}
_RETRIES = 5
_AGENT = "codemie-code"
_MODE = "auto"
_MILLISECONDS = 0.001


# --- the hook half -----------------------------------------------------------------------------------


def sources(places: Places) -> list[Source]:
    path = os.path.join(places.home, ".codemie", "codemie-cli.config.json")
    return [Source(path=path, layer="user", owner="user")]


def read(source: Source, text: str, _places: Places) -> Reading:
    reader = Reader(source, text)
    data = documents.parse_json(text)
    if not reader.expect(data, dict, (), "the configuration must be an object"):
        return reader.reading()
    name, profile = _active_profile(reader, data)
    if profile.get("hooks") is None:
        return reader.reading()
    options = {
        "profile": name,
        "debug": profile.get("debug") is True,
        "retries": _retries(reader, data, profile, name),
    }
    path = ("profiles", name, "hooks")
    for event, group, handler, place in read_groups(reader, profile["hooks"], EVENTS, path):
        _read_handler(reader, event, group, handler, place, options)
    return reader.reading()


def _active_profile(reader: Reader, data: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    profiles = data.get("profiles", {})
    name = data.get("activeProfile", "default")
    if not reader.expect(profiles, dict, ("profiles",), "profiles must be an object"):
        return "", {}
    if not reader.expect(name, str, ("activeProfile",), "activeProfile must be a string"):
        return "", {}
    if name not in profiles:
        if "activeProfile" in data or profiles:
            reader.problem(("activeProfile",), f"there is no profile {name!r}", did_you_mean(name, profiles))
        return "", {}
    profile = profiles[name]
    return name, profile if reader.expect(profile, dict, ("profiles", name), "a profile must be an object") else {}


def _retries(reader: Reader, data: dict[str, Any], profile: dict[str, Any], name: str) -> int:
    where: tuple[str, ...] = ("profiles", name) if "maxHookRetries" in profile else ()
    value = profile.get("maxHookRetries", data.get("maxHookRetries", _RETRIES))
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    reader.problem((*where, "maxHookRetries"), "maxHookRetries must be 0 or more", f"{_RETRIES} is used")
    return _RETRIES


def _read_handler(reader: Reader, event: str, group: Any, entry: Any, path: Path, options: Mapping[str, Any]) -> None:
    handler = command_or_prompt(reader, entry, path, "decision")
    if handler is None:
        return
    reader.hooks.append(
        Hook(
            name=file_name(handler),
            events=(event,),
            handler=handler,
            origin=Origin(dialect=NAME, layer="user", file=reader.source.path, path=path),
            matcher=tool_matcher(event, reader.matcher_text(group.get("matcher"), (*path[:-2], "matcher"))),
            matcher_path=(*path[:-2], "matcher"),
            timeout=reader.timeout(entry, path, "timeout", 60.0, _MILLISECONDS),
            options={**options, "reads": entry.get("reads", "")},
        )
    )


def arrange(hooks: Sequence[Hook], _readings: Sequence[tuple[Source, Reading]]) -> Sequence[Hook]:
    return hooks


def batches(_event: Event, hooks: Sequence[Hook]) -> list[list[Hook]]:
    return [once_each(hooks)]


def hook_input(hook: Hook, event: Event, setting: Setting) -> HookInput:
    payload = _payload(hook, event, setting)
    text = wire.encode_text(payload)
    env = {
        "CODEMIE_PROJECT_DIR": payload["cwd"],
        "CODEMIE_SESSION_ID": event.session_id,
        "CODEMIE_HOOK_EVENT": event.name,
        "CODEMIE_TOOL_NAME": str(payload.get("tool_name") or ""),
        "CODEMIE_AGENT_NAME": str(payload.get("agent_name") or _AGENT),
        "CODEMIE_PROFILE_NAME": str(payload.get("profile_name") or hook.options.get("profile", "")),
        "CODEMIE_TRANSCRIPT_PATH": event.transcript_path,
        "CODEMIE_PERMISSION_MODE": event.permission_mode or _MODE,
        "CODEMIE_HOOK_INPUT": text,
    }
    return HookInput(stdin=text.encode(), env=env, carries_input=("CODEMIE_HOOK_INPUT",))


def _payload(hook: Hook, event: Event, setting: Setting) -> dict[str, Any]:
    payload = event.payload()
    payload["cwd"] = event.cwd or setting.project
    if "tool_response" in payload:
        payload["tool_output"] = payload.pop("tool_response")
    if event.name in ("PreToolUse", "SessionStart"):
        payload.setdefault("permission_mode", _MODE)
    if event.name == "SessionStart":
        payload.setdefault("agent_name", _AGENT)
        payload.setdefault("profile_name", hook.options.get("profile", ""))
    return payload


def read_verdict(hook: Hook, event: Event, result: Result) -> Verdict:
    out, err = text_of(result.stdout), text_of(result.stderr)
    if result.exit_code == 2:
        reason = err or out or "Hook returned blocking error (exit code 2)"
        feedback = join_lines((err, out)) if event.name == "SessionStart" else ""
        return Verdict.of("block", reason=reason, feedback=feedback)
    if result.exit_code:
        raise HookFailed(f"exit {result.exit_code}" + (f": {err or out}" if err or out else ""))
    if (cut := cut_answer(result)) is not None:
        return cut
    output = json_output(result)
    if output is not None:
        return read_value(hook, event, output)
    return verdicts.context(out) if out else NONE


def read_value(_hook: Hook, event: Event, value: object) -> Verdict:
    if not isinstance(value, dict):
        return NONE if value is None else verdicts.context(str(value))
    word = value.get("decision") or "allow"
    word = word.lower() if isinstance(word, str) else ""
    if word not in _RANK or word == "none":
        raise HookFailed(f"unknown decision {value['decision']!r}; it must be allow, deny, block or approve")
    if word == "deny" and event.name != "PreToolUse":
        word = "block"
    fields = {
        "reason": text_in(value, "reason"),
        "context": text_in(value, "additionalContext"),
        "updated_input": updated_input(event, value),
        "suppress_output": value.get("suppressOutput") is True,
    }
    kept: dict[str, Any] = {key: item for key, item in fields.items() if item}
    if word == "allow":
        # Its word for "nothing against it", and no more: elsewhere an allow would skip the agent's own question.
        return Verdict(said=word, **kept)
    return Verdict.of(word, **kept)


def merge(event: Event, said: Sequence[Verdict]) -> Verdict:
    """block > deny > approve > allow; updates are laid over each other in the order of the file."""
    merged = verdicts.merge(said, _RANK)
    if merged.reason and not merged.denies:
        merged = merged.but(reason=unique_lines(verdict.reason for verdict in said if verdict.word == merged.word))
    updates = merged_update(said)
    if updates:
        merged = merged.but(updated_input=updates)
    earlier = event.extra.get("previous_feedback")
    if event.name == "SessionStart" and earlier and not merged.feedback:
        merged = merged.with_context(str(earlier))  # the last there was, also when this attempt went well
    return merged


def again(event: Event, verdict: Verdict, hooks: Sequence[Hook], attempt: int) -> Event | None:
    """A session start that was blocked with feedback is tried again, with that feedback."""
    retries = max((hook.options.get("retries", _RETRIES) for hook in hooks), default=0)
    if event.name != "SessionStart" or not verdict.denies or not verdict.feedback or attempt > retries:
        return None
    return event.but(extra={**event.extra, "previous_feedback": verdict.feedback})


def log(report: Report, setting: Setting) -> None:
    """With `debug: true` in the profile, a line for each hook in ~/.codemie/logs."""
    if not report.hook.options.get("debug"):
        return
    import time

    folder = os.path.join(setting.home, ".codemie", "logs")
    line = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "event": report.event.name,
        "hook": report.hook.handler.describe(),
        "decision": report.verdict.word if report.verdict else "",
        "error": report.error,
        "ms": round(report.ms, 1),
    }
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, time.strftime("debug-%Y-%m-%d.log"))
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "ab") as file:
            file.write(wire.encode(line) + b"\n")
    except OSError:
        report.error = report.error or f"cannot write the debug log in {folder}"


# --- the agent half ----------------------------------------------------------------------------------

CAN: Mapping[str, frozenset[str]] = {
    "PreToolUse": frozenset({"deny", "allow", "rewrite_over", "context"}),
    "UserPromptSubmit": frozenset({"deny", "allow", "context"}),
    "SessionStart": frozenset({"deny", "allow", "context"}),
    "Stop": frozenset({"deny", "allow", "context"}),
    "SubagentStop": frozenset({"deny", "allow", "context"}),
    "*": frozenset({"allow", "context"}),
}
DEADLINES: Mapping[str, float] = {"*": 60.0}
CAPS_STOPS = False
INPUT_VARIABLE = "CODEMIE_HOOK_INPUT"


def read_event(raw: bytes, event_name: str, environ: Mapping[str, str]) -> Event:
    payload = wire.decode_object(raw or environ.get(INPUT_VARIABLE, ""))
    if "tool_output" in payload:
        payload["tool_response"] = payload.pop("tool_output")
    return Event.from_payload(payload, event_name or environ.get("CODEMIE_HOOK_EVENT", ""))


def write_reply(event: Event, decision: Decision) -> Reply:
    return Reply(stdout=wire.encode(write_result(event, decision)) + b"\n")


def write_result(event: Event, decision: Decision) -> dict[str, Any]:
    word = decision.word if decision.word in _RANK else decision.decision
    if decision.denies and (event.name != "PreToolUse" or word not in ("deny", "block")):
        word = "block"
    return {"decision": "allow" if word == "none" else word} | given(
        {
            "reason": decision.reason,
            "updatedInput": own_update(NAME, event, decision),
            "additionalContext": decision.for_model,
            "suppressOutput": decision.suppress_output or None,
        }
    )


write_failure = exit_2
