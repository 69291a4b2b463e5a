"""Frozen values with typed, keyword-only fields.

`dataclasses`, `typing` and msgspec each cost more at import than everything else that `fairlead hook`
needs, and it is imported in front of every tool call; hence these few lines.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, NoReturn, Self, dataclass_transform
else:

    def dataclass_transform(**_options):
        return lambda cls: cls


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Record:
    """Annotated names are the fields; a class attribute of the same name is the default."""

    _fields: ClassVar[tuple[str, ...]] = ()
    _required: ClassVar[frozenset[str]] = frozenset()
    _allowed: ClassVar[frozenset[str]] = frozenset()
    _kinds: ClassVar[dict[str, str]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = {name: kind for name, kind in cls.__annotations__.items() if not kind.startswith("ClassVar")}
        cls._kinds = {**cls._kinds, **own}
        cls._fields = tuple(cls._kinds)
        cls._allowed = frozenset(cls._kinds)
        cls._required = frozenset(name for name in cls._fields if not hasattr(cls, name))

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)
        if not self._required <= values.keys() <= self._allowed:
            self._complain(values)

    def _complain(self, values: dict[str, Any]) -> NoReturn:
        missing = ", ".join(sorted(self._required - values.keys()))
        unknown = ", ".join(sorted(values.keys() - self._allowed))
        problems = (f"missing {missing}" if missing else "", f"unknown {unknown}" if unknown else "")
        raise TypeError(f"{type(self).__name__}: {'; '.join(filter(None, problems))}")

    def but(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, **changes)
        if not changes.keys() <= self._allowed:
            made._complain(made.__dict__)
        return made

    def as_dict(self) -> dict[str, Any]:
        """The fields that were given, in the order of their declaration."""
        given = self.__dict__
        return {name: given[name] for name in self._fields if name in given}

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; use .but({name}=…)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._fields)

    def __hash__(self) -> int:
        return hash((type(self), *(_hash(getattr(self, name)) for name in self._fields)))

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.as_dict().items())
        return f"{type(self).__name__}({given})"


def _hash(value: object) -> int:
    """Equal values have equal hashes; what has none, such as a dict, is left to the comparison."""
    try:
        return hash(value)
    except TypeError:
        return 0
