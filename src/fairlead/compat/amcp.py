"""AMCP's programming interface: `from fairlead.compat.amcp import …` in place of `from amcp.hooks import …`.

Two differences are on purpose. A project's own hooks (`.amcp/hooks.toml`, `.amcp/hooks.json`) are programs
that whoever wrote the project wants to run here, so they run only for a caller who vouches for the project:
`get_hooks_manager(project_dir, trust_project=True)` once, or `trust_project=True` in any of the calls below.
Until then nothing of the project is run, and nothing slips past its hooks either: a tool call or a prompt
that one of them would have looked at is denied, with the reason; every other event says so in
`system_message`. The user's own hooks always run, and so does `fairlead.toml`.

And `ask` is a question that the caller has to put to a person. Programs that know only allow and deny would
let such a call through, so they get DENY; who can ask says `get_hooks_manager(can_ask=True)` and gets ASK.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

from fairlead import tools, wire
from fairlead.api import Hooks
from fairlead.dialects import amcp
from fairlead.events import Event
from fairlead.handlers.command import Command, Script
from fairlead.handlers.function import Named
from fairlead.hooks import Hook
from fairlead.matchers import whole_name
from fairlead.verdicts import Decision, join_lines
from fairlead.work import Result

__all__ = [
    "HookConfig",
    "HookDecision",
    "HookEvent",
    "HookHandler",
    "HookInput",
    "HookOutput",
    "HooksManager",
    "get_hooks_manager",
    "reset_hooks_manager",
    "run_post_tool_use_hooks",
    "run_pre_compact_hooks",
    "run_pre_tool_use_hooks",
    "run_session_end_hooks",
    "run_session_start_hooks",
    "run_stop_hooks",
    "run_user_prompt_hooks",
]

_Folder = str | os.PathLike[str] | None
_CAN_DENY = ("PreToolUse", "UserPromptSubmit")


class HookEvent(Enum):
    PRE_TOOL_USE = "PreToolUse"
    POST_TOOL_USE = "PostToolUse"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"
    SESSION_START = "SessionStart"
    SESSION_END = "SessionEnd"
    STOP = "Stop"
    PRE_COMPACT = "PreCompact"
    NOTIFICATION = "Notification"


class HookDecision(Enum):
    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"
    CONTINUE = "continue"


@dataclass
class HookInput:
    session_id: str
    hook_event_name: str
    cwd: str
    tool_name: str | None = None
    tool_input: dict[str, Any] | None = None
    tool_response: Any = None
    tool_use_id: str | None = None
    prompt: str | None = None
    message: str | None = None
    notification_type: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    def as_payload(self) -> dict[str, Any]:
        """The fields that were given."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        return given if self.metadata else {name: value for name, value in given.items() if name != "metadata"}

    def to_json(self) -> str:
        return wire.encode_text(self.as_payload())


@dataclass
class HookOutput:
    success: bool = True
    """Whether every hook gave an answer."""
    continue_execution: bool = True
    stop_reason: str | None = None
    decision: HookDecision = HookDecision.CONTINUE
    decision_reason: str | None = None
    updated_input: dict[str, Any] | None = None
    """The keys that hooks changed; lay them over the input."""
    updated_response: Any = None
    feedback: str | None = None
    system_message: str | None = None
    suppress_output: bool = False
    exit_code: int = 0
    """Of the last command that ran; likewise `stdout` and `stderr`."""
    stdout: str = ""
    stderr: str = ""


@dataclass
class HookHandler:
    """One configured handler."""

    matcher: str = "*"
    type: str = "command"
    command: str | None = None
    script: str | None = None
    function: str | None = None
    timeout: float = 30
    enabled: bool = True
    name: str | None = None

    def matches(self, tool_name: str | None) -> bool:
        return whole_name(self.matcher)(tool_name or "")


@dataclass
class HookConfig:
    handlers: list[HookHandler] = field(default_factory=list)


class HooksManager:
    """The hooks of one project.

    `trust_project`: the caller vouches for the project's own. `can_ask`: the caller knows HookDecision.ASK.
    """

    def __init__(self, project_dir: _Folder = None, *, trust_project: bool = False, can_ask: bool = False) -> None:
        self.project_dir = os.path.abspath(project_dir or os.getcwd())
        self.trust_project = trust_project
        self.can_ask = can_ask
        self.load_config()

    def load_config(self) -> None:
        """Read the files again."""
        self._hooks = Hooks.load(self.project_dir, agent="amcp", dialects=("amcp",), trust_project=self.trust_project)

    def get_handlers(self, event: HookEvent, tool_name: str | None = None) -> list[HookHandler]:
        """The handlers that are in force for an event, and for a tool if one is named."""
        handlers = [_handler(hook) for hook in self._in_force() if event.value in hook.events]
        return [handler for handler in handlers if tool_name is None or handler.matches(tool_name)]

    @property
    def configs(self) -> dict[HookEvent, HookConfig]:
        found = {event: HookConfig(handlers=self.get_handlers(event)) for event in HookEvent}
        return {event: config for event, config in found.items() if config.handlers}

    def _in_force(self) -> list[Hook]:
        return [h for h in self._hooks if h.trusted and h.enabled and h.origin.dialect == "amcp"]

    async def execute_hooks(self, event: HookEvent, hook_input: HookInput, tool_name: str | None = None) -> HookOutput:
        """Run the event's hooks, one after the other, and merge what they say."""
        payload = hook_input.as_payload()
        if tool_name is not None:
            payload["tool_name"] = tool_name
        fired = Event.from_payload(tools.read_call(amcp.TOOLS, payload), event.value)
        fired, decision = tools.for_agent(fired, await self._hooks.fire(fired))
        if decision.decision in ("ask", "defer") and not self.can_ask:
            reason = join_lines(("a person has to agree to this, and nobody can be asked here", decision.reason))
            decision = decision.but(decision="deny", reason=reason)
        return _output(fired, decision)


def _handler(hook: Hook) -> HookHandler:
    given: dict[str, Any] = {"matcher": hook.matcher.text or "*", "timeout": hook.timeout, "name": hook.name}
    if isinstance(hook.handler, Command):
        return HookHandler(type="command", command=hook.handler.command, **given)
    if isinstance(hook.handler, Script):
        return HookHandler(type="python", script=hook.handler.script, **given)
    assert isinstance(hook.handler, Named)  # noqa: S101  # there is no fourth kind
    return HookHandler(type="python", function=hook.handler.target, **given)


def _output(event: Event, decision: Decision) -> HookOutput:
    answer = amcp.write_result(event, decision)
    specific = answer.get("hookSpecificOutput", {})
    output = HookOutput(
        success=not any(report.error for report in decision.reports),
        continue_execution=answer["continue"],
        stop_reason=answer.get("stopReason"),
        decision=_word(decision),
        decision_reason=decision.reason or None,
        updated_input=specific.get("updatedInput"),
        updated_response=decision.updated_output,
        feedback=answer.get("feedback"),
        system_message=answer.get("systemMessage"),
        suppress_output=decision.suppress_output,
    )
    _add_process(output, decision)
    _add_untrusted(output, event, decision)
    return output


def _word(decision: Decision) -> HookDecision:
    words = {"none": HookDecision.CONTINUE, "allow": HookDecision.ALLOW, "deny": HookDecision.DENY}
    return words.get(decision.decision, HookDecision.ASK)


def _add_process(output: HookOutput, decision: Decision) -> None:
    results = [report.outcome for report in decision.reports if isinstance(report.outcome, Result)]
    if results:
        last = results[-1]
        output.exit_code = -last.signal or last.exit_code
        output.stdout = last.stdout.decode("utf-8", "replace")
        output.stderr = last.stderr.decode("utf-8", "replace")


def _add_untrusted(output: HookOutput, event: Event, decision: Decision) -> None:
    names = [report.hook.name for report in decision.reports if report.matched and not report.hook.trusted]
    if not names:
        return
    note = f"the project's own hooks were not run, because nobody vouched for it: {', '.join(names)}"
    output.success = False
    output.system_message = join_lines((output.system_message or "", note))
    if event.name in _CAN_DENY:
        output.decision = HookDecision.DENY
        output.decision_reason = join_lines(
            (decision.reason if decision.denies else "", f"{note} (trust_project=True)")
        )
        output.continue_execution = output.continue_execution and event.name != "UserPromptSubmit"
        output.updated_input = None


_managers: dict[str, HooksManager] = {}


def get_hooks_manager(
    project_dir: _Folder = None, *, trust_project: bool = False, can_ask: bool = False
) -> HooksManager:
    """The manager of a project, read once. What is said here about trust and asking holds for later calls too."""
    folder = os.path.abspath(project_dir or os.getcwd())
    manager = _managers.get(folder)
    if manager is None or (trust_project and not manager.trust_project):
        manager = _managers[folder] = HooksManager(folder, trust_project=trust_project, can_ask=can_ask)
    manager.can_ask = manager.can_ask or can_ask
    return manager


def reset_hooks_manager() -> None:
    """Forget what was read, and who vouched."""
    _managers.clear()


async def _run(event: HookEvent, session_id: str, project_dir: _Folder, trust: bool, **fields: Any) -> HookOutput:
    manager = get_hooks_manager(project_dir, trust_project=trust)
    given = HookInput(session_id=session_id, hook_event_name=event.value, cwd=manager.project_dir, **fields)
    return await manager.execute_hooks(event, given)


async def run_pre_tool_use_hooks(
    session_id: str,
    tool_name: str,
    tool_input: dict[str, Any],
    tool_use_id: str | None = None,
    project_dir: _Folder = None,
    *,
    trust_project: bool = False,
) -> HookOutput:
    fields = {"tool_name": tool_name, "tool_input": tool_input, "tool_use_id": tool_use_id}
    return await _run(HookEvent.PRE_TOOL_USE, session_id, project_dir, trust_project, **fields)


async def run_post_tool_use_hooks(
    session_id: str,
    tool_name: str,
    tool_input: dict[str, Any],
    tool_response: Any,
    tool_use_id: str | None = None,
    project_dir: _Folder = None,
    *,
    trust_project: bool = False,
) -> HookOutput:
    fields = {"tool_name": tool_name, "tool_input": tool_input, "tool_use_id": tool_use_id}
    fields["tool_response"] = tool_response
    return await _run(HookEvent.POST_TOOL_USE, session_id, project_dir, trust_project, **fields)


async def run_user_prompt_hooks(
    session_id: str, prompt: str, project_dir: _Folder = None, *, trust_project: bool = False
) -> HookOutput:
    return await _run(HookEvent.USER_PROMPT_SUBMIT, session_id, project_dir, trust_project, prompt=prompt)


async def run_session_start_hooks(
    session_id: str, project_dir: _Folder = None, *, trust_project: bool = False
) -> HookOutput:
    return await _run(HookEvent.SESSION_START, session_id, project_dir, trust_project)


async def run_session_end_hooks(
    session_id: str, project_dir: _Folder = None, *, trust_project: bool = False
) -> HookOutput:
    return await _run(HookEvent.SESSION_END, session_id, project_dir, trust_project)


async def run_stop_hooks(session_id: str, project_dir: _Folder = None, *, trust_project: bool = False) -> HookOutput:
    return await _run(HookEvent.STOP, session_id, project_dir, trust_project)


async def run_pre_compact_hooks(
    session_id: str, compact_type: str = "auto", project_dir: _Folder = None, *, trust_project: bool = False
) -> HookOutput:
    metadata = {"compact_type": compact_type}
    return await _run(HookEvent.PRE_COMPACT, session_id, project_dir, trust_project, metadata=metadata)
