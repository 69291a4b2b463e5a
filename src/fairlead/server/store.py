"""What every store has to do. Each call is one transaction: it has happened on disk, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from fairlead.server.records import Answer, Asked, Interaction, Login, Run
    from fairlead.server.rules import Rule
    from fairlead.server.transactions import Group, Steps, Walk


class Store(Protocol):
    """Called from one thread at a time; `server.desk` sees to that."""

    shared: bool
    """Whether other processes change it too."""
    fails_clean: bool
    """Whether a group whose commit fails has surely changed nothing, so that each of its calls may be tried alone."""

    def close(self) -> None: ...

    def together(self) -> AbstractContextManager[Group]:
        """Calls in here are one transaction; none has happened before the end."""

    walks_abreast: bool
    """Whether several calls are cheaper statement by statement, side by side."""

    def abreast(self, walks: Sequence[Walk]) -> None:
        """One statement of each at a time. If this raises, none of them has happened."""

    def add_run(self, run: Run, key_hash: str) -> None: ...

    def run(self, run_id: str) -> Run | None: ...

    def run_of_key(self, key_hash: str) -> Run | None: ...

    def finding_run(self, key_hash: str) -> Steps:
        """`run_of_key`, to be walked."""

    def add_login(self, token_hash: str, name: str, expires_in: float) -> None:
        """A person's session, or a key for their programs."""

    def login(self, token_hash: str) -> str:
        """Whose it is; empty if it is nobody's or has ended."""

    def end_login(self, token_hash: str) -> None: ...

    def logins(self) -> Sequence[Login]:
        """Those that have not ended."""

    def end_logins(self, name: str) -> int:
        """All of a person's, and the links that they have not used yet. How many there were."""

    def add_login_key(self, key_hash: str, name: str, expires_in: float) -> None:
        """Opens one login."""

    def use_login_key(self, key_hash: str, token_hash: str, expires_in: float) -> str:
        """Adds the login that it opens, and says whose it is; empty if the key is unknown, used or too old."""

    def runs(self) -> Sequence[Run]: ...

    def runs_with_a_process(self) -> Sequence[Run]:
        """Those that end by themselves, when their process has ended."""

    def end_run(self, run_id: str) -> Sequence[Interaction]:
        """Its key is worth nothing from now on; what it asked and nobody answered is returned, expired."""

    def ask(self, asked: Asked) -> tuple[Interaction, bool]:
        """The interaction of this request, and whether it is new.

        Decided already where a rule allows it, or where a person has answered the last try too late. Raises Refused
        for the same id with another body, and for a run that has ended.
        """

    def asking(self, asked: Asked) -> Steps:
        """`ask`, to be walked."""

    def answer(self, interaction_id: str, answer: Answer) -> Interaction:
        """The first answer stands; where several have to agree, the last of them or the first refusal decides.

        Raises Refused, with the interaction as it is, for every other.
        """

    def answer_in_run(self, interaction_id: str, answer: Answer) -> tuple[Interaction, Run | None]:
        """The same, with the run that has asked."""

    def answering(self, interaction_id: str, answer: Answer) -> Steps:
        """`answer_in_run`, to be walked."""

    def add_rule(self, rule: Rule) -> None: ...

    def rules(self) -> Sequence[Rule]:
        """Those in force."""

    def end_rule(self, rule_id: str) -> bool:
        """Whether there was one to take back."""

    def interaction(self, interaction_id: str) -> Interaction | None: ...

    def interactions(
        self, *, pending: bool, run_id: str = "", text: str = "", limit: int = 200
    ) -> Sequence[Interaction]:
        """For a list: without their bodies."""

    def listed(
        self, *, pending: bool, run_id: str = "", text: str = ""
    ) -> tuple[Sequence[Interaction], Mapping[str, Run]]:
        """The same, with their runs."""

    def listing(self, *, pending: bool, run_id: str = "", text: str = "") -> Steps:
        """`listed`, to be walked."""

    def waiting(self) -> tuple[int, float | None]:
        """How many wait for an answer, and when the first of them was asked."""

    def escalate(self) -> Sequence[Interaction]:
        """Adds the others where those who were asked first have let their time pass."""

    def expire(self) -> Sequence[Interaction]:
        """Ends what has waited too long, with its stated default: no."""

    def states(self, ids: Sequence[str]) -> Sequence[Interaction]:
        """Those of the named ones that are decided: for waiters who may have missed a notice."""

    def named(self, ids: Sequence[str]) -> Sequence[Interaction]:
        """As they are now, those of them that there are."""

    def recent(self, seconds: float) -> Mapping[str, int]:
        """What was changed in these last seconds, with the number of its last change: for those who missed a notice."""

    def watch(self, changed: Callable[[str], None]) -> None:
        """Calls back, from any thread, with the id of each interaction that another process has changed."""
