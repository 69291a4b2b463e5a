"""`guard`, `auto_allow` and `[[rule]]` in `fairlead.toml`."""

from __future__ import annotations

from fairlead.dialects._common import did_you_mean
from fairlead.handlers.guard import EVENTS, PACKS, Guarded
from fairlead.hooks import Hook, Origin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.dialects._common import Path, Reader

_AUTO_ALLOW = ("read-only",)


def read_guard(reader: Reader, data: dict[str, Any]) -> Hook | None:
    """The guard that one line at the top of a file switches on."""
    if "guard" not in data:
        for key in ("auto_allow", "rule"):
            if key in data and not (key == "rule" and _only_exceptions(reader, data[key])):
                reader.warn((key,), f"{key} belongs to a guard, and this file has none", 'write guard = "all"')
        return None
    handler = guarded(reader, data, ("guard",), data)
    origin = Origin(dialect="fairlead", layer=reader.source.layer, file=reader.source.path, path=("guard",))
    tightens = {"tightens": True} if reader.source.owner == "project" else {}
    return Hook(name="guard", events=EVENTS, handler=handler, origin=origin, on_error="deny", options=tightens)


def _only_exceptions(reader: Reader, rules: Any) -> bool:
    """They count without a guard of one's own: for those of projects."""
    return reader.source.owner != "project" and isinstance(rules, list) and all(map(_allows, rules))


def _allows(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.get("decision") == "allow"


def exceptions(rules: Any) -> tuple[Any, ...]:
    """What a user or the organisation lets pass, wherever a project's guard looks."""
    from fairlead.guard import RuleError, rule_from_mapping

    found = []
    for entry in filter(_allows, rules if isinstance(rules, list) else ()):
        try:
            found.append(rule_from_mapping(entry, "rule"))
        except RuleError:  # reported where the file's own guard is read
            continue
    return tuple(found)


def guarded(reader: Reader, entry: dict[str, Any], path: Path, data: dict[str, Any]) -> Guarded:
    """The packs of one entry, with the rules of its file."""
    packs = _names(reader, entry["guard"], path, PACKS, "pack")
    auto_allow = _names(reader, data.get("auto_allow", []), ("auto_allow",), _AUTO_ALLOW, "kind")
    return Guarded(packs, _rules(reader, data.get("rule", [])), auto_allow)


def _names(reader: Reader, value: Any, path: Path, known: tuple[str, ...], what: str) -> tuple[str, ...]:
    """What cannot be understood is reported and left out; a guard without any pack has all of them."""
    if value == "all" and known is PACKS:
        return known
    expected = f"{path[-1]} must be a list of names" + (', or "all"' if known is PACKS else "")
    if not reader.expect(value, list, path, expected):
        return known if known is PACKS else ()
    found = []
    for index, name in enumerate(value):
        if name in known:
            found.append(name)
        else:
            reader.problem((*path, index), f"unknown {what} {name!r}", did_you_mean(str(name), known))
    return tuple(found) or (known if known is PACKS and value else ())


def _rules(reader: Reader, value: Any) -> tuple[Any, ...]:
    if not value:
        return ()
    from fairlead.guard import RuleError, rule_from_mapping

    rules = []
    for entry, path in reader.entries(value, ("rule",), "[[rule]]"):
        try:
            rule = rule_from_mapping(entry, "rule")
            if rule.decision != "allow" or reader.source.owner != "project":
                rules.append(rule)
            else:
                _warn_once(reader, path)
        except RuleError as error:
            reader.problem(path, str(error), "until it is mended, this rule does not count")
    return tuple(rules)


def _warn_once(reader: Reader, path: Path) -> None:
    """Several guards of a file read the same rules."""
    before = len(reader.problems)
    hint = "write it into ~/.config/fairlead/fairlead.toml: there it counts for this guard, too"
    reader.warn(path, "an allow of a project is ignored: it can only be stricter than you", hint)
    if reader.problems[before] in reader.problems[:before]:
        reader.problems.pop()
