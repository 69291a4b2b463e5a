"""The guard: reads what a command, an edit or a patch does, and says whether it is dangerous."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.finding import Finding
    from fairlead.guard.guard import Guard
    from fairlead.guard.packs import PACKS, Pack
    from fairlead.guard.rules import Rule, RuleError, rule_from_mapping

__all__ = ["PACKS", "Finding", "Guard", "Pack", "Rule", "RuleError", "rule_from_mapping"]

_HOMES = {
    "PACKS": "packs",
    "Pack": "packs",
    "Finding": "finding",
    "Guard": "guard",
    "Rule": "rules",
    "RuleError": "rules",
    "rule_from_mapping": "rules",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
