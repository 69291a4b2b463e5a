"""All of it or nothing: for one call of the store, or for several at once of which each can fail by itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager


class Lost(Exception):  # noqa: N818  # a fact about a group
    """The database has given up the whole transaction: nothing in it has happened."""


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
    _group: Group | None = None

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
