"""What every store has to do. Each call is one transaction: it has happened on disk, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fairlead.server.records import Answer, Asked, Interaction, Run
    from fairlead.server.rules import Rule


class Store(Protocol):
    """Called from one thread at a time; `server.desk` sees to that."""

    shared: bool
    """Whether other processes change it too."""

    def close(self) -> None: ...

    def add_run(self, run: Run, key_hash: str) -> None: ...

    def run(self, run_id: str) -> Run | None: ...

    def run_of_key(self, key_hash: str) -> Run | None: ...

    def add_login(self, token_hash: str, name: str, expires_in: float) -> None:
        """A person's session, or a key for their programs."""

    def login(self, token_hash: str) -> str:
        """Whose it is; empty if it is nobody's or has ended."""

    def end_login(self, token_hash: str) -> None: ...

    def runs(self) -> Sequence[Run]: ...

    def end_run(self, run_id: str) -> Sequence[Interaction]:
        """Its key is worth nothing from now on; what it asked and nobody answered is returned, expired."""

    def ask(self, asked: Asked) -> tuple[Interaction, bool]:
        """The interaction of this request, and whether it is new.

        Decided already where a rule allows it, or where a person has answered the last try too late. Raises Refused
        for the same id with another body, and for a run that has ended.
        """

    def answer(self, interaction_id: str, answer: Answer) -> Interaction:
        """The first answer stands; where several have to agree, the last of them or the first refusal decides.

        Raises Refused, with the interaction as it is, for every other.
        """

    def add_rule(self, rule: Rule) -> None: ...

    def rules(self) -> Sequence[Rule]:
        """Those in force."""

    def end_rule(self, rule_id: str) -> bool:
        """Whether there was one to take back."""

    def interaction(self, interaction_id: str) -> Interaction | None: ...

    def interactions(
        self, *, pending: bool, run_id: str = "", text: str = "", limit: int = 200
    ) -> Sequence[Interaction]: ...

    def expire(self) -> Sequence[Interaction]:
        """Ends what has waited too long, with its stated default: no."""

    def states(self, ids: Sequence[str]) -> Sequence[Interaction]:
        """Those of the named ones that are decided: for waiters who may have missed a notice."""

    def recent(self, seconds: float) -> Sequence[Interaction]:
        """Those that were asked, answered or ended in these last seconds: for pages that may have missed a notice."""

    def watch(self, changed: Callable[[str], None]) -> None:
        """Calls back, from any thread, with the id of each interaction that another process has changed."""
