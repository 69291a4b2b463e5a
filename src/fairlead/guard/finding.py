"""The answer of the guard."""

from __future__ import annotations

RANK = {"none": 0, "allow": 1, "ask": 2, "deny": 3}


class Finding:
    """What the guard says about one command or tool call. Immutable.

    ``decision`` is "none" (nothing against it), "allow" (provably read-only, only with
    ``auto_allow``), "ask" or "deny".
    """

    __slots__ = ("decision", "pack", "reason", "rule", "steps", "suggestion", "words")

    decision: str
    rule: str
    reason: str
    words: str
    suggestion: str
    steps: tuple[str, ...]
    pack: str

    def __init__(
        self,
        decision: str = "none",
        *,
        rule: str = "",
        reason: str = "",
        words: str = "",
        suggestion: str = "",
        steps: tuple[str, ...] = (),
    ) -> None:
        values = (decision, rule.partition(".")[0], reason, rule, steps, suggestion, words)
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a finding does not change: {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a finding does not change: {name}")

    @property
    def stops(self) -> bool:
        """Say whether the call should not simply go on."""
        return self.decision in ("ask", "deny")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Finding) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __repr__(self) -> str:
        return f"Finding({self.decision!r}, rule={self.rule!r}, reason={self.reason!r})"

    def as_dict(self) -> dict[str, object]:
        """Return the finding for JSON; ``steps`` as a list."""
        return {
            "decision": self.decision,
            "rule": self.rule,
            "pack": self.pack,
            "reason": self.reason,
            "words": self.words,
            "suggestion": self.suggestion,
            "steps": list(self.steps),
        }
