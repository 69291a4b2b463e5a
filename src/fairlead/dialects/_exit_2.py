"""Refusals for agents that take exit code 2, with the reason on stderr."""

from __future__ import annotations

from fairlead.dialects._agents import refusal
from fairlead.dialects._claude_reply import reason
from fairlead.verdicts import join_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.dialects import Reply
    from fairlead.verdicts import Decision


def refused(decision: Decision) -> Reply:
    """With all that is to be read beside the reason: there is no other place for it."""
    return refusal(join_lines((reason(decision), decision.for_model, decision.user_message)))
