"""What a hook says, and how the verdicts of one event become a decision."""

from __future__ import annotations

from fairlead._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, ClassVar, Self

    from fairlead.hooks import Report, Reports
    from fairlead.telemetry.tracing import Trace

RANK = {"none": 0, "allow": 1, "ask": 2, "defer": 3, "deny": 4}
"""Where no dialect says otherwise, the strongest word wins."""

TEXTS = ("reason", "context", "feedback", "system_message", "user_message", "stop_reason")
"""The fields of a verdict that somebody reads."""

_NOTHING: dict[str, Any] = {}


class Verdict(Record):
    """What one hook said, or several of them together."""

    decision: str = "none"
    """`none`, `allow`, `ask`, `defer` or `deny`. Denying a Stop keeps the agent going."""
    said: str = ""
    """The hook's own word where it says more than `decision`: block, approve, continue."""
    reason: str = ""
    context: str = ""
    """For the model, beside what happens."""
    feedback: str = ""
    """For the model, about what happened."""
    system_message: str = ""
    """For the model, as an instruction."""
    user_message: str = ""
    """For the person."""
    updated_input: dict[str, Any] | None = None
    updated_output: Any = None
    stop: bool = False
    """End the turn, whatever becomes of this event."""
    stop_reason: str = ""
    suppress_output: bool = False
    extra: dict[str, Any] = _NOTHING
    """What only the hook's own system understands, carried as it came."""

    words: ClassVar[dict[str, str]] = {"block": "deny", "approve": "allow", "continue": "none"}

    @classmethod
    def of(cls, word: str, **fields: Any) -> Self:
        """A verdict from any dialect's word for it."""
        decision = cls.words.get(word, word)
        return cls(decision=decision, said=word if decision != word else "", **fields)

    @property
    def denies(self) -> bool:
        return self.decision == "deny"

    @property
    def word(self) -> str:
        return self.said or self.decision

    @property
    def for_model(self) -> str:
        """Everything that the model should read, where an agent has only one place for it."""
        return join_lines((self.system_message, self.context, self.feedback))

    def with_context(self, text: str) -> Self:
        return self.but(context=join_lines((self.context, text)))

    def with_input(self, tool_input: dict[str, Any]) -> Self:
        return self.but(updated_input=tool_input)

    def with_output(self, tool_output: object) -> Self:
        return self.but(updated_output=tool_output)

    def with_system_message(self, text: str) -> Self:
        return self.but(system_message=text)

    def with_user_message(self, text: str) -> Self:
        return self.but(user_message=text)

    def without_logging(self) -> Self:
        return self.but(suppress_output=True)


class Decision(Verdict):
    """All verdicts of one event merged; what the agent is told."""

    reports: Reports | tuple[Report, ...] = ()
    """Each hook that was looked at, in order."""
    groups: dict[str, Verdict] = _NOTHING
    """What the hooks of each dialect said together, before everything was merged."""
    notes: tuple[str, ...] = ()
    """What was skipped, failed or weakened, in sentences for people."""
    whole: dict[str, str] = _NOTHING
    """All of each text of which the agent is told only a part."""
    trace: Trace | None = None
    """Its span, where somebody traces."""

    @property
    def met(self) -> tuple[Report, ...]:
        """The reports of hooks that the event was for: the others can be a thousand."""
        return self.reports if isinstance(self.reports, tuple) else self.reports.met

    @property
    def is_silent(self) -> bool:
        """Whether nobody has said a word: all that was given is about the hooks, and there is nothing to note."""
        return not self.notes and self.__dict__.keys() <= _ABOUT_THE_HOOKS

    @property
    def allowed(self) -> bool:
        return self.decision in ("none", "allow")


_ABOUT_THE_HOOKS = frozenset({"reports", "groups", "notes", "trace"})
NONE = Verdict()


def allow(reason: str = "", **fields: Any) -> Verdict:
    return Verdict(decision="allow", reason=reason, **fields)


def approve(reason: str = "", **fields: Any) -> Verdict:
    return Verdict.of("approve", reason=reason, **fields)


def ask(reason: str = "", **fields: Any) -> Verdict:
    return Verdict(decision="ask", reason=reason, **fields)


def defer(reason: str = "", **fields: Any) -> Verdict:
    return Verdict(decision="defer", reason=reason, **fields)


def deny(reason: str = "", **fields: Any) -> Verdict:
    return Verdict(decision="deny", reason=reason, **fields)


def block(reason: str = "", **fields: Any) -> Verdict:
    return Verdict.of("block", reason=reason, **fields)


def keep_going(reason: str) -> Verdict:
    """At Stop: the agent goes on, with `reason` as its next instruction."""
    return block(reason)


def stop(reason: str = "", **fields: Any) -> Verdict:
    """End the turn."""
    return Verdict(stop=True, stop_reason=reason, **fields)


def context(text: str) -> Verdict:
    return Verdict(context=text)


def rewrite(tool_input: dict[str, Any], reason: str = "") -> Verdict:
    return Verdict(updated_input=tool_input, reason=reason)


def join_lines(parts: Iterable[str]) -> str:
    return "\n".join(part for part in parts if part)


def unique_lines(parts: Iterable[str]) -> str:
    return join_lines(dict.fromkeys(parts))


def last(values: Iterable[Any], default: Any = "") -> Any:
    found = [value for value in values if value]
    return found[-1] if found else default


def merge(verdicts: Iterable[Verdict], rank: dict[str, int] = RANK) -> Verdict:
    """One verdict out of many, in the order given; of equal words the first one stands."""
    said = [verdict for verdict in verdicts if verdict is not NONE]
    if not said:
        return NONE
    if len(said) == 1:
        return said[0]
    strongest = max(said, key=lambda verdict: rank.get(verdict.word, rank.get(verdict.decision, 0)))
    return Verdict(
        decision=strongest.decision,
        said=strongest.said,
        reason=unique_lines(v.reason for v in said if v.decision == strongest.decision),
        context=join_lines(v.context for v in said),
        feedback=join_lines(v.feedback for v in said),
        system_message=join_lines(v.system_message for v in said),
        user_message=unique_lines(v.user_message for v in said),
        updated_input=last((v.updated_input for v in said), None),
        updated_output=last_given(v.updated_output for v in said),
        stop=any(v.stop for v in said),
        stop_reason=last(v.stop_reason for v in said),
        suppress_output=any(v.suppress_output for v in said),
        extra={key: value for v in said for key, value in v.extra.items()},
    )


def last_given(values: Iterable[Any]) -> Any:
    found = [value for value in values if value is not None]
    return found[-1] if found else None
