"""Code Agent's `HooksEngine`: its configured commands and functions in code, one after the other.

Hooks in the project's own settings run only if the caller vouches for it (`trust_project=True`). Until then
a tool call or a prompt that one of them would have looked at is blocked, with that reason.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, TypedDict

from fairlead import wire
from fairlead.api import Hooks
from fairlead.dialects import code_agent
from fairlead.errors import UsageError
from fairlead.handlers.function import Function
from fairlead.hooks import Hook, HookFailed, Origin

__all__ = ["HookEvent", "HookResult", "HooksEngine", "IndividualHookResult"]


_UNTRUSTED = "not run, because nobody vouched for this project (trust_project=True)"


class HookEvent(TypedDict):
    type: str
    timestamp: float
    sessionId: str
    payload: dict[str, Any]


class IndividualHookResult(TypedDict, total=False):
    hookId: str
    success: bool
    output: str
    error: str
    decision: str


class HookResult(TypedDict):
    allowed: bool
    results: list[IndividualHookResult]


class HooksEngine:
    """`trust_project`: the caller vouches for the hooks in the project's own settings."""

    def __init__(self, project: str | os.PathLike[str] | None = None, *, trust_project: bool = False) -> None:
        self.hooks = Hooks.load(project, agent="code-agent", dialects=("code-agent",), trust_project=trust_project)

    async def trigger(self, event: HookEvent | Mapping[str, Any]) -> HookResult:
        fired = code_agent.read_event(wire.encode(dict(event)), "", {})
        decision = await self.hooks.fire(fired)
        result: Any = code_agent.write_result(fired, decision)
        untrusted = [report.hook.name for report in decision.reports if report.matched and not report.hook.trusted]
        guarded = bool(untrusted) and code_agent.on_failure(fired) == "deny"
        word = "block" if guarded else "continue"
        result["results"] += [{"hookId": n, "success": False, "error": _UNTRUSTED, "decision": word} for n in untrusted]
        return HookResult(allowed=result["allowed"] and not guarded, results=result["results"])

    def register(self, event_type: str, hook: Callable[..., Any]) -> str:
        """Add a function; returns its id. It says `allow`, `block` or `continue`, or `{decision, reason}`."""
        if event_type not in code_agent.EVENTS:
            raise UsageError(f"there is no event {event_type!r}", hint=f"one of: {', '.join(code_agent.EVENTS)}")
        origin = Origin(dialect=code_agent.NAME, layer="code")
        name = str(getattr(hook, "__name__", type(hook).__name__))
        return self.hooks.register(Hook(name=name, events=(event_type,), handler=_Worded.of(hook), origin=origin))

    def unregister(self, event_type: str, hook_id: str) -> bool:
        return self.hooks.unregister(event_type, hook_id)


class _Worded(Function):
    """A bare decision word is a decision."""

    def conclude(self, hook: Hook, event: Any, work: Any, outcome: Any) -> Any:
        value = {"decision": outcome.lower()} if isinstance(outcome, str) else outcome
        if isinstance(value, dict) and value.get("decision", "allow") not in ("allow", "block", "continue"):
            raise HookFailed(f"{value['decision']!r} is not a decision; one of: allow, block, continue")
        return super().conclude(hook, event, work, value)
