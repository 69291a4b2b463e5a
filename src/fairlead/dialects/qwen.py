"""Qwen Code: Claude Code's events in Gemini CLI's settings. It overlooks rewrites, and a later hook's word hides ours.

What it does with an answer is its own: see `CAN`.
"""

from __future__ import annotations

from fairlead import verdicts, wire
from fairlead.dialects import HookInput, _claude_reply, _elsewhere, _gemini_settings
from fairlead.dialects._agents import answer, read_named
from fairlead.dialects._common import (
    A_DAY,
    Reader,
    all_run,
    cut_answer,
    fails_open,
    given,
    is_off,
    left_running,
    merge_all,
    moved,
    never_again,
    owners,
    replace_input,
    text_in,
    text_of,
    warn_of_reach,
)
from fairlead.errors import plain
from fairlead.events import EVENTS as ALL_EVENTS
from fairlead.events import event_class
from fairlead.handlers.command import Command
from fairlead.hooks import Hook, HookFailed, Origin
from fairlead.matchers import Matcher, everything
from fairlead.tools import Vocabulary, output_text, tool
from fairlead.verdicts import NONE, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from fairlead.dialects import Places, Reading, Reply, Source
    from fairlead.dialects._common import Path
    from fairlead.events import Event
    from fairlead.hooks import Handler, Setting
    from fairlead.verdicts import Decision
    from fairlead.work import Result

NAME = "qwen"
TOOLS = Vocabulary(
    tool("run_shell_command", "Bash", is_background="run_in_background", directory="cwd"),
    tool("write_file", "Write"),
    tool("edit", "Edit"),
    tool("notebook_edit", "NotebookEdit"),
    tool("read_file", "Read", absolute_path="file_path"),
    tool("list_directory", "LS"),
    tool("glob", "Glob"),
    tool("grep_search", "Grep"),
    tool("web_fetch", "WebFetch"),
    tool("web_search", "WebSearch"),
    tool("todo_write", "TodoWrite"),
    tool("agent", "Agent"),
    tool("skill", "Skill"),
    tool("ask_user_question", "AskUserQuestion"),
    tool("exit_plan_mode", "ExitPlanMode"),
    # Other names that its matchers know for the same tools.
    tool("Shell", "Bash"),
    tool("ShellTool", "Bash"),
    tool("WriteFile", "Write"),
    tool("ReadFile", "Read"),
    tool("ListFiles", "LS"),
    tool("search_file_content", "Grep"),
    tool("TodoList", "TodoWrite"),
    tool("task", "Agent"),
    tool("Task", "Agent"),
)
_OWN_EVENTS = ("SessionDelete", "TodoCreated", "TodoCompleted")
_NAMES = (
    "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit", "UserPromptExpansion",
    "SessionStart", "SessionEnd", "MessageDisplay", "Stop", "StopFailure", "SubagentStart", "SubagentStop",
    "PreCompact", "PostCompact", "Notification", "PermissionRequest", "PermissionDenied", "InstructionsLoaded",
)  # fmt: skip
EVENTS: Mapping[str, str] = {name: name for name in (*ALL_EVENTS, *_OWN_EVENTS) if name in (*_NAMES, *_OWN_EVENTS)}

again = never_again
ends_row = all_run
merge = merge_all
on_failure = fails_open
log = None
rewritten = replace_input

_TIMEOUTS = {"command": 60.0, "http": 600.0, "prompt": 30.0}
_MILLISECONDS_FROM = 1000
"""A command's `timeout` is in seconds; from here on it is read as milliseconds, which it was once."""
_KEYS = (
    "type", "command", "name", "description", "timeout", "env", "async", "shell", "statusMessage", "failMode", "url",
    "headers", "allowedEnvVars", "if", "once", "prompt", "model",
)  # fmt: skip
_TEXT_IS_CONTEXT = frozenset({"SessionStart", "UserPromptSubmit", "UserPromptExpansion"})
_GOES_ON = frozenset({"PreToolUse", "PostToolUse", "UserPromptSubmit", "UserPromptExpansion", "Stop", "SubagentStop"})
"""Where `continue: false` does not end the turn: it refuses, as `block` does."""
_MODES = {"yolo": "bypassPermissions", "auto_edit": "acceptEdits", "auto-edit": "acceptEdits"}
_OWN_MODES = {"bypassPermissions": "yolo", "acceptEdits": "auto-edit"}


# --- the hook half -----------------------------------------------------------------------------------


def sources(places: Places) -> list[Source]:
    """The project's come first."""
    home = moved(places, "QWEN_HOME") or f"{places.home}/.qwen"
    found = _gemini_settings.files(places, home=home, folder=".qwen", managed="qwen-code")
    return [found[layer] for layer in ("project", "user", "managed", "defaults")]


def read(source: Source, text: str, _places: Places) -> Reading:
    reader = Reader(source, text)
    data = _gemini_settings.settings(reader, text)
    if data is None:
        return reader.reading()
    for event, group, handler, path in _gemini_settings.handlers(reader, data, EVENTS, "Qwen Code"):
        _read_handler(reader, event, group, handler, path)
    off = data.get("disableAllHooks")
    if off is not None:
        reader.expect(off, bool, ("disableAllHooks",), "disableAllHooks must be true or false")
    if off is True:
        warn_of_reach(reader, ("disableAllHooks",))
    return reader.reading(**({NAME: {"off": off}} if isinstance(off, bool) else {}), **_allowed_urls(reader, data))


def _allowed_urls(reader: Reader, data: dict[str, Any]) -> dict[str, Any]:
    security = data.get("security")
    urls = security.get("allowedHttpHookUrls") if isinstance(security, dict) else None
    if urls is None:
        return {}
    return {_elsewhere.URLS: {NAME: _elsewhere.words(reader, urls, ("security", "allowedHttpHookUrls"))}}


def _read_handler(reader: Reader, event: str, group: Any, entry: Any, path: Path) -> None:
    source = reader.source
    if entry is not group:
        reader.slips(entry, _KEYS, path)
    handler = _handler(reader, entry, path)
    if handler is None:
        return
    in_background = entry.get("async") is True
    if in_background:
        handler = left_running(handler)
    matcher = _matcher(reader, event, group, (*path[:-2], "matcher"))
    reader.hooks.append(
        Hook(
            name=_gemini_settings.hook_name(entry, handler),
            events=(event,),
            handler=handler,
            origin=Origin(dialect=NAME, layer=source.layer, file=source.path, path=path),
            matcher=everything(matcher.text) if event == "InstructionsLoaded" else matcher,
            matcher_path=(*path[:-2], "matcher"),
            timeout=A_DAY if in_background else _timeout(reader, entry, path),
            on_error="allow" if in_background else _on_failure(reader, entry, path),
            condition=_about_file(matcher) if event == "InstructionsLoaded" and matcher.text else None,
            options=given(
                {
                    "named": text_in(entry, "name"),
                    "sequential": _gemini_settings.is_sequential(reader, group, path) or None,
                    "async": in_background or None,
                }
            ),
        )
    )


def _handler(reader: Reader, entry: Any, path: Path) -> Handler | None:
    kind = entry.get("type")
    if kind is None and "command" in entry:
        reader.problem(path, "type is missing", 'taken as "type": "command"; Qwen Code leaves the hook out')
        kind = "command"
    if not isinstance(kind, str) or kind not in _TIMEOUTS:
        reader.problem((*path, "type"), f"unknown type {kind!r}", f"one of: {', '.join(_TIMEOUTS)}")
        return None
    if kind != "command":
        return _elsewhere.handler(reader, kind, entry, path)
    command = reader.text_field(entry, "command", path)
    return _in_shell(reader, entry, command, path) if command else None


def _in_shell(reader: Reader, entry: Any, command: str, path: Path) -> Command:
    shell, env = entry.get("shell"), _gemini_settings.environment(reader, entry, path)
    if shell == "powershell":
        return Command(command="pwsh", args=("-Command", command), env=env)
    if shell == "bash":
        return Command(command=command, env=env, shell="bash")  # noqa: S604  # the user asks for it
    if shell is not None:
        reader.problem((*path, "shell"), f"unknown shell {shell!r}", "bash or powershell; sh is used")
    return Command(command=command, env=env)


def _matcher(reader: Reader, event: str, group: Any, path: Path) -> Matcher:
    """A list of names, or a regular expression found anywhere; blanks and empty parts of the list are nothing."""
    pattern = reader.matcher_text(group.get("matcher"), path).strip()
    if pattern not in ("", "*") and not event_class(event).matches_on:
        reader.warn(path, f"{event} has nothing to match: {pattern!r} is ignored and the hook always runs")
    if pattern.startswith(("^", "(")) or "\\|" in pattern:
        return Matcher(pattern, search=True)
    parts = [part.strip() for part in pattern.split("|") if part.strip()]
    if not parts or "*" in parts or ".*" in parts:
        return everything(pattern)
    return Matcher("|".join(parts), search=True)


def _about_file(matcher: Matcher) -> Callable[[Event], str]:
    """Its matchers for InstructionsLoaded are about the file."""

    def why_not(event: Event) -> str:
        path = str(event.as_dict().get("file_path", ""))
        return "" if matcher(path) else f"its matcher {matcher.text!r} does not match {path!r}"

    return why_not


_SURELY_MILLISECONDS = 10_000


def _timeout(reader: Reader, entry: Any, path: Path) -> float:
    kind = entry.get("type") or "command"
    seconds = reader.timeout(entry, path, "timeout", _TIMEOUTS[kind], 1)
    if kind != "command" or seconds < _MILLISECONDS_FROM:
        return seconds
    if seconds >= _SURELY_MILLISECONDS and not seconds % 1000:  # as its documentation has it
        return seconds / 1000
    hint = f"write {plain(seconds / 1000)}"
    reader.warn((*path, "timeout"), f"timeout is in seconds, but from 1000 on it is read as {plain(seconds)} ms", hint)
    return seconds / 1000


def _on_failure(reader: Reader, entry: Any, path: Path) -> str:
    value = entry.get("failMode", "open")
    if value not in ("open", "closed"):
        reader.problem((*path, "failMode"), f"failMode is {value!r}", '"open" or "closed"; "closed" is used')
    return "" if value == "open" else "deny"


def arrange(hooks: Sequence[Hook], readings: Sequence[tuple[Source, Reading]]) -> list[Hook]:
    """All levels add, unless somebody whose word reaches them switches them off."""
    said = [
        (_gemini_settings.whose(source), reading.settings[NAME]["off"])
        for source, reading in readings
        if NAME in reading.settings
    ]
    whose = owners(readings)
    return [hook.but(enabled=False) if is_off(whose.get(hook.origin.file, "user"), said) else hook for hook in hooks]


def batches(_event: Event, hooks: Sequence[Hook]) -> list[list[Hook]]:
    return _gemini_settings.in_turn(hooks)


_RENAMED = {"session_crons": "crons", "final": "is_final", "delta": "displayed_text"}


def hook_input(_hook: Hook, event: Event, setting: Setting) -> HookInput:
    payload = {_RENAMED.get(key, key): value for key, value in event.payload().items()}
    payload |= {
        "cwd": event.cwd or setting.project,
        "timestamp": _gemini_settings.timestamp(event.timestamp),
        "permission_mode": _OWN_MODES.get(event.permission_mode, event.permission_mode or "default"),
    }
    if event.name == "PostToolUse":
        response = getattr(event, "tool_response", None)
        payload["tool_response"] = _gemini_settings.result_shape(response, output_text(response))
    env = {
        "QWEN_PROJECT_DIR": setting.project,
        "GEMINI_PROJECT_DIR": setting.project,
        "CLAUDE_PROJECT_DIR": setting.project,
        "QWEN_CODE_SESSION_ID": event.session_id,
        "QWEN_CODE_PROMPT_ID": event.prompt_id,
        "QWEN_CODE_AGENT_ID": event.agent_id,
    }
    whole = {"session_id": "", "transcript_path": "", **payload}
    return HookInput(stdin=wire.encode(whole), env=env)


def read_verdict(hook: Hook, event: Event, result: Result) -> Verdict:
    from fairlead.dialects import _answers

    verdict = _read_result(hook, event, result)
    return _answers.in_background(verdict) if hook.options.get("async") else verdict


def _read_result(hook: Hook, event: Event, result: Result) -> Verdict:
    from fairlead.dialects._answers import json_answer, restraint
    from fairlead.dialects._claude_output import failure

    cut = cut_answer(result)
    if result.exit_code == 2:
        return _exit_2(hook, event, result)
    text = text_of(result.stdout) or text_of(result.stderr)
    value = None if cut is not None else json_answer(text)
    said = cut if value is None else read_value(hook, event, value)
    said = _restraint_behind(hook, event, text) if said is None else said
    if result.exit_code:
        left = restraint(said) if said is not None else None
        if left is None:
            raise HookFailed(failure(result))
        return left
    return said if said is not None else _plain(event, text_of(result.stdout), text)


def _restraint_behind(hook: Hook, event: Event, text: str) -> Verdict | None:
    """In output that Qwen Code cannot read: what looks like a refusal is one."""
    from fairlead.dialects._answers import buried, restraint

    left = [kept for each in buried(text) if (kept := restraint(read_value(hook, event, each))) is not None]
    return verdicts.merge(left) if left else None


def _exit_2(hook: Hook, event: Event, result: Result) -> Verdict:
    """stderr is the reason, or an answer in JSON; what is on stdout can only restrain further."""
    from fairlead.dialects._answers import json_answer, restraint

    if not _is_refusable(event):
        raise HookFailed(f"exit 2: {text_of(result.stderr)}" if text_of(result.stderr) else "exit 2")
    error = text_of(result.stderr)
    value = json_answer(error) or json_answer(text_of(result.stdout))
    said = restraint(read_value(hook, event, value)) if value is not None else None
    why = said.reason if said is not None and said.denies and said.reason else "" if json_answer(error) else error
    return (said or NONE).but(decision="deny", said="block", reason=why or "Blocked by hook")


def _plain(event: Event, stdout: str, text: str) -> Verdict:
    if not text:
        return NONE
    if text.startswith("{"):
        raise HookFailed("its output starts like JSON and is none")
    return verdicts.context(stdout) if stdout and event.name in _TEXT_IS_CONTEXT else Verdict(user_message=text)


def read_value(_hook: Hook, event: Event, value: object) -> Verdict:
    from fairlead.dialects._claude_output import read_output

    if not isinstance(value, dict):
        return NONE if value is None else verdicts.context(str(value))
    verdict = _going_on(event, read_output(event, value))
    if verdict.decision == "allow" and event.name == "PreToolUse":
        verdict = verdict.but(decision="none", said="", reason="")  # there, it skips no question
    if verdict.decision != "none" and not _is_refusable(event):
        verdict = verdict.but(decision="none", said="", reason="")
    return verdict


def _going_on(event: Event, verdict: Verdict) -> Verdict:
    if not verdict.stop or event.name not in _GOES_ON:
        return verdict
    why = verdicts.unique_lines((verdict.stop_reason, verdict.reason))
    return verdict.but(stop=False, stop_reason="", decision="deny", said="block", reason=why)


def _is_refusable(event: Event) -> bool:
    return "deny" in CAN.get(event.name, CAN["*"])


# --- the agent half ----------------------------------------------------------------------------------

_SAYS = frozenset({"user_message"})
CAN: Mapping[str, frozenset[str]] = {
    # Rewrites and context are overlooked; `allow` skips no question; `continue: false` refuses, and the turn goes on.
    "PreToolUse": frozenset({"deny", "ask"}) | _SAYS,
    # Silence leaves it to its own question.
    "PermissionRequest": frozenset({"deny", "ask", "allow", "rewrite_if_allowed"}) | _SAYS,
    # `block` has no effect, but `continue: false` puts its reason in the place of the result.
    "PostToolUse": frozenset({"deny", "context"}) | _SAYS,
    "PostToolUseFailure": frozenset({"context"}) | _SAYS,
    "PostToolBatch": frozenset({"deny", "context", "stop"}) | _SAYS,
    "UserPromptSubmit": frozenset({"deny", "context", "stop"}) | _SAYS,
    "UserPromptExpansion": frozenset({"deny", "context"}) | _SAYS,
    "SessionStart": frozenset({"context"}) | _SAYS,
    "SubagentStart": frozenset({"context"}) | _SAYS,
    # `continue: false` would keep it going.
    "Stop": frozenset({"deny"}) | _SAYS,
    "SubagentStop": frozenset({"deny"}) | _SAYS,
    "TodoCreated": frozenset({"deny"}) | _SAYS,
    "TodoCompleted": frozenset({"deny"}) | _SAYS,
    "*": frozenset(),
}
DEADLINES: Mapping[str, float] = {"*": _TIMEOUTS["command"]}
CAPS_STOPS = True
INPUT_VARIABLE = ""

_HEARD = {"crons": "session_crons", "is_final": "final"}


def read_event(raw: bytes, event_name: str, _environ: Mapping[str, str]) -> Event:
    payload = wire.decode_object(raw)
    mode = payload.get("permission_mode")
    if isinstance(mode, str):
        payload["permission_mode"] = _MODES.get(mode, mode)
    event = read_named(payload, event_name, events=EVENTS, vocabulary=TOOLS, keys=_HEARD)
    return _gemini_settings.with_shell_output(event)


def write_reply(event: Event, decision: Decision) -> Reply:
    # With nothing on stdout, our notes on stderr would be the answer.
    return answer(write_result(event, decision), always=True)


def write_result(event: Event, decision: Decision) -> dict[str, Any]:
    found = _claude_reply.plain(event, decision)
    why = _claude_reply.reason(decision)
    if event.name == "PreToolUse" and decision.decision in ("deny", "ask"):
        found |= _even_beside_an_allow(decision, why)
    if event.name == "PostToolUse" and decision.denies:
        found |= {"continue": False, "stopReason": why}
    return found


def _even_beside_an_allow(decision: Decision, why: str) -> dict[str, Any]:
    """Of two hooks' permissionDecision the later one counts, be it an allow. `continue: false` holds the call then."""
    found: dict[str, Any] = {"continue": False, "stopReason": why}
    return {"decision": "block", "reason": why, **found} if decision.denies else found


def write_failure(_event_name: str, message: str) -> Reply:
    """A refusal in every event, since nobody knows which one it was; exit 2 would give way to another hook's allow."""
    why = f"Fairlead: {message}"
    inside = {
        "permissionDecision": "deny",
        "permissionDecisionReason": why,
        "decision": {"behavior": "deny", "message": why},
    }
    stops = {"decision": "block", "reason": why, "continue": False, "stopReason": why}
    return answer({**stops, "hookSpecificOutput": inside}).but(stderr=f"{why}\n")
