"""All of it or nothing: for one call of the store, or for several at once of which each can fail by itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from contextlib import AbstractContextManager

    Wanted = tuple[str, tuple[Any, ...]]
    """A statement and its values."""
    Steps = Generator[Wanted, Any, Any]
    """A call of the store that stops at each statement whose result it needs, and is sent that result.

    It changes nothing before the last reason for which it could be refused.
    """


class Lost(Exception):  # noqa: N818  # a fact about a group
    """The database has given up the whole transaction: nothing in it has happened."""


class Walk:
    """A call that is done statement by statement, and what came of it."""

    def __init__(self, steps: Callable[[], Steps]) -> None:
        self._steps = steps()
        self.result: Any = None
        self.error: Exception | None = None

    def go_on(self, done: Any) -> Wanted | None:
        """What it wants next, now that this is done; None at its end."""
        try:
            return self._steps.send(done)
        except StopIteration as end:
            self.result = end.value
        except Exception as error:  # noqa: BLE001  # it is the caller's
            self.error = error
        return None


class Group:
    """Calls that share one transaction."""

    def __init__(self, transaction: AbstractContextManager[None], until: ExitStack) -> None:
        self._transaction = transaction
        self._until = until
        self._trouble: Exception | None = None
        self.begun = False
        """From here on nothing that was done or seen is certain before the end."""
        self.lost = False

    def begin(self) -> None:
        """Once: what cannot begin for one cannot for the others, and each try may take seconds."""
        if self._trouble is not None:
            raise self._trouble
        if self.begun:
            return
        try:
            self._until.enter_context(self._transaction)
        except Exception as error:
            self._trouble = error
            raise
        self.begun = True


class Transactions(ABC):
    fails_clean = False
    """Whether a COMMIT that fails has surely changed nothing."""
    walks_abreast = False
    """Whether several calls are cheaper statement by statement, side by side, than one after the other."""
    _group: Group | None = None

    def abreast(self, walks: Sequence[Walk]) -> None:
        """One statement of each at a time. If this raises, none of them has happened."""
        raise NotImplementedError

    @abstractmethod
    def _alone(self) -> AbstractContextManager[None]:
        """A transaction, from BEGIN to COMMIT."""

    @abstractmethod
    def _change(self, statement: str, *values: Any) -> int: ...

    def _begin(self, statement: str) -> None:
        self._change(statement)

    @contextmanager
    def together(self) -> Iterator[Group]:
        """The calls in here that change something share one transaction; it ends when this does."""
        with ExitStack() as until:
            self._group = group = Group(self._alone(), until)
            try:
                yield group
            finally:
                self._group = None
            if group.lost:
                raise Lost

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        if self._group is None:
            with self._alone():
                yield
        else:
            self._group.begin()
            with self._part(self._group):
                yield

    @contextmanager
    def _part(self, group: Group) -> Iterator[None]:
        try:
            self._begin("SAVEPOINT part")
            yield
            self._change("RELEASE part")
        except BaseException:
            self._undo_part(group)
            raise

    def _undo_part(self, group: Group) -> None:
        try:
            self._change("ROLLBACK TO part")
            self._change("RELEASE part")
        except Exception:  # noqa: BLE001  # there is no transaction any more in which it could be undone
            group.lost = True
