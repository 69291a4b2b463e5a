"""The values of the approval service."""

from __future__ import annotations

from typing import Any

from fairlead._record import Record

PENDING, DECIDED, EXPIRED = "pending", "decided", "expired"


class Run(Record):
    """One agent process, or one standing key, that asks."""

    id: str
    agent: str = ""
    project: str = ""
    title: str = ""
    created_at: float
    ended_at: float | None = None
    host: str = ""
    """The machine on which its agent sees files, as `fairlead.machines` names it; empty if nobody has said."""
    process: str = ""
    """What lives as long as the run does, on that machine; empty for a run that somebody ends."""

    @property
    def active(self) -> bool:
        return self.ended_at is None


class Asked(Record):
    """What an agent asks, as it came."""

    run_id: str
    request_id: str
    kind: str
    """`approval` or `input`"""
    tool: str
    payload: dict[str, Any]
    body: bytes
    """The raw request: what is stored, and what a decision is about."""
    digest: str
    """Of the body."""
    likeness: str
    """Equal for requests that ask the same thing again under another id."""
    expires_in: float
    people: int = 1
    """How many have to agree."""
    line: str = ""
    """Its beginning, for a list."""
    cwd: str = ""
    approvers: tuple[str, ...] = ()
    """Who may decide; empty for everybody who may log in."""
    escalate_after: float | None = None
    escalate_to: tuple[str, ...] = ()
    """Who is added when nobody has decided until then."""

    def limited_to(self, names: tuple[str, ...]) -> Asked:
        """Nobody but these, whoever the asker has named."""
        if not names:
            return self
        some = tuple(name for name in self.approvers if name in names)
        others = tuple(name for name in self.escalate_to if name in names)
        after = self.escalate_after if others else None
        return self.but(approvers=some or names, escalate_to=others, escalate_after=after)


class Interaction(Record):
    """A question to a person, and what became of it."""

    id: str
    run_id: str
    request_id: str
    kind: str
    tool: str
    body: bytes
    digest: str
    created_at: float
    expires_at: float
    people: int = 1
    agreed: tuple[str, ...] = ()
    """Who has, while others still have to."""
    state: str = PENDING
    """`pending`, `decided` in time, or `expired`, which the agent was told as a no."""
    allow: bool | None = None
    """What a person said, also if they said it late."""
    message: str = ""
    response: Any = None
    updated_input: dict[str, Any] | None = None
    decided_by: str = ""
    decided_at: float | None = None
    used: bool = False
    """A late answer that the agent's next try has taken."""
    line: str = ""
    """Its beginning, for a list."""
    size: int = 0
    """Bytes of the whole body, also where the body was left out."""
    approvers: tuple[str, ...] = ()
    """Who may decide; empty for everybody who may log in."""
    escalate_at: float | None = None
    escalate_to: tuple[str, ...] = ()
    """Who is added when nobody has decided until then."""
    escalated: bool = False

    @property
    def deciders(self) -> tuple[str, ...]:
        """Who may decide now; empty for everybody."""
        others = self.escalate_to if self.escalated and self.approvers else ()
        return tuple(dict.fromkeys((*self.approvers, *others)))

    def may_be_decided_by(self, name: str) -> bool:
        return not self.deciders or name in self.deciders

    def concerns(self, name: str) -> bool:
        """Whether they should be told: those of whom it is expected first, and the others once it is escalated."""
        return self.may_be_decided_by(name) and (self.escalated or name not in self.escalate_to)

    @property
    def late(self) -> bool:
        """Answered when nobody waited any more: kept for the agent's next try."""
        return self.state == EXPIRED and self.allow is not None


class Login(Record):
    """Where a person is logged in."""

    id: str
    """For people who end it; opens nothing."""
    name: str
    created_at: float
    expires_at: float


class Answer(Record):
    """What a person says."""

    allow: bool
    by: str
    digest: str
    """Of what they were shown."""
    message: str = ""
    response: Any = None
    updated_input: dict[str, Any] | None = None


class Refused(Exception):  # noqa: N818  # a fact about a request, with its HTTP status
    """A request that cannot be carried out: why, and what to do."""

    def __init__(self, status: int, code: str, message: str, interaction: Interaction | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.interaction = interaction
        """What stands instead, where there is something."""
