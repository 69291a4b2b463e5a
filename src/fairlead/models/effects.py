"""What an answer means for the event, in the way of the hook's own system."""

from __future__ import annotations

from fairlead.events import GUARDED
from fairlead.hooks import HookFailed
from fairlead.models.answers import STOPS
from fairlead.verdicts import NONE, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.events import Event
    from fairlead.hooks import Hook
    from fairlead.models.answers import Answer


def no_judgement(hook: Hook, event: Event, why: str) -> Verdict:
    """A guard without a judgement refuses, whatever its system would do; `on_error = "allow"` alone says otherwise."""
    if event.name in GUARDED and hook.on_error != "allow":
        return Verdict(decision="deny", reason=f"hook {hook.name}: {why}")
    raise HookFailed(why)


def verdict(answer: Answer, hook: Hook, event: Event, *, style: str = "ok", continue_on_block: bool = False) -> Verdict:
    """In the way of the hook's own system. A yes means that nothing speaks against it, and no more: an allow would skip
    the agent's own question, which no model does that has read what it judges."""
    if answer.word == "no":
        return _refusal(answer, hook, event, continue_on_block=continue_on_block)
    if answer.word == "continue":
        return Verdict(said="continue", context=answer.reason)
    if style == "decision":
        return Verdict(said="allow", reason=answer.reason, context=answer.context)
    return Verdict(context=answer.context) if answer.context and hook.origin.dialect == "qwen" else NONE


def _refusal(answer: Answer, hook: Hook, event: Event, *, continue_on_block: bool) -> Verdict:
    reason = answer.reason or f"{hook.name} has refused this, and gave no reason"
    if event.name in STOPS and answer.impossible:
        return Verdict(user_message=f"{hook.name}: {reason}")
    said = "deny" if event.name in ("PreToolUse", "PermissionRequest") else "block"
    refused = Verdict.of(said, reason=reason, context=answer.context)
    if hook.origin.dialect != "claude-code":
        return refused
    if event.name in _WITHOUT_EFFECT:
        return Verdict(user_message=f"{hook.name}: {reason} (Claude Code gives a prompt no say at {event.name})")
    ends = event.name in _ENDS_TURN and not continue_on_block
    return refused.but(stop=True, stop_reason=reason) if ends else refused


_WITHOUT_EFFECT = ("PermissionRequest", "PermissionDenied")
_ENDS_TURN = ("PreToolUse", "PostToolUse", "TeammateIdle")
"""Where Claude Code ends the turn after a refusal; a refused prompt or batch ends it anyway."""
