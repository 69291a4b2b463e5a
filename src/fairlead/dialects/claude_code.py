"""Claude Code: three-level settings, JSON on stdin, exit 2 or JSON to decide."""

from __future__ import annotations

from fairlead import verdicts, wire
from fairlead.dialects import HookInput, Reading, Reply, Source, _claude_files
from fairlead.dialects._claude_reply import DECIDES_INSIDE, ended_before, permission, reason, tool_permission
from fairlead.dialects._common import all_run, exit_2, given, is_off, never_again, owners, reaches, replace_input
from fairlead.events import EVENTS as ALL_EVENTS
from fairlead.events import Event
from fairlead.hooks import Hook, HookFailed
from fairlead.verdicts import NONE, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from fairlead.dialects import Places
    from fairlead.hooks import Setting
    from fairlead.verdicts import Decision
    from fairlead.work import Result

NAME = "claude-code"
TOOLS = None
_OTHERS = ("Interrupt", "BeforeModel", "AfterModel", "BeforeToolSelection", "PreModelRequest", "PostModelRequest")
EVENTS: Mapping[str, str] = {name: name for name in ALL_EVENTS if name not in _OTHERS}

again = never_again
ends_row = all_run
log = None
rewritten = replace_input

TIMEOUTS = {"UserPromptSubmit": 30.0, "PreModelSwitch": 30.0, "PostModelSwitch": 30.0, "MessageDisplay": 10.0}
TIMEOUT = 600.0
SESSION_END = 1.5
"""Seconds for all SessionEnd hooks together; a settings file can ask for more."""

SETTINGS = ("user", "project", "local", "managed")
"""The layers of settings files; of two values, the later one's counts."""
_HAS_ENV_FILE = frozenset({"SessionStart", "Setup", "CwdChanged", "FileChanged"})


# --- the hook half -----------------------------------------------------------------------------------


def sources(places: Places) -> list[Source]:
    return [
        *_claude_files.managed(places),
        *_claude_files.settings(places),
        *_claude_files.plugins(places),
        *_claude_files.front_matter(places),
    ]


def read(source: Source, text: str, places: Places) -> Reading:
    from fairlead.dialects import _claude_settings

    return _claude_settings.read(source, text, places)


def arrange(hooks: Sequence[Hook], readings: Sequence[tuple[Source, Reading]]) -> list[Hook]:
    """All levels add, unless a settings file switches them off."""
    said = [(source, reading.settings[NAME]) for source, reading in readings if NAME in reading.settings]
    said.sort(key=lambda pair: SETTINGS.index(pair[0].layer))
    budget = max((hook.timeout or 0 for hook in hooks if _ends_session(hook) and hook.origin.layer in SETTINGS),
                 default=SESSION_END)  # fmt: skip
    whose = owners(readings)
    return [_within(_switched(hook, whose.get(hook.origin.file, "user"), said), budget) for hook in hooks]


def _switched(hook: Hook, owner: str, said: Sequence[tuple[Source, Mapping[str, Any]]]) -> Hook:
    managed = [(source, own) for source, own in said if source.owner == "managed"]
    if hook.origin.layer == "managed" or _is_forced(hook, managed):
        off = is_off("managed", _words(managed, "disableAllHooks"))
    else:
        # What is in the repository does not reach what a person keeps beside it.
        heard = [(s, own) for s, own in said if not (hook.origin.layer == "local" and s.layer == "project")]
        off = (
            is_off(owner, _words(heard, "disableAllHooks"))
            or _only_managed(managed)
            or _plugin(hook, [(source, own) for source, own in said if reaches(source.owner, owner)]) is False
        )
    return hook.but(enabled=False) if off else hook


def _words(said: Iterable[tuple[Source, Mapping[str, Any]]], key: str) -> list[tuple[str, bool]]:
    return [(source.owner, own[key]) for source, own in said if key in own]


def _only_managed(managed: Iterable[tuple[Source, Mapping[str, Any]]]) -> bool:
    return dict(_words(managed, "allowManagedHooksOnly")).get("managed", False)


def _plugin(hook: Hook, said: Iterable[tuple[Source, Mapping[str, Any]]]) -> bool | None:
    """Whether the settings switch a hook's plugin on or off; None where they do not speak of it."""
    found = None
    for _, own in said:
        values = [
            on for name, on in own["enabledPlugins"].items() if name.partition("@")[0] == hook.options.get("plugin")
        ]
        if values:  # the same name from two marketplaces: it stays on if one of them is
            found = any(value is not False for value in values)
    return found


def _is_forced(hook: Hook, managed: Iterable[tuple[Source, Mapping[str, Any]]]) -> bool:
    return hook.options.get("owner") == "user" and bool(_plugin(hook, managed))


def _ends_session(hook: Hook) -> bool:
    return hook.events == ("SessionEnd",)


def _within(hook: Hook, budget: float) -> Hook:
    """SessionEnd hooks share the longest time that a settings file asks for."""
    if not _ends_session(hook) or hook.timeout is None:
        return hook
    return hook.but(timeout=min(hook.timeout, budget) if hook.options.get("own_timeout") else max(hook.timeout, budget))


def batches(_event: Event, hooks: Sequence[Hook]) -> list[list[Hook]]:
    """Side by side. The same hook in several settings files runs once; a plugin's or skill's copy is its own."""
    found: dict[object, Hook] = {}
    for hook in hooks:
        place = "" if hook.origin.layer in SETTINGS else hook.origin.file
        options = (str(hook.options.get("if", "")), hook.on_error, hook.options.get("async"))
        found.setdefault((place, hook.identity(), options), hook)
    return [list(found.values())]


def hook_input(hook: Hook, event: Event, setting: Setting) -> HookInput:
    effort = event.extra.get("effort")
    env = {
        "CLAUDE_PROJECT_DIR": setting.project,
        "CLAUDE_CODE_SESSION_ID": event.session_id,
        "CLAUDE_PLUGIN_ROOT": hook.options.get("root", ""),
        "CLAUDE_EFFORT": str(effort.get("level") or "") if isinstance(effort, dict) else "",
    }
    absent = tuple(name for name, value in env.items() if not value)
    if event.name not in _HAS_ENV_FILE:
        absent += ("CLAUDE_ENV_FILE",)
    payload = {"session_id": "", "transcript_path": "", "cwd": "", **event.payload()}
    payload["cwd"] = event.cwd or setting.project
    return HookInput(stdin=wire.encode(payload), env=given(env), absent=absent)


def read_verdict(hook: Hook, event: Event, result: Result) -> Verdict:
    from fairlead.dialects._claude_output import read_result

    try:
        verdict = read_result(event, result)
    except HookFailed as failed:
        if event.name != "PreModelSwitch" or hook.on_error:
            raise
        return Verdict(user_message=f"hook {hook.name}: {failed}")  # see on_failure
    if not hook.options.get("async"):
        return verdict
    from fairlead.dialects._answers import in_background

    return in_background(verdict)


def read_value(_hook: Hook, event: Event, value: object) -> Verdict:
    from fairlead.dialects._claude_output import judged

    if isinstance(value, dict):
        return judged(event, value)
    return NONE if value is None else verdicts.context(str(value))


def read_output(event: Event, output: dict[str, Any]) -> Verdict:
    """For other dialects whose hooks may answer in Claude Code's JSON: as far as it can be understood."""
    from fairlead.dialects import _claude_output

    return _claude_output.read_output(event, output)


def on_failure(event: Event) -> str:
    """Claude Code goes on without a hook's word, but for worktrees and for a model switch that timed out."""
    return "deny" if event.name in ("WorktreeCreate", "WorktreeRemove", "PreModelSwitch") else "allow"


def merge(_event: Event, said: Sequence[Verdict]) -> Verdict:
    merged = verdicts.merge(said)
    watched = [path for verdict in said for path in verdict.extra.get("watchPaths") or ()]
    return (
        merged.but(extra={**merged.extra, "watchPaths": list(dict.fromkeys(map(str, watched)))}) if watched else merged
    )


# --- the agent half ----------------------------------------------------------------------------------

_TALKS = frozenset({"user_message", "stop"})
CAN: Mapping[str, frozenset[str]] = {
    "PreToolUse": frozenset({"deny", "ask", "allow", "defer", "rewrite", "context"}) | _TALKS,
    # It is about to ask a person: saying nothing is "ask".
    "PermissionRequest": frozenset({"deny", "ask", "allow", "rewrite_if_allowed"}) | _TALKS,
    "PermissionDenied": _TALKS,
    "PostToolUse": frozenset({"deny", "output", "context"}) | _TALKS,
    "PostToolUseFailure": frozenset({"deny", "context"}) | _TALKS,
    "PostToolBatch": frozenset({"deny", "context"}) | _TALKS,
    "UserPromptSubmit": frozenset({"deny", "context"}) | _TALKS,
    "UserPromptExpansion": frozenset({"deny", "context"}) | _TALKS,
    "SessionStart": frozenset({"context", "user_message"}),
    "SubagentStart": frozenset({"context"}) | _TALKS,
    # No context here: it would keep the agent going.
    "Stop": frozenset({"deny"}) | _TALKS,
    "SubagentStop": frozenset({"deny"}) | _TALKS,
    "TaskCreated": frozenset({"deny", "user_message"}),
    "TaskCompleted": frozenset({"deny"}) | _TALKS,
    "TeammateIdle": frozenset({"deny"}) | _TALKS,
    "ConfigChange": frozenset({"deny"}),
    "PreCompact": frozenset({"deny"}),
    "PreModelSwitch": frozenset({"deny", "ask", "allow"}) | _TALKS,
    "PostModelSwitch": frozenset({"context"}) | _TALKS,
    "Elicitation": frozenset({"deny", "ask", "allow"}),
    "ElicitationResult": frozenset({"deny", "allow"}),
    "WorktreeCreate": frozenset({"deny"}),
    "WorktreeRemove": frozenset({"deny"}),
    "CwdChanged": frozenset({"user_message"}),
    "DirectoryAdded": frozenset({"context"}),
    "FileChanged": frozenset({"user_message"}),
    "*": frozenset(),
}

DEADLINES: Mapping[str, float] = {**TIMEOUTS, "SessionEnd": SESSION_END, "*": TIMEOUT}
CAPS_STOPS = True
INPUT_VARIABLE = ""

_OWN_KEYS: Mapping[str, tuple[str, ...]] = {
    "SessionStart": ("initialUserMessage", "sessionTitle", "watchPaths", "reloadSkills"),
    "UserPromptSubmit": ("suppressOriginalPrompt", "sessionTitle"),
    "PermissionDenied": ("retry",),
    "PostToolUse": ("classifierContext",),
    "MessageDisplay": ("displayContent",),
    "CwdChanged": ("watchPaths",),
    "FileChanged": ("watchPaths",),
    "WorktreeCreate": ("worktreePath",),
}
"""What else Claude Code reads in hookSpecificOutput. Other keys in `extra` are another system's."""
_ONLY_EXIT_2 = frozenset({"TaskCompleted", "TeammateIdle", "WorktreeCreate", "WorktreeRemove"})
"""Where a refusal in JSON is not read."""


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    return Event.from_payload(wire.decode_kept(raw), event_name)


_NOTHING = Reply()


def write_reply(event: Event, decision: Decision) -> Reply:
    if decision.is_silent:
        return _NOTHING
    if event.name.startswith("Worktree"):
        return _worktree_reply(event, decision)
    answer = write_result(event, decision)
    refused = decision.denies and event.name in _ONLY_EXIT_2
    return Reply(
        stdout=wire.encode(answer) + b"\n" if answer else b"",
        stderr=f"{reason(decision)}\n" if refused else "",
        exit_code=2 if refused else 0,
    )


def _worktree_reply(event: Event, decision: Decision) -> Reply:
    if decision.denies:
        return Reply(stderr=f"{reason(decision)}\n", exit_code=2)
    path = decision.extra.get("worktreePath")
    if event.name != "WorktreeCreate" or not isinstance(path, str):
        return Reply()
    return Reply(stdout=path.encode("utf-8", "surrogateescape") + b"\n")


def write_result(event: Event, decision: Decision) -> dict[str, Any]:
    """One hook's JSON, with exactly the keys that Claude Code knows for this event."""
    decision = ended_before(event, decision)
    answer: dict[str, Any] = {}
    specific = _specific(event, decision)
    if specific:
        answer["hookSpecificOutput"] = {"hookEventName": event.name, **specific}
    if decision.denies and event.name not in DECIDES_INSIDE and not _goes_on_by_context(event, decision):
        answer |= {"decision": "block", "reason": reason(decision)}
    if decision.stop:
        answer |= given({"continue": False, "stopReason": decision.stop_reason})
    # What a hook says to the person about a new directory, Claude Code gives to the model.
    message = decision.for_model if event.name == "DirectoryAdded" else decision.user_message
    return answer | given(
        {
            "systemMessage": message,
            "suppressOutput": decision.suppress_output or None,
            "terminalSequence": decision.extra.get("terminalSequence"),
        }
    )


def _specific(event: Event, decision: Decision) -> dict[str, Any]:
    if event.name == "PermissionRequest":
        return _permission(decision)
    if event.name.startswith("Elicitation"):
        return _elicitation(decision)
    if _goes_on_by_context(event, decision):
        return {"additionalContext": decision.reason}
    found = given({key: decision.extra.get(key) for key in _OWN_KEYS.get(event.name, ())})
    if event.name in ("PreToolUse", "PreModelSwitch"):
        found |= tool_permission(decision)
    if event.name == "PostToolUse" and decision.updated_output is not None:
        found["updatedToolOutput"] = _shaped(event, decision.updated_output)
    if decision.for_model and event.name != "DirectoryAdded":
        found["additionalContext"] = decision.for_model
    return found


def _goes_on_by_context(event: Event, decision: Decision) -> bool:
    """A Stop hook that gave context and no block: said the same way, it is not shown as an error."""
    text = decision.extra.get("additionalContext")
    return decision.denies and event.name in ("Stop", "SubagentStop") and bool(text) and text == decision.reason


def _shaped(event: Event, output: Any) -> Any:
    """Claude Code ignores an output that has not the tool's own shape; text for a shell becomes its stdout."""
    response = getattr(event, "tool_response", None)
    if isinstance(output, str) and isinstance(response, dict) and "stdout" in response:
        return {**response, "stdout": output, "stderr": ""}
    return output


def _permission(decision: Decision) -> dict[str, Any]:
    found = permission(decision)
    if found:
        more = ("interrupt",) if decision.denies else ("updatedPermissions",)
        found["decision"] |= given({key: decision.extra.get(key) for key in more})
    return found


def _elicitation(decision: Decision) -> dict[str, Any]:
    action = decision.extra.get("action")
    if decision.denies:
        return {"action": "cancel" if action == "cancel" else "decline"}
    if decision.decision == "allow" and action == "accept":
        return given({"action": "accept", "content": decision.extra.get("content")})
    return {}


write_failure = exit_2
