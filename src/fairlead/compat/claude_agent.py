"""claude-agent's hook API in Python: the names of its Rust crate over Fairlead's engine.

    manager = HookManager()
    manager.register(SecurityHook())
    given = HookInput.pre_tool_use("session-1", "Bash", {"command": "ls"})
    output = await manager.execute(HookEvent.PreToolUse, given, HookContext("session-1"))
    if not output.continue_execution: …

Hooks run by priority, one after the other; a block ends the row. A hook that fails or takes too long blocks
where the event can be blocked, and is passed over elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from fairlead import driving, engine
from fairlead.api import said, tool_matcher
from fairlead.dialects import claude_agent
from fairlead.errors import UsageError
from fairlead.events import Event
from fairlead.handlers.command import Command
from fairlead.handlers.function import Function, is_async
from fairlead.hooks import Cancellation, HookFailed, Origin, Setting
from fairlead.hooks import Hook as EngineHook
from fairlead.verdicts import NONE, Verdict
from fairlead.work import Call

__all__ = [
    "CancellationToken",
    "CommandHook",
    "ExecutionContext",
    "FnHook",
    "Hook",
    "HookContext",
    "HookEvent",
    "HookInput",
    "HookManager",
    "HookOutput",
]

TIMEOUT_SECS = 60.0


class HookEvent(Enum):
    PreToolUse = "pre_tool_use"
    PostToolUse = "post_tool_use"
    PostToolUseFailure = "post_tool_use_failure"
    UserPromptSubmit = "user_prompt_submit"
    Stop = "stop"
    SubagentStart = "subagent_start"
    SubagentStop = "subagent_stop"
    PreCompact = "pre_compact"
    SessionStart = "session_start"
    SessionEnd = "session_end"

    def __str__(self) -> str:
        return self.value

    @property
    def can_block(self) -> bool:
        return self.name in claude_agent.BLOCKABLE


@dataclass(frozen=True)
class HookInput:
    """An event with its session and time. `data` is the event itself, with its fields as attributes."""

    session_id: str
    data: Event
    timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))
    metadata: Any = None

    def event_type(self) -> HookEvent:
        return HookEvent[self.data.name]

    def tool_name(self) -> str | None:
        return getattr(self.data, "tool_name", None)

    def tool_input(self) -> dict[str, Any] | None:
        return getattr(self.data, "tool_input", None)

    def subagent_id(self) -> str | None:
        return self.data.subagent_id or None

    @classmethod
    def _of(cls, data: Event) -> HookInput:
        return cls(session_id=data.session_id, data=data)

    @classmethod
    def pre_tool_use(cls, session_id: str, tool_name: str, tool_input: dict[str, Any]) -> HookInput:
        return cls._of(Event.pre_tool_use(session_id, tool_name, tool_input))

    @classmethod
    def post_tool_use(cls, session_id: str, tool_name: str, tool_result: Any) -> HookInput:
        return cls._of(Event.post_tool_use(session_id, tool_name, tool_result))

    @classmethod
    def post_tool_use_failure(cls, session_id: str, tool_name: str, error: str) -> HookInput:
        return cls._of(Event.post_tool_use_failure(session_id, tool_name, error))

    @classmethod
    def user_prompt_submit(cls, session_id: str, prompt: str) -> HookInput:
        return cls._of(Event.user_prompt_submit(session_id, prompt))

    @classmethod
    def session_start(cls, session_id: str) -> HookInput:
        return cls._of(Event.session_start(session_id))

    @classmethod
    def session_end(cls, session_id: str) -> HookInput:
        return cls._of(Event.session_end(session_id))

    @classmethod
    def stop(cls, session_id: str) -> HookInput:
        return cls._of(Event.stop(session_id))

    @classmethod
    def pre_compact(cls, session_id: str) -> HookInput:
        return cls._of(Event.pre_compact(session_id))

    @classmethod
    def subagent_start(cls, session_id: str, subagent_id: str, subagent_type: str, description: str) -> HookInput:
        return cls._of(Event.subagent_start(session_id, subagent_id, subagent_type, description))

    @classmethod
    def subagent_stop(cls, session_id: str, subagent_id: str, success: bool, error: str | None = None) -> HookInput:
        return cls._of(Event.subagent_stop(session_id, subagent_id, success, error))


@dataclass(frozen=True)
class HookOutput:
    continue_execution: bool = True
    stop_reason: str | None = None
    suppress_logging: bool = False
    system_message: str | None = None
    updated_input: dict[str, Any] | None = None
    additional_context: str | None = None

    @classmethod
    def allow(cls) -> HookOutput:
        return cls()

    @classmethod
    def block(cls, reason: str) -> HookOutput:
        return cls(continue_execution=False, stop_reason=reason)

    def with_system_message(self, message: str) -> HookOutput:
        return replace(self, system_message=message)

    def context(self, text: str) -> HookOutput:
        return replace(self, additional_context=text)

    def with_updated_input(self, tool_input: dict[str, Any]) -> HookOutput:
        return replace(self, updated_input=tool_input)

    def without_logging(self) -> HookOutput:
        return replace(self, suppress_logging=True)


class CancellationToken(Cancellation):
    def cancel(self) -> None:
        self.set()

    def is_cancelled(self) -> bool:
        return self.is_set()

    async def cancelled(self) -> None:
        await self.wait()


@dataclass(frozen=True)
class HookContext:
    session_id: str
    cwd: str | os.PathLike[str] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    cancellation_token: CancellationToken = field(default_factory=CancellationToken)


class Hook:
    """What a hook may say of itself. `execute(given, context)` may be sync or async."""

    def name(self) -> str:
        return type(self).__name__

    def events(self) -> Iterable[HookEvent]:
        raise NotImplementedError

    def tool_matcher(self) -> Any:
        """A pattern for the whole name of the tool, or None."""
        return None

    def timeout_secs(self) -> float:
        return TIMEOUT_SECS

    def priority(self) -> int:
        """Higher runs first."""
        return 0

    def execute(self, given: HookInput, context: HookContext) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class FnHook:
    """A function as a hook."""

    name: str
    events: Iterable[HookEvent]
    execute: Callable[[HookInput, HookContext], Any]
    tool_matcher: Any = None
    timeout_secs: float = TIMEOUT_SECS
    priority: int = 0


@dataclass(frozen=True)
class CommandHook:
    """A shell command as a hook: the event on stdin, and JSON on stdout if it likes."""

    name: str
    command: str
    events: Iterable[HookEvent]
    tool_pattern: Any = None
    timeout_secs: float = TIMEOUT_SECS
    extra_env: Mapping[str, str] = field(default_factory=dict)


class HookManager:
    """Runs the hooks that were registered with it, and no others."""

    def __init__(self) -> None:
        self._hooks: list[EngineHook] = []

    def register(self, hook: Any) -> None:
        """Add a hook: a `FnHook`, a `CommandHook`, or an object that says what `Hook` says."""
        self._hooks.append(_command(hook) if isinstance(hook, CommandHook) else _in_code(hook))
        self._hooks.sort(key=lambda known: -known.priority)

    register_arc = register

    def unregister(self, name: str) -> bool:
        """Take out every hook of this name; whether there was one."""
        kept = [hook for hook in self._hooks if hook.name != name]
        found = len(kept) < len(self._hooks)
        self._hooks = kept
        return found

    def hook_names(self) -> list[str]:
        return [hook.name for hook in self._hooks]

    async def execute(self, event: HookEvent, given: HookInput, context: HookContext) -> HookOutput:
        if event is not given.event_type():
            raise UsageError(f"{event.name} was to be fired with the input of {given.event_type().name}")
        setting = _setting(given, context)
        fired = given.data if given.data.cwd else given.data.but(cwd=setting.project)
        decision = await driving.drive(engine.judge(engine.plan(self._hooks, fired), fired, setting))
        return HookOutput(**claude_agent.write_result(fired, decision))


class ExecutionContext:
    """What a tool is given, so that it can fire hooks itself."""

    def __init__(self, security: Any = None) -> None:
        self.security = security
        self._manager: HookManager | None = None
        self._context = HookContext("")

    def hooks(self, manager: HookManager, session_id: str) -> ExecutionContext:
        """The same with a manager."""
        changed = ExecutionContext(self.security)
        changed._manager = manager
        changed._context = HookContext(session_id)
        return changed

    async def fire_hook(self, event: HookEvent, given: HookInput) -> HookOutput:
        """What the hooks say; without a manager, to go on."""
        if self._manager is None:
            return HookOutput.allow()
        return await self._manager.execute(event, given, self._context)


class _Setting(Setting):
    """The caller's input and context, on their way through the engine."""

    given: HookInput
    context: HookContext


def _setting(given: HookInput, context: HookContext) -> _Setting:
    return _Setting(
        project=os.path.abspath(context.cwd or os.getcwd()),
        home=os.path.expanduser("~"),
        environ={**os.environ, **context.env},
        given=given,
        context=context,
    )


class _Execute(Function):
    """Calls `execute` with claude-agent's own types."""

    def start(self, hook: EngineHook, event: Event, setting: Setting) -> Call:
        assert isinstance(setting, _Setting)  # noqa: S101  # only HookManager starts it
        limit = setting.limit(hook.timeout)
        arguments = (replace(setting.given, data=event), setting.context)
        return Call(
            self.function,
            arguments,
            timeout=limit,
            in_thread=limit is not None and not self.is_async,
        )

    def conclude(self, hook: EngineHook, event: Event, _work: Call, outcome: Any) -> Verdict:
        if outcome is None:
            return NONE
        if not isinstance(outcome, HookOutput):
            raise HookFailed(f"{hook.name} returned {type(outcome).__name__}; expected a HookOutput")
        return claude_agent.read_value(hook, event, asdict(outcome))


def _in_code(hook: Any) -> EngineHook:
    return EngineHook(
        name=said(hook, "name", type(hook).__name__),
        handler=_Execute(function=hook.execute, takes_context=True, is_async=is_async(hook.execute)),
        timeout=said(hook, "timeout_secs", TIMEOUT_SECS),
        priority=said(hook, "priority", 0),
        **_when(said(hook, "events", ()), said(hook, "tool_matcher", None)),
    )


def _command(hook: CommandHook) -> EngineHook:
    return EngineHook(
        name=hook.name,
        handler=Command(command=hook.command, env=dict(hook.extra_env)),
        timeout=hook.timeout_secs,
        **_when(hook.events, hook.tool_pattern),
    )


def _when(wanted: Iterable[HookEvent], pattern: Any) -> dict[str, Any]:
    return {
        "events": tuple(event.name for event in wanted),
        "matcher": tool_matcher(pattern),
        "for_tools": True,
        "origin": Origin(dialect=claude_agent.NAME, layer="code"),
    }
